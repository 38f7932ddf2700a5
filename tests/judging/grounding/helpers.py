"""A judge that answers by a function or from a list, and what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.grounding.judge import GroundingJudge
from truebench_hf.judging.grounding.types import Grounding, Source
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import Answer, ScriptedModel
from truebench_hf.prompts import Prompts

SOURCE = Source(
    "When does the museum open? I come with two children.",
    "The museum opens at 9 on weekdays. It is closed on Mondays. Admission is 12 euros.",
    "Use the document alone.",
)


def caller(folder: Path, reply: Callable[[ChatRequest], Answer] | Sequence[Answer]) -> tuple[Caller, list[ChatRequest]]:
    """A caller whose model answers by a function, or one text after the other (the last one stays); and its requests."""
    folder.mkdir(exist_ok=True)
    seen: list[ChatRequest] = []

    def answer(request: ChatRequest) -> Answer:
        seen.append(request)
        return reply(request) if callable(reply) else reply[min(len(seen), len(reply)) - 1]

    return Caller(ScriptedModel("x", answer), Calls(folder / "ledger.sqlite"), "judge", 4), seen


def judged(
    folder: Path, template: str, answer: str, reply: Callable[[ChatRequest], Answer] | Sequence[Answer],
    source: Source = SOURCE,
) -> tuple[Grounding, list[ChatRequest]]:  # fmt: skip
    """What a judge with that template makes of an answer, and what it was asked."""
    asked, seen = caller(folder, reply)
    return asyncio.run(GroundingJudge(asked, template, Prompts()).verdict(source, answer)), seen


def row(sentence: str, label: str, *excerpts: str, reason: str = "") -> dict[str, object]:
    """What a judge says of one sentence."""
    return {"sentence": sentence, "rationale": reason, "excerpts": list(excerpts), "label": label}


def rows(*said: dict[str, object]) -> str:
    """What it says of all of them, by a judge that leaves the id out: there is nothing that it could quote."""
    return json.dumps({"sentences": said})
