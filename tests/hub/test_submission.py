"""Submitted judgments: whatever does not hold together is refused in one line that shows no path."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.runs import run_scores
from truebench_hf.errors import UserError
from truebench_hf.hub.submission import check_scores, validate
from truebench_hf.results.folder import Results
from truebench_hf.types import Score

Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def finished(runs: Path) -> Path:
    """A run over the whole of mini in which one model request fails and criteria on sentences are never met."""
    return runs / "whole"


@pytest.fixture
def rows(finished: Path) -> Rows:
    return [json.loads(line) for line in (finished / "judgments.jsonl").read_text().splitlines()]


def written(folder: Path, rows: Rows) -> Path:
    path = folder / "upload.tmp"  # uploads come under any name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_run_passes_and_its_scores_come_out_again(finished: Path, rows: Rows, tmp_path: Path) -> None:
    found = validate(finished / "judgments.jsonl", claimed=Results.open(finished).tables["scores"].rows)
    overall = found.report.scores["overall"]
    assert 0 < overall.value == run_scores(finished)["overall"]["value"] < 100  # type: ignore[union-attr,operator]
    assert (len(found.judged), found.notes) == (36, ("1 of 36 instances are unscored.",))
    assert found.data == "mini", "known by its hash, also where a conversation broke off"
    part = validate(written(tmp_path, rows[1:]))
    assert part.data is None
    assert any("not the whole of a known release" in note for note in part.notes)


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def _put(value: Any, place: int, *path: Any) -> Callable[[Rows], None]:
    """An edit of a row that puts a value under this path; a function takes what stands there."""

    def edit(rows: Rows) -> None:
        inner: Any = rows[place]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value(inner[path[-1]]) if callable(value) else value

    return edit


def _verdict(**fields: Any) -> Callable[[Rows], None]:
    return lambda rows: rows[1]["verdicts"][0][0].update(fields)


def _unanswered(rows: Rows) -> None:
    """A verdict on a turn that has no answer."""
    failed = next(row for row in rows if row["error"])
    for verdict in failed["verdicts"][-1]:
        verdict["label"] = "yes"
    failed["passed"] = True


def _broken_off(rows: Rows) -> None:
    """A conversation that ends with its first prompt."""
    row = next(row for row in rows if len(row["verdicts"]) > 1)
    row["messages"], row["passed"] = row["messages"][:1], None
    for verdict in (verdict for turn in row["verdicts"] for verdict in turn):
        verdict["label"] = None


BAD: dict[str, tuple[Callable[[Rows], Any], str]] = {
    "a verdict was turned over": (_put(lambda passed: not passed, 1, "passed"), "line 2: 'passed'"),
    "an instance stands twice": (lambda rows: rows.append(rows[0]), "stands twice"),
    "two models in one file": (_put("openai:other", 1, "model"), "line 2: another model"),
    "two judges in one file": (_put("openai:other", 2, "judge"), "line 3: another model or judge"),
    "a field is absent": (
        lambda rows: rows[0].pop("reasoning"),
        "line 1: not a line of judgments.jsonl: missing field",
    ),
    "a field too many": (lambda rows: rows[0].update(html="<script>"), "'html' is unknown"),
    "a label of its own": (_verdict(label="YES"), "'verdicts[0][0]."),
    "no probability at all": (_verdict(probability=7), "'verdicts[0][0]."),
    "true is no probability": (_verdict(probability=True), "'verdicts[0][0]."),
    "a message by nobody": (_put("tool", 1, "messages", 0, "role"), "'messages[0].role' is 'tool'"),
    "two answers in a row": (lambda rows: rows[1]["messages"].append(rows[1]["messages"][-1]), "line 2"),
    "no criterion in any turn": (lambda rows: rows[1].update(verdicts=[[]], passed=None), "line 2"),
    "no turns": (lambda rows: rows[1].update(verdicts=[], passed=None), "line 2"),
    "negative tokens": (_put(-1, 1, "usage", "model", "calls"), "'usage.model.calls' must be"),
    "a blank model": (lambda rows: [row.update(model=" ") for row in rows], "'model'"),
    "a name as long as a book": (lambda rows: [row.update(model="x" * 501) for row in rows], "'model'"),
    "half a character in a model's name": (lambda rows: [row.update(model="m\ud83c") for row in rows], "'model'"),
    "an id that is a number": (_put(1, 0, "id"), "'id'"),
    "nested beyond reading": (_put(_deep(400), 1, "reasoning"), "line 2"),
    "nested far beyond it": (_put(_deep(900), 1, "reasoning"), "line 2"),
    "a role of many lines": (lambda rows: rows[1]["usage"].update({"a\nb": 1}), "'usage.a"),
    "nothing": (lambda rows: rows.clear(), "no judged instances"),
    "a verdict on what was not answered": (_unanswered, "turn without an answer"),
    "prompts of turns that were never asked": (_broken_off, "field 'prompts' must give"),
}


@pytest.mark.parametrize("reason", BAD)
def test_what_does_not_hold_together(rows: Rows, tmp_path: Path, reason: str) -> None:
    change, message = BAD[reason]
    change(rows)
    with pytest.raises(UserError) as caught:
        validate(written(tmp_path, rows))
    assert message in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_may_be_otherwise(rows: Rows, tmp_path: Path) -> None:
    several = [row for row in rows if len(row["verdicts"]) > 1]
    asked = [message["content"] for message in several[0]["messages"] if message["role"] == "user"]
    _broken_off(rows)
    several[0]["prompts"] = [None, *asked[1:]]
    assert validate(written(tmp_path, rows)).data == "mini", "prompts that were never asked are told beside"
    several[1]["verdicts"][0] = []  # a turn without criteria
    several[1]["passed"] = all(verdict["label"] == "yes" for turn in several[1]["verdicts"] for verdict in turn)
    rows[1]["messages"][-1]["content"] = "Half of \ud83c."  # a model may answer so; it is published as a question mark
    checked = validate(written(tmp_path, rows))
    assert [len(item.verdicts[0]) for item in checked.judged if item.instance.id == several[1]["id"]] == [0]


def test_scores_that_do_not_follow(finished: Path) -> None:
    report = validate(finished / "judgments.jsonl").report
    claimed = [dict(row) for row in Results.open(finished).tables["scores"].rows]
    check_scores(report, claimed)
    overall, group = claimed[0], next(row for row in claimed if row["group"])
    for wrong, _ in (
        ([{**overall, "score": replace(overall["score"], value=99.9)}, *claimed[1:]], "another value"),
        ([{**overall, "score": replace(overall["score"], n=5)}, *claimed[1:]], "another number"),
        ([{**overall, "score": None}, *claimed[1:]], "no score"),
        (claimed[1:], "a score is missing"),
        ([row for row in claimed if row is not group], "one of a group is missing"),
        ([*claimed, {**group, "name": "XX", "score": Score(1.0, 1)}], "one more in a group"),
    ):
        with pytest.raises(UserError, match="scores: "):
            check_scores(report, wrong)


def test_type_and_size(finished: Path, tmp_path: Path) -> None:
    path = finished / "judgments.jsonl"
    for refused, message in (
        (lambda: validate(path, max_bytes=1000), "larger than"),
        (lambda: validate(path, name="run.zip"), r"give a judgments\.jsonl"),
        (lambda: validate(tmp_path / "absent"), "cannot be read"),
    ):
        with pytest.raises(UserError, match=message) as caught:
            refused()
        assert str(tmp_path) not in str(caught.value)
    for content in (b"\x00\x01", b"\xff\xfe{}", b"[" * 100_000, b"[]", b"{}", b"1", b"\n\n", b'{"id": 1e999}'):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(UserError):
            validate(tmp_path / "x")


def test_any_value_anywhere_is_refused_or_harmless(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> None:
    good, folder = rows[1:3], tmp_path_factory.mktemp("any")
    values: st.SearchStrategy[Any] = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
        max_leaves=4,
    )

    @given(st.sampled_from(sorted(good[0])), st.sampled_from([None, 0]), values)
    def check(field: str, inside: int | None, value: Any) -> None:
        changed = copy.deepcopy(good)
        if inside is not None and isinstance(changed[0][field], list) and changed[0][field]:
            changed[0][field][inside] = value
        else:
            changed[0][field] = value
        try:
            found = validate(written(folder, changed))
        except UserError:
            return
        assert len(found.judged) == 2

    check()
