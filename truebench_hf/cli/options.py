"""From an options class to a command: the fields are the flags, so no option is declared twice."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from truebench_hf.cli.texts import summary
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import say

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


class Command(TyperCommand):
    """A command that refuses an option given twice, where it takes one value: the last would count, unseen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments that are left. Raises UserError naming the option."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        single = [param for param in given if param.param_type_name == "option" and not param.multiple]
        for param, times in Counter(single).items():
            if times > 1:
                raise UserError(
                    f"{'/'.join((*param.opts, *param.secondary_opts))} is given {times} times; give it once"
                )
        return super().parse_args(ctx, args)


class App(typer.Typer):
    """A group of commands, each a `Command`."""

    def command(self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **more: Any) -> Any:
        """As typer's."""
        return super().command(name, cls=cls or Command, **more)


def command(app: typer.Typer, name: str, options: type[Any], action: Callable[[Any], None], help: str) -> None:
    """Add a command whose flags are the fields of `options`; `action` gets the options object.

    `help` is Markdown; its first paragraph is the summary. Rare flags are shown by `--help-all` alone.
    """

    def run(**values: Any) -> None:
        del values["help_all"]
        made = options(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
        if values.get("out") == "" and not values.get("estimate"):
            say(f"folder: {made.out}")
        action(made)

    parameters = [_parameter(*field) for field in _fields(options)]
    run.__signature__ = inspect.Signature([*parameters, _HELP_ALL])  # type: ignore[attr-defined]
    run.__annotations__ = {}
    app.command(name, help=help)(run)


def later(
    app: typer.Typer, name: str, command: str, make: Callable[[typer.Typer], None],
    show: Callable[[], str] | None = None,
) -> None:  # fmt: skip
    """Add a command that `make` makes, when it is called or its own `--help` is shown: until then nothing is loaded.

    `command` is its whole name, under which its help stands. `show` makes the text that `--show` prints, which does
    nothing else.
    """

    class Later(TyperCommand):
        @cached_property
        def made(self) -> Any:
            alone = App(add_completion=False, rich_markup_mode="markdown")
            make(alone)
            return typer.main.get_command(alone)

        def make_context(self, info_name: Any, args: list[str], *others: Any, **more: Any) -> Any:
            if show and args == ["--show"]:
                say(show())
                raise typer.Exit
            return self.made.make_context(info_name, args, *others, **more)  # the command of the context is invoked

    app.command(name, cls=Later, help=summary(command))(lambda: None)


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
