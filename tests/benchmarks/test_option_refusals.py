"""What every command and `truebench_hf.run` refuse before a folder is opened: the table is `refusals.yaml`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.arbitration import panel_specs, table_rows
from tests.support.corpus import options_of, table
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.cli.studies import load
from truebench_hf.errors import UserError

TABLE: dict[str, Any] = dict(table(__file__, "refusals"))
FILES: dict[str, Any] = TABLE.pop("files")
# By file of labelled rubrics: what differs in all of its rows from those of rubric_mini.
RUBRICS: dict[str, dict[str, Any]] = {
    "rubrics": {}, "unlabelled": {"label": None}, "all_met": {"label": "yes"}, "one_instruction": {"instruction_id": "same"},
}  # fmt: skip
CASES = [(name, study["plain"], case) for name, study in TABLE.items() for case in study["cases"]]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that options of the table name."""
    folder = tmp_path_factory.mktemp("inputs")
    panel_specs(folder)
    for name in ("judge", "bob"):
        script(folder / f"{name}.json", [])
    rubrics = mini_rows()[:40]
    for name, change in RUBRICS.items():
        write_jsonl(folder / f"{name}.jsonl", [row | change for row in rubrics])
    write_jsonl(folder / "bare.jsonl", [row | {"response": None} for row in table_rows()])
    (folder / "flex").mkdir()
    for file, content in FILES.items():
        path = folder / file
        path.write_text(content) if isinstance(content, str) else write_jsonl(path, content)
    return folder


def play(name: str, values: dict[str, Any]) -> None:
    if name.startswith("truebench_hf.run"):
        truebench_hf.run(**values)
        return
    options, study = load(name)
    chosen = options(**options_of(values))
    assert name != "judge" or chosen.settings  # what its folder holds comes later
    study(chosen).run()


@pytest.mark.parametrize(("name", "plain", "case"), CASES, ids=[f"{name}: {case['words']}" for name, _, case in CASES])
def test_it_is_refused_and_nothing_is_written(
    inputs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    plain: dict[str, Any],
    case: dict[str, Any],
) -> None:
    monkeypatch.chdir(shutil.copytree(inputs, tmp_path / "here"))
    if "rows" in case:
        write_jsonl(Path("data.jsonl"), case["rows"] or [" "])
    values = {"out": "out"} | plain | case.get("more", {})
    if values["out"] is None:
        del values["out"]
    with pytest.raises(UserError, match=case["words"]):
        play(name, values)
    assert case.get("opened") or not Path("out").exists(), "the right command may use the folder"
