"""Finished runs instance by instance, of every kind that scores its instances one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any, TypeVar

from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.benchmarks.truebench.output import made_by
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Stamp, stamp, unchanged
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.repeated import mean
from truebench_hf.models.spec import family
from truebench_hf.standings.kinds import KINDS
from truebench_hf.types import Instance

T = TypeVar("T")
Rows = Sequence[tuple[Judged, float | None, str]]  # (judged instance, score, judge)


@dataclass(frozen=True, slots=True)
class Row:
    """What counts of a judged response, without its texts: `asked` is a hash of what the instance asks."""

    id: str
    language: str
    category: str
    score: float | None
    judge: str
    asked: bytes
    place: int  # of its line among all of the file, from 0


@dataclass(frozen=True)
class Finished:
    """A model's run: its instances by id, and the score of each as it counts there (0..1; None: undecided), of
    several samples their mean.

    `settings` are those of its `run.json`, {} for a file without one; `about` says what a score is. Texts are left in
    the file, of which `stamp` says whether it is still the same.
    """

    where: str
    kind: str
    model: str
    judge: str
    settings: Mapping[str, Any]
    about: str
    items: Mapping[str, Row] = field(repr=False)
    scores: Mapping[str, float | None] = field(repr=False)
    stamp: Stamp = field(repr=False)

    def judged(self, names: Iterable[str], made: Callable[[Judged], T]) -> dict[str, T]:
        """What is `made` of instances with their texts, which are read again and held no longer.

        Raises UserError where the file is another by now.
        """
        path, reading = Path(self.where), KINDS[self.kind]
        unchanged(reading.file(path), self.stamp)
        wanted = {self.items[name].place: name for name in names}
        lines = enumerate(reading.lines(path, str)) if wanted else ()
        return {wanted[place]: made(item) for place, (item, _) in lines if place in wanted}


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
    kind, info = _opened(where)
    file = KINDS[kind].file(Path(where))
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise UserError(f"{file}: is no file that can be read twice; save it to one, and give that")
    before = stamp(file)

    def row(place: int, item: Judged, judge: str, score: float | None) -> Row:
        instance = item.instance
        language, category, judge = map(intern, (instance.language, instance.category, judge))
        return Row(instance.id, language, category, score, judge, _asked(instance, kind), place)

    by_model: dict[str, list[Row]] = {}
    for model, rows in _counted(where, kind, info, row, digest):
        by_model.setdefault(model, []).extend(rows)
    return [_finished(where, kind, model, info, rows, before) for model, rows in by_model.items()]


def rows_of(where: str) -> tuple[str, str, dict[str, Any], Rows]:
    """(kind, what a score is, `run.json`, every judged response) of such a run. Raises UserError as `read_all`."""
    kind, info = _opened(where)
    found = _counted(where, kind, info, lambda _, item, judge, score: (item, score, judge), str)
    return kind, KINDS[kind].about, info, [row for _, rows in found for row in rows]


def _opened(where: str) -> tuple[str, dict[str, Any]]:
    """(kind, `run.json`) of a finished run."""
    path = Path(where)
    if not path.exists():
        raise UserError(f"{where}: no such folder; give the --out of a finished run")
    info = read_info(path) if path.is_dir() else made_by(path)
    kind = info.get("kind", "") or TRUEBENCH
    if path.is_dir() and not info:
        raise UserError(f"{where}: is no run folder (it has no run.json); give the --out of a finished run")
    if kind not in KINDS:
        raise UserError(f"{where}: is a study of kind {kind}; runs of kind {', '.join(KINDS)} score their instances")
    if not is_finished(info):
        raise UserError(f"{where}: is not finished; repeat its command, which goes on where it was")
    return kind, info


def _counted(
    where: str, kind: str, info: Mapping[str, Any], made: Callable[[int, Judged, str, float | None], T],
    context: Callable[[str], str],
) -> list[tuple[str, list[T]]]:  # fmt: skip
    """By model (and, of TRUEBench, judge) what is `made` of each response (its place in the file, what was judged, by whom, and its score).

    Of a response to TRUEBench that stands twice the last row counts, at the place of the first.
    """
    path, reading = Path(where), KINDS[kind]
    score = reading.score(path, info)
    found: dict[tuple[str, str], dict[tuple[str, int], T]] = {}
    for place, (item, judge) in enumerate(reading.lines(path, context)):
        by, key = (judge, item.key) if kind == TRUEBENCH else ("", ("", place))
        found.setdefault((item.response.model, by), {})[key] = made(place, item, judge, score(item))
    reading.check(path, found)
    return [(model, list(rows.values())) for (model, _), rows in found.items()]


def _asked(instance: Instance, kind: str) -> bytes:
    """A hash of what an instance asks: its texts and, where they are the data's own, its criteria."""
    criteria = [[] if kind == FACTS else [(c.text, float(c.weight)) for c in turn.criteria] for turn in instance.turns]
    turns = [(turn.prompt, turn.reference) for turn in instance.turns]
    asked = canonical([instance.system, instance.context, instance.history, turns, criteria])
    return bytes.fromhex(digest(asked))


def _finished(where: str, kind: str, model: str, info: Mapping[str, Any], rows: Sequence[Row], of: Stamp) -> Finished:
    """Of several samples of an instance the first stands for all, with the mean of their scores."""
    samples: dict[str, list[Row]] = {}
    for row in rows:
        samples.setdefault(row.id, []).append(row)
    items = {name: found[0] for name, found in samples.items()}
    scores = {name: mean([row.score for row in found]) for name, found in samples.items()}
    about, settings = KINDS[kind].about, info.get("settings", {})
    return Finished(where, kind, model, rows[0].judge, settings, about, items, scores, of)


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
