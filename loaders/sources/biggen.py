"""BiGGen Bench: tasks by capability, each with a rubric of five levels (Hub data set prometheus-eval/BiGGen-Bench).

Ratings become one yes/no criterion that asks for the highest level: the question of the rubric and the description of
level 5. The fact `levels` keeps all five descriptions, from 1 to 5. The corpus shows judges its reference answer.
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import category_of, source_item
from truebench_hf.types import Criterion, Message

_LEVELS = tuple(f"score{level}_description" for level in range(1, 6))


def parse(record: Record) -> list[Item]:
    """One task. Those of the capability `multilingual` are in some language that the record does not name: "UND"."""
    rubric = record.part("score_rubric", None, record.decoded("score_rubric"))
    levels = tuple(map(rubric.text, _LEVELS))
    system = record.maybe("system_prompt")
    messages = (*([Message("system", system)] if system else []), Message("user", record.text("input")))
    capability = record.maybe("capability")
    criterion = Criterion(f"{rubric.text('criteria')} Answered yes by no less than this: {levels[-1]}", capability)
    found = source_item(
        f"biggen-{record.id('id')}", "BiGGen Bench", category_of(messages), "UND" if capability == "multilingual" else "EN",
        messages, [criterion], reference=record.maybe("reference_answer"),
        facts={"capability": capability, "task": record.maybe("task"), "levels": levels},
    )  # fmt: skip
    return [found]
