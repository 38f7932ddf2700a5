"""The seeded draw of the 300 labelled criteria of TRUEBench v0.6.1: which ones, and why these.

150 are drawn from all criteria and 150 from the rest of those that a broad search for measurable words marks. The
search serves the draw alone: it is wide on purpose and says nothing about a criterion's label.

    python tests/rules/draw.py ../shared/data/truebench/TRUEBench-v0.6.1.jsonl
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

Reference = tuple[int, int, int]
"""The instance's `index`, then turn and criterion within it, both from 0."""

SEED = "truebench rules 18.4"
EACH = 150
MARKED = re.compile(
    r"""\b(?:words?|characters?|letters?|syllables?|sentences?|lines?|paragraphs?|stanzas?|bullets?|lists?|listed
    |length|shorter|longer|maximum|minimum|exactly|at\ least|at\ most|no\ more|fewer|within
    |korean|english|japanese|chinese|polish|german|portuguese|spanish|french|italian|russian|vietnamese
    |json|csv|xml|yaml|html|markdown|tables?|columns?|rows?|code|headings?|headers?|bold
    |start(?:s|ing)?|begin(?:s|ning)?|end(?:s|ing)?|contain(?:s|ing)?|include\ the|exclude[sd]?|keywords?
    |quot(?:es?|ation)|brackets?|parenthes[ei]s|commas?|colons?|hyphens?|punctuation|question\ marks?|emojis?|hashtags?
    |uppercase|lowercase|capital(?:ized|s)?|digits?|numerals?|numbered|alphabet(?:ical(?:ly)?)?|ordered|order
    |sort(?:ed)?|ascending|descending|numbers?)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def criteria_of(path: Path) -> dict[Reference, str]:
    """Every criterion of the file at `path`, in its order."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {
        (row["index"], turn, at): text
        for row in rows
        for turn, texts in enumerate(row["criteria"])
        for at, text in enumerate(texts)
    }


def drawn(criteria: dict[Reference, str]) -> tuple[list[Reference], list[Reference]]:
    """The random half and the marked half, each sorted; the same on every machine and Python."""
    shuffled = sorted(criteria, key=lambda place: hashlib.sha256(f"{SEED} {place}".encode()).digest())
    random, rest = shuffled[:EACH], shuffled[EACH:]
    marked = [place for place in rest if MARKED.search(criteria[place])][:EACH]
    return sorted(random), sorted(marked)


if __name__ == "__main__":
    for half, places in zip(("random", "marked"), drawn(criteria_of(Path(sys.argv[1]))), strict=True):
        for place in places:
            print(half, *place)
