"""What comes of a run: its files, its report, and its place on a leaderboard."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.facts import sections
from truebench_hf.benchmarks.facts.graded import Graded
from truebench_hf.benchmarks.facts.scores import Cell, GroundingScores, score
from truebench_hf.data.judged import Judged, by_instance
from truebench_hf.data.records import judgment_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.repeated import summary
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.options import numbered
from truebench_hf.study.outcome import LONGEST, Board, Column, Outcome, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Score

MAIN = Column("final", "Final")
UNADJUSTED = Column("unadjusted", "Unadjusted")
_GROUPS = {"domain": "Domains", "task": "Tasks", "length": "Document length", "language": "Languages"}
_MOST_GROUPS = 50  # of a kind: a leaderboard of more columns nobody reads


def results(done: Sequence[Graded], made: dict[str, Any]) -> Outcome[GroundingScores]:
    """The scores of a run with what they are made of; `made` is its provenance."""
    judges = list(made["judges"])
    scores = score([one.decided for one in done], judges)
    given = "sha256" not in made["baseline"]
    made |= {"documents_sha256": _documents(done, given)}
    judged = [one.judged for one in done]
    several = repeated(judged)
    told = as_json(scores, done, made, several)
    files = {
        "scores.json": told, "verdicts.jsonl": [one.row(made["model"], bool(several)) for one in done],
        "judgments.jsonl": judgment_lines(judged, " + ".join(judges)),
    }  # fmt: skip
    return Outcome(
        scores, files, f"FACTS Grounding: {made['model']}", sections.sections(scores, done, judged, made, several),
        sections.lead(made), sections.notes(done, made), sections.facts(made), board(scores, made),
        incomplete=sum(bool(one.undecided) for one in done),
    )  # fmt: skip


def as_json(
    scores: GroundingScores, done: Sequence[Graded], made: Mapping[str, Any], repeats: Mapping[str, Score]
) -> dict[str, Any]:
    """The content of `scores.json`: see `scores.py`."""
    given, several = "sha256" not in made["baseline"], any(one.response.sample > 1 for one in done)
    splits = {name: _documents([one for one in done if one.item.split == name], given) for name in scores.splits}
    missing = {
        "grounding": {name: sum(one.grounding[name].accurate is None for one in done) for name in made["judges"]},
        "eligibility": {
            name: sum(one.ratings[name].rating is None and not one.itself for one in done)
            for name in made["judges"]
            if all(name in one.ratings for one in done)
        },
        "answers": {one.name(several): one.undecided for one in done if one.undecided},
    }
    return {
        "model": made["model"],
        "judges": made["judges"],
        "baseline": made["baseline"],
        "data": {"name": str(made.get("data") or ""), "sha256": made["documents_sha256"], "splits": splits},
        **scores.as_json(),
        "undecided": missing,
        "own_baseline": [one.name(several) for one in done if one.itself],
        "failed": sum(one.response.error is not None for one in done),
        **({"repeated_samples": {name: asdict(one) for name, one in repeats.items()}} if repeats else {}),
    }


def repeated(judged: Sequence[Judged]) -> dict[str, Score]:
    """What several answers of the model to an item tell of their passing: eligible, and grounded for every judge."""
    return summary([[item.passed for item in samples] for samples in by_instance(judged)])


def _documents(done: Sequence[Graded], with_baselines: bool) -> str:
    """A hash over what was asked, whoever answered it, and over the baseline answers that came with it."""
    asked = {
        one.document: [
            one.item.source.system, one.item.document, one.item.source.request, one.baseline if with_baselines else None
        ]
        for one in done
    }  # fmt: skip
    return digest(canonical([asked[name] for name in sorted(asked)]))


def board(scores: GroundingScores, made: Mapping[str, Any]) -> Board:
    """The one row of a run. Runs over the same documents are ranked together when judges and baseline are the same."""
    found = dict(_cells(scores))
    alike = [made["documents_sha256"], anonymous.settings(made["judges"]), made["baseline"].get("sha256")]
    setting = digest(canonical([*alike, made.get("rules", "off")]))
    judges = " + ".join(f"{anonymous.name(name)} ({one['template']})" for name, one in made["judges"].items())
    data = anonymous.name(str(made["data"])) + (f", sample of {made['limit']}" if made.get("limit") else "")
    judges += "".join(f" (rules {mode})" for mode in rules_fact(made).values())
    facts = {"Judge": judges, "Data": data, "Baseline": anonymous.name(str(made["baseline"]["name"]))}
    if (samples := made.get("samples", 1)) > 1:
        facts["Samples"] = str(samples)
    row = Row(
        anonymous.name(made["model"]), setting, {column.name: score for column, score in found.items()},
        {name: text[:LONGEST] for name, text in facts.items()},
    )  # fmt: skip
    return Board(MAIN.name, tuple(found), (row,))


def _cells(scores: GroundingScores) -> Iterator[tuple[Column, Score]]:
    yield MAIN, scores.all.mean.final
    yield UNADJUSTED, scores.all.mean.unadjusted
    names = numbered([anonymous.name(name)[: LONGEST // 2] for name in scores.all.judges])
    for shown, both in zip(names, scores.all.judges.values(), strict=True):
        yield Column(f"judge:{shown}", shown, "Judges, final"), both.final
        yield Column(f"unadjusted:{shown}", shown, "Judges, unadjusted"), both.unadjusted
    for name, cell in scores.splits.items():
        yield Column(f"split:{name}", name, "Splits"), cell.mean.final
    for column, cells in scores.by.items():
        yield from _group(column, sections.titled(column, _GROUPS), cells)


def _group(column: str, title: str, cells: Mapping[str, Cell]) -> Iterator[tuple[Column, Score]]:
    if len(cells) <= _MOST_GROUPS and all(len(name) <= LONGEST // 2 for name in cells):
        for name, cell in cells.items():
            yield Column(f"{column}:{name}", name, title), cell.mean.final
