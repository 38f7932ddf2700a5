"""What refinement did: transitions, own and outside score per iteration, and what it gained by category (Table 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.tick import summary as checklists
from truebench_hf.benchmarks.tick.outside import Outside, outside_score
from truebench_hf.benchmarks.tick.refine.trace import STATUS, Refined, Version
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.pass_rate import drfr, mean_share
from truebench_hf.metrics.votes import Transitions, broken_share, mended_share
from truebench_hf.types import Score, Usage

ALL = "All instructions"


@dataclass(frozen=True)
class Step:
    """An iteration over all instructions (0: the first answers). `own` and `outside` are of the versions kept after it.

    `status` counts what was tried; of `passing` instructions all questions are YES, so that nothing more is.
    """

    iteration: int
    status: Mapping[str, int]
    passing: int
    turned: Transitions
    mended: Score
    broken: Score
    own: Score | None
    outside: Score | None
    usage: Mapping[str, Usage]


@dataclass(frozen=True)
class Gain:
    """Mean score (0..1) of the first answers and of the kept ones over the instructions that have both.

    `versus` is the difference of the kept ones from the first (0..1), with its `n`, interval and what was left out.
    """

    category: str
    first: float | None
    refined: float | None
    versus: PairedDifference


def steps(done: Sequence[Refined], iterations: int, keep: str, outside: str | None) -> list[Step]:
    """One per iteration, with the first answers as number 0."""
    return [_step(done, number, keep, outside) for number in range(iterations + 1)]


def _step(done: Sequence[Refined], number: int, keep: str, outside: str | None) -> Step:
    tried = [version for one in done if (version := one.attempt(number)) is not None]
    turned = [found for one in done if (found := one.turned(number)) is not None]
    kept = [one.kept(number, keep) for one in done if one.versions]
    by_role: dict[str, Usage] = {}
    for version in tried:
        for role, spent in version.spent.items():
            by_role[role] = by_role.get(role, Usage()) + spent
    counts = Counter(version.status for version in tried)
    if not number:
        counts["failed"] = sum(not one.versions for one in done)
    status = {name: counts[name] for name in STATUS if counts[name]}
    passing = sum(one.at(number).passes for one in done if one.versions)
    listed = any(version.verdicts for version in kept)
    return Step(
        number, status, passing, sum(turned, Transitions()), mended_share(turned), broken_share(turned),
        drfr([version.inside.labels for version in kept]) if listed else None,
        outside_score(outside, _outside(done, number, keep)) if outside else None, by_role,
    )  # fmt: skip


def _outside(done: Sequence[Refined], number: int, keep: str) -> list[Outside]:
    """The outside scores of the versions kept after an iteration, those of instructions without an answer among them."""
    found = [one.kept(number, keep).outside if one.versions else one.unanswered for one in done]
    return [one for one in found if one is not None]


def gains(done: Sequence[Refined], iterations: int, keep: str, outside: str | None) -> list[Gain]:
    """What the kept versions are better by, over all instructions and by category; by the own score without another."""
    categories = sorted({one.instance.category for one in done if one.instance.category})
    groups = {ALL: list(done)} | {name: [o for o in done if o.instance.category == name] for name in categories}
    return [_gain(name, some, iterations, keep, outside) for name, some in groups.items()]


def _gain(name: str, done: Sequence[Refined], iterations: int, keep: str, outside: str | None) -> Gain:
    first = [_share(one, one.versions[0], outside) if one.versions else None for one in done]
    last = [_share(one, one.kept(iterations, keep), outside) if one.versions else None for one in done]
    found = paired_difference(last, first)
    both = [(was, now) for was, now in zip(first, last, strict=True) if was is not None and now is not None]
    before, after = (mean_share([pair[place] for pair in both]).value for place in (0, 1))
    return Gain(name, before, after, found)


def _share(one: Refined, version: Version, outside: str | None) -> float | None:
    if not outside:
        return version.inside.score
    return version.outside.score if version.outside else None


def undecided(one: Refined, iterations: int, keep: str, outside: str | None) -> str:
    """Why there is no score of the version kept in the end; "" where there is one."""
    if not one.versions:
        return one.problem
    kept = one.kept(iterations, keep)
    found = kept.outside if outside else kept.inside if one.listed else None
    failed = [version.detail for version in one.versions if version.status == "failed"]
    return one.problem or (found.reason if found and found.score is None else "") or "; ".join(dict.fromkeys(failed))


def summary(done: Sequence[Refined], iterations: int, keep: str, outside: str | None) -> dict[str, Any]:
    """The content of `scores.json`."""
    open_ = {one.instance.id: why for one in done if (why := undecided(one, iterations, keep, outside))}
    return {
        "instructions": len(done),
        "checklists": checklists.summary([one.listed for one in done if one.listed]),
        "iterations": [asdict(step) for step in steps(done, iterations, keep, outside)],
        "gains": [asdict(gain) for gain in gains(done, iterations, keep, outside)],
        "all_yes": sum(bool(one.versions) and one.versions[-1].passes for one in done),
        "undecided": open_,
        "incomplete": len(open_),
    }
