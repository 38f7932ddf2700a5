"""What a meta-evaluation shows, in order: the overview, the paper's tables, pass rates side by side (figure 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.metaeval import rewording, robustness
from truebench_hf.benchmarks.rubric_eval.metaeval.paper_tables import main_table, mean_note, named, paradigms, types
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import Cell, JudgeScores, MetaEvaluation
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES
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


def sections(study: MetaEvaluation, published: bool = False) -> list[Section]:
    """Everything the report shows, in order; with the paper's own figures where they are asked for (`published`)."""
    scores, splits = study.scores, list(dict.fromkeys(name for entry in study.scores for name in entry.splits))
    shown: list[Section] = [
        overview(scores),
        *_differences(study),
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
    return _dots(
        "Balanced accuracy by paradigm",
        ((e.paradigm, e.judge, e.splits["all"].pooled["balanced_accuracy"]) for e in scores),
        50.0,
        "All rows pooled, with 95 % intervals. The dashed line is chance.",
    )


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


def _dots(title: str, values: Iterable[tuple[str, str, Any]], mark: float, note: str) -> Dots:
    lines: dict[str, list[Dot]] = {}
    for line, series, score in values:
        if score.value is not None:
            lines.setdefault(line, []).append(dot(series, score.value, score.ci95))
    return Dots(title, tuple((line, tuple(dots)) for line, dots in lines.items()), mark=mark, note=note)
