"""What goes to a worker and comes back, without a cluster: a stand-in works through the rounds with a real holder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from truebench_hf import redaction
from truebench_hf.engine.ray_cluster import Cluster, Seat
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.on_ray import Holder, OnRay, Opening
from truebench_hf.models.protocol import ChatModel, ChatRequest, DecisionRequest, Identity, SchemaRefused
from truebench_hf.models.scripted import Answer, ScriptedModel
from truebench_hf.types import Message

HOSTILE = 'Ünï 漢字 🙂 "quoted"\n\\ \ud800 \x00 </script>'  # half a surrogate pair, too


class Here:
    """A cluster of one worker in this process."""

    def __init__(self, model: ChatModel, gpus: bool = False) -> None:
        self.model, self.seats, self._gpus = model, list[Seat](), gpus

    def put(self, value: Any) -> Any:
        return value

    def has_gpus(self) -> bool:
        return self._gpus

    def run(self, requests: Sequence[str], holder: Any, arguments: Any, seat: Seat) -> Iterator[tuple[int, str]]:
        self.seats.append(seat)
        made = holder(*arguments, seat.calls)
        made._model = self.model

        async def answers() -> list[Any]:
            block = {"place": list(range(len(requests))), "request": list(requests)}
            return [found async for found in made(block)]

        (found,) = asyncio.run(answers())
        yield from zip(found["place"], found["reply"], strict=True)


def on_ray(model: ChatModel, cluster: Any = None, **arguments: str) -> OnRay:
    opening = Opening.here(model.spec, arguments, None, 1.0)
    return OnRay(model, opening, cast(Cluster, cluster or Here(model)), asyncio.Lock())


def chat(text: str) -> ChatRequest:
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), sample=3, schema={"type": "object"})


def test_requests_and_replies_arrive_as_they_were_sent() -> None:
    answer: Answer = {"text": HOSTILE, "reasoning": "hm " + HOSTILE, "truncated": True}
    model = ScriptedModel("m", lambda request: answer, lambda request, question: {"a": 0.25, "b": None}[question])

    async def ask() -> None:
        asked = on_ray(model)
        made, plain = await asked.complete(chat(HOSTILE)), await model.complete(chat(HOSTILE))
        assert made == plain
        assert (made.truncated, made.usage.calls) == (True, 1)
        assert model.prompts[0] == chat(HOSTILE), "messages, sampling, sample and schema"
        request = DecisionRequest(HOSTILE, ("a", "b"), sample=2)
        assert await asked.decide(request) == await model.decide(request)
        assert model.prompts[2] == request

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("raised", "arrives"),
    [
        (RequestFailed("burned down"), RequestFailed),
        (SchemaRefused("no schemas here"), SchemaRefused),
        (UserError("set the key"), UserError),
        (KeyError("a mistake of ours"), RuntimeError),
    ],
)
def test_what_a_provider_raises_is_raised_here(raised: Exception, arrives: type[Exception]) -> None:
    redaction.learn("sk-very-secret-value-17")

    def fail(request: ChatRequest) -> Answer:
        if "fails" in request.messages[-1].content:
            raise type(raised)(f"{raised.args[0]} sk-very-secret-value-17")
        return "fine"

    async def ask() -> None:
        model = on_ray(ScriptedModel("m", fail))
        one, other = await asyncio.gather(
            model.complete(chat("fails")), model.complete(chat("goes well")), return_exceptions=True
        )
        assert type(one) is arrives
        assert raised.args[0] in str(one)
        assert "secret-value" not in str(one)
        assert not isinstance(other, BaseException)
        assert other.text == "fine"

    asyncio.run(ask())


def test_no_more_calls_are_under_way_than_a_worker_may_have() -> None:
    now, most = 0, 0

    class Slow(ScriptedModel):
        async def complete(self, request: ChatRequest) -> Any:
            nonlocal now, most
            now, most = now + 1, max(most, now + 1)
            await asyncio.sleep(0.01)
            now -= 1
            return await super().complete(request)

    holder = Holder(None, 3)
    holder._model = Slow("m", lambda request: "yes")
    texts = [
        json.dumps({"messages": [["user", str(n)]], "sampling": {}, "sample": 0, "schema": None}) for n in range(8)
    ]

    async def answers() -> list[Any]:
        return [found async for found in holder({"place": range(8), "request": texts})]

    assert len(asyncio.run(answers())[0]["reply"]) == 8
    assert most == 3


def test_what_a_worker_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "MY_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"):
        monkeypatch.setenv(name, f"value of {name}")
    opening = Opening.here("scripted:m.json", {"api_key_env": "MY_KEY"}, None, 1.0)
    assert opening.spec == f"scripted:{tmp_path / 'm.json'}"
    assert {"OPENAI_API_KEY", "MY_KEY", "HF_TOKEN"} <= set(opening.environment)
    assert "AWS_SECRET_ACCESS_KEY" not in opening.environment
    assert "value of" not in repr(opening)
    assert Opening.here("openai:gpt-5", {}, None, 1.0).spec == "openai:gpt-5"


class Local(ScriptedModel):
    """As a model with weights looks from outside."""

    batch = 256


@pytest.mark.parametrize(
    ("model", "gpus", "arguments", "seat"),
    [
        (ScriptedModel, True, {}, Seat(5)),  # a server: what the user allows, for all workers together
        (Local, False, {}, Seat(256, True, 0)),  # a machine of processors to itself
        (Local, True, {}, Seat(256, True, 1)),
        (Local, True, {"tensor_parallel_size": "4"}, Seat(256, True, 4)),  # which vLLM splits it over
        (Local, True, {"device": "cpu"}, Seat(256, True, 0)),
    ],
)
def test_what_a_model_takes_of_the_cluster(
    model: type[ScriptedModel], gpus: bool, arguments: dict[str, str], seat: Seat
) -> None:
    made = model("m", lambda request: "yes")
    cluster = Here(made, gpus)

    async def ask() -> None:
        asked = on_ray(made, cluster, **arguments)
        asked.concurrency = 5
        await asked.complete(chat("x"))
        await asked.close()

    asyncio.run(ask())
    assert cluster.seats == [seat]


def test_it_is_the_same_model_to_the_ledger() -> None:
    model = ScriptedModel("m", lambda request: "yes", takes_schema=True)
    asked = on_ray(model)
    assert (asked.spec, asked.identity, asked.takes_schema) == ("scripted:m", Identity("scripted", "m"), True)
