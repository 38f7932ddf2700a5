"""The two kinds of error: what a user can fix is a `UserError`; anything else is a bug and keeps its traceback.

Python callers are told of arguments where the command line tells of flags; who lacks an extra, how to install it.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar


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


# What a mistake in code raises; and so does reading a file of another form, which a user can put right.
MALFORMED = (AttributeError, LookupError, TypeError)
_BUGS = (*MALFORMED, ArithmeticError, AssertionError, NameError, NotImplementedError)


@contextlib.contextmanager
def refused(what: str, remedy: str = "", *also: type[Exception]) -> Iterator[None]:
    """Raise UserError in place of the many errors by which a client or a library says that it cannot.

    What a mistake in code raises is a bug and keeps its traceback, with what was tried as a note, except for the kinds in
    `also`.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if isinstance(error, _BUGS) and not isinstance(error, also):
            error.add_note(f"{what}{remedy}")
            raise
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


P = ParamSpec("P")
T = TypeVar("T")
# A command in backticks is one to type. What stands behind a flag is its value where a clause ends behind it.
_FLAG = re.compile(
    r"(`[^`]*`)|(?<![\w-])--(no-)?([a-z]+(?:-[a-z]+)*)(?: ('[^']*'|\S+?)(?=[:,;]?(?:\s*$)|[:,;]\s| or ))?"
)


def in_python(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose UserErrors speak of its arguments, not of flags."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except UserError as error:
            error.args = (as_arguments(str(error)), *error.args[1:])
            raise

    return call


def as_arguments(text: str) -> str:
    """A message with arguments in place of flags: `column='a=b': ...` for `--column a=b: ...`."""
    return _FLAG.sub(_argument, text)


def _argument(match: re.Match[str]) -> str:
    command, no, name, value = match.groups()
    if command:
        return str(command)
    if no:
        return f"{name.replace('-', '_')}=False{'' if value is None else f' {value}'}"
    argument = "" if value is None else value if re.fullmatch(r"-?[\d.]+|'.*'", value) else repr(value)
    return f"{name.replace('-', '_')}={argument}"


def need(extra: str, *modules: str, what: str = "this") -> None:
    """Raise UserError, with the line that installs the extra, where one of its modules is not here."""
    for module in modules:
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:  # what it would be a part of is not here either
            spec = None
        if spec is None or spec.origin is None:  # without origin it is just some folder of that name
            raise UserError(f"{what} needs {module}: pip install 'truebench-hf[{extra}]'")
