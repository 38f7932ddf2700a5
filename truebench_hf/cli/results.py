"""Commands on finished results, which ask no model: compare, check, leaderboard, table ...; and the demo."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truebench_hf.errors import UserError, unknown
from truebench_hf.text.terminal import say, shortened

if TYPE_CHECKING:
    from truebench_hf.comparing.gate import CheckOptions
    from truebench_hf.data.records import Stamp
    from truebench_hf.results.verdicts import VerdictFrames
    from truebench_hf.study.labelling import LabelInOptions, LabelOpenOptions, LabelOutOptions, Taken
    from truebench_hf.study.outcome import Outcome

FORMATS = ("terminal", "latex", "markdown", "csv", "json")


def compare(
    run_a: str, run_b: str, *, model_a: str | None = None, model_b: str | None = None, out: Path | None = None
) -> None:
    """`truebench compare`."""
    from truebench_hf.comparing.compare import compare, outcome

    _present(outcome(compare(run_a, run_b, model_a=model_a, model_b=model_b), page=out is not None), out)


def check(options: CheckOptions) -> None:
    """`truebench check`."""
    from truebench_hf.comparing import gate, gate_files
    from truebench_hf.report.console import show

    result = gate.check(options)
    notes = [f"{shortened(name, 60)} misses {text!r}" for name, text in result.missed[:5]]
    if result.anchors and not result.anchors.drifted:
        notes.append(result.anchors.sentence)
    show(gate_files.tables(result), lead=result.sentence, notes=notes)
    gate_files.write(result)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in gate_files.workflow_commands(result):
            say(line)
    if result.code:
        raise typer.Exit(result.code)


def leaderboard(
    runs: list[str] | None = None, *, with_published: bool = False, kind: str = "truebench", out: Path | None = None
) -> None:
    """`truebench leaderboard`."""
    from truebench_hf.comparing.leaderboard import leaderboard, outcome

    _present(outcome(leaderboard(runs or (), published=with_published, kind=kind)), out)


def table(runs: list[str], *, by: str = "overview", format: str = "terminal") -> None:
    """`truebench table`."""
    from truebench_hf.comparing.table import score_table
    from truebench_hf.report.console import show

    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    scores = score_table(runs, by)
    if format == "terminal":
        show([scores])
    else:
        say(scores.rendered(format), end="")


def correlate(
    scores: list[str],
    *,
    with_: list[str],
    column: list[str] | None = None,
    with_column: list[str] | None = None,
    seed: int = 0,
    out: Path | None = None,
) -> None:
    """`truebench study correlate`."""
    from truebench_hf.comparing.correlate import correlate, outcome

    correlated = correlate(scores, with_, column=column or (), with_column=with_column or (), seed=seed)
    _present(outcome(correlated), out)


def _present(outcome: Outcome[Any], out: Path | None) -> None:
    """Print what comes out, and write the report with its files into a folder."""
    from truebench_hf.report.console import present
    from truebench_hf.study.outcome import REPORT, lines

    files = {name: lines(name, content) for name, content in outcome.items.items()}
    present(outcome.title, outcome.report, out and out / REPORT, notes=outcome.notes, files=files)


def label_out(options: LabelOutOptions) -> None:
    """`truebench label out`."""
    from truebench_hf.api.labels import ask_people

    sent = ask_people(options)
    for line in (*sent.notes, *sent.files):
        say(line)


def label_in(options: LabelInOptions) -> None:
    """`truebench label in`."""
    from truebench_hf.api.labels import take_labels

    _show_taken(take_labels(options))


def label_open(options: LabelOpenOptions) -> None:
    """`truebench label open`."""
    from truebench_hf.api.labels import ask_here

    _show_taken(ask_here(options, say))


def _show_taken(taken: Taken) -> None:
    from truebench_hf.report.console import show

    show(taken.sections, lead=taken.lead, notes=taken.notes)
    if taken.files:
        say(f"written: {', '.join(map(str, taken.files))}")


def facts_rank(runs: list[str], *, out: Path | None = None) -> None:
    """`truebench facts rank`."""
    from truebench_hf.benchmarks.facts.rank import outcome, rank

    _present(outcome(rank(runs)), out)


def export(run: str, *, to: str, out: Path, organization: str = "not stated", relationship: str = "other") -> None:
    """`truebench study export`."""
    from truebench_hf.integrations.export import export

    for path, holds in export(run, to, out, organization=organization, relationship=relationship).items():
        say(f"{path}: {holds}")


def flex_table(folders: list[str], *, out: Path | None = None) -> None:
    """`truebench flex study table`."""
    from truebench_hf.benchmarks.flexbench.scores import table_sections
    from truebench_hf.report.console import present

    present("FlexEval: tables", table_sections(folders), out)


def flex_stability(folder: str, *, seeds: str, out: Path | None = None) -> None:
    """`truebench flex study stability`."""
    from truebench_hf.benchmarks.flexbench.agreement import stability
    from truebench_hf.benchmarks.flexbench.conversations import read_judged
    from truebench_hf.report.console import present

    pair = [seed.strip() for seed in seeds.split(",")]
    if len(pair) != 2 or pair[0] == pair[1] or not all(pair):
        raise UserError(f"--seeds {seeds}: give two different seeds, separated by a comma")
    present("FlexEval: stability", stability(*read_judged(folder), (pair[0], pair[1])), out)


def flex_agree(
    folder: str, *, experts: list[str] | None = None, crowd: list[str] | None = None, out: Path | None = None
) -> None:
    """`truebench flex study agree`."""
    from truebench_hf.benchmarks.flexbench.agreement import agree, agreement_tables, labels_of, read_labels
    from truebench_hf.benchmarks.flexbench.conversations import read_judged
    from truebench_hf.report.console import present
    from truebench_hf.report.labels import FILE

    procedure, judged = read_judged(folder)
    own = Path(folder) / FILE
    if not experts and not own.is_file():
        raise UserError(
            f"{folder}: has no labels of people; `truebench label out {folder}` asks them, or give --experts"
        )
    known = read_labels(experts or [str(own)], judged)
    others = {"judge": labels_of(judged)} | ({"crowd": read_labels(crowd, judged)} if crowd else {})
    present(
        "FlexEval: agreement",
        agreement_tables({name: agree(procedure, known, labels) for name, labels in others.items()}),
        out,
    )


def score(files: list[Path], *, protocol: str = "default", allow_unscored: bool = False) -> None:
    """`truebench study score`."""
    from truebench_hf.benchmarks.truebench.results import judgments, read_frames
    from truebench_hf.benchmarks.truebench.scores import pass_rate_table, unfinished, usage_table
    from truebench_hf.data.records import stamp
    from truebench_hf.judging.rules.deciding import JUDGE
    from truebench_hf.report.sections import csv_text

    if protocol not in ("default", "official"):
        raise unknown("protocol", protocol, ("default", "official"))
    before = {path: stamp(judgments(path)) for path in files}
    runs = [(path, *run) for path in files for run in read_frames(path).runs()]
    if protocol == "official":
        if multi_sample := [path for path, _, _, frames in runs if (frames.responses["sample"] > 1).any()]:
            raise UserError(
                f"{multi_sample[0]}: has several samples of an instance, official tables one; leave out --protocol"
            )
        if ruled := [path for path, _, _, frames in runs if (frames.verdicts["judge"] == JUDGE).any()]:
            raise UserError(f"{ruled[0]}: rules decided some of it, which the official protocol knows none of")
        named = [(model, frames) for _, model, _, frames in runs]
        tables = [pass_rate_table(named, field, True) for field in ("category", "language")] + [usage_table(named)]
        say("\n".join(map(csv_text, tables)), end="")
        unscored = sum(unfinished(frames) for _, _, _, frames in runs)
    else:
        unscored = sum([_scored(*run, before[run[0]]) for run in runs])
    if unscored and not allow_unscored:
        raise typer.Exit(3)


def _scored(path: Path, model: str, judge: str, frames: VerdictFrames, before: Stamp) -> int:
    """Print the scores of one run; returns how many instances are unscored that should not be."""
    from truebench_hf.benchmarks.truebench.labels import correction, label_place, read_labels
    from truebench_hf.benchmarks.truebench.results import (
        judgments,
        made_by,
        models_of,
        no_context,
        one_model,
        provenance,
        read_each,
    )
    from truebench_hf.benchmarks.truebench.scores import score, unfinished
    from truebench_hf.benchmarks.truebench.tables import human_labels, lead, run_charts, run_tables
    from truebench_hf.data.records import unchanged
    from truebench_hf.report.console import show

    once, doubled = frames.without_doubles()
    if doubled:
        say(f"{model}: {doubled} rows stand twice; each counts once, its last row")
    run = made_by(path)
    info = one_model(run.info, model) if run.settings else {"settings": {"model": model, "judge": judge}}
    report = score(once, provenance=provenance(info))
    tables = run_tables({model: report})
    rows, sample = read_labels(label_place(run.path, model, models_of(run.settings))) if run.settings else ([], None)
    if rows:  # labels are on texts, which are read again for them
        each = (item for item, _ in read_each(path, no_context) if item.response.model == model)
        by_labels = correction({item.key: item for item in each}.values() if doubled else each, rows, sample)
        tables += [human_labels(by_labels)] if by_labels else []
        unchanged(judgments(path), before)
    show([*tables, *run_charts({model: report}, {model: once})], lead=lead(report.provenance), notes=report.notes)
    return unfinished(once)
