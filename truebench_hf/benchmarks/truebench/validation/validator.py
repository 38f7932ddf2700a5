"""One question to a validator: can the criteria of this instance stay as they are? Or its instructions?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.truebench.validation.findings import ASPECTS, PROMPT_KINDS, Kind, Validation, kinds
from truebench_hf.benchmarks.truebench.validation.reader import LISTS, VERDICTS, numbered, read_validation
from truebench_hf.judging.case import one_line
from truebench_hf.judging.signed import ListOf
from truebench_hf.judging.signed_asking import Entries, ask_by_prompt, problem_of
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Instance

SAMPLING = Sampling(max_tokens=8192)
_ANALYSIS = "The instruction asks for several things, and each criterion is held against them in turn. " * 8


async def validate_instance(
    schemas: SchemaFallback,
    instance: Instance,
    prompts: Prompts,
    aspects: Sequence[str] = tuple(ASPECTS),
    *,
    sampling: Sampling = SAMPLING,
) -> Validation:
    """What a validator says of the criteria of an instance, all turns together; responses are not looked at.

    `aspects` are those of `ASPECTS` that it is told about; with none it still says PASS or FAIL. The analysis is
    written in English, proposals in the language of the criteria. An answer that cannot be read is asked again;
    then the label is None, with the `problem`. Raises what `Caller.complete` raises, but for a request that failed.
    """
    given = {"aspects": list(aspects)}
    return await _asked(schemas, "validate_criteria", instance, prompts, kinds(aspects), given, sampling)


async def validate_prompt(
    schemas: SchemaFallback,
    instance: Instance,
    prompts: Prompts,
    *,
    sampling: Sampling = SAMPLING,
) -> Validation:
    """The same of its instructions: productivity domain, fit to category and task, clarity (appendix F)."""
    given = {"category": instance.category, "task": instance.task}
    return await _asked(schemas, "validate_prompt", instance, prompts, PROMPT_KINDS, given, sampling)


async def _asked(
    schemas: SchemaFallback, name: str, instance: Instance, prompts: Prompts, looked: tuple[Kind, ...],
    given: Mapping[str, Any], sampling: Sampling,
) -> Validation:  # fmt: skip
    values = {**shown(instance), **given}
    entries: Entries = {key: (form, []) for key, form in _forms(looked).items()}
    labels = {**dict.fromkeys(entries, ListOf()), "verdict": VERDICTS}
    answer = await ask_by_prompt(
        schemas, prompts, name, values, labels, sampling=sampling, reason=_ANALYSIS, entries=entries, long=True,
        check=lambda answer: problem_of(read_validation(answer, instance.turns, looked)),
    )  # fmt: skip
    if answer.problem:
        return Validation(None, looked, problem=answer.problem)
    validation = read_validation(answer, instance.turns, looked)
    assert isinstance(validation, Validation)
    return validation


def shown(instance: Instance) -> dict[str, Any]:
    """An instance as prompts on it show it: its turns with their criteria, numbered through, behind tags of its own."""
    numbers = {place: number for number, place in enumerate(numbered(instance.turns), 1)}
    turns: list[dict[str, Any]] = []
    for turn_number, turn in enumerate(instance.turns, 1):
        texts = enumerate(map(one_line, turn.criteria), 1)
        criteria = [{"number": numbers[turn_number, place], "text": text} for place, text in texts]
        turns.append({"prompt": turn.prompt, "criteria": criteria})
    system, context = instance.system or "", instance.context or ""
    said = [system, context, *(one.content for one in instance.history), *(turn.prompt for turn in instance.turns)]
    tag = fence(*said, beside=[one["text"] for turn in turns for one in turn["criteria"]])
    history = [f"[{one.role}_{tag}]\n{one.content}" for one in instance.history]
    return {"turns": turns, "system": system, "context": context, "history": history, "tag": tag}


def _forms(looked: Sequence[Kind]) -> dict[str, Any]:
    """The JSON schemas of the lists of defects, by key."""
    text, number = {"type": "string"}, {"type": "integer"}
    entries = dict.fromkeys(
        looked, _object({"criterion": number, "why": text, "instead": {"type": "array", "items": text}})
    )
    entries |= {"E3": _object({"turn": number, "why": text, "add": text})}
    entries |= dict.fromkeys(PROMPT_KINDS, _object({"turn": number, "why": text, "instead": text}))
    return {LISTS[kind]: {"type": "array", "items": entries[kind]} for kind in looked}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
