"""`truebench taxonomy`: a model sorts rubrics into the 13 types (paper 003, section 3.5 and appendix L).

Where the data knows the types, the model's accuracy on them is measured; where a source has labels of its own, they
are given as hints. The charts show how rubrics spread over types and dimensions (figures 4 and 7), how alike they are
(figure 6) and where they come from (Tables 5 and 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.benchmarks.rubric_eval.taxonomy.entries import Entry, entries, is_source
from truebench_hf.benchmarks.rubric_eval.taxonomy.output import as_json, row
from truebench_hf.benchmarks.rubric_eval.taxonomy.rows import by_split, typed
from truebench_hf.benchmarks.rubric_eval.taxonomy.scores import Sorted, Taxonomy, kind_scores
from truebench_hf.benchmarks.rubric_eval.taxonomy.sections import TITLE, sections
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.verdicts import ask_labels, verdict_schema
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import fence
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Message

_NAMES = {name: name for name in RUBRIC_TYPES}


@dataclass(frozen=True, kw_only=True)
class TaxonomyOptions(StudyOptions):
    """Which rubrics are sorted, by whom, and what is drawn."""

    data: str = option(help="rubric_mini, rows in its columns (JSONL, Parquet, folder, Hub id), or SOURCE:PATH.")
    model: str | None = role(None, help="Who sorts: a model spec; none: only what the data itself knows is shown.")
    strict: bool = option(
        False, help="Stop at the first row of a SOURCE that cannot be used; else left out and counted."
    )
    hints: bool = option(True, binds=True, help="Whether labels of the source are given to the model as hints.")
    tsne: bool = option(True, help="Whether rubrics are embedded and drawn by t-SNE.")
    max_tokens: int = option(512, binds=True, help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")


class TaxonomyStudy(Study[TaxonomyOptions, Entry, Sorted, Taxonomy]):
    """Rubrics sorted by type. Where rows of rubric_eval are sorted they are written, too, with the types filled in."""

    kind = "taxonomy"
    files = ("taxonomy.jsonl", "scores.json", "labels")
    prompts = ("taxonomy", "repair")
    unit = "rubrics"

    def items(self) -> Items[Entry]:
        options = self.options
        self.rows = None if is_source(options.data) else data.load(options.data)
        return entries(options.data, self.rows, options.strict)

    def check(self) -> None:
        check_prompts(("taxonomy", "repair"), self.options.prompts, kinds=list(RUBRIC_TYPES.values()))

    def setup(self) -> None:
        if self.options.model is not None:
            self.schemas = SchemaFallback(self.caller("model"))

    async def work(self, entry: Entry) -> Sorted:
        """One rubric's type; None with the reason where no answer names one."""
        if self.options.model is None:
            return Sorted(entry, None, "no model was asked")
        options, caller = self.options, self.caller("model")
        values: dict[str, Any] = {
            "kinds": list(RUBRIC_TYPES.values()), "instruction": entry.instruction, "rubric": entry.rubric,
            "hint": entry.hint if options.hints else "", "tag": fence(entry.instruction, entry.rubric),
        }  # fmt: skip

        def request(structured: bool) -> ChatRequest:
            text = options.prompts.render("taxonomy", **values, structured=structured)
            schema = verdict_schema(1, list(_NAMES), reasoning=True) if structured else None
            return ChatRequest((Message("user", text),), Sampling(max_tokens=options.max_tokens), 0, schema)

        answer = await self.schemas.ask(request, lambda made: ask_labels(caller, made, 1, _NAMES, options.prompts))
        kind = answer.labels.get(0)
        return Sorted(entry, kind, answer.reasons.get(0, "") if kind else answer.problem)

    def score(self, done: Sequence[Sorted]) -> Outcome[Taxonomy]:
        found, options, known = [item.entry for item in done], self.options, sum(bool(item.entry.kind) for item in done)
        facts: dict[str, Any] = {
            "rubrics": len(found), "instructions": len({e.instruction_id for e in found}), "with_known_type": known,
            "rows_left_out": list(self.all.left_out),
        }  # fmt: skip
        files: dict[str, Any] = {}
        if self.rows is not None and options.model is not None:
            files = by_split(filled := typed(self.rows, done))
            facts["rows_without_type"] = sum(row["rubric_type"] is None for row in filled)
        made = kind_scores(done, {**self.provenance, **facts})
        files |= {"taxonomy.jsonl": map(row, done), "scores.json": as_json(made)}
        notes = [f"rows of the source left out: {len(self.all.left_out)}"] if self.all.left_out else []
        if facts.get("rows_without_type"):
            notes.append(f"rows in labels still without a type: {facts['rows_without_type']}")
        shown = {
            "Model": options.model or "none: the types are those the data knows",
            "Rubrics": f"{len(found)} of {facts['instructions']} instructions, {known} of known type",
            "Hints of the source": "given" if options.hints else "withheld",
        }
        drawn = sections(made, places(found, options.seed) if options.tsne else None)
        return Outcome(made, files, TITLE, drawn, notes=notes, facts=shown)


def taxonomy(options: TaxonomyOptions) -> Taxonomy:
    """Sort rubrics by type; `truebench taxonomy` as a Python call. Writes the study into `options.out`.

    Raises UserError on what the caller can fix.
    """
    return TaxonomyStudy(options).run().value


def places(found: Sequence[Entry], seed: int) -> list[tuple[float, float]]:
    """A place in the unit square per rubric, near for rubrics alike: t-SNE of MiniLM embeddings (appendix E)."""
    from sklearn.manifold import TSNE

    from truebench_hf.models.embedding import embed

    if len(found) < 4:
        return [(i / max(1, len(found) - 1), 0.5) for i in range(len(found))]
    perplexity = min(30.0, (len(found) - 1) / 3)
    vectors = embed([entry.rubric for entry in found])
    flat = TSNE(perplexity=perplexity, init="pca", metric="cosine", random_state=seed).fit_transform(vectors)
    low, span = flat.min(axis=0), flat.max(axis=0) - flat.min(axis=0)
    span[span == 0] = 1.0
    return [(float(x), float(y)) for x, y in (flat - low) / span]
