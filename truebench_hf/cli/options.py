"""From an options class to a command: the fields are the flags, so no option is declared twice."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable
from typing import Annotated, Any

import typer

_PANELS = (
    "Data",
    "Models",
    "Checklists",
    "Method",
    "Judging",
    "Panel of judges",
    "Output",
)  # the headings of `--help`, in order
_RARE_PANELS = ("Panel of judges",)


def add_command(app: typer.Typer, name: str, options: type[Any], action: Callable[[Any], None], help: str) -> None:
    """Add a command whose flags are the fields of `options`; `action` gets the options object.

    `help` is Markdown; its first paragraph is the summary. Rare flags are shown by `--help-all` alone.
    """

    def run(**values: Any) -> None:
        del values["help_all"]
        action(options(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}))

    parameters = [_parameter(*field) for field in _fields(options)]
    run.__signature__ = inspect.Signature([*parameters, _HELP_ALL])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    app.command(name, help=help)(run)


def _show_all(context: typer.Context, wanted: bool) -> None:
    """Show the help with the rare flags, and end."""
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        context.get_help()  # rich prints it
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all", inspect.Parameter.KEYWORD_ONLY, default=False,
    annotation=Annotated[
        bool, typer.Option("--help-all", is_eager=True, callback=_show_all, help="This page with rare options, too.")
    ],
)  # fmt: skip


def _fields(options: type[Any]) -> list[tuple[dataclasses.Field[Any], Any, str]]:
    """(field, type, heading in `--help`), under each heading the required ones first."""
    types = typing.get_type_hints(options)
    # An option keeps the heading of the class that has it first, whoever words it anew.
    named = ((name, base) for base in options.__mro__ for name in vars(base).get("__annotations__", {}))
    panels = {name: vars(base).get("PANEL", "Method") for name, base in named}
    shown = [(f, types[f.name], f.metadata["panel"] or panels[f.name]) for f in dataclasses.fields(options)]
    return sorted(shown, key=lambda entry: (_PANELS.index(entry[2]), not _required(entry[0])))


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parameter(field: dataclasses.Field[Any], kind: Any, panel: str) -> inspect.Parameter:
    several = typing.get_origin(kind) is tuple
    help, shown = field.metadata["help"], field.default is not None and field.default is not False
    metavar = "SPEC" if "role" in field.metadata else "TEXT" if several and not field.metadata["argument"] else None
    rare = field.metadata["rare"] or panel in _RARE_PANELS
    more: dict[str, Any] = {"help": help, "rich_help_panel": panel, "metavar": metavar, "hidden": rare}
    flag = typer.Argument(**more) if field.metadata["argument"] else typer.Option(show_default=shown, **more)
    default = inspect.Parameter.empty if _required(field) else [] if several else field.default
    annotation: Any = Annotated[list[str] if several else kind, flag]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
