"""The FACTS Grounding score from given verdicts (paper 002, sections 3.1 and 3.2): share of grounded responses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import Label, decide, mean_of, parallel


@dataclass(frozen=True)
class Grounding:
    """Shares in 0..1, each the mean over the judges of a judge's share; None where a judge decided nothing.

    `unadjusted` ignores eligibility; in `final` an ineligible response is inaccurate for every judge. `by_judge` holds
    each judge's (unadjusted, final). Of the `n` responses `ineligible` are disqualified; `undecided` counts single
    verdicts on grounding that are missing, which are left out of that judge's share.
    """

    unadjusted: float | None
    final: float | None
    by_judge: tuple[tuple[float | None, float | None], ...]
    n: int
    ineligible: int
    undecided: int


def disqualified(eligible: Sequence[Label]) -> bool:
    """Whether the judges' labels on the eligibility of one response disqualify it: there are some, and all are "no".

    An undecided judge disqualifies nothing (paper 002, section 3.2: by consensus of all judges).
    """
    return bool(eligible) and all(decide(label) is False for label in eligible)


def grounding(grounded: Sequence[Sequence[Label]], eligible: Sequence[Sequence[Label]] | None = None) -> Grounding:
    """Both scores from "yes"/"no" verdicts: one row per response, in it one label per judge; None is undecided.

    `eligible` has the judges' labels on eligibility, of which `disqualified` makes what becomes of the response. None:
    every response is eligible. Raises `UserError` for other labels and for rows of unequal length.
    """
    rows = [[decide(label) for label in row] for row in grounded]
    judges = {len(row) for row in rows}
    if len(judges) > 1:
        raise UserError(f"every response needs one grounding verdict per judge; rows have {sorted(judges)} of them")
    votes: Sequence[Sequence[Label]] = eligible if eligible is not None else [[] for _ in rows]
    parallel(grounded=rows, eligible=votes)
    out = list(map(disqualified, votes))
    adjusted = [[False if gone else verdict for verdict in row] for row, gone in zip(rows, out, strict=True)]
    columns = zip(zip(*rows, strict=True), zip(*adjusted, strict=True), strict=True)
    scores = [(_share(before), _share(after)) for before, after in columns]
    return Grounding(
        unadjusted=mean_of(*(plain for plain, _ in scores)),
        final=mean_of(*(adjusted for _, adjusted in scores)),
        by_judge=tuple(scores),
        n=len(rows),
        ineligible=sum(out),
        undecided=sum(verdict is None for row in rows for verdict in row),
    )


def _share(verdicts: Sequence[bool | None]) -> float | None:
    """A judge's share of what it decided."""
    return mean_of(*(verdict for verdict in verdicts if verdict is not None))
