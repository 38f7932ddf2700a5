"""Models ranked over judges and splits, what disqualification moves, and whom judges prefer (paper 002, section 4), with
the tables of scores that the paper printed.

Finished runs are put together first: judged alike, and on the same documents, or an error says what differs. Their
verdicts are one frame then, and every figure is an estimate on its groups.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.facts.report import ANSWERS, FINAL, INELIGIBLE, UNADJUSTED
from truebench_hf.benchmarks.facts.scores import (
    KIND,
    MEAN,
    MEASURES,
    in_order,
    judge_scores,
    read_frame,
    scores_by_document,
    scores_by_judge,
)  # fmt: skip
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.pass_rate import joint_mean
from truebench_hf.metrics.ranks import FusedRank, fused_rank, rank_spans, self_preference, self_preference_over
from truebench_hf.models.spec import family
from truebench_hf.report.table import PUBLISHED, Column, Part, Table, paper_rows
from truebench_hf.results.folder import Results
from truebench_hf.study.outcome import Outcome
from truebench_hf.text.terminal import how_many, shortened
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

WHOLE = "all answers"  # the name of the only split, where the data names none


@dataclass(frozen=True)
class RankTable:
    """All models. `places` has a row each, the best first: the fused `rank` by `final` scores and `rank_unadjusted`, the
    means over judges and splits, the `span` of ranks that chance leaves open. `scores` has the rows of `judge_scores` by
    model and split, `preferences` a row per judge with models of its own: `by` the same spec, or else its family. `fused`
    says which ties and rings there were, by final scores. `judging` is how all of them were judged, as run.json has it;
    `left_out` are splits that some model lacks."""

    places: list[dict[str, Any]]
    scores: DataFrame = field(repr=False)
    preferences: list[dict[str, Any]]
    fused: FusedRank
    judging: Mapping[str, Any]
    splits: tuple[str, ...]
    left_out: tuple[str, ...]


def rank(folders: Sequence[str]) -> RankTable:
    """Rank the models of finished runs; `truebench facts rank` as a Python call. Raises UserError as `join` does."""
    frame, judging, left_out = join(folders)
    models, splits = list(frame["model"].cat.categories), tuple(frame["split"].cat.categories)
    parts = {key: rows for key, rows in frame.groupby(["model", "split"], observed=True)}  # noqa: C416  # a frame each
    scores = judge_scores(frame, ["model", "split"]).astype({"model": object, "split": object})
    by_judge, over_judges = (
        scores[rows].groupby("model", sort=False) for rows in (scores["judge"] != MEAN, scores["judge"] == MEAN)
    )
    fused = {
        measure: fused_rank({model: [s.value for s in rows[measure]] for model, rows in by_judge})
        for measure in MEASURES
    }
    places: list[dict[str, Any]] = []
    results = {}
    for model, rows in over_judges:
        final, unadjusted = (joint_mean(rows[name].tolist()) for name in ("final", "unadjusted"))
        now, before = fused["final"].ranks[model], fused["unadjusted"].ranks[model]
        moved = "-" if now is None or before is None else f"{before - now:+d}" if before != now else "0"
        places.append({
            "rank": now, "model": model, "final": final, "unadjusted": unadjusted, "rank_unadjusted": before,
            "effect": None if final.value is None or unadjusted.value is None else final.value - unadjusted.value, "moved": moved,
            "ineligible": int(rows["ineligible"].sum()), "answers": int(rows["answers"].sum()),
        })  # fmt: skip
        documents = [(split, scores_by_document(parts[model, split])) for split in splits]
        results[model] = {(split, name): score for split, part in documents for name, score in part.items()}
    spans = rank_spans({row["model"]: row["final"] for row in places}, results)
    places = [row | {"span": str(spans[row["model"]]) if row["rank"] else "-"} for row in places]
    places.sort(key=lambda row: (row["rank"] is None, row["rank"] or 0, -(row["final"].value or 0)))
    judges = judging["judges"] if len(judging["judges"]) > 1 else ()
    preferences = [row for judge in judges if (row := _preference(parts, models, splits, judge))]
    return RankTable(places, scores, preferences, fused["final"], judging, splits, left_out)


def _preference(
    parts: Mapping[Any, DataFrame], models: Sequence[str], splits: Sequence[str], judge: str
) -> dict[str, Any] | None:
    """The row of a judge; None where no ranked model is its own, or none is another's."""
    spec = re.sub(r"#\d+\Z", "", judge)  # a judge's name is numbered where one is named more than once
    same = tuple(model for model in models if model == spec)
    own = same or tuple(model for model in models if family(model) == family(spec))
    if not own or len(own) == len(models):
        return None
    row: dict[str, Any] = {"judge": judge, "own": ", ".join(own), "by": "model" if same else "family"}
    for measure in MEASURES:
        samples = [{model: scores_by_judge(parts[model, split], measure) for model in models} for split in splits]
        effect = self_preference_over(samples, judge, own)
        row |= {"to_own": effect.own, "to_others": effect.others}  # in the end by final scores
        row[measure] = Score(effect.preference, 0, 0, effect.ci95)
    return row


def join(folders: Sequence[str]) -> tuple[DataFrame, Mapping[str, Any], tuple[str, ...]]:
    """Put the runs in these folders together: a frame as of `verdict_frame`, and its `model`; how all of them were judged;
    splits that some model lacks. One model's splits may lie in several folders.

    Raises UserError, in one line, on a folder without a finished run, on runs that were judged otherwise or compared
    with another baseline than the first, on splits of one name and other documents, and on a split that stands twice.
    """
    import pandas as pd

    if not folders:
        raise UserError("no run folders: name those of `truebench facts run`")
    runs = {folder: _read(folder) for folder in folders}
    first, (wanted, _) = next(iter(runs.items()))
    frames: dict[tuple[str, str], DataFrame] = {}
    hashes: dict[str, tuple[str, str]] = {}
    for folder, (judging, frame) in runs.items():
        _check_alike(folder, judging, first, wanted)
        model, documents = judging["model"], judging["documents"]
        named = {split: documents[split] for split in dict.fromkeys(frame["split"]) if split} or {WHOLE: documents[""]}
        for split, sha256 in named.items():
            if (model, split) in frames:
                raise UserError(f"{folder}: {model} has a run on {split} already; name one of the two")
            where, known = hashes.setdefault(split, (folder, sha256))
            if known != sha256:
                raise UserError(f"{folder}: its {split} holds other documents or requests than that of {where}")
            rows = frame if split == WHOLE else frame[frame["split"] == split]
            frames[model, split] = rows.assign(model=model, split=split)
    models = dict.fromkeys(model for model, _ in frames)
    shared = [split for split in hashes if all((model, split) in frames for model in models)]
    if not shared:
        raise UserError(f"no split is there for every model: there are {', '.join(hashes)}; run the models on the same")
    together = pd.concat([frames[model, split] for model in models for split in shared], ignore_index=True)
    orders = {name: in_order(together[name].astype(object)) for name in ("model", "split", "judge")}
    return together.assign(**orders), wanted, tuple(split for split in hashes if split not in shared)


def _read(folder: str) -> tuple[Mapping[str, Any], DataFrame]:
    """(how a finished run was judged, its verdicts)."""
    run = Results.open(folder)
    if run.kind != KIND:
        raise UserError(f"{folder}: holds a study of kind {run.kind}; give the --out of `truebench facts run`")
    run.check_finished()
    judging = run.info.get("judging")
    if not isinstance(judging, dict) or {"model", "judges", "baseline", "documents"} - set(judging):
        raise UserError(f"{folder}: run.json does not say how it was judged; repeat the run's command")
    return judging, read_frame(run.path)


def _check_alike(folder: str, run: Mapping[str, Any], first: str, wanted: Mapping[str, Any]) -> None:
    """Raise UserError on the first thing in which a run's judging differs from that of the first run."""
    ours, theirs = _terms(run), _terms(wanted)
    if other := [name for name in theirs | ours if ours.get(name) != theirs.get(name)]:
        now, before = (shortened(side.get(other[0], "none"), 60) for side in (ours, theirs))
        raise UserError(f"{folder}: {other[0]}: {now}, in {first} {before}; join runs that were judged alike")


def _terms(judging: Mapping[str, Any]) -> dict[str, str]:
    """What two runs must have in common, by name. Baseline answers of one hash are the same, wherever they lay."""
    terms = {
        f"the {field} of judge {judge}": json.dumps(value, ensure_ascii=False, sort_keys=True)
        for judge, how in judging["judges"].items() for field, value in how.items() if value is not None
    }  # fmt: skip
    baseline = judging["baseline"]
    return terms | {"the baseline": baseline.get("sha256") or canonical(baseline)}


_SHOWN: tuple[Part, ...] = ("value", "interval")
_PLACES = (
    Column("rank", "Rank", "count", "Fused over judges and splits by Condorcet's method; none where a judge decided nothing."),
    Column("model", "Model"), FINAL, Column("span", "span", about="The ranks that chance leaves open, by differences answer by answer."),
    Column("unadjusted", "unadjusted", "score", UNADJUSTED.about, drawn=True, minor=1),
    Column("effect", "drop", "number", "What disqualification changes the score by.", "points", minor=2),
    Column("rank_unadjusted", "rank unadjusted", "count", "The fused rank by unadjusted scores.", minor=3),
    Column("moved", "moved", about="Ranks won (+) or lost (-) by disqualification.", minor=2), INELIGIBLE, ANSWERS,
)  # fmt: skip
_PREFERENCES = (
    Column("judge", "Judge"), Column("own", "its own models"), Column("by", "matched by", minor=2),
    Column("to_own", "to its own", "number", "Points beyond the mean of the other judges, to its own models.", "points", minor=1),
    Column("to_others", "to others", "number", "The same, to all other models.", "points", minor=1),
    Column("final", "preference", "score", "The difference of the two, by final scores.", "points", parts=_SHOWN),
    Column("unadjusted", "unadjusted", "score", "The same by unadjusted scores.", "points", parts=("value",)),
)  # fmt: skip


def tables(ranking: RankTable) -> list[Table]:
    """Return everything a ranking shows, in order."""
    by_judge = (Column("model", "Model"), Column("split", "split"), Column("judge", "Judge"))
    order = {row["model"]: place for place, row in enumerate(ranking.places)}
    scores = ranking.scores.sort_values("model", key=lambda models: models.map(order), kind="stable")
    judges = ", ".join(f"{name} ({how.get('template', '?')})" for name, how in ranking.judging["judges"].items())
    lead = f"{how_many(len(ranking.places), 'model')} on {', '.join(ranking.splits)}, judged by {judges}."
    sections = [
        Table("models", _PLACES, ranking.places, "Ranks", f"{lead} Scores are means over judges and splits.", keys=2),
        Table.of_frame("scores", scores, (*by_judge, FINAL, UNADJUSTED, INELIGIBLE, ANSWERS),
                       title="Scores by split and judge", keys=3, printed=False),
    ]  # fmt: skip
    if rows := list(ranking.preferences):
        means: dict[str, Any] = {name: Score(mean_of(*(row[name].value for row in rows)), 0) for name in MEASURES}
        rows += [{"judge": MEAN, **means}] if len(rows) > 1 else []
        rows += published_self_preference()
        note = "The paper does not say how its figure was formed."
        sections.append(Table("self_preference", _PREFERENCES, rows, "Self-preference of judges", note))
    return sections


def notes(ranking: RankTable) -> list[str]:
    """Return what the ranks rest on, and what is not in them."""
    fused = ranking.fused
    tied = "; ".join(f"{model} above {other}" for model, other in fused.tied)
    missing = ", ".join(row["model"] for row in ranking.places if row["rank"] is None)
    unscored = sum(row["final"].unscored for row in ranking.places)
    alone = len(ranking.judging["judges"]) * len(ranking.splits) == 1
    return [
        *([f"Not ranked on {', '.join(ranking.left_out)}, which some models lack."] if ranking.left_out else []),
        *([f"Pairs that win equally many rankings, told apart by the mean score alone: {tied}."] if tied else []),
        *(f"{', '.join(cycle)} form a Condorcet cycle, so that no order is right for all pairs; Schulze's method orders them."
          for cycle in fused.cycles),
        *([f"Without a rank, since a judge decided nothing there: {missing}."] if missing else []),
        *(["With one judge and one split the fused rank is the order of the scores."] if alone else []),
        *([f"Answers that no judge decided, left out of the means: {unscored}."] if unscored else []),
    ]  # fmt: skip


def outcome(ranking: RankTable) -> Outcome[RankTable]:
    """Return what a ranking shows, and writes: the records of the tables, and what they are made of."""
    sections = tables(ranking)
    figures = {table.name: table.records() for table in sections} | {
        "tied": list(ranking.fused.tied), "cycles": list(ranking.fused.cycles), "judges": ranking.judging["judges"],
        "baseline": ranking.judging["baseline"], "splits": list(ranking.splits), "left_out": list(ranking.left_out),
    }  # fmt: skip
    items = {"rank.json": figures}
    return Outcome(ranking, title="FACTS Grounding: ranking", tables=sections, notes=notes(ranking), items=items)


# The tables printed in the paper, as reference rows; always shown as the paper's.
BEFORE, AFTER = "facts_table5", "facts_table6"  # scores before and after disqualification
JUDGES = ("Gemini 1.5 Pro", "GPT-4o", "Claude 3.5 Sonnet")
SPLITS = {"Open": 860, "Blind": 859}  # prompts of each
REPORTED_SELF_PREFERENCE = 3.23  # section 4, "mean increase"; how it was formed is not said


def paper_scores(table: str) -> dict[str, dict[tuple[str, str], float]]:
    """Return the scores of table 5 or 6, in percent, by model, and by (split, judge)."""
    columns = [(split, judge) for split in SPLITS for judge in JUDGES]
    rows = paper_rows("facts", table)
    return {row["Response Model"]: {key: row["/".join(key)] for key in columns} for row in rows}


def published_self_preference() -> list[dict[str, Any]]:
    """Return the paper's rows of a table of self-preference: as we form it of its tables, and as it reports it.

    A judge's own model is the one of its name, the others are the eight other models.
    """
    ours: dict[str, Any] = {"judge": "ours, on its tables 6 and 5", "by": "model", PUBLISHED: True}
    for measure, table in (("final", AFTER), ("unadjusted", BEFORE)):
        scores: dict[str, dict[str, float | None]] = {
            model: {judge: fmean(row[split, judge] for split in SPLITS) for judge in JUDGES}
            for model, row in paper_scores(table).items()
        }
        preference = fmean(self_preference(scores, judge, [judge]).preference or 0.0 for judge in JUDGES)
        ours[measure] = Score(preference / 100, 0)
    return [ours, {"judge": "as it reports it", "final": Score(REPORTED_SELF_PREFERENCE / 100, 0), PUBLISHED: True}]
