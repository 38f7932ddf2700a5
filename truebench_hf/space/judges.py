"""Tab 2: how far judges can be trusted, measured here and as printed, each in charts of its own."""

from __future__ import annotations

from typing import Any

from truebench_hf.space import look
from truebench_hf.space.board import judge_tables, judges, words
from truebench_hf.space.board.asked import AskedJudges
from truebench_hf.space.board.store import Board
from truebench_hf.space.templates import filled


def html(board: Board, asked: AskedJudges) -> str:
    """The page that is asked for, as HTML."""
    published = {"RubricEval paper": judge_tables.rubric_eval(), "FACTS Grounding paper": judge_tables.facts()}
    page = judges.page(board.snapshot, asked)
    return filled("judges.html.jinja", page=page, published=published, model=words.model)


def build(board: Board) -> None:
    """Lay out the tab inside the current Blocks."""

    # Gradio makes this public: anybody may send it anything.
    def show_judges(given: Any) -> str:
        return html(board, AskedJudges.of(given))

    look.drawn_page("judges", show_judges)
