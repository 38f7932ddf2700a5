"""The commands of `truebench` by their whole names: groups and help follow from the name, flags from what is called.

What is called is loaded when its command runs or its own `--help` is shown: all of it together would take a second. The
help of a command is a Markdown file in `help/`, whose first paragraph is the summary, and whose last lines are the help of
the parameters that no options class declares; `{{ name }}` stands for the text of `help/_name.md`, which several commands
share.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from truebench_hf.errors import UserError

_HELP = Path(__file__).parent / "help"
_PARAMETER = re.compile(r"(?m)^- `(\w+)`(?: ([A-Z]+))?: (.+)$\n?")


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
        params = super().get_params(ctx)
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Group(TyperGroup):
    """A group of commands, listed plainly: what draws tables takes longer to load than all else of this page."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names. Raises UserError where it stands in a group, `export` in `study`."""
        groups = {name: getattr(inner, "commands", {}) for name, inner in ctx.find_root().command.commands.items()}
        places = [f"truebench {name} {args[0]}" for name, inner in groups.items() if args[0] in inner]
        if args[0] not in self.commands and places:
            raise UserError(f"there is no command {args[0]}; did you mean {' or '.join(places)}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands with their whole summaries."""
        with formatter.section("Commands"):
            listed = [(name, self.commands[name].help or "") for name in self.list_commands(ctx)]
            formatter.write_dl([(name, text.partition("\n\n")[0]) for name, text in listed])


@cache
def help_text(command: str) -> str:
    """Return the whole help of a command, such as `facts run`, as Markdown; "" where no file has any."""
    if not (_HELP / f"{command.replace(' ', '_')}.md").is_file():
        return ""
    text = _PARAMETER.sub("", read(command.replace(" ", "_"))).rstrip()
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: read(f"_{match[1]}"), text)


def parameter_helps(command: str) -> dict[str, tuple[str | None, str]]:
    """Return (metavar, help) of the parameters that the help of a command lists, by their names."""
    rows = _PARAMETER.findall(read(command.replace(" ", "_")))
    return {name: (metavar or None, text) for name, metavar, text in rows}


def read(name: str) -> str:
    return (_HELP / f"{name}.md").read_text(encoding="utf-8").strip()


def summary(command: str) -> str:
    """Return the first paragraph of a command's help: the line that lists of commands show."""
    return help_text(command).partition("\n\n")[0]


@cache
def group(path: str) -> typer.Typer:
    """Return the group of this name, made and put into its own group the first time; "" is `truebench` itself."""
    app = new_app(cls=Group, no_args_is_help=True, help=help_text(path or "truebench"), rich_markup_mode=None)
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
            alone, function = new_app(rich_markup_mode="markdown"), load()
            alone.command(name, cls=Command, help=help_text(path) or inspect.getdoc(function) or "")(function)
            return typer.main.get_command(alone)

        def make_context(self, info_name: Any, args: list[str], *others: Any, **more: Any) -> Any:
            return self.loaded.make_context(info_name, args, *others, **more)  # the command of the context is invoked

    group(parent).command(name, cls=Later, help=summary(path))(lambda: None)


def new_app(**settings: Any) -> typer.Typer:
    """Return an empty application, without typer's own completion and tracebacks."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, **settings)
