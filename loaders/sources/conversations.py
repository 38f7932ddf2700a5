"""The instructions of a source as instances: what a model is to be asked, with criteria, points and right answers."""

from __future__ import annotations

from collections.abc import Iterable

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.usable import Usable
from truebench_hf.loaders.sources import read
from truebench_hf.types import Instance, Turn

# The fact by which a source tells its own kinds apart; elsewhere that is RubricEval's category.
_KINDS = {
    "advancedif": "benchmark_name", "biggen": "capability", "cfbench": "domain", "healthbench": "theme",
    "infobench": "category", "llmbar": "subset", "multichallenge": "AXIS", "profbench": "domain",
    "rubrichub": "ability", "wildbench": "primary_tag",
}  # fmt: skip


def instances(data: str) -> Usable[Instance]:
    """One of every instruction of `SOURCE:PATH`, whoever answered it. Raises UserError as `read`."""
    kind, _, path = data.partition(":")
    found = read(kind, path)
    return Usable(of_items(kind, found), found.left_out)


def of_items(kind: str, items: Iterable[Item]) -> list[Instance]:
    """The same of items of a source that were read."""
    found: dict[str, Instance] = {}
    for item in items:
        if item.instruction_id not in found and item.case.criteria:
            found[item.instruction_id] = _instance(item, item.facts.get(_KINDS.get(kind, "")))
    return list(found.values())


def _instance(item: Item, kind: object) -> Instance:
    history = item.case.history
    system = history[0].content if history and history[0].role == "system" else None
    turn = Turn(item.case.instruction, item.case.criteria, item.case.reference)
    language = "" if item.language == "UND" else item.language
    category = str(kind) if kind else item.category
    before = history[system is not None :]
    return Instance(item.instruction_id, language, category, "", (turn,), system, item.case.context, before)
