"""How far the judge agrees with people before the first round and after each, and what every round changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types.people import response_id
from truebench_hf.benchmarks.truebench.refinement.history import State, Version
from truebench_hf.benchmarks.truebench.refinement.worklist import Row, rows
from truebench_hf.benchmarks.truebench.validation.validator import Validation
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.kappa import cohen_kappa, kappa_interval
from truebench_hf.report.sections import Cells, Grid, Section, fixed

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


_SHOWN = 20  # rows of the work list
_Found = Mapping[str, Any]


def sections(result: _Found, listed: Sequence[Row]) -> list[Section]:
    """Kappa by round; what was changed and found; what is open."""
    shown: list[Section] = [_agreement_grid(result)] if result["labelled"] else []
    if len(result["rounds"]) > 1:
        shown += [_changes(result["rounds"][1:]), _validated(result["rounds"][1:])]
    return [*shown, *([_open(listed)] if listed else [])]


def _agreement_grid(result: _Found) -> Grid:
    rows = [_line(_named(one["round"]), one) for one in result["rounds"]]
    same, first, last = result["before_on_the_same"], result["rounds"][0], result["rounds"][-1]
    if len(rows) > 1 and same["n"] != first["n"]:
        rows.append(_line("before, on what the last round has", same))
    note = "Judge and people on whole responses; intervals are by instance."
    if len(rows) > 1:
        note += (
            " The criteria were changed to agree with these very labels: kappa on other responses will be lower, and wants labels "
            "of its own."
        )
    if last["not_judged"] or last["not_labelled"]:
        note += (
            f" After the last round {last['not_judged']} labelled responses are not judged, and {last['not_labelled']} have no "
            "label; neither counts."
        )
    header = (
        "", "responses", "people FAIL, judge passes", "people PASS, judge fails", "kappa", "95 % interval", "in words",
    )  # fmt: skip
    return Grid("Cohen's kappa of judge and people", header, tuple(rows), note=note)


def _line(named: str, one: _Found) -> Cells:
    ends = "" if one["ci95"] is None else f"{one['ci95'][0]:.2f} to {one['ci95'][1]:.2f}"
    wrong = (one["people_fail_judge_passes"], one["people_pass_judge_fails"])
    return (named, one["n"], *wrong, fixed(one["kappa"], 3), ends, one["band"] or "-")


def _named(round: int) -> str:
    return "before" if round == 0 else f"after round {round}"


def _changes(rounds: Sequence[_Found]) -> Grid:
    names = tuple(rounds[0]["changes"])
    rows = tuple((one["round"], *(one["changes"][name] for name in names)) for one in rounds)
    note = "Criteria, but for prompts. Kept: looked at, and left as it is."
    return Grid("What people changed", ("round", *names), rows, note=note)


def _validated(rounds: Sequence[_Found]) -> Grid:
    rows = tuple(
        (
            one["round"], one["validated"], one["validated_clean"], one["validation_undecided"],
            ", ".join(f"{kind} {count}" for kind, count in one["findings"].items()) or "none",
        )
        for one in rounds
    )  # fmt: skip
    header = ("round", "changed instances", "clean", "undecided", "findings")
    note = "Every instance that differs from the data, as it stands after the round. The findings are on the work list."
    return Grid("What the validator says of changed instances", header, rows, note=note)


def _open(listed: Sequence[Row]) -> Grid:
    rows = tuple((row.instance, row.model or "-", row.what, " | ".join(row.choices)) for row in listed[:_SHOWN])
    note = f"And {len(listed) - _SHOWN} more." if len(listed) > _SHOWN else ""
    return Grid(f"Open on the work list: {len(listed)}", ("instance", "model", "what", "choices"), rows, note=note)
