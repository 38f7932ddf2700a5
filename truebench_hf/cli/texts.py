"""The help of commands: a Markdown file each in `help/`, of which the first paragraph is the summary.

`{{ name }}` stands for the text of `help/_name.md`, which several commands share.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent / "help"


@cache
def help_text(command: str) -> str:
    """Return the whole help of a command, such as `facts run`, as Markdown; "" where no file has any."""
    if not (_FOLDER / f"{command.replace(' ', '_')}.md").is_file():
        return ""
    text = _read(command.replace(" ", "_"))
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: _read(f"_{match[1]}"), text)


def summary(command: str) -> str:
    """Return the first paragraph of a command's help: the line that lists of commands show."""
    return help_text(command).partition("\n\n")[0]


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.md").read_text(encoding="utf-8").strip()
