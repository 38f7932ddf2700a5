"""FlexEval's Coverage and Achievement from given tri-valued verdicts (paper 001, section 4, equations 4 to 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import parallel, ratio

# Verdicts on the dimensions of one conversation; "unknown" says that evidence is missing or a branch does not apply.
Trace = Mapping[str, str | None]
# For each dimension the base action of its precondition group, None for the base action itself.
Structure = Mapping[str, str | None]

_LABELS = ("yes", "no", "unknown", None)


@dataclass(frozen=True)
class FlexEval:
    """Shares in 0..1, None where nothing counts ("n/a" in the paper).

    `coverage` = `attempted` of the `base_total` judged base actions; `achievement` = `achieved` of the `exercised`
    branches (decided, with their base action attempted). `undecided` verdicts were not judged and enter neither.
    """

    coverage: float | None
    achievement: float | None
    attempted: int
    base_total: int
    achieved: int
    exercised: int
    undecided: int


def flexeval(traces: Sequence[Trace], structures: Sequence[Structure]) -> FlexEval:
    """Coverage and Achievement over conversations; `structures` is parallel to `traces`.

    Every dimension of a structure needs an entry in its trace: "yes", "no", "unknown", or None for not judged. A
    branch counts only where its base action is "yes" or "no". Raises `UserError` for missing or other dimensions,
    other labels, and a base that is not one.
    """
    parallel(traces=traces, structures=structures)
    attempted = base_total = achieved = exercised = undecided = 0
    for number, (trace, structure) in enumerate(zip(traces, structures, strict=True)):
        _check(number, trace, structure)
        undecided += sum(label is None for label in trace.values())
        for dimension, base in structure.items():
            label = trace[dimension]
            if base is None:
                base_total += label is not None
                attempted += label in ("yes", "no")
            elif trace[base] in ("yes", "no") and label in ("yes", "no"):
                exercised += 1
                achieved += label == "yes"
    return FlexEval(
        coverage=ratio(attempted, base_total),
        achievement=ratio(achieved, exercised),
        attempted=attempted,
        base_total=base_total,
        achieved=achieved,
        exercised=exercised,
        undecided=undecided,
    )


def _check(number: int, trace: Trace, structure: Structure) -> None:
    if trace.keys() != structure.keys():
        odd = ", ".join(sorted(trace.keys() ^ structure.keys()))
        raise UserError(f"conversation {number}: verdicts and structure differ in the dimensions {odd}")
    for dimension, base in structure.items():
        if trace[dimension] not in _LABELS:
            raise UserError(f"conversation {number}: label {trace[dimension]!r} is not yes, no, unknown or None")
        if base is not None and structure.get(base, dimension) is not None:
            raise UserError(f"conversation {number}: {base!r}, the base of {dimension!r}, is not a base action")
