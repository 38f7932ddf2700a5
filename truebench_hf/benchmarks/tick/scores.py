"""From judged checklists to scores: pass rates and DRFR by model, and models against each other (paper 004, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.data.judged import Judged, sample_name
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.repeated import mean, over_instances, summary
from truebench_hf.types import Label, Score

SCORES = {"pass_rate": "Pass rate", "drfr": "DRFR", "all_met": "All met"}
Labels = list[Label | None]


@dataclass(frozen=True, slots=True)
class Graded:
    """An instruction, its checklist, and what was judged of each model's responses; nothing without a checklist."""

    listed: Listed
    judged: Mapping[str, Sequence[Judged]]

    def labels(self, model: str) -> Labels:
        """The answers to the questions on a model's responses; [] where there are none."""
        return [label for found in self.judged.get(model, ()) for label in _labels(found)]

    def share(self, model: str) -> float | None:
        """The pass rate of a model's responses, their mean: see `_share`. None where none has any."""
        return mean([_share(found) for found in self.judged.get(model, ())])

    def met(self, model: str) -> list[bool | None]:
        """Whether all questions are answered YES, response by response."""
        return [rates.instance_passes([_labels(found)]) for found in self.judged.get(model, ())]

    def unscored(self, model: str) -> list[tuple[str, str]]:
        """(which response, why) of each that has no pass rate; without any response one entry says why."""
        if model in self.judged:
            every = self.judged[model]
            beside = any(found.response.sample > 1 for found in every)
            named = [(sample_name(*found.key, beside=beside), found) for found in every]
            return [(name, found.undecided) for name, found in named if _share(found) is None]
        return [
            (self.listed.instance.id, "no response" if self.listed.criteria else f"no checklist: {self.listed.problem}")
        ]


def _labels(found: Judged) -> Labels:
    return [label for turn in found.outcomes for label in turn]


def _share(found: Judged) -> float | None:
    """The pass rate of a response: the share (0..1) of questions answered YES; None while one is not answered."""
    return rates.checklist_share(_labels(found))


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
    responses with every question answered YES. Of several responses to an instruction the mean counts as one.
    """
    return {
        "pass_rate": {model: _mean_share(graded, model) for model in models},
        "drfr": {model: drfr([one.labels(model) for one in graded]) for model in models},
        "all_met": {model: over_instances([one.met(model) for one in graded]) for model in models},
    }


def repeated(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """By model what several responses to an instruction tell of `all_met`; {} where there is one each."""
    found = {model: summary([one.met(model) for one in graded]) for model in models}
    return {model: scores for model, scores in found.items() if scores}


def _mean_share(graded: Sequence[Graded], model: str) -> Score:
    """The mean pass rate over instructions; a response with an unanswered question is left out."""
    return rates.mean_share([one.share(model) for one in graded])


def by_category(graded: Sequence[Graded], models: Sequence[str]) -> dict[str, dict[str, Score]]:
    """The mean pass rate by category and model, where the data names categories."""
    names = sorted({one.listed.instance.category for one in graded} - {""})
    return {name: {model: _in(graded, name, model) for model in models} for name in names}


def _in(graded: Sequence[Graded], category: str, model: str) -> Score:
    return _mean_share([one for one in graded if one.listed.instance.category == category], model)


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
    return [{"id": id, "model": name, "reason": why} for one, name in asked for id, why in one.unscored(name or "")]
