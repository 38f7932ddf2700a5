"""The distinct rubrics of some data, how well a model sorts them, and how they spread over types and sources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.metrics.agreement import class_agreement
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Plot, Series
from truebench_hf.report.table import PUBLISHED, Column, Table

Places = Sequence[tuple[float, float]]


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


def dimension(kind: str) -> str:
    """The dimension of a type."""
    return RUBRIC_TYPES[kind].dimension


@dataclass(frozen=True)
class Taxonomy:
    """A finished sorting: the rubrics, and the tables of results by name."""

    rubrics: tuple[Sorted, ...]
    tables: Mapping[str, Table]


def taxonomy_tables(done: Sequence[Sorted], model: str | None) -> list[Table]:
    """Return every table of a sorting that has rows: the model's accuracy, types, dimensions, sources and judgments."""
    tables = [_accuracy(done, model)] if model else []
    tables += [_types(done), _dimensions(done)] if any(rubric.shown for rubric in done) else []
    tables.append(_sources(done))
    return [*tables, _judgments(done)] if any(rubric.rows for rubric in done) else tables


def _accuracy(done: Sequence[Sorted], model: str) -> Table:
    """How well the model sorts rubrics of known type; intervals take the rubrics of an instruction together."""
    clusters = [rubric.item.instruction_id for rubric in done]
    pairs = [(rubric.rubric.kind, rubric.kind) for rubric in done]
    levels = {
        "13 types": pairs,
        "4 dimensions": [(gold and dimension(gold), kind and dimension(kind)) for gold, kind in pairs],
    }
    rows = [
        {"level": name, **class_agreement([gold for gold, _ in level], [kind for _, kind in level], clusters)}
        for name, level in levels.items()
    ]
    columns = (
        Column("level", ""),
        Column("accuracy", "accuracy", "score", parts=("value", "interval", "n", "unscored"), drawn=True),
        Column("kappa", "kappa", "score", "Cohen's kappa.", "", digits=3, parts=("value", "interval"), minor=1),
    )
    return Table("accuracy", columns, rows, f"How well {model} sorts rubrics of known type")


def _counted(done: Sequence[Sorted]) -> tuple[Counter[str], str]:
    """How often each type occurs, and what was counted: judgments, as in the paper, where the data has any."""
    judged = any(rubric.rows for rubric in done)
    counts: Counter[str] = Counter()
    for rubric in done:
        if rubric.shown:
            counts[rubric.shown] += sum(rubric.rows.values()) if judged else 1
    what = "rubric judgments, as in the paper" if judged else "distinct rubrics, where the paper has judgments"
    return +counts, f"Counted are {what}, by the model's type if it gave one."


def _types(done: Sequence[Sorted]) -> Table:
    """How often each type occurs, the most frequent first; and of rubrics of known type, what the model made of them."""
    counts, note = _counted(done)
    total, rows = counts.total() or 1, []
    for name in sorted(RUBRIC_TYPES, key=lambda name: -counts[name]):
        known = [rubric for rubric in done if rubric.rubric.kind == name]
        right = sum(rubric.kind == name for rubric in known)
        others = Counter(str(rubric.kind) for rubric in known if rubric.kind not in (None, name))
        rows.append({
            "type": name, "dimension": dimension(name), "count": counts[name], "share": counts[name] / total,
            "known": len(known), "given": sum(rubric.kind == name for rubric in done), "right": right,
            "found": right / len(known) if known else None,
            "taken_for": ", ".join(f"{kind} {count}" for kind, count in others.most_common()),
        })  # fmt: skip
    columns = (
        Column("type", "Type"), Column("dimension", "dimension", minor=1), Column("count", "count", "count"),
        Column("share", "%", "number", digits=1), Column("known", "by the data", "count", "Distinct rubrics of the type by the data.", minor=2),
        Column("given", "by the model", "count", minor=2), Column("right", "both", "count", minor=2),
        Column("found", "found", "number", "Share of the data's rubrics of the type that the model gives it.", digits=1, minor=2),
        Column("taken_for", "taken for", "prose", minor=3),
    )  # fmt: skip
    return Table("types", columns, rows, "Rubrics by type (like the paper's figure 4)", note)


def _dimensions(done: Sequence[Sorted]) -> Table:
    counts, note = _counted(done)
    sums = {name: sum(n for kind, n in counts.items() if dimension(kind) == name) for name in DIMENSIONS}
    rows = [{"dimension": name, "count": n, "share": n / (counts.total() or 1)} for name, n in sums.items()]
    columns = (
        Column("dimension", "Dimension"),
        Column("count", "count", "count"),
        Column("share", "%", "number", digits=1),
    )
    return Table("dimensions", columns, rows, "Rubrics by dimension (like the paper's figure 7)", note)


def _by_source(done: Sequence[Sorted]) -> list[tuple[str, str, list[Sorted]]]:
    """The rubrics of each category and source, categories in the paper's order."""
    groups: dict[tuple[str, str], list[Sorted]] = {}
    for rubric in done:
        groups.setdefault((rubric.item.category, rubric.item.source), []).append(rubric)
    order = list(INSTRUCTION_CATEGORIES)
    names = sorted(groups, key=lambda name: (order.index(name[0]), name[1]))
    return [(category, source or "unnamed", groups[category, source]) for category, source in names]


def _instructions(rubrics: Sequence[Sorted]) -> int:
    return len({rubric.item.instruction_id for rubric in rubrics})


_SOURCE = (Column("category", "Category"), Column("source", "Source"), Column("instructions", "instructions", "count"))


def _sources(done: Sequence[Sorted]) -> Table:
    """Instructions and their rubrics by source, beside those of the paper's Table 5."""
    rows: list[dict[str, Any]] = [
        {"category": category, "source": source, "instructions": (count := _instructions(rubrics)),
         "rubrics": len(rubrics), "ratio": len(rubrics) / count}
        for category, source, rubrics in _by_source(done)
    ]  # fmt: skip
    rows += [
        {"category": row["Type"], "source": row["Benchmark"] or "", "instructions": row["#Inst."], "rubrics": row["#Rub."],
         "ratio": row["R/I"], PUBLISHED: True}
        for row in paper_rows("rubric_eval", "rubriceval_table5")
    ]  # fmt: skip
    columns = (
        *_SOURCE, Column("rubrics", "rubrics", "count"), Column("ratio", "rubrics per instruction", "number", unit="")
    )  # fmt: skip
    return Table("sources", columns, rows, "Where the rubrics come from (like the paper's table 5)", keys=2)


def _judgments(done: Sequence[Sorted]) -> Table:
    """Labelled rubric judgments by source and split, beside those of the paper's Table 8."""
    splits = sorted({split for rubric in done for split in rubric.rows} | {"easy", "hard"})
    rows: list[dict[str, Any]] = []
    for category, source, rubrics in _by_source(done):
        counts = sum((Counter(rubric.rows) for rubric in rubrics), Counter[str]())
        cells = {f"split:{split}": counts[split] for split in splits}
        total = {"instructions": _instructions(rubrics), "total": counts.total()}
        rows.append({"category": category, "source": source, **cells, **total})
    for row in paper_rows("rubric_eval", "rubriceval_table8"):
        printed: dict[str, Any] = {f"split:{split}": row.get(split.capitalize()) for split in splits}
        named = {"category": row["Category"], "source": row["Source Benchmark"] or "", PUBLISHED: True}
        rows.append({**named, **printed, "instructions": row["#Instr."], "total": row["Total"]})
    columns = (
        *_SOURCE, *(Column(f"split:{split}", split or "no split", "count") for split in splits), Column("total", "total", "count"),
    )  # fmt: skip
    return Table("judgments", columns, rows, "Labelled rubric judgments by source (like the paper's table 8)", keys=2)


def plane(rubrics: Sequence[Sorted], places: Places) -> Plot:
    """Return the t-SNE plot of the rubrics, a point each, by type."""
    points: dict[str, list[tuple[float, float, float, str]]] = {name: [] for name in (*RUBRIC_TYPES, "not sorted")}
    for (x, y), rubric in zip(places, rubrics, strict=True):
        points[rubric.shown or "not sorted"].append((x, y, 0.25, f"{rubric.rubric.text} [{rubric.item.language}]"))
    series = tuple(Series(name, tuple(dots)) for name, dots in points.items() if dots)
    note = "t-SNE of MiniLM embeddings: rubrics near each other read alike. Axes carry no unit."
    return Plot("Rubrics in the plane (like the paper's figure 6)", series, note=note)
