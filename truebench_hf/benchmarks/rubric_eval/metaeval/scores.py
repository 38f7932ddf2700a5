"""From verdicts to what they say about a judge (paper 003, sections 4 and 5): one long frame, and estimators on its groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.agreement import MEASURES, agreement, by_group, differences
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.panels import panel_worth
from truebench_hf.metrics.pass_rate import clustered_rate, pass_rate, refusals_by_gold
from truebench_hf.metrics.votes import flip_score, share_score, vote_share
from truebench_hf.report.table import Table
from truebench_hf.results.estimators import mean, unit_means
from truebench_hf.types import Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

# Granularity times reasoning (paper 003, section 5.1), and typed decisions, which the paper does not have.
PARADIGMS: Mapping[str, tuple[str, bool]] = {
    "checklist": ("checklist", False),
    "checklist-reasoning": ("checklist", True),
    "rubric": ("rubric", False),
    "rubric-reasoning": ("rubric", True),
    "decision": ("decision", False),
}
# What rows are grouped by, with the order of the groups; others come after them.
GROUPS: Mapping[str, Sequence[str]] = {
    "instruction_category": tuple(INSTRUCTION_CATEGORIES), "rubric_type": tuple(RUBRIC_TYPES), "dimension": tuple(DIMENSIONS),
    "language": (),
}  # fmt: skip
FIRST = "first"  # how judges are measured; all else that they are asked is about the same rubrics
MEAN = "mean of categories"
WITH_KAPPA = (*MEASURES, "kappa")
WHO = ["judge", "paradigm"]
# The columns of `judgments.jsonl`.
LINE = (
    "id", "response_id", "instruction_id", "instruction_category", "language", "split", "rubric", "rubric_type", "dimension",
    "gold", "judge", "paradigm", "label", "decided_by", "reason", "probability", "votes", "vote_share",
)  # fmt: skip
_REASONS = 10  # of undecided rubrics, that are counted for a judge
_AHEAD = {1: "first", -1: "second", 0: ""}
Row = dict[str, Any]


@dataclass(frozen=True)
class MetaEvaluation:
    """A finished meta-evaluation.

    `tables` has the results by name (see `tables.result_tables`), `verdicts` is the frame that all agreement is measured
    on (see `verdict_frame`), and `provenance` says what produced them.
    """

    tables: Mapping[str, Table]
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    verdicts: DataFrame | None = field(default=None, repr=False, compare=False)


def verdict_row(item: Item, rubric: Rubric, verdict: Verdict, judge: str, paradigm: str) -> Row:
    """Return all that is kept of a verdict on a rubric: the columns of `LINE` and of `verdict_frame`."""
    together = len(item.case.criteria) if PARADIGMS[paradigm][0] == "checklist" else len(item.rubrics)
    return {
        "id": rubric.id, "response_id": item.id, "instruction_id": item.instruction_id,
        "instruction_category": item.category, "language": item.language, "split": rubric.split, "rubric": rubric.text,
        "rubric_type": rubric.kind, "dimension": rubric.dimension, "gold": rubric.label, "judge": judge,
        "paradigm": paradigm, "label": verdict.label, "decided_by": verdict.judge, "reason": verdict.reason,
        "probability": verdict.probability, "votes": list(verdict.votes),
        "vote_share": vote_share(verdict.votes, verdict.label),
        "asked": FIRST, "together": together, "conflicting": verdict.conflicting, "refused": verdict.refused,
    }  # fmt: skip


def verdict_frame(rows: Sequence[Mapping[str, Any]], judges: Sequence[str]) -> DataFrame:
    """Return the long frame: a row per rubric, judge, paradigm and way of asking.

    Columns: item (the rubric's id), response, cluster (the instruction), split, gold and label ("yes", "no", "unknown" or
    None), reason, probability, votes, decided_by (the judge, or `rules`), conflicting (an answer gave two labels), refused
    (no answer could be read), together (criteria that were asked about at once), judge, paradigm, the groups of `GROUPS`,
    and asked: `first`, another wording, or a fresh draw; of attacks `attacked` or `neutral`, and then attack, technique
    and attack_language. attackable says of first verdicts whether the rubric stays unmet whatever is appended. Judges, paradigms and groups stand in the order in which they are shown.
    """
    import pandas as pd

    names = {"id": "item", "response_id": "response", "instruction_id": "cluster"}
    columns = [name for name in LINE if name not in ("rubric", "vote_share")]
    columns += ["asked", "together", "conflicting", "refused", "attackable", "attack", "technique", "attack_language"]
    # Objects: pandas would make NaN of a missing label, and of a name that looks like a number a number.
    content = {names.get(name, name): pd.Series([row.get(name) for row in rows], dtype=object) for name in columns}
    frame = pd.DataFrame(content)
    for name, order in {**GROUPS, "judge": judges, "paradigm": tuple(PARADIGMS)}.items():
        values = frame[name].replace("", None)
        others = sorted(set(values.dropna()) - set(order))
        frame[name] = values.astype(pd.CategoricalDtype([*order, *others]))
    return frame


def overview(frame: DataFrame, rules: str) -> list[Row]:
    """Return a row per judge and paradigm: agreement over all rows, passes, votes and refusals."""

    def estimate(part: DataFrame) -> Row:
        labels, votes = part["label"].tolist(), part["votes"].tolist()
        read = part[part["decided_by"] != JUDGE]
        refusals = refusals_by_gold(read["gold"].tolist(), read["refused"].tolist())
        by_decision = (part["paradigm"] == "decision").any()
        ruled = _ruled(part) if rules == "decide" else {}
        return {
            "pass_rate": pass_rate([decide(label) for label in labels]),
            "flip_rate": flip_score(votes),
            "vote_share": share_score(list(zip(votes, labels, strict=True))),
            "conflicting": int(part["conflicting"].sum()),
            # No answer is read where a judge gives probabilities.
            "refused_yes": None if by_decision else refusals.yes,
            "refused_no": None if by_decision else refusals.no,
            "refused_p": None if by_decision else refusals.p_value,
            "ruled": ruled.get("ruled"), "calls_saved": ruled.get("saved"),
        }  # fmt: skip

    more = by_group(frame, WHO, estimate)
    agreed = agreement(frame, WHO, measures=WITH_KAPPA)
    return [{**a, **b} for a, b in zip(agreed.to_dict("records"), more.to_dict("records"), strict=True)]


def _ruled(part: DataFrame) -> dict[str, int]:
    """How many rows rules decided, and the calls that were not made for that, for each vote of a judge."""
    ruled = part[part["decided_by"] == JUDGE]
    if (part["paradigm"].isin(["rubric", "rubric-reasoning"])).any():
        return {"ruled": len(ruled), "saved": len(ruled)}
    counts = Counter(ruled["response"])
    together = dict(zip(ruled["response"], ruled["together"], strict=True))
    return {"ruled": len(ruled), "saved": sum(count == together[name] for name, count in counts.items())}


def agreements(frame: DataFrame, rules: str) -> list[Row]:
    """Return agreement in every group: rows with judge, paradigm, `split`, `by` and `group`, counts and measures.

    `by` is "" for all rows of a split, `MEAN` for the unweighted mean of its categories (the paper's "overall"), else the
    column that `group` is a value of. `split` is "all" for all data, which alone has groups beside the categories.
    """
    import numpy as np

    splits = {"all": frame}
    splits |= {name: frame[frame["split"] == name] for name in sorted(set(frame["split"]) - {""})}
    rows: list[Row] = []
    for split, part in splits.items():
        rows += _records(agreement(part, WHO, measures=WITH_KAPPA), split)
        rows += _records(agreement(part, WHO, mean_over="instruction_category"), split, MEAN)
        rows += _records(agreement(part, [*WHO, "instruction_category"]), split, "instruction_category")
    for name in ("rubric_type", "dimension", "language"):
        rows += _records(agreement(frame, [*WHO, name]), "all", name)
    if rules == "decide":
        apart = frame.assign(decided_by=np.where(frame["decided_by"] == JUDGE, "rules", "judge"))
        rows += _records(agreement(apart, [*WHO, "decided_by"], measures=WITH_KAPPA), "all", "decided_by")
    return rows


def _records(agreed: DataFrame, split: str, by: str = "") -> Iterator[Row]:
    for record in agreed.to_dict("records"):
        yield {**record, "split": split, "by": by, "group": str(record.get(by, ""))}


def missing_categories(frame: DataFrame) -> list[str]:
    """Return the paper's categories without labelled rows, which leave its mean open."""
    labelled = set(frame.loc[frame["gold"].notna(), "instruction_category"])
    return [name for name in INSTRUCTION_CATEGORIES if name not in labelled]


def judge_differences(frame: DataFrame) -> list[Row]:
    """Return a row per paradigm and pair of judges: balanced accuracy of the first less the second, undecided being wrong."""
    rows = differences(frame, ["paradigm"], measures=("balanced_accuracy",)).to_dict("records")
    return [
        {**pair, "difference": gap.score, "ahead": _AHEAD[gap.ahead]}
        for pair in rows
        for gap in [pair.pop("balanced_accuracy")]
    ]


def pass_rates(frame: DataFrame) -> tuple[list[Row], list[Row]]:
    """Return how far judges' pass rates lie apart on rubrics they all decided (paper 003, section 5.3).

    Rows per paradigm and judge: `pooled` over rubrics, and `by_instruction`, the mean over instructions of the share of
    their rubrics that a judge passes (CFBench's constraint satisfaction rate, which the paper's figure 5 shows). Rows per
    paradigm: the `gap` of either between judges, and the share that is met by the labels. Nothing under a paradigm with
    fewer than two judges, or no rubric that all decided.
    """
    rates: list[Row] = []
    gaps: list[Row] = []
    for paradigm, part in frame.groupby("paradigm", observed=True):
        decided = part["label"].isin(["yes", "no"])
        shared = part[decided.groupby(part["item"]).transform("all")]
        if part["judge"].nunique() < 2 or shared.empty:
            continue
        left_out = part["item"].nunique() - shared["item"].nunique()
        judged = [
            {"paradigm": paradigm, "judge": judge, **_pass_rates(rows)}
            for judge, rows in shared.groupby("judge", observed=True)
        ]
        gold = shared.drop_duplicates("item")["gold"].dropna().tolist()
        spans = {
            name: max(row[name].value for row in judged) - min(row[name].value for row in judged)
            for name in ("pooled", "by_instruction")
        }
        gaps.append({
            "paradigm": paradigm, "gap": spans["pooled"], "gap_by_instruction": spans["by_instruction"],
            "reference": pass_rate([decide(label) for label in gold]).value, "n": shared["item"].nunique(),
            "left_out": left_out,
        })  # fmt: skip
        rates += judged
    return rates, gaps


def _pass_rates(rows: DataFrame) -> Row:
    met = (rows["label"] == "yes").to_numpy(dtype=float)
    pooled = clustered_rate(met.tolist(), rows["cluster"].tolist())
    return {"pooled": pooled, "by_instruction": mean(unit_means(met, rows["cluster"]))}


def panels(frame: DataFrame) -> tuple[list[Row], list[Row]]:
    """Return what three judges or more are worth together: a row per paradigm, and a row per paradigm and judge."""
    worths = {paradigm: panel_worth(part) for paradigm, part in frame.groupby("paradigm", observed=True)}
    known = {paradigm: worth for paradigm, worth in worths.items() if worth is not None}
    summaries = [
        {
            "paradigm": paradigm, "judges": len(worth.members), "votes": worth.votes,
            "balanced_accuracy": worth.balanced_accuracy, "best": worth.best, "gain": worth.gain.score,
            "leave_out": worth.leave_out, "n": worth.n,
        }
        for paradigm, worth in known.items()
    ]  # fmt: skip
    members = [
        {
            "paradigm": paradigm, "judge": member.judge, "balanced_accuracy": member.balanced_accuracy,
            "correlation": member.correlation, "without": member.without.score,
        }
        for paradigm, worth in known.items()
        for member in worth.members
    ]  # fmt: skip
    return summaries, members


def undecided_reasons(frame: DataFrame) -> list[Row]:
    """Return why rubrics were left undecided: a row per judge, paradigm and reason, the most frequent first."""
    undecided = frame[~frame["label"].isin(["yes", "no"])]
    return [
        {"judge": judge, "paradigm": paradigm, "reason": reason, "rows": count}
        for (judge, paradigm), part in undecided.groupby(WHO, observed=True)
        for reason, count in Counter(part["reason"]).most_common(_REASONS)
    ]
