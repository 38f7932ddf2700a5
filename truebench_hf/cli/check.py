"""`truebench check`."""

from __future__ import annotations

from typing import Annotated

import typer

from truebench_hf.errors import unknown


def check(
    new: Annotated[str, typer.Argument(help="Folder of the new run.")],
    against: Annotated[str, typer.Option(help="Folder of the earlier run, of the same kind, judged in the same way.")],
    margin: Annotated[float, typer.Option(help="Points of the score by which the new run may be worse.")] = 3.0,
    by: Annotated[
        list[str] | None, typer.Option(help="Gate the groups, too: category or language; may be repeated.")
    ] = None,
    must: Annotated[
        list[str] | None, typer.Option(help="Part of a criterion that every answer has to meet; may be repeated.")
    ] = None,
    model_new: Annotated[str | None, typer.Option(help="Which model of NEW, where it holds several.")] = None,
    model_old: Annotated[str | None, typer.Option(help="Which model of --against, where it holds several.")] = None,
    allow: Annotated[str | None, typer.Option(help="unsure: exit with 0 where the data do not tell.")] = None,
) -> None:
    """`truebench check`."""
    from truebench_hf.comparing import gate
    from truebench_hf.report.console import show

    if allow not in (None, "unsure"):
        raise unknown("--allow", str(allow), ("unsure",))
    result = gate.check(
        new, against, margin=margin, by=by or (), must=must or (), model_new=model_new, model_old=model_old
    )
    missed = [f"{name} misses {text!r}" for name, text in result.missed[:5]]
    show([gate.table(result)], lead=result.sentence, notes=missed)
    if code := 0 if allow and result.verdict == "unsure" else gate.CODES[result.verdict]:
        raise typer.Exit(code)
