"""What a validator states in its signed object: a verdict and the defects that it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from truebench_hf.benchmarks.truebench.validation.findings import PROMPT_KINDS, Finding, Kind, Label, Validation
from truebench_hf.data.rows import HALF
from truebench_hf.judging.case import one_line
from truebench_hf.judging.checklists import folded
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.models.asking import Problem
from truebench_hf.types import Turn

# The list of the closing object that holds the defects of a kind.
LISTS: dict[Kind, str] = {"E1": "errors", "E2": "excessive", "E3": "missing", "composite": "composite"}
LISTS |= {kind: kind for kind in PROMPT_KINDS}
VERDICTS: dict[str, Label] = {"PASS": "PASS", "FAIL": "FAIL"}
Entry = dict[str, Any]
_Made = tuple[int, int | None, tuple[str, ...]]  # turn, criterion and proposal of a finding


def read_validation(answer: SignedAnswer[Any], turns: Sequence[Turn], looked: Sequence[Kind]) -> Validation | Problem:
    """What an answer states; a Problem where an entry cannot be used, or the verdict does not follow from the lists.

    The verdict is FAIL exactly where a list names a defect. Where the only list is that of composite criteria, which
    make no FAIL, it stands for itself.
    """
    verdict: Label = answer.labels["verdict"]
    found: list[Finding] = []
    for kind in looked:
        several = _findings(answer.labels[LISTS[kind]], kind, turns)
        if isinstance(several, Problem):
            return several
        found += several
    defects = any(one.kind != "composite" for one in found)
    if set(looked) - {"composite"} and (verdict == "FAIL") != defects:
        return Problem(f"`verdict` is {verdict}, while {'a' if defects else 'no'} defect is listed")
    return Validation(verdict, tuple(looked), tuple(found), answer.reason.strip())


def _findings(entries: Sequence[Any], kind: Kind, turns: Sequence[Turn]) -> list[Finding] | Problem:
    key = LISTS[kind]
    if not all(isinstance(entry, dict) for entry in entries):
        return Problem(f"`{key}` is no list of objects")
    found: list[Finding] = []
    for entry in entries:
        one = _finding(entry, kind, turns)
        if isinstance(one, Problem):
            return Problem(f"`{key}` {one.text}")
        found.append(one)
    places = [(one.turn, one.criterion, folded(one.proposal[0]) if kind == "E3" else "") for one in found]
    return Problem(f"`{key}` names the same twice") if len(set(places)) < len(places) else found


def _finding(entry: Entry, kind: Kind, turns: Sequence[Turn]) -> Finding | Problem:
    """One entry of a list; the text of a Problem goes on behind the name of the list."""
    if not _is_text(why := entry.get("why")):
        return Problem("has an entry without a text `why`")
    if kind == "E3":
        made: _Made | Problem = _missing(entry, turns)
    else:
        made = _turn(entry, turns) if kind in PROMPT_KINDS else _named(entry, kind, turns)
    if isinstance(made, Problem):
        return made
    turn, criterion, proposal = made
    return Finding(kind, turn, criterion, " ".join(str(why).split()), proposal)


def _named(entry: Entry, kind: Kind, turns: Sequence[Turn]) -> _Made | Problem:
    """A defect of a criterion that is there."""
    places, number = dict(enumerate(numbered(turns), 1)), _number(entry.get("criterion"))
    if number not in places:
        return Problem(f"has an entry whose `criterion` is no number from 1 to {len(places)}")
    (turn, place), instead = places[number], entry.get("instead")
    instead = [instead] if isinstance(instead, str) else instead
    if not isinstance(instead, list) or not all(map(_is_text, instead)):
        return Problem(f"gives no list of texts for `instead` of criterion {number}")
    criterion = turns[turn - 1].criteria[place - 1]
    note = one_line(criterion).removeprefix(" ".join(criterion.text.split())).strip()  # what comes instead keeps it
    instead = [" ".join(one.split()).removesuffix(note).strip() or one for one in instead]
    if any(folded(one) == folded(criterion.text) for one in instead):
        return Problem(f"gives criterion {number} as it is for `instead`")
    if kind == "composite" and len(instead) < 2:
        return Problem(f"does not split criterion {number}")
    return turn, place, tuple(instead)


def _missing(entry: Entry, turns: Sequence[Turn]) -> _Made | Problem:
    """A criterion that should be there."""
    judged = sorted({turn for turn, _ in numbered(turns)})
    turn, add = _number(entry.get("turn", judged[0] if len(judged) == 1 else None)), entry.get("add")
    if turn not in judged:
        return Problem(f"has an entry whose `turn` is none that has criteria ({', '.join(map(str, judged))})")
    if not _is_text(add):
        return Problem("has an entry without a text `add`")
    if folded(str(add)) in {folded(one.text) for one in turns[turn - 1].criteria}:
        return Problem("adds a criterion that is there")
    return turn, None, (" ".join(str(add).split()),)


def _turn(entry: Entry, turns: Sequence[Turn]) -> _Made | Problem:
    """A defect of an instruction."""
    turn, instead = _number(entry.get("turn", 1 if len(turns) == 1 else None)), entry.get("instead")
    if not 1 <= turn <= len(turns):
        return Problem(f"has an entry whose `turn` is no number from 1 to {len(turns)}")
    if not _is_text(instead):
        return Problem(f"gives no text for `instead` of turn {turn}")
    if str(instead).split() == turns[turn - 1].prompt.split():
        return Problem(f"gives turn {turn} as it is for `instead`")
    return turn, None, (str(instead),)


def numbered(turns: Sequence[Turn]) -> Iterator[tuple[int, int]]:
    """Turn and place of every criterion, in the order of their numbers, which run on from turn to turn."""
    for number, turn in enumerate(turns, 1):
        yield from ((number, place) for place in range(1, len(turn.criteria) + 1))


def _number(value: Any) -> int:
    """A whole number, also as text ("2", "criterion 2"); 0 for all else."""
    if isinstance(value, str):
        named = re.fullmatch(r"[^\d\n]{0,40}?0*(\d{1,6})\W*", value)
        return int(named[1]) if named else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value)) and not HALF.search(value)
