"""From judged checklists to scores: pass rates and DRFR by model, and models against each other (paper 004, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.drfr import drfr
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.records import Judged
from truebench_hf.types import Label, Score

SCORES = {"pass_rate": "Pass rate", "drfr": "DRFR", "all_met": "All met"}
Labels = list[Label | None]


@dataclass(frozen=True, slots=True)
class Graded:
    """An instruction, its checklist, and what was judged of each model's response; nothing without a checklist."""

    listed: Listed
    judged: Mapping[str, Judged]

    def labels(self, model: str) -> Labels:
        """The answers to the questions on a model's response; [] where there are none."""
        found = self.judged.get(model)
        return [label for turn in found.outcomes for label in turn] if found else []

    def share(self, model: str) -> float | None:
        """The pass rate of a response: the share (0..1) of questions answered YES; None while one is not answered."""
        return rates.checklist_share(self.labels(model))

    def unscored(self, model: str) -> str:
        """Why a response has no pass rate, "" where it has one."""
        if self.share(model) is not None:
            return ""
        if not self.listed.criteria:
            return f"no checklist: {self.listed.problem}"
        return self.judged[model].undecided if model in self.judged else "no response"


@dataclass(frozen=True)
class Pair:
    """Two models by the pass rates of their responses to the same instructions.

    `win`, `tie` and `loss` are the first model's, shares of the instructions on which both are scored;
    `difference` is that of the mean pass rates (0..1).
    """

    first: str
    second: str
    win: Score
    tie: Score
    loss: Score
    difference: PairedDifference


def by_model(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """Each of `SCORES` by model, intervals with instructions as clusters.

    `pass_rate` is the mean of the responses' (macro), `drfr` the share of all questions (micro), `all_met` the share of
    responses with every question answered YES.
    """
    labels = {model: [one.labels(model) for one in graded] for model in models}
    return {
        "pass_rate": {model: mean_pass_rate(found) for model, found in labels.items()},
        "drfr": {model: drfr(found).score for model, found in labels.items()},
        "all_met": {model: rates.pass_rate([rates.instance_passes([one]) for one in found]) for model, found in labels.items()},
    }  # fmt: skip


def mean_pass_rate(labels: Sequence[Labels]) -> Score:
    """The mean pass rate of responses; one with an unanswered question is left out and counted."""
    return rates.soft_criterion([[one] for one in labels])


def by_category(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """The mean pass rate by category and model, where the data names categories."""
    names = sorted({one.listed.instance.category for one in graded} - {""})
    return {name: {model: _in(graded, name, model) for model in models} for name in names}


def _in(graded: Sequence[Graded], category: str, model: str) -> Score:
    return mean_pass_rate([one.labels(model) for one in graded if one.listed.instance.category == category])


def pairs(graded: Sequence[Graded], models: Sequence[str]) -> list[Pair]:
    """Every two models, in their order."""
    shares = {model: [one.share(model) for one in graded] for model in models}
    return [_pair(first, second, shares) for first, second in combinations(models, 2)]


def _pair(first: str, second: str, shares: Mapping[str, Sequence[float | None]]) -> Pair:
    found = [preference_from_scores(a, b) for a, b in zip(shares[first], shares[second], strict=True)]
    win, tie, loss = (
        rates.pass_rate([None if one is None else one == name for one in found]) for name in ("win", "tie", "loss")
    )
    return Pair(first, second, win, tie, loss, paired_difference(shares[first], shares[second]))


def unscored(graded: Sequence[Graded], models: Sequence[str]) -> list[dict[str, Any]]:
    """What has no pass rate, and why: one entry an instruction without a checklist, else one a response."""
    asked = [(one, name) for one in graded for name in (models if one.listed.criteria else [None])]
    found = [(one.listed.instance.id, name, one.unscored(name or "")) for one, name in asked]
    return [{"id": id, "model": name, "reason": why} for id, name, why in found if why]
