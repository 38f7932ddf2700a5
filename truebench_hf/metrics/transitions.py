"""What a revision did to the answers of a checklist: NO mended to YES, YES broken to NO (paper 004, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.types import Score


@dataclass(frozen=True, slots=True)
class Transitions:
    """Questions by their answer before and after. `undecided`: not settled on one side, so neither kept nor turned."""

    mended: int = 0  # NO to YES
    still_no: int = 0
    broken: int = 0  # YES to NO
    still_yes: int = 0
    undecided: int = 0

    def __add__(self, other: Transitions) -> Transitions:
        return Transitions(
            self.mended + other.mended, self.still_no + other.still_no, self.broken + other.broken,
            self.still_yes + other.still_yes, self.undecided + other.undecided,
        )  # fmt: skip


def transitions(before: Sequence[Label], after: Sequence[Label]) -> Transitions:
    """What became of each question of one checklist; parallel columns. Raises `UserError` for other labels."""
    parallel(before=before, after=after)
    pairs = [(decide(was), decide(now)) for was, now in zip(before, after, strict=True)]
    mended, still_no, broken, still_yes = (
        pairs.count(pair) for pair in ((False, True), (False, False), (True, False), (True, True))
    )
    return Transitions(mended, still_no, broken, still_yes, len(pairs) - mended - still_no - broken - still_yes)


def mended_share(revisions: Iterable[Transitions]) -> Score:
    """The share of questions answered NO that the revisions turned to YES; clusters are the checklists."""
    return _share([(one.mended, one.mended + one.still_no, one.undecided) for one in revisions])


def broken_share(revisions: Iterable[Transitions]) -> Score:
    """The share of questions answered YES that the revisions turned to NO; clusters are the checklists."""
    return _share([(one.broken, one.broken + one.still_yes, one.undecided) for one in revisions])


def _share(rows: Sequence[tuple[int, int, int]]) -> Score:
    turned, of, undecided = ([row[place] for row in rows] for place in range(3))
    value = sum(turned) / sum(of) if sum(of) else None
    return Score(value, sum(of), sum(undecided), clustered_share(turned, of))
