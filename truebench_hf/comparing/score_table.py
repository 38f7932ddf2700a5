"""The scores of finished runs as one table, to be taken into a paper, a README or a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from truebench_hf.comparing import runs
from truebench_hf.errors import UserError, unknown
from truebench_hf.report.table import Column, Table
from truebench_hf.study.outcome import COST

OVERVIEW = "overview"


def score_table(folders: Sequence[str], by: str = OVERVIEW) -> Table:
    """A row per model (or judge) of the finished runs at or below these folders; `truebench table` as a Python call.

    Columns are the main score with its interval and n, and those of a group that the boards of the runs have: by
    default those of their overview, else `categories`, `languages` ... Raises UserError where there is no finished run,
    where runs are of several kinds, and naming the groups that there are.
    """
    boards = [board for root in folders for folder in _below(root) if (board := runs.read(folder)) is not None]
    if not boards:
        raise UserError(f"{', '.join(folders)}: no finished run with scores there; give the --out of finished runs")
    if len(kinds := {board.kind for board in boards}) > 1:
        raise UserError(f"these runs are of kind {' and '.join(sorted(kinds))}; give runs of one kind")
    main = next(column for column in boards[0].columns if column.name == boards[0].main)
    found = {column.name: column for board in boards for column in board.columns if column.group != COST}
    groups = {column.group.casefold() or OVERVIEW for column in found.values()}
    if by not in groups:
        raise unknown("group of scores", by, sorted(groups))
    beside = [c for c in found.values() if (c.group.casefold() or OVERVIEW) == by and c.name != main.name]
    entries = [entry for board in boards for entry in board.entries]
    several = len({entry.setting for entry in entries}) > 1
    columns = [
        Column("name", "Model"),
        *([Column("judge", "Judge")] if several else []),
        Column(main.name, main.title, "score", boards[0].unit, _unit(main.percent), parts=("value", "interval", "n"), drawn=main.percent),
        *(Column(c.name, c.title, "score", unit=_unit(c.percent), digits=1, minor=1) for c in beside),
    ]  # fmt: skip
    rows = [{"name": entry.name, "judge": entry.facts.get("Judge"), **entry.scores} for entry in entries]
    note = f"{boards[0].unit or 'Shares in %'}; intervals of 95 %."
    if several:
        note += " Data, judge or way of judging differ between these runs: `truebench leaderboard` says how."
    return Table("scores", columns, rows, boards[0].title, note)


def _below(root: str) -> list[Path]:
    if not (found := list(runs.folders([Path(root)]))):
        raise UserError(f"{root}: no run folder at or below it; give the --out of finished runs")
    return found


def _unit(percent: bool) -> Literal["%", ""]:
    return "%" if percent else ""
