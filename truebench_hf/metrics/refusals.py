"""Whether the answers of a judge that cannot be read depend on what is true: then they bias its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.types import Score


@dataclass(frozen=True, slots=True)
class Refusals:
    """The share of refused answers among rows whose gold label is yes, and among those where it is no.

    `p_value` is Fisher's exact test, two-sided, of whether the two differ, rows taken one by one; None where a label
    does not occur.
    """

    yes: Score
    no: Score
    p_value: float | None


def refusals_by_gold(gold: Sequence[Label], refused: Sequence[bool]) -> Refusals:
    """The shares of refused rows by gold label; parallel columns, rows without a gold label are left out."""
    parallel(gold=gold, refused=refused)
    yes, no = (
        [row for label, row in zip(gold, refused, strict=True) if decide(label) is kind] for kind in (True, False)
    )
    return Refusals(pass_rate(yes), pass_rate(no), _fisher(sum(yes), len(yes), sum(no), len(no)))


def _fisher(first: int, of_first: int, second: int, of_second: int) -> float | None:
    if not of_first or not of_second:
        return None
    if not first + second:
        return 1.0
    from scipy.stats import fisher_exact  # slow to import, and seldom needed

    return float(fisher_exact([[first, of_first - first], [second, of_second - second]]).pvalue)
