"""What reading cost is told by every study: counts, and bounds that hold whatever the unread labels are."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import command_here, row, script, write_jsonl
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.models.caller import ReadingCost
from truebench_hf.study.notes import reading_record, reading_table


def options(folder: Path) -> tuple[str, ...]:
    """A run: `a` is read at the second answer, both criteria of `b` never, those of `c` (PASS, FAIL) at once."""
    criteria = {"a": ["is short"], "b": ["is short", "is kind"], "c": ["is short", "is kind"]}
    rows = [row(name, [(f"Say {name}.", texts)]) for name, texts in criteria.items()]
    judge = [
        {"contains": ["cannot be used", "criteria_2"], "reply": "I would rather not."},
        {"contains": "cannot be used", "reply": '{"criteria_1": "PASS"}'},
        {"contains": "Say c.", "verdicts": {"kind": "FAIL"}},
    ]
    return (
        "run", "--data", write_jsonl(folder / "d.jsonl", rows), "--model", script(folder / "m.json", [], {"reply": "So."}),
        "--judge", script(folder / "j.json", judge, {"reply": "Hm."}), "--out", str(folder / "out"), "--rules", "off",
    )  # fmt: skip


def reading(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "run.json").read_text())["reading"]
    return found


def test_a_run_says_what_reading_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, *options(tmp_path))
    counts = reading(tmp_path)["judge"]
    assert {name: counts[name] for name in ("labels", "again", "unread")} == {"labels": 5, "again": 1, "unread": 2}
    # Two of five are yes, and two more would be if all that is unread were.
    assert counts["yes_bounds"] == [0.4, 0.8]
    line = (
        "Reading: of 5 labels 1 came from a later answer, 2 stayed unread; the share of yes is 40.0 to 80.0 %, whatever "
        "those are."
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert line in done.stdout
    assert line in page
    assert "How well the judges' answers could be read" in html.unescape(page)


def test_where_all_was_read_at_once_there_is_no_table_of_reading() -> None:
    at_once = {"judge": ("j", ReadingCost(labels=5, yes=3))}
    assert reading_table(reading_record(at_once)) == []
    later = {"judge": ("j", ReadingCost(labels=5, yes=3, again=1))}
    assert len(reading_table(reading_record(later))) == 1


def test_a_replay_counts_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = options(tmp_path)
    command_here(capsys, *arguments)
    before = reading(tmp_path)
    command_here(capsys, *arguments)
    assert json.loads((tmp_path / "out" / "run.json").read_text())["usage"]["now"] == {}
    assert reading(tmp_path) == before


def test_thinking_that_schemas_turn_off_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that reasons as the model under test, where no schema is sent, and not as the judge."""
    data = write_jsonl(tmp_path / "d.jsonl", [row("a", [("Say a.", ["is short"])])])
    with OpenAIServer() as server:
        server.add_scripts([{"contains": "Say a.", "message": {"reasoning_content": "Hm, a."}, "times": 1}])
        command = (
            "run", "--data", data, "--model", "openai:same", "--model-base-url", server.url, "--judge", "openai:same",
            "--judge-base-url", server.url, "--out", str(tmp_path / "out"), "--rules", "off",
        )  # fmt: skip
        done = command_here(capsys, *command)
    assert "openai:same gave reasoning without a JSON schema and none with one" in done.stdout
    assert "--structured off" in done.stdout


@pytest.mark.parametrize(
    ("labels", "offered", "bounds"),
    [
        (["yes", "no", None, None], ["yes", "no"], (0.25, 0.75)),
        (["yes", "unknown"], ["yes", "no", "unknown"], (0.5, 0.5)),
        ([True, None], [True, False], (0.5, 1.0)),
        ([1, 5, None], range(1, 6), None),  # ratings; 1 is no yes
        (["tie"], ["win", "loss", "tie"], None),
    ],
)
def test_bounds_of_yes(labels: list[object], offered: list[object], bounds: tuple[float, float] | None) -> None:
    """A label that is None here was in none of the answers."""
    cost, keys = ReadingCost(), [f"criteria_{number}" for number in range(1, len(labels) + 1)]
    read = {key: label for key, label in zip(keys, labels, strict=True) if label is not None}
    cost.add(SignedAnswer(read), dict.fromkeys(keys, offered))
    assert cost.share_of_yes == bounds
    assert (cost.labels, cost.unread) == (len(labels), labels.count(None))


def test_what_failed_was_never_read() -> None:
    cost = ReadingCost()
    cost.add(SignedAnswer({}, failed=True), {"rating": [1, 2]})
    assert cost == ReadingCost()
