"""A folder of results, read in one place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from truebench_hf.errors import UserError
from truebench_hf.results.folder import Results
from truebench_hf.types import Usage


def test_a_folder_tells_what_ran_and_what_was_spent(tmp_path: Path) -> None:
    spent = {"model": {"input_tokens": 5, "output_tokens": 2, "reasoning_tokens": 0, "calls": 1, "unknown_calls": 0}}
    info = {"kind": "tick", "settings": {"model": "m"}, "usage": {"now": {}, "total": spent}}
    (tmp_path / "run.json").write_text(json.dumps(info))
    found = Results.open(tmp_path)
    assert (found.kind, found.settings, found.is_finished) == ("tick", {"model": "m"}, True)
    assert found.spent == {"model": Usage(5, 2, 0, 1)}


@pytest.mark.parametrize("sessions", [[{"started": "now"}], [{"started": "now", "finished": None}], ["odd"]])
def test_one_that_was_broken_off_is_told(tmp_path: Path, sessions: list[object]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"sessions": sessions}))
    with pytest.raises(UserError, match="is not finished; repeat its command"):
        Results.open(tmp_path).check_finished()


def test_what_is_no_folder_of_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no run folder"):
        Results.open(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        Results.open(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("files", "found", "why"),
    [
        ({}, None, "nothing was judged"),
        ({"judgments.jsonl": "{}", "verdicts.jsonl": '{"messages": []}'}, "judgments.jsonl", "it goes first"),
        ({"verdicts.jsonl": '{"messages": []}'}, "verdicts.jsonl", "conversations of checklists and procedures"),
        ({"verdicts.jsonl": '{"label": "yes"}'}, None, "bare labels are no conversations"),
    ],
)
def test_the_file_of_judged_conversations(tmp_path: Path, files: dict[str, str], found: str | None, why: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content + "\n")
    file = Results(tmp_path, {}).judged_file
    assert (file and file.name) == found, why
