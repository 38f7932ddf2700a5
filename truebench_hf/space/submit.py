"""Submissions: hand in a run's judgments; they are checked, scored again, and queued as a pull request. What became of others."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from pathlib import Path
from typing import Any

from markupsafe import Markup

from truebench_hf.data.catalogue import LATEST, RELEASES
from truebench_hf.errors import UserError
from truebench_hf.hub.results import AlreadyThere, Submitted, submissions, submit
from truebench_hf.hub.submission import Submission, validate
from truebench_hf.models.spec import kinds
from truebench_hf.report.page import fragment
from truebench_hf.report.table import pairs
from truebench_hf.space import visitors
from truebench_hf.space.options import SpaceOptions
from truebench_hf.space.pages import macro
from truebench_hf.space.visitors import Updates
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import warn


def build(options: SpaceOptions, app: Any) -> None:
    """Lay out the tab inside the current Blocks, which are those of `app`. The Hub is asked for the list when the page opens."""
    import gradio as gr

    if not (options.submit and options.results):
        gr.HTML(macro("submit", "closed"), elem_id="submissions")
        return
    listed = Submissions(options.results)
    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            gr.HTML(macro("submit", "opening", visitors.UPLOAD_MIB))
            file = gr.File(label="judgments.jsonl", file_types=[".jsonl"], elem_id="upload", height=140)
            check = gr.Button("Check the file", variant="primary", elem_id="check-start")
            check_line, report = gr.HTML(elem_id="check-line"), gr.HTML(elem_id="checked")
            queue = gr.Button("Queue it as a pull request", elem_id="queue-start")
            queue_line = gr.HTML(elem_id="queue-line")
        with gr.Column(min_width=320):
            page = gr.HTML(listed.html(), elem_id="submissions")

    async def checked(path: str | None) -> Updates:
        yield {report: ""}, visitors.status("Checking …", "busy")
        rows, line, ranked = await asyncio.to_thread(check_file, path)
        result = {report: fragment(pairs("What the file gives", rows))}
        yield result, visitors.status(line, "good" if ranked else "open")

    async def queued(path: str | None) -> Updates:
        yield {}, visitors.status("Checking and sending …", "busy")
        line = visitors.status(await asyncio.to_thread(queue_file, path, listed.repo), "good")
        yield {}, line
        yield {page: await asyncio.to_thread(listed.renewed, now=True)}, line

    visitors.start(check, checked, [file], [report], check_line, lane="files", at_a_time=2)
    visitors.start(queue, queued, [file], [page], queue_line, lane="files", at_a_time=2)
    app.load(listed.renewed, None, page, **visitors.QUIET)


def check_file(path: str | None) -> tuple[tuple[tuple[str, str], ...], str, bool]:
    """What a file gives by name, what is said of it, and whether it would be ranked. Raises VisitorError."""
    checked = _validated(path)
    claimed = {"Model": anonymous.name(checked.model), "Judge": anonymous.name(checked.judge)}
    count = len({item.instance.id for item in checked.judged})
    short = f"It will not be ranked: {count:,} of the {RELEASES[LATEST].instances:,} tasks of {LATEST}."
    line = ["The file holds together.", *([] if checked.data else [short]), *checked.notes]
    return tuple((claimed | checked.computed).items()), " ".join(line), checked.data is not None


def queue_file(path: str | None, repo: str) -> str:
    """Queue a file that passes the check, and return the line on it as HTML. Raises VisitorError."""
    _validated(path)
    try:
        pushed = submit(str(path), repo)
    except AlreadyThere:
        raise visitors.VisitorError("This run is in the results data set already.") from None
    except UserError as error:
        # The Hub's answer is for the operator: it may name accounts and repositories that are not public.
        raise RuntimeError(f"submission not queued: {error}") from error
    return Markup(macro("submit", "sent", pushed.new, pushed.url))


def _validated(path: str | None) -> Submission:
    if not path:
        raise visitors.VisitorError(
            f"There is no file: choose one of at most {visitors.UPLOAD_MIB} MiB. A larger one is not taken here; `truebench "
            "publish results` brings it to the data set."
        )
    try:
        return validate(Path(path), name=Path(path).name[-60:], max_bytes=visitors.UPLOAD_MIB * 2**20)
    except UserError as error:
        raise visitors.VisitorError(str(error)) from error


_MOST = 30
_FRESH, _PATIENCE = 60.0, 10.0  # seconds
_PROVIDED = re.compile("^(?:" + "|".join(kinds() | {"smollm2"}) + ")-")


class Submissions:
    """The list of a results data set, kept between looks. A Hub that does not answer leaves the old one, and says so."""

    def __init__(self, repo_id: str) -> None:
        self.repo = repo_id.partition("@")[0]
        self._kept: tuple[Submitted, ...] = ()
        # Seconds since 1970: of what is kept, of a question that is open, and of the first one without an answer (0: none).
        self._read_at = self._asked_at = self._silent_since = 0.0
        self._asking = threading.Lock()

    def renewed(self, *, now: bool = False) -> str:
        """Return the list as HTML. Asks the Hub unless it was asked a minute ago (or `now`), or is being asked; never raises."""
        # The Hub's client waits without end: while one question hangs no second one is sent after it.
        if (now or time.time() - self._read_at > _FRESH) and self._asking.acquire(blocking=False):
            self._asked_at = time.time()
            try:
                self._kept = submissions(self.repo, _MOST)
                self._read_at, self._silent_since = time.time(), 0.0
            except Exception as error:  # the client has many of its own; all mean: keep what there is
                if not self._silent_since:
                    warn(f"submissions of {self.repo}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
                self._silent_since = self._silent_since or time.time()
            finally:
                self._asked_at = 0.0
                self._asking.release()
        return self.html()

    def html(self) -> str:
        """Return the list as it is known, without asking."""
        line, hangs = "", 0 < self._asked_at < time.time() - _PATIENCE
        if since := self._silent_since or (self._asked_at if hangs else 0.0):
            older = "; what stands here is older." if self._read_at else "."
            line = f"Nothing could be had from the Hub since {time.strftime('%H:%M UTC on %Y-%m-%d', time.gmtime(since))}{older}"
        elif not self._read_at:
            line = "Asking the Hub …"
        elif not self._kept:
            line = "Nothing was submitted yet."
        # A name without who provides it, as the leaderboard has it.
        return macro("submit", "submitted", line, self._kept, lambda slug: _PROVIDED.sub("", slug, count=1) or slug)
