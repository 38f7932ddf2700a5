"""When a turn and an instance pass, and the shares made of it (TRUEBench section 3.1, appendix C.2).

Beside them DRFR, the decomposed requirements following ratio (paper 004, section 3.1.2, after InFoBench); the share of
grounded responses (FACTS Grounding, paper 002, sections 3.1 and 3.2); whether the answers of a judge that cannot be read
depend on what is true, which would bias its scores; and FlexEval's Coverage and Achievement from given tri-valued
verdicts (paper 001, section 4, equations 4 to 7).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import decide, is_known, mean_of, parallel, ratio
from truebench_hf.metrics.intervals import clustered_share, wilson
from truebench_hf.types import Label, Score

Labels = Sequence[Sequence[Label | None]]  # an instance: per turn the label of each criterion


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


def pass_rate(values: Iterable[float | None]) -> Score:
    """The mean of values (0 to 1), one a unit; None and NaN are unscored.

    Where units pass or fail the interval is Wilson's, else that of `mean_share`.
    """
    units = list(values)
    known = [value for value in units if is_known(value)]
    if not set(known) <= {0, 1}:
        return mean_share(units)
    passed, n = int(sum(known)), len(known)
    return Score(ratio(passed, n), n, len(units) - n, wilson(passed, n))


def mean_share(values: Iterable[float | None]) -> Score:
    """The mean of values (0 to 1), one a unit, with the interval of `clustered_share`, which needs ten of them."""
    units = list(values)
    known = [float(value) for value in units if is_known(value)]
    return Score(mean_of(*known), len(known), len(units) - len(known), clustered_share(known, [1.0] * len(known)))


def pooled(passed: Any, of: Any, undecided: int) -> Score:
    """The share of all decided rows that pass, from both counts by unit; the interval takes units as clusters."""
    n = int(sum(of))
    return Score(ratio(float(sum(passed)), n), n, undecided, clustered_share(passed, of))


def joint_mean(scores: Sequence[Score]) -> Score:
    """The plain mean of scores that rest on independent units (splits, halves), None where one of them has no value.

    Its interval joins theirs (MOVER, Zou and Donner 2008); None where one has none.
    """
    value = mean_of(*(score.value for score in scores))
    n, unscored = sum(score.n for score in scores), sum(score.unscored for score in scores)
    ends = [(score.value, *score.ci95) for score in scores if score.value is not None and score.ci95 is not None]
    if value is None or len(ends) < len(scores):
        return Score(value, n, unscored)
    below, above = (hypot(*(row[0] - row[side] for row in ends)) / len(ends) for side in (1, 2))
    return Score(value, n, unscored, (value - below, value + above))


def clustered_rate(values: Sequence[float | None], clusters: Sequence[Hashable]) -> Score:
    """The mean of values (0 to 1; True and False are 1 and 0) with an interval that takes rows of a cluster together.

    None is unscored. Raises `UserError` for columns of unequal length.
    """
    parallel(values=values, clusters=clusters)
    sums: dict[Hashable, tuple[float, int]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        if value is not None:
            passed, of = sums.get(cluster, (0, 0))
            sums[cluster] = passed + value, of + 1
    shares, counts = zip(*sums.values(), strict=True) if sums else ((), ())
    return pooled(shares, counts, len(values) - sum(counts))


def checklist_share(outcomes: Iterable[Label | None]) -> float | None:
    """The share (0 to 1) of the criteria on one response that pass (paper 004, section 3.1.2: the checklist pass rate).

    Of an instance it is the soft score by criterion of TRUEBench (appendix C.2). Points count for nothing here. None without criteria, and while one is undecided.
    """
    return mean_of(*({"yes": 1, "no": 0}.get(label or "") for label in outcomes))


def turn_share(turns: Labels) -> float | None:
    """The share (0 to 1) of the turns with criteria that pass (soft by turn, appendix C.2); None while one is undecided."""
    return mean_of(*(conjunction(turn) for turn in turns if turn))


def weighted_share(labels: Iterable[Label | None], weights: Iterable[float]) -> float | None:
    """Points of the criteria that are met over all positive points, between 0 and 1 (as HealthBench scores).

    None without positive points, and where undecided criteria could still move the share: what is met already, with
    all of them against it, must come to the same as with all of them for it.
    """
    pairs = list(zip(labels, weights, strict=True))
    most = sum(weight for _, weight in pairs if weight > 0)
    if not most:
        return None
    met = sum(weight for label, weight in pairs if label == "yes")
    open_points = [weight for label, weight in pairs if label not in ("yes", "no")]
    worst = met + sum(weight for weight in open_points if weight < 0)
    best = met + sum(weight for weight in open_points if weight > 0)
    low, high = (min(max(points / most, 0.0), 1.0) for points in (worst, best))
    return low if low == high else None


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


# Verdicts on the dimensions of one conversation; "unknown" says that evidence is missing or a branch does not apply.
Trace = Mapping[str, str | None]
# For each dimension the base action it depends on, b(r); None for one that depends on none, and is a base action itself;
# UNGATED for a branch of a group that has no base action.
Structure = Mapping[str, str | None]

UNGATED = ""
_LABELS = ("yes", "no", "unknown", None)


@dataclass(frozen=True)
class FlexEvalScores:
    """Shares in 0..1, None where nothing counts ("n/a" in the paper).

    `coverage` = `attempted` of the `base_total` judged base actions; `achievement` = `achieved` of the `exercised`
    branches (decided, with their base action attempted). `correct` = `right` of the `decided` verdicts on all
    dimensions, which shows base actions that were done wrongly: ours, the paper has none. `undecided` verdicts were not
    judged and enter nowhere.
    """

    coverage: float | None
    achievement: float | None
    correct: float | None
    attempted: int
    base_total: int
    achieved: int
    exercised: int
    right: int
    decided: int
    undecided: int


def flexeval(traces: Sequence[Trace], structures: Sequence[Structure]) -> FlexEvalScores:
    """Coverage and Achievement over conversations; `structures` is parallel to `traces`.

    Every dimension of a structure needs an entry in its trace: "yes", "no", "unknown", or None for not judged. A
    branch counts only where what it depends on is "yes" or "no". What others depend on is a base action even where it
    is a branch itself: it counts in both. Raises `UserError` for missing or other dimensions, other labels, a base
    that is no dimension, and dimensions that depend on each other in a circle.
    """
    parallel(traces=traces, structures=structures)
    n = Counter[str]()
    for number, (trace, structure) in enumerate(zip(traces, structures, strict=True)):
        if trace.keys() != structure.keys():
            odd = ", ".join(sorted(trace.keys() ^ structure.keys()))
            raise UserError(f"conversation {number}: verdicts and structure differ in the dimensions {odd}")
        for dimension, base in structure.items():
            if trace[dimension] not in _LABELS:
                raise UserError(f"conversation {number}: label {trace[dimension]!r} is not yes, no, unknown or None")
            if base and base not in structure:
                raise UserError(f"conversation {number}: {base!r}, the base of {dimension!r}, is not a dimension")
        if ring := circle(structure):
            raise UserError(f"conversation {number}: {', '.join(ring)} depend on each other in a circle")
        bases = base_actions(structure)
        for dimension, base in structure.items():
            label = trace[dimension]
            known = label in ("yes", "no")
            base_action = dimension in bases
            exercised = known and base is not None and (base == UNGATED or trace[base] in ("yes", "no"))
            flags = {
                "undecided": label is None, "decided": known, "right": label == "yes",
                "base_total": base_action and label is not None, "attempted": base_action and known,
                "exercised": exercised, "achieved": exercised and label == "yes",
            }  # fmt: skip
            for name, flag in flags.items():
                n[name] += flag
    coverage, achievement = ratio(n["attempted"], n["base_total"]), ratio(n["achieved"], n["exercised"])
    return FlexEvalScores(
        coverage, achievement, ratio(n["right"], n["decided"]), n["attempted"], n["base_total"], n["achieved"],
        n["exercised"], n["right"], n["decided"], n["undecided"],
    )  # fmt: skip


def base_actions(structure: Structure) -> set[str]:
    """The set B: dimensions that depend on none, and those that others depend on."""
    return {name for name, base in structure.items() if base is None} | {base for base in structure.values() if base}


def circle(structure: Structure) -> list[str]:
    """Dimensions that depend on each other in a circle, [] where there are none. Raises nothing."""
    for start in structure:
        path, at = [start], structure[start]
        while at and at in structure and at not in path:
            path.append(at)
            at = structure[at]
        if at == start:
            return path
    return []
