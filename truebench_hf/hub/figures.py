"""A study of another kind than TRUEBench's as it is published: its figures, as the study wrote them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truebench_hf import anonymous
from truebench_hf.engine.info import FORMAT, read_info
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import as_json, plain, public, slug, write
from truebench_hf.study.board import Board

SCORES = "scores.json"


def stage_figures(run: Path, out: Path) -> str:
    """Lay out in `out` what may be seen of a finished study: run.json with its leaderboard, and scores.json. Its id.

    Rows, answers and documents stay at home: they may be anybody's. Folders, addresses and keys are taken out of the
    rest. Raises UserError where the study is unfinished, or of a kind without a leaderboard.
    """
    info = read_info(run)
    if not info.get("settings"):
        raise UserError(f"{run}: is not a run folder; it needs run.json and scores.json")
    if "board" not in info:
        if (info.get("sessions") or [{}])[-1].get("finished"):
            raise UserError(
                f"{run}: studies of kind {info.get('kind')} have no leaderboard; there is nothing to publish"
            )
        raise UserError(f"{run}: is not finished; finish it first, with the same command")
    told = anonymous.everything(info["board"])
    board = _board(run, told)
    shown = {**public(info), "kind": info["kind"], "format": FORMAT, "board": told}
    run_id = f"{slug(info['kind'])}--{slug(board.rows[0].name)}--{digest(canonical(told))[:10]}"
    (folder := out / "runs" / run_id).mkdir(parents=True)
    write(folder / "run.json", as_json(shown, 1))
    if (run / SCORES).is_file():
        write(folder / SCORES, as_json(anonymous.everything(_scores(run)), 1))
    (out / "index").mkdir()
    lines = _lines(run_id, board, shown)
    write(out / "index" / f"{run_id}.jsonl", "".join(map(as_json, lines)))
    return run_id


def _board(run: Path, told: Any) -> Board:
    from pydantic import TypeAdapter, ValidationError

    try:
        board = TypeAdapter(Board).validate_python(told)
    except ValidationError as error:
        raise UserError(f"{run}: run.json holds a leaderboard that no study writes; score it again") from error
    if not board.rows:
        raise UserError(f"{run}: nothing of it is scored; there is nothing to publish")
    return board


def _scores(run: Path) -> Any:
    try:
        return json.loads((run / SCORES).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{run}: {SCORES} cannot be read: {error}") from error


def _lines(run_id: str, board: Board, shown: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines of the index, one for each of the board, in the columns of those of runs."""
    settings, sessions = shown.get("settings", {}), shown.get("sessions") or [{}]
    titles = {c.name: f"{c.group}: {c.title}" if c.group else c.title for c in board.columns}
    return [
        {
            "run_id": run_id,
            "kind": shown["kind"],
            "model": row.name,
            "judge": row.facts.get("Judge"),
            "data": settings.get("data"),
            "data_sha256": settings.get("data_sha256"),
            "judge_level": None,
            "protocol": None,
            "self_judged": None,
            "finished": sessions[-1].get("finished"),
            "submitted": False,
            "overall": plain(row.scores[board.main]) if board.main in row.scores else None,
            "by_category": [],
            "by_language": [],
            "scores": [{"name": titles[name], **plain(score)} for name, score in row.scores.items() if name in titles],
            "facts": [{"name": name, "value": value} for name, value in row.facts.items()],
            "path": f"runs/{run_id}",
        }
        for row in board.rows
    ]
