"""`truebench score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truebench_hf.cli import panels
from truebench_hf.cli.texts import TEXTS
from truebench_hf.errors import UserError, unknown
from truebench_hf.terminal import say

if TYPE_CHECKING:
    from truebench_hf.records import Judged


def add_to(app: typer.Typer) -> None:
    """Add the command that scores what is judged already."""
    help = "Tables from run folders, judgments.jsonl or official evaluation files."
    app.command("score", help=help, epilog=TEXTS["score"], rich_help_panel=panels.SCORE)(_score)


def _score(
    files: Annotated[list[Path], typer.Argument(help="Run folders or files of judged instances.")],
    protocol: Annotated[str, typer.Option(help="default, or official: exactly the official tables.")] = "default",
    allow_unscored: Annotated[bool, typer.Option(help="Exit with 0 even when instances are left unscored.")] = False,
) -> None:
    from truebench_hf.benchmarks.truebench import official
    from truebench_hf.benchmarks.truebench.output import read_runs
    from truebench_hf.hub.submission import by_rules

    if protocol not in ("default", "official"):
        raise unknown("protocol", protocol, ("default", "official"))
    runs = [(path, *run) for path in files for run in read_runs(path)]
    if protocol == "official":
        if several := [path for path, _, _, judged in runs if any(item.response.sample > 1 for item in judged)]:
            raise UserError(
                f"{several[0]}: has several samples of an instance, official tables one; leave out --protocol"
            )
        if ruled := [path for path, _, _, judged in runs if by_rules(judged)]:
            raise UserError(f"{ruled[0]}: rules decided some of it, which the official protocol knows none of")
        named = [(model, judged) for _, model, _, judged in runs]
        tables = [official.category_table(named, True), official.language_table(named, True)]
        tables.append(official.usage_table(named))
        say("\n".join(map(official.to_csv, tables)), end="")
        unscored = sum(item.passed is None for _, _, _, judged in runs for item in judged)
    else:
        unscored = sum([_scored(*run) for run in runs])
    if unscored and not allow_unscored:
        raise typer.Exit(3)


def _scored(path: Path, model: str, judge: str, judged: list[Judged]) -> int:
    """Print the scores of one run; returns how many instances are unscored."""
    from truebench_hf.benchmarks.truebench.correction import corrected
    from truebench_hf.benchmarks.truebench.output import made_by, without_doubles
    from truebench_hf.benchmarks.truebench.results import provenance
    from truebench_hf.benchmarks.truebench.scores import score
    from truebench_hf.benchmarks.truebench.sections import lead, sections
    from truebench_hf.report.console import show

    once, doubled = without_doubles(judged)
    if doubled:
        say(f"{model}: {doubled} rows stand twice; each counts once, its last row")
    info = made_by(path)
    report = score(once, provenance=provenance(info or {"settings": {"model": model, "judge": judge}}))
    folder = path if path.is_dir() else path.parent
    report = corrected(report, once, folder) if info else report
    show(sections(report, once), lead=lead(report), notes=report.notes)
    return len(report.unscored)
