"""How well verdicts agree with reference labels, in every group of rows, and how far two judges lie apart.

The measures of RubricEval (paper 003, section 4) and of FACTS Grounding (paper 002, Tables 2 and 4), and Cohen's kappa,
TRUEBench's measure of judge against human (paper 000, section 5.1). Rows of one cluster (an instruction, a document) go
together: every interval takes whole clusters as what is independent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import Label, mean_of, parallel
from truebench_hf.metrics.comparison import PairedDifference, linearised_difference, once_each
from truebench_hf.metrics.intervals import clustered_mean
from truebench_hf.metrics.kappa import cohen_kappa, kappa_of_counts
from truebench_hf.metrics.pass_rate import clustered_rate, pass_rate
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame, Series


# What is counted: the reference label is yes (or no), and the verdict is right, wrong or open.
_CELLS = ("tp", "fn", "yes_open", "tn", "fp", "no_open")
_YES, _NO = _CELLS[:3], _CELLS[3:]
MIN_CLASS_CLUSTERS = 3  # fewer clusters with rows of a class cannot tell how far clusters differ in it


@dataclass(frozen=True)
class Measure:
    """The plain mean of `shares`: each is (cells that count for it, cells it is taken of), a cell as often as named.

    `classes` are those (0 yes, 1 no) that the shares are about, where each is about one. With `any_share` a class that
    does not occur has no part in the mean, which is scikit-learn's convention for macro F1; without it the measure is
    undefined then.
    """

    shares: tuple[tuple[str, str], ...]
    classes: tuple[int, ...] = ()
    any_share: bool = False

    def sizes(self, counts: Mapping[str, int]) -> tuple[int, int]:
        """(rows it is taken over, rows of the same classes that are undecided)."""
        cells = {cell for _, taken_of in self.shares for cell in taken_of.split()}
        undecided = sum(counts[side[2]] for side in (_YES, _NO) if cells & set(side))
        return sum(counts[cell] for cell in cells), undecided

    @cached_property
    def weights(self) -> tuple[Any, Any]:
        """How much a row of each cell adds to the upper and to the lower part of each share: arrays (6, shares)."""
        columns = zip(*self.shares, strict=True)
        top, of = (np.array([[part.split().count(cell) for part in column] for cell in _CELLS]) for column in columns)
        return top, of


_TPR, _TNR = ("tp", "tp fn"), ("tn", "tn fp")
_WRONG = "fn yes_open fp no_open"
_F1_YES, _F1_NO = ("tp tp", "tp tp fn fp"), ("tn tn", "tn tn fn fp")
_MEASURES = {
    "balanced_accuracy": Measure((_TPR, _TNR), (0, 1)),
    "balanced_accuracy_strict": Measure((("tp", "tp fn yes_open"), ("tn", "tn fp no_open")), (0, 1)),
    "macro_f1": Measure((_F1_YES, _F1_NO), (0, 1), any_share=True),
    "macro_f1_strict": Measure((("tp tp", f"tp tp {_WRONG}"), ("tn tn", f"tn tn {_WRONG}")), (0, 1), any_share=True),
    "accuracy": Measure((("tp tn", "tp fn tn fp"),)),
    "accuracy_strict": Measure((("tp tn", "tp fn yes_open tn fp no_open"),)),
    "tpr": Measure((_TPR,), (0,)),
    "tnr": Measure((_TNR,), (1,)),
    "fpr": Measure((("fp", "tn fp"),), (1,)),
    "fnr": Measure((("fn", "tp fn"),), (0,)),
    "precision": Measure((("tp", "tp fp"),)),
    "f1_yes": Measure((_F1_YES,), (0,)),
    "f1_yes_strict": Measure((("tp tp", f"tp tp {_WRONG}"),), (0,)),
    "f1_no": Measure((_F1_NO,), (1,)),
}
MEASURES = ("balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "accuracy", "tpr", "tnr")


def agreement(
    frame: DataFrame, by: Sequence[str] = (), *, mean_over: str | None = None, measures: Sequence[str] = MEASURES
) -> DataFrame:
    """A row per group: the columns `by`, counts of rows, and a `Score` of each measure.

    `frame` has `gold` and `label` ("yes" or "no"; "unknown" and a missing label are undecided), and `cluster`, without
    which every row is one of its own. Counted are `n` decided, `undecided` and `unlabelled` rows, and of the decided ones
    `tp`, `fn`, `tn`, `fp`. `measures` are some of `MEASURES`, "fpr", "fnr", "precision", "f1_yes", "f1_no", "kappa"
    (Cohen's) and what counts undecided rows as wrong: "accuracy_strict", "macro_f1_strict", "f1_yes_strict". With `mean_over` (a column of instruction categories) a measure
    is the unweighted mean over that column's values, as RubricEval reports it "overall" (Tables 2 and 3), and None where
    it is undefined for one of them; all categories of a categorical column count. There is no interval with fewer than
    ten clusters, nor where a measure rests on a class that has rows in fewer than three. Raises UserError for other labels.
    """
    cells, clusters, strata = "(cell)", "(cluster)", "(stratum)"
    rows = frame[list(by)].assign(
        **{
            cells: _cells(frame["gold"], frame["label"]),
            clusters: frame["cluster"].to_numpy() if "cluster" in frame else range(len(frame)),
            strata: frame[mean_over].astype("category").cat.codes.to_numpy() if mean_over else 0,
        }
    )
    kinds = len(frame[mean_over].astype("category").cat.categories) if mean_over else 1

    def estimate(part: DataFrame) -> dict[str, Any]:
        labelled = part[part[cells] >= 0]
        counts = _counts(labelled[clusters], labelled[strata].to_numpy(), labelled[cells].to_numpy(), kinds)
        sums = dict(zip(_CELLS, map(int, counts.sum(axis=(0, 1))), strict=True))
        undecided = sums["yes_open"] + sums["no_open"]
        scores = {name: _score(name, counts, sums) for name in measures}
        rows = {"n": len(labelled) - undecided, "undecided": undecided, "unlabelled": len(part) - len(labelled)}
        return rows | {name: sums[name] for name in ("tp", "fn", "tn", "fp")} | scores

    return by_group(rows, by, estimate)


def label_agreement(
    gold: Sequence[Label], labels: Sequence[Label], clusters: Sequence[Any] | None = None,
    *, measures: Sequence[str] = MEASURES,
) -> dict[str, Any]:  # fmt: skip
    """The one row that `agreement` has for parallel columns of labels. Raises UserError for columns of unequal length."""
    import pandas as pd

    columns = {"gold": gold, "label": labels} | ({} if clusters is None else {"cluster": clusters})
    parallel(**columns)
    frame = pd.DataFrame({name: pd.Series(list(column), dtype=object) for name, column in columns.items()})
    return {str(name): value for name, value in agreement(frame, measures=measures).iloc[0].items()}


def class_agreement(
    gold: Sequence[str | None], labels: Sequence[str | None], clusters: Sequence[Any] | None = None
) -> dict[str, Score]:
    """Return `accuracy` and Cohen's `kappa` of labels of any number of classes, over the rows with a gold label.

    A missing label is undecided. Without `clusters` rows are independent: Wilson's interval, and none of kappa. Raises
    UserError for columns of unequal length.
    """
    parallel(gold=gold, labels=labels, clusters=gold if clusters is None else clusters)
    rows = zip(gold, labels, gold if clusters is None else clusters, strict=True)
    labelled = [row for row in rows if row[0] is not None]
    truth, verdicts, names = ([row[place] for row in labelled] for place in range(3))
    right = [None if label is None else label == kind for kind, label in zip(truth, verdicts, strict=True)]
    if clusters is None:
        return {"accuracy": pass_rate(right), "kappa": cohen_kappa(truth, verdicts)}
    return {"accuracy": clustered_rate(right, names), "kappa": cohen_kappa(truth, verdicts, names)}


def differences(
    frame: DataFrame, by: Sequence[str] = (), *, measures: Sequence[str] = ("balanced_accuracy", "accuracy")
) -> DataFrame:
    """A row per group and pair of judges: `first`, `second`, and per measure the `PairedDifference` of first less second.

    `frame` has `judge` and `item` besides the columns of `agreement`; a pair is compared on the items that both have,
    undecided being wrong (see `measure_difference`). Raises UserError where a judge has an item of a group twice.
    """
    import pandas as pd

    def estimate(part: DataFrame) -> dict[str, Any]:
        clusters = part["cluster"] if "cluster" in part else part["item"]
        columns = list(part["gold"]), list(part["label"]), list(part["label 2"]), list(clusters)
        return {name: measure_difference(*columns, measure=name) for name in measures}

    once_each(frame, by)
    tables = []
    for first, second in combinations(dict.fromkeys(frame["judge"]), 2):
        sides = [frame[frame["judge"] == judge].assign(judge=first) for judge in (first, second)]
        kept = sides[0].merge(sides[1][[*by, "item", "label"]], on=[*by, "item"], how="inner", suffixes=("", " 2"))
        tables.append(by_group(kept, by, estimate).assign(first=first, second=second))
    names = [*by, "first", "second", *measures]
    return pd.concat(tables, ignore_index=True)[names] if tables else pd.DataFrame(columns=names, dtype=object)


def measure_difference(
    gold: Sequence[Label], first: Sequence[Label], second: Sequence[Label], clusters: Sequence[Any],
    *, measure: str = "macro_f1",
) -> PairedDifference:  # fmt: skip
    """How much higher a measure of the first judge is than that of the second on the same rows, undecided being wrong.

    The interval is that of `linearised_difference`; there is none where a class has no row. Rows without a gold label
    are left out. Raises UserError for columns of unequal length and for other labels.
    """
    import pandas as pd

    parallel(gold=gold, first=first, second=second, clusters=clusters)
    cells = [_cells(pd.Series(gold, dtype=object), pd.Series(c, dtype=object)) for c in (first, second)]
    labelled = cells[0] >= 0
    n, left_out = int(labelled.sum()), int((~labelled).sum())
    values, moves = [], []  # of each judge the measure, and by how much each row moves it: its derivative
    for column in cells:
        strict = (column - (column % 3 == 2))[labelled]  # what is open as wrong
        top, of = (weights[strict] for weights in _MEASURES[measure].weights)
        totals = of.sum(axis=0)
        defined = totals > 0
        if not (defined.any() if _MEASURES[measure].any_share else defined.all()):
            return PairedDifference(None, n, left_out)
        shares = top.sum(axis=0)[defined] / totals[defined]
        values.append(float(shares.mean()))
        moves.append(((top[:, defined] - shares * of[:, defined]) / totals[defined]).sum(axis=1) / len(shares))
    value = values[0] - values[1]
    if set(_MEASURES[measure].classes) - set((cells[0][labelled] // 3).tolist()):
        return PairedDifference(value, n, left_out)
    codes = pd.factorize(pd.Series(clusters, dtype=object)[labelled])[0]
    return linearised_difference(value, moves[0] - moves[1], codes, left_out)


def set_scores(gold: Sequence[Collection[str]], predicted: Sequence[Collection[str] | None]) -> dict[str, Score]:
    """`precision`, `recall` and `f1`: how well sets of labels are found, means over the sets (paper 004, Table 7).

    So the F1 is no harmonic mean of the precision and recall beside it, in Table 7 neither. None is undecided: unscored.
    A row whose gold set is empty, which cannot be found, counts nowhere. A prediction of no label at all has 0 in each
    (scikit-learn's averages over samples). Raises `UserError` for columns of unequal length.
    """
    parallel(gold=gold, predicted=predicted)
    labelled = [(set(truth), guess) for truth, guess in zip(gold, predicted, strict=True) if truth]
    known = [(truth, set(guess)) for truth, guess in labelled if guess is not None]
    sizes = [(len(truth & guess), len(truth), len(guess)) for truth, guess in known]
    columns = {
        "precision": (both / guessed if guessed else 0.0 for both, _, guessed in sizes),
        "recall": (both / right for both, right, _ in sizes),
        "f1": (2 * both / (right + guessed) for both, right, guessed in sizes),
    }
    return {name: Score(mean_of(*values), len(known), len(labelled) - len(known)) for name, values in columns.items()}


def by_group(frame: DataFrame, by: Sequence[str], estimate: Callable[[DataFrame], Mapping[str, Any]]) -> DataFrame:
    """A row per group: the columns `by`, then what `estimate` returns of its rows. Without `by`, all rows are one group.

    Groups stand in the order of their column's categories where it has any, else sorted; rows without a value in one
    of the columns belong to no group.
    """
    import pandas as pd

    if not by:
        return pd.DataFrame([estimate(frame)], dtype=object)
    groups = list(frame.groupby(list(by), observed=True, sort=True))
    keys = {name: pd.Series([key[i] for key, _ in groups], dtype=frame[name].dtype) for i, name in enumerate(by)}
    # Asked of no rows as well: a frame without rows still has its columns.
    names = list(estimate(frame.iloc[:0]))
    # Objects: a score beside None stays one, and a count beside None stays whole.
    values = pd.DataFrame([estimate(part) for _, part in groups], columns=names, dtype=object)
    return values.assign(**keys)[[*by, *names]]


def _cells(gold: Series, labels: Series) -> Any:
    """The place in `_CELLS` of every row, -1 without a gold label. Raises UserError for any other label."""
    for column in (gold, labels):
        other = column[column.notna() & ~column.isin(["yes", "no", "unknown"])]
        if len(other):
            raise UserError(f"label {other.iloc[0]!r} is neither 'yes' nor 'no': convert it, or use None for undecided")
    truth, verdict = (
        np.where(column.isin(["yes"]), 0, np.where(column.isin(["no"]), 1, -1)) for column in (gold, labels)
    )
    outcome = np.where(verdict < 0, 2, (verdict != truth).astype(int))
    return np.where(truth < 0, -1, 3 * truth + outcome)


def _counts(clusters: Series, strata: Any, cells: Any, kinds: int) -> Any:
    """Rows counted by cluster, stratum and cell: an array of shape (clusters, strata, 6)."""
    import pandas as pd

    # Decided rows first: what is undecided then has no say in how a bootstrap draws the clusters of the others.
    order = np.argsort(cells % 3 == 2, kind="stable")
    codes, names = pd.factorize(clusters.iloc[order])
    shape = (len(names), max(1, kinds), len(_CELLS))
    inside = strata[order] >= 0
    places = (
        np.ravel_multi_index((codes[inside], strata[order][inside], cells[order][inside]), shape) if len(cells) else []
    )
    return np.bincount(np.asarray(places, dtype=int), minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _score(name: str, counts: Any, sums: Mapping[str, int]) -> Score:
    if name == "kappa":  # over the decided rows of all strata
        tables = counts.sum(axis=1)[:, [[0, 1], [4, 3]]]  # (clusters, reference yes or no, verdict yes or no)
        kappa, interval = kappa_of_counts(tables[tables.sum(axis=(1, 2)) > 0])
        return Score(kappa, int(tables.sum()), sums["yes_open"] + sums["no_open"], interval)
    measure = _MEASURES[name]
    n, undecided = measure.sizes(sums)
    right, of = (counts @ weights for weights in measure.weights)
    totals = of.sum(axis=0)
    defined = totals > 0
    complete = defined.any(axis=1) if measure.any_share else defined.all(axis=1)
    if not complete.all() or not len(counts):
        return Score(None, n, undecided)
    shares = np.where(defined, right.sum(axis=0) / np.where(defined, totals, 1), 0)
    value = float((shares.sum(axis=1) / defined.sum(axis=1)).mean())
    if measure.classes:
        sides = np.stack([counts[..., :3].any(axis=-1), counts[..., 3:].any(axis=-1)], axis=-1)
        rows = sides[..., measure.classes] & (of > 0)
        # A class that neither labels nor verdicts know has no part in macro F1, and is not scarce.
        if (defined & (rows.sum(axis=0) < MIN_CLASS_CLUSTERS)).any():
            return Score(value, n, undecided)
    return Score(value, n, undecided, clustered_mean(right, of))
