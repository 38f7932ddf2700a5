"""Cases worked out by hand: a call, what it must give, and why, one line each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, is_dataclass
from typing import Any

import pytest

Case = tuple[Callable[..., Any], tuple[Any, ...], Any, str]


def worked(*cases: Case) -> pytest.MarkDecorator:
    """Return a decorator under which a test gets `call`, `arguments`, `expected` and `why`, one case at a time."""
    ids = [f"{getattr(call, '__name__', 'call').strip('<>')}: {why}" for call, _, _, why in cases]
    return pytest.mark.parametrize(("call", "arguments", "expected", "why"), cases, ids=ids)


def check(result: Any, expected: Any, why: str = "") -> None:
    """Fail unless `result` is what is expected: numbers nearly, sequences item by item, of a dict the fields it names."""
    if isinstance(expected, Mapping):
        for name, value in expected.items():
            check(result[name] if isinstance(result, Mapping) else getattr(result, name), value, f"{why} ({name})")
    elif is_dataclass(expected) and not isinstance(expected, type):
        assert type(result) is type(expected), why
        check(astuple(result), astuple(expected), why)
    elif isinstance(expected, tuple | list):
        assert result is not None, why
        assert len(result) == len(expected), (why, result)
        for place, value in enumerate(expected):
            check(result[place], value, f"{why} [{place}]")
    elif isinstance(expected, int | float) and not isinstance(expected, bool):
        assert result is not None, why
        assert result == pytest.approx(expected), why
    else:
        assert result == expected, why
        assert (result is None) == (expected is None), why
