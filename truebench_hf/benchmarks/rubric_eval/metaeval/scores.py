"""From verdicts to what they say about a judge (paper 003, sections 4 and 5): one long frame, and estimators on its groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.agreement import MEASURES, agreement, by_group
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.pass_rate import pass_rate, refusals_by_gold
from truebench_hf.metrics.votes import flip_score, share_score, vote_share
from truebench_hf.report.table import Column, Part, Table
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
JUDGED = (Column("judge", "Judge"), Column("paradigm", "Paradigm"))  # the columns of `WHO`
BOTH: tuple[Part, ...] = ("value", "interval")
Row = dict[str, Any]

ABOUT = {  # of each measure of agreement its title, and what it is
    "balanced_accuracy": ("BAcc", "Mean of the shares of met and of unmet rubrics that the judge recognises, over decided rows; 50 is chance."),
    "macro_f1": ("macro F1", "Mean of the F1 of both labels, over decided rows."),
    "kappa": ("kappa", "Cohen's kappa with the labels."),
    "balanced_accuracy_strict": ("BAcc strict", "Balanced accuracy with undecided rows as wrong."),
    "accuracy": ("accuracy", "Share of decided rows on which judge and label agree."),
    "tpr": ("met found", "Share of met rubrics that the judge passes."),
    "tnr": ("unmet found", "Share of unmet rubrics that the judge fails."),
}  # fmt: skip


def measure(name: str, **more: Any) -> Column:
    """Return the column of a measure of agreement."""
    title, about = ABOUT[name]
    return Column(name, title, "score", about, **({"unit": ""} if name == "kappa" else {}) | more)


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
        read, ruled = part[part["decided_by"] != JUDGE], part[part["decided_by"] == JUDGE]
        refusals = refusals_by_gold(read["gold"].tolist(), read["refused"].tolist())
        by_decision = (part["paradigm"] == "decision").any()
        # Rules save a call for each vote of a judge where they decide all that it would be asked at once.
        asked_at_once = ruled.groupby("response")["together"].agg(["size", "first"])
        alone = part["paradigm"].isin(["rubric", "rubric-reasoning"]).any()
        saved = len(ruled) if alone else int((asked_at_once["size"] == asked_at_once["first"]).sum())
        return {
            "pass_rate": pass_rate([decide(label) for label in labels]),
            "flip_rate": flip_score(votes),
            "vote_share": share_score(list(zip(votes, labels, strict=True))),
            "conflicting": int(part["conflicting"].sum()),
            # No answer is read where a judge gives probabilities.
            "refused_yes": None if by_decision else refusals.yes,
            "refused_no": None if by_decision else refusals.no,
            "refused_p": None if by_decision else refusals.p_value,
            "ruled": len(ruled) if rules == "decide" else None,
            "calls_saved": saved if rules == "decide" else None,
        }

    more = by_group(frame, WHO, estimate)
    agreed = agreement(frame, WHO, measures=WITH_KAPPA)
    return [{**a, **b} for a, b in zip(agreed.to_dict("records"), more.to_dict("records"), strict=True)]


def agreements(frame: DataFrame, rules: str) -> list[Row]:
    """Return agreement in every group: rows with judge, paradigm, `split`, `by` and `group`, counts and measures.

    `by` is "" for all rows of a split, `MEAN` for the unweighted mean of its categories (the paper's "overall"), else the
    column that `group` is a value of. `split` is "all" for all data, which alone has groups beside the categories.
    """
    import numpy as np

    rows: list[Row] = []

    def add(agreed: DataFrame, split: str = "all", by: str = "") -> None:
        names = agreed[by].map(str) if by in agreed else ""
        rows.extend(agreed.assign(split=split, by=by, group=names).to_dict("records"))

    splits = {"all": frame}
    splits |= {name: frame[frame["split"] == name] for name in sorted(set(frame["split"]) - {""})}
    for split, part in splits.items():
        add(agreement(part, WHO, measures=WITH_KAPPA), split)
        add(agreement(part, WHO, mean_over="instruction_category"), split, MEAN)
        add(agreement(part, [*WHO, "instruction_category"]), split, "instruction_category")
    for name in ("rubric_type", "dimension", "language"):
        add(agreement(frame, [*WHO, name]), by=name)
    if rules == "decide":
        apart = frame.assign(decided_by=np.where(frame["decided_by"] == JUDGE, "rules", "judge"))
        add(agreement(apart, [*WHO, "decided_by"], measures=WITH_KAPPA), by="decided_by")
    return rows
