"""The commands of `truebench` by their whole names: groups and help follow from the name, flags from what is called.

What is called is loaded when its command runs or its own `--help` is shown: all of it together would take a second. The
help of a command is a Markdown file in `help/`, whose first paragraph is the summary; `{{ name }}` stands for the text of
`help/_name.md`, which several commands share.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections import Counter
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from truebench_hf.errors import UserError
from truebench_hf.text.terminal import say

_HELP = Path(__file__).parent / "help"
# The headings of `--help`, in order; flags under the rare ones are shown by `--help-all` alone.
_PANELS = ("Options", "Data", "Models", "Checklists", "Method", "Judging", "Panel of judges", "Output", "Hub")
_RARE_PANELS = ("Panel of judges",)


class Command(TyperCommand):
    """A command that refuses an option given twice, where it takes one value: the last would count, unseen."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments that are left. Raises UserError naming the option."""
        _, _, params = self.make_parser(ctx).parse_args(args=list(args))
        single = [param for param in params if param.param_type_name == "option" and not param.multiple]
        for param, times in Counter(single).items():
            if times > 1:
                raise UserError(
                    f"{'/'.join((*param.opts, *param.secondary_opts))} is given {times} times; give it once"
                )
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, without a type beside those that take no value."""
        return _untyped_flags(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """As `Command.get_params`."""
        return _untyped_flags(super().get_params(ctx))


def _untyped_flags(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class App(typer.Typer):
    """A group of commands, each a `Command`, with help in Markdown."""

    def __init__(self, **settings: Any) -> None:
        settings = {"cls": Group} | settings
        super().__init__(rich_markup_mode="markdown", add_completion=False, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **more: Any) -> Any:
        """As typer's."""
        return super().command(name, cls=cls or Command, **more)


@cache
def help_text(command: str) -> str:
    """Return the whole help of a command, such as `facts run`, as Markdown; "" where no file has any."""
    if not (_HELP / f"{command.replace(' ', '_')}.md").is_file():
        return ""
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: _read(f"_{match[1]}"), _read(command.replace(" ", "_")))


def _read(name: str) -> str:
    return (_HELP / f"{name}.md").read_text(encoding="utf-8").strip()


def summary(command: str) -> str:
    """Return the first paragraph of a command's help: the line that lists of commands show."""
    return help_text(command).partition("\n\n")[0]


@cache
def group(path: str) -> App:
    """Return the group of this name, made and put into its own group the first time; "" is `truebench` itself."""
    app = App(no_args_is_help=True, help=help_text(path or "truebench"))
    if path:
        parent, _, name = path.rpartition(" ")
        group(parent).add_typer(app, name=name)
    return app


def command(path: str, load: Callable[[], Callable[..., None]]) -> None:
    """Add the command of this whole name, `facts rank` say. Its flags are the parameters of the function that `load`
    returns; where no file has its help, that is the function's docstring.
    """
    parent, _, name = path.rpartition(" ")

    class Later(TyperCommand):
        @cached_property
        def loaded(self) -> Any:
            alone, function = App(), load()
            alone.command(name, help=help_text(path) or inspect.getdoc(function) or "")(function)
            return typer.main.get_command(alone)

        def make_context(self, info_name: Any, args: list[str], *others: Any, **more: Any) -> Any:
            return self.loaded.make_context(info_name, args, *others, **more)  # the command of the context is invoked

    group(parent).command(name, cls=Later, help=summary(path))(lambda: None)


def from_options(options: type[Any], action: Callable[[Any], Any]) -> Callable[..., None]:
    """Return `action` as a function whose parameters are the fields of an options class.

    A class with `SHOWS` has a flag `--show`, which prints the help file of that name and ends.
    """

    def run(**values: Any) -> None:
        for name in ("help_all", "show"):
            values.pop(name, None)
        action(options(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}))

    parameters = [_parameter(*field) for field in _fields(options)]
    if any(parameter.annotation.__metadata__[0].hidden for parameter in parameters):
        parameters.append(_HELP_ALL)
    if shows := getattr(options, "SHOWS", ""):
        parameters.append(_flag("show", "--show", _shows(shows), "Print the kinds there are, and end."))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__, run.__doc__ = {}, inspect.getdoc(action)
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
            say(_read(name))
            raise typer.Exit

    return show


def _flag(name: str, text: str, callback: Callable[..., None], about: str) -> inspect.Parameter:
    flag = typer.Option(text, is_eager=True, callback=callback, help=about)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, flag])


_HELP_ALL = _flag("help_all", "--help-all", _show_all, "This page with rare options, too.")


def _fields(options: type[Any]) -> list[tuple[dataclasses.Field[Any], Any, str]]:
    """(field, type, heading in `--help`), under each heading the required ones first."""
    types = typing.get_type_hints(options)
    # An option keeps the heading of the class that has it first, whoever words it anew.
    named = ((name, base) for base in options.__mro__ for name in vars(base).get("__annotations__", {}))
    panels = {name: vars(base).get("PANEL", "Method") for name, base in named}
    described = [(f, types[f.name], f.metadata["panel"] or panels[f.name]) for f in dataclasses.fields(options)]
    return sorted(described, key=lambda entry: (_PANELS.index(entry[2]), not _required(entry[0])))


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _parameter(field: dataclasses.Field[Any], kind: Any, panel: str) -> inspect.Parameter:
    is_list, facts = typing.get_origin(kind) is tuple, field.metadata
    metavar = "SPEC" if "role" in facts else "TEXT" if is_list and not facts["argument"] else None
    more: dict[str, Any] = {"help": facts["help"], "metavar": metavar, "hidden": facts["rare"] or panel in _RARE_PANELS}
    more["rich_help_panel"] = None if panel == "Options" or facts["argument"] else panel
    if facts["argument"]:
        flag: Any = typer.Argument(**more)
    else:
        # What is off by default has no flag that turns it off.
        name = facts["flag"] or (f"--{field.name.replace('_', '-')}" if field.default is False else "")
        has_default = field.default is not None and field.default is not False
        flag = typer.Option(*([name] if name else []), show_default=has_default, **more)
    default = inspect.Parameter.empty if _required(field) else [] if is_list else field.default
    annotation: Any = Annotated[list[str] if is_list else kind, flag]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
