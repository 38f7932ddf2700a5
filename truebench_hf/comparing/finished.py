"""Finished runs instance by instance, of every kind that scores its instances one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.facts.scores import read_frame, scores_by_document
from truebench_hf.benchmarks.tick.scoring import VERDICTS
from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.board import judging_specs
from truebench_hf.benchmarks.truebench.results import form, judgments, made_by, read_each
from truebench_hf.benchmarks.truebench.results import read_frames as read_run
from truebench_hf.benchmarks.truebench.scores import response_values, rule
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGMENTS, Stamp, read_lines, stamp, unchanged
from truebench_hf.errors import UserError, unknown
from truebench_hf.models.spec import family
from truebench_hf.results.conversations import asked, conversations
from truebench_hf.results.estimators import unit_means
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import VerdictFrames, read_frames

if TYPE_CHECKING:
    from pandas import DataFrame

TICK = "tick"
T = TypeVar("T")
ABOUT = {  # by kind, what the score of a response is
    TRUEBENCH: "instances passed",
    FACTS: "final score of an answer, mean over judges",
    TICK: "pass rate of a checklist",
}


@dataclass(frozen=True)
class Finished:
    """A model's run. `instances` has a row per instance, by its id: language, category, score as it counts there (0 to 1,
    of several samples their mean; NaN: undecided), asked (equal where instances ask the same), line (of its first
    sample).

    `settings` are those of its `run.json`, {} for a file without one. Texts are left in the file, of which `stamp` says
    whether it is still the same.
    """

    where: str
    kind: str
    model: str
    judge: str
    settings: Mapping[str, Any]
    instances: DataFrame = field(repr=False)
    stamp: Stamp = field(repr=False)

    @cached_property
    def scores(self) -> dict[str, float | None]:
        """The score of each instance by its id; None is undecided."""
        scores = self.instances["score"]
        return {name: None if score != score else score for name, score in scores.items()}

    def judged(self, names: Iterable[str], make: Callable[[Judged], T]) -> dict[str, T]:
        """What `make` returns of instances with their texts, which are read again and held no longer.

        Raises UserError where the file is another by now.
        """
        file = _file(Path(self.where), self.kind)
        unchanged(file, self.stamp)
        lines = {int(self.instances.at[name, "line"]): name for name in names}
        items = conversations(file, lines, make, form(file) if self.kind == TRUEBENCH else None)
        return {lines[line]: item for line, item in items} if lines else {}


def read(where: str, model: str | None = None) -> Finished:
    """The run in a folder (or in a file of judged instances); of a study of several models the one named.

    Raises UserError as `read_all`, and where the model is not to be told.
    """
    by_model = {run.model: run for run in read_all(where)}
    if model is None and len(by_model) > 1:
        raise UserError(f"{where}: holds {', '.join(by_model)}; name one: --model-a or --model-b")
    if model is not None and model not in by_model:
        raise unknown(f"model in {where}", model, by_model)
    return by_model[model] if model is not None else next(iter(by_model.values()))


def read_all(where: str) -> list[Finished]:
    """Every model's run in a folder, or in a file of judged instances.

    Raises UserError where there is none, where it is not finished, or of a kind that does not score instance by instance.
    """
    import pandas as pd

    kind, info = _opened(where)
    path, file = Path(where), _file(Path(where), kind)
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise UserError(f"{file}: is no file that can be read twice; save it to one, and give that")
    before = stamp(file)
    frames = _frames(path, kind)
    asks = asked(file, lambda: _each(path, kind), criteria=kind != FACTS)
    rows = frames.responses[["instance", "sample", "language", "category", "model", "judge", "line"]]
    rows = rows.assign(score=_scores(path, kind, info, frames), asked=pd.Series(asks, dtype="int64"))
    # Of a response to TRUEBench that stands twice the last row counts, at the place of the first.
    runs = rows.groupby(["model", "judge"] if kind == TRUEBENCH else ["model"], sort=False, observed=True)
    finished_runs = []
    for _, of_run in runs:
        own = _without_doubles(of_run) if kind == TRUEBENCH else of_run
        finished_runs.append(_finished(where, kind, info.get("settings", {}), own, before))
    return finished_runs


def rows_of(where: str) -> tuple[str, str, dict[str, Any], list[tuple[Judged, float | None]]]:
    """(kind, what a score is, `run.json`, every judged response with its score). Raises UserError as `read_all`."""
    kind, info = _opened(where)
    path = Path(where)
    judged = [item for item, _ in _each(path, kind)]
    frames = _frames(path, kind)
    scores = [None if score != score else float(score) for score in _scores(path, kind, info, frames)]
    if kind != TRUEBENCH:
        return kind, ABOUT[kind], info, list(zip(judged, scores, strict=True))
    unique = {(item.response.model, item.key): (item, score) for item, score in zip(judged, scores, strict=True)}
    return kind, ABOUT[kind], info, list(unique.values())


def _opened(where: str) -> tuple[str, dict[str, Any]]:
    """(kind, `run.json`) of a finished run."""
    path = Path(where)
    results = Results(path, made_by(path)) if path.exists() and not path.is_dir() else Results.open(where)
    kind = results.kind or TRUEBENCH
    if kind not in ABOUT:
        raise UserError(f"{where}: is a study of kind {kind}; runs of kind {', '.join(ABOUT)} score their instances")
    results.check_finished()
    return kind, dict(results.info)


def _file(path: Path, kind: str) -> Path:
    """The file of judged responses of a run."""
    return judgments(path) if kind == TRUEBENCH else path / (VERDICTS if kind == TICK else JUDGMENTS)


def _each(path: Path, kind: str) -> Iterable[tuple[Judged, str]]:
    return read_each(path) if kind == TRUEBENCH else read_lines(_file(path, kind), "repeat the run's command")


def _frames(path: Path, kind: str) -> VerdictFrames:
    """The verdicts of a run. Raises UserError where these are not the run's."""
    if kind == TRUEBENCH:
        return read_run(path)
    frames = read_frames(_file(path, kind), lambda: _each(path, kind))
    if not len(frames):
        raise UserError(f"{_file(path, kind)}: holds no judged instances")
    return frames


def _scores(path: Path, kind: str, info: Mapping[str, Any], frames: VerdictFrames) -> Any:
    """What each response is worth, as the run itself counts it."""
    if kind == FACTS:
        by_id = scores_by_document(read_frame(path))
        return frames.responses["instance"].map(by_id.get).astype(float).to_numpy()
    values = response_values(frames)
    return values["criterion_share" if kind == TICK else rule(info.get("settings", {}))].to_numpy()


def _without_doubles(rows: DataFrame) -> DataFrame:
    keys = ["instance", "sample"]
    last = rows.drop_duplicates(keys, keep="last").set_index(keys)
    return last.loc[rows.drop_duplicates(keys).set_index(keys).index].reset_index()


def _finished(where: str, kind: str, settings: Mapping[str, Any], rows: DataFrame, before: Stamp) -> Finished:
    """Of several samples of an instance the first stands for all, with the mean of their scores."""
    first = rows.drop_duplicates("instance").set_index("instance")
    scores = unit_means(rows["score"].to_numpy(), rows["instance"].to_numpy())
    instances = first[["language", "category", "asked", "line"]].assign(score=scores)
    return Finished(where, kind, first["model"].iloc[0], first["judge"].iloc[0], settings, instances, before)


@dataclass(frozen=True)
class Pairing:
    """Two runs, instance by instance. `rows` has a row per pair, by its id in the first run and in that one's order:
    language, category, a and b (the scores), other (the id in the second run).

    `by_content` of the pairs have other ids in the two. `changed` are ids that ask something else in each; `only` those
    that one run alone holds.
    """

    rows: DataFrame
    by_content: int
    changed: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]


def pair(first: DataFrame, second: DataFrame) -> Pairing:
    """Pair the `instances` of two runs that ask the same: by id, or else by their content (see `Finished`)."""
    shared = first.index[first.index.isin(second.index)]
    same = shared[(first.loc[shared, "asked"] == second.loc[shared, "asked"]).to_numpy()]
    rest = second.drop(index=same)
    by_content = dict(zip(rest["asked"].tolist()[::-1], rest.index[::-1], strict=True))  # of alike ones the first
    asked_alone = first.drop(index=same)["asked"].items()
    matched = {name: by_content.pop(content) for name, content in asked_alone if content in by_content}
    others = dict(zip(same, same, strict=True)) | matched
    names = [name for name in first.index if name in others]
    ids = [others[name] for name in names]
    rows = first.loc[names, ["language", "category"]].assign(
        a=first.loc[names, "score"], b=second.loc[ids, "score"].to_numpy(), other=ids
    )
    left_a, left_b = set(first.index) - set(names), set(second.index) - set(ids)
    changed = left_a & left_b
    only_a = tuple(name for name in first.index if name in left_a - changed)
    only_b = tuple(name for name in second.index if name in left_b - changed)
    return Pairing(rows, len(matched), tuple(name for name in first.index if name in changed), (only_a, only_b))


def judges(kind: str, settings: Mapping[str, Any]) -> set[str]:
    """The specs of all who had a say in a run; none where it is not known."""
    if kind == TRUEBENCH:
        return judging_specs(settings)
    named = settings.get("judges") or settings.get("judge") or ()
    return {named} if isinstance(named, str) else set(named)


def self_judged(model: str, specs: Iterable[str]) -> bool:
    """Whether a judge belongs to the model's family."""
    return family(model) in set(map(family, specs))
