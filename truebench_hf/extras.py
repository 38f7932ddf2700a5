"""Packages that only some of it needs: an extra brings them, and its name is what a user without them is told."""

from __future__ import annotations

import importlib.util

from truebench_hf.errors import UserError


def need(extra: str, *modules: str, what: str = "this") -> None:
    """Raise UserError, with the line that installs the extra, where one of its modules is not here."""
    for module in modules:
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:  # what it would be a part of is not here either
            spec = None
        if spec is None or spec.origin is None:  # without origin it is just some folder of that name
            raise UserError(f"{what} needs {module}: pip install 'truebench-hf[{extra}]'")
