"""From an options class to a command: the fields are the flags, so no option is declared twice."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

import typer


def command(app: typer.Typer, name: str, options: type[Any], action: Callable[[Any], None], help: str) -> None:
    """Add a command whose flags are the fields of `options`; `action` gets the options object."""

    def run(**values: Any) -> None:
        action(options(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}))

    run.__signature__ = inspect.Signature([_parameter(*field) for field in _fields(options)])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    app.command(name, help=help)(run)


def _fields(options: type[Any]) -> list[tuple[dataclasses.Field[Any], Any, str]]:
    """(field, type, heading in `--help`): a command's own options before those it shares, required ones first."""
    types = typing.get_type_hints(options)
    fields = {field.name: field for field in dataclasses.fields(options)}
    declared: dict[str, str] = {}
    for base in options.__mro__:
        for name in vars(base).get("__annotations__", {}):
            declared.setdefault(name, vars(base).get("PANEL", ""))
    shown = [(fields[name], types[name], panel) for name, panel in declared.items() if name in fields]
    return sorted(shown, key=lambda one: not _required(one[0]))


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parameter(field: dataclasses.Field[Any], kind: Any, panel: str) -> inspect.Parameter:
    several = typing.get_origin(kind) is tuple
    help, shown = field.metadata["help"], field.default is not None and field.default is not False
    more: dict[str, Any] = {"help": help, "rich_help_panel": panel or None}
    flag = typer.Argument(**more) if field.metadata["argument"] else typer.Option(show_default=shown, **more)
    default = inspect.Parameter.empty if _required(field) else [] if several else field.default
    annotation: Any = Annotated[list[str] if several else kind, flag]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
