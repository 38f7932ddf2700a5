"""A command of one's own: studies as a program, with the errors, signals and exit codes of `truebench`."""

from __future__ import annotations

import inspect
import typing
from typing import Any

from truebench_hf.cli.main import main


def application(*studies: type[Any]) -> None:
    """Run the program whose commands are these studies, each called as its `kind`; a lone one is the program itself.

    Flags come from the options of a study, `--help` from what its class says. What the user can fix is one line on
    stderr and exit code 2; items that could not be scored are exit code 3.
    """
    main(lambda: _run(studies))


def options_of(study: type[Any]) -> type[Any]:
    """The options class of a study: the first parameter of the `Study` it is made of."""
    from truebench_hf.options import Options

    for base in study.__mro__:
        for made_of in vars(base).get("__orig_bases__", ()):
            first = next(iter(typing.get_args(made_of)), None)
            if inspect.isclass(first) and issubclass(first, Options):
                return first
    raise TypeError(f"{study.__name__} names no options; write class {study.__name__}(Study[MyOptions, ...])")


def _run(studies: tuple[type[Any], ...]) -> None:
    import typer

    from truebench_hf.cli.commands import App, from_options
    from truebench_hf.cli.running import run
    from truebench_hf.cli.studies import shown

    app = App()
    for study in studies:
        app.command(study.kind, help=inspect.getdoc(study) or "")(from_options(options_of(study), shown(study)))
    run(lambda: typer.main.get_command(app))
