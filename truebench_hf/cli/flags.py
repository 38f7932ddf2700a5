"""Flags of a command that follow from its options class, or from its function; loaded when a command runs or shows its help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from pydantic.fields import FieldInfo

from truebench_hf.cli.commands import read
from truebench_hf.options import Options, facts, flag, is_list
from truebench_hf.text.terminal import say

# The headings of `--help`, in order; flags under the rare ones are shown by `--help-all` alone.
_PANELS = ("Options", "Data", "Models", "Checklists", "Method", "Judging", "Panel of judges", "Output", "Hub")
_RARE_PANELS = ("Panel of judges",)


def from_options(options: type[Options], action: Callable[[Any], Any]) -> Callable[..., None]:
    """Return `action` as a function whose parameters are the fields of an options class.

    A class with `SHOWS` has a flag `--show`, which prints the help file of that name and ends.
    """

    def run(**values: Any) -> None:
        for name in ("help_all", "show"):
            values.pop(name, None)
        action(options(**values))

    parameters = [_parameter(*field) for field in _fields(options)]
    if any(parameter.annotation.__metadata__[0].hidden for parameter in parameters):
        parameters.append(_HELP_ALL)
    if shows := getattr(options, "SHOWS", ""):
        parameters.append(_flag("show", "--show", _shows(shows), "Print the kinds there are, and end."))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__, run.__doc__ = {}, inspect.getdoc(action)
    return run


def from_function(function: Callable[..., Any], helps: Mapping[str, tuple[str | None, str]]) -> Callable[..., None]:
    """Return a function with its parameters as those of a command: by keyword alone they are flags, else arguments.

    `helps` has the metavar and the help of each.
    """

    def run(**values: Any) -> None:
        function(**values)

    parameters = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        metavar, text = helps[parameter.name]
        if parameter.kind is not parameter.KEYWORD_ONLY:
            shown: Any = typer.Argument(metavar=metavar, help=text)
        else:
            names = [] if parameter.default is True else [flag(parameter.name.rstrip("_"))]
            shown = typer.Option(*names, metavar=metavar, help=text)
        parameters.append(
            parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=Annotated[parameter.annotation, shown])
        )
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def _show_all(context: typer.Context, wanted: bool) -> None:
    """Show the help with the rare flags, and end."""
    if wanted:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        context.get_help()  # rich prints it
        raise typer.Exit


def _shows(name: str) -> Callable[[bool], None]:
    """What prints a help file, and ends."""

    def show(wanted: bool) -> None:
        if wanted:
            say(read(name))
            raise typer.Exit

    return show


def _flag(name: str, text: str, callback: Callable[..., None], about: str) -> inspect.Parameter:
    flag = typer.Option(text, is_eager=True, callback=callback, help=about)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, flag])


_HELP_ALL = _flag("help_all", "--help-all", _show_all, "This page with rare options, too.")


def _fields(options: type[Options]) -> list[tuple[str, FieldInfo, str]]:
    """(name, field, heading in `--help`), under each heading the required ones first."""
    # An option keeps the heading of the class that has it first, whoever words it anew.
    named = ((name, base) for base in options.__mro__ for name in vars(base).get("__annotations__", {}))
    panels = {name: vars(base).get("PANEL", "Method") for name, base in named}
    fields = [(name, field, facts(field).panel or panels[name]) for name, field in options.model_fields.items()]
    return sorted(fields, key=lambda entry: (_PANELS.index(entry[2]), not entry[1].is_required()))


def _parameter(name: str, field: FieldInfo, panel: str) -> inspect.Parameter:
    fact, several = facts(field), is_list(field)
    more: dict[str, Any] = {"help": field.description, "hidden": fact.rare or panel in _RARE_PANELS}
    more["metavar"] = "SPEC" if fact.is_role else "TEXT" if several and not fact.argument else None
    more["rich_help_panel"] = None if panel == "Options" or fact.argument else panel
    if fact.argument:
        parameter: Any = typer.Argument(**more)
    else:
        # What is off by default has no flag that turns it off.
        written = fact.flag or (flag(name) if field.default is False else "")
        has_default = field.default is not None and field.default is not False
        parameter = typer.Option(*([written] if written else []), show_default=has_default, **more)
    default = inspect.Parameter.empty if field.is_required() else [] if several else field.default
    kind: Any = Annotated[list[str] if several else field.annotation, parameter]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
