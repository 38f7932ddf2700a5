"""Runs of several models put together: finished, judged alike, and on the same documents, or an error that says what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from truebench_hf.benchmarks.facts.board import KIND
from truebench_hf.benchmarks.facts.scores import Both
from truebench_hf.data import jsonl
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.repeated import mean
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Score

Kind = Literal["unadjusted", "final"]
# What judges gave, unadjusted and final, by judge and document.
Given = Mapping[Kind, Mapping[str, Mapping[str, float | None]]]
_ACCURATE = {"yes": 1.0, "no": 0.0}
WHOLE = "all answers"  # the name of the only split, where the data names none


@dataclass(frozen=True, slots=True)
class Split:
    """What one model got on one split: the hash of its documents, and the scores by judge and on average.

    `graded` is the final score (0..1, mean over judges) of the answers to every document by its name, their mean over
    those that no judge left open, None where all are; `given` is what each judge gave, unadjusted and final, by judge
    and document.
    """

    sha256: str
    answers: int
    ineligible: int
    judges: Mapping[str, Both]
    mean: Both
    graded: Mapping[str, float | None] = field(default_factory=dict, repr=False)
    given: Given = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Joined:
    """The scores of every model by split; `judges` as all runs asked them, `left_out` are splits that some model lacks."""

    models: Mapping[str, Mapping[str, Split]]
    judges: Mapping[str, Mapping[str, Any]]
    baseline: Mapping[str, Any]
    left_out: tuple[str, ...]

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that all models have, in the order of the first run."""
        return tuple(next(iter(self.models.values())))


def join(folders: Sequence[str]) -> Joined:
    """Put the runs in these folders together. One model's splits may lie in several of them.

    Raises UserError, in one line, on a folder without a finished run, on runs that were judged otherwise or compared
    with another baseline than the first, on splits of one name and other documents, and on a split that stands twice.
    """
    if not folders:
        raise UserError("no run folders: name those of `truebench facts run`")
    runs = {folder: _read(folder) for folder in folders}
    first = next(iter(runs))
    models: dict[str, dict[str, Split]] = {}
    hashes: dict[str, tuple[str, str]] = {}
    for folder, run in runs.items():
        _check_alike(folder, run, first, runs[first])
        held = models.setdefault(run["model"], {})
        for name, split in _splits(run).items():
            if name in held:
                raise UserError(f"{folder}: {run['model']} has a run on {name} already; name one of the two")
            where, known = hashes.setdefault(name, (folder, split.sha256))
            if known != split.sha256:
                raise UserError(f"{folder}: its {name} holds other documents or requests than that of {where}")
            part = "" if name == WHOLE else name
            held[name] = replace(split, graded=graded(Path(folder), part), given=given(Path(folder), part))
    shared = [name for name in hashes if all(name in held for held in models.values())]
    if not shared:
        raise UserError(f"no split is there for every model: there are {', '.join(hashes)}; run the models on the same")
    whole = {model: {name: held[name] for name in shared} for model, held in models.items()}
    return Joined(whole, runs[first]["judges"], runs[first]["baseline"], tuple(n for n in hashes if n not in shared))


def _read(folder: str) -> dict[str, Any]:
    path = Path(folder)
    info = read_info(path) if path.is_dir() else {}
    if info.get("kind") != KIND:
        what = f"holds a study of kind {info['kind']}" if info.get("kind") else "is no run folder"
        raise UserError(f"{folder}: {what}; give the --out of `truebench facts run`")
    try:
        run = json.loads((path / "scores.json").read_text(encoding="utf-8"))
        found = {name: run[name] for name in ("model", "judges", "baseline", "data", "scores", "splits")}
        _splits(found)
    except FileNotFoundError as error:
        raise UserError(f"{folder}: has no scores yet; repeat its command, which goes on where it was") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{folder}: scores.json cannot be read ({type(error).__name__}: {error}); repeat the run's command"
        ) from error
    if not info.get("sessions") or not info["sessions"][-1].get("finished"):
        raise UserError(f"{folder}: the run is not finished; repeat its command, which goes on where it was")
    return found


def graded(folder: Path, split: str = "") -> dict[str, float | None]:
    """The final score of every document (of a split), {} where the folder does not hold its verdicts. Raises UserError."""
    scores: dict[str, list[float | None]] = {}  # answers to one document are no further documents
    for document, ineligible, labels in _verdicts(folder, split):
        value = 0.0 if ineligible else mean_of(*(_ACCURATE.get(label or "") for label in labels.values()))
        scores.setdefault(document, []).append(value)
    return {document: mean(values) for document, values in scores.items()}


def given(folder: Path, split: str = "") -> Given:
    """What each judge gave the answers to every document; {} without verdicts. Raises UserError."""
    found: dict[Kind, dict[str, dict[str, list[float | None]]]] = {}
    for document, ineligible, labels in _verdicts(folder, split):
        for judge, label in labels.items():
            unadjusted = _ACCURATE.get(label or "")
            for kind, value in (("unadjusted", unadjusted), ("final", 0.0 if ineligible else unadjusted)):
                found.setdefault(kind, {}).setdefault(judge, {}).setdefault(document, []).append(value)  # type: ignore[arg-type]
    return {
        kind: {judge: {document: mean(values) for document, values in held.items()} for judge, held in by.items()}
        for kind, by in found.items()
    }


def _verdicts(folder: Path, split: str) -> list[tuple[str, bool, Mapping[str, str | None]]]:
    """(document, whether ineligible, label by judge) of every answer (of a split)."""
    file = folder / "verdicts.jsonl"
    rows = [row for _, row in jsonl.read(file, "repeat the run's command")] if file.exists() else []
    try:
        own = [row for row in rows if not split or row["split"] == split]
        return [(row["document"], bool(row["ineligible"]), dict(row["grounded"])) for row in own]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read ({type(error).__name__}: {error}); repeat the run's command"
        ) from error


def _splits(run: Mapping[str, Any]) -> dict[str, Split]:
    """The scores of each split; where the data names none, of all answers."""
    hashes, cells = run["data"].get("splits") or {}, run["splits"]
    if not cells:
        return {WHOLE: _split(run["scores"]["all"], run["data"]["sha256"])}
    return {name: _split(cell, hashes[name]) for name, cell in cells.items()}


def _split(cell: Mapping[str, Any], sha256: str) -> Split:
    judges = {name: _both(both) for name, both in cell["judges"].items()}
    return Split(sha256, cell["answers"], cell["ineligible"], judges, _both(cell["mean"]))


def _both(given: Mapping[str, Any]) -> Both:
    return Both(_score(given["unadjusted"]), _score(given["final"]))


def _score(given: Mapping[str, Any]) -> Score:
    ends = given["ci95"]
    return Score(given["value"], given["n"], given["unscored"], None if ends is None else (ends[0], ends[1]))


def _check_alike(folder: str, run: Mapping[str, Any], first: str, wanted: Mapping[str, Any]) -> None:
    """Raise UserError on the first thing in which a run's judging differs from that of the first run."""
    theirs, ours = wanted["judges"], run["judges"]
    if set(theirs) != set(ours):
        raise UserError(
            f"{folder}: is judged by {_names(ours)}, {first} by {_names(theirs)}; join runs of equal judges"
        )
    for judge, how in theirs.items():
        for name in dict.fromkeys([*how, *ours[judge]]):
            before, now = (json.dumps(side.get(name), ensure_ascii=False) for side in (how, ours[judge]))
            if before != now:
                raise UserError(f"{folder}: judge {judge} has {_told(name, now)}, in {first} {_told(name, before)}")
    before, now = wanted["baseline"], run["baseline"]
    if _essence(before) != _essence(now):
        raise UserError(
            f"{folder}: answers are compared with {_named(now)}, in {first} with {_named(before)}; join runs of one baseline"
        )


def _essence(baseline: Mapping[str, Any]) -> Any:
    """What makes two baselines the same: the answers, wherever they lay, or else the model that gives them."""
    return baseline.get("sha256") or dict(baseline)


def _told(name: str, value: str) -> str:
    short = shortened(value, 60)
    return f"{name} {short}" if name != "prompts" else f"other prompts ({short})"


def _named(baseline: Mapping[str, Any]) -> str:
    shown = str(baseline.get("name"))
    return f"{shown} (SHA-256 {baseline['sha256'][:8]})" if baseline.get("sha256") else shown


def _names(judges: Mapping[str, Any]) -> str:
    return ", ".join(judges) or "nobody"


def spec_of(judge: str) -> str:
    """The spec of a judge's name, which is numbered where one is named more than once."""
    return re.sub(r"#\d+\Z", "", judge)
