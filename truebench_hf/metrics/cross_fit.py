"""Calibration of rows by calibrators that saw no row of their group, so that the measures taken after it are honest."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from truebench_hf.errors import unknown
from truebench_hf.extras import need
from truebench_hf.metrics.binary import Label, parallel
from truebench_hf.metrics.calibration import best_threshold
from truebench_hf.metrics.calibrators import FITTERS, Calibrator, fit


def cross_fit(
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = 0,
) -> tuple[float | None, ...]:
    """Calibrate every row with a calibrator that saw no row of its group (the instruction), for honest measures.

    Groups are dealt into `folds` folds, or one each where there are fewer. A row comes back None if it has no
    probability, or if the other folds hold one label only. Raises `UserError` for unequal columns or a bad kind.
    """
    out: list[float | None] = [None] * len(probabilities)
    for calibrator, _, test in held_out(kind, probabilities, labels, groups, folds, seed):
        for row in test:
            p = probabilities[row]
            out[row] = None if calibrator is None or p is None else calibrator.apply(p)
    return tuple(out)


def cross_threshold(
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = 0,
) -> tuple[float | None, ...]:
    """For every row of `cross_fit` the best threshold on the calibrated rows of the other folds.

    What `cross_fit` and this decide together is untouched by the row's own group. None and errors as there.
    """
    out: list[float | None] = [None] * len(probabilities)
    for calibrator, train, test in held_out(kind, probabilities, labels, groups, folds, seed):
        if calibrator is None:
            continue
        seen = [None if (p := probabilities[row]) is None else calibrator.apply(p) for row in train]
        best = best_threshold(seen, [labels[row] for row in train])
        for row in test:
            out[row] = best.value if best else None
    return tuple(out)


def held_out(
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    folds: int,
    seed: int,
) -> Iterator[tuple[Calibrator | None, Sequence[int], Sequence[int]]]:
    """(calibrator fitted on the training rows, training rows, test rows) of each fold; none below two groups.

    No group is in both. Raises `UserError` for columns of unequal length or a bad kind.
    """
    parallel(probabilities=probabilities, labels=labels, groups=groups)
    if kind not in FITTERS:
        raise unknown("calibrator", kind, FITTERS)
    for train, test in parts(groups, folds, seed):
        yield fit(kind, [probabilities[row] for row in train], [labels[row] for row in train]), train, test


def parts(groups: Sequence[Hashable], folds: int, seed: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """(training rows, test rows) of each fold, every group in one of the two; none below two groups."""
    need("stats", "sklearn", what="cross-fitting")
    from sklearn.model_selection import GroupKFold

    codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
    folds = min(folds, len(codes))
    if folds < 2:
        return
    split = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in split.split(range(len(groups)), groups=[codes[group] for group in groups]):
        yield train.tolist(), test.tolist()
