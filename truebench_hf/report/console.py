"""Sections on the terminal: the tables of a report. Charts and conversations are for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truebench_hf.errors import write_error
from truebench_hf.report.page import page
from truebench_hf.report.sections import Section
from truebench_hf.report.table import WIDTH, Table
from truebench_hf.text.terminal import cell, console, how_many, say, shortened
from truebench_hf.text.whole_files import write_whole

if TYPE_CHECKING:
    from rich.table import Table as RichTable


_PROSE = 72  # characters to a line of running text
_NAMES = 60  # characters of the names of folded columns


def show(sections: Iterable[Section], *, lead: str = "", notes: Iterable[str] = ()) -> None:
    """Print the lead, the tables that are meant for the terminal, in order, and the notes."""
    if lead:
        say(lead)
    for section in sections:
        if isinstance(section, Table) and section.printed:
            _show_table(section)
    for note in notes:
        _line(f"Note: {note}", "yellow")


def _line(text: str, style: str) -> None:
    """A line however long: the terminal breaks it, and a file can be searched for it."""
    if text:
        console().print(cell(text, style), soft_wrap=True)


def _show_table(table: Table) -> None:
    """Print a table at most `WIDTH` wide: its most minor columns are folded until it fits, and then texts are broken."""
    folded: list[str] = []
    while _width(table) > WIDTH:
        table, left_out = table.folded()
        if not left_out:
            break
        folded = [*(column.title for column in left_out), *folded]
    _line(table.title, "italic")
    console(width=WIDTH).print(_drawn(table))
    if folded:
        names = shortened(", ".join(folded), _NAMES)
        _line(f"Folded: {how_many(len(folded), 'column')} ({names}).", "dim")
    _line(table.note, "dim")


def _width(table: Table) -> int:
    """Return the characters of a line of a table whose columns have all the room that they want."""
    from rich.cells import cell_len

    whole = 1
    for (_, column), *texts in zip(table.places, table.header, *table.shown, strict=True):
        width = max(cell_len(line) for text in texts for line in (text.splitlines() or [""]))
        whole += 3 + (min(width, _PROSE) if column.kind == "prose" else width)  # a blank on either side, and a line
    return whole


def _drawn(table: Table) -> RichTable:
    from rich.table import Table as RichTable

    drawn = RichTable(show_header=any(table.header))
    for place, column in table.places:
        width = _PROSE if column.kind == "prose" else None
        drawn.add_column(
            cell(table.header[place]), justify="left" if column.is_text else "right", overflow="fold", max_width=width
        )
    rows = list(zip(table.shown, table.marks, strict=True))
    for texts in (texts for texts, paper in rows if not paper):
        drawn.add_row(*map(cell, texts))
    if any(table.marks):
        drawn.add_section()
    for texts in (texts for texts, paper in rows if paper):
        drawn.add_row(*map(cell, texts), style="dim")
    return drawn


def present(
    title: str, sections: Sequence[Section], out: Path | None = None, *, notes: Sequence[str] = (),
    files: Mapping[str, str | Iterable[str]] | None = None,
) -> None:  # fmt: skip
    """Show the sections, and write them as a page, with `files` beside it, the texts of which may come in parts.

    Raises UserError where they cannot be written: what was there before then stays as it was.

    Written first: who reads the terminal through a pipe may close it (`| head`).
    """
    try:
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            beside = {out.parent / name: text for name, text in (files or {}).items()}
            for path, text in {out: page(title, sections, notes=notes), **beside}.items():
                parts = [text] if isinstance(text, str) else text
                if path.is_symlink() or (path.exists() and not path.is_file()):  # /dev/stdout, say
                    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
                        file.writelines(parts)
                else:
                    write_whole(path, parts)
    except OSError as error:
        raise write_error(f"--out {out}: cannot be written", error.strerror or error) from error
    finally:
        show(sections, notes=notes)
    if out is not None:
        say(f"report: {out}")
    if out is not None and files:
        say(f"in {out.parent}: {', '.join(files)}")
