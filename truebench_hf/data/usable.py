"""Real files are dirty: a row that cannot be used is left out, named and counted, and the others are read.

Nothing is left out in silence: what comes back says what is missing, readers log it as a warning, and `strict` stops at
the first such row. A file of which more than half cannot be used is another file than it is taken for: an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from truebench_hf.data.row_formats import Entry
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError

T = TypeVar("T")
_SHOWN, _LONGEST = 3, 300


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
        texts = [text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…" for text in texts]
        more = [f"and {len(self.reasons) - _SHOWN:,} more"] if len(self.reasons) > _SHOWN else []
        return "; ".join(texts + more)


@dataclass
class Sieve(Generic[T]):
    """What `parse` makes of each row, as it is asked for; a row that is malformed, or for which it raises UserError, is
    left out, and after the last row `left_out` tells of all of them.

    So is a row that makes something whose `key` an earlier one has. `name` is what the rows stand in. Iterating raises
    UserError on a file that cannot be read, at its end if more than half of it cannot be used, and with `strict` on the
    first row that cannot.
    """

    name: str
    entries: Iterable[Entry]
    parse: Callable[[Record], Iterable[T]]
    key: Callable[[T], object] | None = None
    strict: bool = False
    left_out: LeftOut = field(default_factory=LeftOut, init=False)

    def __iter__(self) -> Iterator[T]:
        reasons: list[str] = []
        seen: dict[object, str] = {}
        rows = 0
        for rows, entry in enumerate(self.entries, 1):
            try:
                if isinstance(entry, UserError):
                    raise entry
                items = list(self.parse(replace(entry, number=rows - 1)))  # among those of all files
                keys = [self.key(item) for item in items] if self.key else []
                for key in keys:
                    if key in seen:
                        raise UserError(f"{entry.where}: id {key!r} stands twice, first at {seen[key]}")
                seen |= dict.fromkeys(keys, entry.where)
            except UserError as error:
                if self.strict:
                    raise
                reasons.append(str(error))
            else:
                yield from items
        self.left_out = LeftOut(self.name, rows, tuple(reasons))
        if 2 * len(reasons) > rows:
            raise UserError(f"{self.name}: {self.left_out.count}; is it the right file? {self.left_out.first}")


class Usable(list[T]):
    """What was made of the rows of a file that can be used, in their order; `left_out` tells of the others."""

    def __init__(self, items: Iterable[T] = (), left_out: LeftOut | None = None) -> None:
        super().__init__(items)
        self.left_out = LeftOut() if left_out is None else left_out


def unusable(items: Sequence[object]) -> tuple[str, ...]:
    """Why rows were left out of what was read; nothing where all can be used."""
    return items.left_out.reasons if isinstance(items, Usable) else ()


def together(file: str | Path, outs: Iterable[LeftOut]) -> LeftOut:
    """What is left out of several files of one folder."""
    outs = list(outs)
    return LeftOut(str(file), sum(out.rows for out in outs), tuple(reason for out in outs for reason in out.reasons))
