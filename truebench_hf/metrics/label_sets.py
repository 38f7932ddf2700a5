"""How well sets of labels are found: precision, recall and F1 of each set, then their means (paper 004, Table 7).

The F1 of Table 7 is no harmonic mean of the precision and recall beside it: it is averaged over questions, as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from truebench_hf.extras import need
from truebench_hf.metrics.binary import parallel


@dataclass(frozen=True)
class SetScores:
    """Means over `n` rows, 0..1, None without any; `empty` rows have no gold label, `undecided` no prediction."""

    precision: float | None
    recall: float | None
    f1: float | None
    n: int
    empty: int
    undecided: int


def set_scores(gold: Sequence[Collection[str]], predicted: Sequence[Collection[str] | None]) -> SetScores:
    """Compare two parallel columns of sets of labels; None is undecided, and left out.

    A row whose gold set is empty cannot be found and is left out, too. A prediction of no label at all has precision,
    recall and F1 of 0 (scikit-learn's averages over samples). Raises `UserError` for columns of unequal length.
    """
    need("stats", "sklearn", what="comparing sets of labels")
    from sklearn.metrics import precision_recall_fscore_support
    from sklearn.preprocessing import MultiLabelBinarizer

    parallel(gold=gold, predicted=predicted)
    pairs = [(set(truth), guess) for truth, guess in zip(gold, predicted, strict=True) if truth]
    known = [(truth, set(guess)) for truth, guess in pairs if guess is not None]
    empty, undecided = len(gold) - len(pairs), len(pairs) - len(known)
    if not known:
        return SetScores(None, None, None, 0, empty, undecided)
    labels = ["", *sorted({label for pair in known for one in pair for label in one} - {""})]  # one column is no table
    columns = [MultiLabelBinarizer(classes=labels).fit_transform(column) for column in zip(*known, strict=True)]
    found = precision_recall_fscore_support(*columns, average="samples", zero_division=0.0)
    precision, recall, f1 = (float(value) for value in found[:3])
    return SetScores(precision, recall, f1, len(known), empty, undecided)
