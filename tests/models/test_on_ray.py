"""What goes to a worker and comes back, without a cluster: a stand-in works through the rounds with a real holder."""

from __future__ import annotations

import asyncio
import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.engine.money import PaidTokens, Price, note_unanswered, unanswered
from truebench_hf.engine.retry import RequestFailed, ServerUnavailable
from truebench_hf.errors import UserError
from truebench_hf.models.on_ray import Cluster, Holder, OnRay
from truebench_hf.models.protocol import ChatModel, ChatRequest, DecisionRequest, SchemaRefused
from truebench_hf.models.scripted import Answer, ScriptedModel
from truebench_hf.models.spec import Opening
from truebench_hf.text import redaction
from truebench_hf.types import Message

HOSTILE = 'Ünï 漢字 🙂 "quoted"\n\\ \ud800 \x00 </script>'  # half a surrogate pair, too


class Machines(Cluster):
    """A cluster that is never joined."""

    def __init__(self, *machines: dict[str, float]) -> None:
        super().__init__(None)
        self.of = list(machines)

    def machines(self) -> list[dict[str, float]]:
        return self.of

    async def join(self, local: OnRay | None) -> None:
        pass


class Here(OnRay):
    """A model whose worker is in this process."""

    def __init__(self, model: ChatModel, machines: Machines | None = None, **arguments: str) -> None:
        super().__init__(model, Opening.here(model.spec, arguments, None), machines or Machines())
        self.holder = Holder(Opening.here(model.spec, {}, None))
        self.holder._model = model
        self._slots = asyncio.Semaphore(100)

    def _start(self) -> None:
        pass

    async def _reply(self, request: Any) -> Any:
        sent = pickle.loads(pickle.dumps(request))  # as Ray sends it
        return pickle.loads(pickle.dumps(await asyncio.create_task(self.holder.answer(sent))))


def chat(text: str) -> ChatRequest:
    return ChatRequest((Message("system", "Be brief."), Message("user", text)), sample=3, schema={"type": "object"})


def test_requests_and_replies_arrive_as_they_were_sent() -> None:
    answer: Answer = {"text": HOSTILE, "reasoning": "hm " + HOSTILE, "truncated": True}
    model = ScriptedModel("m", lambda request: answer, lambda request, question: {"a": 0.25, "b": None}[question])
    question = DecisionRequest(HOSTILE, ("a", "b"), sample=2)

    async def ask(whom: Any) -> list[Any]:
        return [await whom.complete(chat(HOSTILE)), await whom.decide(question)]

    assert asyncio.run(ask(Here(model))) == asyncio.run(ask(model))
    assert model.prompts == [chat(HOSTILE), question] * 2, "messages, sampling, sample and schema"


@pytest.mark.parametrize(
    ("raised", "arrives"),
    [
        (RequestFailed("burned down"), RequestFailed),
        (SchemaRefused("no schemas here"), SchemaRefused),
        (UserError("set the key"), UserError),
        (ServerUnavailable("the server is gone"), ServerUnavailable),  # which costs a study everything
        (KeyError("a mistake of ours"), RuntimeError),
    ],
)
def test_what_a_provider_raises_and_was_billed_for_in_vain_is_told_here(
    raised: Exception, arrives: type[Exception]
) -> None:
    redaction.learn("sk-very-secret-value-17")

    def answer(request: ChatRequest) -> Answer:
        if "fails" in request.messages[-1].content:
            note_unanswered(PaidTokens(10, 2, 0, 1))
            raise type(raised)(f"{raised.args[0]} sk-very-secret-value-17")
        return "fine"

    async def ask() -> tuple[list[Any], list[PaidTokens]]:
        model, lost = Here(ScriptedModel("m", answer)), unanswered()
        calls = [model.complete(chat(text)) for text in ("goes well", "fails")]
        return await asyncio.gather(*calls, return_exceptions=True), lost

    (other, failed), lost = asyncio.run(ask())
    assert type(failed) is arrives
    assert raised.args[0] in str(failed)
    assert "secret-value" not in str(failed)
    assert other.text == "fine"
    assert lost == [PaidTokens(10, 2, 0, 1)]


def test_what_a_worker_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text("{}")
    (tmp_path / "gpt-5").mkdir()  # of which a server knows nothing
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "MY_KEY", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN"):
        monkeypatch.setenv(name, f"value of {name}")
    opening = Opening.here("scripted:m.json", {"api_key_env": "MY_KEY", "record": "r.jsonl"}, None)
    assert opening.spec == f"scripted:{tmp_path / 'm.json'}"
    assert opening.arguments["record"] == str(tmp_path / "r.jsonl"), "a worker has a working folder of its own"
    assert {"OPENAI_API_KEY", "MY_KEY", "HF_TOKEN"} <= set(opening.environment)
    assert "AWS_SECRET_ACCESS_KEY" not in opening.environment
    assert "value of" not in repr(opening)
    assert "pass" not in repr(Opening.here("openai:m", {"extra_body": '{"key": "pass"}'}, "https://me:pass@host"))
    assert Opening.here("openai:gpt-5", {}, None).spec == "openai:gpt-5"


def test_a_worker_asks_with_nothing_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its machine may name another server, and keep keys that are for that one."""
    (tmp_path / "m.json").write_text("{}")
    for name in list(os.environ):
        if name.startswith("OPENAI_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OPENAI_API_KEY", "of the study")
    opening = Opening.here(f"scripted:{tmp_path / 'm.json'}", {}, None)
    monkeypatch.setenv("OPENAI_API_KEY", "of the worker")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere.invalid/v1")
    opening.open()
    kept = {name: text for name, text in os.environ.items() if name.startswith("OPENAI_")}
    assert kept == {"OPENAI_API_KEY": "of the study"}
    with pytest.raises(UserError, match="install one version on every machine"):
        replace(opening, version="0.0.1").open()


class Local(ScriptedModel):
    """As a model with weights looks from outside."""

    batch = 256


CPUS, GPUS = {"CPU": 8.0}, {"CPU": 16.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("model", "machines", "arguments", "room", "reason"),
    [
        (ScriptedModel, (CPUS, CPUS), {}, (2, 4, 0.0, 0), "a server: what the user allows, for all workers together"),
        (ScriptedModel, (CPUS,) * 3, {}, (2, 4, 0.0, 0), "three workers of two calls each would be fewer"),
        (ScriptedModel, (CPUS,) * 512, {}, (8, 1, 0.0, 0), "no worker without a call"),
        (Local, (CPUS, CPUS), {}, (2, 256, 8.0, 0), "a machine of processors to itself"),
        (Local, (CPUS, GPUS), {}, (4, 256, 1.0, 1), "a GPU for each"),
        (Local, (GPUS, GPUS), {"tensor_parallel_size": "4"}, (2, 256, 1.0, 4), "which vLLM splits it over"),
        (Local, (CPUS, GPUS), {"device": "cpu"}, (2, 256, 8.0, 0), "as the user says"),
    ],
)
def test_what_a_model_takes_of_the_cluster(
    model: type[ScriptedModel], machines: Any, arguments: dict[str, str], room: tuple[int, ...], reason: str
) -> None:
    asked = Here(model("m", lambda request: "yes"), Machines(*machines), **arguments)
    asked.concurrency = 8
    assert asked.room() == room, reason


def test_prices_are_those_that_the_server_lists() -> None:
    model = ScriptedModel("m", lambda request: "yes")
    assert Here(model).listed_price() is None, "a script has none"
    model.listed_price = lambda: Price(2, 10, 1, "2026-11-26", "listed")  # type: ignore[attr-defined]
    assert Here(model).listed_price() == Price(2, 10, 1, "2026-11-26", "listed")
