"""From judged instances to the scores of a run (TRUEBench sections 3.1 and 4, appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.drfr import drfr
from truebench_hf.metrics.votes import flip_score, share_score
from truebench_hf.records import Judged, secrets_in
from truebench_hf.redaction import masked_note
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Instance, Report, Score

_OFFICIAL = {"protocol": "official"}
Key = TypeVar("Key", str, tuple[str, str])


def score(
    judged: Sequence[Judged], usage: Mapping[str, Any] | None = None, provenance: Mapping[str, Any] | None = None
) -> Report:
    """The report of a run: every score of `scores.json`, the unscored instances with reasons, and notes."""
    labels = [item.outcomes for item in judged]
    ours, official = outcomes(judged, {}), outcomes(judged, _OFFICIAL)
    passed = outcomes(judged, provenance or {})
    several = [len(item.verdicts) > 1 for item in judged]
    scores: dict[str, Score | Mapping[str, Score]] = {
        "overall": rates.pass_rate(passed),
        "strict": rates.strict_pass_rate(passed),
        "official": rates.pass_rate(official),
        **_weighted(judged),
        **_by_group(judged, passed),
        "single_turn": rates.pass_rate([p for p, multi in zip(passed, several, strict=True) if not multi]),
        "multi_turn": rates.pass_rate([p for p, multi in zip(passed, several, strict=True) if multi]),
        "soft_criterion": rates.soft_criterion(labels),
        "soft_turn": rates.soft_turn(labels),
        "drfr": drfr([[label for turn in turns for label in turn] for turns in labels]).score,
    }
    votes = [(verdict.votes, verdict.label) for item in judged for turn in item.verdicts for verdict in turn]
    if flips := flip_score([cast for cast, _ in votes]):
        scores["flip_rate"] = flips
    if share := share_score(votes):
        scores["vote_share"] = share
    conflicting = [verdict.conflicting for item in judged for turn in item.verdicts for verdict in turn]
    if any(conflicting):
        scores["conflicting"] = Score(sum(conflicting) / len(conflicting), len(conflicting))
    unscored = {item.instance.id: item.undecided for item, p in zip(judged, ours, strict=True) if p is None}
    notes = _notes(rates.pass_rate(ours), rates.pass_rate(official), judged, provenance or {})
    return Report(scores, unscored, usage or {}, provenance or {}, notes)


def ordered(names: Iterable[Key], first: Sequence[Key]) -> list[Key]:
    """Names in the official order, unknown ones after them by alphabet."""
    known = set(names)
    return [name for name in first if name in known] + sorted(known - set(first))


def outcomes(judged: Sequence[Judged], provenance: Mapping[str, Any]) -> list[bool | None]:
    """Whether each instance passes, by the rule that the run's `protocol` says; None is unscored."""
    official = provenance.get("protocol") == "official"
    return [item.passed_officially if official else item.passed for item in judged]


def grouped(
    judged: Sequence[Judged], passed: Sequence[bool | None], key: Callable[[Judged], Key | None], order: Sequence[Key]
) -> dict[Key, Score]:
    """The pass rate of each group that has instances, in the order given, unknown groups after it by alphabet."""
    groups: dict[Key, list[bool | None]] = {}
    for item, value in zip(judged, passed, strict=True):
        if (name := key(item)) is not None:
            groups.setdefault(name, []).append(value)
    return {name: rates.pass_rate(groups[name]) for name in ordered(groups, order)}


def _weighted(judged: Sequence[Judged]) -> dict[str, Score]:
    """The weighted share, where the criteria are not all worth the same."""
    weights = [item.weights for item in judged]
    if all(weight == 1 for turns in weights for turn in turns for weight in turn):
        return {}
    return {"weighted": rates.weighted([item.labels for item in judged], weights)}


def _by_group(judged: Sequence[Judged], passed: Sequence[bool | None]) -> dict[str, dict[str, Score]]:
    """The pass rates by what the data tells of its instances; what it does not tell makes no group."""
    kinds: dict[str, tuple[Callable[[Judged], str | None], Sequence[str]]] = {
        "by_category": (lambda item: item.instance.category or None, CATEGORIES),
        "by_language": (lambda item: item.instance.language or None, LANGUAGES),
        "by_task": (lambda item: _task(item.instance), ()),
    }
    found = {name: grouped(judged, passed, key, order) for name, (key, order) in kinds.items()}
    return {name: groups for name, groups in found.items() if groups}


def _task(instance: Instance) -> str | None:
    return "/".join(filter(None, (instance.category, instance.task))) if instance.task else None


def _notes(overall: Score, official: Score, judged: Sequence[Judged], provenance: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if provenance.get("protocol") == "official":
        notes.append("Pass rates follow the official rule, by which a criterion without a verdict does not count.")
    if official.value is not None and (overall.value is None or abs(overall.value - official.value) > 1e-9):
        ours = "undefined" if overall.value is None else f"{100 * overall.value:.2f}"
        gap = "" if overall.value is None else f", {100 * (official.value - overall.value):+.2f} points"
        notes.append(f"The official pass rule gives {100 * official.value:.2f} % where ours gives {ours}{gap}.")
    cut = sum(len(item.response.truncated) for item in judged)
    if cut:
        notes.append(f"{cut} answers were cut off at the token limit and judged as they stand.")
    if conflicting := sum(verdict.conflicting for item in judged for turn in item.verdicts for verdict in turn):
        notes.append(
            f"{conflicting} criteria were given two labels in one answer of the judge, which was asked again; a response "
            "can provoke this."
        )
    if hidden := secrets_in(judged):
        notes.append(masked_note(hidden))
    if provenance.get("self_judged"):
        notes.append("Self-judged: model and judge belong to one family, which favours the model.")
    return (*notes, *weak_judges(judging_specs(provenance)))
