"""The commands of `truebench` by their whole names: their groups, and their help, follow from the name."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import typer
from typer.core import TyperCommand

from truebench_hf.cli.texts import help_text, summary
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import say

Load = Callable[[], tuple[type[Any], Callable[[Any], None]]]


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
    """A group of commands, each a `Command`, with help in Markdown."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(rich_markup_mode="markdown", add_completion=False, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **more: Any) -> Any:
        """As typer's."""
        return super().command(name, cls=cls or Command, **more)


@cache
def group(path: str) -> App:
    """Return the group of this name, made and put into its own group the first time; "" is `truebench` itself."""
    app = App(no_args_is_help=True, help=help_text(path or "truebench"))
    if path:
        parent, _, name = path.rpartition(" ")
        group(parent).add_typer(app, name=name)
    return app


def command(path: str, function: Callable[..., None]) -> None:
    """Add the command of this whole name, `facts rank` say: the parameters of the function are its flags."""
    parent, _, name = path.rpartition(" ")
    group(parent).command(name, help=help_text(path))(function)


def later(path: str, load: Load, show: Callable[[], str] | None = None) -> None:
    """Add the command of this whole name, whose options class and action are loaded when it is called, or its own
    `--help` is shown: all of them together would take a second. Without a help file the action's docstring is the help.

    `show` makes the text that `--show` prints, which does nothing else.
    """
    parent, _, name = path.rpartition(" ")

    class Later(TyperCommand):
        @cached_property
        def loaded(self) -> Any:
            from truebench_hf.cli.options import add_command

            alone = App()
            options, action = load()
            add_command(alone, name, options, action, help_text(path) or inspect.getdoc(action) or "")
            return typer.main.get_command(alone)

        def make_context(self, info_name: Any, args: list[str], *others: Any, **more: Any) -> Any:
            if show and args == ["--show"]:
                say(show())
                raise typer.Exit
            return self.loaded.make_context(info_name, args, *others, **more)  # the command of the context is invoked

    group(parent).command(name, cls=Later, help=summary(path))(lambda: None)
