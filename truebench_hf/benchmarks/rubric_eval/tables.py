"""A meta-evaluation in the shape of the paper's tables and figures (2, 3, 4, 9; figure 5), its rows beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.paper import paper_rows
from truebench_hf.benchmarks.rubric_eval.rubric_types import DIMENSIONS, RUBRIC_TYPES
from truebench_hf.benchmarks.rubric_eval.scores import Cell, JudgeScores, Study
from truebench_hf.report.figures import Dot, Dots, Figure, Grid
from truebench_hf.report.tables import interval, value

# Our category names and the paper's, in its order.
_CATEGORIES = {
    "constrained": "Constrained", "compositional": "Compositional", "multi_turn": "Multi-turn", "system": "System",
}  # fmt: skip
_PAPER_MODELS = {"Qwen": "Qwen2.5-32B-Instruct", "GPT": "GPT-4.1"}  # of its tables 3 and 9
_JUDGES_OF_TABLE_4 = ("Qwen3", "gpt-oss", "GPT-4o", "o3-mini")


def figures(study: Study) -> list[Figure]:
    """Everything the report shows, in order; the grids marked `printed` go to the terminal as well."""
    scores, splits = study.scores, list(dict.fromkeys(name for entry in study.scores for name in entry.splits))
    shown: list[Figure] = [overview(scores), _accuracy_dots(scores)]
    shown += [paradigms(scores, split) for split in splits]
    shown += [gridded for gridded in (spreads(study), _spread_dots(study)) if gridded is not None]
    shown += [main_table(scores, split) for split in splits]
    shown += [types(scores)]
    shown += [_by("Dimension", {name: s.by_dimension for name, s in _named(scores)})]
    shown += [_by("Language", {name: s.by_language for name, s in _named(scores)})]
    return [*shown, *([_reasons(scores)] if any(entry.reasons for entry in scores) else [])]


def overview(scores: Sequence[JudgeScores]) -> Grid:
    """One line per judge and paradigm: agreement over all rows with intervals, what is undecided, what it cost."""
    header = (
        "Judge", "Paradigm", "BAcc", "95 % interval", "BAcc strict", "mF1", "Acc", "TPR", "TNR", "n", "undecided",
        "mean BAcc", "passes", "flips", "share", "calls", "tokens in", "tokens out",
    )  # fmt: skip
    rows = []
    for entry in scores:
        cell, mean = entry.splits["all"].pooled, entry.splits["all"].mean
        best = cell["balanced_accuracy"]
        cost = entry.usage
        spent = ("-",) * 3 if entry.is_panel else tuple(
            f"{n:,}" for n in (cost.calls, cost.input_tokens, cost.output_tokens)
        )  # fmt: skip
        measures = ("balanced_accuracy_strict", "macro_f1", "accuracy", "tpr", "tnr")
        rows.append((
            entry.judge, entry.paradigm, value(best), interval(best), *(value(cell[name]) for name in measures),
            str(best.n), str(best.unscored), value(mean["balanced_accuracy"]), value(entry.pass_rate),
            *("-" if score is None else value(score) for score in (entry.flip_rate, entry.vote_share)), *spent,
        ))  # fmt: skip
    note = (
        "In percent. BAcc over decided rows, strict with undecided = wrong; intervals resample whole instructions. "
        f"{_mean_note('mean BAcc', scores)} passes: share of rubrics the judge passes. flips: share of rubrics whose "
        "votes differ. share: mean share of the votes cast that agree with the verdict."
    )
    return Grid("Judges by paradigm, all rows pooled", header, tuple(rows), note=note)


def paradigms(scores: Sequence[JudgeScores], split: str = "all") -> Grid:
    """Balanced accuracy per category under each paradigm, with what reasoning adds (Table 3; Table 9 for a split)."""
    rows = []
    for entry in scores:
        if split not in entry.splits:
            continue
        granularity, _, reasoning = entry.paradigm.partition("-")
        overall = entry.splits[split].mean["balanced_accuracy"].value
        without = next((s for s in scores if (s.judge, s.paradigm) == (entry.judge, granularity)), None)
        before = without.splits[split].mean["balanced_accuracy"].value if without and split in without.splits else None
        gain = f"{overall - before:+.1f}" if reasoning and overall is not None and before is not None else ""
        mode = "-" if granularity == "decision" else "on" if reasoning else "off"
        cells = [_of(entry.splits[split].by_category, name, "balanced_accuracy") for name in _CATEGORIES]
        rows.append((entry.judge, granularity, mode, *cells, "-" if overall is None else f"{overall:.2f}", gain))
    table = 3 if split == "all" else 9
    paper = [
        (
            full, row["Granularity"].removesuffix("-level").lower(), "on" if row["Reasoning"] else "off",
            *(f"{row[f'{name}/{short}']:.2f}" for name in (*_CATEGORIES.values(), "Overall")),
            f"{more:+.1f}" if (more := row.get(f"Overall/{short}/gain")) is not None else "",
        )
        for row in paper_rows(table) if split == "all" or row["Split"].lower() == split
        for short, full in _PAPER_MODELS.items()
    ]  # fmt: skip
    header = ("Judge", "granularity", "reasoning", *_CATEGORIES.values(), "Overall", "gain")
    note = f"{_mean_note('Overall', scores, split)} gain: points that reasoning adds. Paper rows: its table {table}, on its own data."
    return Grid(
        f"Balanced accuracy by paradigm (like the paper's table {table}){_on(split)}",
        header,
        tuple(rows),
        tuple(paper),
        note,
    )


def main_table(scores: Sequence[JudgeScores], split: str = "all") -> Grid:
    """Balanced accuracy and macro F1 per category and overall (Table 2); paper rows of the same split, or of both."""
    rows = []
    for name, entry in _named(scores):
        if split in entry.splits:
            cells = [*(entry.splits[split].by_category.get(c) for c in _CATEGORIES), entry.splits[split].mean]
            pairs = [(value(c["balanced_accuracy"]), value(c["macro_f1"])) if c else ("-", "-") for c in cells]
            rows.append((name, *(text for pair in pairs for text in pair)))
    measured = [f"{name}/{m}" for name in (*_CATEGORIES.values(), "Overall") for m in ("BAcc", "mF1")]
    paper = [
        (f"{row['Model']} ({row['Split'].lower()})", *(f"{row[column]:.2f}" for column in measured))
        for row in paper_rows(2)
        if split not in ("easy", "hard") or row["Split"].lower() == split
    ]
    header = ("Judge", *(column.replace("/", " ") for column in measured))
    note = (
        f"{_mean_note('Overall', scores, split)} Paper rows: its table 2, on its own data, rubric level with reasoning."
    )
    return Grid(
        f"Judges per category (like the paper's table 2){_on(split)}",
        header,
        tuple(rows),
        tuple(paper),
        note,
        printed=split == "all",
    )


def types(scores: Sequence[JudgeScores]) -> Grid:
    """Accuracy per rubric type under its dimension (Table 4); the paper's four judges stand in columns of their own."""
    named = _named(scores)
    paper = {row["Rubric Type"] or row["Dimension"] or "Overall": row for row in paper_rows(4)}
    rows: list[tuple[str, ...]] = []
    for dimension in DIMENSIONS:
        ours = [_of(entry.by_dimension, dimension, "accuracy") for _, entry in named]
        rows.append((dimension.upper(), *ours, *_printed(paper.get(dimension.capitalize()))))
        for kind in (kind for kind in RUBRIC_TYPES.values() if kind.dimension == dimension):
            ours = [_of(entry.by_type, kind.name, "accuracy") for _, entry in named]
            rows.append((kind.name, *ours, *_printed(_same_type(paper, kind.name))))
    overall = [value(entry.splits["all"].pooled["accuracy"]) for _, entry in named]
    rows.append(("OVERALL", *overall, *_printed(paper.get("Overall"))))
    header = ("Rubric type", *(name for name, _ in named), *(f"paper: {name}" for name in _JUDGES_OF_TABLE_4))
    note = "Accuracy in percent over decided rows. The last four columns are the paper's table 4, on its own data."
    return Grid("Accuracy by rubric type (like the paper's table 4)", header, tuple(rows), note=note, printed=False)


def spreads(study: Study) -> Grid | None:
    """How far the judges' pass rates lie apart per paradigm (figure 5); None with fewer than two judges."""
    if not study.spreads:
        return None
    judges = list(dict.fromkeys(name for apart in study.spreads.values() for name in apart.pass_rates))
    rows = [
        (
            paradigm, *(f"{apart.pass_rates[name]:.2f}" for name in judges), f"{apart.gap:.1f}",
            "-" if apart.reference is None else f"{apart.reference:.2f}", str(apart.n), str(apart.left_out),
        )
        for paradigm, apart in study.spreads.items()
    ]  # fmt: skip
    header = ("Paradigm", *judges, "gap in points", "by the labels", "n", "left out")
    note = (
        "Share of rubrics each judge passes, over those that all judges decided. The paper's three judges lie 25 points "
        "apart at checklist level without reasoning (55 to 80 %) and 12 at rubric level with it (62 to 74 %)."
    )
    return Grid(
        "Pass rates of the judges on the same responses (like the paper's figure 5)", header, tuple(rows), note=note
    )


def _by(what: str, columns: Mapping[str, Mapping[str, Cell]]) -> Grid:
    names = list(dict.fromkeys(name for cells in columns.values() for name in cells))
    rows = []
    for name in names:
        cells = [column.get(name) for column in columns.values()]
        sizes = [c["balanced_accuracy_strict"].n for c in cells if c]
        texts = [_with_interval(c) if c else "-" for c in cells]
        rows.append((name, *texts, str(max(sizes, default=0))))
    note = "Balanced accuracy in percent over decided rows, with its 95 % interval."
    return Grid(f"Balanced accuracy by {what.lower()}", (what, *columns, "rows"), tuple(rows), note=note, printed=False)


def _with_interval(cell: Cell) -> str:
    score = cell["balanced_accuracy"]
    return f"{value(score)} ({interval(score)})" if score.ci95 else value(score)


def _reasons(scores: Sequence[JudgeScores]) -> Grid:
    rows = [(e.judge, e.paradigm, str(count), reason[:300]) for e in scores for reason, count in e.reasons.items()]
    return Grid("Why rubrics were left undecided", ("Judge", "Paradigm", "rows", "reason"), tuple(rows), printed=False)


def _accuracy_dots(scores: Sequence[JudgeScores]) -> Dots:
    return _dots(
        "Balanced accuracy by paradigm",
        ((e.paradigm, e.judge, e.splits["all"].pooled["balanced_accuracy"]) for e in scores),
        50.0,
        "All rows pooled, with 95 % intervals. The dashed line is chance.",
    )


def _spread_dots(study: Study) -> Dots | None:
    if not study.spreads:
        return None
    lines = tuple(
        (paradigm, tuple(Dot(name, rate) for name, rate in apart.pass_rates.items()))
        for paradigm, apart in study.spreads.items()
    )
    reference = next((s.reference for s in study.spreads.values() if s.reference is not None), None)
    return Dots("How far the judges' pass rates lie apart", lines, mark=reference, note="Dashed: the labels' own rate.")


def _dots(title: str, values: Iterable[tuple[str, str, Any]], mark: float, note: str) -> Dots:
    lines: dict[str, list[Dot]] = {}
    for line, series, score in values:
        if score.value is not None:
            lines.setdefault(line, []).append(Dot(series, score.value, score.ci95))
    return Dots(title, tuple((line, tuple(dots)) for line, dots in lines.items()), mark=mark, note=note)


def _mean_note(name: str, scores: Sequence[JudgeScores], split: str = "all") -> str:
    """What the mean is, and why there is none; all judges decided the same rows, so one of them tells."""
    missing = next((entry.splits[split].missing for entry in scores if split in entry.splits), ())
    why = f"; here it is left open, for there are no labelled rows of {', '.join(missing)}" if missing else ""
    return f"{name} is the unweighted mean of the four categories, as in the paper{why}."


def _named(scores: Sequence[JudgeScores]) -> list[tuple[str, JudgeScores]]:
    return [(f"{entry.judge} {entry.paradigm}", entry) for entry in scores]


def _of(cells: Mapping[str, Cell], name: str, measure: str) -> str:
    return value(cells[name][measure]) if name in cells else "-"


def _same_type(paper: Mapping[str, Mapping[str, Any]], kind: str) -> Mapping[str, Any] | None:
    plain = {name.lower().replace("-", "_").replace(" ", "_"): row for name, row in paper.items()}
    return plain.get(kind)


def _printed(row: Mapping[str, Any] | None) -> tuple[str, ...]:
    return tuple("-" if row is None or row[name] is None else f"{row[name]:.1f}" for name in _JUDGES_OF_TABLE_4)


def _on(split: str) -> str:
    return "" if split == "all" else f", split {split}"
