"""Coverage, Achievement and what stands beside them, of judged conversations (paper 001, section 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import Talk, TalkRow, as_row
from truebench_hf.benchmarks.flexbench.procedure import Procedure, read_procedure
from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.metrics.flexeval import base_actions, flexeval
from truebench_hf.metrics.intervals import resampled_difference, resampled_ratio
from truebench_hf.types import Label, Score

MEASURES = {
    "coverage": "Coverage",
    "achievement": "Achievement",
    "coverage_applicable": "Coverage where applicable",
    "correct": "Correct when attempted",
}
VERDICTS, JUDGED = "verdicts.jsonl", "judged.yaml"  # the verdicts, and the procedure that they are on
_ORDER = ("achievement", "coverage")
Counts = tuple[list[float], list[float], int]  # a top and a bottom per conversation, and how many were not judged


@dataclass(frozen=True)
class JudgedConversation:
    """A conversation with facts and verdict per dimension. `conflicts` are pairs that exclude each other, both found."""

    talk: Talk
    facts: Mapping[str, DimensionFacts]
    labels: Mapping[str, Label | None]
    conflicts: tuple[tuple[str, str], ...] = ()

    def row(self) -> dict[str, Any]:
        """A line of `verdicts.jsonl`."""
        dimensions = {name: {**asdict(facts), "label": self.labels[name]} for name, facts in self.facts.items()}
        return as_row(self.talk) | {"dimensions": dimensions, "conflicts": [list(pair) for pair in self.conflicts]}


class _DimensionRow(Row):
    applies: bool | None = None
    attempted: bool | None = None
    correct: bool | None = None
    reason: str = ""
    turn: int | None = None
    label: Label | None


class _JudgedRow(TalkRow):
    dimensions: dict[str, _DimensionRow]
    conflicts: tuple[tuple[str, str], ...] = ()

    @property
    def judged(self) -> JudgedConversation:
        facts = {name: DimensionFacts(**part.model_dump(exclude={"label"})) for name, part in self.dimensions.items()}
        return JudgedConversation(
            self.talk, facts, {name: part.label for name, part in self.dimensions.items()}, self.conflicts
        )


@dataclass(frozen=True)
class FlexModelScores:
    """One model's scores over its conversations; `dimensions` has Coverage and Achievement of each.

    `groups` are conversations of one cooperativeness or end. `unexercised` dimensions were attempted in none, and
    `differences` are of the first model's scores, less this one's: (value, low, high).
    """

    model: str
    conversations: int
    total: Mapping[str, Score]
    groups: Mapping[str, Mapping[str, Score]]
    dimensions: Mapping[str, tuple[Score, Score]]
    unexercised: tuple[str, ...]
    undecided: int
    conflicts: int
    broken: int
    differences: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def score_models(procedure: Procedure, judged: Mapping[str, Sequence[JudgedConversation]]) -> list[FlexModelScores]:
    """The scores of every model, the highest Achievement first; where that is alike, or n/a, the highest Coverage.

    Differences are from that first one, over the conversations (by id and seed) that both have.
    """
    ranked = [_scored(procedure, model, talks) for model, talks in judged.items()]
    ranked.sort(
        key=lambda scores: [-1.0 if (value := scores.total[name].value) is None else value for name in _ORDER],
        reverse=True,
    )
    if not ranked:
        return []
    best = judged[ranked[0].model]
    compared = [_compared(procedure, scores, best, judged[scores.model]) for scores in ranked[1:]]
    return [ranked[0], *compared]


def _scored(procedure: Procedure, model: str, talks: Sequence[JudgedConversation]) -> FlexModelScores:
    named: dict[str, list[JudgedConversation]] = {}
    for kind, field_name in (("cooperativeness", "cooperativeness"), ("ended by", "end")):
        for conversation in talks:
            if value := getattr(conversation.talk, field_name):
                named.setdefault(f"{kind}: {value}", []).append(conversation)
    structure = procedure.structure
    dimensions = {name: _of_dimension(name, structure, talks) for name in structure}
    return FlexModelScores(
        model, len(talks), totals(procedure, talks),
        {name: totals(procedure, some) for name, some in named.items()},
        dimensions,
        tuple(name for name in structure if not any(conversation.labels[name] in ("yes", "no") for conversation in talks)),
        sum(label is None for conversation in talks for label in conversation.labels.values()),
        sum(len(conversation.conflicts) for conversation in talks),
        sum(bool(conversation.talk.error) for conversation in talks),
    )  # fmt: skip


def totals(procedure: Procedure, talks: Sequence[JudgedConversation]) -> dict[str, Score]:
    """The measures over some conversations, with intervals by a bootstrap over them."""
    return {name: _score(*count(procedure, talks)) for name, count in _COUNTS.items()}


def _score(top: Sequence[float], bottom: Sequence[float], undecided: int) -> Score:
    total = int(sum(bottom))
    return Score(sum(top) / total if total else None, total, undecided, resampled_ratio(top, bottom))


def _coverage(procedure: Procedure, talks: Sequence[JudgedConversation]) -> Counts:
    results = [flexeval([conversation.labels], [procedure.structure]) for conversation in talks]
    return [float(f.attempted) for f in results], [float(f.base_total) for f in results], _open(procedure, talks, True)


def _achievement(procedure: Procedure, talks: Sequence[JudgedConversation]) -> Counts:
    results = [flexeval([conversation.labels], [procedure.structure]) for conversation in talks]
    return [float(f.achieved) for f in results], [float(f.exercised) for f in results], _open(procedure, talks, False)


def _correct(procedure: Procedure, talks: Sequence[JudgedConversation]) -> Counts:
    """Of what was attempted the share that is right, over all dimensions: ours, it shows base actions done wrongly."""
    tried = [[f for f in _settled(conversation).values() if f.attempted] for conversation in talks]
    top = [float(sum(bool(f.correct) for f in some)) for some in tried]
    return (
        top,
        [float(len(some)) for some in tried],
        sum(label is None for conversation in talks for label in conversation.labels.values()),
    )


def _applicable(procedure: Procedure, talks: Sequence[JudgedConversation]) -> Counts:
    """Coverage over base actions that applied: equation 6 also counts those that a user who hung up never came to."""
    bases = base_actions(procedure.structure)
    due = [[f for name, f in _settled(conversation).items() if name in bases and f.applies] for conversation in talks]
    top = [float(sum(bool(f.attempted) for f in some)) for some in due]
    return top, [float(len(some)) for some in due], _open(procedure, talks, True)


def _settled(conversation: JudgedConversation) -> dict[str, DimensionFacts]:
    """The facts behind the verdicts of a conversation: those in a conflict stand, and make none."""
    return {name: facts for name, facts in conversation.facts.items() if conversation.labels[name] is not None}


_COUNTS: dict[str, Callable[[Procedure, Sequence[JudgedConversation]], Counts]] = {
    "coverage": _coverage, "achievement": _achievement, "coverage_applicable": _applicable, "correct": _correct,
}  # fmt: skip


def _open(procedure: Procedure, talks: Sequence[JudgedConversation], bases: bool) -> int:
    """Verdicts on base actions, or else on branches, that were not judged."""
    structure = procedure.structure
    chosen = base_actions(structure) if bases else {name for name, base in structure.items() if base is not None}
    return sum(conversation.labels[name] is None for conversation in talks for name in chosen)


def _of_dimension(
    name: str, structure: Mapping[str, str | None], talks: Sequence[JudgedConversation]
) -> tuple[Score, Score]:
    """Coverage and Achievement of one dimension: attempted of all judged, right of those that count (equations 4, 5)."""
    base = structure[name]
    labels = [conversation.labels[name] for conversation in talks]
    gate = [not base or conversation.labels[base] in ("yes", "no") for conversation in talks]
    judged = [float(label is not None) for label in labels]
    decided = [float(label in ("yes", "no")) for label in labels]
    counted = [value if is_open else 0.0 for value, is_open in zip(decided, gate, strict=True)]
    right = [float(bool(value) and label == "yes") for value, label in zip(counted, labels, strict=True)]
    undecided = labels.count(None)
    return _score(decided, judged, undecided), _score(right, counted, undecided)


def _compared(
    procedure: Procedure, scores: FlexModelScores, best: Sequence[JudgedConversation], own: Sequence[JudgedConversation]
) -> FlexModelScores:
    """The scores with their differences from the best model's, over conversations that both have."""
    theirs = {(judged.talk.seed, judged.talk.id): judged for judged in best}
    mine = {(judged.talk.seed, judged.talk.id): judged for judged in own}
    shared = [key for key in theirs if key in mine]
    differences: dict[str, tuple[float, float, float]] = {}
    for name, count in _COUNTS.items():
        first, second = (count(procedure, [some[key] for key in shared])[:2] for some in (theirs, mine))
        interval = resampled_difference(first, second) if shared else None
        if interval:
            gap = sum(first[0]) / sum(first[1]) - sum(second[0]) / sum(second[1])
            differences[name] = (gap, *interval)
    return FlexModelScores(**{**scores.__dict__, "differences": differences})


def read_judged(folder: str) -> tuple[Procedure, list[JudgedConversation]]:
    """The judged conversations of a folder, and the procedure as it was when they were judged.

    The folder is a benchmark's, whose `scores` are meant, or any --out of `flex score`. Raises UserError naming what is
    wrong.
    """
    place = _place(folder)
    if place is None:
        raise UserError(f"{folder}: holds no judged conversations; `truebench flex score {folder}` judges them")
    file, procedure = place / VERDICTS, read_procedure(place / JUDGED)
    conversations = [Record(where, row).read(_JudgedRow).judged for where, row in jsonl.read(file)]
    for number, conversation in enumerate(conversations, 1):
        if other := sorted(procedure.structure.keys() ^ conversation.labels.keys()):
            raise UserError(
                f"{file}, line {number}: {other[0]} stands there or in {JUDGED}, not in both; score it again"
            )
    return procedure, conversations


def is_judged(folder: str) -> bool:
    """Return True if a folder holds judged conversations and the procedure that they were judged by."""
    place = _place(folder)
    return place is not None and (place / JUDGED).is_file()


def _place(folder: str) -> Path | None:
    return next((place for place in (Path(folder) / "scores", Path(folder)) if (place / VERDICTS).is_file()), None)


def models_of(judged: Sequence[JudgedConversation]) -> dict[str, list[JudgedConversation]]:
    """The judged conversations of each model, in order of appearance."""
    by_model: dict[str, list[JudgedConversation]] = {}
    for conversation in judged:
        by_model.setdefault(conversation.talk.model, []).append(conversation)
    return by_model
