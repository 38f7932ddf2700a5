"""A model as a run uses it: the ledger first, a bounded number at once, committed before use."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

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
    model, path = counting(), tmp_path / "ledger.sqlite"
    first = Caller(model, ledger := Calls(path), "model", 4)
    answer = asyncio.run(first.complete(ASK))
    decision = asyncio.run(first.decide(DecisionRequest("s", ("q",))))
    ledger.close()
    second = Caller(model, ledger := Calls(path), "model", 4)
    assert asyncio.run(second.complete(ASK)) == answer == Completion("answer 1", "hm", Usage(3, 3, 1, 1))
    assert asyncio.run(second.decide(DecisionRequest("s", ("q",)))) == decision
    assert len(model.prompts) == 2
    assert ledger.usage()["now"] == {}, "looked up is not spent"
    ledger.close()


def test_looking_up_asks_nothing() -> None:
    model = counting()
    calling = caller(model)
    assert not calling.knows(ASK)
    asyncio.run(calling.complete(ASK))
    assert calling.knows(ASK)
    assert not calling.knows(replace(ASK, sample=1))
    assert len(model.prompts) == 1


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
    ],
)
def test_whatever_shapes_the_answer_is_another_call(other: ChatRequest, reason: str) -> None:
    model = counting()
    calling = caller(model)
    answers = [asyncio.run(calling.complete(request)).text for request in (ASK, other, ASK, other)]
    assert answers == ["answer 1", "answer 2", "answer 1", "answer 2"], reason


@pytest.mark.parametrize(
    "other",
    [
        Identity("x", "m"),
        Identity("scripted", "n"),
        Identity("scripted", "m", "rev"),
        Identity("scripted", "m", "", {"a": 1}),
    ],
)
def test_another_model_is_another_call(other: Identity) -> None:
    ledger = Calls(Path(":memory:"))
    one, two = counting(), counting()
    two.identity = other
    asyncio.run(Caller(one, ledger, "model", 1).complete(ASK))
    asyncio.run(Caller(two, ledger, "model", 1).complete(ASK))
    assert (len(one.prompts), len(two.prompts)) == (1, 1)


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
    assert [canonical(one) for one in asked] == [
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


def _many(calling: Caller, number: int, **change: Any) -> list[Completion]:
    async def all_of_them() -> list[Completion]:
        requests = [replace(ASK, sample=i) for i in range(number)] if not change else [ASK] * number
        return list(await asyncio.gather(*map(calling.complete, requests)))

    return asyncio.run(all_of_them())


def test_no_more_at_once_than_allowed() -> None:
    model = Slow("m", lambda request: "x")
    _many(caller(model, concurrency=3), 20)
    assert model.most == 3


def test_a_batch_engine_sees_more_at_once() -> None:
    model = Slow("m", lambda request: "x")
    model.batch = 10
    _many(caller(model, concurrency=3), 20)
    assert model.most == 10


def test_equal_requests_in_flight_get_one_answer() -> None:
    model = Slow("m", lambda request: f"answer {len(model.prompts)}")
    answers = _many(caller(model, concurrency=3), 3, same=True)
    assert {answer.text for answer in answers} == {"answer 1"}, "the one a resumed run would find"


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

    one = {"model": Usage(6, 6, 2, 2), "judge": Usage(6, 6, 2, 2)}
    assert asyncio.run(two()) == [one, one], "each task has its own meter"
