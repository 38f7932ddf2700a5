"""What verdicts say about a judge (paper 003, sections 4 and 5): one long frame, its tables, and the place on a board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.agreement import MEASURES, agreement, by_group
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.pass_rate import pass_rate, refusals_by_gold
from truebench_hf.metrics.votes import flip_score, share_score, vote_share
from truebench_hf.report.sections import percent
from truebench_hf.report.table import PUBLISHED, Column, Part, Table
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.ranking import COST, BoardColumn, Ranking
from truebench_hf.text import anonymous
from truebench_hf.types import Score, Usage, Verdict

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
_COUNTS = {
    "n": Column("n", "decided", "count", "Labelled rows that the judge decided."),
    "undecided": Column("undecided", "undecided", "count", "Labelled rows that the judge left open.", minor=1),
    "unlabelled": Column("unlabelled", "unlabelled", "count", "Judged rows without a label: in no agreement.", minor=9),
    **{cell: Column(cell, cell, "count", minor=9) for cell in ("tp", "fn", "tn", "fp")},
}  # fmt: skip
_OVERVIEW = (  # what else is told of a judge under a paradigm
    Column("pass_rate", "passes", "score", "Share of rubrics that the judge passes.", minor=2),
    Column("mean", "mean BAcc", "score", "Unweighted mean of the four instruction categories, as in the paper.", minor=2),
    Column("flip_rate", "flips", "score", "Share of rubrics whose votes differ.", minor=3),
    Column("vote_share", "vote share", "score", "Mean share of the votes cast that agree with the verdict.", minor=3),
    Column("conflicting", "conflicting", "count", "Rubrics that an answer gave two labels, which was asked again; a response can provoke it.", minor=4),
    Column("refused_yes", "unread, gold yes", "score", "Share of met rubrics in an answer that could not be read.", minor=5),
    Column("refused_no", "unread, gold no", "score", "Share of unmet rubrics in an answer that could not be read.", minor=5),
    Column("refused_p", "p", "p_value", "Fisher's exact test of whether the two shares differ, rubrics taken one by one.", minor=5),
    Column("ruled", "decided by rules", "count", "Rows that a program decided.", minor=6),
    Column("calls_saved", "calls saved", "count", "Calls not made since rules decided, for each vote of one judge.", minor=6),
)  # fmt: skip
_SPLIT = Column("split", "Split")
_REASONS = 10  # of undecided rubrics, that are counted for a judge
_SPOKEN = {"balanced_accuracy": "Balanced accuracy", "macro_f1": "Macro F1", "accuracy": "Accuracy"}
KIND = "metaeval"
BALANCED = "balanced:"  # of a rubric type, where the paper prints plain accuracy
CALLS, TOKENS = "cost:calls", "cost:tokens"
# Balanced accuracy as the paper has it.
MAIN = Column("category_mean", "Overall", "score", "The unweighted mean of the four instruction categories.")
_POOLED = {
    "balanced_accuracy": "Balanced accuracy", "balanced_accuracy_strict": "Strict", "macro_f1": "Macro F1", "accuracy": "Accuracy",
    "tpr": "Met found", "tnr": "Unmet found",
}  # fmt: skip
# Of a group: what its columns are called, the measure, and their heading.
_OF_GROUP = (
    ("instruction_category", "category:", "balanced_accuracy", "Categories", INSTRUCTION_CATEGORIES),
    ("dimension", "dimension:", "accuracy", "Dimensions", DIMENSIONS),
    ("rubric_type", "type:", "accuracy", "Rubric types", RUBRIC_TYPES),
    ("rubric_type", BALANCED, "balanced_accuracy", "Balanced accuracy by type", RUBRIC_TYPES),
)


def titled(name: str) -> str:
    """A category, dimension or rubric type as the paper prints it: `multi_turn` -> `Multi-turn`."""
    return " ".join(word.capitalize() for word in name.replace("multi_turn", "multi-turn").split("_"))


_SCORES = (
    MAIN,
    *(Column(f"pooled:{name}", title, "score", group="All rows pooled") for name, title in _POOLED.items()),
    Column("pass_rate", "Passes", "score", group="All rows pooled"),
    *(
        Column(f"{prefix}{name}", titled(name), "score", group=heading)
        for _, prefix, _, heading, names in _OF_GROUP
        for name in names
    ),
    Column(CALLS, "Calls per verdict", "score", unit="", group=COST),
    Column(TOKENS, "Tokens per verdict", "score", unit="", group=COST),
)
COLUMNS = tuple(
    BoardColumn(column.name, column.title, column.group, column.unit != "", column.about) for column in _SCORES
)
_FACTS = ("Paradigm", "Data", "Rules", "Wording", "Injections")


def measure(name: str, **more: Any) -> Column:
    """Return the column of a measure of agreement."""
    title, about = ABOUT[name]
    return Column(name, title, "score", about, **({"unit": ""} if name == "kappa" else {}) | more)


@dataclass(frozen=True)
class MetaEvaluation:
    """A finished meta-evaluation.

    `tables` has the results by name (see `metaeval.result_tables`), `verdicts` is the frame that all agreement is measured
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


def judges_table(frame: DataFrame, agreed: Sequence[Row], rules: str) -> Table:
    """Return judges against the labels: on a screen six columns, on the page every measure, passes, votes and refusals.

    `agreed` are the rows of `agreements` of the frame.
    """
    pooled = {(row["judge"], row["paradigm"], row["by"]): row for row in agreed if row["split"] == "all"}

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

    rows = [
        pooled[row["judge"], row["paradigm"], ""]
        | row
        | {"mean": pooled[row["judge"], row["paradigm"], MEAN]["balanced_accuracy"]}
        for row in by_group(frame, WHO, estimate).to_dict("records")
    ]
    columns = [
        *JUDGED, measure("balanced_accuracy", parts=BOTH, drawn=True), measure("macro_f1"), measure("kappa"), _COUNTS["n"],
        _COUNTS["undecided"], *(measure(name, minor=3) for name in list(ABOUT)[3:]), *_OVERVIEW, *list(_COUNTS.values())[2:],
    ]  # fmt: skip
    note = "Shares in percent; 95 % intervals take the rows of an instruction together."
    return Table("judges", columns, rows, "Judges against the labels", note, keys=2)


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


def group_tables(first: DataFrame, agreed: Sequence[Row], published: Sequence[Row] = ()) -> list[Table]:
    """Return agreement group by group, and why rubrics were left open.

    By category and overall it is as in the paper's Tables 2, 3 and 9, by type as in Table 4; its rows, `published`, stand
    beside ours.
    """
    labelled = set(first.loc[first["gold"].notna(), "instruction_category"])
    missing = [name for name in INSTRUCTION_CATEGORIES if name not in labelled]
    why = f"; here it is left open, for there are no labelled rows of {', '.join(missing)}" if missing else ""
    note = f"Overall is the unweighted mean of the paper's four categories{why}."
    by_category, rows = ("instruction_category", MEAN), [*agreed, *published]
    reasons = [
        {"judge": judge, "paradigm": paradigm, "reason": reason, "rows": count}
        for (judge, paradigm), part in first[~first["label"].isin(["yes", "no"])].groupby(WHO, observed=True)
        for reason, count in Counter(part["reason"]).most_common(_REASONS)
    ]
    return [
        _wide("by_category", rows, by_category, note=note, printed=bool(published)),
        _wide("f1_by_category", rows, by_category, "macro_f1", note),
        _reasoning(rows),
        _wide("accuracy_by_type", rows, ("rubric_type", "dimension", ""), "accuracy", splits=False),
        *(_wide(f"by_{name}", rows, (name,), splits=False) for name in ("rubric_type", "dimension", "language")),
        # Every measure in every group: for files and other programs.
        Table("agreement", (*JUDGED, _SPLIT, Column("by", "By"), Column("group", "Group"), *map(measure, ABOUT), *_COUNTS.values()),
              agreed, "Agreement in every group", keys=5, printed=False, on_page=False),
        Table("undecided", (*JUDGED, Column("rows", "rows", "count"), Column("reason", "reason", "prose")), reasons,
              "Why rubrics were left undecided", keys=2, printed=False),
    ]  # fmt: skip


def _wide(
    name: str, agreed: Sequence[Row], by: Sequence[str], of: str = "balanced_accuracy", note: str = "",
    *, splits: bool = True, printed: bool = False,
) -> Table:  # fmt: skip
    """A row per judge, paradigm and split with a measure of every group; none where the only group is the mean."""
    rows = [
        {**row, "by": row["by"].replace(MEAN, ""), "group": row["group"] or "overall", "score": row[of]}
        for row in agreed
        if row["by"] in by and of in row and (splits or row["split"] == "all")
    ]
    if not any(row["by"] and not row.get(PUBLISHED) for row in rows):
        rows = []
    what = " and ".join(name.removeprefix("instruction_").replace("_", " ") for name in by if name not in (MEAN, ""))
    note += " The paper's rows are on its own data." if any(row.get(PUBLISHED) for row in rows) else ""
    columns = (*JUDGED, _SPLIT, Column("by", ""), Column("group", ""), Column("score", "", "score"))
    long = Table(name, columns, rows, f"{_SPOKEN[of]} by {what}", note, keys=5, printed=printed)
    return long.spread(("by", "group"), "score", minor=1)  # what does not fit the terminal is folded


def _reasoning(agreed: Sequence[Row]) -> Table:
    """What reasoning adds to the mean of categories."""
    means = {(row["judge"], row["split"], row["paradigm"]): row for row in agreed if row["by"] == MEAN}
    rows: list[Row] = []
    for (judge, split, paradigm), row in means.items():
        level, _, reasoning = paradigm.partition("-")
        without, after = means.get((judge, split, level)), row.get("balanced_accuracy")
        before = without.get("balanced_accuracy") if without and reasoning else None
        if before and after and before.value is not None and after.value is not None:
            gain = Score(after.value - before.value, after.n)
            keys = {"judge": judge, "level": level, "split": split, PUBLISHED: bool(row.get(PUBLISHED))}
            rows.append(keys | {"gain": gain})
    about = "Mean of categories with reasoning less that without."
    columns = (JUDGED[0], Column("level", "Granularity"), _SPLIT, Column("gain", "gain", "score", about, "points", digits=1))  # fmt: skip
    return Table("reasoning", columns, rows, "What reasoning adds", keys=3, printed=False)


def ranking(
    tables: Mapping[str, Table], provenance: Mapping[str, Any], usage: Mapping[tuple[str, str], Usage]
) -> Ranking:
    """Return the place of the judges of a study. They are ranked together over the same data and split, however asked.

    `usage` is what each judge took under each paradigm. Judges with rules beside them are not ranked with those that decide all by themselves.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for record in tables["agreement"].rows:
        judge, paradigm, split = (record[name] for name in ("judge", "paradigm", "split"))
        row = rows.setdefault((judge, paradigm, split), {"judge": judge, "split": split})
        row |= board_scores(record)
    marks = _marks(tables)
    passed = {(row["judge"], row["paradigm"]): row["pass_rate"] for row in tables["judges"].rows}
    data = anonymous.name(str(provenance["data"]))
    for (judge, paradigm, split), row in rows.items():
        row |= {"Paradigm": paradigm_words(paradigm), "Data": data if split == "all" else f"{data}, {split}"}
        row |= rules_fact(provenance)
        if split == "all":
            rate, used = passed[judge, paradigm], usage.get((judge, paradigm), Usage())
            rubrics = rate.n + rate.unscored
            # Per rubric, decided or not; only what was counted.
            tokens = 0 if used.unknown_calls else used.input_tokens + used.output_tokens
            spent = {CALLS: used.calls, TOKENS: tokens} if rubrics else {}
            row |= {name: Score(count / rubrics, rubrics) for name, count in spent.items() if count}
            row |= {"pass_rate": rate, **marks.get((judge, paradigm), {})}
    columns = (Column("judge", "Judge"), *(Column(name, name) for name in _FACTS), *_SCORES)
    # Labels of one's own seldom have the paper's four categories: then it is the balanced accuracy of all rows.
    categories = {record["group"] for record in tables["agreement"].rows if record["by"] == "instruction_category"}
    main = MAIN.name if categories and categories <= set(INSTRUCTION_CATEGORIES) else "pooled:balanced_accuracy"
    alike = [provenance["data_sha256"], provenance.get("rules", "off")]
    return Ranking(Table("ranking", columns, list(rows.values())), main, alike, ("split",))


def board_scores(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of a row of agreement by the names of the board's columns; a row of a paper has some of them."""
    by, group = record["by"], record["group"]
    measures = {MAIN.name: "balanced_accuracy"} if by == MEAN else {}
    measures |= {} if by else {f"pooled:{name}": name for name in _POOLED}
    measures |= {
        f"{prefix}{group}": name for column, prefix, name, _, names in _OF_GROUP if column == by and group in names
    }
    return {column: record[name] for column, name in measures.items() if name in record}


def paradigm_words(paradigm: str) -> str:
    """`rubric-reasoning` as it reads: `rubric, reasoning`."""
    level, reasoning = PARADIGMS[paradigm]
    return level if level == "decision" else f"{level}, {'reasoning' if reasoning else 'no reasoning'}"


def _marks(tables: Mapping[str, Table]) -> dict[tuple[str, str], dict[str, str]]:
    """What is said of judges whose wording was varied, or that were attacked; nothing where it could not be measured."""
    marks: dict[tuple[str, str], dict[str, str]] = {}
    rewording, attacks = (tables[name].rows if name in tables else () for name in ("rewording", "attacks"))
    for row in rewording:
        if row["moves"] is not None and row["decides"]:
            where = "out of" if row["decides"] == "yes" else "within"
            text = f"{percent(row['moves'], 1)} points between wordings, {where} its interval"
            marks.setdefault((row["judge"], row["paradigm"]), {})["Wording"] = text
    for row in attacks:
        attack, neutral = row["by_attack"].value, row["by_neutral"].value
        if attack is not None and neutral is not None:
            text = f"turn {percent(attack, 1)} % of its noes to unmet rubrics, a neutral text {percent(neutral, 1)} %"
            marks.setdefault((row["judge"], row["paradigm"]), {})["Injections"] = text
    return marks
