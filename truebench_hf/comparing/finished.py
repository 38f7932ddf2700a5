"""The kinds of studies that score their instances one by one, and their finished runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.facts.scores import read_frame, scores_by_document
from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.board import judging_specs
from truebench_hf.benchmarks.truebench.results import form, judgments, made_by, read_each
from truebench_hf.benchmarks.truebench.results import read_frames as read_run
from truebench_hf.benchmarks.truebench.scores import response_values, rule
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Form
from truebench_hf.errors import UserError
from truebench_hf.models.spec import family
from truebench_hf.results.finished import Finished, JudgedKind, judged_with_scores, model_runs, one_model
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import VerdictFrames

if TYPE_CHECKING:
    from pandas import DataFrame

TICK = "tick"


class _TrueBench(JudgedKind):
    """Runs that may be a file of their own, of the official form too."""

    def file(self, path: Path) -> Path:
        return judgments(path)

    def form(self, path: Path) -> Form:
        return form(path)

    def each(self, path: Path) -> Iterable[tuple[Judged, str]]:
        return read_each(path)

    def frames(self, path: Path) -> VerdictFrames:
        return read_run(path)

    def model_runs(self, rows: DataFrame) -> Iterable[DataFrame]:
        """By judge, too; of a response that stands twice the last row counts, at the place of the first."""
        keys = ["instance", "sample"]
        for _, of_run in rows.groupby(["model", "judge"], sort=False, observed=True):
            last = of_run.drop_duplicates(keys, keep="last").set_index(keys)
            yield last.loc[of_run.drop_duplicates(keys).set_index(keys).index].reset_index()


def _documents(results: Results, frames: VerdictFrames) -> Any:
    by_id = scores_by_document(read_frame(results.path))
    return frames.responses["instance"].map(by_id.get).astype(float).to_numpy()


KINDS = {
    kind.name: kind
    for kind in (
        _TrueBench(TRUEBENCH, "instances passed", lambda of, frames: response_values(frames)[rule(of.settings)].to_numpy()),
        JudgedKind(FACTS, "final score of an answer, mean over judges", _documents, has_criteria=False),
        JudgedKind(TICK, "pass rate of a checklist", lambda of, frames: response_values(frames)["criterion_share"].to_numpy()),
    )
}  # fmt: skip


def read(where: str, model: str | None = None) -> Finished:
    """The run in a folder (or in a file of judged instances); of a study of several models the one named.

    Raises UserError as `read_all`, and where the model is not to be told.
    """
    return one_model(where, read_all(where), model)


def read_all(where: str) -> list[Finished]:
    """Every model's run in a folder, or in a file of judged instances.

    Raises UserError where there is none, where it is not finished, or of a kind that does not score instance by instance.
    """
    return model_runs(*_opened(where))


def rows_of(where: str) -> tuple[JudgedKind, Results, list[tuple[Judged, float | None]]]:
    """The kind, the folder, and every judged response with its score, the last of those that stand twice.

    Raises UserError as `read_all`.
    """
    results, kind = _opened(where)
    rows = judged_with_scores(results, kind)
    if kind.name == TRUEBENCH:
        rows = list({(item.response.model, item.key): (item, score) for item, score in rows}.values())
    return kind, results, rows


def _opened(where: str) -> tuple[Results, JudgedKind]:
    """A finished run, and its kind."""
    path = Path(where)
    results = Results(path, made_by(path).info) if path.exists() and not path.is_dir() else Results.open(where)
    name = results.kind or TRUEBENCH
    if name not in KINDS:
        raise UserError(f"{where}: is a study of kind {name}; runs of kind {', '.join(KINDS)} score their instances")
    results.check_finished()
    return results, KINDS[name]


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
