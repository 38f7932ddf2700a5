"""What is written beside what is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from truebench_hf.report import output
from truebench_hf.report.sections import Grid


def test_files_are_there_when_the_reader_of_the_terminal_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `truebench compare A B --out X | head`."""

    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(output, "show", gone)
    with pytest.raises(BrokenPipeError):
        output.present("T", [Grid("G", ("a",), (("1",),))], tmp_path / "out" / "report.html", files={"t.json": "{}"})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "t.json"]
