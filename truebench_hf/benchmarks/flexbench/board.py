"""What leaderboards show of judged conversations: a row per model, ranked within one instruction and judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import MEASURES, ModelScores
from truebench_hf.hashing import canonical, digest
from truebench_hf.study.board import LONGEST, Board, Column, Row
from truebench_hf.study.notes import rules_fact
from truebench_hf.text import anonymous

_MOST = LONGEST // 4 - len(MEASURES)  # dimensions on a board: each has two columns, and there may be LONGEST / 2


def board(procedure: Procedure, models: Sequence[ModelScores], made: Mapping[str, Any]) -> Board:
    """The models of one instruction, by Coverage: Achievement is n/a where the instruction has no branches.

    Columns of dimensions are the instruction's own: d1 of another one, or before an edit, is another question.
    """
    columns = [Column(name, title) for name, title in MEASURES.items()]
    shown, called = procedure.dimensions[:_MOST], procedure.title or procedure.id
    names = {one.id: f"{procedure.id}:{one.id}:{digest(one.question)[:6]}" for one in shown}
    for part, title in (("c", "Coverage"), ("a", "Achievement")):
        columns += [Column(f"{part}:{names[one.id]}", one.id, f"{title} by dimension: {called}") for one in shown]
    judged = [
        made.get(name)
        for name in ("procedure_sha256", "knowledge_sha256", "judge_models", "judge_level", "prompts", "rules")
    ]
    setting = digest(canonical(anonymous.settings(judged)))
    rows = []
    for one in models:
        cells = dict(one.total)
        for place, part in enumerate("ca"):
            cells |= {f"{part}:{column}": one.dimensions[name][place] for name, column in names.items()}
        facts = {
            "Instruction": called, "Judge": anonymous.name(str(made.get("judge", ""))),
            "Conversations": str(one.conversations), **rules_fact(made),
        }  # fmt: skip
        rows.append(Row(anonymous.name(one.model), setting, cells, facts))
    return Board("coverage", tuple(columns), tuple(rows), title="FlexEval", unit="Coverage in %")
