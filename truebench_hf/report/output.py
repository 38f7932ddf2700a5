"""A report of what is there already: in the terminal, and as a page where one is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from truebench_hf.errors import write_error
from truebench_hf.report.console import show
from truebench_hf.report.page import page
from truebench_hf.report.sections import Section
from truebench_hf.terminal import say


def write_texts(out: Path, files: Mapping[str, str]) -> None:
    """Write files into a folder, and say so. Raises UserError where they cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise write_error(f"--out {out}: cannot be written", error.strerror or error) from error
    say(f"in {out}: {', '.join(files)}")


def present(title: str, sections: Sequence[Section], out: Path | None = None, *, notes: Sequence[str] = ()) -> None:
    """Show the sections, and write them as a page. Raises UserError where that cannot be written."""
    show(sections, notes=notes)
    if out is None:
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text("".join(page(title, sections, notes=notes)), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise write_error(f"--out {out}: cannot be written", error.strerror or error) from error
    say(f"report: {out}")
