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

from tests.support.runs import run_scores, script
from truebench_hf import run
from truebench_hf.benchmarks.truebench import data
from truebench_hf.errors import UserError
from truebench_hf.hub import submission
from truebench_hf.hub.submission import check_scores, validate
from truebench_hf.results.folder import Results
from truebench_hf.types import Score

Rows = list[dict[str, Any]]
OFFICIAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the whole of mini in which one model request fails and criteria on sentences are never met."""
    folder = tmp_path_factory.mktemp("run")
    first = data.load("mini")[0]
    rules = [{"contains": first.turns[0].prompt[:40], "error": "the server at http://10.0.0.4:8000/v1 is down"}]
    model = script(folder / "model.json", rules, {"reply": "Answer 🍵."})
    judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {"sentence": "FAIL"}}])
    run(data="mini", model=model, judge=judge, out=str(folder / "out"), judge_level="checklist")
    return folder / "out"


def rows_of(finished: Path) -> Rows:
    return [json.loads(line) for line in (finished / "judgments.jsonl").read_text().splitlines()]


def written(folder: Path, rows: Rows) -> Path:
    path = folder / "upload.tmp"  # uploads come under any name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_run_passes_and_its_scores_come_out_again(finished: Path) -> None:
    found = validate(finished / "judgments.jsonl", claimed=Results.open(finished).tables["scores"].rows)
    overall = found.report.scores["overall"]
    assert overall.value == run_scores(finished)["overall"]["value"]  # type: ignore[union-attr]
    assert 0 < overall.value < 100  # type: ignore[union-attr,operator]
    assert len(found.judged) == 36
    assert found.notes == ("1 of 36 instances are unscored.",)
    assert found.model.startswith("scripted:")


def test_known_data_is_recognised_by_its_hash(finished: Path, tmp_path: Path) -> None:
    found = validate(finished / "judgments.jsonl")
    assert found.data == "mini", "also where a conversation broke off"
    part = validate(written(tmp_path, rows_of(finished)[1:]))
    assert part.data is None
    assert any("not the whole of a known release" in note for note in part.notes)


def test_the_pinned_hash_is_that_of_the_real_release() -> None:
    if not OFFICIAL.exists():
        pytest.skip("the real file ../shared/data/truebench/TRUEBench-v0.6.1.jsonl is not here")
    assert submission.known_data(data.data_hash(data.load(str(OFFICIAL)))) == "v0.6.1"


def _edit(place: int, change: Callable[[dict[str, Any]], Any]) -> Callable[[Rows], None]:
    def edit(rows: Rows) -> None:
        change(rows[place])

    return edit


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


BAD: list[tuple[str, Callable[[Rows], Any], str]] = [
    ("a verdict was turned over", _edit(1, lambda r: r.update(passed=not r["passed"])), "line 2: 'passed'"),
    ("an instance stands twice", lambda rows: rows.append(rows[0]), "stands twice"),
    ("two models in one file", _edit(1, lambda r: r.update(model="openai:other")), "line 2: another model"),
    ("two judges in one file", _edit(2, lambda r: r.update(judge="openai:other")), "line 3: another model or judge"),
    (
        "a field is absent",
        _edit(0, lambda r: r.pop("reasoning")),
        "line 1: not a line of judgments.jsonl: missing field 'reasoning'",
    ),
    ("a field too many", _edit(0, lambda r: r.update(html="<script>")), "'html' is unknown"),
    ("a label of its own", _edit(1, lambda r: r["verdicts"][0][0].update(label="YES")), "'verdicts[0][0]."),
    ("a label that is a list", _edit(1, lambda r: r["verdicts"][0][0].update(label=["yes"])), "'verdicts[0][0]."),
    ("no probability at all", _edit(1, lambda r: r["verdicts"][0][0].update(probability=7)), "'verdicts[0][0]."),
    ("true is no probability", _edit(1, lambda r: r["verdicts"][0][0].update(probability=True)), "'verdicts[0][0]."),
    ("a message by nobody", _edit(1, lambda r: r["messages"][0].update(role="tool")), "'messages[0].role' is 'tool'"),
    ("two answers in a row", _edit(1, lambda r: r["messages"].append(r["messages"][-1])), "line 2"),
    ("no criterion in any turn", _edit(1, lambda r: r.update(verdicts=[[]], passed=None)), "line 2"),
    ("no turns", _edit(1, lambda r: r.update(verdicts=[], passed=None)), "line 2"),
    ("negative tokens", _edit(1, lambda r: r["usage"]["model"].update(calls=-1)), "'usage.model.calls' must be"),
    (
        "tokens that are a text",
        _edit(1, lambda r: r["usage"]["model"].update(calls="1")),
        "'usage.model.calls' must be",
    ),
    ("a blank model", lambda rows: [row.update(model=" ") for row in rows], "'model'"),
    ("a name as long as a book", lambda rows: [row.update(model="x" * 501) for row in rows], "'model'"),
    ("half a character in a model's name", lambda rows: [row.update(model="m\ud83c") for row in rows], "'model'"),
    ("half a character in an id", _edit(0, lambda r: r.update(id="\udfff")), "none of them half a character"),
    ("an id that is a number", _edit(0, lambda r: r.update(id=1)), "'id'"),
    ("nested beyond reading", _edit(1, lambda r: r.update(reasoning=_deep(400))), "line 2"),
    ("nested far beyond it", _edit(1, lambda r: r.update(reasoning=_deep(900))), "line 2"),
    ("a role of many lines", _edit(1, lambda r: r["usage"].update({"a\nb": 1})), "'usage.a"),
    ("nothing", lambda rows: rows.clear(), "no judged instances"),
]


@pytest.mark.parametrize(("reason", "change", "message"), BAD, ids=[bad[0] for bad in BAD])
def test_what_does_not_hold_together(
    finished: Path, tmp_path: Path, reason: str, change: Callable[[Rows], Any], message: str
) -> None:
    rows = rows_of(finished)
    change(rows)
    with pytest.raises(UserError) as caught:
        validate(written(tmp_path, rows))
    assert message in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_verdict_on_a_turn_that_has_no_answer(finished: Path, tmp_path: Path) -> None:
    rows = rows_of(finished)
    failed = next(row for row in rows if row["error"])
    for verdict in failed["verdicts"][-1]:
        verdict["label"] = "yes"
    failed["passed"] = True
    with pytest.raises(UserError, match="turn without an answer"):
        validate(written(tmp_path, rows))


def test_the_prompts_of_turns_that_were_never_asked_are_needed(finished: Path, tmp_path: Path) -> None:
    rows = rows_of(finished)
    row = next(row for row in rows if len(row["verdicts"]) > 1)
    asked = [message["content"] for message in row["messages"] if message["role"] == "user"]
    row["messages"] = row["messages"][:1]
    for verdict in (verdict for turn in row["verdicts"] for verdict in turn):
        verdict["label"] = None
    row["passed"] = None
    with pytest.raises(UserError, match="field 'prompts' must give"):
        validate(written(tmp_path, rows))
    row["prompts"] = [None, *asked[1:]]
    assert validate(written(tmp_path, rows)).data == "mini"


def test_a_turn_may_have_no_criteria(finished: Path, tmp_path: Path) -> None:
    rows = rows_of(finished)
    row = next(row for row in rows if len(row["verdicts"]) > 1)
    row["verdicts"][0] = []
    row["passed"] = all(verdict["label"] == "yes" for turn in row["verdicts"] for verdict in turn)
    checked = validate(written(tmp_path, rows))
    assert [len(item.verdicts[0]) for item in checked.judged if item.instance.id == row["id"]] == [0]


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


def test_an_answer_may_hold_half_a_character(finished: Path, tmp_path: Path) -> None:
    rows = rows_of(finished)
    rows[1]["messages"][-1]["content"] = "Half of \ud83c."  # a model may answer so; it is published as a question mark
    assert len(validate(written(tmp_path, rows)).judged) == 36


def test_type_and_size(finished: Path, tmp_path: Path) -> None:
    path = finished / "judgments.jsonl"
    with pytest.raises(UserError, match="larger than"):
        validate(path, max_bytes=1000)
    with pytest.raises(UserError, match=r"give a judgments\.jsonl"):
        validate(path, name="run.zip")
    with pytest.raises(UserError, match="cannot be read") as caught:
        validate(tmp_path / "absent")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"\x00\x01", b"\xff\xfe{}", b"[" * 100_000, b"[]", b"{}", b"1", b"\n\n", b'{"id": 1e999}']
)
def test_hostile_bytes(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UserError):
        validate(tmp_path / "x")


def test_any_value_anywhere_is_refused_or_harmless(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    good, folder = rows_of(finished)[1:3], tmp_path_factory.mktemp("any")
    values: st.SearchStrategy[Any] = st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
        max_leaves=4,
    )

    @given(st.sampled_from(sorted(good[0])), st.sampled_from([None, 0]), values)
    def check(field: str, inside: int | None, value: Any) -> None:
        rows = copy.deepcopy(good)
        if inside is not None and isinstance(rows[0][field], list) and rows[0][field]:
            rows[0][field][inside] = value
        else:
            rows[0][field] = value
        try:
            found = validate(written(folder, rows))
        except UserError:
            return
        assert len(found.judged) == 2

    check()
