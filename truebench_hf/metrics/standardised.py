"""Pass rates of groups as if all had the same mix of kinds: languages that do not share their categories, say.

Direct standardisation. In TRUEBench's paper Reasoning is there in Korean and English only (Table 4), so that their plain
rates are over other tasks than those of the ten other languages (Table 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from truebench_hf.metrics.intervals import wilson_at
from truebench_hf.types import Score


@dataclass(frozen=True)
class Mix:
    """The weight (adding up to 1) of every kind that all groups have, and the groups that had each of the others."""

    weights: Mapping[str, float]
    dropped: Mapping[str, tuple[str, ...]]


def common_mix(counts: Mapping[tuple[str, str], int]) -> Mix:
    """The mix of kinds, over all groups together, of those that every group has; `counts` is by (group, kind)."""
    held = {pair for pair, count in counts.items() if count}
    groups = list(dict.fromkeys(group for group, _ in counts if any(group == one for one, _ in held)))
    kinds = list(dict.fromkeys(kind for _, kind in counts))
    having = {kind: tuple(group for group in groups if (group, kind) in held) for kind in kinds}
    shared = {kind: sum(counts.get((g, kind), 0) for g in groups) for kind in kinds if having[kind] == tuple(groups)}
    total = sum(shared.values())
    weights = {kind: count / total for kind, count in shared.items()} if total else {}
    return Mix(weights, {kind: having[kind] for kind in kinds if kind not in weights and having[kind]})


def standardised(passed: Mapping[str, Sequence[float | None]], mix: Mapping[str, float]) -> Score:
    """The pass rate of a group whose instances (by kind) are weighed to have this mix; None is undecided, and
    of one with several samples the share that passes counts.

    Without a decided instance of a kind in the mix there is no value. The interval is Wilson's at Kish's effective n
    (1965): the weights make few instances of a kind count for many.
    """
    decided = {kind: [value for value in passed.get(kind, ()) if value is not None] for kind in mix}
    n = sum(map(len, decided.values()))
    unscored = sum(len(passed.get(kind, ())) for kind in mix) - n
    if not mix or not all(decided.values()):
        return Score(None, n, unscored)
    share = sum(weight * sum(decided[kind]) / len(decided[kind]) for kind, weight in mix.items())
    effective = 1 / sum(weight**2 / len(decided[kind]) for kind, weight in mix.items())
    share = min(1.0, max(0.0, round(share, 12)))
    return Score(share, n, unscored, wilson_at(share, effective, NormalDist().inv_cdf(0.975)))
