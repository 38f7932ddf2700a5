"""Agreement of a judge with reference labels, with intervals that respect that rubrics of one instruction go together.

The measures are those of `agreement.py`. The bootstrap resamples whole clusters (instructions), and works on their
confusion counts rather than on rows: a resample is a vector of cluster weights, and all of them are one product.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.intervals import MIN_UNITS
from truebench_hf.types import Score

MEASURES = ("balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "accuracy", "tpr", "tnr")
# The cell of (gold, predicted); None is undecided.
_CELLS = {
    (True, True): 0, (True, False): 1, (True, None): 2,
    (False, False): 3, (False, True): 4, (False, None): 5,
}  # fmt: skip


def clustered_agreement(
    clusters: Sequence[Hashable],
    gold: Sequence[Label],
    predicted: Sequence[Label],
    strata: Sequence[Hashable] | None = None,
    *,
    n_resamples: int = 1000,
    seed: int = 0,
) -> dict[str, Score]:
    """Each of `MEASURES` in percent, with n, undecided rows and the 95 % percentile interval; parallel columns.

    Rows without a gold label are left out. With `strata` (instruction categories) a measure is the unweighted mean
    over the strata, as RubricEval reports it "overall" (paper 003, Tables 2 and 3), and None where it is undefined in
    one of them. An interval is None with fewer than `MIN_UNITS` clusters, and where the measure is undefined in more
    than half of the resamples. Raises `UserError` for columns of unequal length and for labels other than yes, no,
    unknown and None.
    """
    import numpy as np

    parallel(clusters=clusters, gold=gold, predicted=predicted, strata=strata if strata is not None else gold)
    counts = _counts(clusters, gold, predicted, strata)
    total = counts.sum(axis=0, keepdims=True)
    drawn = _weights(len(counts), n_resamples, seed) @ counts.reshape(len(counts), counts.shape[1] * 6)
    points, draws = _measures(total), _measures(drawn.reshape(-1, *counts.shape[1:]))
    sizes = _sizes(total.sum(axis=1)[0])
    scores = {}
    for name in MEASURES:
        value, valid = float(points[name].mean(-1)[0]), draws[name].mean(-1)
        valid = valid[~np.isnan(valid)]
        told = len(counts) >= MIN_UNITS and 2 * len(valid) > n_resamples
        ends = tuple(map(float, 100 * np.quantile(valid, [0.025, 0.975]))) if told else None
        known = None if np.isnan(value) else 100 * value
        scores[name] = Score(known, *sizes[name], ci95=ends if known is not None else None)  # type: ignore[arg-type]
    return scores


def _counts(
    clusters: Sequence[Hashable], gold: Sequence[Label], predicted: Sequence[Label], strata: Sequence[Hashable] | None
) -> Any:
    """Rows counted by cluster, stratum and cell: an array of shape (clusters, strata, 6)."""
    import numpy as np

    kinds = strata if strata is not None else [None] * len(gold)
    rows = [
        (cluster, kind, _CELLS[truth, decide(guess)])
        for cluster, kind, label, guess in zip(clusters, kinds, gold, predicted, strict=True)
        if (truth := decide(label)) is not None
    ]
    places = {cluster: i for i, cluster in enumerate(dict.fromkeys(row[0] for row in rows))}
    layers = {kind: i for i, kind in enumerate(dict.fromkeys(row[1] for row in rows))}
    counts = np.zeros((len(places), max(1, len(layers)), 6), dtype=np.float32)
    for cluster, kind, cell in rows:
        counts[places[cluster], layers[kind], cell] += 1
    return counts


@lru_cache(maxsize=32)
def _weights(clusters: int, n_resamples: int, seed: int) -> Any:
    """How often each resample draws each cluster: an array of shape (n_resamples, clusters)."""
    import numpy as np

    if clusters == 0:
        return np.zeros((n_resamples, 0), dtype=np.float32)
    random = np.random.default_rng(seed)
    return random.multinomial(clusters, [1 / clusters] * clusters, size=n_resamples).astype(np.float32)


def _measures(cells: Any) -> dict[str, Any]:
    """Every measure for counts of shape (..., 6), as shares; NaN where it is undefined."""
    import numpy as np

    tp, fn, missed, tn, fp, unread = np.moveaxis(cells.astype(float), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        tpr, tnr = tp / (tp + fn), tn / (tn + fp)
        strict = (tp / (tp + fn + missed) + tn / (tn + fp + unread)) / 2
        f1_yes, f1_no = 2 * tp / (2 * tp + fp + fn), 2 * tn / (2 * tn + fp + fn)
        f1 = (np.where(np.isnan(f1_yes), f1_no, f1_yes) + np.where(np.isnan(f1_no), f1_yes, f1_no)) / 2
        accuracy = (tp + tn) / (tp + fn + tn + fp)
    return dict(zip(MEASURES, ((tpr + tnr) / 2, strict, f1, accuracy, tpr, tnr), strict=True))


def _sizes(cells: Any) -> dict[str, tuple[int, int]]:
    """(rows a measure is taken over, rows undecided) for each measure."""
    tp, fn, missed, tn, fp, unread = map(int, cells)
    decided, open_ = (tp + fn + tn + fp), missed + unread
    whole = dict.fromkeys(MEASURES, (decided, open_))
    return whole | {
        "balanced_accuracy_strict": (decided + open_, open_), "tpr": (tp + fn, missed), "tnr": (tn + fp, unread),
    }  # fmt: skip
