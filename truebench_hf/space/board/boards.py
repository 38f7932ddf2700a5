"""What visitors choose from: boards, and within each the groups of results that may be compared."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.comparing.papers import JUDGES, PAPERS
from truebench_hf.comparing.runs import BoardEntry, slug
from truebench_hf.comparing.table import Kind, telling_apart
from truebench_hf.data.catalogue import CATALOGUE, NAMES
from truebench_hf.hashing import digest
from truebench_hf.report.sections import percent
from truebench_hf.space.board import words
from truebench_hf.space.board.store import Snapshot
from truebench_hf.text.terminal import how_many

What = Literal["measured", "submitted", "paper", "partial", "demonstration"]
# In the order in which they stand on a page: the first group of all is what a visitor meets.
HEADINGS: dict[What, str] = {
    "measured": "Measured",
    "partial": "Measured on samples: models of one sample are ranked among themselves",
    "submitted": "Submitted by visitors: the verdicts are checked, the answers are the submitter's word",
    "demonstration": "Demonstrations: made-up models, tiny judges or the built-in sample",
    "paper": "Published in papers: not measured here, on data and by judges of their own",
}
_ORDER = list(HEADINGS)
_INSTRUCTION = "Instruction"  # the fact by which a kind is several boards: each instruction asks something else
IN_HEADING = ("Judge", "Data", _INSTRUCTION)  # facts that stand there where all rows share them
OWN = "own"
_SHORT = {TRUEBENCH: "TRUEBench", "facts": "FACTS", "tick": "Checklists", OWN: "Own data"}
_BUILT_IN = {"mini", *(name for name, entry in CATALOGUE.items() if entry.source is None)}
_TOYS = ("scripted:", "smollm2")  # models made up for demonstrations, and the tiny one that is always at hand
_MOST_NAMED = 4  # models in a sentence


@dataclass(frozen=True)
class BoardGroup:
    """Results that may be compared: best first, those without a rank last. `id` stands in links, and `noun` is what their
    scores are counted in."""

    id: str
    what: What
    entries: tuple[BoardEntry, ...]
    noun: str = "result"

    @property
    def ranked(self) -> bool:
        """Whether some of its lines have places."""
        return any(entry.rank is not None for entry in self.entries)


@dataclass(frozen=True)
class ShownBoard:
    """A board to choose: its columns, and its groups in the order of the page. `id` stands in links."""

    id: str
    title: str
    kind: Kind
    groups: tuple[BoardGroup, ...]

    def group(self, wanted: str) -> BoardGroup:
        """The group of an id, or else the first."""
        return next((group for group in self.groups if group.id == wanted), self.groups[0])

    @property
    def ours(self) -> tuple[BoardGroup, ...]:
        """The groups that no paper published."""
        return tuple(group for group in self.groups if group.what != "paper")

    @property
    def published(self) -> tuple[BoardGroup, ...]:
        """The groups that papers published."""
        return tuple(group for group in self.groups if group.what == "paper")


@lru_cache(maxsize=2)
def boards(snapshot: Snapshot) -> tuple[ShownBoard, ...]:
    """All boards of a state of the results: those with results of ours first, and among each judges last."""
    by_board: dict[tuple[str, str], tuple[Kind, list[BoardEntry]]] = {}
    for kind in snapshot.kinds:
        for entry in snapshot.of(kind):
            base, instruction = entry.facts.get("Data", "").partition(", ")[0], entry.facts.get(_INSTRUCTION)
            released = base in NAMES or any(f"TRUEBench-{name}" in base for name in NAMES)
            place = kind.name, _SHORT.get(kind.name, kind.title)
            if kind.name == TRUEBENCH and entry.source != "paper" and not released:
                place = OWN, _SHORT[OWN]
            elif instruction:
                place = f"{kind.name}-{slug(instruction)[:60]}-{digest(instruction)[:4]}", instruction
            by_board.setdefault(place, (kind, []))[1].append(entry)
    all_boards = [
        ShownBoard(name, title, kind, _groups(entries, kind.noun))
        for (name, title), (kind, entries) in by_board.items()
    ]

    def order(board: ShownBoard) -> tuple[bool, bool, int, bool]:
        return not board.ours, board.kind.name == JUDGES, _ORDER.index(board.groups[0].what), board.id != OWN

    return tuple(sorted(all_boards, key=order))


def _groups(entries: Sequence[BoardEntry], noun: str) -> tuple[BoardGroup, ...]:
    by_setting: dict[tuple[What, str], list[BoardEntry]] = defaultdict(list)
    for entry in entries:
        by_setting[_what(entry), entry.setting].append(entry)

    def order(key: tuple[What, str]) -> tuple[int, int, bool, str]:
        """The largest group first, and of the papers' that on the hardest rubrics."""
        members = by_setting[key]
        hardest = "hard" in members[0].facts.get("Data", "").casefold()
        return _ORDER.index(key[0]), -len(members), not hardest, key[1]

    def place(entry: BoardEntry) -> tuple[bool, float, str, str]:
        value = entry.overall.value
        best = 0.0 if value is None else value if entry.ascending else -value
        return entry.rank is None, best, words.model(entry.name).casefold(), entry.key

    return tuple(
        BoardGroup(digest(f"{what} {setting}")[:8], what, tuple(sorted(by_setting[what, setting], key=place)), noun)
        for what, setting in sorted(by_setting, key=order)
    )


def _what(entry: BoardEntry) -> What:
    if entry.source != "measured":
        return entry.source
    data, _, part = entry.facts.get("Data", "").partition(", ")
    names = f"{entry.name} {entry.facts.get('Judge', '')}"
    if any(toy in names for toy in _TOYS) or (entry.kind != JUDGES and data in _BUILT_IN):
        return "demonstration"
    return "partial" if "sample of" in part or (part and entry.kind == TRUEBENCH) else "measured"


def is_part(group: BoardGroup, other: BoardGroup) -> bool:
    """Return whether a group is about a part of what another one is about: of the same runs, as the data says."""
    data, of_all = (part.entries[0].facts.get("Data", "") for part in (group, other))
    return data.startswith(f"{of_all}, ") and not {e.content for e in group.entries}.isdisjoint(
        e.content for e in other.entries
    )


def counted(board: ShownBoard, group: BoardGroup) -> str:
    """Return how many models, or judges, a group holds; each may have several results."""
    return how_many(len({entry.name for entry in group.entries}), "judge" if board.kind.name == JUDGES else "model")


def title(board: ShownBoard, group: BoardGroup) -> str:
    """Return what a page of a group is about: how many models, on which data."""
    count = counted(board, group)
    data = _without_count(group.entries[0].facts.get("Data", "")) or board.title
    return f"{count}, as printed in the {data}" if group.what == "paper" else f"{count} on {data}"


def lead(group: BoardGroup) -> str:
    """Return who leads, and who cannot be told apart behind; "" where nothing is ranked."""

    also = differing(group)

    def name(entry: BoardEntry) -> str:
        return words.model(entry.name) + (f" ({also[entry.key]})" if entry.key in also else "")

    def listed(entries: Sequence[BoardEntry]) -> str:
        names = [name(entry) for entry in entries]
        if len(names) > _MOST_NAMED:
            return f"{names[0]} and {len(names) - 1} others"
        return f"{', '.join(names[:-1])} and {names[-1]}"

    ranked = sorted((entry for entry in group.entries if entry.rank is not None), key=lambda e: (e.rank, e.last))
    if len(ranked) < 2:
        return ""
    first = [entry for entry in ranked if entry.rank == 1]
    if len(first) > 1:
        return f"{listed(first)} share the top: they cannot be told apart."
    second = [entry for entry in ranked[1:] if entry.rank == 2]
    behind = f" Behind it {listed(second)} cannot be told apart." if len(second) > 1 else ""
    return f"{name(first[0])} leads.{behind}"


def heading(group: BoardGroup) -> str:
    """What the results of a group have in common: data, judge, how many tasks."""
    judge, most = _judge(group), max(e.overall.n + e.overall.unscored for e in group.entries)
    parts = [
        _without_count(group.entries[0].facts.get("Data", "")),
        f"judged by {words.fact('Judge', judge)}" if judge else "",
        how_many(most, group.noun) if most else "",
    ]
    return " · ".join(filter(None, parts))


def named(board: ShownBoard, group: BoardGroup) -> str:
    """Return the name of a board and what the results of a group have in common."""
    text = heading(group)
    return text if text.startswith(board.title) else f"{board.title} · {text}"


def _judge(group: BoardGroup) -> str:
    """Return the judge of a group, of a paper by the names that it prints."""
    first = group.entries[0]
    printed = PAPERS[first.kind].judges if group.what == "paper" else ()
    return " + ".join(printed) or first.facts.get("Judge", "")


def _without_count(fact: str) -> str:
    """Return a `Data` fact as it reads, without the number of instances behind it."""
    return re.sub(r", [\d,]+ \w+\Z", "", words.data(fact))


@dataclass(frozen=True)
class JudgeTrust:
    """How far a group's judge agrees with labels of rubrics, as it reads: balanced accuracy in `percent`, and behind it the
    interval, the number of rubrics and of what data, how the judge was asked, and what guessing gets.

    `is_chance` says whether the judge cannot be told from one that guesses.
    """

    percent: str
    text: str
    is_chance: bool


def judge_trust(snapshot: Snapshot, group: BoardGroup) -> JudgeTrust | None:
    """Return how far the group's judge can be trusted, as measured here or else as published; None if unknown.

    The paradigm of the group's runs comes before others, then what was measured here, then the hardest rubrics.
    """

    def squashed(text: str) -> str:
        return re.sub(r"[\W_]+", "", text.casefold())

    first = group.entries[0]
    wanted, paradigm = squashed(words.judge(_judge(group))), words.paradigm(first.facts.get("Judge", ""))
    same = [
        e for e in snapshot.entries
        if e.kind == JUDGES and e.overall.value is not None and squashed(words.model(e.name)) == wanted
    ]  # fmt: skip
    if not same or not wanted or first.kind == JUDGES:
        return None

    def place(entry: BoardEntry) -> tuple[bool, bool, bool, float]:
        data, how = entry.facts.get("Data", ""), entry.facts.get("Paradigm", "")
        return how == paradigm, entry.source == "measured", "hard" in data, entry.overall.value or 0

    best = max(same, key=place)
    score, how, data = best.overall, best.facts.get("Paradigm", ""), words.data(best.facts.get("Data", ""))
    interval = "({:.1f} to {:.1f})".format(*(100 * end for end in score.ci95)) if score.ci95 else "(no interval)"
    level, _, reasons = how.partition(", ")
    ways = {"reasoning": " with reasons", "no reasoning": " without reasons"}
    is_chance = score.ci95 is not None and score.ci95[0] <= 0.5
    parts = (
        f" on {how_many(score.n, 'rubric')}" if score.n else "", f" of {data}",
        f", asked at {level} level{ways.get(reasons, '')}" if level else "", "" if how == paradigm else ", unlike here",
        ": no better than guessing, which gets 50" if is_chance else "; guessing gets 50",
    )  # fmt: skip
    return JudgeTrust(percent(score.value, 1), interval + "".join(parts), is_chance)


def differing(group: BoardGroup) -> Mapping[str, str]:
    """By key what tells lines apart that would read the same: where the model is from, or the facts that differ."""
    same: dict[str, list[BoardEntry]] = defaultdict(list)
    for entry in group.entries:
        same[words.model(entry.name)].append(entry)
    by_key: dict[str, str] = {}
    for entries in (lines for lines in same.values() if len(lines) > 1):
        facts, by_name = telling_apart(entries), len({entry.name for entry in entries}) > 1
        for entry in entries:
            texts = [entry.facts[fact] for fact in facts if fact in entry.facts]
            by_key[entry.key] = ", ".join([*([entry.name] if by_name else []), *texts])
    return by_key
