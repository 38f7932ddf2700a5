"""From judged instances to the scores of a run (TRUEBench sections 3.1 and 4, appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.data.judged import Judged, sample_name, secrets_in
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.repeated import mean, over_instances, summary
from truebench_hf.metrics.votes import flip_score, share_score
from truebench_hf.options import NOBODY
from truebench_hf.report.sections import percent
from truebench_hf.study.notes import by_rules, weak_judges, without_judge
from truebench_hf.text.redaction import masked_note
from truebench_hf.types import Instance, Label, Report, Score

REPEATED = "repeated_samples"
_OFFICIAL = {"protocol": "official"}
T = TypeVar("T")
Key = TypeVar("Key", str, tuple[str, str])


def score(
    judged: Iterable[Judged],
    usage: Mapping[str, Any] | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> Report:
    """The report of a run: every score of `scores.json`, the unscored instances with reasons, and notes."""
    made, items = provenance or {}, list(judged)
    labels = [item.outcomes for item in items]
    places = by_instance(items, range(len(items)))
    ours, by_rule = list(map(rates.instance_passes, labels)), outcomes(items, _OFFICIAL)
    counted = by_rule if made.get("protocol") == "official" else ours
    passed, official = _gathered(counted, places), over_instances(_gathered(by_rule, places))
    several = [len(items[of[0]].verdicts) > 1 for of in places]
    scores: dict[str, Score | Mapping[str, Score]] = {
        "overall": over_instances(passed),
        "strict": over_instances([[value is True for value in values] for values in passed]),
        "official": official,
        **({REPEATED: repeated} if (repeated := summary(passed)) else {}),
        **_weighted(items, places),
        **_by_group(items, counted),
        "single_turn": over_instances([p for p, multi in zip(passed, several, strict=True) if not multi]),
        "multi_turn": over_instances([p for p, multi in zip(passed, several, strict=True) if multi]),
        "soft_criterion": _mean(_gathered(list(map(rates.criterion_share, labels)), places)),
        "soft_turn": _mean(_gathered(list(map(rates.turn_share, labels)), places)),
        "drfr": drfr(list(map(_joined, _gathered(list(map(_joined, labels)), places)))),
        **_of_votes(items),
    }
    if conflicting := _conflicting(items):
        criteria = sum(len(turn) for item in items for turn in item.verdicts)
        scores["conflicting"] = Score(conflicting / criteria, criteria)
    beside = any(item.response.sample > 1 for item in items)
    open_ = [item for item, value in zip(items, ours, strict=True) if value is None]
    unscored = {sample_name(*item.key, beside=beside): item.undecided for item in open_}
    notes = (*_bounds(passed), *_notes(over_instances(_gathered(ours, places)), official, items, made))
    return Report(scores, unscored, usage or {}, made, notes)


def ordered(names: Iterable[Key], first: Sequence[Key]) -> list[Key]:
    """Names in the official order, unknown ones after them by alphabet."""
    known = set(names)
    return [name for name in first if name in known] + sorted(known - set(first))


def passes(item: Judged, provenance: Mapping[str, Any]) -> bool | None:
    """Whether a response passes, by the rule that the run's `protocol` says; None is unscored."""
    return item.passed_officially if provenance.get("protocol") == "official" else item.passed


def outcomes(judged: Iterable[Judged], provenance: Mapping[str, Any]) -> list[bool | None]:
    """Whether each response `passes`."""
    return [passes(item, provenance) for item in judged]


def by_instance(judged: Iterable[Judged], values: Iterable[T]) -> list[list[T]]:
    """The values, one a response, of each instance together, in the order of their first."""
    found: dict[str, list[T]] = {}
    for item, value in zip(judged, values, strict=True):
        found.setdefault(item.instance.id, []).append(value)
    return list(found.values())


def unfinished(judged: Iterable[Judged]) -> int:
    """How many responses are unscored for another reason than that nobody was to judge them."""
    return sum(item.passed is None and not _left_to_nobody(item) for item in judged)


def _left_to_nobody(item: Judged) -> bool:
    open_ = [verdict for turn in item.verdicts for verdict in turn if verdict.label is None]
    return bool(open_) and all(verdict.judge == NOBODY for verdict in open_)


def grouped(
    judged: Sequence[Judged],
    passed: Sequence[bool | None],
    key: Callable[[Instance], Key | None],
    order: Sequence[Key],
) -> dict[Key, Score]:
    """The pass rate of each group that has instances, in the order given, unknown groups after it by alphabet."""
    groups: dict[Key, dict[str, list[bool | None]]] = {}
    for item, value in zip(judged, passed, strict=True):
        if (name := key(item.instance)) is not None:
            groups.setdefault(name, {}).setdefault(item.instance.id, []).append(value)
    return {name: over_instances(list(groups[name].values())) for name in ordered(groups, order)}


def _gathered(values: Sequence[T], places: Sequence[Sequence[int]]) -> list[list[T]]:
    """The values of each instance together; `places` are those of its responses."""
    return [[values[place] for place in of] for of in places]


def _mean(shares: Sequence[Sequence[float | None]]) -> Score:
    """The mean over instances of the mean share of their samples."""
    return rates.mean_share(list(map(mean, shares)))


def _joined(parts: Sequence[list[Label | None]]) -> list[Label | None]:
    """The labels of all turns of a response, or of all samples of an instance; those of a lone one as they are."""
    return parts[0] if len(parts) == 1 else list(chain.from_iterable(parts))


def _weighted(judged: Sequence[Judged], places: Sequence[Sequence[int]]) -> dict[str, Score]:
    """The weighted share, where the criteria are not all worth the same."""
    if all(verdict.criterion.weight == 1 for item in judged for turn in item.verdicts for verdict in turn):
        return {}
    return {"weighted": _mean(_gathered([rates.points_share(item.labels, item.weights) for item in judged], places))}


def _of_votes(judged: Sequence[Judged]) -> dict[str, Score]:
    """What votes say, where there are any."""
    cast = [(verdict.votes, verdict.label) for item in judged for turn in item.verdicts for verdict in turn]
    found = {"flip_rate": flip_score([votes for votes, _ in cast]), "vote_share": share_score(cast)}
    return {name: score for name, score in found.items() if score}


def _conflicting(judged: Sequence[Judged]) -> int:
    return sum(verdict.conflicting for item in judged for turn in item.verdicts for verdict in turn)


def _by_group(judged: Sequence[Judged], passed: Sequence[bool | None]) -> dict[str, dict[str, Score]]:
    """The pass rates by what the data tells of its instances; what it does not tell makes no group."""
    kinds: dict[str, tuple[Callable[[Instance], str | None], Sequence[str]]] = {
        "by_category": (lambda instance: instance.category or None, CATEGORIES),
        "by_language": (lambda instance: instance.language or None, LANGUAGES),
        "by_task": (_task, ()),
    }
    found = {name: grouped(judged, passed, key, order) for name, (key, order) in kinds.items()}
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


def _notes(overall: Score, official: Score, judged: Sequence[Judged], provenance: Mapping[str, Any]) -> tuple[str, ...]:
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
    if cut := sum(len(item.response.truncated) for item in judged):
        notes.append(f"{cut} answers were cut off at the token limit and judged as they stand.")
    if conflicting := _conflicting(judged):
        notes.append(
            f"{conflicting} criteria were given two labels in one answer of the judge, which was asked again; a response "
            "can provoke this."
        )
    if secrets := secrets_in(judged):
        notes.append(masked_note(secrets))
    if provenance.get("self_judged"):
        notes.append("Self-judged: model and judge belong to one family, which favours the model.")
    return (*notes, *_rules(judged, provenance), *weak_judges(judging_specs(provenance)))


def _rules(judged: Sequence[Judged], provenance: Mapping[str, Any]) -> list[str]:
    """What rules decided of the answers that there are."""
    how, panel = provenance.get("judging") or {}, provenance.get("panel") or {}
    asked = [turn for item in judged for turn in item.verdicts[: len(item.response.answers)]]
    if provenance.get("judge") == NOBODY:
        return without_judge(asked)
    votes = 1 if how.get("level") == "cascade" else how.get("votes", 1)
    count = len(panel.get("judges", [""]))
    return by_rules(asked, how.get("rules", "off"), how.get("level", ""), votes=votes, judges=count)
