"""Finished runs instance by instance, of every kind that scores its instances one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.benchmarks.facts.board import KIND as FACTS
from truebench_hf.benchmarks.facts.joined import graded
from truebench_hf.benchmarks.tick.results import VERDICTS
from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.benchmarks.truebench.output import made_by, read_runs, without_doubles
from truebench_hf.benchmarks.truebench.scores import passes
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.pass_rate import checklist_share
from truebench_hf.metrics.repeated import mean
from truebench_hf.models.spec import family
from truebench_hf.records import JUDGMENTS, Judged, Reader

TICK = "tick"


@dataclass(frozen=True)
class Finished:
    """A model's run: its instances by id, and the score of each as it counts there (0..1; None: undecided), of
    several samples their mean.

    `settings` are those of its `run.json`, {} for a file without one; `about` says what a score is.
    """

    where: str
    kind: str
    model: str
    judge: str
    settings: Mapping[str, Any]
    about: str
    items: Mapping[str, Judged] = field(repr=False)
    scores: Mapping[str, float | None] = field(repr=False)


def read(where: str, model: str | None = None) -> Finished:
    """The run in a folder (or in a file of judged instances); of a study of several models the one named.

    Raises UserError as `read_all`, and where the model is not to be told.
    """
    found = {run.model: run for run in read_all(where)}
    if model is None and len(found) > 1:
        raise UserError(f"{where}: holds {', '.join(found)}; name one: --model-a or --model-b")
    if model is not None and model not in found:
        raise unknown(f"model in {where}", model, found)
    return found[model] if model is not None else next(iter(found.values()))


def read_all(where: str) -> list[Finished]:
    """Every model's run in a folder, or in a file of judged instances.

    Raises UserError where there is none, where it is not finished, or of a kind that does not score instance by instance.
    """
    kind, about, info, rows = rows_of(where)
    by_model: dict[str, list[tuple[Judged, float | None, str]]] = {}
    for row in rows:
        by_model.setdefault(row[0].response.model, []).append(row)
    return [_finished(where, kind, model, about, info, its) for model, its in by_model.items()]


def rows_of(where: str) -> tuple[str, str, dict[str, Any], Rows]:
    """(kind, what a score is, `run.json`, every judged response) of such a run. Raises UserError as `read_all`."""
    path = Path(where)
    if not path.exists():
        raise UserError(f"{where}: no such folder; give the --out of a finished run")
    info = read_info(path) if path.is_dir() else made_by(path)
    kind = info.get("kind", "") or TRUEBENCH
    if path.is_dir() and not info:
        raise UserError(f"{where}: is no run folder (it has no run.json); give the --out of a finished run")
    if kind not in _READERS:
        raise UserError(f"{where}: is a study of kind {kind}; runs of kind {', '.join(_READERS)} score their instances")
    if not is_finished(info):
        raise UserError(f"{where}: is not finished; repeat its command, which goes on where it was")
    about, reader = _READERS[kind]
    return kind, about, info, reader(path, info)


def _finished(where: str, kind: str, model: str, about: str, info: Mapping[str, Any], rows: Rows) -> Finished:
    """Of several samples of an instance the first stands for all, with the mean of their scores."""
    samples: dict[str, list[tuple[Judged, float | None]]] = {}
    for judged, score, _ in rows:
        samples.setdefault(judged.instance.id, []).append((judged, score))
    items = {name: found[0][0] for name, found in samples.items()}
    scores = {name: mean([score for _, score in found]) for name, found in samples.items()}
    return Finished(where, kind, model, rows[0][2], info.get("settings", {}), about, items, scores)


def is_finished(info: Mapping[str, Any]) -> bool:
    """Whether a `run.json` is of a run that came to its end; a submission tells of no sessions, and did."""
    sessions = info.get("sessions")
    return not sessions or bool(isinstance(sessions[-1], dict) and sessions[-1].get("finished"))


def judges(kind: str, settings: Mapping[str, Any]) -> set[str]:
    """The specs of all who had a say in a run; none where it is not known."""
    if kind == TRUEBENCH:
        return judging_specs(settings)
    named = settings.get("judges") or settings.get("judge") or ()
    return {named} if isinstance(named, str) else set(named)


def self_judged(model: str, specs: Iterable[str]) -> bool:
    """Whether a judge belongs to the model's family."""
    return family(model) in set(map(family, specs))


Rows = Sequence[tuple[Judged, float | None, str]]  # (judged instance, score, judge)


def _truebench(path: Path, info: Mapping[str, Any]) -> Rows:
    """Passed or not, by the rule of the run."""
    found: list[tuple[Judged, float | None, str]] = []
    for _, judge, rows in read_runs(path):
        once, _ = without_doubles(rows)
        passed = [passes(one, info.get("settings", {})) for one in once]
        found += [(one, None if p is None else float(p), judge) for one, p in zip(once, passed, strict=True)]
    return found


def _facts(path: Path, info: Mapping[str, Any]) -> Rows:
    """The final score of an answer: the share of judges who find it accurate, 0 where it is ineligible."""
    scores = graded(path)
    return [(one, scores.get(one.instance.id), judge) for one, judge in _judged(path / JUDGMENTS)]


def _tick(path: Path, info: Mapping[str, Any]) -> Rows:
    """The share of a response's questions that are answered YES."""
    rows = _judged(path / VERDICTS)
    return [(one, checklist_share([label for turn in one.outcomes for label in turn]), judge) for one, judge in rows]


def _judged(file: Path) -> list[tuple[Judged, str]]:
    reader = Reader()
    found = [reader.judged(row, where) for where, row in jsonl.read(file, "repeat the run's command")]
    if not found:
        raise UserError(f"{file}: holds no judged instances")
    return found


_READERS: dict[str, tuple[str, Callable[[Path, Mapping[str, Any]], Rows]]] = {
    TRUEBENCH: ("instances passed", _truebench),
    FACTS: ("final score of an answer, mean over judges", _facts),
    TICK: ("pass rate of a checklist", _tick),
}
KINDS = tuple(_READERS)
