"""The doors of the README to the Hugging Face stack, each opened by its own lines, with the clients that people use."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.support.finished import finished
from tests.support.hub_stub import HubStub
from tests.support.loopback import free_port
from tests.support.runs import ROOT

pytestmark = pytest.mark.slow
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOORS = dict(
    re.findall(r"\n\*\*([^*]+)\*\*:?,?(.*?)(?=\n\*\*|\n## )", README.partition("## On the Hugging Face")[2], re.S)
)


class Reader:
    """Somebody in a folder of their own, with a Hub on the loopback."""

    def __init__(self, folder: Path, hub: HubStub) -> None:
        self.folder, self.hub = folder, hub
        self.env = {**os.environ, **hub.env, "HF_HOME": str(folder / "home"), "COLUMNS": "200"}

    def truebench(self, line: str) -> str:
        """What a command prints."""
        return self.process("-m", "truebench_hf", *shlex.split(line, comments=True)[1:])

    def value(self, code: str) -> Any:
        """The value that Python code prints as JSON on its last line."""
        return json.loads(self.process("-c", code).splitlines()[-1])

    def process(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """A reader who has a finished run in runs/mine."""
    run = finished(tmp_path / "made", "ann", {"a": True, "b": False, "c": None})
    shutil.copytree(run, tmp_path / "runs" / "mine")
    with HubStub() as hub:
        yield Reader(tmp_path, hub)


def command_of(door: str) -> str:
    """The command that the README shows behind a door."""
    (line,) = re.findall(r"^truebench .*", DOORS[door], re.M)
    return str(line)


def test_every_door_is_opened_below() -> None:
    assert list(DOORS) == ["`load_dataset`", "`evaluate.load`", "The Space", "Pushing results", "Other tools"]


def test_a_built_set_is_loaded(reader: Reader) -> None:
    line = command_of("`load_dataset`")
    reader.truebench(line)
    (call,) = re.findall(r"load_dataset\(.*\)", line)
    code = f"import json; from datasets import load_dataset; print(json.dumps({call}.to_list()))"
    rows = reader.value(code)
    assert (len(rows), {len(row["criteria"]) == row["turns"] for row in rows}) == (36, {True})


def test_every_measure_is_loaded_without_network(reader: Reader) -> None:
    measures = re.findall(r"`(\w+)`", DOORS["`evaluate.load`"].partition("The measures are")[2].partition("```")[0])
    names = [name for name in measures if name != "stats"]
    (block,) = re.findall(r"```python\n(.*?)```", DOORS["`evaluate.load`"], re.S)
    reader.env |= dict.fromkeys(("HF_HUB_OFFLINE", "HF_EVALUATE_OFFLINE"), "1")
    before = len(reader.hub.requests)
    printed = reader.process("-c", "\n".join(block.replace("checklist_drfr", name) for name in names))
    assert len(printed.splitlines()) >= len(names) == 6
    assert len(reader.hub.requests) == before


def test_the_space_shows_the_runs(reader: Reader) -> None:
    command = [sys.executable, "-m", "truebench_hf", *shlex.split(command_of("The Space"))[1:]]
    env = reader.env | {"GRADIO_SERVER_PORT": str(free_port())}
    with subprocess.Popen(command, cwd=reader.folder, env=env, stdout=subprocess.PIPE, text=True) as space:
        try:
            assert space.stdout is not None
            (url,) = re.findall(r"^The Space is at (http://[\w.:]+)", space.stdout.readline())
            with urlopen(url, timeout=120) as answer:
                page = answer.read().decode()
        finally:
            space.terminate()
    assert "ann.json" in page


def test_results_are_pushed_and_loaded(reader: Reader) -> None:
    line = f"{command_of('Pushing results')} --force"  # of a scripted model
    assert "scores.parquet" in reader.truebench(line)
    assert not reader.hub.repos, "a dry run sends nothing"
    reader.truebench(line.replace("--dry-run", ""))
    assert reader.hub.repo("dataset", "ORG/results").private
    code = (
        'from datasets import load_dataset; print(load_dataset("ORG/results", split="results").to_pandas().to_json())'
    )
    table = reader.value(code)
    assert set(table["model"].values()) == {"ann.json"}
    assert reader.truebench("truebench publish results ORG/results --check").startswith("runs: 1, ")


def test_other_tools_read_the_tables(reader: Reader) -> None:
    reader.truebench(command_of("Other tools"))
    code = (
        "import json; from datasets import load_dataset; "
        'table = load_dataset("parquet", data_files="tables/verdicts.parquet", split="train"); print(json.dumps(len(table)))'
    )
    assert reader.value(code) == 3, "a row per verdict"
