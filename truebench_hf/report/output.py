"""A report of what is there already: in the terminal, and as a page where one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from truebench_hf.errors import write_error
from truebench_hf.report.console import show
from truebench_hf.report.page import page
from truebench_hf.report.sections import Section
from truebench_hf.terminal import say


def present(
    title: str, sections: Sequence[Section], out: Path | None = None, *, notes: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Show the sections, and write them as a page, with `files` beside it. Raises UserError where they cannot be written.

    Written first: who reads the terminal through a pipe may close it (`| head`).
    """
    try:
        if out is not None:
            _write(out, "".join(page(title, sections, notes=notes)), files or {})
    finally:
        show(sections, notes=notes)
    if out is not None:
        say(f"report: {out}")
    if out is not None and files:
        say(f"in {out.parent}: {', '.join(files)}")


def _write(out: Path, report: str, files: Mapping[str, str]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for path, text in {out: report, **{out.parent / name: text for name, text in files.items()}}.items():
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise write_error(f"--out {out}: cannot be written", error.strerror or error) from error
