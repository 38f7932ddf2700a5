"""Errors in the words of Python: what the command line calls `--judge-level` is the argument `judge_level`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from truebench_hf.errors import UserError

P = ParamSpec("P")
T = TypeVar("T")
# A command in backticks is one to type. What stands behind a flag is its value where a clause ends behind it.
_FLAG = re.compile(r"(`[^`]*`)|(?<![\w-])--(no-)?([a-z]+(?:-[a-z]+)*)(?: (\S+?)(?=[:,;]?(?:\s*$)|[:,;]\s| or ))?")


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
    argument = "" if value is None else value if re.fullmatch(r"-?[\d.]+", value) else repr(value)
    return f"{name.replace('-', '_')}={argument}"
