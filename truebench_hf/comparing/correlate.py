"""How far scores of models agree with others of the same models (paper 000, Figure 4 and Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.comparing.scores_of_models import ModelScores, read_scores
from truebench_hf.metrics.correlation import RankAgreement, rank_agreement, trend

FAR = 0.05  # a model is far off the line where chance alone would put it there less often


@dataclass(frozen=True, slots=True)
class Point:
    """A model in both: `x` is its outside score, `y` ours, with its rank by each among the models in common.

    `expected` is the line's y at x, None without a line; `p_value` see `metrics.trend.Off`.
    """

    model: str
    x: float
    y: float
    rank_x: int
    rank_y: int
    expected: float | None
    p_value: float | None

    @property
    def far(self) -> bool:
        """Whether it lies far off the line."""
        return self.p_value is not None and self.p_value < FAR


@dataclass(frozen=True)
class Pairing:
    """One column held against one other: agreement, the least-squares line of ours on theirs, and every model.

    `only` are the models that have a score in the one, and not in the other.
    """

    column: str
    other: str
    agreement: RankAgreement
    slope: float | None
    intercept: float | None
    r2: float | None
    points: tuple[Point, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Correlated:
    """Every column of the scores held against every other one."""

    scores: ModelScores
    others: ModelScores
    pairings: tuple[Pairing, ...]


def correlate(
    scores: Sequence[str], others: Sequence[str], *, column: Sequence[str] = (), with_column: Sequence[str] = (),
    seed: int = 0,
) -> Correlated:  # fmt: skip
    """Hold scores against others; `truebench study correlate` as a Python call. What each may be: `read_scores`.

    Models are the same where their names are, without who provides them; nothing is guessed. Raises UserError as
    `read_scores`.
    """
    ours = read_scores([scores] if isinstance(scores, str) else scores, column, "--scores", "--column")
    theirs = read_scores([others] if isinstance(others, str) else others, with_column, "--with", "--with-column")
    pairings = (_pairing(ours, name, theirs, other, seed) for other in theirs.columns for name in ours.columns)
    return Correlated(ours, theirs, tuple(pairings))


def _pairing(ours: ModelScores, column: str, theirs: ModelScores, other: str, seed: int) -> Pairing:
    known = {name: value for name, value in ours.columns[column].items() if value is not None}
    outside = {name: value for name, value in theirs.columns[other].items() if value is not None}
    common = [name for name in known if name in outside]
    y, x = [known[name] for name in common], [outside[name] for name in common]
    line = trend(x, y)
    points = [
        Point(
            name, x[i], y[i], 1 + sum(value > x[i] for value in x), 1 + sum(value > y[i] for value in y),
            line.points[i].expected if line else None, line.points[i].p_value if line else None,
        )
        for i, name in enumerate(common)
    ]  # fmt: skip
    return Pairing(
        column, other, rank_agreement(y, x, seed=seed),
        line.slope if line else None, line.intercept if line else None, line.r2 if line else None,
        tuple(sorted(points, key=lambda point: point.rank_y)),
        (tuple(name for name in known if name not in outside), tuple(name for name in outside if name not in known)),
    )  # fmt: skip
