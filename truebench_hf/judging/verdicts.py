"""Asking a judge for verdicts on criteria, under the keys `criteria_1`, `criteria_2`, ..."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.judging.signed import ID, criteria_labels, signed_schema
from truebench_hf.judging.signed_asking import ask_signed, texts_of
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Label, Verdict

# The words of every judge that writes verdicts on criteria.
PASS_FAIL: dict[str, Label] = {"PASS": "yes", "FAIL": "no"}
_REASON = "The response is held against what this criterion asks for, with what speaks for it and against it. " * 2


async def ask_verdicts(
    caller: Caller, request: ChatRequest, criteria: Sequence[Criterion], values: Mapping[str, Any], prompts: Prompts, *,
    plain: bool = False,
) -> tuple[Verdict, ...]:  # fmt: skip
    """One verdict per criterion that `request` asks about, by a prompt that was filled with `values`.

    Their `tag` signs the answer, but for one in the `plain` form. What no answer settles is None with the reason. A
    verdict that the judge corrected within an answer is `conflicting`.
    """
    labels = criteria_labels(len(criteria), PASS_FAIL)
    material = list(texts_of(values))
    answer = await ask_signed(caller, request, values["tag"], labels, prompts, material=material, plain=plain)
    refused = answer.asks > 1 or (bool(answer.problems) and not answer.failed)
    verdicts = []
    for key, criterion in zip(labels, criteria, strict=True):
        label = answer.labels.get(key)
        reason = answer.problem if label is None else answer.reasons.get(key, "")
        conflicting, judge = key in answer.corrected, caller.model.spec
        verdicts.append(Verdict(criterion, label, reason, judge, conflicting=conflicting, refused=refused))
    return tuple(verdicts)


def verdict_schema(tag: str | None, count: int, reasoning: bool) -> dict[str, Any]:
    """The JSON schema of an answer: the tag, then an entry per criterion, the reason before the verdict."""
    verdict: dict[str, Any] = {"type": "string", "enum": list(PASS_FAIL)}
    if reasoning:
        fields = {"reason": {"type": "string"}, "verdict": verdict}
        verdict = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return signed_schema(tag, dict.fromkeys(criteria_labels(count, PASS_FAIL), verdict))


def verdict_example(tag: str | None, count: int, structured: bool, reasoning: bool) -> str:
    """An answer of the usual form and length (see `ChatRequest.example`): FAIL for every criterion."""
    signature = {} if tag is None else {ID: tag}
    keys = criteria_labels(count, PASS_FAIL)
    if structured and reasoning:
        return json.dumps(signature | {key: {"reason": _REASON, "verdict": "FAIL"} for key in keys})
    reasons = "".join(f"{key}: {_REASON}\n" for key in keys) if reasoning else ""
    answer = json.dumps(signature | dict.fromkeys(keys, "FAIL"))
    return answer if structured else f"{reasons}```json\n{answer}\n```"


def verdict_answer(tag: str, verdicts: Sequence[tuple[str, str]]) -> str:
    """An answer as the prompts ask for it that gives these (reason, PASS or FAIL), a criterion after the other."""
    reasons = "".join(f"{number}. {reason}\n" for number, (reason, _) in enumerate(verdicts, 1) if reason)
    keys = criteria_labels(len(verdicts), PASS_FAIL)
    words = {key: word for key, (_, word) in zip(keys, verdicts, strict=True)}
    return f"{reasons}```json\n{json.dumps({ID: tag} | words)}\n```"
