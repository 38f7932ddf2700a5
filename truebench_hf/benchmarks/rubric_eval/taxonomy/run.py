"""`truebench taxonomy`: a model sorts rubrics into the 13 types (paper 003, section 3.5 and appendix L).

Where the data knows the types, the model's accuracy on them is measured; where a source has labels of its own, they
are given as hints. The charts show how rubrics spread over types and dimensions (figures 4 and 7), how alike they are
(figure 6) and where they come from (Tables 5 and 8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.identities import FREE, identities, reached
from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.benchmarks.rubric_eval.taxonomy.entries import Entry, entries, is_source, limited
from truebench_hf.benchmarks.rubric_eval.taxonomy.options import TaxonomyOptions
from truebench_hf.benchmarks.rubric_eval.taxonomy.output import write_taxonomy
from truebench_hf.benchmarks.rubric_eval.taxonomy.rows import typed, write_rows
from truebench_hf.benchmarks.rubric_eval.taxonomy.scores import Sorted, Taxonomy, kind_scores
from truebench_hf.engine.folder import RunFolder
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.engine.pool import bounded, rare_collection
from truebench_hf.engine.progress import progress
from truebench_hf.judging.rehearsal import rehearse_all
from truebench_hf.judging.verdicts import ask_labels, verdict_schema
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel, ChatRequest, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.options import pairs
from truebench_hf.prompts import fence
from truebench_hf.types import Message

_NAMES = {name: name for name in RUBRIC_TYPES}


def taxonomy(options: TaxonomyOptions) -> Taxonomy:
    """Sort rubrics by type; `truebench taxonomy` as a Python call. Writes the study into `options.out`.

    Where a model sorts rows of rubric_eval, they are written too, into `labels/`, with the types filled in.
    Every call is in the ledger first: the same options in the same folder ask nothing twice. Raises UserError on what
    the caller can fix.
    """
    rows = None if is_source(options.data) else data.load(options.data)
    every = entries(options.data, rows, options.strict)
    found = limited(every, options.limit, options.seed)
    arguments = pairs(options.model_arg, "--model-arg")
    model = None
    if options.model is not None:
        model = open_model(options.model, arguments, options.base_url, options.patience)
    who = identities({model.spec: model}) if model else {}
    rehearse_all(("taxonomy", "repair"), options.prompts, kinds=list(RUBRIC_TYPES.values()))
    settings = _settings(options, every, found) | who | reached(options)
    folder = RunFolder(options.out, settings, FREE, options.prompts.replaced)
    try:
        if model is None:
            done = [Sorted(entry, None, "no model was asked") for entry in found]
        else:
            with progress({"rubrics": len(found)}) as step, rare_collection():
                done = asyncio.run(_sort_all(options, model, found, folder, step))
        known = [entry.kind for entry in found if entry.kind]
        facts = {
            "model": options.model, "rubrics": len(found), "instructions": len({e.instruction_id for e in found}),
            "with_known_type": len(known), "usage": folder.usage()["total"], **folder.info["settings"],
            "versions": folder.info["versions"], "rows_left_out": list(every.left_out.reasons),
        }  # fmt: skip
        if rows is not None and options.model is not None:
            write_rows(folder, filled := typed(rows, done))
            facts["rows_without_type"] = sum(row["rubric_type"] is None for row in filled)
        study = kind_scores(done, facts)
        write_taxonomy(folder, study, places(found, options.seed) if options.tsne else None)
        folder.finish()
        return study
    finally:
        folder.ledger.close()


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


async def _sort_all(
    options: TaxonomyOptions,
    model: ChatModel,
    found: Sequence[Entry],
    folder: RunFolder,
    step: Callable[[str], None],
) -> list[Sorted]:
    caller = Caller(model, folder.ledger, "taxonomy", options.concurrency)
    schemas = SchemaFallback(caller)

    async def work(place: int) -> tuple[int, Sorted]:
        done = await _sort(found[place], caller, options, schemas)
        step("rubrics")
        return place, done

    try:
        kept = dict([pair async for pair in bounded(range(len(found)), work, 2 * caller.concurrency)])
    finally:
        await model.close()
    return [kept[place] for place in range(len(found))]


async def _sort(entry: Entry, caller: Caller, options: TaxonomyOptions, schemas: SchemaFallback) -> Sorted:
    """One rubric's type; None with the reason where no answer names one."""
    hint = entry.hint if options.hints else ""
    values: dict[str, Any] = {
        "kinds": list(RUBRIC_TYPES.values()), "instruction": entry.instruction, "rubric": entry.rubric, "hint": hint,
        "tag": fence(entry.instruction, entry.rubric),
    }  # fmt: skip

    def request(structured: bool) -> ChatRequest:
        text = options.prompts.render("taxonomy", **values, structured=structured)
        schema = verdict_schema(1, list(_NAMES), reasoning=True) if structured else None
        return ChatRequest((Message("user", text),), Sampling(max_tokens=options.max_tokens), 0, schema)

    answer = await schemas.ask(request, lambda made: ask_labels(caller, made, 1, _NAMES, options.prompts))
    kind = answer.labels.get(0)
    return Sorted(entry, kind, answer.reasons.get(0, "") if kind else answer.problem)


def _settings(options: TaxonomyOptions, every: Sequence[Entry], found: Sequence[Entry]) -> dict[str, Any]:
    selected, used = (
        digest(
            canonical([[e.instruction_id, e.source, e.category, e.instruction, e.rubric, e.kind, e.hint] for e in some])
        )
        for some in (every, found)
    )
    names = ("data", "model", "limit", "hints", "seed", "max_tokens")
    return {name: getattr(options, name) for name in names} | {
        "study": "taxonomy",
        "selection_sha256": selected,
        "data_sha256": used,
        "prompts": {name: options.prompts.hash(name) for name in ("taxonomy", "repair")},
    }
