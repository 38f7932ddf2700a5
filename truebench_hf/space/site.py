"""The pages that the library draws, by their addresses; results as JSON and CSV; and the headers of all answers."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from markdown_it import MarkdownIt
from markupsafe import Markup

from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.comparing import table
from truebench_hf.comparing.runs import Source
from truebench_hf.errors import UserError
from truebench_hf.report.page import rich, style
from truebench_hf.report.table import Column, Table
from truebench_hf.space.board import boards, judges, leaderboard, model, words
from truebench_hf.space.board.explorer import Explorer
from truebench_hf.space.board.items import RecentItems, Story, story
from truebench_hf.space.board.store import BoardStore, Recent, Snapshot
from truebench_hf.space.pages import Query, address, filled, macro, read
from truebench_hf.text.terminal import shortened
from truebench_hf.version import __version__

TABS = {
    "leaderboard": "Leaderboard", "judges": "Trust in judges", "explorer": "Explorer", "playground": "Playground",
    "submit": "Submit", "about": "About",
}  # fmt: skip
GRADIO = ("playground", "submit")  # the tabs that Gradio draws
# The title of a page and what stands below it; where results are shown they say it themselves.
_HEADS = {
    "leaderboard": (
        "TRUEBench: do models do office work as told?",
        "Real tasks, each with a checklist. An answer passes only when it meets every criterion.",
    ),
    "judges": ("A score is worth no more than its judge", "Here judges decide rubrics whose answers are known."),
    "explorer": ("Conversations", "Every answer with its verdicts, what went wrong first."),
    "playground": (
        "Playground", "Have an answer written, held against a checklist or a document, and improved.",
    ),
    "submit": ("Submit a run", "Hand in the judgments of a run."),
    "about": ("About these pages", "What is measured, how, and what becomes of what you type."),
}  # fmt: skip
_KEPT = 40  # pages of one state of the results
_SOURCES: dict[Source, str] = {"paper": "Published", "measured": "Measured", "submitted": "Submitted"}
_CITATIONS = Path(__file__).parents[1] / "citations.txt"


class Pages:
    """Draws what an address asks for; whatever it asks, the answer is a page. Holds no visitor's state."""

    def __init__(self, board: BoardStore, results: str = "") -> None:
        self.board, self._results = board, results
        self._items = RecentItems()
        self._explorer = Explorer(self._items, board.roots)
        self._recent = Recent[str](_KEPT)

    def html(self, values: Mapping[str, str]) -> str:
        """Return the whole page."""
        tab, query, snapshot = values.get("tab", ""), Query.of(values), self.board.snapshot
        if tab in ("explorer", "model"):  # which may have to read a run's conversations: nobody else waits for that
            content = self._content(tab, snapshot, query)
        else:
            tab = tab if tab in TABS else "leaderboard"
            content = self._recent.of((snapshot.version, tab, query), lambda: self._content(tab, snapshot, query))
        return filled(
            "page", heading=self._head(tab, snapshot, query), content=Markup(content), style=_STYLE, script=_SCRIPT,
            theme=theme if (theme := values.get("__theme")) in ("light", "dark") else "",
        )  # fmt: skip

    def _head(self, tab: str, snapshot: Snapshot, query: Query) -> Markup:
        """Return the heading: of a model its name, of a leaderboard what is shown, of other pages what they are."""
        if tab == "model" and (where := model.place(snapshot, query.model)):
            board, group, entry = where
            return head("leaderboard", words.model(entry.name), boards.named(board, group))
        if tab != "leaderboard":
            return head(tab)
        _, board, group = leaderboard.chosen(snapshot, query)
        below = "" if board.kind.name == TRUEBENCH else board.kind.title
        # Papers' tables that nobody asked for are what there is for want of results.
        is_asked_for = bool(query.board or query.group) or group.what != "paper"
        return head(tab, boards.title(board, group) if is_asked_for else "", below)

    def _content(self, tab: str, snapshot: Snapshot, query: Query) -> str:
        """Return what stands below the heading."""
        if tab == "judges":
            return filled("judges", page=judges.page(snapshot, query), model=words.model, headings=boards.HEADINGS)
        if tab == "explorer":
            return filled("explorer", page=self._explorer.page(snapshot, query), rich=rich, shortened=shortened)
        if tab == "about":
            return about(snapshot, self._results, os.environ.get("SPACE_ID", ""))
        if tab == "model":
            page = model.page(snapshot, query.model, self._story(snapshot, query.model))
            return filled("model", page=page, shortened=shortened)
        drawn = leaderboard.page(snapshot, query)
        return filled("board", page=drawn, heading=boards.heading, model_name=words.model, few=leaderboard.FEW)

    def _story(self, snapshot: Snapshot, key: str) -> Story | None:
        """Return what the judgments of a result tell; None where there are none that can be read."""
        try:
            return story(self._items.of(entry)) if (entry := snapshot.entry(key)) else None
        except UserError:
            return None

    def csv(self, values: Mapping[str, str]) -> str:
        """Return the group that is asked for with every column, as CSV."""
        _, board, group = leaderboard.chosen(self.board.snapshot, Query.of(values))
        return table.to_csv(board.kind, group.entries)

    def badge(self, values: Mapping[str, str]) -> str:
        """Return the score of a model as a small picture (SVG) for its card."""
        place = model.place(self.board.snapshot, Query.of(values).model)
        if place is None:
            return filled("badge", name="truebench_hf", score="no result")
        board, _, entry = place
        unit = " %" if board.kind.factor == 100 else ""
        return filled("badge", name=board.title, score=f"{model.score(board.kind, entry)}{unit}")


def head(tab: str, title: str = "", below: str = "") -> Markup:
    """Return the heading of a page, by default what the page is, and the way to all pages."""
    tab = tab if tab in TABS else "leaderboard"
    return Markup(macro("parts", "head", title or _HEADS[tab][0], below or _HEADS[tab][1], TABS, tab))


def results_json(snapshot: Snapshot, query: Query) -> dict[str, Any]:
    """Return a group of results: what it is, who leads, a record per row with every score, and where other groups are."""
    all_boards, board, group = leaderboard.chosen(snapshot, query)
    rows = [
        {
            "name": entry.name, "rank": entry.rank, "last_rank": entry.last, "source": entry.source,
            "scores": {name: asdict(score) for name, score in entry.scores.items()}, "facts": dict(entry.facts),
            "address": address("model", model=entry.key),
        }
        for entry in group.entries
    ]  # fmt: skip
    others = [
        {"board": other.title, "heading": boards.heading(part), "address": f"?board={other.id}&group={part.id}"}
        for other in all_boards
        for part in other.groups
    ]
    return {
        "board": board.title, "ranked_by": board.kind.main, "unit": board.kind.unit,
        "heading": boards.heading(group), "lead": boards.lead(group), "rows": rows, "boards": others,
    }  # fmt: skip


def about(snapshot: Snapshot, results: str, space: str) -> str:
    """Return what this page is, what the board holds, and how to cite it.

    `results` is ORG/NAME[@REVISION] of the results data set, `space` the id of the Space on the Hub, if any.
    """
    count = Counter((entry.kind, entry.source) for entry in snapshot.entries)
    rows = [
        {"kind": kind.title, **{source: count[kind.name, source] for source in _SOURCES}} for kind in snapshot.kinds
    ]
    columns = (Column("kind", "Results"), *(Column(source, title, "count") for source, title in _SOURCES.items()))
    name, _, revision = results.partition("@")
    return filled(
        "about", held=Table("held", columns, rows, "What this board holds"), version=__version__, space=space,
        when=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(snapshot.read_at)) if snapshot.read_at else "not yet",
        stale=snapshot.stale, results=name, tree=f"/tree/{revision}" if revision else "",
        citations=_CITATIONS.read_text("utf-8").replace("VERSION", __version__).strip(),
        # The Hub shows a Space in a frame, in which other sites refuse to stand.
        text=Markup(MarkdownIt().render(read("about.md")).replace('href="https:', 'target="_blank" rel="noopener" href="https:')),
    )  # fmt: skip


_STYLE = Markup(style() + read("shared.css") + read("page.css"))
_SCRIPT = Markup(read("page.js"))

# Gradio's page is made of scripts and styles that stand in it, and compiles the scripts of events; all else is ours alone.
# The Hub shows a Space in a frame of its own page.
_POLICY = "; ".join(
    (
        "default-src 'self'", "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:", "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:", "font-src 'self' data:", "media-src 'self' data: blob:",
        "connect-src 'self' data: blob:", "worker-src 'self' blob:", "object-src 'none'", "base-uri 'self'",
        "form-action 'self'", "frame-ancestors 'self' https://huggingface.co",
    )
)  # fmt: skip
_HEADERS = {
    b"content-security-policy": _POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"strict-origin-when-cross-origin",
}


class Site:
    """ASGI app: our pages and data, compressed, in front of Gradio's app, and safe headers on all answers."""

    def __init__(self, pages: Pages, gradio_app: Any) -> None:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.gzip import GZipMiddleware
        from starlette.responses import HTMLResponse, JSONResponse, Response
        from starlette.routing import Route

        shared = {"Access-Control-Allow-Origin": "*"}  # for pages elsewhere that show results

        def page(request: Any) -> Any:
            picked = zip(("run", "beside"), request.query_params.getlist("pick"), strict=False)  # in a leaderboard
            return HTMLResponse(pages.html({**request.query_params, **dict(picked)}))

        def results(request: Any) -> Any:
            return JSONResponse(results_json(pages.board.snapshot, Query.of(request.query_params)), headers=shared)

        def csv(request: Any) -> Any:
            name = {"Content-Disposition": "attachment; filename=truebench_leaderboard.csv"}
            return Response("\ufeff" + pages.csv(request.query_params), media_type="text/csv", headers=name)

        def badge(request: Any) -> Any:
            return Response(pages.badge(request.query_params), media_type="image/svg+xml", headers=shared)

        routes = {"/": page, "/api/board.json": results, "/api/board.csv": csv, "/api/badge.svg": badge}
        compressed = [Middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)]
        self._ours = Starlette(routes=[Route(path, view) for path, view in routes.items()], middleware=compressed)
        self._paths, self._gradio = frozenset(routes), gradio_app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with a page of ours or pass the request on to Gradio."""
        app = self._gradio
        if scope["type"] == "http" and scope["path"] in self._paths and scope["method"] in ("GET", "HEAD"):
            query = parse_qs(scope["query_string"].decode("latin-1"))
            app = self._gradio if scope["path"] == "/" and query.get("tab", [""])[0] in GRADIO else self._ours
            if app is self._gradio:  # which reads `page` as that of an app of several, and falls over an unknown one
                pairs = (pair for pair in scope["query_string"].split(b"&") if pair.startswith((b"tab=", b"__theme=")))
                scope = {**scope, "query_string": b"&".join(pairs)}

        async def send_safe(message: Any) -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in _HEADERS]
                message = {**message, "headers": [*kept, *_HEADERS.items()]}
            await send(message)

        await app(scope, receive, send_safe if scope["type"] == "http" else send)
