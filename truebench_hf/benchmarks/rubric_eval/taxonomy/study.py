"""`truebench study taxonomy`: a model sorts rubrics into the 13 types (paper 003, section 3.5 and appendix L).

Where the data knows the types, the model's accuracy on them is measured; where a source has labels of its own, they
are given as hints. The charts show how rubrics spread over types and dimensions (figures 4 and 7), how alike they are
(figure 6) and where they come from (Tables 5 and 8).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.taxonomy.scores import (
    TITLE,
    Sorted,
    Taxonomy,
    dimension,
    distinct,
    kind_scores,
    sections,
)
from truebench_hf.data.rubrics import RUBRIC_TYPES, Item
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import fence
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

_NAMES = {name: name for name in RUBRIC_TYPES}


@dataclass(frozen=True, kw_only=True)
class TaxonomyOptions(StudyOptions):
    """Which rubrics are sorted, by whom, and what is drawn."""

    data: str = option(help="rubric_mini, rows in its columns (JSONL, Parquet, folder, Hub id), or SOURCE:PATH.")
    model: str | None = role(None, help="Who sorts: a model spec; none: only what the data itself knows is shown.")
    tsne: bool = option(True, help="Whether rubrics are embedded and drawn by t-SNE.")
    max_tokens: int = option(512, binds=True, help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")


class TaxonomyStudy(Study[TaxonomyOptions, Sorted, Sorted, Taxonomy]):
    """Rubrics sorted by type. Where rows of rubric_eval are sorted they are written, too, with the types filled in."""

    kind = "taxonomy"
    needs = ("sklearn",)
    files = ("taxonomy.jsonl", "scores.json", "labels")
    prompts = ("taxonomy",)
    unit = "rubrics"

    def items(self) -> Items[Sorted]:
        self.data = data.read(self.options.data)
        return Items(
            distinct(self.data), lambda one: f"{one.item.instruction_id} {one.rubric.text}", _content,
            lambda one: (one.item.language, one.item.category, one.item.source),
            left_out=tuple(self.data.left_out.reasons),
        )  # fmt: skip

    def check(self) -> None:
        check_prompts(("taxonomy", "repair"), self.options.prompts, kinds=list(RUBRIC_TYPES.values()))

    def setup(self) -> None:
        if self.options.model is not None:
            self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, one: Sorted) -> Sorted:
        """One rubric's type; None with the reason where no answer names one."""
        if self.options.model is None:
            return replace(one, reason="no model was asked")
        options, instruction, rubric = self.options, one.item.case.instruction, one.rubric
        values: dict[str, Any] = {
            "kinds": list(RUBRIC_TYPES.values()), "instruction": instruction, "rubric": rubric.text,
            "hint": rubric.hint, "tag": fence(instruction, beside=[rubric.text]),
        }  # fmt: skip
        answer = await ask_by_prompt(
            self.schemas, options.prompts, "taxonomy", values, {"kind": _NAMES},
            sampling=Sampling(max_tokens=options.max_tokens), reason="It asks for something that can be counted.",
        )  # fmt: skip
        return replace(one, kind=answer.labels.get("kind"), reason=answer.problem or answer.reason)

    def score(self, done: Sequence[Sorted]) -> Outcome[Taxonomy]:
        options, known = self.options, sum(bool(one.rubric.kind) for one in done)
        facts: dict[str, Any] = {
            "rubrics": len(done), "instructions": len({one.item.instruction_id for one in done}), "with_known_type": known,
            "rows_left_out": list(self.all.left_out),
        }  # fmt: skip
        files: dict[str, Any] = {}
        if options.model is not None and (rows := typed(self.data, done)):
            files = by_split(rows)
            facts["rows_without_type"] = sum(row["rubric_type"] is None for row in rows)
        made = kind_scores(done, {**self.provenance, **facts})
        files |= {"taxonomy.jsonl": [one.row() for one in done], "scores.json": made.as_json()}
        notes = []
        if facts.get("rows_without_type"):
            notes.append(f"rows in labels still without a type: {facts['rows_without_type']}")
        shown = {
            "Model": options.model or "none: the types are those the data knows",
            "Rubrics": f"{len(done)} of {facts['instructions']} instructions, {known} of known type",
        }
        drawn = sections(made, places([one.rubric.text for one in done], options.seed) if options.tsne else None)
        return Outcome(made, files, TITLE, drawn, notes=notes, facts=shown)


def taxonomy(options: TaxonomyOptions) -> Taxonomy:
    """Sort rubrics by type; `truebench study taxonomy` as a Python call. Writes the study into `options.out`.

    Raises UserError on what the caller can fix.
    """
    return TaxonomyStudy(options).run().value


def _content(one: Sorted) -> list[Any]:
    """All of a rubric that shapes its type."""
    item, rubric = one.item, one.rubric
    told = [item.instruction_id, item.source, item.category, item.case.instruction]
    return [*told, rubric.text, rubric.kind, rubric.hint]


def typed(items: Sequence[Item], done: Sequence[Sorted]) -> list[dict[str, Any]]:
    """The rows of the data with `rubric_type` and `dimension` where they had none: what the data knows comes first.

    A row whose rubric was not sorted stays without type (None). A source without labels has no rows.
    """
    kinds = {(one.item.instruction_id, one.rubric.text): one.rubric.kind or one.kind for one in done}
    found = []
    for item in items:
        for rubric in filter(lambda its: its.row, item.rubrics):
            kind = rubric.kind or kinds.get((item.instruction_id, rubric.text))
            its = dimension(kind) if kind else rubric.row.get("dimension")
            found.append({**rubric.row, "rubric_type": kind, "dimension": its})
    return found


def by_split(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The rows as files `labels/SPLIT.jsonl`; `test` holds the rows that name no split."""
    splits: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        splits.setdefault(re.sub(r"\W+", "_", str(row.get("split") or "test")), []).append(row)
    return {f"labels/{split}.jsonl": group for split, group in splits.items()}


def places(rubrics: Sequence[str], seed: int) -> list[tuple[float, float]]:
    """A place in the unit square per rubric, near for rubrics alike: t-SNE of MiniLM embeddings (appendix E)."""
    from sklearn.manifold import TSNE

    from truebench_hf.models.embedding import embed

    if len(rubrics) < 4:
        return [(i / max(1, len(rubrics) - 1), 0.5) for i in range(len(rubrics))]
    perplexity = min(30.0, (len(rubrics) - 1) / 3)
    vectors = embed(rubrics)
    flat = TSNE(perplexity=perplexity, init="pca", metric="cosine", random_state=seed).fit_transform(vectors)
    low, span = flat.min(axis=0), flat.max(axis=0) - flat.min(axis=0)
    span[span == 0] = 1.0
    return [(float(x), float(y)) for x, y in (flat - low) / span]
