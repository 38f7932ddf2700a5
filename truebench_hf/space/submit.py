"""Tab 5: hand in a run's judgments; they are checked, scored again, and queued as a pull request. What became of others."""

from __future__ import annotations

import asyncio
import functools
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from truebench_hf.errors import UserError
from truebench_hf.hub.queue import State, Submitted, submissions
from truebench_hf.models.spec import kinds
from truebench_hf.report.page import fragment, inert
from truebench_hf.report.sections import Grid
from truebench_hf.report.spoken import spoken
from truebench_hf.space import steps, visitors
from truebench_hf.space.look import QUIET
from truebench_hf.space.options import SpaceOptions
from truebench_hf.space.steps import Job, Updates
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import warn

_QUEUED = " If the file holds together, it can be queued as a public pull request."
_CLOSED = "<p class='tb-soft'>This Space checks files but takes none in.</p>"


def build(options: SpaceOptions, tab: Any) -> None:
    """Lay out the tab inside the current Blocks. What was submitted is asked for when it is opened."""
    import gradio as gr

    taking = options.submit and bool(options.results)
    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            gr.HTML(
                f"<p>Upload the <code>judgments.jsonl</code> of a finished run (up to {visitors.UPLOAD_MIB} MiB). Every "
                "line is checked and the scores are computed again from its verdicts; what you claim is not taken over."
                f"{_QUEUED if taking else ''}</p>",
            )  # fmt: skip
            file = gr.File(label="judgments.jsonl", file_types=[".jsonl"], elem_id="upload", height=140)
            check = steps.controls("Check the file", "check", primary=True)
            report = gr.HTML(elem_id="checked", visible=False)
            if taking:
                queue = steps.controls("Queue it as a pull request", "queue")
        with gr.Column(min_width=320):
            others = Submissions(options.results or "")
            shown = gr.HTML(others.html() if taking else _CLOSED, elem_id="submissions")

    async def checked(path: str | None) -> Updates:
        yield {report: gr.update(visible=False)}, visitors.status("Checking …", "busy")
        rows, notes = await asyncio.to_thread(_check, path)
        found = gr.update(value=fragment(Grid("What the file gives", (), rows, prose=(1,))), visible=True)
        yield {report: found}, visitors.status(" ".join(["The file holds together.", *notes]), "good")

    steps.wire(check, [Job(check.starts[0], checked, [file], [report])], visitors.SECONDS, 2, lane="files")
    if taking:
        _take(queue, file, others, shown)
        tab.select(functools.partial(_renewed, others), None, shown, **QUIET)


def _take(queue: steps.Controls, file: Any, others: Submissions, shown: Any) -> None:
    """Have the button hand the file on, and the list show it."""

    async def queued(path: str | None) -> Updates:
        yield {}, visitors.status("Checking and sending …", "busy")
        said = visitors.status(await asyncio.to_thread(_queue, path, others.repo), "good")
        yield {}, said
        yield {shown: await asyncio.to_thread(_renewed, others, now=True)}, said

    steps.wire(queue, [Job(queue.starts[0], queued, [file], [shown])], visitors.SECONDS, 2, lane="files")


def _renewed(others: Submissions, now: bool = False) -> str:
    others.renew(now=now)
    return others.html()


def _check(path: str | None) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    found = _validated(path)
    claimed = {"Model": anonymous.name(found.model), "Judge": anonymous.name(found.judge)}
    return tuple((claimed | found.computed).items()), found.notes


def _queue(path: str | None, repo: str) -> str:
    from truebench_hf.hub.queue import AlreadyThere, submit

    _validated(path)
    try:
        sent = submit(str(path), repo)
    except AlreadyThere:
        raise visitors.VisitorError("This run is in the results data set already.") from None
    except UserError as error:
        # The Hub's answer is for the operator: it may name accounts and repositories that are not public.
        raise RuntimeError(f"submission not queued: {error}") from error
    said = "Queued for review" if sent.new else "This file waits for review already"
    return Markup('{}: <a href="{}" target="_blank" rel="noopener">{}</a>').format(said, sent.url, sent.url)


def _validated(path: str | None) -> Any:
    from truebench_hf.hub.submission import validate

    if not path:
        raise visitors.VisitorError("Choose a file first.")
    try:
        return validate(Path(path), name=Path(path).name[-60:], max_bytes=visitors.UPLOAD_MIB * 2**20)
    except UserError as error:
        raise visitors.VisitorError(str(error)) from error


_MOST = 30
_FRESH, _PATIENCE = 60.0, 10.0  # seconds
_PROVIDED = re.compile("^(?:" + "|".join(kinds() | {"smollm2"}) + ")-")
_WORDS: dict[State, str] = {"waiting": "open", "merged": "yes", "refused": "no"}  # by the colours of verdicts


class Submissions:
    """The list of a results data set, kept between looks. A Hub that does not answer leaves the old one, and says so."""

    def __init__(self, repo_id: str) -> None:
        self.repo = repo_id.partition("@")[0]
        self._kept: tuple[Submitted, ...] = ()
        self._read_at = 0.0  # seconds since 1970, of what is kept
        self._silent_since = 0.0  # 0: the Hub answered when it was last asked
        self._asking: threading.Thread | None = None
        self._lock = threading.Lock()

    def renew(self, *, now: bool = False) -> None:
        """Ask the Hub unless it was asked a minute ago (or `now`). Waits for ten seconds, and never raises."""
        with self._lock:
            asking = self._asking
            if asking is None or not asking.is_alive():
                if not now and time.time() - self._read_at < _FRESH:
                    return
                # The Hub's client waits without end: one that hangs is left behind, and no second one is sent after it.
                asking = self._asking = threading.Thread(target=self._ask, name="submissions", daemon=True)
                asking.start()
            elif self._silent_since:
                return
        asking.join(_PATIENCE)
        if asking.is_alive():
            self._silent_since = self._silent_since or time.time()

    def _ask(self) -> None:
        try:
            self._kept = submissions(self.repo, _MOST, self._kept)
        except Exception as error:  # the client has many of its own; all mean: keep what there is
            if not self._silent_since:
                warn(f"submissions of {self.repo}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
            self._silent_since = self._silent_since or time.time()
        else:
            self._read_at, self._silent_since = time.time(), 0.0

    def html(self) -> str:
        """The list as it is known, without asking."""
        if self._silent_since:
            since = time.strftime("%H:%M UTC on %Y-%m-%d", time.gmtime(self._silent_since))
            line = f"Nothing could be had from the Hub since {since}" + (
                "; what stands here is older." if self._read_at else "."
            )
        elif not self._read_at:
            line = "Asking the Hub …"
        else:
            line = "" if self._kept else "Nothing was submitted yet."
        told = Markup('<p class="tb-soft" role="status">{}</p>').format(line) if line else ""
        return Markup('<h3>Submitted so far</h3>{}<ul class="tb-submitted">{}</ul>').format(told, _lines(self._kept))


def _lines(found: Sequence[Submitted]) -> Markup:
    return Markup("").join(
        Markup(
            '<li><b class="tb-word tb-{}">{}</b><span><a href="{}" target="_blank" rel="noopener">{}</a>, judged by {}'
            ' <span class="tb-soft">on {:%Y-%m-%d}</span>{}</span></li>'
        ).format(
            _WORDS[one.state], one.state, one.url, _name(one.model), _name(one.judge), one.opened, _reason(one),
        )
        for one in found
    )  # fmt: skip


def _name(slug: str) -> str:
    """A name without who provides it, as the leaderboard has it."""
    return _PROVIDED.sub("", slug, count=1) or slug


def _reason(one: Submitted) -> Markup | str:
    if one.state != "refused":
        return ""
    reason = inert(one.reason or "No reason was given.")
    return Markup('<br><span dir="auto"{}>{}</span>').format(spoken(one.reason), reason)
