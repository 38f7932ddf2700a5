"""A full disk or a file that may not be written, told in one line: where, what, and what to do."""

from __future__ import annotations

import errno

from truebench_hf.errors import UserError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}


def no_room(where: str, error: object) -> UserError:
    """The error for something that could not be written there; `error` says why."""
    return UserError(f"{where}: {error}; free space or make it writable, then repeat the command: what is done is kept")


def about_room(error: OSError) -> bool:
    """Whether it tells of a full or read-only disk, or of a file that is denied (not, say, a port that is)."""
    return error.errno in _FULL or (isinstance(error, PermissionError) and error.filename is not None)
