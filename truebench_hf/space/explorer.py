"""Tab 3: look through instances, and through the conversations and verdicts of runs; two models side by side."""

from __future__ import annotations

from typing import Any

from truebench_hf.space import look
from truebench_hf.space.board import conversations
from truebench_hf.space.board.asked import AskedConversations
from truebench_hf.space.board.explorer import RecentRuns
from truebench_hf.space.board.store import Board
from truebench_hf.space.templates import filled


def html(board: Board, recent: RecentRuns, asked: AskedConversations) -> str:
    """The page that is asked for, as HTML."""
    return filled("explorer.html.jinja", page=conversations.page(board.snapshot, recent, asked))


def build(board: Board) -> None:
    """Lay out the tab inside the current Blocks."""
    recent = RecentRuns()

    # Gradio makes this public: anybody may send it anything.
    def show_conversations(given: Any) -> str:
        return html(board, recent, AskedConversations.of(given))

    look.drawn_page("explorer", show_conversations)
