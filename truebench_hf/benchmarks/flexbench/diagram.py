"""A procedure as a drawing: base actions with their branches, and how often models came there and got it right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from truebench_hf.benchmarks.flexbench.procedure import Procedure
from truebench_hf.benchmarks.flexbench.scores import FlexModelScores
from truebench_hf.metrics.flexeval import UNGATED
from truebench_hf.report.sections import Tree, TreeNode, percent

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
    groups = dict.fromkeys(dimension.exclusive for dimension in procedure.dimensions if dimension.exclusive)
    signs = {name: f"either {number}" for number, name in enumerate(groups, 1)}

    def nodes(*bases: str | None) -> tuple[TreeNode, ...]:
        return tuple(
            TreeNode(
                dimension.id, dimension.question, dimension.condition, signs.get(dimension.exclusive, ""),
                tuple(score for model in models for score in model.dimensions[dimension.id]), nodes(dimension.id),
            )
            for dimension in procedure.dimensions
            if dimension.base in bases
        )  # fmt: skip

    columns = tuple(f"{model.model}: {part}" for model in models for part in "CA")
    title = "The procedure, branch by branch"
    return Tree(title, nodes(None, UNGATED), columns, _NOTE + (_SCORED if models else ""))


def mermaid(procedure: Procedure, models: Sequence[FlexModelScores] = ()) -> str:
    """Return the drawing as Mermaid's text, which GitHub, notebooks and editors show."""
    names = {dimension.id: f"n{number}" for number, dimension in enumerate(procedure.dimensions, 1)}
    lines = ["flowchart LR", f'  start(["{_text(procedure.title or procedure.id)}"])']
    for dimension in procedure.dimensions:
        name, scores = names[dimension.id], ""
        for model in models:
            values = ("n/a" if s.value is None else f"{percent(s.value, 0)} %" for s in model.dimensions[dimension.id])
            scores += f"<br/>{_text(model.model)}: C {next(values)}, A {next(values)}"
        lines.append(f'  {name}["{_text(dimension.id)}: {_text(dimension.question)}{scores}"]')
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


def _text(text: str) -> str:
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return "".join(_ESCAPED.get(sign, sign) for sign in short.replace("#", "#35;"))
