"""What leaderboards show of a meta-evaluation: a row per judge, paradigm and split of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval.scores import MEAN, PARADIGMS, Row
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.report.sections import percent
from truebench_hf.report.table import Column, Table
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.ranking import COST, BoardColumn, Ranking
from truebench_hf.text import anonymous
from truebench_hf.types import Score, Usage

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


def ranking(
    tables: Mapping[str, Table], provenance: Mapping[str, Any], usage: Mapping[tuple[str, str], Usage]
) -> Ranking:
    """Return the place of the judges of a study. They are ranked together over the same data and split, however asked.

    `usage` is what each judge took under each paradigm. Judges with rules beside them are not ranked with those that decide all by themselves.
    """
    rows: dict[tuple[str, ...], Row] = {}
    for record in tables["agreement"].rows:
        judge, paradigm, split, by = (record[name] for name in ("judge", "paradigm", "split", "by"))
        row = rows.setdefault((judge, paradigm, split), {"judge": judge, "split": split})
        if by == MEAN:
            row[MAIN.name] = record["balanced_accuracy"]
        row |= {} if by else {f"pooled:{name}": record[name] for name in _POOLED}
        for column, prefix, score, _, names in _OF_GROUP:
            if column == by and record["group"] in names:
                row[f"{prefix}{record['group']}"] = record[score]
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
