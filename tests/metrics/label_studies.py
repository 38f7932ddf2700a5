"""Simulated: how often the interval of a run corrected by 200 labels holds the truth, and how long it is.

2,000 instances are judged and 200 of them labelled, drawn as `truebench label out` does; lengths are against Wilson on
a simple random sample of as many labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb

import numpy as np

from truebench_hf.metrics.double_sampling import (
    Estimate,
    Stratum,
    allocate,
    combined,
    double_sampling,
)
from truebench_hf.metrics.intervals import effective_interval

RATES = (0.2, 0.5, 0.8, 0.95)
JUDGES = ((0.9, 0.85), (0.7, 0.6), (0.55, 0.5))  # sensitivity, specificity
STUDIES, JUDGED, LABELLED = 2000, 2000, 200


@dataclass(frozen=True)
class Cell:
    """What came of the studies of one kind; `length` is against that of the labels alone."""

    rate: float
    judge: tuple[float, float]
    coverage: float
    length: float


class Tally:
    """Counts what intervals hold."""

    def __init__(self, rate: float, labels: int, seed: int) -> None:
        self.rate, self.labels, self.random = rate, labels, np.random.default_rng(seed)
        self.studies, self.held, self.length = 0, 0, 0.0

    def add(self, estimate: Estimate) -> None:
        """Add one study."""
        assert estimate.ci95 is not None
        low, high = estimate.ci95
        self.studies += 1
        self.held += low <= self.rate <= high
        self.length += high - low

    def cell(self, judge: tuple[float, float]) -> Cell:
        """The figures of all studies added."""
        n, p = self.labels, self.rate
        chances = [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        ends = [effective_interval(k / n, n) for k in range(n + 1)]
        alone = sum(c * (high - low) for c, (low, high) in zip(chances, ends, strict=True))
        return Cell(p, judge, self.held / self.studies, self.length / self.studies / alone)


def by_verdict(undecided: float = 0.0, studies: int = STUDIES, seed: int = 7) -> Iterator[Cell]:
    """A judge that says yes or no, or leaves a share of the instances open: the strata are drawn as counts."""
    for s, c in JUDGES:
        for rate in RATES:
            seed += 1
            tally = Tally(rate, LABELLED, seed)
            said = 1 - undecided
            shares = [rate * s * said, (1 - rate) * (1 - c) * said, rate * (1 - s) * said, (1 - rate) * c * said]
            shares += [rate * undecided, (1 - rate) * undecided]
            for counts in tally.random.multinomial(JUDGED, shares, size=studies).tolist():
                pairs = zip(("pass", "fail", "undecided"), counts[::2], counts[1::2], strict=True)
                cells = {name: (good, bad) for name, good, bad in pairs if good + bad}
                drawn = allocate({name: good + bad for name, (good, bad) in cells.items()}, LABELLED)
                true = {name: tally.random.hypergeometric(*cells[name], drawn[name]) for name in cells}
                tally.add(combined([
                    Stratum(name, sum(cells[name]), drawn[name], true[name] / drawn[name], drawn[name]) for name in cells
                ]))  # fmt: skip
            yield tally.cell((s, c))


def by_instance(studies: int = 1000, seed: int = 7) -> Iterator[Cell]:
    """Instances of three criteria, each met by chance and judged apart: one no fails, a criterion may be left open."""
    for s, c in JUDGES:
        for rate in RATES:
            seed += 1
            tally = Tally(rate, LABELLED, seed)
            for _ in range(studies):
                met = tally.random.random((JUDGED, 3)) < rate ** (1 / 3)
                said = np.where(met, tally.random.random(met.shape) < s, tally.random.random(met.shape) >= c)
                open_ = tally.random.random(met.shape) < 0.02
                fails = (~said & ~open_).any(axis=1)
                verdicts = np.where(fails, "fail", np.where(open_.any(axis=1), "undecided", "pass"))
                tally.add(
                    double_sampling(verdicts.tolist(), labelled(tally.random, verdicts, met.all(axis=1))).estimate
                )
            yield tally.cell((s, c))


def by_criterion(instances: int, studies: int = 1000, seed: int = 7) -> Iterator[Cell]:
    """The share of criteria from whole instances of five criteria that pass or fail together, half of them labelled."""
    for s, c in JUDGES:
        for rate in RATES:
            seed += 1
            tally = Tally(rate, instances * 5, seed)
            groups = [i // 5 for i in range(instances * 10)]
            for _ in range(studies):
                level = tally.random.beta(4 * rate, 4 * (1 - rate), instances * 2)  # correlation 0.2 within an instance
                met = tally.random.random(instances * 10) < np.repeat(level, 5)
                said = np.where(met, tally.random.random(met.size) < s, tally.random.random(met.size) >= c)
                gold = np.where(met, "yes", "no").astype(object)
                gold[instances * 5 :] = None
                found = double_sampling(np.where(said, "pass", "fail").tolist(), gold.tolist(), groups=groups)
                if found.estimate.withheld is None:
                    tally.add(found.estimate)
            yield tally.cell((s, c))


def by_checklist(instances: int, labelled: int, studies: int = 1000, seed: int = 7) -> Iterator[Cell]:
    """The share of criteria where checklists differ much in length (geometric, four on average) and pass as a whole
    more often than not (correlation 0.6); `labelled` of the instances have labels."""
    for s, c in JUDGES:
        for rate in RATES:
            seed += 1
            tally = Tally(rate, labelled, seed)
            for _ in range(studies):
                sizes = tally.random.geometric(0.25, instances)
                level = tally.random.beta(rate * 2 / 3, (1 - rate) * 2 / 3, instances)
                groups = np.repeat(np.arange(instances), sizes)
                met = tally.random.random(groups.size) < level[groups]
                said = np.where(met, tally.random.random(met.size) < s, tally.random.random(met.size) >= c)
                gold = np.where(met, "yes", "no").astype(object)
                gold[groups >= labelled] = None
                verdicts = np.where(said, "pass", "fail").tolist()
                found = double_sampling(verdicts, gold.tolist(), groups=groups.tolist())
                if found.estimate.withheld is None:
                    tally.add(found.estimate)
            yield tally.cell((s, c))


def labelled(random: np.random.Generator, verdicts: np.ndarray, truth: np.ndarray) -> list[str | None]:
    """The labels of a sample drawn as `truebench label out` draws it, None for the rest."""
    names, sizes = np.unique(verdicts, return_counts=True)
    gold: list[str | None] = [None] * len(verdicts)
    for name, n in allocate(dict(zip(names.tolist(), sizes.tolist(), strict=True)), LABELLED).items():
        for place in random.permutation(np.flatnonzero(verdicts == name))[:n].tolist():
            gold[place] = "yes" if truth[place] else "no"
    return gold
