"""A finished run as it is published: checked, scored again where it holds judgments, and made fit for strangers' eyes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.results import KIND, content, models_of, one_model, provenance, ranking
from truebench_hf.data.judged import Judged, by_instance
from truebench_hf.data.judged import public as public_item
from truebench_hf.data.records import JUDGMENTS, RESPONSES, judgment_lines
from truebench_hf.engine.folder import FORMAT
from truebench_hf.errors import UserError
from truebench_hf.hub import layout
from truebench_hf.hub.layout import Rows
from truebench_hf.hub.submission import Submission, by_rules, validate
from truebench_hf.report.table import SCORES, Table
from truebench_hf.results.folder import Results
from truebench_hf.results.report import score_tables
from truebench_hf.study.outcome import scores_json
from truebench_hf.study.ranking import Board
from truebench_hf.text import anonymous
from truebench_hf.text.redaction import known

NOTHING = ("flexbuild", "flexsimulate", "flexprofiles")  # studies that make what others measure by
_PUBLIC = ("submitted", "settings", "sessions", "versions", "usage", "served", "self_judged")
_WHO = ("judges", "judge", "model", "validator", "generator", "writer")


@dataclass(frozen=True)
class Staged:
    """A run ready to be pushed: its name in the results data set, its table, and its judgments where it has some."""

    run_id: str
    rows: Rows
    submission: Submission | None = None

    @property
    def checked(self) -> Submission:
        """The judgments, of a run that has some."""
        assert self.submission is not None
        return self.submission


def stage(run: Path, out: Path) -> list[Staged]:
    """Check a finished run or study and lay it out in `out`, a record for each model of a run over instances.

    Raises UserError as `stage_run` and `stage_study`.
    """
    results = Results.open(run)
    if results.kind not in ("", KIND):
        return [stage_study(run, out)]
    models = models_of(results.settings) if "model" in results.settings else []
    return [stage_run(run, out, model) for model in models] if len(models) > 1 else [stage_run(run, out)]


def stage_run(run: Path, out: Path, model: str | None = None) -> Staged:
    """Lay out the lone model of a run over instances with criteria, or one of several; its scores are computed again.

    Raises UserError where the run is unfinished, its scores do not follow from its judgments, or these are not over
    the data of the run.
    """
    results = Results.open(run)
    results.check_finished()
    if "scores" not in results.tables:
        if (run / RESPONSES).is_file() and not (run / JUDGMENTS).is_file():
            raise UserError(f"{run}: holds answers that nobody has judged; `truebench judge --out {run}` does it")
        raise UserError(f"{run}: holds no scores; finish the run first, with the same command")
    info, claimed = results.info, results.tables["scores"].rows
    if model is not None:
        info, claimed = one_model(info, model), [row for row in claimed if row["model"] == model]
    checked = validate(run / JUDGMENTS, claimed=claimed, provenance=provenance(info), model=model)
    settings, instances = info.get("settings", {}), by_instance(checked.judged)
    held, samples = len(instances), min(map(len, instances))
    noted = settings.get("items", held), settings.get("samples", samples)
    if settings.get("data_sha256") != checked.data_sha256 or noted != (held, samples):
        raise UserError(f"{run}: its judgments are not over the data that run.json names; judge the run again")
    return _stage_judged(checked, public(info), out)


def stage_file(checked: Submission, out: Path) -> Staged:
    """Lay out a submitted file that passed `validate`: its scores are those computed from it."""
    settings: dict[str, Any] = {"model": checked.model, "judge": checked.judge, "data": checked.data}
    settings["data_sha256"] = checked.data_sha256
    if by_rules(checked.judged):
        settings["judging"] = {"rules": "decide"}
    scored = replace(checked, report=replace(checked.report, provenance=settings))
    return _stage_judged(scored, public({"submitted": True, "settings": settings}), out)


def stage_study(run: Path, out: Path) -> Staged:
    """Lay out what may be seen of a finished study of another kind: run.json, with its board where it has one, and its
    figures.

    Rows, answers and documents stay at home: they may be anybody's. Folders, addresses and keys are taken out of the
    rest. Raises UserError where the study is unfinished or measures nothing.
    """
    results = Results.open(run)
    if not results.settings:
        raise UserError(f"{run}: is not a run folder; its run.json holds no settings")
    results.check_finished()
    results.check_board()
    if results.kind in NOTHING or not (results.tables or "board" in results.info):
        raise UserError(f"{run}: a study of kind {results.kind} measures nothing; it holds no figures to publish")
    file = run / SCORES
    figures = {SCORES: anonymous.everything(json.loads(file.read_text("utf-8")))} if file.is_file() else {}
    info = {**results.info, "board": anonymous.everything(results.info.get("board"))}
    ranked = replace(results, info=info).board
    if ranked and not ranked.rows:
        raise UserError(f"{run}: nothing of it is scored; there is nothing to publish")
    public_info = {**public(info), "kind": info["kind"], "format": FORMAT}
    if results.tables:
        public_info["tables"] = info["tables"]
    named = ranked.rows[0].name if ranked else next(iter(layout.models_named(info["settings"], *_WHO)), "figures")
    of = layout.measurements(public_info, ranked) if ranked else figures
    run_id = layout.run_name(info["kind"], named, content=of)
    return _write(out, run_id, public_info, ranked, figures)


def public(info: Mapping[str, Any]) -> dict[str, Any]:
    """What strangers may see of a `run.json`. A submission stays one when it is fetched and published again."""
    return {name: anonymous.settings(info[name]) for name in _PUBLIC if name in info}


def public_judgments(judged: Iterable[Judged], judge: str) -> bytes:
    """The lines of a file, without local paths in names, addresses of servers in the texts of errors, and known secrets."""
    lines = judgment_lines(map(public_item, judged), anonymous.name(judge))
    return known("".join(lines)).encode("utf-8", errors="replace")


def _stage_judged(checked: Submission, info: Mapping[str, Any], out: Path) -> Staged:
    # Board and content are computed as the scores are, whatever a run.json said.
    public_info = {**info, "kind": KIND, "format": FORMAT, "content": content(checked.judged, checked.judge)}
    ranked = ranking({checked.model: checked.report}).board()
    assert ranked is not None
    run_id = layout.run_name(checked.model, checked.judge, content=layout.measurements(public_info, ranked))
    reasons = {name: anonymous.text(reason) for name, reason in checked.report.unscored.items()}
    tables = score_tables({anonymous.name(checked.model): replace(checked.report, unscored=reasons)})
    public_info["tables"] = {table.name: table.described() for table in tables}
    figures = {SCORES: scores_json(tables, checked.report.notes)}
    staged = _write(out, run_id, public_info, ranked, figures, checked.report.notes)
    (out / layout.RUNS / run_id / JUDGMENTS).write_bytes(public_judgments(checked.judged, checked.judge))
    return replace(staged, submission=checked)


def _write(
    out: Path,
    run_id: str,
    info: Mapping[str, Any],
    ranked: Board | None,
    figures: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Staged:
    """Write the record of a run; raises UserError where `out` has another one under the same name."""
    folder = out / layout.RUNS / run_id
    if folder.exists():
        raise UserError(
            f"two models of one run are called alike ({run_id}); publish one run for each, under other names"
        )
    folder.mkdir(parents=True)
    rows = layout.table_of(run_id, info, ranked, figures)
    layout.write_table(rows, folder / layout.TABLE)
    written_info = {**info, "board": ranked.as_json()} if ranked else info
    files = {
        name: json.dumps(v, ensure_ascii=False, indent=1) for name, v in {"run.json": written_info, **figures}.items()
    }
    files = {name: f"{text}\n" for name, text in files.items()}
    described = info.get("tables", {}).items()
    tables = [Table.of_records(name, table, figures[SCORES][name]) for name, table in described]
    files[layout.REPORT] = "".join(layout.report_page(rows, tables, ranked, notes))
    for name, text in files.items():  # known secrets are masked, and a model may answer with half a character
        (folder / name).write_text(known(text), encoding="utf-8", errors="replace")
    return Staged(run_id, rows)
