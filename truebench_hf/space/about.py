"""Tab 6: what this board holds, protocol, data, limits, and how to cite."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import Any

from truebench_hf.comparing.runs import Source
from truebench_hf.comparing.table import UNKNOWN
from truebench_hf.report.page import fragment
from truebench_hf.report.table import Column, Table
from truebench_hf.space.board import words
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.look import QUIET, macro
from truebench_hf.version import __version__

_SOURCES: dict[Source, str] = {"paper": "Published", "measured": "Measured", "submitted": "Submitted"}
_MOST_DATA = 8  # names of data sets; submissions may name any number of them
_CITATIONS = Path(__file__).parents[1] / "citations.txt"


def build(board: BoardStore, tab: Any, results: str = "") -> None:
    """Lay out the tab. What the board holds is told anew whenever the tab is opened."""
    import gradio as gr
    from markdown_it import MarkdownIt

    facts = gr.HTML(held(board.snapshot), elem_id="about-board")
    gr.HTML(links(results, os.environ.get("SPACE_ID", "")), elem_classes="tb-about")
    # The Hub shows a Space in a frame, in which other sites refuse to stand.
    text = MarkdownIt().render(Path(__file__).with_name("about.md").read_text("utf-8"))
    gr.HTML(text.replace('href="https:', 'target="_blank" rel="noopener" href="https:'), elem_classes="tb-about")
    gr.Textbox(
        _CITATIONS.read_text("utf-8").replace("VERSION", __version__).strip(), label="Citations (BibTeX)",
        interactive=False, lines=12, max_lines=12, buttons=["copy"], elem_classes="tb-mono", elem_id="bibtex",
    )  # fmt: skip
    tab.select(lambda: held(board.snapshot), None, facts, **QUIET)


def links(results: str, space: str) -> str:
    """Where the results and the code are; `results` is ORG/NAME[@REVISION], `space` the id of the Space on the Hub, if any."""
    name, _, revision = results.partition("@")
    return macro("about.html.jinja", "links", __version__, space, name, f"/tree/{revision}" if revision else "")


def held(snapshot: Snapshot) -> str:
    """What a board holds, as HTML: how many results of which kind, over which data, and when it was last read."""
    rows: list[dict[str, Any]] = []
    for kind in snapshot.kinds:
        count = Counter(entry.source for entry in snapshot.of(kind))
        rows.append({"kind": kind.title, **{source: count[source] for source in _SOURCES}})
    data = Counter(
        words.data(entry.facts.get("Data", UNKNOWN)) for entry in snapshot.entries if entry.source != "paper"
    )
    named = ", ".join(f"{name} ({words.counted(lines, 'result')})" for name, lines in data.most_common(_MOST_DATA))
    more = f", and {len(data) - _MOST_DATA} more" if len(data) > _MOST_DATA else ""
    when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(snapshot.read_at)) if snapshot.read_at else "not yet"
    text = f"Data of the runs: {named}{more}." if data else "No run has been measured here yet."
    columns = (Column("kind", "Results"), *(Column(source, title, "count") for source, title in _SOURCES.items()))
    table = Table("held", columns, rows, "What this board holds")
    return fragment(table) + macro("about.html.jinja", "read", text, when, snapshot.stale)
