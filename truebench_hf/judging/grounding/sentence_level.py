"""Judging an answer sentence by sentence in JSON: one call for all, and a second look at each supported sentence."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.judging.grounding.asker import Asker
from truebench_hf.judging.grounding.coverage import placed
from truebench_hf.judging.grounding.entries import Entry, read_entries
from truebench_hf.judging.grounding.lookup import looked_up
from truebench_hf.judging.grounding.material import material
from truebench_hf.judging.grounding.types import LABELS, Source, Unit, UnitLabel
from truebench_hf.judging.sentences import rough_sentences
from truebench_hf.judging.words import ORNAMENT
from truebench_hf.models.asking import Problem
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.types import Message

Units = tuple[Unit, ...]
_SHOWN = 3  # parts of an answer that a judge is told it left out


async def by_entries(asker: Asker, source: Source, answer: str, prompt: str) -> Units | Problem:
    """One call that labels every sentence; one that leaves a part of the answer out is asked again."""
    found = await _entries(asker, source, answer, prompt)
    return found if isinstance(found, Problem) else found.units(source, answer)


@dataclass(frozen=True, slots=True)
class _Entries:
    """What a judge said of the sentences of an answer, and where they stand in it."""

    entries: Sequence[Entry]
    spans: Sequence[tuple[int, int]]

    def units(self, source: Source, answer: str) -> Units:
        """In the order of the answer."""
        made: list[tuple[Entry, Unit]] = []
        for entry, (start, end) in zip(self.entries, self.spans, strict=True):
            excerpts = looked_up(source, entry.quotes)
            untraced = entry.label == "supported" and not (excerpts and all(one.found for one in excerpts))
            unit = Unit(answer[start:end], start, end, entry.label, entry.reason, excerpts, untraced)
            made.append((entry, unit))
        return tuple(unit for _, unit in sorted(made, key=lambda pair: pair[1].start or 0))


async def _entries(asker: Asker, source: Source, answer: str, prompt: str) -> _Entries | Problem:
    values = material(source, answer) | {"response": answer}

    def request(structured: bool) -> ChatRequest:
        text = asker.prompts.render(prompt, **values, structured=structured)
        schema = _entries_schema() if structured else None
        return ChatRequest((Message("user", text),), asker.sampling, schema=schema, example=_example(answer))

    return await asker.ask(request, lambda text: read_covering(text, answer), _again, long=True)


def read_covering(text: str, answer: str) -> _Entries | Problem:
    """The entries of a reply with their places in the answer; a Problem where they do not cover it."""
    entries = read_entries(text)
    if isinstance(entries, Problem):
        return entries
    entries = [entry for entry in entries if any(map(str.isalnum, entry.sentence))]
    where = placed(answer, [entry.sentence for entry in entries])
    kept: list[Entry] = []
    spans: list[tuple[int, int]] = []
    twins: defaultdict[str, set[UnitLabel]] = defaultdict(set)  # labels of what stands in the response, by its letters
    for number, (entry, span) in enumerate(zip(entries, where.spans, strict=True), 1):
        known = twins[_letters(entry.sentence)]
        if span is not None:
            kept.append(entry)
            spans.append(span)
            known.add(entry.label)
        elif not known:
            return Problem(f"sentence {number} is not in the response as it stands there: {entry.sentence[:80]!r}")
        elif known != {entry.label}:
            return Problem(f"one sentence is given two labels: {entry.sentence[:80]!r}")
    if where.missing:
        shown = "; ".join(repr(part[:80]) for part in where.missing[:_SHOWN])
        return Problem(f"these parts of the response have no object: {shown}")
    return _Entries(kept, spans)


def _letters(sentence: str) -> str:
    return "".join(filter(str.isalnum, sentence.casefold()))


def _again(problem: str) -> str:
    return (
        f"Your answer cannot be used: {problem}. Give all JSON objects again, in the form asked for above: one for every "
        f"sentence of the response from its beginning to its end, headings and list items included, each with `sentence` "
        f"copied from the response and one `label` of {', '.join(LABELS)}. Write no label outside of them."
    )


def _entries_schema() -> dict[str, Any]:
    text = {"type": "string"}
    fields: dict[str, Any] = {"sentence": text, "rationale": text, "excerpts": {"type": "array", "items": text}}
    fields["label"] = {"type": "string", "enum": list(LABELS)}
    one = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    outer = {"sentences": {"type": "array", "items": one}}
    return {"type": "object", "properties": outer, "required": ["sentences"], "additionalProperties": False}


def _example(answer: str) -> str:
    rows = [
        {
            "sentence": part,
            "rationale": "The document says so in these words.",
            "excerpts": [part],
            "label": "supported",
        }
        for part in rough_sentences(answer)
    ]
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


async def by_double_check(asker: Asker, source: Source, answer: str) -> Units | Problem:
    """The JSON template, and then a call for each supported sentence that shows it with its excerpts and nothing else."""
    found = await _entries(asker, source, answer, "grounding_json")
    if isinstance(found, Problem):
        return found
    units = found.units(source, answer)
    quotes = dict(zip([span[0] for span in found.spans], [entry.quotes for entry in found.entries], strict=True))
    checks = [_checked(asker, unit, quotes[unit.start or 0]) for unit in units]
    return tuple(await asyncio.gather(*checks))


async def _checked(asker: Asker, unit: Unit, quotes: Sequence[str]) -> Unit:
    """A supported sentence is unsupported where its excerpts do not entail it, and undecided where the judge does not say."""
    if unit.label != "supported":
        return unit
    if not quotes:
        return replace(unit, label="unsupported", checked=False, reason="labelled supported, but no excerpt is given")
    values = material(Source("", "\n".join(quotes)), unit.text)
    text = asker.prompts.render("grounding_double_check", sentence=unit.text, excerpts=list(quotes), tag=values["tag"])
    request = ChatRequest((Message("user", text),), asker.sampling, example="YES")
    found = await asker.ask_plainly(request, read_yes_no, _yes_or_no)
    if isinstance(found, Problem):
        return replace(unit, label=None, reason=f"labelled supported, the double check is undecided: {found.text}")
    if found:
        return replace(unit, checked=True)
    return replace(unit, label="unsupported", checked=False, reason="labelled supported, but the double check says NO")


def read_yes_no(text: str) -> bool | Problem:
    """The one word YES or NO that an answer is, ornament aside. Never raises."""
    word = text.strip(ORNAMENT + "()[]").casefold()
    return {"yes": True, "no": False}.get(word, Problem("it is not YES or NO alone"))


def _yes_or_no(problem: str) -> str:
    return f"Your answer cannot be used: {problem}. Answer with the one word YES or with the one word NO, and nothing else."
