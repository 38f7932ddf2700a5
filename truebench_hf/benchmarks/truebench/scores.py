"""From judged instances to the scores of a run (TRUEBench sections 3.1 and 4, appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.drfr import drfr
from truebench_hf.metrics.repeated import mean, over_instances, summary
from truebench_hf.metrics.votes import flip_score, share_score
from truebench_hf.records import Judged, by_instance, sample_name, secrets_in
from truebench_hf.redaction import masked_note
from truebench_hf.study.notes import by_rules, weak_judges
from truebench_hf.types import Instance, Report, Score

REPEATED = "repeated_samples"
_OFFICIAL = {"protocol": "official"}
Key = TypeVar("Key", str, tuple[str, str])


def score(
    judged: Sequence[Judged], usage: Mapping[str, Any] | None = None, provenance: Mapping[str, Any] | None = None
) -> Report:
    """The report of a run: every score of `scores.json`, the unscored instances with reasons, and notes."""
    made, instances = provenance or {}, by_instance(judged)
    ours, official = _over(instances, {}), _over(instances, _OFFICIAL)
    passed = [outcomes(samples, made) for samples in instances]
    several = [len(samples[0].verdicts) > 1 for samples in instances]
    scores: dict[str, Score | Mapping[str, Score]] = {
        "overall": over_instances(passed),
        "strict": over_instances([[value is True for value in values] for values in passed]),
        "official": official,
        **({REPEATED: repeated} if (repeated := summary(passed)) else {}),
        **_weighted(instances),
        **_by_group(judged, outcomes(judged, made)),
        "single_turn": over_instances([p for p, multi in zip(passed, several, strict=True) if not multi]),
        "multi_turn": over_instances([p for p, multi in zip(passed, several, strict=True) if multi]),
        "soft_criterion": _mean(instances, lambda item: rates.criterion_share(item.outcomes)),
        "soft_turn": _mean(instances, lambda item: rates.turn_share(item.outcomes)),
        "drfr": drfr([[x for item in samples for turn in item.outcomes for x in turn] for samples in instances]).score,
    }
    votes = [(verdict.votes, verdict.label) for item in judged for turn in item.verdicts for verdict in turn]
    if flips := flip_score([cast for cast, _ in votes]):
        scores["flip_rate"] = flips
    if share := share_score(votes):
        scores["vote_share"] = share
    conflicting = [verdict.conflicting for item in judged for turn in item.verdicts for verdict in turn]
    if any(conflicting):
        scores["conflicting"] = Score(sum(conflicting) / len(conflicting), len(conflicting))
    beside = any(item.response.sample > 1 for item in judged)
    unscored = {sample_name(*item.key, beside=beside): item.undecided for item in judged if item.passed is None}
    return Report(scores, unscored, usage or {}, made, _notes(ours, official, judged, made))


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
    groups: dict[Key, dict[str, list[bool | None]]] = {}
    for item, value in zip(judged, passed, strict=True):
        if (name := key(item)) is not None:
            groups.setdefault(name, {}).setdefault(item.instance.id, []).append(value)
    return {name: over_instances(list(groups[name].values())) for name in ordered(groups, order)}


def _over(instances: Sequence[Sequence[Judged]], provenance: Mapping[str, Any]) -> Score:
    return over_instances([outcomes(samples, provenance) for samples in instances])


def _mean(instances: Sequence[Sequence[Judged]], share: Callable[[Judged], float | None]) -> Score:
    """The mean over instances of the mean share of their samples."""
    return rates.mean_share([mean(list(map(share, samples))) for samples in instances])


def _weighted(instances: Sequence[Sequence[Judged]]) -> dict[str, Score]:
    """The weighted share, where the criteria are not all worth the same."""
    if all(weight == 1 for samples in instances for item in samples for turn in item.weights for weight in turn):
        return {}
    return {"weighted": _mean(instances, lambda item: rates.points_share(item.labels, item.weights))}


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
    return (*notes, *_rules(judged, provenance), *weak_judges(judging_specs(provenance)))


def _rules(judged: Sequence[Judged], provenance: Mapping[str, Any]) -> list[str]:
    """What rules decided of the answers that there are."""
    how, panel = provenance.get("judging") or {}, provenance.get("panel") or {}
    asked = [turn for item in judged for turn in item.verdicts[: len(item.response.answers)]]
    votes = 1 if how.get("level") == "cascade" else how.get("votes", 1)
    count = len(panel.get("judges", [""]))
    return by_rules(asked, how.get("rules", "off"), how.get("level", ""), votes=votes, judges=count)
