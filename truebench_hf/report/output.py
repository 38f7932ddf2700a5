"""A report of what is there already: in the terminal, and as a page where one is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from truebench_hf.errors import write_error
from truebench_hf.report.console import show
from truebench_hf.report.page import page
from truebench_hf.report.sections import Section
from truebench_hf.text.terminal import say
from truebench_hf.text.whole_files import write_whole


def present(
    title: str, sections: Sequence[Section], out: Path | None = None, *, notes: Sequence[str] = (),
    files: Mapping[str, str | Iterable[str]] | None = None,
) -> None:  # fmt: skip
    """Show the sections, and write them as a page, with `files` beside it, the texts of which may come in parts.

    Raises UserError where they cannot be written: what was there before then stays as it was.

    Written first: who reads the terminal through a pipe may close it (`| head`).
    """
    try:
        if out is not None:
            _write(
                {
                    out: page(title, sections, notes=notes),
                    **{out.parent / name: of for name, of in (files or {}).items()},
                }
            )
    finally:
        show(sections, notes=notes)
    if out is not None:
        say(f"report: {out}")
    if out is not None and files:
        say(f"in {out.parent}: {', '.join(files)}")


def _write(files: Mapping[Path, str | Iterable[str]]) -> None:
    out = next(iter(files))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            parts = [text] if isinstance(text, str) else text
            if path.is_symlink() or (path.exists() and not path.is_file()):  # /dev/stdout, say
                with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
                    file.writelines(parts)
            else:
                write_whole(path, parts)
    except OSError as error:
        raise write_error(f"--out {out}: cannot be written", error.strerror or error) from error
