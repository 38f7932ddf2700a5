"""What is written beside what is shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from truebench_hf.errors import UserError
from truebench_hf.report import console as output
from truebench_hf.report.table import pairs


def test_files_are_there_when_the_reader_of_the_terminal_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `truebench compare A B --out X | head`."""

    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(output, "show", gone)
    with pytest.raises(BrokenPipeError):
        output.present("T", [pairs("G", [("a", "1")])], tmp_path / "out" / "report.html", files={"t.json": "{}"})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "t.json"]


def test_what_cannot_be_written_to_its_end_leaves_what_was_there(tmp_path: Path) -> None:
    page, table = tmp_path / "report.html", tmp_path / "t.csv"
    table.write_text("a\n1\n")

    def parts() -> Iterator[str]:
        yield "a\n"
        raise UserError("the rest cannot be read")

    with pytest.raises(UserError, match="the rest"):
        output.present("T", [pairs("G", [("a", "1")])], page, files={"t.csv": parts()})
    assert table.read_text() == "a\n1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "t.csv"]


def test_a_page_asked_for_where_a_link_leads_is_written_there(tmp_path: Path) -> None:
    """As `--out /dev/stdout` is one."""
    there, link = tmp_path / "there.html", tmp_path / "link.html"
    link.symlink_to(there)
    output.present("T", [pairs("G", [("a", "1")])], link)
    assert link.is_symlink()
    assert "<title>T" in there.read_text()
