"""How well each judge agrees with people under each template, and which template that chooses (paper 002, Tables 2, 4)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.metrics.agreement import Agreement, agreement
from truebench_hf.metrics.choosing import Choice, choose, strict
from truebench_hf.types import Label

Columns = Mapping[tuple[str, str], Sequence[Label | None]]  # by judge and template: a label per row


@dataclass(frozen=True)
class Measured:
    """A judge under one template (or variant) against the labels; `strict_f1` is macro F1 with undecided as wrong."""

    judge: str
    template: str
    found: Agreement
    strict_f1: float | None
    chosen: bool = False


@dataclass(frozen=True)
class Selected:
    """One question (grounding or eligibility) for all judges. `base` is the judge that always says the positive.

    `choices` and `held_out` go by judge: the choice, and how well the templates agree that are chosen without the rows
    they are measured on.
    """

    base: Agreement
    measured: tuple[Measured, ...]
    choices: Mapping[str, Choice]
    held_out: Mapping[str, Agreement]
    labelled: int

    def as_json(self) -> dict[str, Any]:
        """All figures as plain data."""
        return {
            "labelled": self.labelled,
            "base": asdict(self.base),
            "measured": [asdict(one) for one in self.measured],
            "choices": {judge: _told(choice) for judge, choice in self.choices.items()},
            "held_out": {judge: asdict(found) for judge, found in self.held_out.items()},
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
    measured = tuple(
        Measured(
            judge, template, agreement(truth, column), agreement(truth, strict(truth, column)).macro_f1,
            choices[judge].best == template,
        )
        for (judge, template), column in kept.items()
    )  # fmt: skip
    held_out = {judge: agreement(truth, choice.held_out) for judge, choice in choices.items()}
    return Selected(agreement(truth, ["yes"] * len(truth)), measured, choices, held_out, len(rows))


def _told(choice: Choice) -> dict[str, Any]:
    lead = {"difference": choice.lead.difference, "interval": choice.lead.interval, "sure": choice.lead.sure}
    return {"template": choice.best, "runner_up": choice.runner_up, "lead": lead, "won_folds": dict(choice.won)}
