"""What every command and `truebench_hf.run` refuse before a folder is opened (`refusals.yaml`), and what becomes of replaced prompts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.arbitration import panel_specs, table_rows
from tests.support.corpus import options_of, table
from tests.support.runs import Done, command_here, row, script, write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.cli.studies import load
from truebench_hf.errors import UserError
from truebench_hf.prompts import Prompts

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


# `--prompt`: the text is kept in `run.json`, and a bad one is refused before anything is paid

COMMANDS: dict[str, dict[str, str]] = table(__file__, "replaced_prompts")["commands"]


def _rows() -> list[dict[str, Any]]:
    checklist = ["is good", "is bad"]
    return [
        {
            "id": f"i{number}-c{index}", "instruction_id": f"i{number}", "response_id": f"i{number}-r0",
            "instruction_category": "constrained", "messages": [{"role": "user", "content": f"Instruction {number}"}],
            "response": f"Answer {number}", "checklist": checklist, "rubric_index": index, "rubric": text,
            "label": "yes" if index == 0 else "no",
        }
        for number in range(5)
        for index, text in enumerate(checklist)
    ]  # fmt: skip


class Commands:
    """The commands on small data, their models scripted: `b` is of another opinion than `a`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        write_jsonl(folder / "rows.jsonl", _rows())
        write_jsonl(folder / "official.jsonl", [row(1, [("Say A.", ["is good"])])])
        kind = '1. So.\n```json\n{"criteria_1": "style_tone"}\n```'
        self.specs = {
            name: script(
                folder / f"{name}.json",
                [{"contains": "<criteria", "verdicts": {bad: "FAIL"}}, {"contains": "<requirement", "reply": kind}],
            )
            for name, bad in (("a", "is bad"), ("b", "is good"), ("c", "is bad"), ("d", "is bad"))
        }

    def __call__(self, name: str, *more: str) -> Done:
        arguments = [text.format(tmp=self.folder, **self.specs) for text in COMMANDS[name]["line"].split()]
        out = () if "--out" in more else ("--out", str(self.folder / "out"))
        return command_here(self._capsys, *arguments, *out, *more)

    def generate(self) -> None:
        """What `judge` judges."""
        arguments = ["--data", str(self.folder / "official.jsonl"), "--model", self.specs["a"]]
        assert (
            command_here(self._capsys, "study", "generate", *arguments, "--out", str(self.folder / "out")).returncode
            == 0
        )

    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = json.loads((self.folder / "out" / "run.json").read_text())
        return info


@pytest.fixture
def commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path, capsys)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_text_and_the_path_of_a_replaced_prompt_are_kept(commands: Commands, tmp_path: Path, name: str) -> None:
    if name == "judge":
        commands.generate()
    prompt, mine = COMMANDS[name]["prompt"], tmp_path / "mine.jinja"
    mine.write_text(f"My own words.\n{Prompts().source(prompt)}")
    done = commands(name, "--prompt", f"{prompt}={mine}")
    assert done.returncode == 0, done.stderr
    own = Prompts({prompt: str(mine)})
    assert commands.info()["replaced_prompts"] == {prompt: {"path": str(mine), "text": mine.read_text()}}
    assert commands.info()["settings"]["prompts"][prompt] == own.hash(prompt), "the hash binds the folder"
    mine.rename(tmp_path / "moved.jinja")
    again = commands(name, "--prompt", f"{prompt}={tmp_path / 'moved.jinja'}")
    assert again.returncode == 0, "the path binds nothing"


HOSTILE = "{{ cycler.__init__.__globals__.os.popen('touch TMP/run').read() }}"
LATE = "{% if structured is defined and structured %}{{ answer }}{% endif %}{{ '{0.__class__}'.format(tag) }}"


@pytest.mark.parametrize(
    ("name", "template", "words"), [*((name, HOSTILE, "SecurityError") for name in COMMANDS), ("run", LATE, "")]
)
def test_a_bad_prompt_is_refused_before_anything_is_paid_for(
    commands: Commands, tmp_path: Path, name: str, template: str, words: str
) -> None:
    if name == "judge":
        commands.generate()
    prompt, mine = COMMANDS[name]["prompt"], tmp_path / "mine.jinja"
    mine.write_text(template.replace("TMP", str(tmp_path)))
    done = commands(name, "--prompt", f"{prompt}={mine}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"--prompt {prompt}={mine}: " in done.stderr
    assert words in done.stderr
    assert not (tmp_path / "run").exists(), "nothing was run"
    assert name == "judge" or not (tmp_path / "out").exists()


def test_ours_leave_nothing_behind_and_a_variant_its_name(commands: Commands) -> None:
    assert commands("run").returncode == 0
    assert commands.info()["replaced_prompts"] == {}
    refused = commands("run", "--prompt", "checklist=plain")
    assert "prompts.checklist: " in refused.stderr
    assert commands.info()["replaced_prompts"] == {}, "a run that was refused changes nothing"
    assert (
        commands("run", "--prompt", "checklist=plain", "--out", str(commands.folder / "out" / "other")).returncode == 0
    )
    info = json.loads((commands.folder / "out" / "other" / "run.json").read_text())
    plain = Prompts({"checklist": "plain"})
    assert info["replaced_prompts"] == {"checklist": {"variant": "plain", "text": plain.source("checklist")}}
    assert info["settings"]["prompts"]["checklist"] == plain.hash("checklist")
