"""Real files are dirty: a row that cannot be used is left out, named and counted, and the others are read.

Nothing is left out in silence: what comes back says what is missing, readers log it as a warning, and `strict` stops at
the first such row. A file of which more than half cannot be used is another file than it is taken for: an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from truebench_hf.errors import UserError
from truebench_hf.row_files import entries
from truebench_hf.rows import Record

T = TypeVar("T")
_SHOWN, _LONGEST = 3, 200


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What of a file's `rows` cannot be used: a reason per row, each with the place where it stands."""

    file: str = ""
    rows: int = 0
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reasons)

    def __str__(self) -> str:
        """One line with the count and the first reasons, and the file by its name alone: cards show it to strangers."""
        return f"{Path(self.file).name}: {self.count} and are left out: {self.first}"

    @property
    def count(self) -> str:
        """How many rows cannot be used."""
        return f"{len(self.reasons):,} of {self.rows:,} rows cannot be used"

    @property
    def first(self) -> str:
        """The first reasons, places without the file."""
        texts = [text.replace(f"{self.file}, ", "").replace(f"{self.file}/", "") for text in self.reasons[:_SHOWN]]
        cut = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in texts]
        more = [f"and {len(self.reasons) - _SHOWN:,} more"] if len(self.reasons) > _SHOWN else []
        return "; ".join(cut + more)


class Usable(list[T]):
    """What was made of the rows of a file that can be used, in their order; `left_out` tells of the others."""

    def __init__(self, made: Iterable[T] = (), left_out: LeftOut | None = None) -> None:
        super().__init__(made)
        self.left_out = LeftOut() if left_out is None else left_out


def usable(
    path: Path,
    parse: Callable[[Record], Iterable[T]],
    *,
    key: Callable[[T], object] | None = None,
    seen: dict[object, str] | None = None,
    strict: bool = False,
) -> Usable[T]:
    """What `parse` makes of each row of a file; a row that is malformed, or for which it raises UserError, is left out.

    So is a row that makes something whose `key` an earlier one has (`seen` maps keys to places, where several files
    share them). Raises UserError on a file that cannot be read or of which more than half cannot be used, and with
    `strict` on the first row that cannot.
    """
    made: list[T] = []
    reasons: list[str] = []
    rows, known = 0, {} if seen is None else seen
    for entry in entries(path):
        rows += 1
        try:
            if isinstance(entry, UserError):
                raise entry
            found = list(parse(entry))
            if key is not None:
                _once([key(one) for one in found], entry.where, known)
        except UserError as error:
            if strict:
                raise
            reasons.append(str(error))
        else:
            made += found
    left_out = LeftOut(str(path), rows, tuple(reasons))
    if 2 * len(reasons) > rows:
        raise UserError(f"{path}: {left_out.count}; is it the right file? {left_out.first}")
    return Usable(made, left_out)


def joined(file: str | Path, parts: Iterable[Usable[T]]) -> Usable[T]:
    """What was read from the files of one folder."""
    parts = list(parts)
    outs = [part.left_out for part in parts]
    reasons = tuple(reason for out in outs for reason in out.reasons)
    return Usable((one for part in parts for one in part), LeftOut(str(file), sum(out.rows for out in outs), reasons))


def _once(keys: Iterable[object], where: str, seen: dict[object, str]) -> None:
    for key in keys:
        if key in seen:
            raise UserError(f"{where}: id {key!r} stands twice, first at {seen[key]}")
    seen.update(dict.fromkeys(keys, where))
