"""Judges beside each other: their differences, what they are worth as a panel, pass rates, and the place of each on a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval.scores import BOTH, JUDGED, MEAN, PARADIGMS, Row
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.metrics.agreement import differences
from truebench_hf.metrics.comparison import panel_worth
from truebench_hf.metrics.pass_rate import clustered_rate, mean_share, pass_rate
from truebench_hf.report.sections import percent
from truebench_hf.report.table import Column, Table
from truebench_hf.results.verdicts import unit_means
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.ranking import COST, BoardColumn, Ranking
from truebench_hf.text import anonymous
from truebench_hf.types import Score, Usage

if TYPE_CHECKING:
    from pandas import DataFrame

KIND = "metaeval"
BALANCED = "balanced:"  # of a rubric type, where the paper prints plain accuracy
CALLS, TOKENS = "cost:calls", "cost:tokens"
# Balanced accuracy as the paper has it: the unweighted mean of the four instruction categories.
MAIN = Column("category_mean", "Overall", "score")
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
COLUMNS = tuple(BoardColumn(column.name, column.title, column.group, column.unit != "") for column in _SCORES)
_FACTS = ("Paradigm", "Data", "Rules", "Wording", "Injections")
_MANY = 10  # pairs of judges: more are for the page
_AHEAD = {1: "first", -1: "second", 0: ""}
_RATES_NOTE = (
    "The paper's three judges lie 25 points apart at checklist level without reasoning (55 to 80 %, per instruction) and 12 "
    "at rubric level with it (62 to 74 %)."
)  # fmt: skip


def differences_table(first: DataFrame) -> Table:
    """Every two judges under each paradigm."""
    pairs = differences(first, ["paradigm"], measures=("balanced_accuracy",)).to_dict("records")
    rows = [
        pair | {"difference": pair["balanced_accuracy"], "ahead": _AHEAD[pair["balanced_accuracy"].ahead]}
        for pair in pairs
    ]
    about = "Balanced accuracy of the first less that of the second on the same rows, in points; undecided is wrong."
    columns = (
        Column("first", "First"), Column("second", "Second"), JUDGED[1],
        Column("difference", "BAcc", "score", about, "points", digits=1, parts=BOTH, drawn=True),
        Column("ahead", "surely better", about="The judge that is better by the interval."),
    )  # fmt: skip
    printed = len(rows) <= _MANY
    return Table("differences", columns, rows, "Judges against each other", about, keys=3, printed=printed)


def panel_tables(single: DataFrame) -> list[Table]:
    """What three judges or more are worth together under each paradigm, and judge by judge."""
    summaries, members = list[Row](), list[Row]()
    for paradigm, part in single.groupby("paradigm", observed=True):
        if worth := panel_worth(part):
            summaries.append({"paradigm": paradigm, **worth[0]})
            members += [{"paradigm": paradigm, **row} for row in worth[1]]
    points: dict[str, Any] = {"unit": "points", "digits": 1, "parts": BOTH}
    columns = (
        JUDGED[1], Column("judges", "judges", "count"),
        Column("votes", "votes", "score", "As many independent judges are worth as much, by how far errors are correlated.", "",
               digits=1, parts=BOTH),
        Column("balanced_accuracy", "BAcc", "number", "Of the majority; a tie is half right."),
        Column("best", "best judge", minor=1),
        Column("gain", "gain", "score", "Points over the best judge alone; the interval allows for its being picked here.", **points),
        Column("leave_out", "leave out", about="Without this judge the majority is surely better.", minor=2),
        Column("n", "rows", "count", "Labelled rubrics that all judged.", minor=3),
    )  # fmt: skip
    by_judge = (
        JUDGED[1], JUDGED[0], Column("balanced_accuracy", "BAcc alone", "number"),
        Column("correlation", "errors correlate", "number", "Mean correlation of its errors with each other judge's, label by label.", ""),
        Column("without", "majority without it", "score", "Points that leaving the judge out adds.", **points),
    )  # fmt: skip
    return [
        Table("panels", columns, summaries, "Panel"),
        Table("panel_members", by_judge, members, "Panel, judge by judge", keys=2, printed=False),
    ]


def pass_rate_tables(single: DataFrame) -> list[Table]:
    """How far judges' pass rates lie apart on rubrics they all decided (paper 003, section 5.3).

    Nothing under a paradigm with fewer than two judges, or no rubric that all decided.
    """
    rates, gaps = list[Row](), list[Row]()
    for paradigm, part in single.groupby("paradigm", observed=True):
        decided = part["label"].isin(["yes", "no"])
        shared = part[decided.groupby(part["item"]).transform("all")]
        if part["judge"].nunique() < 2 or shared.empty:
            continue
        n, judged = shared["item"].nunique(), list[Row]()
        for judge, rows in shared.groupby("judge", observed=True):
            met = (rows["label"] == "yes").to_numpy(dtype=float)
            pooled, by_instruction = clustered_rate(met.tolist(), rows["cluster"].tolist()), mean_share(unit_means(met, rows["cluster"]))  # fmt: skip
            judged.append({"paradigm": paradigm, "judge": judge, "pooled": pooled, "by_instruction": by_instruction})
        gold = shared.drop_duplicates("item")["gold"].dropna()
        spans = [[row[name].value for row in judged] for name in ("pooled", "by_instruction")]
        gap, gap_by_instruction = (max(values) - min(values) for values in spans)
        gaps.append({
            "paradigm": paradigm, "gap": gap, "gap_by_instruction": gap_by_instruction,
            "reference": pass_rate((gold == "yes").tolist()).value, "n": n, "left_out": part["item"].nunique() - n,
        })  # fmt: skip
        rates += judged
    title = "Pass rates of the judges on the same responses (like the paper's figure 5)"
    columns = (
        JUDGED[1], JUDGED[0], Column("pooled", "passes", "score", "Share of rubrics, over those that all judges decided.", parts=BOTH, drawn=True),
        Column("by_instruction", "per instruction", "score", "Mean over instructions of the share of their rubrics (CSR).", parts=BOTH),
    )  # fmt: skip
    apart = (
        JUDGED[1], Column("gap", "gap", "number", "Points between the highest and the lowest pass rate.", digits=1),
        Column("gap_by_instruction", "gap per instruction", "number", digits=1),
        Column("reference", "by the labels", "number", "Share of these rubrics that are met by their labels."),
        Column("n", "rubrics", "count"), Column("left_out", "left out", "count", "Rubrics that some judge left open."),
    )  # fmt: skip
    return [
        Table("pass_rates", columns, rates, title, _RATES_NOTE, keys=2),
        Table("pass_rate_gaps", apart, gaps, "How far the judges' pass rates lie apart"),
    ]


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
