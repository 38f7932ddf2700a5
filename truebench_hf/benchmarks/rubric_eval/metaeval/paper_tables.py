"""The paper's tables 2, 3, 4 and 9 with our judges in them and its own rows beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval.scores import Cell, JudgeScores
from truebench_hf.data.rubrics import DIMENSIONS, RUBRIC_TYPES
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Grid, fixed, percent, points, value

# Our category names and the paper's, in its order.
_CATEGORIES = {
    "constrained": "Constrained", "compositional": "Compositional", "multi_turn": "Multi-turn", "system": "System",
}  # fmt: skip
_PAPER_MODELS = {"Qwen": "Qwen2.5-32B-Instruct", "GPT": "GPT-4.1"}  # of its tables 3 and 9
_JUDGES_OF_TABLE_4 = ("Qwen3", "gpt-oss", "GPT-4o", "o3-mini")


def paradigms(scores: Sequence[JudgeScores], split: str = "all", published: bool = False) -> Grid:
    """Balanced accuracy per category under each paradigm, with what reasoning adds (Table 3; Table 9 for a split)."""
    rows = []
    for entry in scores:
        if split not in entry.splits:
            continue
        granularity, _, reasoning = entry.paradigm.partition("-")
        overall = entry.splits[split].mean["balanced_accuracy"].value
        without = next((s for s in scores if (s.judge, s.paradigm) == (entry.judge, granularity)), None)
        before = without.splits[split].mean["balanced_accuracy"].value if without and split in without.splits else None
        gain = points(overall - before) if reasoning and overall is not None and before is not None else ""
        mode = "-" if granularity == "decision" else "on" if reasoning else "off"
        cells = [_of(entry.splits[split].by_category, name, "balanced_accuracy") for name in _CATEGORIES]
        rows.append((entry.judge, granularity, mode, *cells, percent(overall), gain))
    table = 3 if split == "all" else 9
    paper = [
        (
            full, row["Granularity"].removesuffix("-level").lower(), "on" if row["Reasoning"] else "off",
            *(f"{row[f'{name}/{short}']:.2f}" for name in (*_CATEGORIES.values(), "Overall")),
            f"{more:+.1f}" if (more := row.get(f"Overall/{short}/gain")) is not None else "",
        )
        for row in paper_rows("rubric_eval", f"rubriceval_table{table}") if split == "all" or row["Split"].lower() == split
        for short, full in _PAPER_MODELS.items()
        if published
    ]  # fmt: skip
    header = ("Judge", "granularity", "reasoning", *_CATEGORIES.values(), "Overall", "gain")
    note = f"{mean_note('Overall', scores, split)} gain: points that reasoning adds.{_of_paper(table, published)}"
    return Grid(
        f"Balanced accuracy by paradigm (like the paper's table {table}){_on(split)}",
        header,
        tuple(rows),
        tuple(paper),
        note,
        printed=split == "all",
    )


def main_table(scores: Sequence[JudgeScores], split: str = "all", published: bool = False) -> Grid:
    """Balanced accuracy and macro F1 per category and overall (Table 2); paper rows of the same split, or of both."""
    rows = []
    for name, entry in named(scores):
        if split in entry.splits:
            cells = [*(entry.splits[split].by_category.get(c) for c in _CATEGORIES), entry.splits[split].mean]
            pairs = [(value(c["balanced_accuracy"]), value(c["macro_f1"])) if c else ("-", "-") for c in cells]
            rows.append((name, *(text for pair in pairs for text in pair)))
    measured = [f"{name}/{m}" for name in (*_CATEGORIES.values(), "Overall") for m in ("BAcc", "mF1")]
    paper = [
        (f"{row['Model']} ({row['Split'].lower()})", *(f"{row[column]:.2f}" for column in measured))
        for row in paper_rows("rubric_eval", "rubriceval_table2")
        if published and (split not in ("easy", "hard") or row["Split"].lower() == split)
    ]
    header = ("Judge", *(column.replace("/", " ") for column in measured))
    note = f"{mean_note('Overall', scores, split)}{_of_paper(2, published, ', rubric level with reasoning')}"
    return Grid(
        f"Judges per category (like the paper's table 2){_on(split)}",
        header,
        tuple(rows),
        tuple(paper),
        note,
        printed=False,
    )


def types(scores: Sequence[JudgeScores], published: bool = False) -> Grid:
    """Accuracy per rubric type under its dimension (Table 4); the paper's four judges in columns of their own if asked."""
    lines, judges = named(scores), _JUDGES_OF_TABLE_4 if published else ()
    paper = {
        row["Rubric Type"] or row["Dimension"] or "Overall": row
        for row in paper_rows("rubric_eval", "rubriceval_table4")
    }
    rows: list[tuple[str, ...]] = []
    for dimension in DIMENSIONS:
        ours = [_of(entry.by_dimension, dimension, "accuracy") for _, entry in lines]
        rows.append((dimension.upper(), *ours, *_printed(judges, paper.get(dimension.capitalize()))))
        for kind in (kind for kind in RUBRIC_TYPES.values() if kind.dimension == dimension):
            ours = [_of(entry.by_type, kind.name, "accuracy") for _, entry in lines]
            rows.append((kind.name, *ours, *_printed(judges, _same_type(paper, kind.name))))
    overall = [value(entry.splits["all"].pooled["accuracy"]) for _, entry in lines]
    rows.append(("OVERALL", *overall, *_printed(judges, paper.get("Overall"))))
    header = ("Rubric type", *(name for name, _ in lines), *(f"paper: {name}" for name in judges))
    last = " The last four columns are the paper's table 4, on its own data." if published else ""
    note = f"Accuracy in percent over decided rows.{last}"
    return Grid("Accuracy by rubric type (like the paper's table 4)", header, tuple(rows), note=note, printed=False)


def mean_note(name: str, scores: Sequence[JudgeScores], split: str = "all") -> str:
    """What the mean is, and why there is none; all judges decided the same rows, so one of them tells."""
    missing = next((entry.splits[split].missing for entry in scores if split in entry.splits), ())
    why = f"; here it is left open, for there are no labelled rows of {', '.join(missing)}" if missing else ""
    return f"{name} is the unweighted mean of the four categories, as in the paper{why}."


def named(scores: Sequence[JudgeScores]) -> list[tuple[str, JudgeScores]]:
    """Each judge under each paradigm, with the name it has in a table."""
    return [(f"{entry.judge} {entry.paradigm}", entry) for entry in scores]


def _of(cells: Mapping[str, Cell], name: str, measure: str) -> str:
    return value(cells[name][measure]) if name in cells else "-"


def _same_type(paper: Mapping[str, Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    plain = {name.lower().replace("-", "_").replace(" ", "_"): row for name, row in paper.items()}
    return plain.get(kind)


def _printed(judges: Sequence[str], row: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple(fixed(row[name] if row else None, 1) for name in judges)


def _of_paper(table: int, published: bool, how: str = "") -> str:
    return f" Paper rows: its table {table}, on its own data{how}." if published else ""


def _on(split: str) -> str:
    return "" if split == "all" else f", split {split}"
