"""How well each judge agrees with people under each template, and which template that chooses (paper 002, Tables 2, 4)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.choosing import Choice, choose
from truebench_hf.types import Label

Columns = Mapping[tuple[str, str], Sequence[Label | None]]  # by judge and template: a label per row
Shares = Mapping[str, Any]  # counts of rows, and the value of each measure
_MEASURES = (
    "accuracy", "balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "tpr", "tnr", "fpr", "fnr", "f1_yes", "f1_no",
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """A judge under one template (or variant) against the labels; `strict_f1` is macro F1 with undecided as wrong."""

    judge: str
    template: str
    found: Shares
    strict_f1: float | None
    chosen: bool = False


@dataclass(frozen=True)
class Selected:
    """One question (grounding or eligibility) for all judges. `base` is the judge that always says the positive.

    `choices` and `held_out` go by judge: the choice, and how well the templates agree that are chosen without the rows
    they are measured on.
    """

    base: Shares
    measured: tuple[Measured, ...]
    choices: Mapping[str, Choice]
    held_out: Mapping[str, Shares]
    labelled: int

    def as_json(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {
            "labelled": self.labelled,
            "base": self.base,
            "measured": [asdict(one) for one in self.measured],
            "choices": {judge: _told(choice) for judge, choice in self.choices.items()},
            "held_out": dict(self.held_out),
        }


def select(
    gold: Sequence[Label | None], columns: Columns, groups: Sequence[Hashable], *, folds: int, seed: int
) -> Selected:
    """Measure all columns against labels, "yes" being the positive class, and choose a template for every judge."""
    rows = [row for row, label in enumerate(gold) if label is not None]
    truth, names = [gold[row] for row in rows], [groups[row] for row in rows]
    kept = {key: [column[row] for row in rows] for key, column in columns.items()}
    choices: dict[str, Choice] = {}
    for judge in dict.fromkeys(judge for judge, _ in kept):
        own = {template: column for (name, template), column in kept.items() if name == judge}
        if choice := choose(truth, own, names, folds=folds, seed=seed):
            choices[judge] = choice
    measured = []
    for (judge, template), column in kept.items():
        strict = label_agreement(truth, column, measures=("macro_f1_strict",))["macro_f1_strict"].value
        measured.append(Measured(judge, template, shares(truth, column), strict, choices[judge].best == template))
    held_out = {judge: shares(truth, choice.held_out) for judge, choice in choices.items()}
    return Selected(shares(truth, ["yes"] * len(truth)), tuple(measured), choices, held_out, len(rows))


def shares(gold: Sequence[str | None], labels: Sequence[str | None]) -> Shares:
    """What `label_agreement` finds, without intervals; `n` are all labelled rows, undecided ones too."""
    found = label_agreement(gold, labels, measures=_MEASURES)
    counts = {name: found[name] for name in ("undecided", "unlabelled", "tp", "tn", "fp", "fn")}
    return {"n": found["n"] + found["undecided"], **counts} | {name: found[name].value for name in _MEASURES}


def _told(choice: Choice) -> dict[str, Any]:
    lead = {"difference": choice.lead.difference, "interval": choice.lead.interval, "sure": choice.lead.ahead > 0}
    return {"template": choice.best, "runner_up": choice.runner_up, "lead": lead, "won_folds": dict(choice.won)}
