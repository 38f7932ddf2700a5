"""All that a benchmark of one's own is made of, behind one import line: see docs/add_a_benchmark.md."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf.cli.main import main
from truebench_hf.data import row_files
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.pass_rate import clustered_rate, pass_rate
from truebench_hf.models.asking import Problem, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import LabellingOptions, PanelOptions, StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Instance, Message, Response, Score, Verdict

__all__ = (
    "Binds", "ChatRequest", "Column", "Criterion", "Instance", "Items", "LabellingOptions", "Message", "Outcome",
    "PanelOptions", "Problem", "Ranking", "RequestFailed", "Response", "Row", "Sampling", "Score", "Sequence", "Study",
    "StudyOptions", "Table", "UserError", "Verdict", "agreement", "application", "ask", "clustered_rate", "option",
    "pass_rate", "read_rows", "role",
)  # fmt: skip

Row = dict[str, Any]


def read_rows(path: str, *needed: str) -> list[Row]:
    """Return the rows of a JSONL, CSV, Excel or Parquet file, each with the `needed` columns.

    Raises UserError with the file, the row and what is wrong there.
    """
    rows = []
    for record in row_files.records(Path(path)):
        if missing := [name for name in needed if record.row.get(name) is None]:
            raise record.wrong(missing[0], "must have a value")
        rows.append(dict(record.row))
    return rows


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

    from truebench_hf.cli.app import run
    from truebench_hf.cli.commands import Command, new_app
    from truebench_hf.cli.flags import from_options
    from truebench_hf.cli.studies import shown

    app = new_app(rich_markup_mode="markdown")
    for study in studies:
        action = from_options(options_of(study), shown(study))
        app.command(study.kind, cls=Command, help=inspect.getdoc(study) or "")(action)
    run(lambda: typer.main.get_command(app))
