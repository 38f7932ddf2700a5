"""Judging an answer span by span: in a call each, or in one call that labels every sentence and then the whole."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from truebench_hf.judging.grounding.asker import Asker
from truebench_hf.judging.grounding.coverage import placed
from truebench_hf.judging.grounding.implicit import read_implicit
from truebench_hf.judging.grounding.lookup import looked_up
from truebench_hf.judging.grounding.material import material
from truebench_hf.judging.grounding.types import Source, Unit, UnitLabel
from truebench_hf.judging.grounding.verdict import ACCURATE
from truebench_hf.judging.sentences import rough_sentences, sentences, trimmed
from truebench_hf.models.asking import Problem
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.types import Message

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

    def request(structured: bool) -> ChatRequest:
        text = asker.prompts.render("grounding_implicit", **values, structured=structured)
        schema = _implicit_schema() if structured else None
        return ChatRequest((Message("user", text),), asker.sampling, schema=schema, example=_lines(answer))

    found = await asker.ask(request, read_implicit, _implicit_again, long=True)
    if isinstance(found, Problem):
        return found
    where = placed(answer, [sentence for sentence, _ in found.sentences])
    units = []
    for (sentence, accurate), span in zip(found.sentences, where.spans, strict=True):
        label: UnitLabel = "supported" if accurate else "unsupported"
        start, end = span or (None, None)
        units.append(Unit(answer[start:end] if span else sentence, start, end, label))
    return tuple(units)


def _implicit_again(problem: str) -> str:
    return (
        f"Your answer cannot be used: {problem}. Label every sentence again and then give the final answer, in the form "
        "asked for above, each label one of two words: Accurate, Inaccurate. Write nothing behind the final answer."
    )


def _implicit_schema() -> dict[str, Any]:
    label = {"type": "string", "enum": list(ACCURATE)}
    fields: dict[str, Any] = {"sentence": {"type": "string"}, "label": label}
    one = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    outer = {"sentences": {"type": "array", "items": one}, "final_answer": label}
    return {"type": "object", "properties": outer, "required": list(outer), "additionalProperties": False}


def _lines(answer: str) -> str:
    parts = enumerate(rough_sentences(answer), 1)
    lines = [f"Sentence {i}: {part}\nSentence {i} label: Accurate" for i, part in parts]
    return "\n".join([*lines, "Final answer: Accurate"])
