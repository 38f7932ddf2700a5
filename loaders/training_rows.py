"""Rows to train on, of data that commands judge: pure functions, each of one kind of row.

`prompts` are what a model is asked, with the criteria of its answers: `trl.GRPOTrainer` with
`truebench_hf.checklist_reward` takes them as they are. `labels` are one rubric of one response each, for judges and
reward models. `pairs` are a better and a worse answer to one prompt, for `trl.DPOTrainer` and its like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from truebench_hf.data.case import as_answered, names_fault, sent
from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.types import Criterion, Instance, Message

Row = dict[str, Any]


def prompt_rows(instances: Iterable[Instance]) -> Iterator[Row]:
    """What a model is sent and what its answer must meet. Of several turns only the first can be asked: those after it
    rest on the model's own answers."""
    for instance in instances:
        turn = instance.turns[0]
        if turn.criteria:
            messages = sent(instance, as_answered(instance, [""])[:-1])
            about = {"language": instance.language, "category": instance.category}
            criteria = list(map(_criterion, turn.criteria))
            yield {
                "id": instance.id,
                "prompt": _plain(messages),
                "criteria": criteria,
                "reference": turn.reference,
                **about,
            }


def label_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Every rubric that somebody answered by yes or no."""
    for item in items:
        for rubric in item.rubrics:
            if rubric.label in ("yes", "no"):
                weight = item.case.criteria[rubric.index].weight
                yield {
                    "id": rubric.id,
                    "instruction_id": item.instruction_id,
                    "prompt": _plain(item.messages),
                    "response": item.case.response,
                    "rubric": rubric.text,
                    "label": rubric.label,
                    "weight": weight,
                    "model": item.model,
                    "language": _language(item),
                    "source": item.source,
                }


def pair_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Two answers that differ in one rubric (`pair_id` of contrast pairs), or of which people prefer one (LLMBar).

    `chosen` meets the rubric; where that names a fault, it is without it. What is no whole pair is left out.
    """
    halves: dict[str, dict[bool, tuple[Item, Rubric]]] = {}
    for item in items:
        for name, rubric, good in _halves(item):
            halves.setdefault(name, {})[good] = (item, rubric)
    for name, both in halves.items():
        if len(both) == 2:
            (better, rubric), (worse, _) = both[True], both[False]
            yield {
                "id": name,
                "instruction_id": better.instruction_id,
                "prompt": _plain(better.messages),
                "chosen": _plain([Message("assistant", better.case.response)]),
                "rejected": _plain([Message("assistant", worse.case.response)]),
                "rubric": rubric.text,
                "language": _language(better),
                "source": better.source,
            }


def _halves(item: Item) -> Iterator[tuple[str, Rubric, bool]]:
    """(name of a pair, the rubric that it is about, whether this response is the better half)."""
    if "preferred" in item.facts:
        yield str(item.facts["pair"]), item.rubrics[0], bool(item.facts["preferred"])
    for rubric in item.rubrics:
        if (name := rubric.row.get("pair_id")) and rubric.label in ("yes", "no"):
            yield str(name), rubric, (rubric.label == "yes") != names_fault(rubric.text)


def _language(item: Item) -> str:
    return "" if item.language == "UND" else item.language


def _criterion(criterion: Criterion) -> Mapping[str, Any]:
    return {name: getattr(criterion, name) for name in ("text", "weight", "kind", "condition")}


def _plain(messages: Iterable[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
