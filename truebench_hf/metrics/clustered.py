"""Agreement of a judge with reference labels, with intervals that respect that rubrics of one instruction go together.

The measures are those of `agreement.py`. Each is a mean of shares of rows, so that its interval is `clustered_mean`'s
with the instructions as clusters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.intervals import clustered_mean
from truebench_hf.types import Score

# The cell of (gold, predicted); None is undecided.
_CELLS = {
    (True, True): 0, (True, False): 1, (True, None): 2,
    (False, False): 3, (False, True): 4, (False, None): 5,
}  # fmt: skip
# A share, as the weights of the six cells in what is right and in what it is right of.
_TPR = ((1, 0, 0, 0, 0, 0), (1, 1, 0, 0, 0, 0))
_TNR = ((0, 0, 0, 1, 0, 0), (0, 0, 0, 1, 1, 0))
_SHARES = {
    "balanced_accuracy": (_TPR, _TNR),
    "balanced_accuracy_strict": (((1, 0, 0, 0, 0, 0), (1, 1, 1, 0, 0, 0)), ((0, 0, 0, 1, 0, 0), (0, 0, 0, 1, 1, 1))),
    # F1 of yes and of no; where a class does not occur, the other stands alone.
    "macro_f1": (((2, 0, 0, 0, 0, 0), (2, 1, 0, 0, 1, 0)), ((0, 0, 0, 2, 0, 0), (0, 1, 0, 2, 1, 0))),
    "accuracy": (((1, 0, 0, 1, 0, 0), (1, 1, 0, 1, 1, 0)),),
    "tpr": (_TPR,),
    "tnr": (_TNR,),
}
MEASURES = tuple(_SHARES)
# The classes (yes, no) whose rows a measure needs; fewer clusters with such rows cannot tell how far clusters differ.
_CLASSES = dict.fromkeys(MEASURES, (0, 1)) | {"accuracy": (), "tpr": (0,), "tnr": (1,)}
MIN_CLASS_CLUSTERS = 3


def clustered_agreement(
    clusters: Sequence[Hashable],
    gold: Sequence[Label],
    predicted: Sequence[Label],
    strata: Sequence[Hashable] | None = None,
) -> dict[str, Score]:
    """Each of `MEASURES`, with n, undecided rows and the 95 % interval; parallel columns.

    Rows without a gold label are left out. With `strata` (instruction categories) a measure is the unweighted mean
    over the strata, as RubricEval reports it "overall" (paper 003, Tables 2 and 3), and None where it is undefined in
    one of them. There is no interval with fewer than ten clusters, and where a measure rests on a class that has
    rows in fewer than `MIN_CLASS_CLUSTERS` of them (in a stratum). Raises `UserError` for columns of unequal length and
    for labels other than yes, no, unknown and None.
    """
    parallel(clusters=clusters, gold=gold, predicted=predicted, strata=strata if strata is not None else gold)
    counts = _counts(clusters, gold, predicted, strata)
    sizes = _sizes(counts.sum(axis=(0, 1)))
    return {name: Score(*_measure(name, counts, sizes[name])) for name in MEASURES}


def _measure(
    name: str, counts: Any, sizes: tuple[int, int]
) -> tuple[float | None, int, int, tuple[float, float] | None]:
    import numpy as np

    right, of = (counts @ np.array(weights).T for weights in zip(*_SHARES[name], strict=True))
    totals = of.sum(axis=0)
    defined = totals > 0
    whole = defined.any(axis=1) if name == "macro_f1" else defined.all(axis=1)
    if not whole.all() or not len(counts):
        return None, *sizes, None
    shares = np.where(defined, right.sum(axis=0) / np.where(defined, totals, 1), 0)
    value = float((shares.sum(axis=1) / defined.sum(axis=1)).mean())
    if classes := _CLASSES[name]:
        rows = np.stack([counts[..., :3].any(axis=-1), counts[..., 3:].any(axis=-1)], axis=-1)[..., classes] & (of > 0)
        # A class that neither labels nor verdicts know has no part in macro F1, and is not scarce.
        if (defined & (rows.sum(axis=0) < MIN_CLASS_CLUSTERS)).any():
            return value, *sizes, None
    return value, *sizes, clustered_mean(right, of)


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
    counts = np.zeros((len(places), max(1, len(layers)), 6))
    for cluster, kind, cell in rows:
        counts[places[cluster], layers[kind], cell] += 1
    return counts


def _sizes(cells: Any) -> dict[str, tuple[int, int]]:
    """(rows a measure is taken over, rows undecided) for each measure."""
    tp, fn, missed, tn, fp, unread = map(int, cells)
    decided, open_ = (tp + fn + tn + fp), missed + unread
    whole = dict.fromkeys(MEASURES, (decided, open_))
    return whole | {
        "balanced_accuracy_strict": (decided + open_, open_), "tpr": (tp + fn, missed), "tnr": (tn + fp, unread),
    }  # fmt: skip
