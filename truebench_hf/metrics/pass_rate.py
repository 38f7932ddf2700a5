"""When a turn and an instance pass, and the shares made of it (TRUEBench section 3.1, appendix C.2).

Beside them DRFR, the decomposed requirements following ratio (paper 004, section 3.1.2, after InFoBench); the share of
grounded responses (FACTS Grounding, paper 002, sections 3.1 and 3.2); pass rates of groups as if all had the same mix of
kinds (direct standardisation: in TRUEBench's paper Reasoning is there in Korean and English only, Table 4, so that their
plain rates are over other tasks than those of the ten other languages, Table 6); and whether the answers of a judge that cannot be read depend on what is true, which would bias its scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import decide, mean_of, parallel, ratio
from truebench_hf.metrics.intervals import clustered_share, wilson, wilson_at
from truebench_hf.types import Label, Score

Labels = Sequence[Sequence[Label | None]]  # an instance: per turn the label of each criterion
Weights = Sequence[Sequence[float]]  # of the same shape: the points of each criterion


def outcome(label: Label | None, weight: float = 1.0) -> Label | None:
    """The label as it counts: `yes` where the answer is as it should be, which with negative points is a `no`.

    All shares but the weighted one are made of outcomes.
    """
    turned: dict[Label | None, Label] = {"yes": "no", "no": "yes"}
    return turned.get(label, label) if weight < 0 else label


def conjunction(labels: Iterable[Label | None]) -> bool | None:
    """Whether all hold: False once any is `no`, else None while any is undecided, else True.

    `unknown` (not applicable, evidence missing) is undecided here.
    """
    undecided = False
    for label in labels:
        if label == "no":
            return False
        undecided |= label != "yes"
    return None if undecided else True


def instance_passes(turns: Labels) -> bool | None:
    """Whether every criterion of every turn passes; None is unscored. An instance without criteria is unscored."""
    flat = [label for turn in turns for label in turn]
    return conjunction(flat) if flat else None


def official_passes(turns: Labels) -> bool:
    """The official rule on the same verdicts: a turn passes when it has labels and none of those given is FAIL."""
    return bool(turns) and all(any(turn) and "no" not in turn for turn in turns)


def pass_rate(passed: Sequence[bool | None]) -> Score:
    """Share of scored instances that pass, with a Wilson interval; unscored ones are left out."""
    scored = [value for value in passed if value is not None]
    n = len(scored)
    return Score(ratio(sum(scored), n), n, len(passed) - n, wilson(sum(scored), n))


def criterion_share(turns: Labels) -> float | None:
    """The share (0 to 1) of the criteria of one instance that pass (soft by criterion, appendix C.2): see `checklist_share`."""
    return checklist_share([label for turn in turns for label in turn])


def checklist_share(outcomes: Sequence[Label | None]) -> float | None:
    """The share (0 to 1) of the criteria on one response that pass (paper 004, section 3.1.2: the checklist pass rate).

    Points count for nothing here. None without criteria, and while one is undecided.
    """
    return mean_of(*({"yes": 1, "no": 0}.get(label or "") for label in outcomes))


def turn_share(turns: Labels) -> float | None:
    """The share (0 to 1) of the turns with criteria that pass (soft by turn, appendix C.2); None while one is undecided."""
    return mean_of(*(conjunction(turn) for turn in turns if turn))


def points_share(labels: Labels, weights: Weights) -> float | None:
    """The `weighted_share` of one instance, turn by turn."""
    return weighted_share([x for turn in labels for x in turn], [x for turn in weights for x in turn])


def weighted_share(labels: Sequence[Label | None], weights: Sequence[float]) -> float | None:
    """Points of the criteria that are met over all positive points, between 0 and 1 (as HealthBench scores).

    None without positive points, and where undecided criteria could still move the share: what is met already, with
    all of them against it, must come to the same as with all of them for it.
    """
    most = sum(weight for weight in weights if weight > 0)
    if not most:
        return None
    pairs = list(zip(labels, weights, strict=True))
    met = sum(weight for label, weight in pairs if label == "yes")
    open_points = [weight for label, weight in pairs if label not in ("yes", "no")]
    worst = met + sum(weight for weight in open_points if weight < 0)
    best = met + sum(weight for weight in open_points if weight > 0)
    low, high = (min(max(points / most, 0.0), 1.0) for points in (worst, best))
    return low if low == high else None


def mean_share(shares: Sequence[float | None]) -> Score:
    """The mean of shares (0 to 1), one an instance, with its interval; undecided ones are left out."""
    known = [share for share in shares if share is not None]
    return Score(mean_of(*known), len(known), len(shares) - len(known), clustered_share(known, [1.0] * len(known)))


def clustered_rate(values: Sequence[float | None], clusters: Sequence[Hashable]) -> Score:
    """The mean of values (0 to 1; True and False are 1 and 0) with an interval that takes rows of a cluster together.

    None is unscored. Raises `UserError` for columns of unequal length.
    """
    parallel(values=values, clusters=clusters)
    sums: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        if value is not None:
            row = sums.setdefault(cluster, [0.0, 0.0])
            row[0] += value
            row[1] += 1
    passed, of = ([row[side] for row in sums.values()] for side in (0, 1))
    n = int(sum(of))
    return Score(ratio(sum(passed), n), n, len(values) - n, clustered_share(passed, of))


def drfr(checklists: Sequence[Sequence[str | None]]) -> Score:
    """DRFR of checklists of "yes"/"no" answers: passed of all decided criteria; None or "unknown" is undecided.

    Every criterion weighs the same, so long checklists weigh more than in the mean of pass rates. The interval takes the
    checklists as its clusters. Raises `UserError` for other labels.
    """
    answers = [(decide(label), place) for place, checklist in enumerate(checklists) for label in checklist]
    return clustered_rate([answer for answer, _ in answers], [place for _, place in answers])


@dataclass(frozen=True)
class GroundingRates:
    """Shares in 0..1, each the mean over the judges of a judge's share; None where a judge decided nothing.

    `unadjusted` ignores eligibility; in `final` an ineligible response is inaccurate for every judge. `by_judge` holds
    each judge's (unadjusted, final). Of the `n` responses `ineligible` are disqualified; `undecided` counts single
    verdicts on grounding that are missing, which are left out of that judge's share.
    """

    unadjusted: float | None
    final: float | None
    by_judge: tuple[tuple[float | None, float | None], ...]
    n: int
    ineligible: int
    undecided: int


def disqualified(eligible: Sequence[str | None]) -> bool:
    """Whether the judges' labels on the eligibility of one response disqualify it: there are some, and all are "no".

    An undecided judge disqualifies nothing (paper 002, section 3.2: by consensus of all judges).
    """
    return bool(eligible) and all(decide(label) is False for label in eligible)


def grounding(
    grounded: Sequence[Sequence[str | None]], eligible: Sequence[Sequence[str | None]] | None = None
) -> GroundingRates:
    """Both scores from "yes"/"no" verdicts: one row per response, in it one label per judge; None is undecided.

    `eligible` has the judges' labels on eligibility, of which `disqualified` makes what becomes of the response. None:
    every response is eligible. Raises `UserError` for other labels and for rows of unequal length.
    """
    rows = [[decide(label) for label in row] for row in grounded]
    judges = {len(row) for row in rows}
    if len(judges) > 1:
        raise UserError(f"every response needs one grounding verdict per judge; rows have {sorted(judges)} of them")
    votes: Sequence[Sequence[str | None]] = eligible if eligible is not None else [[] for _ in rows]
    parallel(grounded=rows, eligible=votes)
    out = list(map(disqualified, votes))
    adjusted = [[False if gone else verdict for verdict in row] for row, gone in zip(rows, out, strict=True)]
    before, after = (
        [mean_of(*(verdict for verdict in column if verdict is not None)) for column in zip(*verdicts, strict=True)]
        for verdicts in (rows, adjusted)
    )
    return GroundingRates(
        unadjusted=mean_of(*before),
        final=mean_of(*after),
        by_judge=tuple(zip(before, after, strict=True)),
        n=len(rows),
        ineligible=sum(out),
        undecided=sum(verdict is None for row in rows for verdict in row),
    )


@dataclass(frozen=True)
class Mix:
    """The weight (adding up to 1) of every kind that all groups have, and the groups that had each of the others."""

    weights: Mapping[str, float]
    dropped: Mapping[str, tuple[str, ...]]


def common_mix(counts: Mapping[tuple[str, str], int]) -> Mix:
    """The mix of kinds, over all groups together, of those that every group has; `counts` is by (group, kind)."""
    held = {pair for pair, count in counts.items() if count}
    groups = list(dict.fromkeys(group for group, _ in counts if any(group == name for name, _ in held)))
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


@dataclass(frozen=True, slots=True)
class Refusals:
    """The share of refused answers among rows whose gold label is yes, and among those where it is no.

    `p_value` is Fisher's exact test, two-sided, of whether the two differ, rows taken one by one; None where a label
    does not occur.
    """

    yes: Score
    no: Score
    p_value: float | None


def refusals_by_gold(gold: Sequence[str | None], refused: Sequence[bool]) -> Refusals:
    """The shares of refused rows by gold label; parallel columns, rows without a gold label are left out."""
    parallel(gold=gold, refused=refused)
    yes, no = (
        [row for label, row in zip(gold, refused, strict=True) if decide(label) is kind] for kind in (True, False)
    )
    p_value = 1.0 if yes and no else None
    if yes and no and any((*yes, *no)):
        from scipy.stats import fisher_exact  # slow to import, and seldom needed

        p_value = float(fisher_exact([[sum(side), len(side) - sum(side)] for side in (yes, no)]).pvalue)
    return Refusals(pass_rate(yes), pass_rate(no), p_value)
