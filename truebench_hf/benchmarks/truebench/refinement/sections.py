"""What the report of a refinement shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.truebench.refinement.worklist import Row
from truebench_hf.report.sections import Cells, Grid, Section, fixed

_SHOWN = 20  # rows of the work list
_Found = Mapping[str, Any]


def sections(result: _Found, listed: Sequence[Row]) -> list[Section]:
    """Kappa by round; what was changed and found; what is open."""
    shown: list[Section] = [_agreement(result)] if result["labelled"] else []
    if len(result["rounds"]) > 1:
        shown += [_changes(result["rounds"][1:]), _validated(result["rounds"][1:])]
    return [*shown, *([_open(listed)] if listed else [])]


def _agreement(result: _Found) -> Grid:
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
