"""Answers that were given, not made here, are over the same data whoever gave them: models are ranked by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.finished import finished, numbered
from tests.support.runs import command_here, write_jsonl
from truebench_hf.comparing.compare import compare
from truebench_hf.comparing.leaderboard import leaderboard

PASSED = {"Ada": 16, "Ben": 4}  # of 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was asked, and the answers of two others."""
    folder = tmp_path_factory.mktemp("given")
    finished(folder, "Cid", numbered([n < 10 for n in range(20)]))
    return folder


def test_models_whose_answers_were_given_are_ranked_with_those_that_were_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model, passed in PASSED.items():
        answers = [
            {"id": f"q{n}", "response": f"{model} is {'right' if n < passed else 'wrong'} on q{n}"} for n in range(20)
        ]
        write_jsonl(folder / f"{model}.jsonl", answers if model == "Ada" else answers[::-1])
        done = command_here(
            capsys, "judge", "--data", str(folder / "data.jsonl"), "--responses", str(folder / f"{model}.jsonl"),
            "--model-name", model, "--judge", f"scripted:{folder / 'judge.json'}", "--out", str(folder / "runs" / model),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    found = compare(str(folder / "runs/Ada"), str(folder / "runs/Ben"))
    assert (found.differs, found.overall.difference.ahead, len(found.flips)) == ((), -1, 12)
    assert compare(str(folder / "runs/Ada"), str(folder / "runs/Cid")).differs == ()
    entries = leaderboard([str(folder / "runs")]).entries
    assert len({entry.setting for entry in entries}) == 1
    assert [(entry.name, entry.rank) for entry in entries] == [("Ada", 1), ("scripted:Cid.json", 2), ("Ben", 3)]


def test_other_answers_do_not_go_on_in_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They bind it all the same, though the data are the same."""
    write_jsonl(folder / "other.jsonl", [{"id": f"q{n}", "response": "Ada is wrong on it"} for n in range(20)])
    done = command_here(
        capsys, "judge", "--data", str(folder / "data.jsonl"), "--responses", str(folder / "other.jsonl"),
        "--model-name", "Ada", "--judge", f"scripted:{folder / 'judge.json'}", "--out", str(folder / "runs/Ada"),
    )  # fmt: skip
    assert done.returncode == 2
    assert "selection_sha256" in done.stderr
