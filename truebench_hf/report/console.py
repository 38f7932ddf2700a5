"""Sections on the terminal: the tables of a report. Charts and conversations are for the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truebench_hf.errors import write_error
from truebench_hf.report.page import page
from truebench_hf.report.sections import Cells, Grid, Section
from truebench_hf.report.table import WIDTH, Table
from truebench_hf.text.terminal import cell, console, how_many, say, shortened
from truebench_hf.text.whole_files import write_whole

if TYPE_CHECKING:
    from rich.table import Table as RichTable


_PROSE = 72  # characters to a line of running text
_NAMES = 60  # characters of the names of folded columns
_WIDEST = 400  # what is longer is broken, not cut


def show(sections: Iterable[Section], *, lead: str = "", notes: Iterable[str] = ()) -> None:
    """Print the lead, the tables that are meant for the terminal, in order, and the notes."""
    if lead:
        say(lead)
    for section in sections:
        if isinstance(section, Table):
            if section.printed:
                _show_table(section)
        elif isinstance(section, Grid) and section.printed:
            table = _rows(section.header, section.rows, section.paper, section.prose)
            _line(section.title, "italic")
            # Wide enough for every column: where output goes to a file, a table cut at 80 characters is worthless.
            screen = console()
            needed = screen.measure(table, options=screen.options.update_width(_WIDEST)).maximum
            console(width=needed).print(table)
            _line(section.note, "dim")
    for note in notes:
        _line(f"Note: {note}", "yellow")


def _line(text: str, style: str) -> None:
    """A line however long: the terminal breaks it, and a file can be searched for it."""
    if text:
        console().print(cell(text, style), soft_wrap=True)


def _show_table(table: Table) -> None:
    """Print a table at most `WIDTH` wide: its most minor columns are folded until it fits, and then texts are broken."""
    folded: list[str] = []
    screen = console(width=WIDTH)
    while True:
        prose = [place for place, column in table.places if column.kind == "prose"]
        marked = list(zip(table.texts, table.marks, strict=True))
        rows, paper = [row for row, mark in marked if not mark], [row for row, mark in marked if mark]
        drawn = _rows(table.header if any(table.header) else (), rows, paper, prose)
        if screen.measure(drawn, options=screen.options.update_width(_WIDEST)).maximum <= WIDTH:
            break
        table, left_out = table.folded()
        if not left_out:
            break
        folded = [*(column.title for column in left_out), *folded]
    _line(table.title, "italic")
    screen.print(drawn)
    if folded:
        names = shortened(", ".join(folded), _NAMES)
        _line(f"Folded: {how_many(len(folded), 'column')} ({names}).", "dim")
    _line(table.note, "dim")


def _rows(header: Sequence[str], rows: Sequence[Cells], paper: Sequence[Cells], prose: Sequence[int]) -> RichTable:
    from rich.table import Table as RichTable

    table = RichTable(show_header=bool(header))
    for number in range(len(header) or max(map(len, rows), default=0)):
        table.add_column(
            cell(header[number] if header else ""), overflow="fold",
            justify="left" if number == 0 or number in prose else "right",
            max_width=_PROSE if number in prose else None,
        )  # fmt: skip
    for row in rows:
        table.add_row(*map(cell, row))
    if paper:
        table.add_section()
    for row in paper:
        table.add_row(cell(f"paper: {row[0]}"), *map(cell, row[1:]), style="dim")
    return table


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
