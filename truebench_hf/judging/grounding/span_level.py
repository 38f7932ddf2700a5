"""Judging an answer span by span: in a call each, or in one call that labels every sentence and then the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.judging.grounding.asker import ACCURATE, Asker
from truebench_hf.judging.grounding.coverage import placed
from truebench_hf.judging.grounding.lookup import looked_up
from truebench_hf.judging.grounding.material import material
from truebench_hf.judging.grounding.prescribed import read_lines, read_word
from truebench_hf.judging.grounding.types import Source, Unit, UnitLabel
from truebench_hf.judging.sentences import rough_sentences, sentences, trimmed
from truebench_hf.judging.signed import ListOf, SignedAnswer, label_of
from truebench_hf.models.asking import Problem

KEY = "sentences"
_LABELLED = {"sentence": {"type": "string"}, "label": {"type": "string", "enum": list(ACCURATE)}}
_SCHEMA = {
    "type": "array",
    "items": {"type": "object", "properties": _LABELLED, "required": list(_LABELLED), "additionalProperties": False},
}
Units = tuple[Unit, ...]


async def by_span(asker: Asker, source: Source, answer: str) -> Units | Problem:
    """One call a span, all together: the prompts begin alike, so that servers read source and answer once."""
    spans = [trimmed(answer, *span) for span in sentences(answer, source.language)]
    asked = [
        asker.verdict("grounding_span", ACCURATE, source, answer, quoting=True, span=answer[start:end], number=number)
        for number, (start, end) in enumerate(spans, 1)
    ]
    units: list[Unit] = []
    for (start, end), found in zip(spans, await asyncio.gather(*asked), strict=True):
        unit = Unit(answer[start:end], start, end, None)
        if isinstance(found, Problem):
            units.append(replace(unit, reason=found.text))
            continue
        excerpts = looked_up(source, found.quotes)
        # A span with nothing to verify quotes nothing.
        untraced = found.value and not all(one.found for one in excerpts)
        label: UnitLabel = "supported" if found.value else "unsupported"
        units.append(replace(unit, label=label, reason=found.reason, excerpts=excerpts, untraced=untraced))
    return tuple(units)


async def by_implicit(asker: Asker, source: Source, answer: str) -> Units | Problem:
    """One call that labels every sentence and then the whole."""
    values = material(source, answer) | {"response": answer}
    if asker.prescribed("grounding_implicit"):
        rows = await asker.as_prescribed("grounding_implicit", values, _read_lines, long=True, met=_all_accurate)
        return rows if isinstance(rows, Problem) else _units(rows, answer)
    labels: dict[str, Any] = {KEY: ListOf(ACCURATE), "final_answer": ACCURATE}
    entries = {KEY: (_SCHEMA, [{"sentence": part, "label": "accurate"} for part in rough_sentences(answer)])}
    stated = await asker.ask(
        "grounding_implicit", values, labels, entries=entries, check=_disagreement, long=True, met=_accurate
    )
    return Problem(stated.problem) if stated.problem else _units(stated.labels[KEY], answer)


def _accurate(stated: SignedAnswer[Any]) -> bool:
    return bool(stated.labels["final_answer"])


def _disagreement(stated: SignedAnswer[Any]) -> str:
    """What is wrong with the labels of the sentences and the whole together; "" where they agree."""
    rows, whole = stated.labels[KEY], stated.labels["final_answer"]
    if not rows or not all(isinstance(row, dict) and isinstance(row.get("sentence"), str) for row in rows):
        return f"`{KEY}` is no list of sentences with a label each"
    if whole != _all_accurate(rows):
        return "the final answer does not agree with the labels: it is accurate only if every sentence is"
    return ""


def _all_accurate(rows: Sequence[Mapping[str, Any]]) -> bool:
    return all(label_of(row, ACCURATE) for row in rows)


def _read_lines(text: str) -> list[dict[str, str]] | Problem:
    """The paper's form: lines, and the final answer in the last one."""
    rows, whole = read_lines(text), read_word(text, ACCURATE)
    if isinstance(rows, Problem) or isinstance(whole, Problem):
        return rows if isinstance(rows, Problem) else whole  # type: ignore[return-value]
    problem = _disagreement(SignedAnswer({KEY: tuple(rows), "final_answer": whole}))
    return Problem(problem) if problem else rows


def _units(rows: Sequence[Mapping[str, Any]], answer: str) -> Units:
    where = placed(answer, [row["sentence"] for row in rows])
    units = []
    for row, span in zip(rows, where.spans, strict=True):
        label: UnitLabel = "supported" if label_of(row, ACCURATE) else "unsupported"
        start, end = span or (None, None)
        units.append(Unit(answer[start:end] if span else row["sentence"], start, end, label))
    return tuple(units)
