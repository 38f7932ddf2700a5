"""FlexEval's Coverage and Achievement from given tri-valued verdicts (paper 001, section 4, equations 4 to 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import parallel, ratio

# Verdicts on the dimensions of one conversation; "unknown" says that evidence is missing or a branch does not apply.
Trace = Mapping[str, str | None]
# For each dimension the base action it depends on, b(r); None for one that depends on none, and is a base action itself;
# UNGATED for a branch of a group that has no base action.
Structure = Mapping[str, str | None]

UNGATED = ""
_LABELS = ("yes", "no", "unknown", None)


@dataclass(frozen=True)
class FlexEvalScores:
    """Shares in 0..1, None where nothing counts ("n/a" in the paper).

    `coverage` = `attempted` of the `base_total` judged base actions; `achievement` = `achieved` of the `exercised`
    branches (decided, with their base action attempted). `correct` = `right` of the `decided` verdicts on all
    dimensions, which shows base actions that were done wrongly: ours, the paper has none. `undecided` verdicts were not
    judged and enter nowhere.
    """

    coverage: float | None
    achievement: float | None
    correct: float | None
    attempted: int
    base_total: int
    achieved: int
    exercised: int
    right: int
    decided: int
    undecided: int


def flexeval(traces: Sequence[Trace], structures: Sequence[Structure]) -> FlexEvalScores:
    """Coverage and Achievement over conversations; `structures` is parallel to `traces`.

    Every dimension of a structure needs an entry in its trace: "yes", "no", "unknown", or None for not judged. A
    branch counts only where what it depends on is "yes" or "no". What others depend on is a base action even where it
    is a branch itself: it counts in both. Raises `UserError` for missing or other dimensions, other labels, a base
    that is no dimension, and dimensions that depend on each other in a circle.
    """
    parallel(traces=traces, structures=structures)
    attempted = base_total = achieved = exercised = right = decided = undecided = 0
    for number, (trace, structure) in enumerate(zip(traces, structures, strict=True)):
        if trace.keys() != structure.keys():
            odd = ", ".join(sorted(trace.keys() ^ structure.keys()))
            raise UserError(f"conversation {number}: verdicts and structure differ in the dimensions {odd}")
        for dimension, base in structure.items():
            if trace[dimension] not in _LABELS:
                raise UserError(f"conversation {number}: label {trace[dimension]!r} is not yes, no, unknown or None")
            if base and base not in structure:
                raise UserError(f"conversation {number}: {base!r}, the base of {dimension!r}, is not a dimension")
        if ring := circle(structure):
            raise UserError(f"conversation {number}: {', '.join(ring)} depend on each other in a circle")
        bases = base_actions(structure)
        for dimension, base in structure.items():
            label = trace[dimension]
            known = label in ("yes", "no")
            undecided, decided, right = undecided + (label is None), decided + known, right + (label == "yes")
            if dimension in bases:
                base_total += label is not None
                attempted += known
            if known and base is not None and (base == UNGATED or trace[base] in ("yes", "no")):
                exercised += 1
                achieved += label == "yes"
    return FlexEvalScores(
        ratio(attempted, base_total), ratio(achieved, exercised), ratio(right, decided),
        attempted, base_total, achieved, exercised, right, decided, undecided,
    )  # fmt: skip


def base_actions(structure: Structure) -> set[str]:
    """The set B: dimensions that depend on none, and those that others depend on."""
    return {name for name, base in structure.items() if base is None} | {base for base in structure.values() if base}


def circle(structure: Structure) -> list[str]:
    """Dimensions that depend on each other in a circle, [] where there are none. Raises nothing."""
    for start in structure:
        path, at = [start], structure[start]
        while at and at in structure and at not in path:
            path.append(at)
            at = structure[at]
        if at == start:
            return path
    return []
