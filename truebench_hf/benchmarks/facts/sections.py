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
from truebench_hf.report.conversation import conversation
from truebench_hf.report.sections import Conversations, Highlighted, Scores, Section, percent, repeated
from truebench_hf.report.table import Column, Part, Table, pairs
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Score

_REASONS = 5  # of undecided answers that are shown
_COLUMNS = {"domain": "Domain", "task": "Task", "length": "Document length (tokens)", "language": "Language"}
_SHOWN: tuple[Part, ...] = ("value", "interval")
_UNADJUSTED = Column(
    "unadjusted", "unadjusted", "score", "Grounded answers, eligible or not.", parts=_SHOWN, drawn=True
)
_FINAL = Column("final", "final", "score", "Ineligible answers count as inaccurate.", parts=_SHOWN, drawn=True)
_JUDGE = Column("judge", "Judge")
_UNDECIDED = Column("undecided", "undecided", "count", "Answers on whose grounding the judge settled nothing.")
_ABOUT_CHECKABLE = "Of the sentences called supported, the share with an excerpt that is found in the prompt."
_CHECKABLE = Column("checkable", "checkable", "score", _ABOUT_CHECKABLE, parts=("value", "n"), minor=3)
_MAJOR = Column(
    "major", "major issues", "count", "Answers in which the judge, or all judges, find major issues.", minor=1
)
_UNRATED = Column("unrated", "unrated", "count", "Answers whose eligibility the judge left open.", minor=2)
_INELIGIBLE = Column("ineligible", "ineligible", "count", "Answers in which all judges find major issues.", minor=1)
_ANSWERS = Column("answers", "answers", "count", minor=1)


def sections(
    scores: GroundingScores, done: Sequence[Graded], judged: Sequence[Judged], provenance: Mapping[str, Any],
    repeats: Mapping[str, Score],
) -> list[Section]:  # fmt: skip
    """Everything a report shows."""
    overall, eligibility = scores.all, provenance["eligibility_judged"]
    means = {"Final": overall.mean.final} if eligibility else {}
    note = (
        "95 % intervals: Wilson; where documents have several judges or answers, from how documents differ, and none from "
        "fewer than ten."
    )
    parts: list[Section] = [Scores("", means | {"Unadjusted": overall.mean.unadjusted}, headline=True, note=note)]
    parts += [repeated(repeats, "Repeated samples, passed by every judge")] if repeats else []
    parts.append(_by_judge(overall, done, provenance))
    parts += [_by_split(scores.splits, eligibility)] if len(scores.splits) > 1 else []
    parts += [_by_group(scores.by, eligibility)] if scores.by else []
    if undecided := [(graded.name(bool(repeats)), graded.undecided[:160]) for graded in done if graded.undecided]:
        title = f"Undecided: {len(undecided)} of {len(done)} answers, left out where nothing was settled"
        more = f"And {len(undecided) - _REASONS} more, in scores.json." if len(undecided) > _REASONS else ""
        parts.append(pairs(title, undecided[:_REASONS], more))
    parts += _example(judged, bool(repeats))
    rows = tuple(
        conversation(replace(item, marked=_telling(item.marked)), item.passed, bool(repeats)) for item in judged
    )
    about = (
        "Passed: every judge finds the answer grounded, and it is eligible. In pieces as the first judge sees it, and as "
        "those do who object; the Space shows what all of them see."
    )
    return [*parts, Conversations("Answers", rows, about)]


def lead(provenance: Mapping[str, Any]) -> str:
    """Who was judged by whom, in a line."""
    return f"{provenance['model']} judged by {', '.join(provenance['judges'])}"


def facts(provenance: Mapping[str, Any]) -> dict[str, object]:
    """What was run."""
    judges = (
        f"{name} ({settings['template']}, eligibility {settings['eligibility']})"
        for name, settings in provenance["judges"].items()
    )
    return {"Model": provenance["model"], "Judges": "; ".join(judges), "Baseline": provenance["baseline"]["name"]} | (
        {"Answers": Path(provenance["answers"]).name} if provenance.get("answers") else {}
    )


def notes(done: Sequence[Graded], provenance: Mapping[str, Any]) -> list[str]:
    """What a reader has to know."""
    notes = []
    if not provenance["eligibility_judged"]:
        notes.append("Eligibility was not judged: an evasive answer counts as accurate where it is grounded.")
    if own := sum(graded.itself for graded in done):
        notes.append(
            f"{own} of {len(done)} answers are their own baseline, word for word: nobody judged whether they are eligible."
        )
    if failed := sum(graded.response.error is not None for graded in done):
        notes.append(f"{failed} of {len(done)} answers could not be had: undecided, never inaccurate.")
    if bare := sum(not graded.item.document for graded in done):
        notes.append(
            f"{bare} of {len(done)} answers rest on no passages: retrieval found none, and the request is all evidence."
        )
    if cut := sum(bool(graded.response.truncated) for graded in done):
        notes.append(f"{cut} of {len(done)} answers were cut off at the token limit and judged as they stand.")
    judges = provenance["judges"].items()
    rating = [name for name, how in judges if how["eligibility"] != UNJUDGED]
    if rating and len(rating) < len(provenance["judges"]):
        notes.append(
            f"Eligibility is judged by {len(rating)} of {len(provenance['judges'])} judges: classifiers rate none."
        )
    notes += [
        f"{name} counts a sentence as supported from 0.5 on, which is a guess: `facts select-template` fits it on labels."
        for name, how in judges
        if how["template"] == CLASSIFIER and "threshold" not in how
    ]
    names = [name.rpartition("#")[0] or name for name in provenance["judges"]]
    if len(set(names)) < len(names):
        notes.append("Several judges are one: one model is asked in several ways, which are no independent opinions.")
    if family(provenance["model"]) in set(map(family, names)):
        notes.append("A judge belongs to the family of the model, which favours it.")
    return [*notes, *weak_judges(provenance["judges"])]


def _by_judge(cell: Cell, done: Sequence[Graded], provenance: Mapping[str, Any]) -> Table:
    rows: list[dict[str, Any]] = []
    for name, both in cell.judges.items():
        how = provenance["judges"][name]
        template = TEMPLATES[how["template"]].paper if how["template"] in TEMPLATES else how["template"]
        undecided = sum(graded.grounding[name].accurate is None for graded in done)
        rows.append({"judge": name, "template": template, **_both(both), "undecided": undecided or None})
        rows[-1] |= {"checkable": _checkable(name, done)} if how["template"].startswith("json") else {}
        if how["eligibility"] != UNJUDGED:
            ratings = [graded.ratings[name].rating for graded in done if name in graded.ratings and not graded.itself]
            rows[-1] |= {"major": ratings.count("major"), "unrated": ratings.count(None) or None}
    if len(rows) > 1:
        rows.append({"judge": "mean", **_both(cell.mean), "major": cell.ineligible})
    columns = (_JUDGE, Column("template", "template", minor=1), *_columns(provenance["eligibility_judged"]), _UNDECIDED)
    columns += (_CHECKABLE,) if any(row.get("checkable") for row in rows) else ()
    if not provenance["eligibility_judged"]:
        return Table("judges", columns, rows, "By judge")
    effect = cell.mean.effect
    change = "" if effect is None else f" Disqualification changes the mean by {percent(effect)} points."
    note = f"Ineligible, since every judge finds major issues: {cell.ineligible} of {cell.answers} answers.{change}"
    return Table("judges", (*columns, _MAJOR, _UNRATED), rows, "By judge", note)


def _checkable(judge: str, done: Sequence[Graded]) -> Score | None:
    """How many of the sentences that a judge calls supported can be checked by their excerpts; None without any."""
    supported = [unit for graded in done for unit in graded.grounding[judge].units if unit.label == "supported"]
    traced = sum(not unit.untraced for unit in supported)
    return Score(traced / len(supported), len(supported)) if supported else None


def _by_split(splits: Mapping[str, Cell], eligibility: bool) -> Table:
    rows = [
        {"split": name, "judge": judge, **_both(both), "ineligible": cell.ineligible, "answers": cell.answers}
        for name, cell in splits.items()
        for judge, both in (*cell.judges.items(), *([("mean", cell.mean)] if len(cell.judges) > 1 else []))
    ]
    counts = (_INELIGIBLE, _ANSWERS) if eligibility else (_ANSWERS,)
    return Table(
        "splits", (Column("split", "Split"), _JUDGE, *_columns(eligibility), *counts), rows, "By split", keys=2
    )


def _by_group(by: Mapping[str, Mapping[str, Cell]], eligibility: bool) -> Table:
    rows = [
        {"by": titled(column, _COLUMNS), "group": name, **_both(cell.mean), "ineligible": cell.ineligible, "answers": cell.answers}
        for column, cells in by.items()
        for name, cell in cells.items()
    ]  # fmt: skip
    counts = (_INELIGIBLE, _ANSWERS) if eligibility else (_ANSWERS,)
    scores = [replace(column, parts=(*_SHOWN, "n", "unscored")) for column in _columns(eligibility)[-1:]]
    columns = (Column("by", "By"), Column("group", "Group"), *scores, *counts)
    return Table("groups", columns, rows, "By group, mean of the judges", keys=2)


def titled(column: str, titles: Mapping[str, str]) -> str:
    """The title of a column of the data; `domain (classified)` is a model's word, not the data's."""
    base, mark, more = column.partition(" (")
    return titles.get(base, base) + mark + more


def _columns(eligibility: bool) -> tuple[Column, ...]:
    """The scores that are shown: where eligibility is not judged, final and unadjusted ones are the same."""
    return (_UNADJUSTED, _FINAL) if eligibility else (_UNADJUSTED,)


def _both(both: Both) -> dict[str, Any]:
    return {"unadjusted": both.unadjusted, "final": both.final}


def _telling(marked: Sequence[Marked]) -> tuple[Marked, ...]:
    """What the page has room for at thousands of answers: the first judge, and those who are not content."""
    tones = [{mark.tone for mark in answer.marks} for answer in marked]
    return tuple(answer for place, answer in enumerate(marked) if not place or tones[place] & {"no", "open"})


def _example(judged: Sequence[Judged], repeated: bool) -> list[Section]:
    """The first answer in which a judge found something that is not grounded, piece by piece."""
    for item in judged:
        for marked in item.marked:
            if any(mark.tone == "no" for mark in marked.marks):
                title = f"Not grounded, by {marked.judge}: answer {sample_name(*item.key, beside=repeated)}"
                return [Highlighted(title, marked.marks)]
    return []
