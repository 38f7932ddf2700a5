"""Labels: what people write for yes and no and for the better of two responses, and reading columns of them.

A label is a text, a number or a truth value as a whole: nothing is looked for inside a text, and what could be read in
two ways is refused with the choices named.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, TypeGuard, TypeVar

from truebench_hf.errors import UserError

Label = str | None
T = TypeVar("T")


def parallel(**columns: Sized | None) -> int:
    """The common length of the named columns; `UserError` names the lengths where they differ, or who is absent."""
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if absent := [name for name in columns if name not in lengths]:
        raise UserError(f"{' and '.join(absent)} must be given, too: one entry a row")
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise UserError(f"columns must be parallel, one entry a row each: {listed}")
    return next(iter(lengths.values()), 0)


_DECIDED = {"yes": True, "no": False, "unknown": None, None: None}


def decide(label: Label) -> bool | None:
    """True for "yes", False for "no", None for undecided: `None` (not judged) or "unknown".

    Raises `UserError` for any other label: guessing what "Yes." or "maybe" means is the reader's work, not a metric's.
    """
    if label not in _DECIDED:
        raise UserError(f"label {label!r} is neither 'yes' nor 'no': convert it, or use None for undecided")
    return _DECIDED[label]


def ratio(part: float, total: float) -> float | None:
    """`part / total`, or None where there is nothing to divide by."""
    return part / total if total else None


def is_known(value: T | None) -> TypeGuard[T]:
    """Whether there is a value; NaN is how arrays spell a missing one, and the only value that differs from itself."""
    return value is not None and value == value


def mean_of(*values: float | None) -> float | None:
    """The plain mean, or None as soon as one of the values is undefined."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


_YES_NO = {
    **dict.fromkeys(("yes", "true", "pass", "passed", "1"), "yes"),
    **dict.fromkeys(("no", "false", "fail", "failed", "0"), "no"),
    "unknown": "unknown",
}
# In any case, of the first response or of the one named.
_PREFERENCES = {
    "win": "win a first model_a response_a output_1 a>b a>>b [[a]] [[a>b]] [[a>>b]]",
    "loss": "loss b second model_b response_b output_2 b>a b>>a a<b a<<b [[b]] [[b>a]] [[b>>a]]",
    "tie": "tie c draw equal same a=b b=a [[c]] [[a=b]] [[b=a]]",
}
PREFERENCES = {word: label for label, words in _PREFERENCES.items() for word in words.split()} | {
    "tie (bothbad)": "tie"
}


def yes_no(label: Any, positive: Any = "yes", negative: Any = "no", *, hint: str = "") -> str | None:
    """ "yes" for the positive class, "no" for the negative, None for undecided (None, -1, "unknown").

    By default 1, True, PASS and "true" are yes, in any case, and 0, False, FAIL and "false" are no. With other names for
    the classes only these are read: a text in any case, or a number. Raises UserError, which ends with `hint`, for every
    other label.
    """
    words, classes = _YES_NO, "'yes' nor 'no' (nor PASS or FAIL, True or False, 1 or 0; None is undecided)" + hint
    if (positive, negative) != ("yes", "no"):
        words = {"unknown": "unknown", _folded(positive): "yes", _folded(negative): "no"}
        classes = f"{positive!r} nor {negative!r}, nor undecided (None)"
        if _folded(positive) == _folded(negative):
            raise UserError(f"positive={positive!r} and negative={negative!r} are one class: name two")
    elif _missing(label):
        return None
    word = words.get(_folded(label), "unknown" if _missing(label) else None)
    if word is None:
        raise UserError(f"label {label!r:.80} is neither {classes}")
    return None if word == "unknown" else word


def tri_valued(label: Any, *, hint: str = "") -> str | None:
    """As `yes_no` with its default classes, and "unknown" (2, as in our data sets) for itself. Raises UserError."""
    if _missing(label):
        return None
    folded = _folded(label)
    word = "unknown" if folded == "2" and not isinstance(label, str) else _YES_NO.get(folded)
    if word is None:
        raise UserError(
            f"label {label!r:.80} is not yes, no, unknown or None (PASS and FAIL, True and False, 1 and 0 are read, too){hint}"
        )
    return word


def preference(label: Any) -> str | None:
    """ "win", "tie" or "loss" of the first response from words such as A, "model_b" or "tie"; None is undecided.

    Numbers are refused, -1 too: which response they mean differs from data set to data set. Raises UserError.
    """
    if label is None:
        return None
    word = PREFERENCES.get(label.strip().casefold()) if isinstance(label, str) else None
    if word is None:
        raise UserError(
            f"preference label {label!r:.80} is not one of win, tie, loss (of the first response), A or B; None is undecided"
        )
    return word


def _missing(label: Any) -> bool:
    return label is None or (isinstance(label, int | float) and not isinstance(label, bool) and label == -1)


def _folded(label: Any) -> str:
    """A label in the one spelling it is looked up by: True as "true", 1.0 as "1"."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).strip().casefold() if isinstance(label, str | int | float) else repr(label)
