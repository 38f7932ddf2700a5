"""What comes of a run: its files, its report and its place on a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.facts import sections
from truebench_hf.benchmarks.facts.board import KIND, board
from truebench_hf.benchmarks.facts.graded import Graded
from truebench_hf.benchmarks.facts.scores import GroundingScores, score
from truebench_hf.data.judged import by_instance
from truebench_hf.data.records import judgment_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.repeated import summary
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Score

__all__ = ["KIND", "results"]


def results(done: Sequence[Graded], made: dict[str, Any]) -> Outcome[GroundingScores]:
    """The scores of a run with what they are made of; `made` is its provenance."""
    judges = list(made["judges"])
    scores = score([one.decided for one in done], judges)
    given = "sha256" not in made["baseline"]
    made |= {"documents_sha256": _documents(done, given)}
    told = as_json(scores, done, made)
    judged, several = [one.judged for one in done], repeated(done)
    files = {
        "scores.json": told, "verdicts.jsonl": [one.row(made["model"], bool(several)) for one in done],
        "judgments.jsonl": judgment_lines(judged, " + ".join(judges)),
    }  # fmt: skip
    return Outcome(
        scores, files, f"FACTS Grounding: {made['model']}", sections.sections(scores, done, judged, made, several),
        sections.lead(made), sections.notes(done, made), sections.facts(made), board(scores, made),
        incomplete=sum(bool(one.undecided) for one in done),
    )  # fmt: skip


def as_json(scores: GroundingScores, done: Sequence[Graded], made: Mapping[str, Any]) -> dict[str, Any]:
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
        **({"repeated_samples": _plain(found)} if (found := repeated(done)) else {}),
    }


def repeated(done: Sequence[Graded]) -> dict[str, Score]:
    """What several answers of the model to an item tell of their passing: eligible, and grounded for every judge."""
    return summary([[item.passed for item in samples] for samples in by_instance([one.judged for one in done])])


def _plain(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {name: asdict(score) for name, score in scores.items()}


def _documents(done: Sequence[Graded], with_baselines: bool) -> str:
    """A hash over what was asked, whoever answered it, and over the baseline answers that came with it."""
    asked = {
        one.document: [
            one.item.source.system, one.item.document, one.item.source.request, one.baseline if with_baselines else None
        ]
        for one in done
    }  # fmt: skip
    return digest(canonical([asked[name] for name in sorted(asked)]))
