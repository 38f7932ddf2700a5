"""The list of commands: how many there are, where they stand, and that each has its help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from truebench_hf.cli import commands
from truebench_hf.cli.app import whole

TOP = (
    "demo", "run", "judge", "compare", "check", "leaderboard", "table", "label", "metaeval", "tick", "facts", "flex", "data", "publish",
    "space", "cache",
)  # fmt: skip


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, bool]]:
    """(whole name, whether it is a group) of a command and of all below it."""
    inner = getattr(command, "commands", {})
    yield " ".join(path), bool(inner)
    for name in inner:
        yield from tree(inner[name], (*path, name))


def test_sixteen_commands_stand_at_the_top_and_the_rest_below_study() -> None:
    root = whole()
    assert tuple(root.list_commands(None)) == (*TOP, "study")


def test_no_command_comes_without_one_that_goes() -> None:
    """A new command needs a reason: people read this list. Fifty-four at most, and three of them for asking people."""
    names = [name for name, is_group in tree(whole()) if not is_group]
    assert len(set(names)) == len(names) <= 54
    assert [name for name in names if name.startswith("label ")] == ["label out", "label in", "label open"]
    assert not [name for name in names if "sheet" in name or "annot" in name], "people are asked by `label`"
    assert len([name for name in names if name.startswith("study ") and name.count(" ") == 1]) <= 17


def test_every_help_text_is_of_a_command_and_every_command_has_one() -> None:
    files = {path.stem for path in commands._HELP.glob("[!_]*.md")}
    names = {name.replace(" ", "_") or "truebench" for name, _ in tree(whole())}
    assert files == names
