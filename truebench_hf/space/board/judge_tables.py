"""What papers print of judges, as charts of their own: other data than ours, so never in one chart with what was measured."""

from __future__ import annotations

from functools import cache
from typing import Any

from truebench_hf.benchmarks.facts import paper as facts_paper
from truebench_hf.comparing.papers import PARADIGM_MODELS, table
from truebench_hf.space.board.judges import Chart, Row, Rows, bar
from truebench_hf.space.board.page import Bar, Cell
from truebench_hf.types import Score

_NOT_PRINTED = "the print cannot be read with certainty"
_TABLE_4 = ("Qwen3", "gpt-oss", "GPT-4o", "o3-mini")


@cache
def rubric_eval() -> tuple[Chart, ...]:
    """RubricEval's Table 2 (judges), Tables 3 and 9 (ways of asking) and Table 4 (types of rubrics). No intervals."""
    return _main(), _paradigms(), _types()


@cache
def facts() -> tuple[Chart, ...]:
    """FACTS Grounding's Tables 2 and 4: prompt templates of three judges against human labels."""
    return (
        _templates(
            2, "Is the answer grounded? Seven templates for each judge (Table 2)",
            "Macro-F1 and shares in %, against human labels. The printed shares fit 344 positive and 62 negative answers "
            "exactly, and not the 402 of the caption.",
        ),
        _templates(
            4, "Does the answer do what was asked? Two templates for each judge (Table 4)",
            "Macro-F1 and shares in %, against human labels of 450 answers.",
        ),
    )  # fmt: skip


def _main() -> Chart:
    found: dict[str, dict[str, float]] = {"Hard": {}, "Easy": {}}
    for row in table("rubriceval_table2_main")["rows"]:
        found[row["Split"]][row["Model"]] = row["Overall/BAcc"]
    groups = tuple(
        Rows(split, tuple(Row(model, (_bar(of[model]),)) for model in sorted(of, key=lambda model: -of[model])))
        for split, of in found.items()
    )
    note = (
        "In %, mean of the four instruction categories; rubric by rubric, with reasoning. The mark at 50 is chance. Four "
        "judges were run on both parts."
    )
    return Chart("Judges on easy and hard rubrics (Table 2)", ("Judge", "Balanced accuracy"), groups, note)


def _paradigms() -> Chart:
    parts = {"": table("rubriceval_table3_paradigms")["rows"]}
    for row in table("rubriceval_table9_paradigms_by_split")["rows"]:
        parts.setdefault(row["Split"], []).append(row)
    asked = {(row["Granularity"], row["Reasoning"]): _asked(row) for row in parts[""]}
    groups = tuple(
        Rows(model, tuple(
            Row(said, tuple(_bar(_of(rows, how).get(f"Overall/{short}")) for rows in parts.values()))
            for how, said in asked.items()
        ))
        for short, model in PARADIGM_MODELS.items()
    )  # fmt: skip
    heads = ("Judge and paradigm", "Both", *(name for name in parts if name))
    note = "In %, on a subset of the paper's data; the mark at 50 is chance. The paper does not ask for decisions."
    return Chart("Balanced accuracy by paradigm (Tables 3 and 9)", heads, groups, note)


def _types() -> Chart:
    rows, groups = table("rubriceval_table4_rubric_types")["rows"], dict[str, list[Row]]()
    for row in rows:
        if row["Level"] != "dimension":
            cells = tuple(_bar(row[judge]) for judge in _TABLE_4)
            groups.setdefault(row["Dimension"] or "", []).append(Row(row["Rubric Type"] or "All", cells))
    made = tuple(Rows(name or "All types", tuple(of)) for name, of in groups.items())
    note = "Plain accuracy in %, as printed: not to be held against balanced accuracy above."
    return Chart("Accuracy by type of rubric (Table 4)", ("Type", *_TABLE_4), made, note, chance=False, wide=True)


def _templates(number: int, title: str, note: str) -> Chart:
    groups: dict[str, list[Row]] = {}
    for row in facts_paper.paper_rows(number):
        figures = (Cell(f"{row[name]:.1f}", row[name]) for name in ("Acc.", "FPR", "FNR"))
        made = Row(row["Prompt Template"], (_bar(row["Macro-F1"]), *figures), row["Chosen"])
        groups.setdefault(row["Judge Model"], []).append(made)
    heads = ("Judge and template", "Macro-F1", "Accuracy", "False positives", "False negatives")
    return Chart(title, heads, tuple(Rows(name, tuple(rows)) for name, rows in groups.items()), note, chance=False)


def _asked(row: dict[str, Any]) -> str:
    level = row["Granularity"].removesuffix("-level").lower()
    return f"{level}, {'reasoning' if row['Reasoning'] else 'no reasoning'}"


def _of(rows: list[dict[str, Any]], how: tuple[str, bool]) -> dict[str, Any]:
    return next((row for row in rows if (row["Granularity"], row["Reasoning"]) == how), {})


def _bar(printed: float | None) -> Bar:
    return bar(None if printed is None else Score(printed / 100, 0), _NOT_PRINTED)
