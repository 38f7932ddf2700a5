"""Dimensions as the builder writes them, and what a program can find wrong with them (appendix B.2)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.benchmarks.flexbench.derivation.asking import listed, problem
from truebench_hf.benchmarks.flexbench.derivation.segments import found
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Segment
from truebench_hf.judging import checklists
from truebench_hf.models.asking import Problem

MOST = 10  # dimensions for each segment
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_BRACKETS = re.compile(r"\[[^\[\]]{1,80}\]")
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c]([^\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]{2,300})[\"\u201d\u201c\u00bb\u300d]"
)
_NAME = re.compile(r"(?<![.!?:\w\"\u201c(\[-])(?<=[\w,;)] )[A-Z\u00c0-\u00de][\w-]+")  # within a sentence
_NOUNS = 0.15  # of words within sentences: a language that begins all nouns with a capital


def read_dimensions(
    value: dict[str, Any], segments: Sequence[Segment], instruction: str = "", *, keep: Iterable[str] = ()
) -> tuple[Dimension, ...] | Problem:
    """The dimensions of an answer, numbered anew. A Problem says what is wrong with which.

    Every segment in `keep` has to be cited. A dimension is marked by `check` where it says what the `instruction` holds
    and the segments that it cites do not.
    """
    texts = {one.id: one.text for one in segments}
    nouns = capitalised(" ".join(texts.values())) > _NOUNS
    made, findings = [], []
    entries = listed(value.get("dimensions"), dict)
    if len(entries) > (most := MOST * max(1, len(segments))):  # each is judged in every conversation
        return Problem(f"there are {len(entries)} dimensions for {len(segments)} segments; give {most} at most")
    for number, entry in enumerate(entries, 1):
        one = _dimension(f"d{number}", entry)
        faults, doubts = wrong(one, texts, instruction, names=not nouns)
        findings += [f"dimension {number} ({one.question[:80]!r}) {why}" for why in faults]
        made.append(replace(one, check="; ".join(doubts)))
    findings += [f"{a} and {b} ask the same" for a, b in duplicates(made)]
    cited = {name for one in made for name in one.segments}
    findings += [f"segment {name} is asked about by no dimension" for name in keep if name not in cited]
    if not made:
        findings.append("there are no dimensions")
    return problem(findings) if findings else tuple(made)


def _dimension(name: str, entry: dict[str, Any]) -> Dimension:
    question, condition, script = (
        " ".join(entry[key].split()) if isinstance(entry.get(key), str) else ""
        for key in ("question", "condition", "script")
    )
    return Dimension(name, question, tuple(dict.fromkeys(listed(entry.get("segments")))), condition, script=script)


def wrong(
    one: Dimension, texts: dict[str, str], instruction: str = "", *, names: bool = True
) -> tuple[list[str], list[str]]:
    """What is wrong with a dimension by itself (its question, what it cites, what none of that says), and what is in doubt.

    Numbers, scripts, names in brackets or quotation marks and, with `names`, words that begin with a capital within a
    sentence have to stand in the segments that it cites; where another part of the `instruction` holds them that is a
    doubt alone.
    """
    if not one.question or one.question[-1] not in "?\uff1f\u061f":
        return ["is no question"], []
    if unknown := [name for name in one.segments if name not in texts]:
        return [f"cites {', '.join(unknown)}, which is no segment"], []
    if not one.segments:
        return ["cites no segment"], []
    cited = "\n".join(texts[name] for name in one.segments)
    lacking = _lacking(one, cited, names=names)
    beyond = {text for text, _ in _lacking(one, f"{cited}\n{instruction}", names=names)}
    faults = [f"{text}, {what} that its segments do not hold" for text, what in lacking if text in beyond]
    held = "stands in the instruction, but not in the segments that it cites"
    return faults, [f"{text}, {what} that {held}" for text, what in lacking if text not in beyond]


def _lacking(one: Dimension, cited: str, *, names: bool) -> list[tuple[str, str]]:
    """What a dimension says and a text does not hold, and what that is."""
    missing = [("has a script", "a wording")] if one.script and not found(one.script, cited) else []
    said = f"{one.question}\n{one.condition}"
    own = {"number": _NUMBER.findall(said), "item": _BRACKETS.findall(said), "wording": _QUOTED.findall(said)}
    own["name"] = _NAME.findall(said) if names else []
    for kind, parts in own.items():
        lacking = [part for part in dict.fromkeys(parts) if not _stands(kind, folded(part), cited)]
        missing += [(f"says {part!r}", f"{'an' if kind == 'item' else 'a'} {kind}") for part in lacking]
    return missing


def capitalised(text: str) -> float:
    """The share of words within sentences that begin with a capital."""
    words = re.findall(r"(?<=[\w,;)] )\w+", text)
    return sum(word[0].isupper() for word in words) / len(words) if words else 0.0


def duplicates(dimensions: Sequence[Dimension]) -> list[tuple[str, str]]:
    """Pairs whose questions differ at most in letter case, blanks and signs."""
    seen: dict[str, str] = {}
    return [
        (seen[key], one.id)
        for one in dimensions
        if (key := checklists.folded(one.question)) and seen.setdefault(key, one.id) != one.id
    ]


def _stands(kind: str, part: str, cited: str) -> bool:
    """Whether a part stands in the text cited: numbers and names as a whole, 14 not in 140 and Ann not in Annual."""
    held = folded(cited)
    if kind == "number":
        return part in _NUMBER.findall(held)
    return part in held if kind == "wording" else re.search(rf"(?<!\w){re.escape(part)}(?!\w)", held) is not None


def folded(text: str) -> str:
    """A text by which names and wordings are compared: letter case, width of letters and blanks aside."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def example(segments: Sequence[Segment], dimensions: Sequence[Dimension]) -> str:
    """An answer of the usual length: the dimensions as they are, or one for every segment."""
    made = dimensions or [
        Dimension("", f"Does the generated conversation do this: {one.text}?", (one.id,)) for one in segments
    ]
    keys = ("question", "condition", "script", "segments")
    return json.dumps({"dimensions": [{key: getattr(one, key) for key in keys} for one in made]}, ensure_ascii=False)
