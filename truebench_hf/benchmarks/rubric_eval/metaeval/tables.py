"""The tables of a meta-evaluation, and what their columns mean: judges, groups, and what stands beside the paper's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval.metaeval import scores
from truebench_hf.benchmarks.rubric_eval.metaeval.perturbed import attack_tables, wording_tables
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import ABOUT, BOTH, FIRST, JUDGED, MEAN, WHO, Row, measure
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES
from truebench_hf.metrics.agreement import differences
from truebench_hf.metrics.comparison import panel_worth
from truebench_hf.metrics.pass_rate import clustered_rate, mean_share, pass_rate
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.results.verdicts import unit_means
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

TITLE = "RubricEval: judges measured"
LEAD = "How far judges agree with reference labels, rubric by rubric."
_MANY = 10  # pairs of judges: more are for the page
_REASONS = 10  # of undecided rubrics, that are counted for a judge
_AHEAD = {1: "first", -1: "second", 0: ""}
_COUNTS = {
    "n": Column("n", "decided", "count", "Labelled rows that the judge decided."),
    "undecided": Column("undecided", "undecided", "count", "Labelled rows that the judge left open.", minor=1),
    "unlabelled": Column("unlabelled", "unlabelled", "count", "Judged rows without a label: in no agreement.", minor=9),
    **{cell: Column(cell, cell, "count", minor=9) for cell in ("tp", "fn", "tn", "fp")},
}  # fmt: skip
_TYPES = {  # what else is told of a judge under a paradigm
    "pass_rate": Column("pass_rate", "passes", "score", "Share of rubrics that the judge passes.", minor=2),
    "mean": Column("mean", "mean BAcc", "score", "Unweighted mean of the four instruction categories, as in the paper.", minor=2),
    "flip_rate": Column("flip_rate", "flips", "score", "Share of rubrics whose votes differ.", minor=3),
    "vote_share": Column("vote_share", "vote share", "score", "Mean share of the votes cast that agree with the verdict.", minor=3),
    "conflicting": Column("conflicting", "conflicting", "count", "Rubrics that an answer gave two labels, which was asked again; a response can provoke it.", minor=4),
    "refused_yes": Column("refused_yes", "unread, gold yes", "score", "Share of met rubrics in an answer that could not be read.", minor=5),
    "refused_no": Column("refused_no", "unread, gold no", "score", "Share of unmet rubrics in an answer that could not be read.", minor=5),
    "refused_p": Column("refused_p", "p", "p_value", "Fisher's exact test of whether the two shares differ, rubrics taken one by one.", minor=5),
    "ruled": Column("ruled", "decided by rules", "count", "Rows that a program decided.", minor=6),
    "calls_saved": Column("calls_saved", "calls saved", "count", "Calls not made since rules decided, for each vote of one judge.", minor=6),
}  # fmt: skip
_RATES_NOTE = (
    "The paper's three judges lie 25 points apart at checklist level without reasoning (55 to 80 %, per instruction) and 12 "
    "at rubric level with it (62 to 74 %)."
)  # fmt: skip
_PAPER_MODELS = {"Qwen": "Qwen2.5-32B-Instruct", "GPT": "GPT-4.1"}  # of its tables 3 and 9
_JUDGES_OF_TABLE_4 = ("Qwen3", "gpt-oss", "GPT-4o", "o3-mini")
# Our category names and the paper's, in its order.
_CATEGORIES = {
    "": "Overall", "constrained": "Constrained", "compositional": "Compositional", "multi_turn": "Multi-turn", "system": "System",
}  # fmt: skip
_SPOKEN = {"balanced_accuracy": "Balanced accuracy", "macro_f1": "Macro F1", "accuracy": "Accuracy"}


def result_tables(
    frame: DataFrame, judges: Sequence[str], *, rules: str, published: bool, temperature: float
) -> list[Table]:  # fmt: skip
    """Return every table of a meta-evaluation that has rows, those for a screen first.

    `frame` is that of `scores.verdict_frame`, `judges` are the single ones, and with `published` the paper's rows stand
    beside.
    """
    first = frame[frame["asked"] == FIRST]
    single = first[first["judge"].isin(judges)]
    agreed = scores.agreements(first, rules)
    groups = (*JUDGED, Column("split", "Split"), Column("by", "By"), Column("group", "Group"))
    reasons = [
        {"judge": judge, "paradigm": paradigm, "reason": reason, "rows": count}
        for (judge, paradigm), part in first[~first["label"].isin(["yes", "no"])].groupby(WHO, observed=True)
        for reason, count in Counter(part["reason"]).most_common(_REASONS)
    ]
    tables = [
        _judges(scores.overview(first, rules), agreed),
        _differences(first),
        *_panels(single),
        *_pass_rates(single),
        *wording_tables(frame, temperature),
        *attack_tables(frame),
        *_grouped(first, agreed, published),
        # Every measure in every group: for files and other programs.
        Table("agreement", (*groups, *map(measure, ABOUT), *_COUNTS.values()), agreed, "Agreement in every group",
              keys=5, printed=False, on_page=False),
        Table("undecided", (*JUDGED, Column("rows", "rows", "count"), Column("reason", "reason", "prose")), reasons,
              "Why rubrics were left undecided", keys=2, printed=False),
    ]  # fmt: skip
    return [table for table in tables if any(not row.get(PUBLISHED) for row in table.rows)]


def _judges(overview: Sequence[Row], agreed: Sequence[Row]) -> Table:
    """Judges against the labels: on a screen six columns, on the page every measure, votes and refusals."""
    pooled = [row for row in agreed if (row["split"], row["by"]) == ("all", MEAN)]
    means = {(row["judge"], row["paradigm"]): row["balanced_accuracy"] for row in pooled}
    columns = [
        *JUDGED, measure("balanced_accuracy", parts=BOTH, drawn=True), measure("macro_f1"), measure("kappa"), _COUNTS["n"],
        _COUNTS["undecided"], *(measure(name, minor=3) for name in list(ABOUT)[3:]), *_TYPES.values(),
        *list(_COUNTS.values())[2:],
    ]  # fmt: skip
    rows = [row | {"mean": means[row["judge"], row["paradigm"]]} for row in overview]
    note = "Shares in percent; 95 % intervals take the rows of an instruction together."
    return Table("judges", columns, rows, "Judges against the labels", note, keys=2)


def _differences(first: DataFrame) -> Table:
    """Every two judges under each paradigm."""
    pairs = differences(first, ["paradigm"], measures=("balanced_accuracy",)).to_dict("records")
    rows = [
        pair | {"difference": pair["balanced_accuracy"].score, "ahead": _AHEAD[pair["balanced_accuracy"].ahead]}
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


def _panels(single: DataFrame) -> list[Table]:
    """What three judges or more are worth together under each paradigm, and judge by judge."""
    summaries, members = list[Row](), list[Row]()
    for paradigm, part in single.groupby("paradigm", observed=True):
        if worth := panel_worth(part):
            summaries.append({
                "paradigm": paradigm, "judges": len(worth.members), "votes": worth.votes,
                "balanced_accuracy": worth.balanced_accuracy, "best": worth.best, "gain": worth.gain.score,
                "leave_out": worth.leave_out, "n": worth.n,
            })  # fmt: skip
            members += [
                {
                    "paradigm": paradigm, "judge": member.judge, "balanced_accuracy": member.balanced_accuracy,
                    "correlation": member.correlation, "without": member.without.score,
                }
                for member in worth.members
            ]  # fmt: skip
    points: dict[str, Any] = {"unit": "points", "digits": 1, "parts": BOTH}
    columns = (
        JUDGED[1], Column("judges", "judges", "count"),
        Column(
            "votes", "votes", "score", "As many independent judges are worth as much, by how far errors on the same rubrics are "
            "correlated.", "", digits=1, parts=BOTH,
        ),
        Column("balanced_accuracy", "BAcc", "number", "Of the majority; a tie is half right."),
        Column("best", "best judge", minor=1),
        Column(
            "gain", "gain", "score", "Points over the best judge alone; the interval allows for its being picked on these rubrics.",
            **points,
        ),
        Column("leave_out", "leave out", about="Without this judge the majority is surely better.", minor=2),
        Column("n", "rows", "count", "Labelled rubrics that all judged.", minor=3),
    )  # fmt: skip
    by_judge = (
        JUDGED[1], JUDGED[0], Column("balanced_accuracy", "BAcc alone", "number"),
        Column(
            "correlation", "errors correlate", "number", "Mean correlation of its errors with those of each other judge, among "
            "rubrics with the same label.", "",
        ),
        Column("without", "majority without it", "score", "Points that leaving the judge out adds.", **points),
    )  # fmt: skip
    return [
        Table("panels", columns, summaries, "Panel"),
        Table("panel_members", by_judge, members, "Panel, judge by judge", keys=2, printed=False),
    ]


def _pass_rates(single: DataFrame) -> list[Table]:
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


def _grouped(first: DataFrame, agreed: Sequence[Row], published: bool) -> list[Table]:
    """Agreement group by group, wide: by category and overall as in the paper's Tables 2, 3 and 9, by type as in Table 4."""
    labelled = set(first.loc[first["gold"].notna(), "instruction_category"])
    missing = [name for name in INSTRUCTION_CATEGORIES if name not in labelled]
    why = f"; here it is left open, for there are no labelled rows of {', '.join(missing)}" if missing else ""
    note = f"Overall is the unweighted mean of the paper's four categories{why}."
    rows = [*agreed, *(_published() if published else [])]
    by_category = ("instruction_category", MEAN)
    return [
        _wide("by_category", rows, by_category, note=note, printed=published),
        _wide("f1_by_category", rows, by_category, "macro_f1", note),
        _reasoning(agreed, published),
        _wide("accuracy_by_type", rows, ("rubric_type", "dimension", ""), "accuracy", splits=False),
        *(_wide(f"by_{name}", rows, (name,), splits=False) for name in ("rubric_type", "dimension", "language")),
    ]


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
    columns = (*JUDGED, Column("split", "Split"), Column("by", ""), Column("group", ""), Column("score", "", "score"))
    long = Table(name, columns, rows, f"{_SPOKEN[of]} by {what}", note, keys=5, printed=printed)
    return long.spread(("by", "group"), "score")


def _reasoning(agreed: Sequence[Row], published: bool) -> Table:
    """What reasoning adds to the mean of categories, beside the paper's gains."""
    means = {
        (row["judge"], row["split"], row["paradigm"]): row["balanced_accuracy"] for row in agreed if row["by"] == MEAN
    }
    rows: list[Row] = []
    for (judge, split, paradigm), after in means.items():
        level, _, reasoning = paradigm.partition("-")
        before = means.get((judge, split, level))
        if reasoning and before and before.value is not None and after.value is not None:
            gain = Score(after.value - before.value, after.n)
            rows.append({"judge": judge, "level": level, "split": split, "gain": gain})
    rows += [
        {"judge": model, "level": _level(row), "split": "all", "gain": _printed(gain), PUBLISHED: True}
        for row in (paper_rows("rubric_eval", "rubriceval_table3") if published else ())
        for short, model in _PAPER_MODELS.items()
        if (gain := row[f"Overall/{short}/gain"]) is not None
    ]
    gain_column = Column(
        "gain", "gain", "score", "Mean of categories with reasoning less that without.", "points", digits=1
    )
    columns = (JUDGED[0], Column("level", "Granularity"), Column("split", "Split"), gain_column)
    return Table("reasoning", columns, rows, "What reasoning adds", keys=3, printed=False)


def _level(row: Row) -> str:
    return str(row["Granularity"].removesuffix("-level").lower())


def _published() -> list[Row]:
    """The paper's figures as rows of agreement: its Tables 2 (rubric level with reasoning), 3 and 9 by category, and 4."""
    printed = [
        (f"{row['Model']} (Table 2)", "rubric-reasoning", measure, ending, row)
        for row in paper_rows("rubric_eval", "rubriceval_table2")
        for measure, ending in (("balanced_accuracy", "BAcc"), ("macro_f1", "mF1"))
    ]
    for number in (3, 9):
        for row in paper_rows("rubric_eval", f"rubriceval_table{number}"):
            paradigm = f"{_level(row)}-reasoning" if row["Reasoning"] else _level(row)
            for short, model in _PAPER_MODELS.items():
                printed.append((f"{model} (Table {number})", paradigm, "balanced_accuracy", short, row))
    rows = [
        {"judge": judge, "paradigm": paradigm, "split": row.get("Split", "all").lower(), "group": name,
         "by": "instruction_category" if name else MEAN, measure: _printed(row[f"{title}/{column}"]), PUBLISHED: True}
        for judge, paradigm, measure, column, row in printed for name, title in _CATEGORIES.items()
    ]  # fmt: skip
    by = {"type": "rubric_type", "dimension": "dimension"}
    for judge in _JUDGES_OF_TABLE_4:
        for row in paper_rows("rubric_eval", "rubriceval_table4"):
            name = (row["Rubric Type"] or row["Dimension"] or "").lower().replace(" ", "_").replace("-", "_")
            keys = {"judge": judge, "paradigm": "rubric-reasoning", "split": "all", "by": by.get(row["Level"], "")}
            rows.append(keys | {"group": name, "accuracy": _printed(row[judge]), PUBLISHED: True})
    return rows


def _printed(percent: float | None) -> Score | None:
    return None if percent is None else Score(percent / 100, 0)
