"""Coverage, Achievement and what stands beside them, of judged conversations (paper 001, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import Talk, TalkRow, as_row
from truebench_hf.benchmarks.flexbench.procedure import Procedure, read_procedure
from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.metrics.intervals import resampled_difference, resampled_ratio
from truebench_hf.metrics.pass_rate import base_actions, flexeval
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


def score_models(procedure: Procedure, judged: Mapping[str, Sequence[JudgedConversation]]) -> list[FlexModelScores]:
    """The scores of every model, the highest Achievement first; where that is alike, or n/a, the highest Coverage.

    Differences are from that first one, over the conversations (by id and seed) that both have.
    """
    ranked = [_scored(procedure, model, talks) for model, talks in judged.items()]
    ranked.sort(
        key=lambda scores: [-1.0 if (value := scores.total[name].value) is None else value for name in _ORDER],
        reverse=True,
    )
    others = [
        replace(scores, differences=_differences(procedure, judged[ranked[0].model], judged[scores.model]))
        for scores in ranked[1:]
    ]
    return [*ranked[:1], *others]


def _scored(procedure: Procedure, model: str, talks: Sequence[JudgedConversation]) -> FlexModelScores:
    named: dict[str, list[JudgedConversation]] = {}
    for kind, field_name in (("cooperativeness", "cooperativeness"), ("ended by", "end")):
        for conversation in talks:
            if value := getattr(conversation.talk, field_name):
                named.setdefault(f"{kind}: {value}", []).append(conversation)
    structure = procedure.structure
    labels = {name: [conversation.labels[name] for conversation in talks] for name in structure}
    return FlexModelScores(
        model, len(talks), totals(procedure, talks),
        {name: totals(procedure, some) for name, some in named.items()},
        {name: _of_dimension(labels[name], labels[base] if base else None) for name, base in structure.items()},
        tuple(name for name in structure if not {"yes", "no"}.intersection(labels[name])),
        sum(column.count(None) for column in labels.values()),
        sum(len(conversation.conflicts) for conversation in talks),
        sum(bool(conversation.talk.error) for conversation in talks),
    )  # fmt: skip


def _of_dimension(labels: Sequence[Label | None], base: Sequence[Label | None] | None) -> tuple[Score, Score]:
    """Coverage and Achievement of one dimension: attempted of all judged, right of those that count (equations 4, 5)."""
    judged = [float(label is not None) for label in labels]
    decided = [float(label in ("yes", "no")) for label in labels]
    gate = [1.0] * len(labels) if base is None else [float(label in ("yes", "no")) for label in base]
    counted = [value * is_open for value, is_open in zip(decided, gate, strict=True)]
    right = [value * (label == "yes") for value, label in zip(counted, labels, strict=True)]
    undecided = labels.count(None)
    return _score(decided, judged, undecided), _score(right, counted, undecided)


def totals(procedure: Procedure, talks: Sequence[JudgedConversation]) -> dict[str, Score]:
    """The measures over some conversations, with intervals by a bootstrap over them."""
    return {name: _score(*counts) for name, counts in _counts(procedure, talks).items()}


def _score(top: Sequence[float], bottom: Sequence[float], undecided: int) -> Score:
    total = int(sum(bottom))
    return Score(sum(top) / total if total else None, total, undecided, resampled_ratio(top, bottom))


def _counts(procedure: Procedure, talks: Sequence[JudgedConversation]) -> dict[str, Counts]:
    """What each of `MEASURES` is made of. Facts in a conflict stand, and make no verdict: they count for nothing.

    Ours are coverage over base actions that applied, since equation 6 also counts those that a user who hung up never
    came to; and of all that was attempted the share that is right, which shows base actions done wrongly.
    """
    structure = procedure.structure
    bases, branches = base_actions(structure), {name for name, base in structure.items() if base is not None}
    pairs: list[dict[str, tuple[int, int]]] = []
    for conversation in talks:
        counts = flexeval([conversation.labels], [structure])
        settled = {name: facts for name, facts in conversation.facts.items() if conversation.labels[name] is not None}
        due = [facts for name, facts in settled.items() if name in bases and facts.applies]
        tried = [facts for facts in settled.values() if facts.attempted]
        pairs.append({
            "coverage": (counts.attempted, counts.base_total), "achievement": (counts.achieved, counts.exercised),
            "coverage_applicable": (sum(bool(facts.attempted) for facts in due), len(due)),
            "correct": (sum(bool(facts.correct) for facts in tried), len(tried)),
        })  # fmt: skip
    among = {"coverage": bases, "achievement": branches, "coverage_applicable": bases, "correct": set(structure)}
    return {
        measure: (
            [float(pair[measure][0]) for pair in pairs],
            [float(pair[measure][1]) for pair in pairs],
            sum(conversation.labels[name] is None for conversation in talks for name in names),
        )
        for measure, names in among.items()
    }


def _differences(
    procedure: Procedure, best: Sequence[JudgedConversation], own: Sequence[JudgedConversation]
) -> dict[str, tuple[float, float, float]]:
    """What the best model's scores are above a model's own, over the conversations that both have."""
    theirs, mine = ({(result.talk.seed, result.talk.id): result for result in side} for side in (best, own))
    shared = [key for key in theirs if key in mine]
    first, second = (_counts(procedure, [side[key] for key in shared]) for side in (theirs, mine))
    differences: dict[str, tuple[float, float, float]] = {}
    for name in MEASURES:
        (top, bottom, _), (other_top, other_bottom, _) = first[name], second[name]
        if shared and (interval := resampled_difference((top, bottom), (other_top, other_bottom))):
            differences[name] = (sum(top) / sum(bottom) - sum(other_top) / sum(other_bottom), *interval)
    return differences


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
