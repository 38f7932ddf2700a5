"""The distinct rubrics of some data, how they spread over types and sources, and how well a model sorts them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.metrics.kappa import cohen_kappa
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.types import Score


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
        return {
            "type_accuracy": asdict(self.type_accuracy),
            "dimension_accuracy": asdict(self.dimension_accuracy),
            "kappa": self.kappa,
            "kinds": {name: asdict(counts) for name, counts in self.kinds.items()},
            "sources": [asdict(counts) for counts in self.sources],
            "provenance": dict(self.provenance),
        }


def kind_scores(done: Sequence[Sorted], provenance: Mapping[str, Any]) -> Taxonomy:
    """All scores of a sorting; the clusters of intervals are the instructions."""
    known = [one for one in done if one.rubric.kind]
    kappa = cohen_kappa([one.rubric.kind for one in known], [one.kind for one in known]).value if known else None
    kinds = {}
    for name in RUBRIC_TYPES:
        of_it = [one for one in known if one.rubric.kind == name]
        others = Counter(one.kind for one in of_it if one.kind not in (None, name))
        given = sum(one.kind == name for one in done)
        right = sum(one.kind == name for one in of_it)
        kinds[name] = KindCounts(len(of_it), given, right, {str(kind): n for kind, n in others.most_common()})
    return Taxonomy(
        tuple(done), _accuracy(known, lambda kind: kind), _accuracy(known, dimension), kappa, kinds,
        tuple(by_source(done)), provenance,
    )  # fmt: skip


def by_source(done: Sequence[Sorted]) -> list[SourceCounts]:
    """Counts per category and source, categories in the paper's order (Tables 5 and 8)."""
    groups: dict[tuple[str, str], list[Sorted]] = {}
    for one in done:
        groups.setdefault((one.item.category, one.item.source), []).append(one)
    order = list(INSTRUCTION_CATEGORIES)
    counts = []
    for (category, source), group in sorted(groups.items(), key=lambda pair: (order.index(pair[0][0]), pair[0][1])):
        splits = sum((Counter(one.rows) for one in group), Counter[str]())
        instructions = len({one.item.instruction_id for one in group})
        counts.append(SourceCounts(category, source, instructions, len(group), dict(splits)))
    return counts


def dimension(kind: str) -> str:
    """The dimension of a type."""
    return RUBRIC_TYPES[kind].dimension


def _accuracy(known: Sequence[Sorted], level: Callable[[str], str]) -> Score:
    right = [
        level(one.kind) == level(one.rubric.kind) if one.kind is not None and one.rubric.kind is not None else None
        for one in known
    ]
    return clustered_rate(right, [one.item.instruction_id for one in known])
