"""The corpora by name, each with its builder and row functions."""

from __future__ import annotations

from truebench_hf.data.catalogue import entry
from truebench_hf.loaders import (
    checklists,
    checklists_mini,
    facts_grounding,
    facts_mini,
    flexbench,
    rubric_eval,
    rubric_mini,
    training,
    truebench,
    truebench_mini,
)
from truebench_hf.loaders.corpus import Corpus

_CORPORA = {
    "truebench": truebench.CORPUS,
    "truebench_mini": truebench_mini.CORPUS,
    "rubric_eval": rubric_eval.CORPUS,
    "rubric_mini": rubric_mini.CORPUS,
    "facts_grounding": facts_grounding.CORPUS,
    "facts_mini": facts_mini.CORPUS,
    "flexbench": flexbench.CORPUS,
    "checklists": checklists.CORPUS,
    "checklists_mini": checklists_mini.CORPUS,
    "training": training.CORPUS,
}


def corpus(name: str) -> Corpus:
    """Return the corpus of this name in the catalogue, in any case. Raises UserError with the nearest names."""
    return _CORPORA[entry(name).name]
