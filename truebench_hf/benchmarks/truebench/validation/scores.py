"""How well a validator finds known defects: the positive class is FAIL, criteria that need change (paper 000, Table 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from truebench_hf.benchmarks.truebench.validation.edits import Edited
from truebench_hf.benchmarks.truebench.validation.findings import ASPECTS, Kind, Label, Validation
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.bootstrap import resampled_ratio
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.types import Score

# All subsets of the aspects, in the order of Table 3.
SUBSETS = tuple(some for count in range(len(ASPECTS) + 1) for some in combinations(ASPECTS, count))
EDITS: tuple[Kind, ...] = tuple(ASPECTS.values())
Row = tuple[Edited, Validation]


@dataclass(frozen=True)
class SubsetScores:
    """What a validator that was told about some aspects reaches: over the rows it decided, with `undecided` beside.

    Scores are shares. `f1_strict` counts an undecided row as wrong, so that nobody gains by saying nothing. `flagged`
    says how many rows with each edit are FAIL, for whatever defect; `named` in how many a defect of its kind is found,
    `placed` in how many also at the criterion that was edited (of E3 in its turn).
    """

    aspects: tuple[str, ...]
    f1: Score
    f1_strict: Score
    precision: Score
    recall: Score
    balanced_accuracy: Score
    undecided: int
    flagged: Mapping[str, Score]
    named: Mapping[str, Score]
    placed: Mapping[str, Score]


def truth(row: Edited) -> Label:
    """What a validator should say: rows that are not edited count as faultless."""
    return "PASS" if row.edit == "unedited" else "FAIL"


def subset_scores(aspects: tuple[str, ...], rows: Sequence[Row]) -> SubsetScores:
    """The scores of one validator, told about these aspects."""
    gold, said = [truth(edited) for edited, _ in rows], [found.label for _, found in rows]
    positive = {"FAIL": "yes", "PASS": "no", None: None}
    shown = ("f1_yes", "f1_yes_strict", "precision", "tpr", "balanced_accuracy")
    counts = label_agreement([positive[g] for g in gold], [positive[s] for s in said], measures=shown)
    right = [g == s == "FAIL" for g, s in zip(gold, said, strict=True)]
    wrong = [s is not None and g != s for g, s in zip(gold, said, strict=True)]
    f1 = Score(counts["f1_yes"].value, counts["n"], counts["undecided"], _interval(right, wrong))
    open_or_wrong = [g != s for g, s in zip(gold, said, strict=True)]
    strict = Score(counts["f1_yes_strict"].value, len(rows), 0, _interval(right, open_or_wrong))
    flagged = {
        kind: _share(rows, kind, lambda row: None if row[1].label is None else row[1].label == "FAIL")
        for kind in (*EDITS, "unedited")
    }
    looked = [kind for aspect, kind in ASPECTS.items() if aspect in aspects]
    return SubsetScores(
        aspects, f1, strict, *_ratios(counts), counts["undecided"], flagged,
        {kind: _share(rows, kind, lambda row: named(*row)) for kind in looked},
        {kind: _share(rows, kind, lambda row: placed(*row)) for kind in looked},
    )  # fmt: skip


def _interval(right: Sequence[bool], wrong: Sequence[bool]) -> tuple[float, float] | None:
    """The interval of an F1, by rows: found, and else wrong (missed, or flagged without need)."""
    return resampled_ratio([2 * r for r in right], [2 * r + w for r, w in zip(right, wrong, strict=True)])


def _ratios(counts: Mapping[str, Any]) -> tuple[Score, Score, Score]:
    """Precision, recall and balanced accuracy."""
    flagged, faulty = counts["tp"] + counts["fp"], counts["tp"] + counts["fn"]
    return (
        Score(counts["precision"].value, flagged),
        Score(counts["tpr"].value, faulty),
        Score(counts["balanced_accuracy"].value, counts["n"], counts["undecided"]),
    )


def named(edited: Edited, found: Validation) -> bool | None:
    """Whether a defect of the kind of the edit is found; None where nothing could be read."""
    return None if edited.edit == "unedited" else found.found(edited.edit)


def placed(edited: Edited, found: Validation) -> bool | None:
    """Whether a finding of the kind of the edit is where the edit is; None where nothing could be read."""
    if found.label is None or edited.edit == "unedited":
        return None
    where = (edited.turn, None if edited.edit == "E3" else edited.criterion)
    return any((one.turn, one.criterion) == where for one in found.of(edited.edit))


def _share(rows: Sequence[Row], kind: str, hit: Callable[[Row], bool | None]) -> Score:
    """The share of the rows with this edit on which the validator hits."""
    return pass_rate([hit(row) for row in rows if row[0].edit == kind])


def always_fail(rows: Sequence[Edited]) -> SubsetScores:
    """What saying FAIL to everything gives: the F1 to be beaten."""
    return subset_scores((), [(row, Validation("FAIL", ())) for row in rows])
