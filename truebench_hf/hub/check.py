"""A results repository checked as its review would: no score vanished, nothing stands twice, nothing unknown is 0.

All in `results/` follows from the runs in `runs/`: it is made again from them and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.board import KIND
from truebench_hf.benchmarks.truebench.board import board as board_from
from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.benchmarks.truebench.results import provenance
from truebench_hf.data import jsonl
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.engine.info import INFO, parsed
from truebench_hf.errors import UserError
from truebench_hf.hub.figures import board_of
from truebench_hf.hub.layout import META, RESULTS, is_result, results_of
from truebench_hf.hub.submission import validate
from truebench_hf.hub.tasks import ALL, PARTS, task_of
from truebench_hf.study.board import Board, Row
from truebench_hf.text.terminal import how_many

Files = Mapping[str, dict[str, Any]]  # the content of results by path
_SAME = (
    "model", "revision", "provider", "data_sha256", "data_revision", "tool_version", "setting", "run", "main_score",
)  # fmt: skip
_SCORE = ("value", "n", "unscored", "low", "high", "reason")


@dataclass(frozen=True)
class Checked:
    """How many runs and files of results there are, and what is wrong, a line each."""

    runs: int
    results: int
    faults: tuple[str, ...]


@dataclass
class _Seen:
    """What the runs of a repository should have put into it."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)  # by hash of answers and verdicts the run


def check(
    folder: Path, before: Path | None = None, *, again: bool = True, name: str = "", name_before: str = ""
) -> Checked:
    """Check a results repository in a folder; `before` is one that it must not have less than, say its main branch.

    `name` and `name_before` are what the user calls them. With `again` the scores of runs with judgments are computed
    again. Raises UserError where one of them is no results repository; `before` may be a new one, with its card alone.
    """
    if not (folder / "runs").is_dir():
        raise _is_none(name or str(folder))
    if before and not (before / "runs").is_dir() and not _is_new(before):
        raise _is_none(f"--before {name_before or before}")
    faults: list[str] = []
    seen = _Seen()
    runs = sorted(path for path in (folder / "runs").iterdir() if path.is_dir())
    for run in runs:
        faults += _run(folder, run, seen, again=again)
    known = {run.name for run in runs}
    faults += [
        f"index/{file.name}: belongs to no run in `runs`"
        for file in sorted((folder / "index").glob("*"))
        if file.suffix != ".jsonl" or file.stem not in known
    ]
    there, broken = _read(folder)
    faults += broken
    faults += [fault for path, wanted in seen.files.items() for fault in _compared(path, wanted, there.get(path))]
    faults += [f"{path}: belongs to no run in `runs`" for path in there if path not in seen.files]
    if before:
        faults += _vanished(_read(before)[0], there)
    return Checked(len(runs), sum(map(is_result, there)), tuple(faults))


def _is_none(name: str) -> UserError:
    return UserError(
        f"{name}: no results repository there (it has no folder `runs`); give a checkout of one, or ORG/NAME[@REVISION]"
    )


def _is_new(folder: Path) -> bool:
    """Whether a data set was made, and nothing but its card pushed yet: the first results come as a pull request, too."""
    names = {path.name for path in folder.iterdir()}
    return bool(names & {"README.md", ".gitattributes"}) and all(n == "README.md" or n[0] == "." for n in names)


def lost_scores(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The scores that one file of results has and another one lacks."""
    now = _scores(new)
    return [name for name in _scores(old) if name not in now]


def _run(folder: Path, run: Path, seen: _Seen, *, again: bool) -> Iterator[str]:
    """What is wrong with one run, whose results are noted."""
    where = f"runs/{run.name}"
    try:
        info = parsed((run / INFO).read_text("utf-8"))
        board = board_of(info["board"]) if "board" in info else None
        files = results_of(run.name, info, board) if board else {}
    except FileNotFoundError:
        yield f"{where}: holds no run.json"
        return
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        yield f"{where}: run.json is not as a run writes it ({' '.join(str(error).split())[:120]})"
        return
    for path, content in files.items():
        if path in seen.files and is_result(path):
            yield f"{path}: stands twice, by {seen.files[path]['run']} and {where}"
        seen.files.setdefault(path, content)
    same = info.get("content")
    if isinstance(same, str) and (first := seen.contents.setdefault(same, where)) != where:
        yield f"{where}: is the same run as {first}"
    if board:
        yield from _whole(where, info, board)
    yield from _index(folder, run.name, board)
    if again and info.get("kind") == KIND:
        yield from _judged(where, run, info, board)


def _whole(where: str, info: Mapping[str, Any], board: Board) -> Iterator[str]:
    """Zeros that nothing was measured for, and what is missing of a release that all was run of."""
    for row in board.rows:
        for name, score in row.scores.items():
            if score.value is not None and score.n < 1:
                yield f"{where}: {row.name}, {name}: has the value {score.value:g} over nothing; what is not known is null"
    release, task = task_of(str((info.get("settings") or {}).get("data_sha256"))) or ("", "")
    if task == ALL and info.get("kind") == KIND:
        there = {slug(name.partition(":")[2]) for row in board.rows for name in row.scores}
        for part in PARTS[release]:
            if part not in (ALL, *there):
                yield f"{where}: is over all of {release} and has no score for {part}"


def _index(folder: Path, run_id: str, board: Board | None) -> Iterator[str]:
    """Whether a run has its lines in the index, one for each of its board, with the main score of that."""
    file = folder / "index" / f"{run_id}.jsonl"
    try:
        rows = [row for _, row in jsonl.read(file)] if file.is_file() else []
    except UserError as error:
        yield f"index/{file.name}: {error}"
        return
    lines = len(board.rows) if board else 1
    if len(rows) != lines or any(not isinstance(row, dict) or row.get("run_id") != run_id for row in rows):
        yield f"index/{file.name}: should hold {how_many(lines, 'line')} of this run, and holds {len(rows)}"
        return
    for row, line in zip(rows, board.rows if board else (), strict=False):
        told, main = row.get("overall"), line.scores.get(board.main if board else "")
        value = told.get("value") if isinstance(told, Mapping) else None
        if (row.get("model"), value) != (line.name, main.value if main else None):
            yield f"index/{file.name}: tells of {row.get('model')} {value}, run.json of {line.name} {main and main.value}"


def _judged(where: str, run: Path, info: Mapping[str, Any], board: Board | None) -> Iterator[str]:
    """What does not follow from the judgments of a run."""
    try:
        scores = json.loads((run / "scores.json").read_text("utf-8"))
        if not isinstance(scores, dict):
            raise UserError("scores.json is no object")
        made = board_from(validate(run / JUDGMENTS, claimed=scores, made=provenance(info)).report)
        told = _counts(board.rows[0]) if board and len(board.rows) == 1 else {}
        for name, counts in _counts(made.rows[0]).items():
            if told.get(name) != counts:
                yield f"{where}: run.json gives {told.get(name)} for {name} (value, n, unscored), its judgments {counts}"
    except UserError as error:
        yield f"{where}: {error}"
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        yield f"{where}: cannot be scored again ({' '.join(str(error).split())[:120]})"


def _counts(row: Row) -> dict[str, tuple[float | None, int, int]]:
    """The scores of a line without intervals, which depend on the version of a library."""
    scores = row.scores.items()
    return {name: (s.value if s.value is None else round(s.value, 8), s.n, s.unscored) for name, s in scores}


def _compared(path: str, wanted: Mapping[str, Any], there: Mapping[str, Any] | None) -> Iterator[str]:
    if there is None:
        yield f"{path}: is not there" + (f"; {wanted['run']} has it" if "run" in wanted else "")
        return
    if not is_result(path):
        return
    for name in lost_scores(wanted, there):
        yield f"{path}: score {name} is gone; {wanted['run']} has it"
    for name in _SAME:
        if there.get(name) != wanted[name]:
            yield f"{path}: {name} is {there.get(name)!r}, in {wanted['run']} {wanted[name]!r}"
    for name, score in _scores(there).items():
        told = wanted["scores"].get(name)
        if told is None:
            yield f"{path}: score {name} is in no run"
        elif not isinstance(score, Mapping) or any(score.get(part) != told.get(part) for part in _SCORE):
            yield f"{path}: score {name} is not that of {wanted['run']}"


def _scores(file: Mapping[str, Any]) -> Mapping[str, Any]:
    found = file.get("scores")
    return found if isinstance(found, Mapping) else {}


def _vanished(before: Files, now: Files) -> Iterator[str]:
    for path, old in before.items():
        if path not in now:
            yield f"{path}: is gone; it stood there before"
        elif lost := lost_scores(old, now[path]):
            yield f"{path}: lacks what stood there before: {', '.join(lost)}"


def _read(folder: Path) -> tuple[dict[str, dict[str, Any]], Sequence[str]]:
    """The files below `results/` by path, and what is wrong with those that are none."""
    found: dict[str, dict[str, Any]] = {}
    faults: list[str] = []
    for file in sorted(path for path in (folder / RESULTS).rglob("*") if path.is_file()):
        path = file.relative_to(folder).as_posix()
        if file.suffix != ".json" or path.count("/") != 3:
            faults.append(f"{path}: is not {RESULTS}/MODEL/REVISION/TASK.json, nor {META} beside one")
            continue
        try:
            content = jsonl.parsed(file.read_bytes(), path)
        except (OSError, UserError) as error:
            faults.append(str(error))
            continue
        if isinstance(content, dict):
            found[path] = content
        else:
            faults.append(f"{path}: is no JSON object")
    return found, faults
