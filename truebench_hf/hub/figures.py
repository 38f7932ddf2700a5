"""A study of another kind than TRUEBench's as it is published: its figures, as the study wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truebench_hf.engine.info import FORMAT, read_info
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.hub.layout import reason
from truebench_hf.hub.staging import as_json, plain, public, slug, stage_results, write
from truebench_hf.study.board import Board
from truebench_hf.text import anonymous
from truebench_hf.types import Score

# Where a study writes its figures: the first of these that is there.
FIGURES = (
    "scores.json", "validation.json", "calibration.json", "contrast.json", "funnel.json",
    "refinement.json", "rules.json", "selection.json", "counts.json", "checklists.json",
)  # fmt: skip
_SIGNED = ("revisions",)  # options that name files after people
_WHO = ("judges", "judge", "model", "validator", "generator", "writer", "base")
# Studies that measure nothing: what is to be done with what they make.
NOTHING = {
    "flexbuild": "makes a benchmark; `truebench flex simulate` and `flex score` measure models by it",
    "flexsimulate": "makes conversations; `truebench flex score` judges them",
    "flexprofiles": "makes kinds of users for `truebench flex simulate --profiles`",
}


def stage_figures(run: Path, out: Path) -> str:
    """Lay out in `out` what may be seen of a finished study: run.json, with its leaderboard where it has one, and its
    figures. Its id.

    Rows, answers and documents stay at home: they may be anybody's. Folders, addresses and keys are taken out of the
    rest. Raises UserError where the study is unfinished, measures nothing, or is of others.
    """
    info = read_info(run)
    figures = _figures(run, info)
    told = anonymous.everything(info.get("board"))
    board = _board(run, told) if told else None
    shown = {**public(_unsigned(info)), "kind": info["kind"], "format": FORMAT} | ({"board": told} if told else {})
    named = board.rows[0].name if board else str(next(iter(_named(shown, *_WHO)), "figures"))
    run_id = f"{slug(info['kind'])}--{slug(named)}--{digest(canonical(told or figures))[:10]}"
    (folder := out / "runs" / run_id).mkdir(parents=True)
    write(folder / "run.json", as_json(shown, 1))
    for name, content in figures.items():
        write(folder / name, as_json(content, 1))
    (out / "index").mkdir()
    lines = _lines(run_id, board, shown) if board else [_line(run_id, shown, list(figures))]
    write(out / "index" / f"{run_id}.jsonl", "".join(map(as_json, lines)))
    if board:
        stage_results(out, run_id, shown, board)
    return run_id


def board_of(told: Any) -> Board:
    """The leaderboard in a run.json, whoever wrote it. Raises ValueError where it is none."""
    from pydantic import TypeAdapter

    found: Board = TypeAdapter(Board).validate_python(told)
    return found


def _figures(run: Path, info: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the figures of a study, if it has any beside its leaderboard."""
    kind = info.get("kind", "")
    if not info.get("settings"):
        raise UserError(f"{run}: is not a run folder; it needs run.json and scores.json")
    if not (info.get("sessions") or [{}])[-1].get("finished"):
        raise UserError(f"{run}: is not finished; finish it first, with the same command")
    if kind in NOTHING:
        raise UserError(f"{run}: `{kind}` {NOTHING[kind]}; it holds no figures to publish")
    name = next((name for name in FIGURES if (run / name).is_file()), None)
    if name is None and "board" not in info:
        raise UserError(f"{run}: a study of kind {kind} wrote no figures; there is nothing to publish")
    return {name: anonymous.everything(_nameless(_read(run, name)))} if name else {}


def _unsigned(info: Mapping[str, Any]) -> dict[str, Any]:
    """A run.json without the names of people's sheets, which are those of people."""
    settings = {name: value for name, value in info["settings"].items() if name not in _SIGNED}
    return {**info, "settings": settings}


def _nameless(figures: Any) -> Any:
    """Figures without the names of raters (of `compare-criteria`): people are told apart by number."""
    people = figures.get("people") if isinstance(figures, dict) else None
    raters = people.get("raters") if isinstance(people, dict) else None
    named = {name: f"rater {number}" for number, name in enumerate(raters, 1)} if isinstance(raters, list) else {}

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shown(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [shown(inner) for inner in value]
        return named.get(value, value) if isinstance(value, str) else value

    return figures | {"people": shown(people)} if named else figures


def _board(run: Path, told: Any) -> Board:
    try:
        board = board_of(told)
    except ValueError as error:
        raise UserError(f"{run}: run.json holds a leaderboard that no study writes; score it again") from error
    if not board.rows:
        raise UserError(f"{run}: nothing of it is scored; there is nothing to publish")
    return board


def _read(run: Path, name: str) -> Any:
    try:
        return json.loads((run / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{run}: {name} cannot be read: {error}") from error


def _lines(run_id: str, board: Board, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines of the index, one for each of the board, in the columns of those of runs."""
    titles = {c.name: f"{c.group}: {c.title}" if c.group else c.title for c in board.columns}
    return [
        _line(run_id, shown)
        | {
            "model": row.name,
            "judge": row.facts.get("Judge"),
            "overall": plain(main := row.scores.get(board.main, Score(None, 0))),
            "reason": reason(main),
            "scores": [{"name": titles[name], **plain(score)} for name, score in row.scores.items() if name in titles],
            "facts": [{"name": name, "value": value} for name, value in row.facts.items()],
        }
        for row in board.rows
    ]


def _line(run_id: str, shown: Mapping[str, Any], figures: list[str] | None = None) -> dict[str, Any]:
    """The line of a study, in the same columns; one that scores no models says where its figures are."""
    settings, sessions = shown.get("settings", {}), shown.get("sessions") or [{}]
    return {
        "run_id": run_id,
        "kind": shown["kind"],
        "model": None,
        "judge": " + ".join(_named(shown, "judges", "judge")) or None,
        "data": settings.get("data"),
        "data_sha256": settings.get("data_sha256"),
        "judge_level": None,
        "protocol": None,
        "self_judged": None,
        "finished": sessions[-1].get("finished"),
        "submitted": False,
        "overall": None,
        "reason": f"scores no models; its figures are in {', '.join(figures or ())}",
        "by_category": [],
        "by_language": [],
        "scores": [],
        "facts": [],
        "path": f"runs/{run_id}",
    }


def _named(shown: Mapping[str, Any], *roles: str) -> list[str]:
    """The models that the settings name in these roles."""
    named = [shown.get("settings", {}).get(role) for role in roles]
    each = [one for value in named if value for one in (value if isinstance(value, list | tuple) else [value])]
    return list(dict.fromkeys(map(str, each)))
