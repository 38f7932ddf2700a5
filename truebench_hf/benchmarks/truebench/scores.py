"""From judged instances to the scores of a run (TRUEBench sections 3.1 and 4, appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.data.records import Compact, Judged, compact, sample_name
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.drfr import drfr
from truebench_hf.metrics.repeated import mean, over_instances, summary
from truebench_hf.metrics.votes import flip_score, share_score
from truebench_hf.options import NOBODY
from truebench_hf.report.sections import percent
from truebench_hf.study.notes import by_rules, weak_judges, without_judge
from truebench_hf.text.redaction import masked_note
from truebench_hf.types import Instance, Label, Report, Score

REPEATED = "repeated_samples"
_OFFICIAL = {"protocol": "official"}
Key = TypeVar("Key", str, tuple[str, str])


def score(
    judged: Compact | Iterable[Judged],
    usage: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Report:
    """The report of a run: every score of `scores.json`, the unscored instances with reasons, and notes."""
    made, rows = provenance or {}, compact(judged)
    ours, official = (over_instances(rows.by_instance(outcomes(rows, how))) for how in ({}, _OFFICIAL))
    passed = rows.by_instance(outcomes(rows, made))
    several = [of[0] for of in rows.by_instance(rows.each(lambda item: len(item.verdicts) > 1))]
    scores: dict[str, Score | Mapping[str, Score]] = {
        "overall": over_instances(passed),
        "strict": over_instances([[value is True for value in values] for values in passed]),
        "official": official,
        **({REPEATED: repeated} if (repeated := summary(passed)) else {}),
        **_weighted(rows),
        **_by_group(rows, outcomes(rows, made)),
        "single_turn": over_instances([p for p, multi in zip(passed, several, strict=True) if not multi]),
        "multi_turn": over_instances([p for p, multi in zip(passed, several, strict=True) if multi]),
        "soft_criterion": _mean(rows, lambda item: rates.criterion_share(item.outcomes)),
        "soft_turn": _mean(rows, lambda item: rates.turn_share(item.outcomes)),
        "drfr": drfr(list(map(_joined, rows.by_instance(rows.each(_criteria))))).score,
        **_of_votes(rows),
    }
    if conflicting := _conflicting(rows):
        criteria = sum(rows.each(lambda item: sum(map(len, item.verdicts))))
        scores["conflicting"] = Score(conflicting / criteria, criteria)
    beside = any(kind.response.sample > 1 for kind in rows.kinds)
    unscored = {sample_name(*key, beside=beside): reason for key, reason in rows.undecided()}
    notes = (*_bounds(passed), *_notes(ours, official, rows, made))
    return Report(scores, unscored, usage or {}, made, notes)


def ordered(names: Iterable[Key], first: Sequence[Key]) -> list[Key]:
    """Names in the official order, unknown ones after them by alphabet."""
    known = set(names)
    return [name for name in first if name in known] + sorted(known - set(first))


def passes(item: Judged, provenance: Mapping[str, Any]) -> bool | None:
    """Whether a response passes, by the rule that the run's `protocol` says; None is unscored."""
    return item.passed_officially if provenance.get("protocol") == "official" else item.passed


def outcomes(rows: Compact, provenance: Mapping[str, Any]) -> list[bool | None]:
    """Whether each response `passes`."""
    return rows.each(lambda item: passes(item, provenance))


def unfinished(rows: Compact) -> int:
    """How many responses are unscored for another reason than that nobody was to judge them."""
    return sum(rows.each(lambda item: item.passed is None and not _left_to_nobody(item)))


def _left_to_nobody(item: Judged) -> bool:
    open_ = [verdict for turn in item.verdicts for verdict in turn if verdict.label is None]
    return bool(open_) and all(verdict.judge == NOBODY for verdict in open_)


def grouped(
    rows: Compact, passed: Sequence[bool | None], key: Callable[[Instance], Key | None], order: Sequence[Key]
) -> dict[Key, Score]:
    """The pass rate of each group that has instances, in the order given, unknown groups after it by alphabet."""
    groups: dict[Key, dict[int, list[bool | None]]] = {}
    for instance, name, value in zip(rows.instance, rows.where(key), passed, strict=True):
        if name is not None:
            groups.setdefault(name, {}).setdefault(instance, []).append(value)
    return {name: over_instances(list(groups[name].values())) for name in ordered(groups, order)}


def _mean(rows: Compact, share: Callable[[Judged], float | None]) -> Score:
    """The mean over instances of the mean share of their samples."""
    return rates.mean_share([mean(of) for of in rows.by_instance(rows.each(share))])


def _criteria(item: Judged) -> list[Label | None]:
    return [label for turn in item.outcomes for label in turn]


def _joined(samples: Sequence[list[Label | None]]) -> list[Label | None]:
    """The criteria of all samples of an instance; those of a lone one as they are, which many instances may share."""
    return samples[0] if len(samples) == 1 else list(chain.from_iterable(samples))


def _weighted(rows: Compact) -> dict[str, Score]:
    """The weighted share, where the criteria are not all worth the same."""
    if all(weight == 1 for kind in rows.kinds for turn in kind.weights for weight in turn):
        return {}
    return {"weighted": _mean(rows, lambda item: rates.points_share(item.labels, item.weights))}


def _of_votes(rows: Compact) -> dict[str, Score]:
    """What votes say, where there are any."""
    cast = list(
        chain.from_iterable(rows.each(lambda item: [(v.votes, v.label) for turn in item.verdicts for v in turn]))
    )
    found = {"flip_rate": flip_score([votes for votes, _ in cast]), "vote_share": share_score(cast)}
    return {name: score for name, score in found.items() if score}


def _conflicting(rows: Compact) -> int:
    return sum(rows.each(lambda item: sum(verdict.conflicting for turn in item.verdicts for verdict in turn)))


def _by_group(rows: Compact, passed: Sequence[bool | None]) -> dict[str, dict[str, Score]]:
    """The pass rates by what the data tells of its instances; what it does not tell makes no group."""
    kinds: dict[str, tuple[Callable[[Instance], str | None], Sequence[str]]] = {
        "by_category": (lambda instance: instance.category or None, CATEGORIES),
        "by_language": (lambda instance: instance.language or None, LANGUAGES),
        "by_task": (_task, ()),
    }
    found = {name: grouped(rows, passed, key, order) for name, (key, order) in kinds.items()}
    return {name: groups for name, groups in found.items() if groups}


def _task(instance: Instance) -> str | None:
    return "/".join(filter(None, (instance.category, instance.task))) if instance.task else None


def _bounds(passed: Sequence[Sequence[bool | None]]) -> list[str]:
    """Say between which figures the pass rate would lie, had all that is open been no, and had it been yes."""
    if not any(value is None for values in passed for value in values):
        return []
    low = over_instances([[value is True for value in values] for values in passed]).value
    high = over_instances([[value is not False for value in values] for values in passed]).value
    return [
        f"Had all that is open been no, the pass rate would be {percent(low)} %; had it been yes, {percent(high)} %."
    ]


def _notes(overall: Score, official: Score, rows: Compact, provenance: Mapping[str, Any]) -> tuple[str, ...]:
    notes = []
    if provenance.get("protocol") == "official":
        notes.append("Pass rates follow the official rule, by which a criterion without a verdict does not count.")
    nobody = provenance.get("judge") == NOBODY  # what is left open says nothing of the official rule
    if (
        not nobody
        and official.value is not None
        and (overall.value is None or abs(overall.value - official.value) > 1e-9)
    ):
        ours = "undefined" if overall.value is None else f"{100 * overall.value:.2f}"
        gap = "" if overall.value is None else f", {100 * (official.value - overall.value):+.2f} points"
        notes.append(f"The official pass rule gives {100 * official.value:.2f} % where ours gives {ours}{gap}.")
    if cut := sum(rows.each(lambda item: len(item.response.truncated))):
        notes.append(f"{cut} answers were cut off at the token limit and judged as they stand.")
    if conflicting := _conflicting(rows):
        notes.append(
            f"{conflicting} criteria were given two labels in one answer of the judge, which was asked again; a response "
            "can provoke this."
        )
    if rows.secrets:
        notes.append(masked_note(rows.secrets))
    if provenance.get("self_judged"):
        notes.append("Self-judged: model and judge belong to one family, which favours the model.")
    return (*notes, *_rules(rows, provenance), *weak_judges(judging_specs(provenance)))


def _rules(rows: Compact, provenance: Mapping[str, Any]) -> list[str]:
    """What rules decided of the answers that there are."""
    how, panel = provenance.get("judging") or {}, provenance.get("panel") or {}
    asked = list(chain.from_iterable(rows.each(lambda item: item.verdicts[: len(item.response.answers)])))
    if provenance.get("judge") == NOBODY:
        return without_judge(asked)
    votes = 1 if how.get("level") == "cascade" else how.get("votes", 1)
    count = len(panel.get("judges", [""]))
    return by_rules(asked, how.get("rules", "off"), how.get("level", ""), votes=votes, judges=count)
