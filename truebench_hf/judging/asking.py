"""Asking a judge until its answer can be used, a bounded number of times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.reader import read_verdicts
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Label, Message, Verdict

ASK_AGAIN = 2  # how often a judge is told what was wrong with its answer


@dataclass(frozen=True, slots=True)
class Question:
    """One prompt to a judge about some criteria: the words on offer as labels, and a schema where it takes one."""

    prompt: str
    criteria: tuple[Criterion, ...]
    labels: Mapping[str, Label]
    schema: dict[str, Any] | None = None


async def ask(caller: Caller, question: Question, prompts: Prompts, sampling: Sampling, sample: int) -> list[Verdict]:
    """One verdict per criterion of `question`. What no answer settles is None with the reason."""
    messages: tuple[Message, ...] = (Message("user", question.prompt),)
    labels: dict[int, Label] = {}
    reasons: dict[int, str] = {}
    problem = ""
    for _ in range(1 + ASK_AGAIN):
        try:
            completion = await caller.complete(ChatRequest(messages, sampling, sample, question.schema))
        except RequestFailed as error:
            problem = f"the judge gave no answer: {error}"
            break
        reading = read_verdicts(completion.text, len(question.criteria), question.labels)
        labels |= reading.labels
        reasons |= reading.reasons
        if not reading.problems:
            break
        problem = "the judge's answer was cut off" if completion.truncated else "; ".join(reading.problems)
        words = " or ".join(question.labels)
        repair = prompts.render("repair", problems=problem, labels=words, count=len(question.criteria))
        messages = (messages[0], Message("assistant", completion.text), Message("user", repair))
    judge = caller.model.spec
    return [
        Verdict(criterion, labels[i], reasons.get(i, ""), judge)
        if i in labels
        else Verdict(criterion, None, problem, judge)
        for i, criterion in enumerate(question.criteria)
    ]


def schema(count: int, words: list[str], reasoning: bool) -> dict[str, Any]:
    """The JSON schema of an answer: an entry per criterion, the reason before the verdict."""
    verdict: dict[str, Any] = {"type": "string", "enum": words}
    if reasoning:
        fields = {"reason": {"type": "string"}, "verdict": verdict}
        verdict = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    entries = {f"criteria_{i}": verdict for i in range(1, count + 1)}
    return {"type": "object", "properties": entries, "required": list(entries), "additionalProperties": False}
