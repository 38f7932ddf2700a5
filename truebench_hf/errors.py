"""The two kinds of error: what a user can fix is a `UserError`; anything else is a bug and keeps its traceback."""

from __future__ import annotations

import contextlib
import difflib
import errno
from collections.abc import Iterable, Iterator


class UserError(Exception):
    """Something the user can fix. The command line prints it as one line, without traceback, and exits with 2."""

    exit_code = 2


def unknown(kind: str, name: str, choices: Iterable[str]) -> UserError:
    """An error for a name that is not among `choices`: shows the nearest ones, or all when none is near."""
    options = list(choices)
    folded = {option.casefold(): option for option in options}
    near = [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(options)}"
    return UserError(f"unknown {kind} {name!r}: {hint}")


@contextlib.contextmanager
def refused(what: str, remedy: str = "") -> Iterator[None]:
    """Raise UserError in place of the many errors that a client or a library has of its own: all mean that it cannot."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{what}: {' '.join(str(error).split())[:300]}{remedy}") from error


_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


def write_error(where: str, error: object) -> UserError:
    """The error for something that could not be written there; `error` says why."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return UserError(f"{where}: a file is where one of its folders should be; name another folder")
    return UserError(f"{where}: {error}; free space or make it writable, then repeat the command: what is done is kept")


def is_write_error(error: OSError) -> bool:
    """Whether it tells of a full or read-only disk, or of a file that is denied (not, say, a port that is)."""
    return error.errno in _DISK_FULL or (isinstance(error, PermissionError) and error.filename is not None)
