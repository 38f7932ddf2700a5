"""`truebench study taxonomy`: a model sorts rubrics into the 13 types (paper 003, section 3.5 and appendix L).

Where the data knows the types, the model's accuracy on them is measured; where a source has labels of its own, they
are given as hints. The charts show how rubrics spread over types and dimensions (figures 4 and 7), how alike they are
(figure 6) and where they come from (Tables 5 and 8).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Rubric
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.agreement import class_agreement
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, role
from truebench_hf.prompts import fence
from truebench_hf.report.sections import Plot, Series
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study


class TaxonomyOptions(StudyOptions):
    """Which rubrics are sorted, by whom, and what is drawn."""

    data: str = option(help="rubric_mini, rows in its columns (JSONL, Parquet, folder, Hub id), or SOURCE:PATH.")
    model: str | None = role(None, help="Who sorts: a model spec; none: only what the data itself knows is shown.")
    tsne: bool = option(True, help="Whether rubrics are embedded and drawn by t-SNE.")
    max_tokens: int = option(512, ge=1, binds=True, help="Token limit of one answer.")


@dataclass(frozen=True, slots=True)
class SortedRubric:
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
        item, rubric = self.item, self.rubric
        return {
            "instruction_id": item.instruction_id, "source": item.source, "instruction_category": item.category,
            "language": item.language, "rubric": rubric.text, "source_label": rubric.hint, "known_type": rubric.kind,
            "rubric_type": self.kind, "dimension": dimension_of(self.kind), "reason": self.reason,
        }  # fmt: skip


def dimension_of(kind: str | None) -> str | None:
    """Return the dimension of a type; None of none."""
    return RUBRIC_TYPES[kind].dimension if kind else None


class TaxonomyStudy(Study[TaxonomyOptions, SortedRubric, SortedRubric, dict[str, Table]]):
    """Rubrics sorted by type; `value` are the tables by name. Where rows of rubric_eval are sorted they are written, too, with the types filled in."""

    kind = "taxonomy"
    needs = ("sklearn",)
    files = ("taxonomy.jsonl", "labels")
    prompts = ("taxonomy",)
    unit = "rubrics"

    def items(self) -> Items[SortedRubric]:
        self.data = data.read(self.options.data)

        def content(sorted_: SortedRubric) -> list[Any]:
            """All of a rubric that shapes its type."""
            item, rubric = sorted_.item, sorted_.rubric
            texts = [item.instruction_id, item.source, item.category, item.case.instruction]
            return [*texts, rubric.text, rubric.kind, rubric.hint]

        return Items(
            distinct(self.data), lambda sorted_: f"{sorted_.item.instruction_id} {sorted_.rubric.text}", content,
            lambda sorted_: (sorted_.item.language, sorted_.item.category, sorted_.item.source),
            left_out=tuple(self.data.left_out.reasons),
        )  # fmt: skip

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return ({"kinds": list(RUBRIC_TYPES.values())},)

    def setup(self) -> None:
        if self.options.model is not None:
            self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, sorted_: SortedRubric) -> SortedRubric:
        """One rubric's type; None with the reason where no answer names one."""
        if self.options.model is None:
            return replace(sorted_, reason="no model was asked")
        options, instruction, rubric = self.options, sorted_.item.case.instruction, sorted_.rubric
        values: dict[str, Any] = {
            "kinds": list(RUBRIC_TYPES.values()), "instruction": instruction, "rubric": rubric.text,
            "hint": rubric.hint, "tag": fence(instruction, beside=[rubric.text]),
        }  # fmt: skip
        answer = await ask_by_prompt(
            self.schemas, options.prompts, "taxonomy", values, {"kind": {name: name for name in RUBRIC_TYPES}},
            sampling=Sampling(max_tokens=options.max_tokens), reason="It asks for something that can be counted.",
        )  # fmt: skip
        return replace(sorted_, kind=answer.labels.get("kind"), reason=answer.problem or answer.reason)

    def score(self, done: Sequence[SortedRubric]) -> Outcome[dict[str, Table]]:
        options, known = self.options, sum(bool(sorted_.rubric.kind) for sorted_ in done)
        labels = typed(self.data, done) if options.model is not None else {}
        tables = taxonomy_tables(done, options.model)
        untyped = sum(row["rubric_type"] is None for rows in labels.values() for row in rows)
        instructions = len({sorted_.item.instruction_id for sorted_ in done})
        facts = {
            "Model": options.model or "none: the types are those the data knows",
            "Rubrics": f"{len(done)} of {instructions} instructions, {known} of known type",
        }
        texts = [sorted_.rubric.text for sorted_ in done]
        return Outcome(
            {table.name: table for table in tables}, title="RubricEval: kinds of rubrics",
            tables=tables, charts=[plane(done, places(texts, options.seed))] if options.tsne else [], facts=facts,
            items={"taxonomy.jsonl": [sorted_.row() for sorted_ in done], **labels},
            notes=[f"rows in labels still without a type: {untyped}"] if untyped else [],
        )  # fmt: skip


def taxonomy(options: TaxonomyOptions) -> dict[str, Table]:
    """Sort rubrics by type; `truebench study taxonomy` as a Python call. Writes the study into `options.out`.

    Returns the tables by name. Raises UserError on what the caller can fix.
    """
    return TaxonomyStudy(options).run().value


def typed(items: Iterable[Item], done: Sequence[SortedRubric]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the data with `rubric_type` and `dimension` where they had none: what the data knows comes first.

    They are files `labels/SPLIT.jsonl`, of which `test` holds the rows that name no split. A row whose rubric was not
    sorted stays without type (None). A source without labels has no rows.
    """
    kinds = {(sort.item.instruction_id, sort.rubric.text): sort.rubric.kind or sort.kind for sort in done}
    files: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        for rubric in item.rubrics:
            if rubric.row:
                kind = rubric.kind or kinds.get((item.instruction_id, rubric.text))
                group = dimension_of(kind) or rubric.row.get("dimension")
                split = re.sub(r"\W+", "_", str(rubric.row.get("split") or "test"))
                row = {**rubric.row, "rubric_type": kind, "dimension": group}
                files.setdefault(f"labels/{split}.jsonl", []).append(row)
    return files


def places(rubrics: Sequence[str], seed: int) -> list[tuple[float, float]]:
    """A place in the unit square per rubric, near for rubrics alike: t-SNE of MiniLM embeddings (appendix E)."""
    from sklearn.manifold import TSNE

    from truebench_hf.models.classifier import embed

    if len(rubrics) < 4:
        return [(i / max(1, len(rubrics) - 1), 0.5) for i in range(len(rubrics))]
    perplexity = min(30.0, (len(rubrics) - 1) / 3)
    vectors = embed(rubrics)
    flat = TSNE(perplexity=perplexity, init="pca", metric="cosine", random_state=seed).fit_transform(vectors)
    low, span = flat.min(axis=0), flat.max(axis=0) - flat.min(axis=0)
    span[span == 0] = 1.0
    return [(float(x), float(y)) for x, y in (flat - low) / span]


def distinct(items: Iterable[Item]) -> list[SortedRubric]:
    """The distinct rubrics of each instruction, not sorted yet, in the order in which they first appear."""
    rubrics: dict[tuple[str, str], SortedRubric] = {}
    for item in items:
        for rubric in map(item.rubric, range(len(item.case.criteria))):
            key = (item.instruction_id, rubric.text)
            first = rubrics.get(key, SortedRubric(item, rubric, Counter()))
            rows = Counter(first.rows) + Counter([rubric.split] if rubric.row else [])
            # One response may leave a rubric without a row and thus without a type; another has it.
            better = first.rubric.kind is None and rubric.kind is not None
            rubrics[key] = SortedRubric(item, rubric, rows) if better else replace(first, rows=rows)
    return list(rubrics.values())


def taxonomy_tables(done: Sequence[SortedRubric], model: str | None) -> list[Table]:
    """Return every table of a sorting that has rows: the model's accuracy, types, dimensions, sources and judgments."""
    tables = [_accuracy(done, model)] if model else []
    tables += _types(done) if any(rubric.shown for rubric in done) else []
    sources, judgments = _by_source(done)
    return [*tables, sources, *([judgments] if any(rubric.rows for rubric in done) else [])]


def _accuracy(done: Sequence[SortedRubric], model: str) -> Table:
    """How well the model sorts rubrics of known type; intervals take the rubrics of an instruction together."""
    clusters = [rubric.item.instruction_id for rubric in done]
    gold, kinds = [rubric.rubric.kind for rubric in done], [rubric.kind for rubric in done]
    known, sorted_as = ([dimension_of(kind) for kind in column] for column in (gold, kinds))
    rows = [
        {"level": "13 types", **class_agreement(gold, kinds, clusters)},
        {"level": "4 dimensions", **class_agreement(known, sorted_as, clusters)},
    ]
    columns = (
        Column("level", ""),
        Column("accuracy", "accuracy", "score", parts=("value", "interval", "n", "unscored"), drawn=True),
        Column("kappa", "kappa", "score", "Cohen's kappa.", "", digits=3, parts=("value", "interval"), minor=1),
    )
    return Table("accuracy", columns, rows, f"How well {model} sorts rubrics of known type")


def _types(done: Sequence[SortedRubric]) -> list[Table]:
    """How often each type occurs, the most frequent first, with what the model made of rubrics of known type; and each dimension.

    Counted are judgments, as in the paper, where the data has any.
    """
    judged = any(rubric.rows for rubric in done)
    counts: Counter[str | None] = Counter()
    dimensions = Counter(dict.fromkeys(DIMENSIONS, 0))
    for rubric in done:
        if kind := rubric.shown:
            count = sum(rubric.rows.values()) if judged else 1
            counts[kind] += count
            dimensions[RUBRIC_TYPES[kind].dimension] += count
    total, rows = counts.total() or 1, []
    for name in sorted(RUBRIC_TYPES, key=lambda name: -counts[name]):
        known = [rubric.kind for rubric in done if rubric.rubric.kind == name]
        right, others = known.count(name), Counter(kind for kind in known if kind not in (None, name))
        rows.append({
            "type": name, "dimension": RUBRIC_TYPES[name].dimension, "count": counts[name], "share": counts[name] / total,
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
    what = "rubric judgments, as in the paper" if judged else "distinct rubrics, where the paper has judgments"
    note = f"Counted are {what}, by the model's type if it gave one."
    sums = [{"dimension": name, "count": n, "share": n / total} for name, n in dimensions.items()]
    return [
        Table("types", columns, rows, "Rubrics by type (like the paper's figure 4)", note),
        Table("dimensions", (Column("dimension", "Dimension"), *columns[2:4]), sums, "Rubrics by dimension (like the paper's figure 7)", note),
    ]  # fmt: skip


def _by_source(done: Sequence[SortedRubric]) -> tuple[Table, Table]:
    """Instructions and rubrics, and labelled judgments by split, of each source beside those of the paper's Tables 5 and 8."""
    splits = sorted({split for rubric in done for split in rubric.rows} | {"easy", "hard"})
    groups: dict[tuple[str, str], list[SortedRubric]] = {}
    for rubric in done:
        groups.setdefault((rubric.item.category, rubric.item.source), []).append(rubric)
    order, sources, judgments = list(INSTRUCTION_CATEGORIES), list[dict[str, Any]](), list[dict[str, Any]]()
    for category, source in sorted(groups, key=lambda name: (order.index(name[0]), name[1])):
        rubrics = groups[category, source]
        count = len({rubric.item.instruction_id for rubric in rubrics})
        keys = {"category": category, "source": source or "unnamed", "instructions": count}
        sources.append({**keys, "rubrics": len(rubrics), "ratio": len(rubrics) / count})
        rows = sum((Counter(rubric.rows) for rubric in rubrics), Counter[str]())
        judgments.append({**keys, **{f"split:{split}": rows[split] for split in splits}, "total": rows.total()})
    sources += [
        {"category": row["Type"], "source": row["Benchmark"] or "", "instructions": row["#Inst."], "rubrics": row["#Rub."],
         "ratio": row["R/I"], PUBLISHED: True}
        for row in paper_rows("rubric_eval", "rubriceval_table5")
    ]  # fmt: skip
    judgments += [
        {"category": row["Category"], "source": row["Source Benchmark"] or "", "instructions": row["#Instr."],
         **{f"split:{split}": row.get(split.capitalize()) for split in splits}, "total": row["Total"], PUBLISHED: True}
        for row in paper_rows("rubric_eval", "rubriceval_table8")
    ]  # fmt: skip
    keys_shown = (Column("category", "Category"), Column("source", "Source"), Column("instructions", "instructions", "count"))  # fmt: skip
    ratio = Column("ratio", "rubrics per instruction", "number", unit="")
    by_split = (*(Column(f"split:{split}", split or "no split", "count") for split in splits), Column("total", "total", "count"))  # fmt: skip
    return (
        Table("sources", (*keys_shown, Column("rubrics", "rubrics", "count"), ratio), sources,
              "Where the rubrics come from (like the paper's table 5)", keys=2),
        Table("judgments", (*keys_shown, *by_split), judgments,
              "Labelled rubric judgments by source (like the paper's table 8)", keys=2),
    )  # fmt: skip


def plane(rubrics: Sequence[SortedRubric], places: Sequence[tuple[float, float]]) -> Plot:
    """Return the t-SNE plot of the rubrics, a point each, by type."""
    points: dict[str, list[tuple[float, float, float, str]]] = {name: [] for name in (*RUBRIC_TYPES, "not sorted")}
    for (x, y), rubric in zip(places, rubrics, strict=True):
        points[rubric.shown or "not sorted"].append((x, y, 0.25, f"{rubric.rubric.text} [{rubric.item.language}]"))
    series = tuple(Series(name, tuple(dots)) for name, dots in points.items() if dots)
    note = "t-SNE of MiniLM embeddings: rubrics near each other read alike. Axes carry no unit."
    return Plot("Rubrics in the plane (like the paper's figure 6)", series, note=note)
