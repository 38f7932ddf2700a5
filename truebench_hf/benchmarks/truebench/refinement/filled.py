"""The work list as it comes back: which changes it asks for. Whatever can be read in two ways is refused, by its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.benchmarks.truebench.refinement.history import State, Version, state
from truebench_hf.benchmarks.truebench.refinement.worklist import (
    ACCEPT,
    COLUMNS,
    COMPOSITE,
    FILLED,
    KEEP,
    MISSING,
    PROMPT,
    Row,
)
from truebench_hf.data.case import NOTES, stated
from truebench_hf.data.row_formats import read_text
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import one_line
from truebench_hf.report.csv_table import read_table
from truebench_hf.types import Instance

REMOVE = "remove"  # in place of a new text


def revisions(
    lines: Sequence[Line], listed: Mapping[str, Row], states: Mapping[str, State], before: Sequence[Version], round: int
) -> list[Version]:
    """The versions that filled-in lines ask for. Raises UserError on a line that says too little, or contradicts another.

    `listed` is the work list by row, `states` are the instances as they stand, `before` all their versions so far.
    """
    made = _Made(before, round, source(lines))
    for line in lines:
        row = _row(line, listed, round)
        if row.instance not in states:
            raise UserError(f"{line.where}: instance {row.instance} is outside of the sample; take a larger --limit")
        for change in _changes(line, row, states[row.instance]):
            made.add(line, row, *change)
    return made.versions


def check_left(original: Mapping[str, Instance], before: Sequence[Version], made: Sequence[Version]) -> None:
    """Raise UserError where new versions leave an instance without any criterion, or make two criteria of a turn one."""
    for name in dict.fromkeys(one.instance for one in made):
        now = state(original[name], [one for one in (*before, *made) if one.instance == name])
        if not any(now.numbers):
            raise UserError(f"--revisions: nothing is left of the criteria of instance {name}; keep or add one")
        new = {one.criterion for one in made if one.instance == name and one.change in ("added", "revised")}
        for numbers in now.numbers:
            texts = {number: one_line(now.criterion(number)) for number in numbers}
            for number in [one for one in numbers if one in new]:
                if same := [other for other in numbers if other != number and texts[other] == texts[number]]:
                    raise UserError(
                        f"--revisions: {texts[number]!r:.60} would stand twice in instance {name}, as in its criterion {same[0]}; "
                        f"remove one of the two"
                    )


def _row(line: Line, listed: Mapping[str, Row], round: int) -> Row:
    if line["round"].removesuffix(".0") != str(round):
        raise UserError(
            f"{line.where}: is of round {line['round'] or '(blank)'}, and this folder is at round {round}; fill in the "
            "work list that it holds now"
        )
    row = listed.get(line["row"])
    if row is None or not _alike(row.instance, line["instance"]):
        raise UserError(
            f"{line.where}: row {line['row'] or '(blank)'} of instance {line['instance'] or '(blank)'} is not on the work "
            "list of this folder; leave the columns row, round and instance as they are"
        )
    return row


def _alike(instance: str, cell: str) -> bool:
    """Whether a cell holds an id, or what a spreadsheet program may have made of one.

    007 becomes 7. What it makes of 2024-01 or 1/2, which it takes for dates, hangs on its country: anything goes.
    """
    try:
        return (
            instance.strip() == cell or _DATE.fullmatch(instance.strip()) is not None or float(instance) == float(cell)
        )
    except ValueError:
        return False


_DATE = re.compile(r"[0-9]+([-/.:][0-9]+)+")
Change = tuple[
    int, int | None, str | None, str, str
]  # turn, criterion (or the one it is split off), text, change, kind


def _changes(line: Line, row: Row, now: State) -> list[Change]:
    kind = " ".join(line["kind"].casefold().replace("-", " ").replace("_", " ").split())
    if kind not in row.choices:
        said = f"holds {line['kind']!r:.40}" if kind else "is blank, and others are filled in"
        raise line.wrong("kind", f"{said}; write {', '.join(row.choices[:-1])} or {row.choices[-1]}")
    text, prompt = line["new text"], line["new prompt"]
    if kind in (KEEP, ACCEPT) and (text or (prompt and kind == KEEP)):
        raise line.wrong("new text" if text else "new prompt", f"is filled in, and the kind is {kind}; leave out one")
    if kind == KEEP:
        turn = row.turn or 1
        as_it_is = now.instance.turns[turn - 1].prompt if row.criterion is None else now.text_of(row.criterion)
        return [(turn, row.criterion, as_it_is, "kept", kind)]
    if kind == PROMPT and (text or not prompt):
        raise line.wrong("new text" if text else "new prompt", "is about a criterion" if text else "is blank")
    found = [] if kind == PROMPT else _criteria(line, row, now, kind, text)
    if prompt:
        turn = _turn(line, row, now, found[0][0] if found else None)
        if prompt == now.instance.turns[turn - 1].prompt.strip():
            raise line.wrong("new prompt", "is the prompt as it is")
        found.append((turn, None, prompt, "revised", kind))
    return found


# What stands around a criterion in the list that people copy it from: its number, notes on it, label and points.
_COPIED = re.compile(
    r"^[0-9]+\. | \[(?:yes|no|unknown|not judged)?(?:, )?(?:[-+.e0-9]+ points)?\]$|" + "|".join(map(re.escape, NOTES)),
    re.MULTILINE,
)


def _refuse_copied(line: Line, text: str, now: State) -> None:
    """Raise UserError on a text copied with what stands around it; where criteria have the like of their own it may stay."""
    own = [criterion.text for turn in now.instance.turns for criterion in turn.criteria]
    if (copied := _COPIED.search(text)) and not any(map(_COPIED.search, own)):
        raise line.wrong("new text", f"holds {copied[0].strip()!r} of the column criteria; leave that out")


def _criteria(line: Line, row: Row, now: State, kind: str, text: str) -> list[Change]:
    """What a line changes about criteria: one is revised, split or removed, or one is added."""
    accepted = kind == ACCEPT
    if accepted:
        texts, kind = list(row.proposal), row.choices[1]
    else:
        if not text:
            raise line.wrong("new text", f"is blank; write the criterion as it should be, or the word {REMOVE}")
        _refuse_copied(line, text, now)
        split = [part.strip() for part in text.splitlines() if part.strip()]
        texts = [] if text.casefold() == REMOVE else split if kind == COMPOSITE else [text]
    number = row.criterion if accepted else line.number("criterion")
    if kind == MISSING:
        if number is not None or not texts:
            name = "criterion" if texts else "new text"
            raise line.wrong(
                name, "is filled in, and a missing criterion has no number yet" if texts else "adds nothing"
            )
        return [(_turn(line, row, now, None), None, one, "added", kind) for one in texts]
    turn = None if number is None else now.turn_of(number)
    if number is None or turn is None:
        there = ", ".join(str(n) for numbers in now.numbers for n in numbers)
        said = "is blank" if number is None else f"holds {number}"
        raise line.wrong("criterion", f"{said}; instance {row.instance} has the criteria {there}")
    if not texts:
        return [(turn, number, None, "removed", kind)]
    if len(texts) == 1 and texts[0] in (now.text_of(number).strip(), stated(now.criterion(number)).strip()):
        raise line.wrong("new text", f"is criterion {number} as it is")
    first: Change = (turn, number, texts[0], "revised", kind)
    return [first, *((turn, number, one, "added", kind) for one in texts[1:])]


def _turn(line: Line, row: Row, now: State, known: int | None) -> int:
    turn = next((n for n in (line.number("turn"), row.turn, known) if n is not None), None)
    if turn is None or not 1 <= turn <= len(now.instance.turns):
        said = "is blank" if turn is None else f"holds {turn}"
        raise line.wrong("turn", f"{said}; instance {row.instance} has turns 1 to {len(now.instance.turns)}")
    return turn


class _Made:
    """Versions in the making: what is said twice counts once, and what contradicts is refused."""

    def __init__(self, before: Sequence[Version], round: int, source: str) -> None:
        self.versions: list[Version] = []
        self._before, self._round, self._source = before, round, source
        self._said: dict[tuple[object, ...], tuple[str | None, str]] = {}
        self._decided: dict[str, tuple[bool, str]] = {}  # by row: whether it is kept, and where that is said

    def add(
        self, line: Line, row: Row, turn: int, number: int | None, text: str | None, change: str, kind: str
    ) -> None:
        kept, where = self._decided.setdefault(row.id, (change == "kept", line.where))
        if kept != (change == "kept"):
            raise UserError(f"{line.where}: row {row.id} is answered otherwise at {where}; keep, or change something")
        of = None
        if change == "added":
            number, of = None, number
        about = (row.instance, turn, number, *([text] if change == "added" else [row.id] if kept else []))
        if about in self._said:
            said, where = self._said[about]
            if said != text:
                what = f"the prompt of turn {turn}" if number is None else f"criterion {number}"
                raise UserError(f"{line.where}: {what} of instance {row.instance} is changed otherwise at {where}")
            return
        self._said[about] = (text, line.where)
        every = [one for one in (*self._before, *self.versions) if one.instance == row.instance]
        if change == "added":
            number = 1 + max((one.criterion or 0 for one in every), default=0)
        name = Version(row.instance, turn, number, 0, None).id
        version = sum(one.id == name and one.change != "kept" for one in every) + (not kept)
        self.versions.append(Version(
            row.instance, turn, number, version, text, change, kind, line["why"], line["who"], self._round, row.id,
            self._source, of,
        ))  # fmt: skip


_NEEDED = ("row", "instance", "round", "kind", "criterion", "new text", "new prompt")
_SAID = ("kind", "new text", "new prompt")  # what is blank until somebody decided; other columns come with values


@dataclass(frozen=True, slots=True)
class Line:
    """One line that somebody filled in: its cells by column, and where it stands."""

    where: str
    cells: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.cells.get(name, "").replace("\r\n", "\n").strip()

    def wrong(self, name: str, said: str) -> UserError:
        """An error about a cell."""
        return UserError(f"{self.where}: column {name!r} {said}")

    def number(self, name: str) -> int | None:
        """A whole number, None where the cell is blank; a spreadsheet program may have made 3 a 3.0."""
        text = self[name].removesuffix(".0")
        if not text:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise self.wrong(name, f"holds {self[name]!r:.40}; write one number")
        return int(text)


def read(path: Path) -> list[Line]:
    """The lines of a work list that are filled in. Raises UserError where the file is none."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise UserError(f"{path}: give the work list as CSV (UTF-8)")
    found = read_table(read_text(path), str(path), _NEEDED, COLUMNS, "a work list")
    lines = [Line(where, cells) for where, cells in found]
    return [line for line in lines if any(line[name] for name in _SAID)]


def source(lines: Iterable[Line]) -> str:
    """A hash of what was filled in, by which a list that was taken in already is known."""
    return digest(
        canonical([[line["round"].removesuffix(".0"), *(line[name] for name in ("row", *FILLED))] for line in lines])
    )[:16]
