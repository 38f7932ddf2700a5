"""A model as a run uses it: the ledger first, a bounded number at once, committed before use."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.runs import caller
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.hashing import canonical
from truebench_hf.models.caller import Caller, metered
from truebench_hf.models.in_memory import in_memory
from truebench_hf.models.protocol import ChatRequest, Completion, DecisionRequest, Identity, Sampling
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.types import Message, Usage

ASK = ChatRequest((Message("user", "Name a river."),))


def counting() -> ScriptedModel:
    """Every answer is another one, so that a second call would show."""
    model = ScriptedModel("m", lambda request: {"text": f"answer {len(model.prompts)}", "reasoning": "hm"})
    return model


def test_a_committed_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    model, question = counting(), DecisionRequest("s", ("q",))
    answers = []
    for _ in range(2):
        calling = Caller(model, Calls(tmp_path / "ledger.sqlite"), "model", 4)
        assert calling.knows(ASK) is bool(answers), "looking up asks nothing"
        assert not calling.knows(replace(ASK, sample=1))
        answers.append([asyncio.run(calling.complete(ASK)), asyncio.run(calling.decide(question))])
        now = calling._ledger.usage()["now"]
        calling._ledger.close()
    assert answers[0] == answers[1]
    assert answers[0][0] == Completion("answer 1", "hm", Usage(3, 3, 1, 1))
    assert (len(model.prompts), now) == (2, {}), "looked up is not spent"


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (ChatRequest((Message("user", "Name a lake."),)), "another message"),
        (ChatRequest((Message("system", "Name a river."),)), "another role"),
        (ChatRequest((*ASK.messages, Message("assistant", ""))), "one more message"),
        (replace(ASK, sampling=Sampling(temperature=0.1)), "temperature"),
        (replace(ASK, sampling=Sampling(top_p=0.9)), "top_p"),
        (replace(ASK, sampling=Sampling(repetition_penalty=1.1)), "repetition penalty"),
        (replace(ASK, sampling=Sampling(max_tokens=1)), "token limit"),
        (replace(ASK, sample=1), "another draw"),
        (replace(ASK, schema={"type": "object"}), "a schema"),
        (Identity("x", "m"), "another provider"),
        (Identity("scripted", "n"), "another model"),
        (Identity("scripted", "m", "rev"), "another revision"),
        (Identity("scripted", "m", "", {"a": 1}), "another option"),
    ],
)
def test_whatever_shapes_the_answer_is_another_call(other: ChatRequest | Identity, reason: str) -> None:
    model, ledger = counting(), Calls(Path(":memory:"))
    asked = []
    for now in (ASK, other, ASK, other):
        model.identity = now if isinstance(now, Identity) else Identity("scripted", "m")
        calling = Caller(model, ledger, "model", 1)
        asked.append(asyncio.run(calling.complete(now if isinstance(now, ChatRequest) else ASK)).text)
    assert asked == ["answer 1", "answer 2", "answer 1", "answer 2"], reason


def test_the_first_run_goes_on_with_what_a_resumed_one_would(tmp_path: Path) -> None:
    """Two halves of a character are one where they were written down: a judge asked about either got two keys."""
    ledger = Calls(tmp_path / "ledger.sqlite")
    calling = Caller(in_memory(lambda messages: "\ud83d" + "\ude00", "halves"), ledger, "model", 1)
    first, again = (asyncio.run(calling.complete(ASK)) for _ in range(2))
    assert (first, again) == (Completion("😀", usage=Usage(calls=1, unknown_calls=1)),) * 2


@pytest.mark.parametrize("earlier", [Sampling(1.0, 0.5, 1.0, 77), Sampling(1, 0.5, 1, 77)])
def test_equal_sampling_is_one_call_whatever_was_asked_before(earlier: Sampling, tmp_path: Path) -> None:
    model, ledger = counting(), Calls(tmp_path / "ledger.sqlite")
    for sampling in (earlier, Sampling(1, 0.5, 1.0, 77), Sampling(1.0, 0.5, 1, 77)):
        asyncio.run(Caller(model, ledger, "model", 1).complete(replace(ASK, sampling=sampling)))
    ledger.close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as db:
        asked = [json.loads(text)["ask"]["sampling"] for (text,) in db.execute("SELECT request FROM calls")]
    # As text: whoever asks with the other spelling in another process finds it.
    assert [canonical(sampling) for sampling in asked] == [
        '{"max_tokens":77,"repetition_penalty":1.0,"temperature":1.0,"top_p":0.5}'
    ]


def test_a_failure_is_not_committed() -> None:
    model = ScriptedModel("m", lambda request: {"error": "down"} if len(model.prompts) == 1 else "up")
    calling = caller(model)
    with pytest.raises(RequestFailed):
        asyncio.run(calling.complete(ASK))
    assert asyncio.run(calling.complete(ASK)).text == "up"


class Slow(ScriptedModel):
    """Answers after a moment and notes how many wait at once."""

    running = most = 0

    async def complete(self, request: ChatRequest) -> Completion:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        return await super().complete(request)


@pytest.mark.parametrize(
    ("batch", "draws", "most", "texts", "reason"),
    [
        (None, range(20), 3, 20, "no more at once than allowed"),
        (10, range(20), 10, 20, "a batch engine sees more"),
        (None, [0] * 3, 1, 1, "of equal requests in flight one is sent: the one that a resumed run would find"),
    ],
)
def test_how_many_are_asked_at_once(batch: int | None, draws: list[int], most: int, texts: int, reason: str) -> None:
    model = Slow("m", lambda request: f"answer {len(model.prompts)}")
    model.batch = batch
    calling = caller(model, concurrency=3)

    async def all_of_them() -> list[Completion]:
        return await asyncio.gather(*(calling.complete(replace(ASK, sample=draw)) for draw in draws))

    answers = asyncio.run(all_of_them())
    assert (model.most, len({answer.text for answer in answers})) == (most, texts), reason


def test_the_meter_counts_looked_up_calls_and_those_of_children() -> None:
    judge, model = caller(counting(), "judge"), caller(counting(), "model")

    async def work() -> dict[str, Usage]:
        spent = metered()
        await model.complete(ASK)
        await model.complete(ASK)
        await asyncio.gather(*(asyncio.create_task(judge.complete(replace(ASK, sample=i))) for i in range(2)))
        return spent

    async def two() -> list[dict[str, Usage]]:
        return list(await asyncio.gather(work(), work()))

    each = {"model": Usage(6, 6, 2, 2), "judge": Usage(6, 6, 2, 2)}
    assert asyncio.run(two()) == [each, each], "each task has its own meter"
