"""The distinct rubrics of some data, how they spread over types and sources, how well a model sorts them, and what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.metrics.kappa import cohen_kappa
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Bars, Cells, Grid, Plot, Section, Series, fixed, interval, value
from truebench_hf.types import Score

Places = Sequence[tuple[float, float]]
TITLE = "RubricEval: kinds of rubrics"


@dataclass(frozen=True, slots=True)
class Sorted:
    """A rubric of an instruction, and the type a model gave it; None with the reason where it gave none.

    `rows` counts the rubric judgments it stands in by split, empty for a source that has none.
    """

    item: Item
    rubric: Rubric
    rows: Mapping[str, int]
    kind: str | None = None
    reason: str = ""

    @property
    def shown(self) -> str | None:
        """The type to draw: the model's, or what the data knows where no model was asked or it gave none."""
        return self.kind or self.rubric.kind

    def row(self) -> dict[str, Any]:
        """Its line in `taxonomy.jsonl`."""
        item = self.item
        return {
            "instruction_id": item.instruction_id,
            "source": item.source,
            "instruction_category": item.category,
            "language": item.language,
            "rubric": self.rubric.text,
            "source_label": self.rubric.hint,
            "known_type": self.rubric.kind,
            "rubric_type": self.kind,
            "dimension": dimension(self.kind) if self.kind else None,
            "reason": self.reason,
        }


def distinct(items: Iterable[Item]) -> list[Sorted]:
    """The distinct rubrics of each instruction, not sorted yet, in the order in which they first appear."""
    found: dict[tuple[str, str], tuple[Item, Rubric]] = {}
    rows: dict[tuple[str, str], Counter[str]] = {}
    for item in items:
        for rubric in map(item.rubric, range(len(item.case.criteria))):
            key = (item.instruction_id, rubric.text)
            rows.setdefault(key, Counter()).update([rubric.split] if rubric.row else [])
            # One response may leave a rubric without a row and thus without a type; another has it.
            if key not in found or (found[key][1].kind is None and rubric.kind is not None):
                found[key] = (item, rubric)
    return [Sorted(item, rubric, rows[key]) for key, (item, rubric) in found.items()]


@dataclass(frozen=True)
class KindCounts:
    """One type: rubrics of it by the data, by the model, by both; and which type its rubrics are taken for instead."""

    known: int
    given: int
    right: int
    taken_for: Mapping[str, int]


@dataclass(frozen=True)
class SourceCounts:
    """One line of the source statistics: instructions, their rubrics, and rubric judgments by split."""

    category: str
    source: str
    instructions: int
    rubrics: int
    rows: Mapping[str, int]


@dataclass(frozen=True)
class Taxonomy:
    """A finished sorting. Accuracies are over rubrics of known type that the model sorted."""

    rubrics: tuple[Sorted, ...]
    type_accuracy: Score
    dimension_accuracy: Score
    kappa: float | None
    kinds: Mapping[str, KindCounts]
    sources: tuple[SourceCounts, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The content of `scores.json`."""
        return {name: found for name, found in asdict(replace(self, rubrics=())).items() if name != "rubrics"}


def kind_scores(done: Sequence[Sorted], provenance: Mapping[str, Any]) -> Taxonomy:
    """All scores of a sorting; the clusters of intervals are the instructions."""
    known = [entry for entry in done if entry.rubric.kind]
    kappa = (
        cohen_kappa([entry.rubric.kind for entry in known], [entry.kind for entry in known]).value if known else None
    )
    kinds = {}
    for name in RUBRIC_TYPES:
        of_it = [entry for entry in known if entry.rubric.kind == name]
        others = Counter(entry.kind for entry in of_it if entry.kind not in (None, name))
        assigned = sum(entry.kind == name for entry in done)
        right = sum(entry.kind == name for entry in of_it)
        kinds[name] = KindCounts(len(of_it), assigned, right, {str(kind): n for kind, n in others.most_common()})
    return Taxonomy(
        tuple(done), _accuracy(known, lambda kind: kind), _accuracy(known, dimension), kappa, kinds,
        tuple(by_source(done)), provenance,
    )  # fmt: skip


def by_source(done: Sequence[Sorted]) -> list[SourceCounts]:
    """Counts per category and source, categories in the paper's order (Tables 5 and 8)."""
    groups: dict[tuple[str, str], list[Sorted]] = {}
    for entry in done:
        groups.setdefault((entry.item.category, entry.item.source), []).append(entry)
    order = list(INSTRUCTION_CATEGORIES)
    counts = []
    for (category, source), group in sorted(groups.items(), key=lambda pair: (order.index(pair[0][0]), pair[0][1])):
        splits = sum((Counter(entry.rows) for entry in group), Counter[str]())
        instructions = len({entry.item.instruction_id for entry in group})
        counts.append(SourceCounts(category, source, instructions, len(group), dict(splits)))
    return counts


def dimension(kind: str) -> str:
    """The dimension of a type."""
    return RUBRIC_TYPES[kind].dimension


def _accuracy(known: Sequence[Sorted], level: Callable[[str], str]) -> Score:
    right = [
        level(entry.kind) == level(entry.rubric.kind)
        if entry.kind is not None and entry.rubric.kind is not None
        else None
        for entry in known
    ]
    return clustered_rate(right, [entry.item.instruction_id for entry in known])


def sections(study: Taxonomy, places: Places | None = None) -> list[Section]:
    """Everything the report shows, in order. `places` has a point per rubric for the t-SNE plot."""
    shown: list[Section] = [_accuracy_grid(study), _kinds(study)] if study.provenance["model"] else []
    if any(one.shown for one in study.rubrics):
        shown += [_distribution(study), _dimensions(study)]
    shown.append(_sources(study))
    if any(counts.rows for counts in study.sources):
        shown.append(_judgments(study))
    return [*shown, _plane(study, places)] if places else shown


def _accuracy_grid(study: Taxonomy) -> Grid:
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
