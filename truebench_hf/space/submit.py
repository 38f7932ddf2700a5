"""Tab 5: hand in a run's judgments; they are checked, scored again, and queued as a pull request. What became of others."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from markupsafe import Markup

from truebench_hf.errors import UserError
from truebench_hf.report.page import fragment
from truebench_hf.report.sections import Grid
from truebench_hf.space import guard, limits, steps
from truebench_hf.space.look import QUIET
from truebench_hf.space.options import SpaceOptions
from truebench_hf.space.submissions import Submissions
from truebench_hf.text import anonymous

_QUEUED = " If the file holds together, it can be queued as a public pull request."
_CLOSED = "<p class='tb-soft'>This Space checks files but takes none in.</p>"


def build(options: SpaceOptions, tab: Any) -> None:
    """Lay out the tab inside the current Blocks. What was submitted is asked for when it is opened."""
    import gradio as gr

    taking = options.submit and bool(options.results)
    with gr.Row(elem_classes="tb-pair"):
        with gr.Column(min_width=320):
            gr.HTML(
                f"<p>Upload the <code>judgments.jsonl</code> of a finished run (up to {limits.UPLOAD_MIB} MiB). Every "
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

    async def checked(path: str | None) -> AsyncGenerator[steps.Update, None]:
        yield [gr.update(visible=False)], guard.status("Checking …", "busy")
        rows, notes = await _off_loop(functools.partial(_check, path))
        found = gr.update(value=fragment(Grid("What the file gives", (), rows, prose=(1,))), visible=True)
        yield [found], guard.status(" ".join(["The file holds together.", *notes]), "good")

    steps.wire(check, checked, [file], [report], limits.SECONDS, 2, lane="files")
    if taking:
        _take(queue, file, options, others, shown)
        tab.select(functools.partial(_renewed, others), None, shown, **QUIET)


def _take(queue: steps.Controls, file: Any, options: SpaceOptions, others: Submissions, shown: Any) -> None:
    """Have the button hand the file on, and the list show it."""

    async def queued(path: str | None) -> AsyncGenerator[steps.Update, None]:
        yield [None], guard.status("Checking and sending …", "busy")
        said = guard.status(await _off_loop(functools.partial(_queue, path, options)), "good")
        yield [None], said
        yield [await _off_loop(functools.partial(_renewed, others, now=True))], said

    steps.wire(queue, queued, [file], [shown], limits.SECONDS, 2, lane="files")


def _renewed(others: Submissions, now: bool = False) -> str:
    others.renew(now=now)
    return others.html()


def _check(path: str | None) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    found = _validated(path)
    claimed = {"Model": anonymous.name(found.model), "Judge": anonymous.name(found.judge)}
    return tuple((claimed | found.computed).items()), found.notes


def _queue(path: str | None, options: SpaceOptions) -> str:
    from truebench_hf.hub.queue import AlreadyThere, submit

    if not (options.submit and options.results):
        raise guard.VisitorError("This Space takes no submissions.")
    _validated(path)
    try:
        sent = submit(str(path), options.results.partition("@")[0])
    except AlreadyThere:
        raise guard.VisitorError("This run is in the results data set already.") from None
    except UserError as error:
        # The Hub's answer is for the operator: it may name accounts and repositories that are not public.
        raise RuntimeError(f"submission not queued: {error}") from error
    said = "Queued for review" if sent.new else "This file waits for review already"
    return Markup('{}: <a href="{}" target="_blank" rel="noopener">{}</a>').format(said, sent.url, sent.url)


def _validated(path: str | None) -> Any:
    from truebench_hf.hub.submission import validate

    if not path:
        raise guard.VisitorError("Choose a file first.")
    try:
        return validate(Path(path), name=Path(path).name[-60:], max_bytes=limits.UPLOAD_MIB * 2**20)
    except UserError as error:
        raise guard.VisitorError(str(error)) from error


async def _off_loop(work: Any) -> Any:
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, work)
