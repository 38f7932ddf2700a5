"""What a sorting of rubrics shows: accuracy, the spread over types and dimensions, sources, and the plane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from truebench_hf.benchmarks.rubric_eval.taxonomy.scores import Taxonomy, dimension
from truebench_hf.data.rubrics import DIMENSIONS, RUBRIC_TYPES
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Bars, Cells, Grid, Plot, Section, Series, fixed, interval, value

Places = Sequence[tuple[float, float]]
TITLE = "RubricEval: kinds of rubrics"


def sections(study: Taxonomy, places: Places | None = None) -> list[Section]:
    """Everything the report shows, in order. `places` has a point per rubric for the t-SNE plot."""
    shown: list[Section] = [_accuracy(study), _kinds(study)] if study.provenance["model"] else []
    if any(one.shown for one in study.rubrics):
        shown += [_distribution(study), _dimensions(study)]
    shown.append(_sources(study))
    if any(counts.rows for counts in study.sources):
        shown.append(_judgments(study))
    return [*shown, _plane(study, places)] if places else shown


def _accuracy(study: Taxonomy) -> Grid:
    rows = [
        (name, value(score), interval(score), score.n, score.unscored)
        for name, score in (("13 types", study.type_accuracy), ("4 dimensions", study.dimension_accuracy))
    ]
    kappa = fixed(study.kappa, 3)
    note = f"Over rubrics of known type; Cohen's kappa of the types {kappa}. Intervals resample whole instructions."
    header = ("Accuracy in %", "value", "95 % interval", "n", "not sorted")
    return Grid(f"How well {study.provenance['model']} sorts rubrics", header, tuple(rows), note=note)


def _kinds(study: Taxonomy) -> Grid:
    rows = []
    for name, counts in study.kinds.items():
        recall = f"{100 * counts.right / counts.known:.1f}" if counts.known else "-"
        mistaken = ", ".join(f"{kind} {n}" for kind, n in list(counts.taken_for.items())[:3])
        rows.append((name, counts.known, counts.given, counts.right, recall, mistaken))
    header = ("Type", "by the data", "by the model", "both", "found in %", "taken for")
    return Grid("Type by type", header, tuple(rows), printed=False, prose=(5,))


def _distribution(study: Taxonomy) -> Bars:
    counts, what = _counts(study)
    total = max(1, counts.total())
    ranked = sorted(RUBRIC_TYPES, key=lambda name: -counts[name])
    bars = tuple((name, float(counts[name]), f"{counts[name]} ({100 * counts[name] / total:.1f} %)") for name in ranked)
    note = f"Counted are {what}, by the model's type if it gave one."
    return Bars("Rubrics by type (like the paper's figure 4)", bars, note)


def _dimensions(study: Taxonomy) -> Grid:
    counts, what = _counts(study)
    total = max(1, counts.total())
    rows = []
    for name in DIMENSIONS:
        of_it = {kind: n for kind, n in counts.items() if dimension(kind) == name}
        parts = ", ".join(f"{kind} {100 * n / total:.1f} %" for kind, n in sorted(of_it.items(), key=lambda x: -x[1]))
        rows.append((name, str(sum(of_it.values())), f"{100 * sum(of_it.values()) / total:.1f}", parts))
    header = ("Dimension", "count", "%", "its types, in % of all")
    note = f"Counted are {what}, by the model's type if it gave one."
    return Grid("Rubrics by dimension (like the paper's figure 7)", header, tuple(rows), note=note, prose=(3,))


def _sources(study: Taxonomy) -> Grid:
    rows = [
        (_where(c.category, c.source or "unnamed"), c.instructions, c.rubrics, fixed(c.rubrics / c.instructions))
        for c in study.sources
    ]
    paper = tuple(
        (_where(row["Type"], row["Benchmark"]), row["#Inst."], row["#Rub."], f"{row['R/I']:.2f}")
        for row in paper_rows("rubric_eval", "rubriceval_table5")
    )
    header = ("Source", "instructions", "rubrics", "rubrics per instruction")
    return Grid("Where the rubrics come from (like the paper's table 5)", header, tuple(rows), paper)


def _judgments(study: Taxonomy) -> Grid:
    splits = sorted({split for counts in study.sources for split in counts.rows} | {"easy", "hard"})
    rows: list[Cells] = [
        (
            _where(c.category, c.source or "unnamed"), c.instructions,
            *(str(c.rows.get(split, 0)) for split in splits), str(sum(c.rows.values())),
        )
        for c in study.sources
    ]  # fmt: skip
    paper = tuple(
        (
            _where(row["Category"], row["Source Benchmark"]), row["#Instr."],
            *(str(row.get(split.capitalize(), "")) for split in splits), row["Total"],
        )
        for row in paper_rows("rubric_eval", "rubriceval_table8")
    )  # fmt: skip
    header = ("Source", "instructions", *(split or "no split" for split in splits), "total")
    return Grid("Labelled rubric judgments by source (like the paper's table 8)", header, tuple(rows), paper)


def _plane(study: Taxonomy, places: Places) -> Plot:
    points: dict[str, list[tuple[float, float, float, str]]] = {name: [] for name in (*RUBRIC_TYPES, "not sorted")}
    for (x, y), one in zip(places, study.rubrics, strict=True):
        points[one.shown or "not sorted"].append((x, y, 0.25, f"{one.rubric.text} [{one.item.language}]"))
    series = tuple(Series(name, tuple(found)) for name, found in points.items() if found)
    note = "t-SNE of MiniLM embeddings: rubrics near each other read alike. Axes carry no unit."
    return Plot("Rubrics in the plane (like the paper's figure 6)", series, note=note)


def _counts(study: Taxonomy) -> tuple[Counter[str], str]:
    """How often each type occurs, and what was counted: judgments, as in the paper, where the data has any."""
    judged = any(one.rows for one in study.rubrics)
    counts: Counter[str] = Counter()
    for one in study.rubrics:
        if one.shown:
            counts[one.shown] += sum(one.rows.values()) if judged else 1
    return +counts, "rubric judgments, as in the paper" if judged else "distinct rubrics, where the paper has judgments"


def _where(category: str, source: str | None) -> str:
    return f"{category}: {source}" if source else category
