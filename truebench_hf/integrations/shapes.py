"""What the verdicts on one completion are worth as a reward: pure functions, None where that is not decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from truebench_hf.metrics.pass_rate import conjunction, outcome, weighted_share
from truebench_hf.types import Label, Verdict

PENALTY = 0.1  # for each criterion that fails, in the shape `penalty`


def reward_of(verdicts: Sequence[Verdict], shape: str = "fraction", penalty: float = PENALTY) -> float | None:
    """The reward for a completion with these verdicts; None where there are none, or open ones that could change it.

    - `fraction`: points of the criteria that are met over all positive points, from 0 to 1 (negative ones take away).
      None where an open verdict could move it.
    - `pass_all`: 1 where every criterion passes (a fault with negative points: is not there), 0 as soon as one that is
      decided fails, whatever is open; else None where one is open.
    - `penalty`: the fraction, less `penalty` for each criterion that fails: at most 1, at least -n * penalty for n
      criteria. None where any verdict is open.

    Neither falls when a criterion that failed passes.
    """
    return SHAPES[shape](verdicts, penalty) if verdicts else None


def _outcomes(verdicts: Sequence[Verdict]) -> list[Label | None]:
    return [outcome(verdict.label, verdict.criterion.weight) for verdict in verdicts]


def _fraction(verdicts: Sequence[Verdict], penalty: float) -> float | None:
    return weighted_share([v.label for v in verdicts], [v.criterion.weight for v in verdicts])


def _pass_all(verdicts: Sequence[Verdict], penalty: float) -> float | None:
    passed = conjunction(_outcomes(verdicts))
    return None if passed is None else float(passed)


def _penalty(verdicts: Sequence[Verdict], penalty: float) -> float | None:
    outcomes, share = _outcomes(verdicts), _fraction(verdicts, penalty)
    decided = all(label in ("yes", "no") for label in outcomes)
    return share - penalty * outcomes.count("no") if decided and share is not None else None


SHAPES: dict[str, Callable[[Sequence[Verdict], float], float | None]] = {
    "fraction": _fraction,
    "pass_all": _pass_all,
    "penalty": _penalty,
}
