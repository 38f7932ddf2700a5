"""What we export, read by the libraries of neighbours in environments of their own (`sh tests/integrations/setup.sh`)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.finished import golden
from tests.support.runs import ROOT, run_scores
from truebench_hf.integrations.export import export

pytestmark = pytest.mark.slow
ALONE = '=Of alone, "quoted"\nand on a second line.'
CRITERIA = """
import json, sys
from pathlib import Path
from verifiers.v1.judges.rubric import load_criteria, normalize_choice
found = load_criteria(Path(sys.argv[1]))
print(json.dumps([[one.name, one.text, one.weight, normalize_choice("yes", one.choices)] for one in found]))
"""


def python(name: str, *arguments: str, folder: Path = ROOT) -> Any:
    """What a script prints in the environment of that name, run in a folder."""
    program = ROOT / f".venv-{name}" / "bin" / "python"
    if not program.exists():
        pytest.skip(f"{program.parent.parent.name} is not there: sh tests/integrations/setup.sh")
    done = subprocess.run([str(program), *arguments], cwd=folder, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_log_of_inspect_comes_back_by_its_library_ours_and_datasets(tmp_path: Path) -> None:
    from datasets import load_dataset

    run = golden("export", tmp_path / "run")
    told = python("inspect", "tests/integrations/inspect_reads.py", run, str(tmp_path / "log"))
    scores = run_scores(Path(run))
    assert (told["status"], told["task"], told["scored"], told["table"]) == (
        "success",
        "truebench_hf/truebench",
        [2, 2],
        4,
    )
    assert told["metrics"]["overall"] == scores["overall"]["value"] == 0.5
    talk, alone, dark, gone = told["samples"]
    assert [one["id"] for one in told["samples"]] == [[1, "talk"], [2, "alone"], [3, "dark"], [4, "gone"]]
    assert (talk["input"], talk["value"]) == (["system", "user"], 1.0)
    assert talk["messages"] == ["system", "user", "assistant", "user", "assistant"]
    assert talk["explanation"].splitlines() == [
        "- Turn 1: **met**: is short — scripted: PASS", "- Turn 2: **met**: is kind — scripted: PASS", "- Turn 2: **not met** (a fault): is rude — scripted: FAIL",
    ]  # fmt: skip
    assert (alone["value"], alone["target"]) == (0.0, "Yes.")
    assert (dark["value"], gone["value"]) == (None, None), "unscored, never 0"
    assert "no judge" in dark["reason"]
    assert told["answers"] == {"talk": ["Of talk.", "Of talk."], "alone": ALONE, "dark": "Of dark.", "gone": None}

    # As a data set its loader takes whole numbers as ids alone, and one type a column, whichever rows come first.
    (log,) = (tmp_path / "log").glob("*.eval")
    rows = load_dataset("eval", data_files=str(log), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows["id"][:] == [1, 2, 3, 4]
    assert [json.loads(text)["instance_id"] for text in rows["metadata"]] == ["talk", "alone", "dark", "gone"]
    assert rows["target"][1] == "Yes."
    assert [json.loads(text)["content"] for text in rows["messages"][1]][-1] == ALONE


def test_rubrics_are_read_by_verifiers(tmp_path: Path) -> None:
    export(golden("export", tmp_path / "run"), "verifiers", tmp_path / "out")
    tasks = [json.loads(line) for line in (tmp_path / "out" / "tasks.jsonl").read_text().splitlines()]
    told = python("verifiers", "-c", CRITERIA, str(tmp_path / "out" / tasks[2]["rubric"]))
    assert [(name, weight, yes) for name, _, weight, yes in told] == [
        ("criterion_1", 3.0, 1.0),
        ("criterion_2", 2.0, 0.0),
    ]
    assert [name for name, *_ in told] == list(tasks[2]["metrics"])
