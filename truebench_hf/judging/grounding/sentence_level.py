"""Judging an answer sentence by sentence in JSON: one call for all, and a second look at each supported sentence."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.judging.grounding.asker import Asker, quotes_of
from truebench_hf.judging.grounding.coverage import placed
from truebench_hf.judging.grounding.lookup import looked_up
from truebench_hf.judging.grounding.material import material
from truebench_hf.judging.grounding.prescribed import read_objects, read_yes_no
from truebench_hf.judging.grounding.types import LABELS, UNGROUNDED, Source, Unit, UnitLabel
from truebench_hf.judging.sentences import rough_sentences
from truebench_hf.judging.signed import ListOf, label_of
from truebench_hf.judging.signed_prompt import TEXTS, problem_of
from truebench_hf.models.asking import Problem

Units = tuple[Unit, ...]
KEY = "sentences"
_WORDS: dict[str, UnitLabel] = {label: label for label in LABELS}
_FIELDS = {
    "sentence": {"type": "string"}, "rationale": {"type": "string"}, "excerpts": TEXTS,
    "label": {"type": "string", "enum": list(LABELS)},
}  # fmt: skip
_SCHEMA = {
    "type": "array",
    "items": {"type": "object", "properties": _FIELDS, "required": list(_FIELDS), "additionalProperties": False},
}
_SHOWN = 3  # parts of an answer that a judge is told it left out


@dataclass(frozen=True, slots=True)
class Entry:
    """One sentence as the judge wrote it, its label, why, and what it quotes from the source."""

    sentence: str
    label: UnitLabel
    reason: str
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entries:
    """What a judge said of the sentences of an answer, and where they stand in it."""

    entries: Sequence[Entry]
    spans: Sequence[tuple[int, int]]

    def units(self, source: Source, answer: str) -> Units:
        """In the order of the answer."""
        made: list[Unit] = []
        for entry, (start, end) in zip(self.entries, self.spans, strict=True):
            excerpts = looked_up(source, entry.quotes)
            untraced = entry.label == "supported" and not (excerpts and all(one.found for one in excerpts))
            made.append(Unit(answer[start:end], start, end, entry.label, entry.reason, excerpts, untraced))
        return tuple(sorted(made, key=lambda unit: unit.start or 0))


async def by_entries(asker: Asker, source: Source, answer: str, prompt: str) -> Units | Problem:
    """One call that labels every sentence; one that leaves a part of the answer out is asked again."""
    entries = await _entries(asker, source, answer, prompt)
    return entries if isinstance(entries, Problem) else entries.units(source, answer)


async def _entries(asker: Asker, source: Source, answer: str, prompt: str) -> Entries | Problem:
    values = material(source, answer) | {"response": answer}
    if asker.prescribed(prompt):

        def read(text: str) -> Entries | Problem:
            rows = read_objects(text)
            return rows if isinstance(rows, Problem) else covering(rows, answer)

        return await asker.as_prescribed(prompt, values, read, long=True, met=lambda said: _grounded(said.entries))
    stated = await asker.ask(
        prompt, values, {KEY: ListOf(_WORDS)}, entries={KEY: (_SCHEMA, _example(answer))}, long=True,
        check=lambda stated: problem_of(covering(stated.labels[KEY], answer)),
        met=lambda stated: _grounded(filter(None, map(_entry, stated.labels[KEY]))),
    )  # fmt: skip
    return Problem(stated.problem) if stated.problem else covering(stated.labels[KEY], answer)


def covering(rows: Sequence[Any], answer: str) -> Entries | Problem:
    """The objects on the sentences of an answer with their places in it; a Problem where they do not cover it."""
    entries = [_entry(row) for row in rows]
    if None in entries:
        return Problem(f"object {entries.index(None) + 1} of `{KEY}` has no sentence with one label")
    known = [entry for entry in entries if entry is not None and any(map(str.isalnum, entry.sentence))]
    where = placed(answer, [entry.sentence for entry in known])
    kept = [(entry, span) for entry, span in zip(known, where.spans, strict=True) if span is not None]
    labels: defaultdict[str, set[UnitLabel]] = defaultdict(set)  # of what stands in the response, by its letters
    for entry, _ in kept:
        labels[_letters(entry.sentence)].add(entry.label)
    for number, (entry, span) in enumerate(zip(known, where.spans, strict=True), 1):
        if span is None and not (twins := labels.get(_letters(entry.sentence))):
            return Problem(f"sentence {number} is not in the response as it stands there: {entry.sentence[:80]!r}")
        if span is None and twins != {entry.label}:
            return Problem(f"one sentence is given two labels: {entry.sentence[:80]!r}")
    if where.missing:
        shown = "; ".join(repr(part[:80]) for part in where.missing[:_SHOWN])
        return Problem(f"these parts of the response have no object: {shown}")
    return Entries([entry for entry, _ in kept], [span for _, span in kept])


def _grounded(entries: Iterable[Entry]) -> bool:
    return not any(entry.label in UNGROUNDED for entry in entries)


def _entry(row: Any) -> Entry | None:
    """What one object says of a sentence; None where it names no sentence, or no label."""
    label, sentence = label_of(row, _WORDS), row.get("sentence") if isinstance(row, dict) else None
    if label is None or not isinstance(sentence, str):
        return None
    reason = next((row[key] for key in ("rationale", "reason") if isinstance(row.get(key), str)), "")
    return Entry(sentence, label, reason, quotes_of(row.get("excerpts", row.get("excerpt"))))


def _letters(sentence: str) -> str:
    return "".join(filter(str.isalnum, sentence.casefold()))


def _example(answer: str) -> list[dict[str, Any]]:
    said = {"rationale": "The document says so in these words.", "label": "supported"}
    return [{"sentence": part, "excerpts": [part], **said} for part in rough_sentences(answer)]


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
    entailed = await _entailed(asker, unit, quotes)
    if isinstance(entailed, Problem):
        return replace(unit, label=None, reason=f"labelled supported, the double check is undecided: {entailed.text}")
    if entailed:
        return replace(unit, checked=True)
    return replace(unit, label="unsupported", checked=False, reason="labelled supported, but the double check says no")


async def _entailed(asker: Asker, unit: Unit, quotes: Sequence[str]) -> bool | Problem:
    values = {
        "sentence": unit.text, "excerpts": list(quotes), "tag": material(Source("", "\n".join(quotes)), unit.text)["tag"]
    }  # fmt: skip
    if asker.prescribed("grounding_double_check"):
        return await asker.as_prescribed("grounding_double_check", values, read_yes_no)
    stated = await asker.ask("grounding_double_check", values, {"entailed": {"yes": "entailed", "no": ""}})
    return Problem(stated.problem) if stated.problem else bool(stated.labels["entailed"])
