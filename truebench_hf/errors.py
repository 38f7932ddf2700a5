"""The two kinds of error: what a user can fix is a `UserError`; anything else is a bug and keeps its traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Something the user can fix. The command line prints it as one line, without traceback, and exits with 2."""


def unknown(kind: str, name: str, choices: Iterable[str]) -> UserError:
    """An error for a name that is not among `choices`: shows the nearest ones, or all when none is near."""
    options = list(choices)
    folded = {option.casefold(): option for option in options}
    near = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(options)}"
    return UserError(f"unknown {kind} {name!r}: {hint}")
