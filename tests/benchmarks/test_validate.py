"""`truebench study validate`: what it writes, what it measures of a validator, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import calls_by_role, command_here, held, row, script, write_jsonl
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.truebench.validation import (
    ALWAYS,
    SUBSETS,
    ablation_frame,
    edit_rates,
    subset_scores,
)
from truebench_hf.benchmarks.truebench.validator import (
    ASPECTS,
    Edit,
    Finding,
    Label,
    Validated,
    Validation,
    edited_rows,
    kinds,
    read_edits,
)
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Turn

ALL = tuple(ASPECTS)
EMPTY: dict[str, Any] = {"errors": [], "excessive": [], "missing": [], "composite": []}


def instances(count: int = 24) -> list[Instance]:
    """Made instances of four criteria, two of which edits may be about."""
    found = []
    for number in range(count):
        criteria = (f"It has {3 + number} lines.", "It is in German.", "It must include rivers.", "It rhymes.")
        turn = Turn(f"Subject {number}: write {3 + number} lines on rivers in German.", tuple(map(Criterion, criteria)))
        found.append(Instance(f"made-{number}", "EN", "Editing", "Rewrite", (turn,)))
    return found


def edits(count: int) -> list[dict[str, Any]]:
    """Edits of the made instances, of every kind in turn, and half of them left as they are."""
    made: list[dict[str, Any]] = []
    for number in range(count):
        edit = ("E1", "unedited", "E2", "unedited", "E3", "unedited")[number % 6]
        more: dict[str, Any] = {"unedited": {}, "E3": {"turn": 1, "criterion": 2}}.get(
            edit, {"turn": 1, "criterion": 1}
        )
        if edit == "E1":
            more |= {"at": 7, "was": f"{3 + number} ", "now": "99 "}
        if edit == "E2":
            more |= {"text": "It has a heading."}
        made.append({"id": f"made-{number}", "edit": edit} | more)
    return made


# Scores.


def found(label: Label | None, *findings: Finding) -> Validation:
    return Validation(label, kinds(ALL), findings)


Said = Sequence[tuple[str, Validation]]
FULL = ", ".join(ALL)


def validated(table: Said) -> list[Validated]:
    """Made instances with such an edit of their second criterion, and what the validator says of them."""
    return [
        Validated(one, Edit.model_validate({"id": one.id, "edit": edit, "turn": 1, "criterion": 2}), {ALL: validation})
        for one, (edit, validation) in zip(instances(len(table)), table, strict=True)
    ]


def reached(table: Said, aspects: str = FULL) -> dict[str, Any]:
    """What the validator reaches on these rows; {} where there are none."""
    return next((row for row in subset_scores(ablation_frame(validated(table))) if row["aspects"] == aspects), {})


HIT = {kind: Finding(kind, 1, 2, "x", ()) for kind in ("E1", "E2")} | {"E3": Finding("E3", 1, None, "x", ("y",))}  # type: ignore[arg-type]


def test_scores_by_hand() -> None:
    table: Said = [
        ("E1", found("FAIL", HIT["E1"])),  # right
        ("E1", found("FAIL", HIT["E2"])),  # for another reason
        ("E1", found("PASS")),
        ("E2", found("FAIL", Finding("E2", 1, 1, "x", ()))),  # at another place
        ("E3", found("FAIL", HIT["E3"])),
        ("E3", found(None)),
        ("unedited", found("FAIL", HIT["E1"])),
        ("unedited", found("PASS")),
        ("unedited", found("PASS")),
        ("unedited", found(None)),
    ]
    scores = reached(table)
    # tp 4, fn 1, fp 1, tn 2, undecided 2
    assert scores["f1"].value == pytest.approx(8 / 10)
    assert (scores["f1"].n, scores["f1"].unscored) == (8, 2)
    strict = scores["f1_strict"].value
    assert strict == pytest.approx(8 / 12), "an undecided E3 is missed, an undecided faultless row flagged"
    assert scores["precision"].value == pytest.approx(0.8)
    assert scores["recall"].value == pytest.approx(0.8)
    assert scores["balanced_accuracy"].value == pytest.approx((4 / 5 + 2 / 3) / 2)
    rates = {row["edit"]: row for row in edit_rates(ablation_frame(validated(table)))}
    flagged = {kind: (row["flagged"].value, row["flagged"].n, row["flagged"].unscored) for kind, row in rates.items()}
    assert flagged["E1"] == (pytest.approx(2 / 3), 3, 0)
    assert flagged["E3"] == (1, 1, 1)
    assert flagged["unedited"] == (pytest.approx(1 / 3), 3, 1)
    assert [rates[kind]["named"].value for kind in ("E1", "E2", "E3")] == [pytest.approx(1 / 3), 1, 1]
    assert [rates[kind]["placed"].value for kind in ("E1", "E2", "E3")] == [pytest.approx(1 / 3), 0, 1]
    assert rates["unedited"]["named"] is None


FAULTS, PASSED = [("E1", found("PASS"))] * 15, [("unedited", found("PASS"))] * 15


@pytest.mark.parametrize(
    ("table", "aspects", "f1", "why"),
    [
        ([("unedited", found("PASS"))], FULL, None, "nothing to find, and nothing found"),
        ([("E1", found("PASS"))], FULL, 0, "nothing found"),
        ([("E1", found(None)), ("unedited", found(None))], FULL, None, "nothing read"),
        ([("E1", found("FAIL", HIT["E1"]))], FULL, 1, "a single row"),
        ([*FAULTS, *PASSED], ALWAYS, pytest.approx(2 / 3), "saying FAIL to everything, of which half is"),
    ],
)
def test_scores_at_the_edges(table: Said, aspects: str, f1: float | None, why: str) -> None:
    scores = reached(table, aspects)
    assert scores["f1"].value == f1, why
    assert (scores["f1"].ci95 is None) == (len(table) < 10), why


# The command.


@scenarios(__file__, "validate")
def test_the_command(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def test_the_ablation_asks_under_every_set_of_aspects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = [
        row(one.id, [(turn.prompt, [c.text for c in turn.criteria]) for turn in one.turns]) for one in instances(12)
    ]
    data, out = write_jsonl(tmp_path / "d.jsonl", every), tmp_path / "out"
    reply = json.dumps({"verdict": "PASS", **EMPTY})  # lists that nobody asked for are no contradiction
    spec = script(tmp_path / "v.json", [{"contains": "", "reply": reply}])
    known = write_jsonl(tmp_path / "edits.jsonl", edits(12))
    done = command_here(
        capsys, "study", "validate", "--data", data, "--validator", spec, "--ablation", known, "--out", str(out)
    )
    assert done.returncode == 0, done.stderr
    assert "always FAIL" in done.stdout
    result = held(out / "scores.json")
    assert {row["edit"]: row["rows"] for row in result["edits"]} == {"E1": 2, "E2": 2, "E3": 2, "unedited": 6}
    assert calls_by_role(out) == {"validator": 12 * 8}
    assert [row["f1"]["value"] for row in result["aspects"][:8]] == [0] * 8
    asked = held(out / "validations.jsonl")
    assert Counter(tuple(one["aspects"]) for one in asked) == dict.fromkeys(SUBSETS, 12)
    assert {one["edit"]["edit"] for one in asked} == {"E1", "E2", "E3", "unedited"}


def test_an_edit_is_done_to_its_criterion_and_to_nothing_else() -> None:
    every = instances(6)
    rows = edited_rows(every, [Edit.model_validate(edit) for edit in reversed(edits(6))])
    texts = [[criterion.text for criterion in row.instance.turns[0].criteria] for row in rows]
    same = [[criterion.text for criterion in one.turns[0].criteria] for one in every]
    assert texts[0] == ["It has 99 lines.", *same[0][1:]]
    assert texts[2] == ["It has a heading.", *same[2]]
    assert texts[4] == [same[4][0], *same[4][2:]], "the second one is gone"
    assert [texts[place] for place in (1, 3, 5)] == [same[place] for place in (1, 3, 5)]
    assert [(row.instance.id, row.edit.edit) for row in rows[:3]] == [
        ("made-0", "E1"), ("made-1", "unedited"), ("made-2", "E2"),
    ]  # fmt: skip
    assert edited_rows(every, [Edit(id="another", edit="unedited")]) == []


@each_row(__file__, "validate", "impossible")
def test_edits_that_cannot_be_done_are_named(tmp_path: Path, edit: dict[str, Any], told: str) -> None:
    file = write_jsonl(tmp_path / "edits.jsonl", [{"id": "x", "edit": "unedited"}, {"id": "made-0"} | edit])
    with pytest.raises(UserError) as caught:
        edited_rows(instances(1), read_edits(file))
    assert told in str(caught.value)
