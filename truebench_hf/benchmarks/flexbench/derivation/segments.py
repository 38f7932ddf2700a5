"""Segmentation: the instruction in non-overlapping excerpts, to the letter (appendix B.1)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.flexbench.derivation.asking import listed, problem
from truebench_hf.benchmarks.flexbench.procedure import Segment
from truebench_hf.models.asking import Problem

_QUOTES = str.maketrans("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb", '"""\'\'""')


@dataclass(frozen=True)
class Segments:
    """The segments in the order of the instruction, its opening line, and the share of its text in none of them."""

    segments: tuple[Segment, ...]
    opening: str
    uncovered: float


def read_segments(value: dict[str, Any], instruction: str) -> Segments | Problem:
    """Segments that are excerpts and do not overlap; blanks and kinds of quotation marks may differ."""
    texts = [
        entry.get("segment", "") if isinstance(entry, dict) else entry
        for entry in listed(value.get("segments"), object)
    ]
    taken: list[tuple[int, int]] = []
    findings = []
    for number, text in enumerate(texts, 1):
        places = found(str(text), instruction)
        free = [place for place in places if all(place[1] <= a or b <= place[0] for a, b in taken)]
        if free:
            taken.append(free[0])
        else:
            why = "overlaps with another one" if places else "is no excerpt of the instruction, to the letter"
            findings.append(f"segment {number} ({str(text)[:80]!r}) {why}")
    if not texts:
        findings.append("there are no segments")
    said = value.get("opening")
    opening = found(said, instruction) if isinstance(said, str) else []
    if isinstance(said, str) and said.strip() and not opening:
        findings.append(f"the opening ({said[:80]!r}) does not stand in the instruction")
    if findings:
        return problem(findings)
    segments = tuple(Segment(f"s{i}", instruction[a:b]) for i, (a, b) in enumerate(sorted(taken), 1))
    return Segments(segments, instruction[slice(*opening[0])] if opening else "", uncovered(instruction, taken))


def found(text: str, whole: str) -> list[tuple[int, int]]:
    """Where a text stands in another one, whatever blanks and quotation marks it has."""
    words = text.translate(_QUOTES).split()
    if not words:
        return []
    pattern = r"\s+".join(map(re.escape, words))
    return [match.span() for match in re.finditer(pattern, whole.translate(_QUOTES))]


def uncovered(instruction: str, taken: list[tuple[int, int]]) -> float:
    """The share (0..1) of the instruction's characters, blanks aside, that no segment holds."""
    inside = {at for a, b in taken for at in range(a, b)}
    told = [at for at, sign in enumerate(instruction) if not sign.isspace()]
    return sum(at not in inside for at in told) / len(told) if told else 0.0


def example(instruction: str) -> str:
    """An answer of the usual length: every line a segment."""
    return json.dumps({"opening": "", "segments": [line for line in instruction.splitlines() if line.strip()]})
