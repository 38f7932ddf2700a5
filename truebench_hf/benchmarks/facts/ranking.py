"""Models ranked over judges and splits, what disqualification moves, and whom judges prefer (paper 002, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import hypot
from typing import Any, Literal

from truebench_hf.benchmarks.facts.joined import Joined, Kind, Split, join, spec_of
from truebench_hf.benchmarks.facts.scores import Both
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
from truebench_hf.models.spec import family
from truebench_hf.types import Score

_KINDS: tuple[Kind, ...] = ("unadjusted", "final")


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's place. `mean` is over judges and splits, `span` the ranks that chance leaves open; `fused` is the
    fused rank by final scores, `fused_unadjusted` that by unadjusted ones."""

    model: str
    scores: Mapping[str, Split]
    mean: Both
    fused: int | None
    fused_unadjusted: int | None
    span: RankSpan

    @property
    def moved(self) -> int | None:
        """How many ranks disqualification moves it: above 0 up, below 0 down."""
        both = self.fused_unadjusted, self.fused
        return None if both[0] is None or both[1] is None else both[0] - both[1]


@dataclass(frozen=True, slots=True)
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
    joined: Joined

    def as_json(self) -> dict[str, Any]:
        """The content of `rank.json`."""
        return {
            "models": [_told(one) for one in self.standings],
            "self_preference": [asdict(one) for one in self.preferences],
            "tied": list(self.fused.tied), "cycles": list(self.fused.cycles),
            "judges": dict(self.joined.judges), "baseline": dict(self.joined.baseline),
            "splits": list(self.joined.splits), "left_out": list(self.joined.left_out),
        }  # fmt: skip


def _told(one: Standing) -> dict[str, Any]:
    """A standing as plain data; the single answers stand in the run folders."""
    told = asdict(one) | {"span": [one.span.first, one.span.last], "moved": one.moved, "effect": one.mean.effect}
    for split in told["scores"].values():
        del split["graded"], split["given"]
    return told


def rank(folders: Sequence[str]) -> Ranking:
    """Rank the models of finished runs; `truebench facts rank` as a Python call. Raises UserError as `join` does."""
    joined = join(folders)
    fused = {kind: fused_rank(_columns(joined, kind)) for kind in ("unadjusted", "final")}
    means = {model: Both(_mean(held, "unadjusted"), _mean(held, "final")) for model, held in joined.models.items()}
    spans = rank_spans({model: Entrant(means[model].final, _graded(held)) for model, held in joined.models.items()})
    ranks = [fused[kind].ranks for kind in ("final", "unadjusted")]
    standings = [
        Standing(model, held, means[model], ranks[0][model], ranks[1][model], spans[model])
        for model, held in joined.models.items()
    ]
    standings.sort(key=lambda one: (one.fused is None, one.fused or 0, -(one.mean.final.value or 0)))
    found = tuple(_preference(joined, judge) for judge in joined.judges)
    return Ranking(tuple(standings), tuple(one for one in found if one), fused["final"], joined)


def _graded(held: Mapping[str, Split]) -> dict[tuple[str, str], float | None]:
    """The final score of every answer of a model, by split and id."""
    return {(name, key): score for name, split in held.items() for key, score in split.graded.items()}


def _columns(joined: Joined, kind: Kind) -> dict[str, list[float | None]]:
    """A model's score per split and judge: the rankings that are fused."""
    return {
        model: [_of(split.judges[judge], kind).value for split in held.values() for judge in joined.judges]
        for model, held in joined.models.items()
    }


def _of(both: Both, kind: Kind) -> Score:
    return both.final if kind == "final" else both.unadjusted


def _mean(held: Mapping[str, Split], kind: Kind) -> Score:
    """The mean of a model's judge scores over its splits, as the paper's average; splits are independent samples.

    The interval is put together from those of the splits (Zou and Donner 2008).
    """
    scores = [_of(split.mean, kind) for split in held.values()]
    value = mean_of(*(score.value for score in scores))
    n, unscored = sum(score.n for score in scores), sum(score.unscored for score in scores)
    if value is None or any(score.ci95 is None for score in scores):
        return Score(value, n, unscored)
    parts = [(score.value or 0.0, *(score.ci95 or (0.0, 0.0))) for score in scores]
    below, above = (hypot(*(part[0] - part[side] for part in parts)) / len(parts) for side in (1, 2))
    return Score(value, n, unscored, (value - below, value + above))


def _preference(joined: Joined, judge: str) -> Preference | None:
    """None where no ranked model is the judge's own, or none is another's."""
    spec = spec_of(judge)
    same = tuple(model for model in joined.models if model == spec)
    own = same or tuple(model for model in joined.models if family(model) == family(spec))
    if not own or len(own) == len(joined.models) or len(joined.judges) == 1:
        return None
    return Preference(
        judge, own, "model" if same else "family", *(_preferred(joined, kind, judge, own) for kind in _KINDS)
    )


def _preferred(joined: Joined, kind: Kind, judge: str, own: Sequence[str]) -> SelfPreference:
    """Answer by answer where all verdicts are there, else by the means alone."""
    if all(split.given for held in joined.models.values() for split in held.values()):
        samples = [{m: held[split].given[kind] for m, held in joined.models.items()} for split in joined.splits]
        return self_preference_over(samples, judge, own)
    return self_preference(_by_judge(joined, kind), judge, own)


def _by_judge(joined: Joined, kind: Kind) -> dict[str, dict[str, float | None]]:
    """Every judge's mean over the splits, by model."""
    return {
        model: {
            judge: mean_of(*(_of(split.judges[judge], kind).value for split in held.values()))
            for judge in joined.judges
        }
        for model, held in joined.models.items()
    }
