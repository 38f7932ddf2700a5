"""The page of all commands, made of their help: `python -m tests.commands_page` writes docs/commands.md anew."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from tests.support.runs import ROOT
from truebench_hf.cli.app import app
from truebench_hf.cli.commands import summary

PAGE = ROOT / "docs" / "commands.md"
HEAD = """# Commands

Made of the commands' own help (`truebench COMMAND --help`, rare options by `--help-all`).

| Command | What it does |
|---|---|
"""


def commands(command: Any = None, path: str = "") -> Iterator[str]:
    """Yield the whole names of all commands, in the order of the help."""
    command = command or typer.main.get_command(app)
    if not getattr(command, "commands", None):
        yield path
        return
    for name in command.list_commands(None):
        yield from commands(command.commands[name], f"{path} {name}".strip())


def page() -> str:
    """Return the page as Markdown."""
    return HEAD + "".join(f"| `truebench {name}` | {summary(name)} |\n" for name in commands())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
