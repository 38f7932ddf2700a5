"""Models ranked over judges and splits, what disqualification moves, and whom judges prefer (paper 002, section 4).

Finished runs are put together first: judged alike, and on the same documents, or an error says what differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import hypot
from pathlib import Path
from typing import Any, Literal

from truebench_hf.benchmarks.facts.scores import KIND, Both, Cell
from truebench_hf.data import jsonl
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.ranks import (
    Entrant,
    FusedRank,
    RankSpan,
    SelfPreference,
    fused_rank,
    rank_spans,
    self_preference,
    self_preference_over,
)
from truebench_hf.metrics.repeated import mean
from truebench_hf.models.spec import family
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Score

Measure = Literal["unadjusted", "final"]
MEASURES: tuple[Measure, ...] = ("unadjusted", "final")
WHOLE = "all answers"  # the name of the only split, where the data names none
_ACCURATE = {"yes": 1.0, "no": 0.0}


@dataclass(frozen=True)
class Split:
    """What one model got on one split: the hash of its documents, and its scores.

    `by_document` is the final score (0..1, mean over judges) of the answers to every document, their mean over those
    that no judge left open, None where all are; `by_judge` is what each judge gave, by measure, judge and document.
    """

    sha256: str
    cell: Cell
    by_document: Mapping[str, float | None] = field(default_factory=dict, repr=False)
    by_judge: Mapping[Measure, Mapping[str, Mapping[str, float | None]]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class JoinedRuns:
    """The scores of every model by split; `judges` as all runs asked them, `left_out` are splits that some model lacks."""

    models: Mapping[str, Mapping[str, Split]]
    judges: Mapping[str, Mapping[str, Any]]
    baseline: Mapping[str, Any]
    left_out: tuple[str, ...]

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that all models have, in the order of the first run."""
        return tuple(next(iter(self.models.values())))


@dataclass(frozen=True)
class Standing:
    """A model's place. `mean` is over judges and splits, `span` the ranks that chance leaves open; `fused` is the
    fused rank by final scores, `fused_unadjusted` that by unadjusted ones."""

    model: str
    splits: Mapping[str, Cell]
    mean: Both
    fused: int | None
    fused_unadjusted: int | None
    span: RankSpan

    @property
    def moved(self) -> int | None:
        """How many ranks disqualification moves it: above 0 up, below 0 down."""
        return None if self.fused is None or self.fused_unadjusted is None else self.fused_unadjusted - self.fused


@dataclass(frozen=True)
class Preference:
    """A judge's preference for its own models: the same spec, or else what its family shows (`by`)."""

    judge: str
    own: tuple[str, ...]
    by: Literal["model", "family"]
    unadjusted: SelfPreference
    final: SelfPreference


@dataclass(frozen=True)
class Ranking:
    """All models, the best first. `fused` says which ties and rings there were, by final scores."""

    standings: tuple[Standing, ...]
    preferences: tuple[Preference, ...]
    fused: FusedRank
    joined: JoinedRuns


def rank(folders: Sequence[str]) -> Ranking:
    """Rank the models of finished runs; `truebench facts rank` as a Python call. Raises UserError as `join` does."""
    joined = join(folders)
    fused = {measure: fused_rank(_columns(joined, measure)) for measure in MEASURES}
    means = {model: Both(*(_mean(splits, measure) for measure in MEASURES)) for model, splits in joined.models.items()}
    results = {
        model: {
            (name, document): score for name, split in splits.items() for document, score in split.by_document.items()
        }
        for model, splits in joined.models.items()
    }
    spans = rank_spans({model: Entrant(both.final, results[model]) for model, both in means.items()})
    standings = [
        Standing(
            model, {name: split.cell for name, split in splits.items()}, means[model], fused["final"].ranks[model],
            fused["unadjusted"].ranks[model], spans[model],
        )
        for model, splits in joined.models.items()
    ]  # fmt: skip
    standings.sort(
        key=lambda standing: (standing.fused is None, standing.fused or 0, -(standing.mean.final.value or 0))
    )
    preferences = tuple(preference for judge in joined.judges if (preference := _preference(joined, judge)))
    return Ranking(tuple(standings), preferences, fused["final"], joined)


def join(folders: Sequence[str]) -> JoinedRuns:
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
    for folder, (run, cells) in runs.items():
        _check_alike(folder, run, first, runs[first][0])
        own = models.setdefault(run["model"], {})
        for name, (sha256, cell) in cells.items():
            if name in own:
                raise UserError(f"{folder}: {run['model']} has a run on {name} already; name one of the two")
            where, known = hashes.setdefault(name, (folder, sha256))
            if known != sha256:
                raise UserError(f"{folder}: its {name} holds other documents or requests than that of {where}")
            part = "" if name == WHOLE else name
            own[name] = Split(sha256, cell, scores_by_document(Path(folder), part), scores_by_judge(Path(folder), part))
    shared = [name for name in hashes if all(name in own for own in models.values())]
    if not shared:
        raise UserError(f"no split is there for every model: there are {', '.join(hashes)}; run the models on the same")
    common = {model: {name: own[name] for name in shared} for model, own in models.items()}
    run = runs[first][0]
    return JoinedRuns(common, run["judges"], run["baseline"], tuple(name for name in hashes if name not in shared))


def scores_by_document(folder: Path, split: str = "") -> dict[str, float | None]:
    """The final score of every document (of a split), {} where the folder does not hold its verdicts. Raises UserError."""
    scores: dict[str, list[float | None]] = {}  # answers to one document are no further documents
    for document, ineligible, labels in _verdicts(folder, split):
        value = 0.0 if ineligible else mean_of(*(_ACCURATE.get(label or "") for label in labels.values()))
        scores.setdefault(document, []).append(value)
    return {document: mean(values) for document, values in scores.items()}


def scores_by_judge(folder: Path, split: str = "") -> dict[Measure, dict[str, dict[str, float | None]]]:
    """What each judge gave the answers to every document; {} without verdicts. Raises UserError."""
    samples: dict[Measure, dict[str, dict[str, list[float | None]]]] = {}
    for document, ineligible, labels in _verdicts(folder, split):
        for judge, label in labels.items():
            unadjusted = _ACCURATE.get(label or "")
            for measure, value in zip(MEASURES, (unadjusted, 0.0 if ineligible else unadjusted), strict=True):
                samples.setdefault(measure, {}).setdefault(judge, {}).setdefault(document, []).append(value)
    return {
        measure: {judge: {name: mean(values) for name, values in own.items()} for judge, own in judges.items()}
        for measure, judges in samples.items()
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


def _read(folder: str) -> tuple[dict[str, Any], dict[str, tuple[str, Cell]]]:
    """(the scores of a finished run, the hash and the scores of each split; where the data names none, of all answers)."""
    from pydantic import TypeAdapter

    path = Path(folder)
    info = read_info(path) if path.is_dir() else {}
    if info.get("kind") != KIND:
        what = f"holds a study of kind {info['kind']}" if info.get("kind") else "is no run folder"
        raise UserError(f"{folder}: {what}; give the --out of `truebench facts run`")
    try:
        run = json.loads((path / "scores.json").read_text(encoding="utf-8"))
        cells = TypeAdapter(dict[str, Cell]).validate_python(run["splits"] or {WHOLE: run["scores"]["all"]})
        hashes = run["data"]["splits"] if run["splits"] else {WHOLE: run["data"]["sha256"]}
        run_cells = (
            {name: run[name] for name in ("model", "judges", "baseline")},
            {n: (hashes[n], cells[n]) for n in cells},
        )
    except FileNotFoundError as error:
        raise UserError(f"{folder}: has no scores yet; repeat its command, which goes on where it was") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        why = " ".join(str(error).split())[:200]
        raise UserError(
            f"{folder}: scores.json cannot be read ({type(error).__name__}: {why}); repeat the run's command"
        ) from error
    if not info.get("sessions") or not info["sessions"][-1].get("finished"):
        raise UserError(f"{folder}: the run is not finished; repeat its command, which goes on where it was")
    return run_cells


def _check_alike(folder: str, run: Mapping[str, Any], first: str, wanted: Mapping[str, Any]) -> None:
    """Raise UserError on the first thing in which a run's judging differs from that of the first run."""
    theirs, ours = wanted["judges"], run["judges"]
    if set(theirs) != set(ours):
        ours, theirs = (", ".join(judges) or "nobody" for judges in (ours, theirs))
        raise UserError(f"{folder}: is judged by {ours}, {first} by {theirs}; join runs of equal judges")
    for judge, how in theirs.items():
        for name in dict.fromkeys([*how, *ours[judge]]):
            before, now = (json.dumps(side.get(name), ensure_ascii=False) for side in (how, ours[judge]))
            if before != now:
                before, now = (
                    f"other prompts ({shortened(text, 60)})" if name == "prompts" else f"{name} {shortened(text, 60)}"
                    for text in (before, now)
                )
                raise UserError(f"{folder}: judge {judge} has {now}, in {first} {before}")
    # The same are answers with one hash, wherever they lay, or else the model that gives them.
    before, now = wanted["baseline"], run["baseline"]
    if (before.get("sha256") or before) != (now.get("sha256") or now):
        before, now = (
            f"{base.get('name')}{' (SHA-256 ' + base['sha256'][:8] + ')' if base.get('sha256') else ''}"
            for base in (before, now)
        )
        raise UserError(
            f"{folder}: answers are compared with {now}, in {first} with {before}; join runs of one baseline"
        )


def _columns(joined: JoinedRuns, measure: Measure) -> dict[str, list[float | None]]:
    """A model's score per split and judge: the rankings that are fused."""
    return {
        model: [
            getattr(split.cell.judges[judge], measure).value for split in splits.values() for judge in joined.judges
        ]
        for model, splits in joined.models.items()
    }


def _mean(splits: Mapping[str, Split], measure: Measure) -> Score:
    """The mean of a model's judge scores over its splits, as the paper's average; splits are independent samples.

    The interval is put together from those of the splits (Zou and Donner 2008).
    """
    scores: list[Score] = [getattr(split.cell.mean, measure) for split in splits.values()]
    value = mean_of(*(score.value for score in scores))
    n, unscored = sum(score.n for score in scores), sum(score.unscored for score in scores)
    if value is None or any(score.ci95 is None for score in scores):
        return Score(value, n, unscored)
    parts = [(score.value or 0.0, *(score.ci95 or (0.0, 0.0))) for score in scores]
    below, above = (hypot(*(part[0] - part[side] for part in parts)) / len(parts) for side in (1, 2))
    return Score(value, n, unscored, (value - below, value + above))


def _preference(joined: JoinedRuns, judge: str) -> Preference | None:
    """None where no ranked model is the judge's own, or none is another's."""
    spec = re.sub(r"#\d+\Z", "", judge)  # a judge's name is numbered where one is named more than once
    same = tuple(model for model in joined.models if model == spec)
    own = same or tuple(model for model in joined.models if family(model) == family(spec))
    if not own or len(own) == len(joined.models) or len(joined.judges) == 1:
        return None
    effects = (_self_preference(joined, measure, judge, own) for measure in MEASURES)
    return Preference(judge, own, "model" if same else "family", *effects)


def _self_preference(joined: JoinedRuns, measure: Measure, judge: str, own: Sequence[str]) -> SelfPreference:
    """Answer by answer where all verdicts are there, else by the means over the splits alone."""
    if all(split.by_judge for splits in joined.models.values() for split in splits.values()):
        samples = [
            {model: splits[name].by_judge[measure] for model, splits in joined.models.items()} for name in joined.splits
        ]
        return self_preference_over(samples, judge, own)
    means = {
        model: {
            name: mean_of(*(getattr(split.cell.judges[name], measure).value for split in splits.values()))
            for name in joined.judges
        }
        for model, splits in joined.models.items()
    }
    return self_preference(means, judge, own)
