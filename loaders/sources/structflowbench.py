"""StructFlowBench: multi-turn conversations, every user turn with its yes/no constraints (repository MLGroupJLU).

One item per turn: the conversation so far with the corpus's own assistant answers, and the turn's constraints. The
answer to the turn itself is its example. RubricEval counts these as multi-turn: 643 turns, 1,775 rubrics.
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import source_item
from truebench_hf.types import Criterion, Message


def parse(record: Record) -> list[Item]:
    """All turns of a conversation in StructFlowBench.json."""
    conversation = record.number
    history: list[Message] = []
    found = []
    # Turns count by place: one real conversation starts its names over at c1 half-way.
    for number, turn in enumerate(record.parts("whole_conv"), 1):
        history.append(Message("user", turn.text("user prompt")))
        answer = turn.text("assistant answer")
        facts = {
            "conversation": conversation,
            "turn": number,
            "name": turn.text("name"),
            "structure": record.decoded("structure"),
            "conv_topic": record.maybe("conv_topic"),
            "conv_task": record.maybe("conv_task"),
        }
        rubrics = tuple(Criterion(c.text("content"), c.text("type")) for c in turn.parts("constraints"))
        found.append(
            source_item(
                f"structflowbench-{conversation:03d}-{number}", "StructFlowBench", "multi_turn", "EN",
                history, rubrics, example=answer, facts=facts,
            )
        )  # fmt: skip
        history.append(Message("assistant", answer))
    return found
