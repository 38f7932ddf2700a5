"""`truebench space`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from truebench_hf.cli.commands import later

if TYPE_CHECKING:
    from truebench_hf.space.options import SpaceOptions


def add() -> None:
    """Add the command."""
    later("space", _load)


def _load() -> tuple[type[Any], Callable[[Any], None]]:
    from truebench_hf.space.options import SpaceOptions

    return SpaceOptions, _serve


def _serve(options: SpaceOptions) -> None:
    from truebench_hf.space.app import serve

    serve(options)
