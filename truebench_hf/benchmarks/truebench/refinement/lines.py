"""The lines of a work list that somebody filled in, as they stand in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.benchmarks.truebench.refinement.worklist import COLUMNS, FILLED
from truebench_hf.data.row_formats import read_text
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.csv_table import read_table

_NEEDED = ("row", "instance", "round", "kind", "criterion", "new text", "new prompt")
_SAID = ("kind", "new text", "new prompt")  # what is blank until somebody decided; other columns come with values


@dataclass(frozen=True, slots=True)
class Line:
    """One line that somebody filled in: its cells by column, and where it stands."""

    where: str
    cells: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.cells.get(name, "").replace("\r\n", "\n").strip()

    def wrong(self, name: str, said: str) -> UserError:
        """An error about a cell."""
        return UserError(f"{self.where}: column {name!r} {said}")

    def number(self, name: str) -> int | None:
        """A whole number, None where the cell is blank; a spreadsheet program may have made 3 a 3.0."""
        text = self[name].removesuffix(".0")
        if not text:
            return None
        if not text.isascii() or not text.isdigit() or len(text) > 9:
            raise self.wrong(name, f"holds {self[name]!r:.40}; write one number")
        return int(text)


def read(path: Path) -> list[Line]:
    """The lines of a work list that are filled in. Raises UserError where the file is none."""
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise UserError(f"{path}: give the work list as CSV (UTF-8)")
    found = read_table(read_text(path), str(path), _NEEDED, COLUMNS, "a work list")
    lines = [Line(where, cells) for where, cells in found]
    return [line for line in lines if any(line[name] for name in _SAID)]


def source(lines: Iterable[Line]) -> str:
    """A hash of what was filled in, by which a list that was taken in already is known."""
    return digest(
        canonical([[line["round"].removesuffix(".0"), *(line[name] for name in ("row", *FILLED))] for line in lines])
    )[:16]
