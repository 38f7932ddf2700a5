"""A run as it is published: its files, made fit for strangers' eyes, and its line in the index."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.board import KIND, board, content
from truebench_hf.benchmarks.truebench.models import models_of, one_model, scores_of
from truebench_hf.benchmarks.truebench.results import provenance
from truebench_hf.data import jsonl
from truebench_hf.data.judged import by_instance
from truebench_hf.data.judged import public as public_item
from truebench_hf.data.records import JUDGMENTS, RESPONSES, Reader, judgment_lines
from truebench_hf.engine.info import FORMAT, read_info
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import reason, results_of
from truebench_hf.hub.submission import Submission, by_rules, validate
from truebench_hf.results.report import Report
from truebench_hf.study.board import Board
from truebench_hf.study.providers import marked
from truebench_hf.text import anonymous
from truebench_hf.text.redaction import known, masked
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Score

# What of scores.json does not follow from the judgments: what human labels say about the judge.
_NOT_COMPUTED = ("bias_corrected",)


@dataclass(frozen=True)
class Staged:
    """A run ready to be pushed: its name in the results data set and what is known of it."""

    run_id: str
    submission: Submission
    index: Mapping[str, Any]


def stage_runs(run: Path, out: Path) -> list[Staged]:
    """Check a finished run folder and lay out its public files in `out`, a run for each of its models.

    Raises UserError as `stage_run`.
    """
    settings = read_info(run).get("settings", {})
    models = models_of(settings) if "model" in settings else []
    return [stage_run(run, out, model) for model in models] if len(models) > 1 else [stage_run(run, out)]


def stage_run(run: Path, out: Path, model: str | None = None) -> Staged:
    """The same for the lone model of a run, or one of several; its scores are those computed again.

    Raises UserError where the run is unfinished, its scores do not follow from its judgments, or these are not over
    the data of the run.
    """
    info = read_info(run)
    scores = _claimed(run, info)
    if info.get("kind", "") not in ("", KIND):
        raise UserError(
            f"{run}: is a study of kind {info['kind']}, and the tasks of a model page are those of {KIND}; its figures go "
            "into a results data set, with --repo-id ORG/RESULTS"
        )
    if model is None:
        return _staged(run, info, scores, run / JUDGMENTS, out)
    with tempfile.TemporaryDirectory() as folder:
        own = _alone(run / JUDGMENTS, model, Path(folder))
        return _staged(run, one_model(info, model), _of_model(scores, model), own, out)


def _staged(run: Path, info: Mapping[str, Any], scores: Mapping[str, Any], judgments: Path, out: Path) -> Staged:
    checked = validate(judgments, claimed=scores, made=_made(run, info))
    settings, instances = info.get("settings", {}), by_instance(checked.judged)
    held, samples = len(instances), min(map(len, instances))
    noted = settings.get("items", held), settings.get("samples", samples)
    if settings.get("data_sha256") != checked.data_sha256 or noted != (held, samples):
        raise UserError(f"{run}: its judgments are not over the data that run.json names; judge the run again")
    claimed = {name: scores[name] for name in _NOT_COMPUTED if isinstance(scores.get(name), dict)}
    return _stage(checked, claimed, public(info), judgments, out)


def _of_model(scores: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return what the scores of a run say about one of its models."""
    corrected = scores.get("bias_corrected")
    own = corrected.get(model) if isinstance(corrected, Mapping) else None
    found = scores_of(scores, model)
    return {name: score for name, score in found.items() if name != "bias_corrected"} | (
        {"bias_corrected": own} if own else {}
    )


def _alone(judgments: Path, model: str, folder: Path) -> Path:
    """The lines of one of its models in a file of their own, in a folder."""
    reader = Reader()
    rows = [reader.judged(row, where) for where, row in jsonl.read(judgments)]
    lines = judgment_lines((item for item, _ in rows if item.response.model == model), rows[0][1] if rows else "")
    write_whole(folder / JUDGMENTS, lines)
    return folder / JUDGMENTS


def _claimed(run: Path, info: Mapping[str, Any]) -> dict[str, Any]:
    """The scores that stand in the folder of a run."""
    try:
        scores = json.loads((run / "scores.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        if not info:
            raise UserError(f"{run}: is no run folder; give the --out of a finished run") from error
        if (run / RESPONSES).is_file() and not (run / "judgments.jsonl").is_file():
            raise UserError(
                f"{run}: holds answers that nobody has judged; `truebench judge --out {run}` does it"
            ) from error
        raise UserError(f"{run}: holds no scores.json; finish the run first, with the same command") from error
    except (OSError, ValueError) as error:
        raise UserError(f"{run}: scores.json cannot be read: {error}") from error
    if not info or not isinstance(scores, dict):
        raise UserError(f"{run}: is not a run folder; it needs run.json and scores.json")
    return scores


def stage_file(judgments: Path, checked: Submission, out: Path) -> Staged:
    """Lay out a submitted file that passed `validate`: its scores are those computed from it."""
    settings: dict[str, Any] = {"model": checked.model, "judge": checked.judge, "data": checked.data}
    settings["data_sha256"] = checked.data_sha256
    if by_rules(checked.judged):
        settings["judging"] = {"rules": "decide"}
    told = replace(checked, report=replace(checked.report, provenance=settings))
    return _stage(told, {}, public({"submitted": True, "settings": settings}), judgments, out)


def public(info: Mapping[str, Any]) -> dict[str, Any]:
    """What strangers may see of a `run.json`. A submission stays one when it is fetched and published again."""
    kept = ("submitted", "settings", "sessions", "versions", "usage", "served", "self_judged")
    return {name: anonymous.settings(info[name]) for name in kept if name in info}


def public_judgments(path: Path) -> bytes:
    """The file's lines, without local paths in names, addresses of servers in the texts of errors, and known secrets."""
    reader = Reader()
    read = [reader.judged(row, where) for where, row in jsonl.read(path)]
    judge = anonymous.name(read[0][1])  # of a file that holds one run
    return "".join(judgment_lines((masked(public_item(item)) for item, _ in read), judge)).encode(
        "utf-8", errors="replace"
    )


def _made(run: Path, info: Mapping[str, Any]) -> dict[str, Any]:
    """How the run was made, on which notes and pass rule depend."""
    try:
        return provenance(info)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{run}: run.json does not tell model and judge; judge the run again") from error


def _stage(checked: Submission, claimed: dict[str, Any], info: Mapping[str, Any], judgments: Path, out: Path) -> Staged:
    run_id = f"{slug(checked.model)}--{slug(checked.judge)}--{checked.file_sha256[:10]}"
    row = _index_row(run_id, checked, info)
    place = _board(checked, info)
    folder = out / "runs" / run_id
    folder.mkdir(parents=True)
    (folder / "judgments.jsonl").write_bytes(public_judgments(judgments))
    reasons = {name: anonymous.text(reason) for name, reason in checked.report.unscored.items()}
    write(folder / "scores.json", as_json(checked.report.to_dict() | claimed | {"unscored": reasons}, 1))
    # Computed as the scores are, whatever a board in the run.json said.
    made = {
        "kind": "truebench",
        "format": FORMAT,
        "board": place.as_json(),
        "content": content(checked.judged, checked.judge),
    }
    shown = {**info, **made}
    write(folder / "run.json", as_json(shown, 1))
    stage_results(out, run_id, shown, place)
    # One file per run, not one table: two pull requests then never touch the same file.
    (out / "index").mkdir(exist_ok=True)
    write(out / "index" / f"{run_id}.jsonl", as_json(row))
    return Staged(run_id, checked, row)


def stage_results(out: Path, run_id: str, info: Mapping[str, Any], board: Board) -> None:
    """Write the scores of a published run by model, revision and task, and what is known of each model."""
    for path, result in results_of(run_id, info, board).items():
        (file := out / path).parent.mkdir(parents=True, exist_ok=True)
        write(file, as_json(result, 1))


def _board(checked: Submission, info: Mapping[str, Any]) -> Board:
    try:
        return marked(board(checked.report), info.get("settings", {}), info.get("served") or {})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError("run.json holds settings that no run writes; judge the run again") from error


def _index_row(run_id: str, checked: Submission, info: Mapping[str, Any]) -> dict[str, Any]:
    settings, report = info.get("settings", {}), checked.report
    sessions = info.get("sessions") or [{}]
    return {
        "run_id": run_id,
        "kind": KIND,
        "model": anonymous.name(checked.model),
        "judge": anonymous.name(checked.judge),
        "data": settings.get("data"),
        "data_sha256": settings.get("data_sha256", checked.data_sha256),
        "judge_level": settings.get("judging", {}).get("level"),
        "protocol": settings.get("protocol"),
        "self_judged": info.get("self_judged"),
        "finished": sessions[-1].get("finished"),
        "submitted": bool(info.get("submitted")),
        "overall": _score("overall", report),
        "reason": reason(_of("overall", report)),
        "by_category": _scores("by_category", report),
        "by_language": _scores("by_language", report),
        "path": f"runs/{run_id}",
    }


def _score(name: str, report: Report) -> dict[str, Any]:
    return plain(_of(name, report))


def _of(name: str, report: Report) -> Score:
    value = report.scores[name]
    assert isinstance(value, Score)
    return value


def _scores(name: str, report: Report) -> list[dict[str, Any]]:
    """A list, not an object by name: every row of the index then has the same columns."""
    group = report.scores.get(name, {})
    assert isinstance(group, Mapping)
    return [{"name": label, **plain(score)} for label, score in group.items()]


def plain(score: Score) -> dict[str, Any]:
    """A score as the index has it."""
    low, high = score.ci95 or (None, None)
    return {"value": score.value, "n": score.n, "unscored": score.unscored, "low": low, "high": high}


def slug(text: str) -> str:
    """A model or a judge as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", anonymous.name(text)).strip("-").lower()[:60] or "unnamed"


def write(file: Path, text: str) -> None:
    """Write a public file: known secrets are masked."""
    file.write_text(known(text), encoding="utf-8", errors="replace")  # a model may answer with half a character


def as_json(value: Any, indent: int | None = None) -> str:
    """One line of JSON, or several with `indent`."""
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"
