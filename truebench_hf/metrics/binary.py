"""Reading columns of yes/no labels: what every binary metric here does first."""

from __future__ import annotations

from collections.abc import Sized

from truebench_hf.errors import UserError

Label = str | None


def parallel(**columns: Sized | None) -> int:
    """The common length of the named columns; `UserError` names the lengths where they differ, or who is absent."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if absent := [name for name in columns if name not in lengths]:
        raise UserError(f"{' and '.join(absent)} must be given, too: one entry a row")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise UserError(f"columns must be parallel, one entry a row each: {listed}")
    return next(iter(lengths.values()), 0)


def decide(label: Label, positive: str = "yes", negative: str = "no") -> bool | None:
    """True for the positive label, False for the negative, None for undecided: `None` (not judged) or "unknown".

    Raises `UserError` for any other label: guessing what "Yes." or "maybe" means is the reader's work, not a metric's.
    """
    if label == positive:
        return True
    if label == negative:
        return False
    if label is None or label == "unknown":
        return None
    raise UserError(f"label {label!r} is neither {positive!r} nor {negative!r}: convert it, or use None for undecided")


def ratio(part: float, whole: float) -> float | None:
    """`part / whole`, or None where there is nothing to divide by."""
    return part / whole if whole else None


def mean_of(*values: float | None) -> float | None:
    """The plain mean, or None as soon as one of the values is undefined."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
