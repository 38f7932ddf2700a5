"""The one way to the terminal: texts from servers and data never reach it raw, and secrets not at all."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from truebench_hf.text import redaction

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

HALF = re.compile("[\ud800-\udfff]")  # half a character (a lone surrogate): no file, page or terminal takes it
# What moves the cursor, colours, rings, or turns the direction of reading: C0 and C1 controls, bidi overrides and
# isolates, line and paragraph separators, and half a character (a lone surrogate), which no terminal takes.
_RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """A text that is safe on any terminal: what would steer it is shown as its escape (`\\x1b`). Lines stay lines."""
    return steerless(redaction.known(str(text)))


def steerless(text: str) -> str:
    """A text in which all that would steer a terminal or turn the direction of reading is shown as its escape."""
    return _RAW.sub(lambda match: match[0].encode("unicode_escape").decode("ascii"), text)


def whole(text: str) -> str:
    """A text that Arrow takes: half a character is shown as its escape. One that is whole is not copied."""
    if text.isascii() or HALF.search(text) is None:
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def shortened(text: object, longest: int) -> str:
    """Return a text in one line of at most so many characters; `…` stands for what was cut off."""
    line = " ".join(str(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def how_many(count: int, noun: str, nouns: str = "") -> str:
    """Return a number with its noun: `1 item`, `1,200 items`, `2 criteria`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def on_page(text: object) -> str:
    """The same for a page, where a line may end in CR LF."""
    return steerless(str(text).replace("\r\n", "\n"))


def say(text: object = "", end: str = "\n") -> None:
    """Print a text."""
    print(printable(text), end=end, flush=True)


def warn(text: object) -> None:
    """Print a text on stderr, where errors come in: without what only looks like a secret, too."""
    print(printable(redaction.error(str(text))), file=sys.stderr, flush=True)


def complain(text: object) -> None:
    """Print the one line about what the user can mend, on stderr."""
    warn(f"truebench: {' '.join(str(text).splitlines())}")


def console(width: int | None = None) -> Console:
    """A rich console in which `:x:` is no emoji; give it `cell` in place of texts that come from outside."""
    from rich.console import Console

    return Console(width=width, emoji=False)


def cell(text: object, style: str = "") -> Text:
    """A text for a rich table or console: no markup, no emoji, no escapes."""
    from rich.text import Text

    return Text(printable(text), style=style)


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Let what libraries of C++ print of themselves go nowhere."""
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)
