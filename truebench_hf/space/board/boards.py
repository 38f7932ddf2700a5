"""What visitors choose from: boards, and within each the groups of results that may be compared."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.comparing.papers import JUDGES, PAPERS
from truebench_hf.comparing.runs import Entry, slug
from truebench_hf.comparing.table import Kind
from truebench_hf.data.catalogue import NAMES
from truebench_hf.hashing import digest
from truebench_hf.space.board import words
from truebench_hf.space.board.store import Snapshot
from truebench_hf.types import Score

What = Literal["measured", "submitted", "paper", "partial", "demonstration"]
# In the order in which they stand on a page: the first group of all is what a visitor meets.
HEADINGS: dict[What, str] = {
    "measured": "Measured",
    "submitted": "Submitted by visitors: the verdicts are checked, the answers are the submitter's word",
    "paper": "Published in papers: not measured here, on data and by judges of their own",
    "partial": "Partial runs: over a part of the data, not ranked",
    "demonstration": "Demonstrations: made-up models, tiny judges or the built-in sample",
}
_INSTRUCTION = "Instruction"  # the fact by which a kind is several boards: each instruction asks something else
OWN = "own"
_SHORT = {TRUEBENCH: "TRUEBench", "facts": "FACTS", "tick": "Checklists", OWN: "Own data"}
_PART = re.compile(r", sample of \d+\Z")
_SAMPLE = re.compile(r"(?:\b|_)mini\b")
_TOY = re.compile(r"\bscripted:|\bsmollm2\b")


@dataclass(frozen=True)
class Group:
    """Results that may be compared: best first, those without a rank last. `id` stands in links."""

    id: str
    what: What
    entries: tuple[Entry, ...]

    @property
    def ranked(self) -> bool:
        """Whether its lines have places."""
        return self.what != "partial"


@dataclass(frozen=True)
class OneBoard:
    """A board to choose: its columns, and its groups in the order of the page. `id` stands in links."""

    id: str
    title: str
    kind: Kind
    groups: tuple[Group, ...]

    def group(self, wanted: str) -> Group | None:
        """The group of an id, or else the first; None on a board without results."""
        return next((g for g in self.groups if g.id == wanted), self.groups[0] if self.groups else None)


@lru_cache(maxsize=2)
def boards(snapshot: Snapshot) -> tuple[OneBoard, ...]:
    """All boards of a state of the results; judges come last."""
    found: dict[str, tuple[str, Kind, list[Entry]]] = {}
    for kind in sorted(snapshot.kinds, key=lambda kind: kind.name == JUDGES):
        for entry in snapshot.of(kind):
            name, title = _board(kind, entry)
            found.setdefault(name, (title, kind, []))[2].append(entry)
    return tuple(OneBoard(name, title, kind, _groups(entries)) for name, (title, kind, entries) in found.items())


def heading(group: Group) -> str:
    """What the results of a group have in common: data, judge, how many tasks."""
    first = group.entries[0]
    data, said = first.facts.get("Data", ""), first.facts.get("Judge", "")
    if group.what == "paper":
        said = " + ".join(PAPERS[first.kind].judges) or said
    how, most = words.asked(said), max(e.overall.n + e.overall.unscored for e in group.entries)
    parts = [
        re.sub(r", [\d,]+ \w+\Z", "", words.data(data)),
        f"judge {words.judge(said)}{f' ({how})' if how else ''}" if said else "",
        words.tasks(first.kind, most) if most else "",
    ]
    return " · ".join(part for part in parts if part)


def judge_accuracy(snapshot: Snapshot, group: Group) -> tuple[Score, str] | None:
    """How often the group's judge is right on rubrics, as measured here or else as published; None where nobody knows.

    The score is balanced accuracy; of several the one on the hardest rubrics counts, and of those the best way of asking.
    """
    first = group.entries[0]
    said = first.facts.get("Judge", "")
    name = " + ".join(PAPERS[first.kind].judges) if group.what == "paper" and first.kind in PAPERS else said
    wanted = squashed(words.judge(name))
    same = [
        e for e in snapshot.entries
        if e.kind == JUDGES and e.overall.value is not None and squashed(words.model(e.name)) == wanted
    ]  # fmt: skip
    if not same or not wanted or first.kind == JUDGES:
        return None
    best = max(same, key=lambda e: (e.source == "measured", "hard" in e.facts.get("Data", ""), e.overall.value or 0))
    return best.overall, words.data(best.facts.get("Data", ""))


def squashed(text: str) -> str:
    """Letters and digits alone, as search compares names."""
    return re.sub(r"[\W_]+", "", text.casefold())


def _board(kind: Kind, entry: Entry) -> tuple[str, str]:
    """(id, title) of the board that a result stands on."""
    if kind.name == TRUEBENCH and entry.source != "paper" and not _released(entry.facts.get("Data", "")):
        return OWN, _SHORT[OWN]
    if instruction := entry.facts.get(_INSTRUCTION):
        return f"{kind.name}-{slug(instruction)[:60]}-{digest(instruction)[:4]}", instruction
    return kind.name, _SHORT.get(kind.name, kind.title)


def _released(data: str) -> bool:
    base = data.partition(", ")[0]
    return base in NAMES or any(f"TRUEBench-{name}" in base for name in NAMES)


def _groups(entries: Sequence[Entry]) -> tuple[Group, ...]:
    found: dict[tuple[What, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        found[_what(entry), entry.setting].append(entry)
    order = list(HEADINGS)
    placed = sorted(found.items(), key=lambda one: (order.index(one[0][0]), -len(one[1]), _hardest(one[1]), one[0][1]))
    return tuple(
        Group(digest(f"{what} {setting}")[:8], what, tuple(sorted(of, key=_place))) for (what, setting), of in placed
    )


def _hardest(entries: Sequence[Entry]) -> bool:
    return "hard" not in entries[0].facts.get("Data", "").casefold()


def _what(entry: Entry) -> What:
    if entry.source != "measured":
        return entry.source
    data, judge = entry.facts.get("Data", ""), entry.facts.get("Judge", "")
    if _TOY.search(f"{entry.name} {judge}") or (entry.kind != JUDGES and _SAMPLE.search(data)):
        return "demonstration"
    part = _PART.search(data) or (entry.kind == TRUEBENCH and ", " in data)
    return "partial" if part else "measured"


def _place(entry: Entry) -> tuple[bool, float, str, str]:
    value = entry.overall.value
    best = 0.0 if value is None else value if entry.ascending else -value
    return entry.rank is None, best, words.model(entry.name).casefold(), entry.key


def differing(group: Group) -> Mapping[str, str]:
    """By key what tells lines apart that would read the same: the facts that differ, or where the model is from."""
    same: dict[str, list[Entry]] = defaultdict(list)
    for entry in group.entries:
        same[words.model(entry.name)].append(entry)
    told: dict[str, str] = {}
    for entries in same.values():
        if len(entries) > 1:
            facts = [
                f
                for f in dict.fromkeys(f for e in entries for f in e.facts)
                if len({e.facts.get(f) for e in entries}) > 1
            ]
            for entry in entries:
                said = [entry.facts[f] for f in facts if f in entry.facts][:3]
                named = [entry.name] if len({e.name for e in entries}) > 1 else []
                told[entry.key] = ", ".join((*named, *said))
    return told
