"""Simulated: how often intervals hold the truth, and how often they tell apart what is alike."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta

from tests.metrics import label_studies as study
from tests.metrics.test_agreement import judged, labels
from tests.metrics.test_ranks import over, own_and_others, ranked
from tests.metrics.test_reliability import F, T, ahead, alpha_ends, grades, panel, worth
from truebench_hf.metrics.agreement import measure_difference
from truebench_hf.metrics.choosing import halved_kappa
from truebench_hf.metrics.comparison import clustered_difference
from truebench_hf.metrics.intervals import clustered_mean, resampled_ratio
from truebench_hf.metrics.kappa import krippendorff_alpha
from truebench_hf.metrics.pass_rate import joint_mean
from truebench_hf.metrics.preference import pairwise_agreement
from truebench_hf.metrics.ranks import rank_agreement

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error")]

# What a simulation yields: an interval, or None where there is none, and the truth it should hold.
Draws = Iterator[tuple[tuple[float, float] | None, float]]


def difference_of_judges(clusters: int, errors: tuple[float, float], measure: str) -> Draws:
    """Rows of a cluster (1 to 6) are easy or hard together."""

    def draw(rng: random.Random, count: int) -> Any:
        rows = []
        for cluster in range(count):
            hard = rng.choice((0.0, 2.0))
            for _ in range(rng.randint(1, 6)):
                (gold,) = labels(rng, 1, 0.6)
                rows.append((gold, *(judged([gold], rng, hard * error)[0] for error in errors), cluster))
        return measure_difference(*map(list, zip(*rows, strict=True)), measure=measure)

    truth, rng = draw(random.Random(0), 60_000).value, random.Random(5)
    for _ in range(1000):
        yield draw(rng, clusters).ci95, truth


def difference_of_systems(first: float, second: float, clusters: int) -> Draws:
    """Clusters of 1 to 8 rows, each with shares of its own."""
    draw = random.Random(0)
    for _ in range(300):
        columns: tuple[list[bool], list[bool], list[int]] = ([], [], [])
        for cluster in range(clusters):
            shares = [draw.betavariate(3 * share, 3 * (1 - share)) for share in (first, second)]
            for _ in range(draw.randint(1, 8)):
                for column, share in zip(columns, shares, strict=False):
                    column.append(draw.random() < share)
                columns[2].append(cluster)
        yield clustered_difference(*columns).ci95, first - second


def halved_thresholds() -> Draws:
    """30 instances by 5 responses, as in the paper: what the thresholds found are worth on endless new instances."""
    from sklearn.metrics import cohen_kappa_score

    draw = np.random.default_rng(7)

    def sample(count: int) -> tuple[np.ndarray, np.ndarray]:
        value = draw.normal(0, 1, (count, 1)) + draw.normal(0, 1, (count, 5))
        return np.clip(np.round(6 + 2 * value + draw.normal(0, 2, (count, 5))), 1, 10), value > 0

    scores, truth = sample(6000)
    for _ in range(150):
        drawn, passed = sample(30)
        names = np.where(passed.ravel(), T, F).tolist()
        halves = halved_kappa(drawn.ravel().tolist(), names, np.repeat(np.arange(30), 5).tolist(), set(range(15)))
        values = [cohen_kappa_score(scores.ravel() >= half.threshold, truth.ravel()) for half in halves]
        yield joint_mean([half.kappa for half in halves]).ci95, sum(values) / 2


def rank_correlation(n: int, r: float, kind: str) -> Draws:
    rng = np.random.default_rng(7)
    truth = {"spearman": 6 / math.pi * math.asin(r / 2), "kendall": 2 / math.pi * math.asin(r)}[kind]  # normal scores
    for _ in range(200):
        x, noise = rng.normal(size=(2, n))
        yield rank_agreement(x.tolist(), (r * x + math.sqrt(1 - r * r) * noise).tolist())[kind].ci95, truth


def ratio_over_conversations(clusters: int, share: float) -> Draws:
    """Up to eight branches a conversation, whose shares vary between conversations."""
    draw = np.random.default_rng(clusters)
    for _ in range(400):
        sizes = draw.integers(0, 9, clusters)
        right = draw.binomial(sizes, draw.beta(4 * share, 4 * (1 - share), clusters))
        yield resampled_ratio(list(map(float, right)), list(map(float, sizes))), share


def alpha() -> Draws:
    """40 responses by three annotators."""
    truth = krippendorff_alpha(grades(40_000, 0.6, 0), "ordinal").value
    for seed in range(1, 201):
        yield alpha_ends(grades(40, 0.6, seed)), truth


def preference_distance(weights: tuple[float, float, float]) -> Draws:
    rng = random.Random(3)
    for _ in range(400):
        predicted = rng.choices(["win", "tie", "loss"], weights, k=60)
        yield pairwise_agreement(["win"] * 60, predicted)["wpld"].ci95, weights[1] + 2 * weights[2]


def preference_of_its_own() -> Draws:
    truth = over(own_and_others(0.2, 40_000, seed=7)).preference
    for seed in range(150):
        yield over(own_and_others(0.2, 100, seed=seed)).ci95, truth


def places_of_models() -> Draws:
    """Of models whose true order is known the span holds the true place in nearly all samples."""
    rng, chances = np.random.default_rng(3), np.array([0.75, 0.7, 0.6, 0.55, 0.4, 0.35])
    for _ in range(500):
        logits = np.log(chances / (1 - chances))[:, None] + rng.normal(0, 1, 300)
        passed = rng.random((6, 300)) < 1 / (1 + np.exp(-logits))
        spans = ranked({str(number): row.tolist() for number, row in enumerate(passed)})
        yield from (((spans[str(n)].first, spans[str(n)].last), n + 1) for n in range(6))


@pytest.mark.parametrize(
    ("simulated", "least", "most"),
    [
        (partial(difference_of_judges, 12, (0.1, 0.3), "macro_f1"), 0.91, 1),
        (partial(difference_of_judges, 100, (0.02, 0.05), "accuracy"), 0.93, 1),
        (partial(difference_of_systems, 0.6, 0.3, 20), 0.92, 1),
        (partial(difference_of_systems, 0.95, 0.05, 10), 0.92, 1),
        (partial(difference_of_systems, 0.6, 0.3, 50), 0.92, 1),
        (halved_thresholds, 0.92, 1),
        *((partial(rank_correlation, n, r, kind), 0.91, 1)
          for n in (10, 31) for r in (0.5, 0.95) for kind in ("spearman", "kendall")),
        (partial(ratio_over_conversations, 12, 0.8), 0.92, 1),
        (partial(ratio_over_conversations, 50, 0.95), 0.92, 1),
        (alpha, 0.87, 0.98),
        (partial(preference_distance, (0.5, 0.45, 0.05)), 0.92, 1),
        (partial(preference_distance, (0.9, 0.05, 0.05)), 0.92, 1),
        (preference_of_its_own, 0.9, 0.99),
        (places_of_models, 0.97, 1),
    ],
)  # fmt: skip
def test_intervals_cover_the_truth(simulated: Callable[[], Draws], least: float, most: float) -> None:
    held = [ends[0] <= truth <= ends[1] for ends, truth in simulated() if ends is not None]
    assert len(held) >= 100
    assert least <= sum(held) / len(held) <= most


@pytest.mark.parametrize(
    ("rows", "share", "measure"), [(36, 0.5, "macro_f1"), (100, 0.85, "balanced_accuracy"), (406, 0.85, "macro_f1")]
)
def test_equally_good_judges_are_seldom_told_apart(rows: int, share: float, measure: str) -> None:
    """Judges whose errors partly coincide: at most 2.5 % may seem surely better (one side)."""
    sure, rng, repeats = 0, random.Random(3), 1500
    for _ in range(repeats):
        gold = labels(rng, rows, share)
        base = judged(gold, rng, 0.15)
        first, second = judged(base, rng, 0.08), judged(base, rng, 0.08)
        sure += measure_difference(gold, first, second, range(rows), measure=measure).ahead > 0
    assert sure / repeats <= 0.035


@pytest.mark.parametrize(("clusters", "size"), [(12, 6), (40, 4)])
def test_intervals_of_panels_cover_the_gain_and_the_votes(clusters: int, size: int) -> None:
    def draw(count: int, seed: int) -> Any:
        generator = np.random.default_rng(seed)
        place = np.repeat(np.arange(count), size)
        common = np.where(
            generator.random(len(place)) < 0.4, generator.random(count)[place], generator.random(len(place))
        )
        errors = [
            np.where(generator.random(len(place)) < 0.6, common, generator.random(len(place))) < rate
            for rate in (0.2, 0.25, 0.3)
        ]
        return worth(panel(np.array(errors).T, generator.random(len(place)) < 0.5, place))

    truth = draw(4000, 0)
    panels = [draw(clusters, seed) for seed in range(1, 201)]
    gains = [drawn.gain.ci95[0] <= truth.gain.value <= drawn.gain.ci95[1] for drawn in panels]
    votes = [drawn.votes.ci95[0] <= truth.votes.value <= drawn.votes.ci95[1] for drawn in panels]
    assert sum(gains) / 200 > 0.93
    assert sum(votes) / 200 > 0.87
    assert sum(ahead(drawn.gain) > 0 for drawn in panels) / 200 < 0.04, "the best judge is better here"


@pytest.mark.parametrize(
    ("simulated", "longest", "most"),
    [
        (partial(study.by_verdict, 0.0), 1.02, 0.975),
        (partial(study.by_verdict, 0.05), 1.02, 0.975),
        (study.by_instance, 1.02, 0.975),
        *((partial(study.by_criterion, instances), math.inf, 1.0) for instances in (10, 12, 20, 40)),
        *((partial(study.by_checklist, 36, labelled), math.inf, 1.0) for labelled in (12, 36)),
    ],
)
def test_estimates_from_few_labels_cover(simulated: Callable[[], Any], longest: float, most: float) -> None:
    """`longest`: as the labels of a simple random sample would give."""
    cells = list(simulated())
    assert len(cells) == 12
    assert [cell for cell in cells if not 0.93 <= cell.coverage <= most or cell.length > longest] == []


# Shares over clusters, however large those are and however their rows go together

CLUSTERS, SHARES, CORRELATIONS = (10, 20, 40), (0.5, 0.8, 0.95), (0.0, 0.3, 1.0)
REPEATS = 2000
Drawn = tuple[Any, Any]  # what passed, and of how many: arrays of shape (repeats, clusters, strata, shares)
# How many rows a cluster has: checklists of 1 to 8 criteria, and skewed sizes, where a few clusters hold most rows.
SIZES: dict[str, Callable[[Any, Any], Any]] = {
    "1 to 8": lambda generator, shape: generator.integers(1, 9, shape),
    "geometric, mean 3": lambda generator, shape: generator.geometric(0.3, shape),
    "geometric, mean 7": lambda generator, shape: generator.geometric(0.15, shape),
    "Pareto": lambda generator, shape: np.minimum(np.ceil(2 * generator.pareto(1.2, shape)) + 1, 200).astype(int),
}


def chances(share: float, correlation: float, lots: Any) -> Any:
    """How likely a row of each cluster is right: beta distributed, so that rows of one cluster correlate."""
    if correlation == 0:
        return np.full_like(lots, share)
    if correlation == 1:
        return (lots < share).astype(float)
    return beta.ppf(lots, share * (1 / correlation - 1), (1 - share) * (1 / correlation - 1))


def criteria(
    generator: Any, clusters: int, share: float, rho: float, *, sizes: str = "1 to 8", soft: bool = False
) -> Drawn:
    """Checklists of so many criteria; `soft` takes the mean of their shares in place of the ratio of sums."""
    shape = (REPEATS, clusters, 1, 1)
    of = SIZES[sizes](generator, shape)
    passed = generator.binomial(of, chances(share, rho, generator.random(shape)))
    return (passed / of, np.ones(shape)) if soft else (passed, of)


def rubrics(
    generator: Any, clusters: int, share: float, rho: float, *, sizes: str = "1 to 8", strata: int = 1, mode: str = ""
) -> Drawn:
    """Rubrics of instructions, so many each, by category: the right ones, or by class (`mode`: how those correlate)."""
    nested = np.arange(clusters)[:, None] % strata == np.arange(strata)
    rows = SIZES[sizes](generator, (REPEATS, clusters, strata)) * nested
    lots = generator.random(rows.shape)
    right = chances(share, rho, lots)
    if not mode:
        return generator.binomial(rows, right)[..., None], rows[..., None]
    yes = generator.binomial(rows, 0.6)
    others = {"alike": lots, "free": generator.random(rows.shape), "against": 1 - lots}[mode]
    of = np.stack([yes, rows - yes], axis=-1)
    passed = generator.binomial(of, np.stack([right, chances(share, rho, others)], axis=-1))
    defined = (of.sum(axis=1) > 0).all(axis=(1, 2))
    return passed[defined], of[defined]


KINDS: dict[str, Callable[..., Drawn]] = {
    **{f"DRFR, {name} criteria": partial(criteria, sizes=name) for name in SIZES},
    "soft score": partial(criteria, soft=True),
    "balanced accuracy": partial(rubrics, mode="alike"),
    "balanced accuracy, classes apart": partial(rubrics, mode="free"),
    "balanced accuracy, lenient or strict": partial(rubrics, mode="against"),
    "balanced accuracy, geometric, mean 7": partial(rubrics, sizes="geometric, mean 7", mode="alike"),
    "accuracy, mean of 4 categories": partial(rubrics, strata=4),
    "accuracy, mean of 4 categories, geometric, mean 7": partial(rubrics, sizes="geometric, mean 7", strata=4),
    "balanced accuracy, mean of 4 categories": partial(rubrics, strata=4, mode="alike"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_over_clusters_cover_from_ten_on(kind: str) -> None:
    """One that is not given is not counted: with four categories in ten clusters a class may have rows in only one."""
    generator = np.random.default_rng(20)
    for clusters in CLUSTERS:
        for share in SHARES:
            for rho in CORRELATIONS:
                drawn = zip(*KINDS[kind](generator, clusters, share, rho), strict=True)
                ends = [pair for pair in (clustered_mean(passed, of) for passed, of in drawn) if pair is not None]
                held = np.mean([low <= share <= high for low, high in ends])
                assert held >= 0.93, (clusters, share, rho)
