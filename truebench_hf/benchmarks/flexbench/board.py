"""What leaderboards show of judged conversations: a row per model, ranked within one instruction and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf import anonymous
from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import MEASURES, ModelScores
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.study.board import Board, Column, Row


def board(procedure: Procedure, models: Sequence[ModelScores], made: Mapping[str, Any]) -> Board:
    """The models of one instruction, by Coverage: Achievement is n/a where the instruction has no branches."""
    columns = [Column(name, title) for name, title in MEASURES.items()]
    for part, title in (("c", "Coverage by dimension"), ("a", "Achievement by dimension")):
        columns += [Column(f"{part}:{one.id}", one.id, title) for one in procedure.dimensions]
    judged = [
        made.get(name) for name in ("procedure_sha256", "knowledge_sha256", "judge_models", "judge_level", "prompts")
    ]
    setting = digest(canonical(anonymous.settings(judged)))
    rows = []
    for one in models:
        cells = dict(one.total)
        cells |= {f"c:{name}": found[0] for name, found in one.dimensions.items()}
        cells |= {f"a:{name}": found[1] for name, found in one.dimensions.items()}
        facts = {
            "Instruction": procedure.title or procedure.id, "Judge": anonymous.name(str(made.get("judge", ""))),
            "Conversations": str(one.conversations),
        }  # fmt: skip
        rows.append(Row(anonymous.name(one.model), setting, cells, facts))
    return Board("coverage", tuple(columns), tuple(rows), title="FlexEval", unit="Coverage in %")
