"""Sections on the terminal: the tables of a report. Charts and conversations are for the page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from truebench_hf.report.sections import Grid, Scores, Section, interval, value
from truebench_hf.terminal import cell, console, say

if TYPE_CHECKING:
    from rich.table import Table

_PROSE = 72  # characters to a line of running text
_WIDEST = 400  # what is longer is broken, not cut


def show(sections: Iterable[Section], *, lead: str = "", notes: Iterable[str] = ()) -> None:
    """Print the lead, the tables that are meant for the terminal, in order, and the notes."""
    if lead:
        say(lead)
    for section in sections:
        if isinstance(section, Grid | Scores) and section.printed:
            table = _table(_scores(section) if isinstance(section, Scores) else section)
            _line(section.title if isinstance(section, Grid) else "", "italic")
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


def _scores(section: Scores) -> Grid:
    rows = tuple(
        (name, value(score), interval(score), score.n, score.unscored or "") for name, score in section.scores.items()
    )
    return Grid("", (section.title or "Score", "%", "95 % interval", "n", "unscored"), rows)


def _table(grid: Grid) -> Table:
    from rich.table import Table

    table = Table(show_header=bool(grid.header))
    width = len(grid.header) or max(map(len, grid.rows), default=0)
    for number in range(width):
        name, prose = grid.header[number] if grid.header else "", number in grid.prose
        table.add_column(
            cell(name), justify="left" if number == 0 or prose else "right", overflow="fold",
            max_width=_PROSE if prose else None,
        )  # fmt: skip
    for row in grid.rows:
        table.add_row(*map(cell, row))
    if grid.paper:
        table.add_section()
    for row in grid.paper:
        table.add_row(cell(f"paper: {row[0]}"), *map(cell, row[1:]), style="dim")
    return table
