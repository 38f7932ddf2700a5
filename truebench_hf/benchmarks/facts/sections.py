"""What the report of a run shows, in order: scores, what disqualification changes, and every answer in pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.facts.graded import Graded
from truebench_hf.benchmarks.facts.options import UNJUDGED
from truebench_hf.benchmarks.facts.scores import Both, Cell, GroundingScores
from truebench_hf.data.judged import Judged, Marked, sample_name
from truebench_hf.judging.grounding.classifier import CLASSIFIER
from truebench_hf.judging.grounding.types import TEMPLATES
from truebench_hf.models.spec import family
from truebench_hf.report.conversation import conversation, highlighted
from truebench_hf.report.repeated import repeated
from truebench_hf.report.sections import Cells, Conversations, Grid, Scores, Section, interval, percent, value
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Score

_SHOWN = 1  # answers whose pieces the terminal shows; the page has them all
_REASONS = 5
_COLUMNS = {"domain": "Domain", "task": "Task", "length": "Document length (tokens)", "language": "Language"}


def sections(
    scores: GroundingScores, done: Sequence[Graded], judged: Sequence[Judged], made: Mapping[str, Any],
    several: Mapping[str, Score],
) -> list[Section]:  # fmt: skip
    """Everything a report shows."""
    whole, eligibility = scores.all, made["eligibility_judged"]
    names = ("Final", "Unadjusted") if eligibility else ("Unadjusted",)
    means = {"Final": whole.mean.final, "Unadjusted": whole.mean.unadjusted}
    note = (
        "95 % intervals: Wilson; where documents have several judges or answers, from how documents differ, and none from "
        "fewer than ten."
    )
    shown: list[Section] = [Scores("", {name: means[name] for name in names}, headline=True, note=note)]
    shown += [repeated(several, "Repeated samples, passed by every judge")] if several else []
    shown.append(_by_judge(whole, done, made))
    shown += [_split(name, cell, made) for name, cell in scores.splits.items() if len(scores.splits) > 1]
    for column, cells in scores.by.items():
        base, mark, more = column.partition(" (")  # domain (classified): a model's word, not the data's
        shown.append(_grouped(_COLUMNS.get(base, base) + mark + more, cells, eligibility))
    if undecided := [(one.name(bool(several)), one.undecided[:160]) for one in done if one.undecided]:
        title = f"Undecided: {len(undecided)} of {len(done)} answers, left out where nothing was settled"
        more = f"And {len(undecided) - _REASONS} more, in scores.json." if len(undecided) > _REASONS else ""
        shown.append(Grid(title, (), tuple(undecided[:_REASONS]), note=more, prose=(1,)))
    shown += _examples(judged, bool(several))
    rows = tuple(
        conversation(replace(item, marked=_telling(item.marked)), item.passed, bool(several)) for item in judged
    )
    about = (
        "Passed: every judge finds the answer grounded, and it is eligible. In pieces as the first judge sees it, and as "
        "those do who object; the Space shows what all of them see."
    )
    return [*shown, Conversations("Answers", rows, about)]


def lead(made: Mapping[str, Any]) -> str:
    """Who was judged by whom, in a line."""
    return f"{made['model']} judged by {', '.join(made['judges'])}"


def facts(made: Mapping[str, Any]) -> dict[str, object]:
    """What was run."""
    asked = (f"{name} ({one['template']}, eligibility {one['eligibility']})" for name, one in made["judges"].items())
    return {"Model": made["model"], "Judges": "; ".join(asked), "Baseline": made["baseline"]["name"]} | (
        {"Answers": Path(made["answers"]).name} if made.get("answers") else {}
    )


def notes(done: Sequence[Graded], made: Mapping[str, Any]) -> list[str]:
    """What a reader has to know."""
    said = []
    if not made["eligibility_judged"]:
        said.append("Eligibility was not judged: an evasive answer counts as accurate where it is grounded.")
    if own := sum(one.itself for one in done):
        said.append(
            f"{own} of {len(done)} answers are their own baseline, word for word: nobody judged whether they are eligible."
        )
    if failed := sum(one.response.error is not None for one in done):
        said.append(f"{failed} of {len(done)} answers could not be had: undecided, never inaccurate.")
    if bare := sum(not one.item.document for one in done):
        said.append(
            f"{bare} of {len(done)} answers rest on no passages: retrieval found none, and the request is all evidence."
        )
    if cut := sum(bool(one.response.truncated) for one in done):
        said.append(f"{cut} of {len(done)} answers were cut off at the token limit and judged as they stand.")
    if untraced := sum(unit.untraced for one in done for verdict in one.grounding.values() for unit in verdict.units):
        said.append(f"Sentences called supported without an excerpt that is found in the prompt: {untraced}.")
    judges = made["judges"].items()
    rating = [name for name, how in judges if how["eligibility"] != UNJUDGED]
    if rating and len(rating) < len(made["judges"]):
        said.append(f"Eligibility is judged by {len(rating)} of {len(made['judges'])} judges: classifiers rate none.")
    said += [
        f"{name} counts a sentence as supported from 0.5 on, which is a guess: `facts select-template` fits it on labels."
        for name, how in judges
        if how["template"] == CLASSIFIER and "threshold" not in how
    ]
    names = [name.rpartition("#")[0] or name for name in made["judges"]]
    if len(set(names)) < len(names):
        said.append("Several judges are one: one model is asked in several ways, which are no independent opinions.")
    if family(made["model"]) in set(map(family, names)):
        said.append("A judge belongs to the family of the model, which favours it.")
    return [*said, *weak_judges(made["judges"])]


def _by_judge(cell: Cell, done: Sequence[Graded], made: Mapping[str, Any]) -> Grid:
    eligibility = made["eligibility_judged"]
    rows: list[Cells] = []
    for name, both in cell.judges.items():
        how = made["judges"][name]
        template = TEMPLATES[how["template"]].paper if how["template"] in TEMPLATES else how["template"]
        missing = sum(one.grounding[name].accurate is None for one in done)
        rated = _rated(name, done) if how["eligibility"] != UNJUDGED else ("", "")
        rows.append((name, template, *_both(both, eligibility), missing or "", *(rated if eligibility else ())))
    if len(rows) > 1:
        last = (cell.ineligible, "") if eligibility else ()
        rows.append(("mean", "", *_both(cell.mean, eligibility), "", *last))
    header = ("Judge", "template", *_columns(eligibility), "undecided")
    if not eligibility:
        return Grid("By judge", header, tuple(rows))
    effect = cell.mean.effect
    told = "" if effect is None else f" Disqualification changes the mean by {percent(effect)} points."
    note = f"Ineligible, since every judge finds major issues: {cell.ineligible} of {cell.answers} answers.{told}"
    return Grid("By judge", (*header, "major issues", "unrated"), tuple(rows), note=note)


def _rated(name: str, done: Sequence[Graded]) -> Cells:
    """How many answers have major issues by a judge, and how many it left open."""
    ratings = [one.ratings[name].rating for one in done if name in one.ratings and not one.itself]
    return ratings.count("major"), ratings.count(None) or ""


def _columns(eligibility: bool) -> tuple[str, ...]:
    """The headings of what `_both` shows: where eligibility is not judged, final and unadjusted scores are the same."""
    return ("unadjusted", "95 % interval", *(("final", "95 % interval") if eligibility else ()))


def _both(both: Both, eligibility: bool) -> Cells:
    shown = (both.unadjusted, both.final) if eligibility else (both.unadjusted,)
    return tuple(text for score in shown for text in (value(score), interval(score)))


def _split(name: str, cell: Cell, made: Mapping[str, Any]) -> Grid:
    eligibility = made["eligibility_judged"]
    rows = [(judge, *_both(both, eligibility)) for judge, both in (*cell.judges.items(), ("mean", cell.mean))]
    note = f"{cell.answers} answers{f', {cell.ineligible} of them ineligible' if eligibility else ''}."
    return Grid(
        f"Split {name}", ("Judge", *_columns(eligibility)), tuple(rows if len(rows) > 2 else rows[:1]), note=note
    )


def _grouped(title: str, cells: Mapping[str, Cell], eligibility: bool) -> Section:
    return Scores(
        title, {name: cell.mean.final if eligibility else cell.mean.unadjusted for name, cell in cells.items()}
    )


def _telling(marked: Sequence[Marked]) -> tuple[Marked, ...]:
    """What the page has room for at thousands of answers: the first judge, and those who are not content."""
    tones = [{mark.tone for mark in one.marks} for one in marked]
    return tuple(one for place, one in enumerate(marked) if not place or tones[place] & {"no", "open"})


def _examples(judged: Sequence[Judged], several: bool) -> list[Section]:
    """The first answers in which a judge found something that is not grounded, piece by piece."""
    found: list[Section] = []
    for item in judged:
        for marked in item.marked:
            if any(mark.tone == "no" for mark in marked.marks):
                found.append(highlighted(marked, f"Not grounded: {sample_name(*item.key, beside=several)}"))
                break
        if len(found) == _SHOWN:
            break
    return found
