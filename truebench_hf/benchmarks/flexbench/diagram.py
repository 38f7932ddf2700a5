"""A procedure as a drawing: base actions with their branches, and how often models came there and got it right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure
from truebench_hf.benchmarks.flexbench.scores import FlexModelScores
from truebench_hf.metrics.flexeval import UNGATED
from truebench_hf.report.sections import Tree, TreeNode, percent
from truebench_hf.types import Score

DIAGRAM = "procedure.mmd"
_LONGEST = 160  # characters of a question in Mermaid
_ESCAPED = {'"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": " "}
_NOTE = (
    "A branch stands below the action that it depends on, with its condition above it. Of branches marked "
    "with the same sign at most one applies."
)
_SCORED = " C: how often it was attempted, A: how often right where it counts, in percent of conversations."


def tree(procedure: Procedure, models: Sequence[FlexModelScores] = ()) -> Tree:
    """Return the drawing for the report; with `models` Coverage and Achievement of each stand at every dimension."""
    signs = _exclusion_signs(procedure)

    def node(dimension: Dimension) -> TreeNode:
        cells = tuple(score for model in models for score in model.dimensions[dimension.id])
        children = tuple(map(node, _branches(procedure, dimension.id)))
        sign = signs.get(dimension.exclusive, "")
        return TreeNode(dimension.id, dimension.question, dimension.condition, sign, cells, children)

    columns = tuple(f"{model.model}: {part}" for model in models for part in "CA")
    roots = tuple(map(node, _roots(procedure)))
    return Tree("The procedure, branch by branch", roots, columns, _NOTE + (_SCORED if models else ""))


def mermaid(procedure: Procedure, models: Sequence[FlexModelScores] = ()) -> str:
    """Return the drawing as Mermaid's text, which GitHub, notebooks and editors show."""
    names = {dimension.id: f"n{number}" for number, dimension in enumerate(procedure.dimensions, 1)}
    lines = ["flowchart LR", f'  start(["{_text(procedure.title or procedure.id)}"])']
    for dimension in procedure.dimensions:
        told = "".join(f"<br/>{_text(m.model)}: {_percent(m.dimensions[dimension.id])}" for m in models)
        lines.append(f'  {names[dimension.id]}["{_text(dimension.id)}: {_text(dimension.question)}{told}"]')
    for dimension in procedure.dimensions:
        base = names[dimension.base] if dimension.base else "start"
        arrow = f'-->|"{_text(dimension.condition)}"|' if dimension.condition else "-->"
        lines.append(f"  {base} {arrow} {names[dimension.id]}")
    exclusive: dict[str, list[str]] = {}
    for dimension in procedure.dimensions:
        if dimension.exclusive:
            exclusive.setdefault(dimension.exclusive, []).append(names[dimension.id])
    lines += [f"  {a} -. or .- {b}" for group in exclusive.values() for a, b in pairwise(group)]
    return "\n".join(lines) + "\n"


def _roots(procedure: Procedure) -> list[Dimension]:
    return [dimension for dimension in procedure.dimensions if dimension.base in (None, UNGATED)]


def _branches(procedure: Procedure, name: str) -> list[Dimension]:
    return [dimension for dimension in procedure.dimensions if dimension.base == name]


def _exclusion_signs(procedure: Procedure) -> Mapping[str, str]:
    groups = dict.fromkeys(dimension.exclusive for dimension in procedure.dimensions if dimension.exclusive)
    return {name: f"either {number}" for number, name in enumerate(groups, 1)}


def _text(text: str) -> str:
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return "".join(_ESCAPED.get(sign, sign) for sign in short.replace("#", "#35;"))


def _percent(scores: tuple[Score, Score]) -> str:
    values = ("n/a" if score.value is None else f"{percent(score.value, 0)} %" for score in scores)
    return "C {}, A {}".format(*values)
