"""docs/papers.md against the house: no row is empty, and every command, option and test that it names exists."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from tests.support.runs import ROOT
from tests.test_readme import found
from truebench_hf.cli.app import whole

PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PAPERS: dict[str, str] = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M))
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| Element")
]
NAMES = ("element", "place", "command", "test")


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_there_are_five_papers_each_with_its_drawing_and_its_table() -> None:
    assert len(PAPERS) == 5
    for title, text in PAPERS.items():
        assert text.count("```mermaid\nflowchart") == 1, title
        assert text.count("\n| ") > 12, title


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_row_is_complete(row: list[str]) -> None:
    assert len(row) == len(NAMES)
    assert all(row), dict(zip(NAMES, row, strict=True))
    assert quoted(row[2])
    assert quoted(row[3])


@pytest.mark.parametrize("command", sorted({name for row in ROWS for name in quoted(row[2])}))
def test_a_command_exists_with_its_options(command: str) -> None:
    name, *_ = command.partition(" --")
    assert not hasattr(found(name.split())[0], "commands"), f"{name} is no command, or names only a group"
    helps = (CliRunner().invoke(whole(), [*name.split(), option]) for option in ("--help-all", "--help"))
    told = next(done.output for done in helps if done.exit_code == 0)  # few commands have rare options
    assert [word for word in command.split() if word.startswith("--") and word not in told] == []


@pytest.mark.parametrize("test", sorted({name for row in ROWS for name in quoted(row[3])}))
def test_a_test_exists(test: str) -> None:
    path, _, function = test.partition("::")
    file = ROOT / "tests" / path
    assert file.is_file()
    if function:
        assert re.search(rf"^(?:async )?def {function}\(", file.read_text(encoding="utf-8"), re.M)
