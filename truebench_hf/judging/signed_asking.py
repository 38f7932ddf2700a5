"""Asks a judge for labels until its answer can be read, and counts what reading them cost.

`ask_by_prompt` is for prompts whose answer is signed: its schema, and an answer of the usual form, follow from the labels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from truebench_hf.judging.signed import (
    CUT_OFF,
    ID,
    Labels,
    ListOf,
    SignedAnswer,
    criteria_labels,
    is_forgeable,
    named_keys,
    read_signed,
    signed_schema,
)
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Label, Message, Verdict

L = TypeVar("L")
_OBJECT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*+\}")
Entries = Mapping[str, tuple[Mapping[str, Any], Any]]  # key -> (its JSON schema, an example of its value)
JUDGE_SAMPLING = Sampling(max_tokens=8192)  # of one answer of a judge, thinking included
TEXTS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}


async def ask_signed(
    caller: Caller, request: ChatRequest, tag: str, labels: Labels[L], prompts: Prompts, *,
    material: Sequence[str], check: Callable[[SignedAnswer[L]], str] = lambda answer: "",
    unsigned_form: Callable[[str, bool], SignedAnswer[L]] | None = None, again: str = "",
    long: bool = False, met: Callable[[SignedAnswer[L]], bool] | None = None,
) -> SignedAnswer[L]:  # fmt: skip
    """Ask for one of the words on offer under every key of `labels`, and again, saying what was wrong.

    `material` are the texts that the judge is shown and did not write: where none of them could be quoted for an
    answer, objects without the tag are read too; with a JSON schema, which demands the tag, not before the second
    answer. `check` says what else is wrong with an answer of the right form, "" if nothing is. Prompts of the papers ask
    for no tag: `unsigned_form` reads their answers (text, and whether it was cut off), and `again`, with a place for the
    problem, asks for another where our words for that would not fit. A `long` answer that is cut off is not asked for
    again: the next one would be, too. `met` says whether an answer as a whole is a yes, where its single labels do not: of sentences, say.
    An answer that can be read in full counts by itself. Without one, a key keeps a label only where every answer that
    speaks of it states the same one, and `problem` says why others have none.
    Raises SchemaRefused and UserError as `Caller.complete` does.
    """
    answers: list[SignedAnswer[L]] = []
    form = unsigned_form or _signed_form(tag, labels, material, with_schema=request.schema is not None)

    def read(text: str, truncated: bool) -> SignedAnswer[L] | Problem:
        answer = form(text, truncated)
        if not answer.problems and (problem := check(answer)):
            answer = replace(answer, labels={}, problems=(problem,), unclear=frozenset(labels))
        answers.append(answer)
        return Problem(answer.problem, truncated and long) if answer.problems else answer

    def repair(problem: str) -> str:
        if again:
            return again.format(problem)
        return prompts.render("repair", problems=problem, keys=named_keys(labels), tag="" if unsigned_form else tag)

    result = await ask(caller, request, read, repair, who="the judge")
    answer = _with_earlier(_agreed(answers, labels, result) if isinstance(result, Problem) else result, answers)
    outcomes = None if met is None else [None if answer.problems else met(answer)]
    caller.reading.add(answer, {key: words.values() for key, words in labels.items()}, outcomes)
    return answer


def _signed_form(
    tag: str, labels: Labels[L], material: Sequence[str], with_schema: bool
) -> Callable[[str, bool], SignedAnswer[L]]:
    """Return what reads the signed objects of answers, or objects without the tag where these count (see `ask_signed`)."""
    unsigned = 0

    def read(text: str, truncated: bool) -> SignedAnswer[L]:
        nonlocal unsigned
        answer = read_signed(text, tag, labels, truncated=truncated)
        unsigned += not answer.signed
        if answer.signed or (with_schema and unsigned == 1) or is_forgeable(labels, *material):
            return answer
        return read_signed(text, tag, labels, unsigned=True, truncated=truncated)

    return read


def _with_earlier(answer: SignedAnswer[L], answers: Sequence[SignedAnswer[L]]) -> SignedAnswer[L]:
    """An answer with the reasons and the corrections of those before it."""
    reasons = {key: reason for earlier in answers for key, reason in earlier.reasons.items()}
    corrected = frozenset(key for earlier in answers for key in earlier.corrected)
    return replace(answer, reasons=reasons, corrected=corrected, asks=len(answers))


def _agreed(answers: Sequence[SignedAnswer[L]], labels: Labels[L], problem: Problem) -> SignedAnswer[L]:
    """The labels on which all answers that speak of a key agree; `problem` is why there are no others."""
    kept: dict[str, L] = {}
    differing = []
    for key in labels:
        stated = [answer.labels[key] for answer in answers if key in answer.labels]
        if any(label != stated[0] for label in stated):
            differing.append(key)
        elif stated and not any(key in answer.unclear for answer in answers):
            kept[key] = stated[0]
    problems = [problem.text] + ([f"the answers differ on {', '.join(differing)}"] if differing else [])
    return SignedAnswer(kept, tuple(problems), signed=any(answer.signed for answer in answers), failed=problem.failed)


def texts_of(values: Any) -> Iterator[str]:
    """All texts among the values of a prompt: what a judge that reads it could quote."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, Mapping | list | tuple):
        for value in values.values() if isinstance(values, Mapping) else values:
            yield from texts_of(value)


async def ask_by_prompt(
    schemas: SchemaFallback, prompts: Prompts, name: str, values: Mapping[str, Any], labels: Labels[L], *,
    sampling: Sampling, sample: int = 0, reason: str = "", entries: Entries | None = None,
    check: Callable[[SignedAnswer[L]], str] = lambda answer: "", long: bool = False,
    met: Callable[[SignedAnswer[L]], bool] | None = None,
) -> SignedAnswer[L]:  # fmt: skip
    """The answer to the prompt of that name, filled with `values` (its `tag` among them); see `ask_signed`.

    `reason` is how a reason reads; "" where none is asked for. `entries` are further keys of the object, which come
    before those of `labels`, or say of one of these what it looks like. A `long` answer is not asked for again where it
    is cut off.
    Raises what `Caller.complete` raises, but for a request that failed.
    """
    tag, forms = str(values["tag"]), dict(entries or {})
    forms |= {key: _form(words) for key, words in labels.items() if key not in forms}

    def request(structured: bool) -> ChatRequest:
        text = prompts.render(name, **values, structured=structured)
        values_shown = {key: value for key, (_, value) in forms.items()}
        if not structured:
            example = f"{reason}\n```json\n{json.dumps({ID: tag, **values_shown})}\n```"
            return ChatRequest((Message("user", text),), sampling, sample, example=example)
        example = json.dumps({ID: tag, **({"reason": reason} if reason else {}), **values_shown})
        properties: dict[str, Any] = {"reason": {"type": "string"}} if reason else {}
        definitions: dict[str, Any] = {}  # that a form refers to stand at the root of the schema
        for key, (form, _) in forms.items():
            properties[key] = {name: value for name, value in form.items() if name != "$defs"}
            definitions |= form.get("$defs", {})
        schema = signed_schema(tag, properties) | ({"$defs": definitions} if definitions else {})
        return ChatRequest((Message("user", text),), sampling, sample, schema, example=example)

    return await schemas.ask(
        request,
        lambda filled: ask_signed(
            schemas.caller, filled, tag, labels, prompts, material=[*texts_of(values)], check=check, long=long, met=met
        ),
    )


def problem_of(value: object) -> str:
    """What is wrong with what was made of an answer; "" where nothing is."""
    return value.text if isinstance(value, Problem) else ""


def _form(words: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The JSON schema of a key with these words on offer, and the first of them."""
    if isinstance(words, ListOf):
        return {"type": "array", "items": {"type": "string", "enum": [*words]} if words else {}}, []
    named: list[Any] = [int(word) if word.isdigit() else word for word in words if word != "null"]
    form: dict[str, Any] = {"enum": named}
    if all(isinstance(value, int) for value in named):
        form = {"type": "integer", "minimum": min(named), "maximum": max(named)}
    elif all(isinstance(value, str) for value in named):
        form = {"type": "string", "enum": named}
    return ({"anyOf": [form, {"type": "null"}]} if "null" in words else form), named[0]


def read_plain(labels: Labels[L], text: str, truncated: bool) -> SignedAnswer[L]:
    """Read an answer to the papers' own plain prompts as these prescribe (TRUEBench, listing 5; RubricEval, Table 12).

    They ask for a JSON block behind the analysis, without a tag. The last fenced block counts, or the last object where
    none is fenced, and in it the keys and the words exactly as asked for. It can be a quotation of the response: that is
    the papers' protocol, and why it is not the default. Never raises.
    """
    if truncated:
        return SignedAnswer({}, (CUT_OFF,), signed=False)
    _, fence, behind = text.rpartition("```json")
    block = behind.partition("```")[0] if fence else next(iter(_OBJECT.findall(text)[-1:]), "")
    try:
        entries = dict(json.loads(block, strict=False))
    except (ValueError, TypeError, RecursionError):
        entries = {}
    stated: dict[str, Any] = {
        key: value.get("verdict") if isinstance(value, dict) else value for key, value in entries.items()
    }
    read = {key: words[stated[key]] for key, words in labels.items() if key in stated and stated[key] in list(words)}
    reasons = {key: str(value.get("reason", "")) for key, value in entries.items() if isinstance(value, dict)}
    problems = [
        f"{key} does not have one of the labels {' or '.join(labels[key])}" for key in labels if key not in read
    ]
    return SignedAnswer(read, tuple(problems), reasons, unclear=frozenset(stated.keys() & labels.keys() - read.keys()))


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
    form = partial(read_plain, labels) if plain else None
    answer = await ask_signed(
        caller, request, values["tag"], labels, prompts, material=[*texts_of(values)], unsigned_form=form
    )
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
