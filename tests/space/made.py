"""Entries of boards made by hand, and the pages of the Space over them."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.comparing import papers, table
from truebench_hf.comparing.runs import BoardEntry, BoardRun
from truebench_hf.metrics.intervals import wilson
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.site import Pages
from truebench_hf.study.ranking import Board, BoardColumn
from truebench_hf.types import Score

COLUMNS = (BoardColumn("overall", "Overall"), BoardColumn("category:Safety", "Safety", "Categories"))


def entry(name: str, value: float | None, **more: Any) -> BoardEntry:
    """A result of TRUEBench over n tasks, with an interval; its facts and other fields may be named."""
    facts = {"Judge": "openai:gpt-4.1 (checklist)", "Data": "/x/TRUEBench-v0.6.1.jsonl"} | more.pop("facts", {})
    n, left = more.pop("n", 100), more.pop("left", 0)
    score = Score(value, n, left, None if value is None else wilson(round(value * n), n))
    scores = {"overall": score, "category:Safety": more.pop("safety", Score(0.5, 12, 0, wilson(6, 12)))}
    source, setting = more.pop("source", "measured"), more.pop("setting", "s")
    return replace(BoardEntry(name, "truebench", name, source, setting, score, scores, facts), **more)


def snapshot(*entries: BoardEntry, columns: tuple[BoardColumn, ...] = COLUMNS) -> Snapshot:
    """A board with these results, ranked by their totals, and what papers print of judges."""
    runs = [BoardRun("truebench", Board("overall", columns, ()), entries), papers.PAPERS["metaeval"].published()]
    kinds, found = table.merged(runs)
    return Snapshot(table.by_score(found), kinds)


def board_of(*folders: Path) -> BoardStore:
    """A board that has looked at these folders."""
    board = BoardStore(folders)
    board.refresh()
    return board


def page(board: BoardStore | Snapshot, /, **query: str) -> str:
    """What stands below the heading of a page."""
    if isinstance(board, Snapshot):
        store = BoardStore()
        store.snapshot = board
        board = store
    return Pages(board).html(query).partition("<main>")[2].partition("</main>")[0]


def text_of(markup: str) -> str:
    """What is read of a page, without its elements."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())
