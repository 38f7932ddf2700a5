"""From judged instances to the scores of a run (TRUEBench sections 3.1 and 4, appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.drfr import drfr
from truebench_hf.metrics.votes import flip_score, share_score
from truebench_hf.records import Judged, secrets_in
from truebench_hf.redaction import masked_note
from truebench_hf.types import Report, Score


def score(
    judged: Sequence[Judged], usage: Mapping[str, Any] | None = None, provenance: Mapping[str, Any] | None = None
) -> Report:
    """The report of a run: every score of `scores.json`, the unscored instances with reasons, and notes."""
    labels = [item.labels for item in judged]
    ours, official = [item.passed for item in judged], [item.passed_officially for item in judged]
    by_official_rule = (provenance or {}).get("protocol") == "official"
    passed: Sequence[bool | None] = official if by_official_rule else ours
    several = [len(item.verdicts) > 1 for item in judged]
    scores: dict[str, Score | Mapping[str, Score]] = {
        "overall": rates.pass_rate(passed),
        "strict": rates.strict_pass_rate(passed),
        "official": rates.pass_rate(official),
        "by_category": _groups(judged, passed, lambda item: item.instance.category, CATEGORIES),
        "by_language": _groups(judged, passed, lambda item: item.instance.language, LANGUAGES),
        "by_task": _groups(judged, passed, lambda item: f"{item.instance.category}/{item.instance.task}", ()),
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
        scores["conflicting"] = Score(100 * sum(conflicting) / len(conflicting), len(conflicting))
    unscored = {item.instance.id: item.undecided for item, p in zip(judged, ours, strict=True) if p is None}
    notes = _notes(rates.pass_rate(ours), rates.pass_rate(official), judged, provenance or {})
    return Report(scores, unscored, usage or {}, provenance or {}, notes)


def ordered(names: Sequence[str] | set[str], first: Sequence[str]) -> list[str]:
    """Names in the official order, unknown ones after them by alphabet."""
    return [name for name in first if name in names] + sorted(set(names) - set(first))


def _groups(
    judged: Sequence[Judged], passed: Sequence[bool | None], key: Callable[[Judged], str], order: Sequence[str]
) -> dict[str, Score]:
    groups: dict[str, list[bool | None]] = {}
    for item, value in zip(judged, passed, strict=True):
        groups.setdefault(key(item), []).append(value)
    return {name: rates.pass_rate(groups[name]) for name in ordered(set(groups), order)}


def _notes(overall: Score, official: Score, judged: Sequence[Judged], provenance: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if provenance.get("protocol") == "official":
        notes.append("Pass rates follow the official rule, by which a criterion without a verdict does not count.")
    if official.value is not None and (overall.value is None or abs(overall.value - official.value) > 1e-9):
        ours = "undefined" if overall.value is None else f"{overall.value:.2f}"
        gap = "" if overall.value is None else f", {official.value - overall.value:+.2f} points"
        notes.append(f"The official pass rule gives {official.value:.2f} % where ours gives {ours}{gap}.")
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
    if provenance.get("weak_judge"):
        notes.append("The judge is SmolLM2-135M, far too weak to be trusted: these scores show the workflow only.")
    return tuple(notes)
