"""Tab 5: hand in a run's judgments; they are checked, scored again, and queued as a pull request."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from truebench_hf import anonymous
from truebench_hf.errors import UserError
from truebench_hf.space import guard, steps
from truebench_hf.space.options import SpaceOptions


def build(options: SpaceOptions) -> None:
    """Lay out the tab inside the current Blocks."""
    import gradio as gr

    gr.HTML(
        f"<p>Upload the <code>judgments.jsonl</code> of a finished run (up to {options.max_upload_mb} MiB). Every line is "
        "checked and the scores are computed again from its verdicts; what you claim is not taken over. If the file "
        "holds together, it can be queued as a public pull request.</p>"
    )
    file = gr.File(label="judgments.jsonl", file_types=[".jsonl"], file_count="single", elem_id="upload", height=140)
    check = steps.controls("Check the file", "check", primary=True)
    report = gr.Dataframe(headers=["What", "Found"], interactive=False, label="What the file gives", elem_id="checked")
    is_open = options.submit and bool(options.results)
    if is_open:
        queue = steps.controls("Queue it as a pull request", "queue")
    else:
        gr.HTML("<p class='tb-soft'>This Space checks files but takes none in: no results data set is configured.</p>")

    async def checked(path: str | None) -> AsyncGenerator[steps.Update, None]:
        yield [_table([])], guard.status("Checking …", "busy")
        rows, notes = await _off_loop(functools.partial(_check, path, options))
        yield [_table(rows)], guard.status(" ".join(["The file holds together.", *notes]), "good")

    async def queued(path: str | None) -> AsyncGenerator[steps.Update, None]:
        yield [], guard.status("Checking and sending …", "busy")
        said = await _off_loop(functools.partial(_queue, path, options))
        yield [], guard.status(said, "good")

    steps.wire(check, checked, [file], [report], options.max_seconds, 2, lane="files")
    if is_open:
        steps.wire(queue, queued, [file], [], options.max_seconds, 2, lane="files")


def _table(rows: list[list[str]]) -> dict[str, Any]:
    return {"headers": ["What", "Found"], "data": rows}


def _check(path: str | None, options: SpaceOptions) -> tuple[list[list[str]], tuple[str, ...]]:
    found = _validated(path, options)
    claimed = {"Model": anonymous.name(found.model), "Judge": anonymous.name(found.judge)}
    return [list(row) for row in (claimed | found.computed).items()], found.notes


def _queue(path: str | None, options: SpaceOptions) -> str:
    from truebench_hf.hub.results import AlreadyThere, submit

    if not (options.submit and options.results):
        raise guard.VisitorError("This Space takes no submissions.")
    _validated(path, options)
    try:
        sent = submit(str(path), options.results.partition("@")[0])
    except AlreadyThere:
        raise guard.VisitorError("This run is in the results data set already.") from None
    except UserError as error:
        # The Hub's answer is for the operator: it may name accounts and repositories that are not public.
        raise RuntimeError(f"submission not queued: {error}") from error
    return f"{'Queued for review' if sent.new else 'This file waits for review already'}: {sent.url}"


def _validated(path: str | None, options: SpaceOptions) -> Any:
    from truebench_hf.hub.submission import validate

    if not path:
        raise guard.VisitorError("Choose a file first.")
    try:
        return validate(Path(path), name=Path(path).name[-60:], max_bytes=options.max_upload_mb * 2**20)
    except UserError as error:
        raise guard.VisitorError(str(error)) from error


async def _off_loop(work: Any) -> Any:
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, work)
