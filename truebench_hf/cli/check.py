"""`truebench check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from truebench_hf.errors import UserError, unknown

if TYPE_CHECKING:
    from truebench_hf.comparing.gate import Gate


def check(
    new: Annotated[str, typer.Argument(help="Folder of the new run.")],
    against: Annotated[
        str | None, typer.Option(help="Folder of the earlier run, of the same kind, judged in the same way.")
    ] = None,
    margin: Annotated[float, typer.Option(help="Points of the score by which the new run may be worse.")] = 3.0,
    by: Annotated[
        list[str] | None, typer.Option(help="Gate the groups, too: category or language; may be repeated.")
    ] = None,
    must: Annotated[
        list[str] | None, typer.Option(help="Part of a criterion that every answer has to meet; may be repeated.")
    ] = None,
    length_margin: Annotated[
        float | None, typer.Option(help="Gate the length, too: percent by which answers may be longer.")
    ] = None,
    cost_margin: Annotated[
        float | None, typer.Option(help="Gate the cost, too: percent by which answers may cost more, by prices.toml.")
    ] = None,
    anchors: Annotated[
        str | None,
        typer.Option(
            help="File of labelled rows (prompt, response, criterion, label), at most 100: NEW's judge judges them along, "
            "and has to agree with them as on the day of the record beside FILE, which the first check keeps."
        ),
    ] = None,
    model_new: Annotated[str | None, typer.Option(help="Which model of NEW, where it holds several.")] = None,
    model_old: Annotated[str | None, typer.Option(help="Which model of --against, where it holds several.")] = None,
    allow: Annotated[str | None, typer.Option(help="unsure: exit with 0 where the data do not tell.")] = None,
    junit: Annotated[str | None, typer.Option(help="File for a JUnit report: a case per instance of NEW.")] = None,
    summary: Annotated[
        str | None, typer.Option(help="File for a summary in Markdown; on GitHub the job's page has it by itself.")
    ] = None,
) -> None:
    """`truebench check`."""
    from truebench_hf.comparing import gate

    if allow not in (None, "unsure"):
        raise unknown("--allow", str(allow), ("unsure",))
    if against is None and not (must or anchors is not None or junit or summary):
        raise UserError("give --against OLD, an earlier run; or --must, --anchors, --junit or --summary for NEW alone")
    if against is None and (by or model_old or length_margin is not None or cost_margin is not None):
        raise UserError(
            "--by, --length-margin, --cost-margin and --model-old hold against an earlier run; give --against OLD"
        )
    result = gate.check(
        new, against, margin=margin, by=by or (), must=must or (), length_margin=length_margin, cost_margin=cost_margin,
        model_new=model_new, model_old=model_old, anchors=anchors,
    )  # fmt: skip
    _tell(result, junit, summary)
    if code := 0 if allow and result.verdict == "unsure" else gate.CODES[result.verdict]:
        raise typer.Exit(code)


def _tell(result: Gate, junit: str | None, summary: str | None) -> None:
    """Show what a check comes to, and write its files."""
    from truebench_hf.comparing import gate_files
    from truebench_hf.report.console import show
    from truebench_hf.text.terminal import say, shortened

    notes = [f"{shortened(name, 60)} misses {text!r}" for name, text in result.missed[:5]]
    if result.anchors and not result.anchors.drifted:
        notes.append(result.anchors.sentence)
    show(gate_files.tables(result), lead=result.sentence, notes=notes)
    gate_files.write(result, junit, summary)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in gate_files.workflow_commands(result):
            say(line)
