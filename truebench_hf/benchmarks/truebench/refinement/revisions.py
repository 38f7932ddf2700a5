"""What people decide about a work list, as new versions of criteria and prompts. What can be read in two ways is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.benchmarks.truebench.refinement.history import State, Version, revised
from truebench_hf.benchmarks.truebench.refinement.worklist import ACCEPT, COMPOSITE, KEEP, MISSING, PROMPT, WorkRow
from truebench_hf.data.case import NOTES, stated
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import one_line
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question

REMOVE = "remove"  # in place of a new text


@dataclass(frozen=True, slots=True)
class Decision:
    """What one annotator decides about a row of the work list: one of its choices, and the new text."""

    row: WorkRow
    who: str
    choice: str
    text: str
    why: str

    def wrong(self, problem: str) -> UserError:
        """Return an error about this decision."""
        return UserError(f"{self}: {problem}")

    def __str__(self) -> str:
        return f"{self.who} on row {self.row.id} of instance {self.row.instance}"


def decisions(questions: Sequence[Question], answers: Annotations) -> list[Decision]:
    """Return what annotators decided, from their answers to the questions of a work list."""
    decided = []
    for do, text in zip(questions[::2], questions[1::2], strict=True):
        for who in answers.annotators:
            choice, new = (answers.labels.get(q.id, {}).get(who) or "" for q in (do, text))
            why = answers.notes.get((do.id, who)) or answers.notes.get((text.id, who), "")
            if choice or new:
                decided.append(Decision(do.blind, who, choice, new.replace("\r\n", "\n").strip(), why))
    return decided


def source(decided: Sequence[Decision]) -> str:
    """Return a hash of decisions, by which those that were taken in already are known."""
    return digest(canonical([[d.row.id, d.who, d.choice, d.text, d.why] for d in decided]))[:16]


def revisions(
    decided: Sequence[Decision], states: Mapping[str, State], before: Sequence[Version], round: int
) -> list[Version]:
    """Return the versions that decisions ask for. Raises UserError on one that says too little, or contradicts another.

    `states` are the instances as they stand, `before` all their versions so far.
    """
    drafts = _Drafts(before, round, source(decided))
    for decision in decided:
        for change in _changes(decision, states[decision.row.instance]):
            drafts.add(decision, *change)
    _check_left(states, drafts.versions)
    return drafts.versions


def _check_left(states: Mapping[str, State], new: Sequence[Version]) -> None:
    """Raise UserError where new versions leave an instance without any criterion, or make two criteria of a turn one."""
    for name in dict.fromkeys(version.instance for version in new):
        own = [version for version in new if version.instance == name]
        now = revised(states[name], own)
        if not any(now.numbers):
            raise UserError(f"nothing is left of the criteria of instance {name}; keep or add one")
        changed = {version.criterion for version in own if version.change in ("added", "revised")}
        for numbers in now.numbers:
            texts = {number: one_line(now.criterion(number)) for number in numbers}
            for number in [number for number in numbers if number in changed]:
                if same := [other for other in numbers if other != number and texts[other] == texts[number]]:
                    raise UserError(
                        f"{texts[number]!r:.60} would stand twice in instance {name}, as in its criterion {same[0]}; "
                        "remove one of the two"
                    )


# Turn, criterion (or the one it is split off), text, what becomes of it (as `Version.change`), and why (`Version.kind`).
Change = tuple[int, int | None, str | None, str, str]


def _changes(decision: Decision, now: State) -> list[Change]:
    """Return what a decision changes: a criterion is revised, split or removed, one is added, or a prompt is revised."""
    row, text = decision.row, decision.text
    if not decision.choice:
        raise decision.wrong("a new text, and no answer to what is to be done")
    if decision.choice in (KEEP, ACCEPT):
        if text:
            raise decision.wrong(f"a new text, and the answer is {decision.choice}; leave out one")
        if decision.choice == ACCEPT:
            return list(_of_criterion(decision, row.accepted, row.turn, row.criterion, list(row.proposal), now))
        as_it_is = now.instance.turns[row.turn - 1].prompt if row.criterion is None else now.text_of(row.criterion)
        return [(row.turn, row.criterion, as_it_is, "kept", KEEP)]
    place, _, kind = decision.choice.partition(": ")
    what, number = place.split()[0], int(place.split()[1])
    turn = number if what == "turn" else now.turn_of(number) or 0
    if not text:
        raise decision.wrong(
            f"{decision.choice}, and no new text" + ("" if what == "turn" else f" (or the word {REMOVE})")
        )
    if kind == PROMPT:
        if text == now.instance.turns[turn - 1].prompt.strip():
            raise decision.wrong("the new text is the prompt as it is")
        return [(turn, None, text, "revised", kind)]
    _refuse_copied(decision, now)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    texts = [] if text.casefold() == REMOVE else lines if kind == COMPOSITE else [text]
    return list(_of_criterion(decision, kind, turn, None if what == "turn" else number, texts, now))


def _of_criterion(
    decision: Decision, kind: str, turn: int, number: int | None, texts: Sequence[str], now: State
) -> Iterator[Change]:
    if kind == MISSING or number is None:
        if not texts:
            raise decision.wrong("adds nothing")
        yield from ((turn, None, text, "added", kind) for text in texts)
        return
    if not texts:
        yield turn, number, None, "removed", kind
        return
    if len(texts) == 1 and texts[0] in (now.text_of(number).strip(), stated(now.criterion(number)).strip()):
        raise decision.wrong(f"the new text is criterion {number} as it is")
    yield turn, number, texts[0], "revised", kind
    yield from ((turn, number, text, "added", kind) for text in texts[1:])


# What stands around a criterion in the list that people copy it from: its number, notes on it, label and points.
_COPIED = re.compile(
    r"^[0-9]+\. | \[(?:yes|no|unknown|not judged)?(?:, )?(?:[-+.e0-9]+ points)?\]$|" + "|".join(map(re.escape, NOTES)),
    re.MULTILINE,
)


def _refuse_copied(decision: Decision, now: State) -> None:
    """Raise UserError on a text copied with what stands around it; where criteria have the like of their own it may stay."""
    own = [criterion.text for turn in now.instance.turns for criterion in turn.criteria]
    if (copied := _COPIED.search(decision.text)) and not any(map(_COPIED.search, own)):
        raise decision.wrong(f"the new text holds {copied[0].strip()!r} of the list of criteria; leave that out")


class _Drafts:
    """New versions: what is decided twice alike counts once, and what contradicts is refused."""

    def __init__(self, before: Sequence[Version], round: int, source: str) -> None:
        self.versions: list[Version] = []
        self._before, self._round, self._source = before, round, source
        self._texts: dict[tuple[object, ...], tuple[str | None, Decision]] = {}
        self._kept: dict[str, tuple[bool, Decision]] = {}  # by row: whether it is kept, and who says so

    def add(self, decision: Decision, turn: int, number: int | None, text: str | None, change: str, kind: str) -> None:
        row, of = decision.row, None
        kept, other = self._kept.setdefault(row.id, (change == "kept", decision))
        if kept != (change == "kept"):
            raise decision.wrong(f"is answered otherwise by {other.who}; keep, or change something")
        if change == "added":
            number, of = None, number
        about = (row.instance, turn, number, *([text] if change == "added" else [row.id] if kept else []))
        earlier, other = self._texts.setdefault(about, (text, decision))
        if other is not decision or earlier != text:
            if earlier != text:
                what = f"the prompt of turn {turn}" if number is None else f"criterion {number}"
                raise decision.wrong(f"{what} is changed otherwise by {other}")
            return
        versions = [v for v in (*self._before, *self.versions) if v.instance == row.instance]
        if change == "added":
            number = 1 + max((version.criterion or 0 for version in versions), default=0)
        name = Version(row.instance, turn, number, 0, None).id
        version = sum(v.id == name and v.change != "kept" for v in versions) + (not kept)
        self.versions.append(Version(
            row.instance, turn, number, version, text, change, kind, decision.why, decision.who, self._round, row.id,
            self._source, of,
        ))  # fmt: skip
