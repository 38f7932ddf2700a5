"""What a meta-evaluation shows, in order: the overview, the paper's tables 2, 3, 4 and 9, pass rates side by side (figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval import rewording, robustness
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import Cell, JudgeScores, MetaEvaluation
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import (
    Dot,
    Dots,
    Grid,
    Section,
    dot,
    fixed,
    interval,
    percent,
    points,
    points_between,
    value,
)

TITLE = "RubricEval: judges measured"
LEAD = "How far judges agree with reference labels, rubric by rubric."
MANY = 10  # pairs of judges: more are for the page
_COUNTED = ("pooled", "per instruction")
# Our category names and the paper's, in its order.
_CATEGORIES = {
    "constrained": "Constrained", "compositional": "Compositional", "multi_turn": "Multi-turn", "system": "System",
}  # fmt: skip
_PAPER_MODELS = {"Qwen": "Qwen2.5-32B-Instruct", "GPT": "GPT-4.1"}  # of its tables 3 and 9
_JUDGES_OF_TABLE_4 = ("Qwen3", "gpt-oss", "GPT-4o", "o3-mini")


def sections(study: MetaEvaluation, published: bool = False) -> list[Section]:
    """Everything the report shows, in order; with the paper's own figures where they are asked for (`published`)."""
    scores, splits = study.scores, list(dict.fromkeys(name for entry in study.scores for name in entry.splits))
    shown: list[Section] = [
        overview(scores),
        *_differences(study),
        *_panels(study),
        *_apart(scores),
        _accuracy_dots(scores),
        every_measure(scores),
    ]
    names = {name for entry in scores for cells in entry.splits.values() for name in cells.by_category}
    by_category, others = names & set(INSTRUCTION_CATEGORIES), names - set(INSTRUCTION_CATEGORIES)
    shown += [paradigms(scores, split, published) for split in splits if by_category]
    shown += [gridded for gridded in (spreads(study), _spread_dots(study)) if gridded is not None]
    if study.reworded:
        shown.append(rewording.section(study.reworded, study.provenance["judge_temperature"]))
    if study.attacked:
        shown += robustness.sections(study.attacked)
    shown += [main_table(scores, split, published) for split in splits if by_category]
    shown += [types(scores, published)] if any(entry.by_type for entry in scores) else []
    shown += _by("Category", {name: s.splits["all"].by_category for name, s in named(scores)}) if others else []
    shown += _by("Dimension", {name: s.by_dimension for name, s in named(scores)})
    shown += _by("Language", {name: s.by_language for name, s in named(scores)})
    return [*shown, *([_reasons(scores)] if any(entry.reasons for entry in scores) else [])]


def overview(scores: Sequence[JudgeScores]) -> Grid:
    """One line per judge and paradigm: agreement over all rows, for a screen."""
    rows = []
    for entry in scores:
        cell = entry.splits["all"].pooled
        decided = cell["balanced_accuracy"]
        kappa = fixed(cell["kappa"].value, 2)
        rows.append((
            entry.judge, entry.paradigm, _with_interval(cell), value(cell["macro_f1"]), kappa, f"{decided.n} of {decided.n + decided.unscored}",
        ))  # fmt: skip
    note = (
        "BAcc: balanced accuracy in percent over decided rows; its 95 % interval takes rows of one instruction together. "
        "kappa: Cohen's. The report has every measure and group."
    )
    header = ("Judge", "Paradigm", "BAcc", "macro F1", "kappa", "decided")
    return Grid("Judges against the labels", header, tuple(rows), note=note)


def _differences(study: MetaEvaluation) -> list[Grid]:
    """How far every two judges lie apart; nothing with a single one."""
    rows = tuple(
        (
            one.first,
            one.second,
            one.paradigm,
            points(gap.difference),
            points_between(gap.interval),
            {1: "first", -1: "second", 0: "-"}[gap.ahead],
        )
        for one in study.differences
        for gap in [one.balanced_accuracy]
    )
    note = "Balanced accuracy of the first less that of the second on the same rows, in points; undecided is wrong."
    header = ("First", "Second", "Paradigm", "BAcc", "95 % interval", "surely better")
    return [Grid("Judges against each other", header, rows, note=note, printed=len(rows) <= MANY)] if rows else []


def _panels(study: MetaEvaluation) -> list[Grid]:
    """What the judges are worth together, and on the page judge by judge; nothing below three judges."""
    if not study.panels:
        return []
    rows = tuple(
        (
            paradigm, len(worth.members), fixed(worth.votes.value, 1), _span(worth.votes.ci95),
            percent(worth.balanced_accuracy, 2), worth.best, points(worth.gain.difference),
            points_between(worth.gain.interval), worth.leave_out or "-",
        )
        for paradigm, worth in study.panels.items()
    )  # fmt: skip
    note = (
        "votes: as many independent judges are worth as much, by how far their errors on the same rubrics are correlated. "
        "BAcc: of their majority; a tie is half right. gain: points over the best judge alone; the interval allows for "
        "its being picked on these rubrics. leave out: without it the majority is surely better."
    )
    header = ("Paradigm", "judges", "votes", "95 %", "BAcc", "best judge", "gain", "95 % interval", "leave out")
    members = tuple(
        (
            paradigm, member.judge, percent(member.balanced_accuracy, 2), fixed(member.correlation, 2),
            points(member.without.difference), points_between(member.without.interval),
        )
        for paradigm, worth in study.panels.items()
        for member in worth.members
    )  # fmt: skip
    single = ("Paradigm", "Judge", "BAcc alone", "errors correlate", "majority without it", "95 % interval")
    about = (
        "errors correlate: mean correlation of its errors with those of each other judge, among rubrics with the same label. "
        "majority without it: points that leaving it out adds."
    )
    return [
        Grid("Panel", header, rows, note=note),
        Grid("Panel, judge by judge", single, members, note=about, printed=False),
    ]


def _span(ends: tuple[float, float] | None) -> str:
    return f"{ends[0]:.1f} to {ends[1]:.1f}" if ends else ""


def every_measure(scores: Sequence[JudgeScores]) -> Grid:
    """The same with all measures, what is undecided, and what it cost; for the page."""
    header = (
        "Judge", "Paradigm", "BAcc", "95 % interval", "BAcc strict", "mF1", "Acc", "TPR", "TNR", "kappa", "95 % interval", "n", "undecided",
        "conflicting", "refused, gold yes", "refused, gold no", "p", "mean BAcc", "passes", "flips", "share", "calls", "tokens in", "tokens out",
    )  # fmt: skip
    rows = []
    for entry in scores:
        cell, mean = entry.splits["all"].pooled, entry.splits["all"].mean
        best, kappa = cell["balanced_accuracy"], cell["kappa"]
        spent = ("-",) * 3 if entry.is_panel else entry.usage.shown
        measures = ("balanced_accuracy_strict", "macro_f1", "accuracy", "tpr", "tnr")
        rows.append((
            entry.judge, entry.paradigm, value(best), interval(best), *(value(cell[name]) for name in measures),
            fixed(kappa.value, 2), f"{kappa.ci95[0]:.2f} to {kappa.ci95[1]:.2f}" if kappa.ci95 else "",
            str(best.n), str(best.unscored), str(entry.conflicting), *_refused(entry), value(mean["balanced_accuracy"]), value(entry.pass_rate),
            *("-" if score is None else value(score) for score in (entry.flip_rate, entry.vote_share)), *spent,
        ))  # fmt: skip
    note = (
        "In percent, but for kappa. BAcc over decided rows, strict with undecided = wrong; intervals take whole instructions "
        f"as clusters. {mean_note('mean BAcc', scores)} conflicting: rubrics that an answer gave two labels, which was asked "
        "again; a response can provoke it. refused: rubrics in an answer that could not be read, by their label, with Fisher's "
        "exact test of whether the two shares differ, rubrics taken one by one. passes: share of rubrics the judge passes. "
        "flips: share of rubrics whose votes differ. share: mean share of the votes cast that agree with the verdict."
    )
    return Grid("Judges by paradigm, all rows pooled", header, tuple(rows), note=note, printed=False)


def _refused(entry: JudgeScores) -> tuple[str, str, str]:
    if (refused := entry.refused) is None:
        return ("-",) * 3
    return value(refused.yes), value(refused.no), "-" if refused.p_value is None else f"{refused.p_value:.3g}"


def _apart(scores: Sequence[JudgeScores]) -> list[Grid]:
    """What rules decided and what judges did, side by side; nothing where rules decide nothing."""
    rows = []
    for entry in scores:
        if (apart := entry.apart) is not None:
            parts = (apart.by_judge, apart.by_rules, entry.splits["all"].pooled)
            cells = [text for cell in parts for text in _with_rows(cell)]
            rows.append((entry.judge, entry.paradigm, *cells, str(apart.decided), f"{apart.saved:,}"))
    header = (
        "Judge", "Paradigm", "BAcc of the judge", "on rows", "BAcc of the rules", "on rows", "BAcc together", "on rows",
        "decided by rules", "calls saved",
    )  # fmt: skip
    note = (
        "In percent, over labelled and decided rows, with 95 % intervals. The judge's rows are those that no rule decides, "
        "and are other ones than the rules'; what a judge reaches on all rows alone is measured with --rules off. Calls "
        "saved: for each vote of one judge."
    )
    return [Grid("Decided by rules, and by judges", header, tuple(rows), note=note)] if rows else []


def _with_rows(cell: Cell) -> tuple[str, str]:
    return _with_interval(cell), str(cell["balanced_accuracy"].n)


def spreads(study: MetaEvaluation) -> Grid | None:
    """How far the judges' pass rates lie apart per paradigm (figure 5); None with fewer than two judges."""
    if not study.spreads:
        return None
    judges = list(dict.fromkeys(name for apart in study.spreads.values() for name in apart.pass_rates))
    rows = [
        (
            paradigm, *(percent(apart.pass_rates.get(name)) for name in judges), percent(apart.gap, 1),
            *(percent(apart.by_instruction.get(name)) for name in judges), percent(apart.gap_by_instruction, 1),
            percent(apart.reference), str(apart.n), str(apart.left_out),
        )
        for paradigm, apart in study.spreads.items()
    ]  # fmt: skip
    pooled, single = ([f"{name}, {how}" for name in (*judges, "gap in points")] for how in _COUNTED)
    header = ("Paradigm", *pooled, *single, "by the labels, pooled", "n", "left out")
    note = (
        "Share of rubrics each judge passes, over those that all judges of the line decided: pooled over rubrics, and as "
        "the mean over instructions (CSR), which the paper shows. Its three judges lie 25 points apart at checklist "
        "level without reasoning (55 to 80 %, per instruction) and 12 at rubric level with it (62 to 74 %)."
    )
    return Grid(
        "Pass rates of the judges on the same responses (like the paper's figure 5)", header, tuple(rows), note=note
    )


def _by(what: str, columns: Mapping[str, Mapping[str, Cell]]) -> list[Grid]:
    """Balanced accuracy by group; nothing where rows have no groups of the kind."""
    names = list(dict.fromkeys(name for cells in columns.values() for name in cells))
    if not names:
        return []
    rows = []
    for name in names:
        cells = [column.get(name) for column in columns.values()]
        sizes = [c["balanced_accuracy_strict"].n for c in cells if c]
        texts = [_with_interval(c) if c else "-" for c in cells]
        rows.append((name, *texts, str(max(sizes, default=0))))
    note = "Balanced accuracy in percent over decided rows, with its 95 % interval."
    title, header = f"Balanced accuracy by {what.lower()}", (what, *columns, "rows")
    return [Grid(title, header, tuple(rows), note=note, printed=False)]


def _with_interval(cell: Cell) -> str:
    score = cell["balanced_accuracy"]
    return f"{value(score)} ({interval(score)})" if score.ci95 else value(score)


def _reasons(scores: Sequence[JudgeScores]) -> Grid:
    rows = [(e.judge, e.paradigm, str(count), reason[:300]) for e in scores for reason, count in e.reasons.items()]
    return Grid(
        "Why rubrics were left undecided",
        ("Judge", "Paradigm", "rows", "reason"),
        tuple(rows),
        printed=False,
        prose=(3,),
    )


def _accuracy_dots(scores: Sequence[JudgeScores]) -> Dots:
    lines: dict[str, list[Dot]] = {}
    for entry in scores:
        score = entry.splits["all"].pooled["balanced_accuracy"]
        if score.value is not None:
            lines.setdefault(entry.paradigm, []).append(dot(entry.judge, score.value, score.ci95))
    shown = tuple((line, tuple(dots)) for line, dots in lines.items())
    note = "All rows pooled, with 95 % intervals. The dashed line is chance."
    return Dots("Balanced accuracy by paradigm", shown, mark=50.0, note=note)


def _spread_dots(study: MetaEvaluation) -> Dots | None:
    if not study.spreads:
        return None
    lines = tuple(
        (paradigm, tuple(dot(name, rate) for name, rate in apart.pass_rates.items()))
        for paradigm, apart in study.spreads.items()
    )
    reference = next((100 * s.reference for s in study.spreads.values() if s.reference is not None), None)
    note = "Pooled over rubrics. Dashed: the labels' own rate."
    return Dots("How far the judges' pass rates lie apart", lines, mark=reference, note=note)


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
