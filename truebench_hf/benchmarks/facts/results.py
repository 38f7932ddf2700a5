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


def results(done: Sequence[Graded], provenance: dict[str, Any]) -> Outcome[GroundingScores]:
    """The scores of a run with what they are made of; `made` is its provenance."""
    judges = list(provenance["judges"])
    scores = score([graded.decided for graded in done], judges)
    with_baselines = "sha256" not in provenance["baseline"]
    provenance |= {"documents_sha256": _documents(done, with_baselines)}
    judged = [graded.judged for graded in done]
    repeats = repeated(judged)
    content = as_json(scores, done, provenance, repeats)
    files = {
        "scores.json": content, "verdicts.jsonl": [graded.row(provenance["model"], bool(repeats)) for graded in done],
        "judgments.jsonl": judgment_lines(judged, " + ".join(judges)),
    }  # fmt: skip
    return Outcome(
        scores, files, f"FACTS Grounding: {provenance['model']}", sections.sections(scores, done, judged, provenance, repeats),
        sections.lead(provenance), sections.notes(done, provenance), sections.facts(provenance), board(scores, provenance),
        incomplete=sum(bool(graded.undecided) for graded in done),
    )  # fmt: skip


def as_json(
    scores: GroundingScores, done: Sequence[Graded], provenance: Mapping[str, Any], repeats: Mapping[str, Score]
) -> dict[str, Any]:
    """The content of `scores.json`: see `scores.py`."""
    with_baselines, repeated = (
        "sha256" not in provenance["baseline"],
        any(graded.response.sample > 1 for graded in done),
    )
    splits = {
        name: _documents([graded for graded in done if graded.item.split == name], with_baselines)
        for name in scores.splits
    }
    missing = {
        "grounding": {
            name: sum(graded.grounding[name].accurate is None for graded in done) for name in provenance["judges"]
        },
        "eligibility": {
            name: sum(graded.ratings[name].rating is None and not graded.itself for graded in done)
            for name in provenance["judges"]
            if all(name in graded.ratings for graded in done)
        },
        "answers": {graded.name(repeated): graded.undecided for graded in done if graded.undecided},
    }
    return {
        "model": provenance["model"],
        "judges": provenance["judges"],
        "baseline": provenance["baseline"],
        "data": {"name": str(provenance.get("data") or ""), "sha256": provenance["documents_sha256"], "splits": splits},
        **scores.as_json(),
        "undecided": missing,
        "own_baseline": [graded.name(repeated) for graded in done if graded.itself],
        "failed": sum(graded.response.error is not None for graded in done),
        **({"repeated_samples": {name: asdict(graded) for name, graded in repeats.items()}} if repeats else {}),
    }


def repeated(judged: Sequence[Judged]) -> dict[str, Score]:
    """What several answers of the model to an item tell of their passing: eligible, and grounded for every judge."""
    return summary([[item.passed for item in samples] for samples in by_instance(judged)])


def _documents(done: Sequence[Graded], with_baselines: bool) -> str:
    """A hash over what was asked, whoever answered it, and over the baseline answers that came with it."""
    questions = {
        graded.document: [
            graded.item.source.system, graded.item.document, graded.item.source.request, graded.baseline if with_baselines else None
        ]
        for graded in done
    }  # fmt: skip
    return digest(canonical([questions[name] for name in sorted(questions)]))


def board(scores: GroundingScores, provenance: Mapping[str, Any]) -> Board:
    """The one row of a run. Runs over the same documents are ranked together when judges and baseline are the same."""
    scores_by_column = dict(_cells(scores))
    alike = [
        provenance["documents_sha256"],
        anonymous.settings(provenance["judges"]),
        provenance["baseline"].get("sha256"),
    ]
    setting = digest(canonical([*alike, provenance.get("rules", "off")]))
    judges = " + ".join(
        f"{anonymous.name(name)} ({settings['template']})" for name, settings in provenance["judges"].items()
    )
    data = anonymous.name(str(provenance["data"])) + (
        f", sample of {provenance['limit']}" if provenance.get("limit") else ""
    )
    judges += "".join(f" (rules {mode})" for mode in rules_fact(provenance).values())
    facts = {"Judge": judges, "Data": data, "Baseline": anonymous.name(str(provenance["baseline"]["name"]))}
    if (samples := provenance.get("samples", 1)) > 1:
        facts["Samples"] = str(samples)
    row = Row(
        anonymous.name(provenance["model"]), setting, {column.name: score for column, score in scores_by_column.items()},
        {name: text[:LONGEST] for name, text in facts.items()},
    )  # fmt: skip
    return Board(MAIN.name, tuple(scores_by_column), (row,))


def _cells(scores: GroundingScores) -> Iterator[tuple[Column, Score]]:
    yield MAIN, scores.all.mean.final
    yield UNADJUSTED, scores.all.mean.unadjusted
    names = numbered([anonymous.name(name)[: LONGEST // 2] for name in scores.all.judges])
    for judge, both in zip(names, scores.all.judges.values(), strict=True):
        yield Column(f"judge:{judge}", judge, "Judges, final"), both.final
        yield Column(f"unadjusted:{judge}", judge, "Judges, unadjusted"), both.unadjusted
    for name, cell in scores.splits.items():
        yield Column(f"split:{name}", name, "Splits"), cell.mean.final
    for column, cells in scores.by.items():
        yield from _group(column, sections.titled(column, _GROUPS), cells)


def _group(column: str, title: str, cells: Mapping[str, Cell]) -> Iterator[tuple[Column, Score]]:
    if len(cells) <= _MOST_GROUPS and all(len(name) <= LONGEST // 2 for name in cells):
        for name, cell in cells.items():
            yield Column(f"{column}:{name}", name, title), cell.mean.final
