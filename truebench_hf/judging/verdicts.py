"""Asking a judge for labels, in answers of the form `criteria_1`, `criteria_2`, ..., and for verdicts made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.judging.reader import read_verdicts
from truebench_hf.models.asking import Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Label, Verdict

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Labels(Generic[L]):
    """What a judge answered in the end: a label per entry (from 0) that it settled, and why others have none.

    `conflicting` entries were given two labels by one of its answers; `refused`: one of its answers could not be read.
    """

    labels: Mapping[int, L]
    reasons: Mapping[int, str]
    problem: str
    conflicting: frozenset[int] = frozenset()
    refused: bool = False


async def ask_verdicts(
    caller: Caller, request: ChatRequest, criteria: Sequence[Criterion], words: Mapping[str, Label], prompts: Prompts
) -> tuple[Verdict, ...]:
    """One verdict per criterion that `request` asks about. What no answer settles is None with the reason."""
    answer = await ask_labels(caller, request, len(criteria), words, prompts)
    judge = caller.model.spec
    verdicts = []
    for i, criterion in enumerate(criteria):
        label = answer.labels.get(i)
        reason = answer.problem if label is None else answer.reasons.get(i, "")
        conflicting = i in answer.conflicting
        verdicts.append(Verdict(criterion, label, reason, judge, conflicting=conflicting, refused=answer.refused))
    return tuple(verdicts)


async def ask_labels(
    caller: Caller, request: ChatRequest, count: int, words: Mapping[str, L], prompts: Prompts
) -> Labels[L]:
    """Ask for `count` entries with one of `words` each, and again, saying what was wrong, until all can be read.

    An answer that can be read in full counts by itself. Without one, an entry keeps a label only where every answer
    that speaks of it says the same.
    """
    answers = _Answers(count, words)

    def repair(problem: str) -> str:
        return prompts.render("repair", problems=problem, labels=" or ".join(words), count=count)

    found = await ask(caller, request, answers.read, repair, who="the judge")
    settled = answers.agreed(found.text) if isinstance(found, Problem) else found
    return settled


class _Answers(Generic[L]):
    """All answers to one question so far: what each said of each entry (None: nothing that can be used)."""

    def __init__(self, count: int, words: Mapping[str, L]) -> None:
        self._count, self._words = count, words
        self.read_so_far = 0
        self._labels: dict[int, set[L | None]] = {i: set() for i in range(count)}
        self._reasons: dict[int, str] = {}
        self._conflicting: frozenset[int] = frozenset()

    def read(self, text: str, truncated: bool) -> Labels[L] | Problem:
        """The labels of an answer that can be read in full."""
        reading = read_verdicts(text, self._count, self._words, truncated)
        self.read_so_far += 1
        self._reasons |= reading.reasons
        self._conflicting |= reading.differing
        if not reading.problems:
            return Labels(reading.labels, self._reasons, "", self._conflicting, self.read_so_far > 1)
        for i, label in reading.labels.items():
            self._labels[i].add(label)
        for i in reading.unclear:
            self._labels[i].add(None)
        return Problem("; ".join(reading.problems))

    def agreed(self, problem: str) -> Labels[L]:
        """The labels on which all answers that speak of an entry agree; `problem` is why there are no others."""
        if differ := [f"criteria_{i + 1}" for i, labels in self._labels.items() if len(labels) > 1]:
            problem += f"; the answers differ on {', '.join(differ)}"
        alike = {i: next(iter(labels)) for i, labels in self._labels.items() if len(labels) == 1}
        agreed = {i: label for i, label in alike.items() if label is not None}
        return Labels(agreed, self._reasons, problem, self._conflicting, self.read_so_far > 0)


def verdict_schema(count: int, words: list[str], reasoning: bool) -> dict[str, Any]:
    """The JSON schema of an answer: an entry per criterion, the reason before the verdict."""
    verdict: dict[str, Any] = {"type": "string", "enum": words}
    if reasoning:
        fields = {"reason": {"type": "string"}, "verdict": verdict}
        verdict = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    entries = {f"criteria_{i}": verdict for i in range(1, count + 1)}
    return {"type": "object", "properties": entries, "required": list(entries), "additionalProperties": False}


_REASON = "The response is held against what this criterion asks for, with what speaks for it and against it. " * 2


def verdict_example(count: int, word: str, structured: bool, reasoning: bool = True) -> str:
    """An answer of the usual form and length (see `ChatRequest.example`), with the same verdict for every criterion."""
    keys = [f"criteria_{i}" for i in range(1, count + 1)]
    if structured and reasoning:
        return json.dumps({key: {"reason": _REASON, "verdict": word} for key in keys})
    said = "".join(f"{key}: {_REASON}\n" for key in keys) if reasoning else ""
    found = json.dumps(dict.fromkeys(keys, word))
    return found if structured else f"{said}```json\n{found}\n```"
