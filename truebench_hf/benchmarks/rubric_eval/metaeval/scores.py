"""From verdicts to what they say about a judge (paper 003, sections 4 and 5): agreement, overall and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.agreement import MEASURES, agreement, differences
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.panels import PanelWorth
from truebench_hf.metrics.pass_rate import Refusals, pass_rate, refusals_by_gold
from truebench_hf.metrics.votes import flip_score, share_score, vote_share
from truebench_hf.types import Score, Usage, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

    from truebench_hf.benchmarks.rubric_eval.metaeval.rewording import Rewording
    from truebench_hf.benchmarks.rubric_eval.metaeval.robustness import Robustness

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
Cell = Mapping[str, Score]  # measure -> score


@dataclass(frozen=True, slots=True)
class Judgment:
    """One rubric of one response, and what a judge made of it."""

    item: Item
    rubric: Rubric
    verdict: Verdict

    def row(self, judge: str, paradigm: str) -> dict[str, Any]:
        """Its line in `judgments.jsonl`."""
        item, rubric, verdict = self.item, self.rubric, self.verdict
        return {
            "id": rubric.id,
            "response_id": item.id,
            "instruction_id": item.instruction_id,
            "instruction_category": item.category,
            "language": item.language,
            "split": rubric.split,
            "rubric": rubric.text,
            "rubric_type": rubric.kind,
            "dimension": rubric.dimension,
            "gold": rubric.label,
            "judge": judge,
            "paradigm": paradigm,
            "label": verdict.label,
            "decided_by": verdict.judge,
            "reason": verdict.reason,
            "probability": verdict.probability,
            "votes": list(verdict.votes),
            "vote_share": vote_share(verdict.votes, verdict.label),
        }


@dataclass(frozen=True)
class Overall:
    """Agreement on all data or one split: `pooled` over its rows, `mean` of its categories as the paper has it.

    The mean is over all four categories, or None: `missing` names those without labelled rows.
    """

    pooled: Cell
    mean: Cell
    by_category: Mapping[str, Cell]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Apart:
    """The rows that rules decided, and those left to the judge, each by themselves. `saved` are calls not made."""

    by_rules: Cell
    by_judge: Cell
    decided: int
    saved: int


@dataclass(frozen=True)
class JudgeScores:
    """One judge under one paradigm. `splits` has `all` first, then the data's own splits, if it has any.

    `pass_rate` is the share of rubrics the judge passes, `reasons` counts why rubrics were left undecided, `flip_rate`
    is the share of rubrics whose votes differ (between draws, or between the members of a panel), `vote_share` the mean
    share of votes that agree with the verdict. `conflicting` rubrics were given two labels by an answer of the judge.
    `refused` says how many rubrics were in an answer that could not be read, by gold label; None where no answer is read.
    """

    judge: str
    paradigm: str
    splits: Mapping[str, Overall]
    by_type: Mapping[str, Cell]
    by_dimension: Mapping[str, Cell]
    by_language: Mapping[str, Cell]
    pass_rate: Score
    flip_rate: Score | None = None
    vote_share: Score | None = None
    reasons: Mapping[str, int] = field(default_factory=dict)
    conflicting: int = 0
    refused: Refusals | None = None
    usage: Usage = Usage()
    is_panel: bool = False
    apart: Apart | None = None  # where rules decide


def score(
    judge: str,
    paradigm: str,
    judgments: Sequence[Judgment],
    frame: DataFrame,
    *,
    usage: Usage | None = None,
    is_panel: bool = False,
    rules: str = "off",
) -> JudgeScores:
    """All scores of a judge under a paradigm, from its judgments and their `verdict_frame`."""
    splits = {"all": frame}
    splits |= {name: frame[frame["split"] == name] for name in sorted(set(frame["split"]) - {""})}
    undecided = [j.verdict.reason for j in judgments if j.verdict.label not in ("yes", "no")]
    return JudgeScores(
        judge=judge,
        paradigm=paradigm,
        splits={name: _overall(part) for name, part in splits.items()},
        by_type=_groups(frame, "rubric_type"),
        by_dimension=_groups(frame, "dimension"),
        by_language=_groups(frame, "language"),
        pass_rate=pass_rate([decide(judgment.verdict.label) for judgment in judgments]),
        flip_rate=flip_score([judgment.verdict.votes for judgment in judgments]),
        vote_share=share_score([(judgment.verdict.votes, judgment.verdict.label) for judgment in judgments]),
        reasons=dict(Counter(undecided).most_common(10)),
        conflicting=sum(judgment.verdict.conflicting for judgment in judgments),
        refused=_refused(judgments) if PARADIGMS[paradigm][0] != "decision" else None,
        usage=usage or Usage(),
        is_panel=is_panel,
        apart=_apart(judgments, frame, paradigm) if rules == "decide" else None,
    )


def verdict_frame(judgments: Sequence[Judgment]) -> DataFrame:
    """A row per rubric: item (its id), cluster (the instruction), split, gold, label, probability, decided_by, and the
    groups instruction_category, rubric_type, dimension and language, in the order in which they are shown.
    """
    import pandas as pd

    rows = [
        {
            "item": one.rubric.id,
            "cluster": one.item.instruction_id,
            "split": one.rubric.split,
            "gold": one.rubric.label,
            "label": one.verdict.label,
            "probability": one.verdict.probability,
            "decided_by": one.verdict.judge,
            "instruction_category": one.item.category or None,
            "rubric_type": one.rubric.kind or None,
            "dimension": one.rubric.dimension or None,
            "language": one.item.language or None,
        }
        for one in judgments
    ]
    names = ("item", "cluster", "split", "gold", "label", "probability", "decided_by", *GROUPS)
    # Objects: pandas would make NaN of a missing label, and of a name that looks like a number a number.
    frame = pd.DataFrame(rows, columns=list(names), dtype=object)
    for name, order in GROUPS.items():
        others = sorted(set(frame[name].dropna()) - set(order))
        frame[name] = frame[name].astype(pd.CategoricalDtype([*order, *others]))
    return frame


def joined(frames: Mapping[tuple[str, str], DataFrame]) -> DataFrame | None:
    """One frame of those by judge and paradigm, which become columns; None without any."""
    import pandas as pd

    named = [frame.assign(judge=judge, paradigm=paradigm) for (judge, paradigm), frame in frames.items()]
    return pd.concat(named, ignore_index=True) if named else None


def _refused(judgments: Sequence[Judgment]) -> Refusals:
    """Over the rows that no rule decides."""
    read = [one for one in judgments if one.verdict.judge != JUDGE]
    return refusals_by_gold([one.rubric.label for one in read], [one.verdict.refused for one in read])


def _apart(judgments: Sequence[Judgment], frame: DataFrame, paradigm: str) -> Apart:
    ruled = [one for one in judgments if one.verdict.judge == JUDGE]
    by_rules = frame["decided_by"] == JUDGE
    level = PARADIGMS[paradigm][0]
    counts = Counter(one.item.id for one in ruled)
    asked = {one.item.id: len((one.item.case if level == "checklist" else one.item.labelled).criteria) for one in ruled}
    whole = sum(count == asked[name] for name, count in counts.items())  # of which nothing was asked
    return Apart(
        _cell(frame[by_rules]), _cell(frame[~by_rules]), len(ruled), len(ruled) if level == "rubric" else whole
    )


@dataclass(frozen=True)
class Spread:
    """How far judges' pass rates lie apart on rubrics they all decided (paper 003, section 5.3), as shares.

    `pass_rates` and `gap` are pooled over rubrics. `by_instruction` is the mean over instructions of the share of their
    rubrics that a judge passes, CFBench's constraint satisfaction rate (CSR), which the paper's figure 5 shows.
    """

    pass_rates: Mapping[str, float]
    gap: float
    by_instruction: Mapping[str, float]
    gap_by_instruction: float
    n: int
    left_out: int
    reference: float | None  # the share of these rubrics that are met by their labels


@dataclass(frozen=True)
class MetaEvaluation:
    """A finished meta-evaluation: scores per judge and paradigm, the judges' spread per paradigm, what produced it."""

    scores: tuple[JudgeScores, ...]
    spreads: Mapping[str, Spread]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reworded: tuple[Rewording, ...] = ()
    attacked: tuple[Robustness, ...] = ()
    panels: Mapping[str, PanelWorth] = field(default_factory=dict)  # by paradigm, of three judges or more
    # What all agreement is measured on: `verdict_frame` of every judge and paradigm, which are columns of their own.
    verdicts: DataFrame | None = field(default=None, repr=False, compare=False)

    @cached_property
    def differences(self) -> list[Any]:
        """Every two judges under a paradigm: the row of `differences` with their balanced accuracies' difference."""
        if self.verdicts is None:
            return []
        return list(differences(self.verdicts, ["paradigm"], measures=("balanced_accuracy",)).itertuples(index=False))

    def as_json(self) -> dict[str, Any]:
        """The content of `scores.json`: shares, with n, undecided (`unscored`) and 95 % intervals."""
        return {
            "judges": list(map(_as_json, self.scores)),
            "spread": {paradigm: asdict(apart) for paradigm, apart in self.spreads.items()},
            "differences": [
                {"paradigm": one.paradigm, "first": one.first, "second": one.second, **asdict(one.balanced_accuracy)}
                for one in self.differences
            ],
            **({"panels": {name: panel_record(worth) for name, worth in self.panels.items()}} if self.panels else {}),
            **({"reworded": [one.as_json() for one in self.reworded]} if self.reworded else {}),
            **({"attacked": [asdict(one) for one in self.attacked]} if self.attacked else {}),
            "notes": list(self.notes),
            "provenance": dict(self.provenance),
        }


def _as_json(scores: JudgeScores) -> dict[str, Any]:
    """The scores of all rows at the top, those of the data's splits below."""
    found = asdict(scores)
    splits = {
        name: {
            "overall": split["pooled"],
            "category_mean": split["mean"],
            "missing_categories": list(split["missing"]),
            "by_category": split["by_category"],
        }
        for name, split in found.pop("splits").items()
    }
    named = {"by_rubric_type": found.pop("by_type"), "undecided_reasons": found.pop("reasons")}
    return found | named | splits.pop("all") | {"by_split": splits}


def panel_record(worth: PanelWorth) -> dict[str, Any]:
    """What a panel is worth as scores.json has it."""
    return asdict(worth) | {"leave_out": worth.leave_out}


def pooled_accuracy(judgments: Sequence[Judgment]) -> Score:
    """Balanced accuracy over all rows."""
    return _cell(verdict_frame(judgments))["balanced_accuracy"]


def spread(by_judge: Mapping[str, Sequence[Judgment]]) -> Spread | None:
    """The spread of two judges or more on the same rows (parallel lists); None where they share no decided row."""
    columns = list(zip(*by_judge.values(), strict=True))
    shared = [row for row in columns if all(j.verdict.label in ("yes", "no") for j in row)]
    if len(by_judge) < 2 or not shared:
        return None
    columns_of = {judge: [row[place] for row in shared] for place, judge in enumerate(by_judge)}
    rates = {judge: _share(rows) for judge, rows in columns_of.items()}
    means = {judge: _mean_share(rows) for judge, rows in columns_of.items()}
    gold = [row[0].rubric.label for row in shared if row[0].rubric.label is not None]
    reference = sum(label == "yes" for label in gold) / len(gold) if gold else None
    gap, mean_gap = (max(found.values()) - min(found.values()) for found in (rates, means))
    return Spread(rates, gap, means, mean_gap, len(shared), len(columns) - len(shared), reference)


def _share(rows: Sequence[Judgment]) -> float:
    return sum(row.verdict.label == "yes" for row in rows) / len(rows)


def _mean_share(rows: Sequence[Judgment]) -> float:
    groups: dict[str, list[Judgment]] = {}
    for row in rows:
        groups.setdefault(row.item.instruction_id, []).append(row)
    return sum(map(_share, groups.values())) / len(groups)


def _overall(frame: DataFrame) -> Overall:
    labelled = set(frame.loc[frame["gold"].notna(), "instruction_category"])
    missing = tuple(name for name in INSTRUCTION_CATEGORIES if name not in labelled)
    # A category without labelled rows leaves the mean undefined.
    (mean,) = _cells(agreement(frame, mean_over="instruction_category"))
    return Overall(_cell(frame), mean, _groups(frame, "instruction_category"), missing)


def _groups(frame: DataFrame, name: str) -> dict[str, Cell]:
    found = agreement(frame, [name])
    return dict(zip(map(str, found[name]), _cells(found), strict=True))


def _cell(frame: DataFrame) -> Cell:
    (cell,) = _cells(agreement(frame, measures=(*MEASURES, "kappa")), (*MEASURES, "kappa"))
    return cell


def _cells(found: DataFrame, names: Sequence[str] = MEASURES) -> list[Cell]:
    return [dict(zip(names, row, strict=True)) for row in found[list(names)].itertuples(index=False)]
