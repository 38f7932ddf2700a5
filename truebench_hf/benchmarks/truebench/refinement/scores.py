"""How far the judge agrees with people before the first round and after each, and what every round changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types.people import response_id
from truebench_hf.benchmarks.truebench.refinement.history import State, Version
from truebench_hf.benchmarks.truebench.refinement.worklist import Row, rows
from truebench_hf.benchmarks.truebench.validation.findings import Validation
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.kappa import cohen_kappa, kappa_interval

Labels = Mapping[str, bool | None]  # by response id: whether people pass it


@dataclass(frozen=True, slots=True)
class Round:
    """An instance after some round: its responses judged, and, where it was changed, what the validator says."""

    state: State
    judged: tuple[Judged, ...]
    validation: Validation | None


Done = tuple[Round, ...]  # an instance before any round, and after each


def name(judged: Judged) -> str:
    """The id of a response, by which people's labels know it; "" where it is not whole, and nobody was asked."""
    whole = judged.response.error is None and len(judged.response.answers) == len(judged.instance.turns)
    return response_id(judged.instance, judged.response) if whole else ""


def open_rows(done: Sequence[Done], labels: Labels, revisions: Sequence[Version]) -> list[Row]:
    """The work list after the last round, without what somebody looked at and left as it is."""
    kept = {one.row for one in revisions if one.change == "kept"}
    found = [
        row
        for one in done
        for row in rows(one[-1].state, [(j, name(j), labels.get(name(j))) for j in one[-1].judged], one[-1].validation)
    ]
    return [row for row in {row.id: row for row in found}.values() if row.id not in kept]


def scores(done: Sequence[Done], labels: Labels, revisions: Sequence[Version], listed: Sequence[Row]) -> dict[str, Any]:
    """The content of `refinement.json`. Kappas are of labelled responses that the judge decided."""
    rounds = len(done[0]) if done else 1
    last = [_compared(one[-1], labels) for one in done]
    both = [
        [pair for pair, after in zip(_compared(one[0], labels), pairs, strict=True) if None not in after[:2]]
        for one, pairs in zip(done, last, strict=True)
    ]
    open_ = Counter(row.what for row in listed)
    return {
        "instances": len(done),
        "responses": sum(len(one[0].judged) for one in done),
        "labelled": sum(labels.get(name(judged)) is not None for one in done for judged in one[0].judged),
        "rounds": [_round(number, done, labels, revisions) for number in range(rounds)],
        "before_on_the_same": _agreement([pair for pairs in both for pair in pairs]),
        "open": dict(open_),
        "clean": not listed and any(label is not None for label in labels.values()),
    }


def _compared(one: Round, labels: Labels) -> list[tuple[bool | None, bool | None, str]]:
    """(people, judge, instance) of every response."""
    return [(labels.get(name(judged)), judged.passed, judged.instance.id) for judged in one.judged]


def _agreement(pairs: Sequence[tuple[bool | None, bool | None, str]]) -> dict[str, Any]:
    human, judge = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = cohen_kappa(human, judge)
    labelled = [pair for pair in pairs if pair[0] is not None]
    return {
        "n": found.n,
        "kappa": found.value,
        "band": found.band,
        "ci95": kappa_interval(human, judge, [pair[2] for pair in pairs]),
        "people_fail_judge_passes": sum(pair[:2] == (False, True) for pair in labelled),
        "people_pass_judge_fails": sum(pair[:2] == (True, False) for pair in labelled),
        "not_judged": sum(pair[1] is None for pair in labelled),
        "not_labelled": len(pairs) - len(labelled),
    }


def _round(number: int, done: Sequence[Done], labels: Labels, revisions: Sequence[Version]) -> dict[str, Any]:
    agreement = _agreement([pair for one in done for pair in _compared(one[number], labels)])
    validated = [one[number].validation for one in done]
    found = [one for one in validated if one]
    mine = [one for one in revisions if one.round == number]
    changes = Counter("prompts" if one.criterion is None and one.change != "kept" else one.change for one in mine)
    return {"round": number} | agreement | {
        "changes": {kind: changes[kind] for kind in ("revised", "removed", "added", "prompts", "kept")},
        "kinds": dict(Counter(one.kind for one in mine)),
        "validated": len(found),
        "validated_clean": sum(one.label is not None and not one.findings for one in found),
        "validation_undecided": sum(one.label is None for one in found),
        "findings": dict(Counter(finding.kind for one in found for finding in one.findings)),
    }  # fmt: skip
