"""The pages in docs/ against the code: what they quote, list and link to is what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.bench import sizes
from tests.support.openai_server import OpenAIServer
from tests.support.runs import RELEASE, ROOT, command_here, script
from tests.test_readme import found
from truebench_hf.cli import studies
from truebench_hf.cli.app import whole
from truebench_hf.options import facts
from truebench_hf.types import Usage

FOLDER = (ROOT / "docs" / "run_folder.md").read_text(encoding="utf-8")
BENCHMARK = (ROOT / "docs" / "add_a_benchmark.md").read_text(encoding="utf-8")
HELD = ROOT / "tests" / "golden" / "expected"  # folders that commands really leave, held by tests/golden
COMMON = {"run.json", "ledger.sqlite", "report.html"}
TABLES = {"scores.json", "report.jsonl"}  # follow from what a study reports, with the folder `tables`
OPTIONS: dict[str, Any] = {name: studies.load(name)[0] for name in studies._COMMANDS}
STUDIES: dict[str, Any] = {name: studies.load(name)[1] for name in studies._COMMANDS}


def table(header: str) -> list[list[str]]:
    """The cells of the table of the page that has this header."""
    _, found, rest = FOLDER.partition(f"| {header} |\n")
    assert found, header
    rows = rest.split("\n\n")[0].splitlines()[1:]
    return [[cell.strip() for cell in row.strip("|").split(" |")] for row in rows]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def listed_files() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for commands, file, _ in table("Command | File | What it holds"):
        for name in quoted(commands):
            found.setdefault(name, set()).update(quoted(file))
    return found


def written(*folders: str) -> set[str]:
    """What really lies in folders of these names below `HELD`, without what lies in every one."""
    files = {path.name.removesuffix(".txt") for name in folders for path in (HELD / name).iterdir()}
    assert files >= COMMON
    return files - COMMON - {"tables"}


def infos() -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in HELD.rglob("run.json")]


def test_the_files_of_every_command_are_listed() -> None:
    listed = listed_files()
    assert (listed["run"] | listed["study generate"]) - TABLES == set(STUDIES["run"].files)
    assert listed["judge"] - TABLES == set(STUDIES["judge"].files)
    for name, study in STUDIES.items():
        if name not in ("run", "judge"):
            assert listed[name] - TABLES == set(study.files) - TABLES, name
    unlabelled = listed["run"] - {"bias_corrected.json"}
    assert listed["run"] == listed["judge"]
    assert unlabelled == written("run/out")
    assert written("stages/out") == unlabelled | listed["study generate"]
    people = {"of a run": {"sheets", "sample.json", "labels.jsonl"}, "else": {"sheets", "labels.jsonl"}}
    arbitrated = {"sheets", "human.jsonl", "human.json"}
    assert set().union(*people.values(), arbitrated) == listed["label out"] | listed["label in"]
    assert written("label/out") == listed["run"] | people["of a run"]
    assert written("arbitrate/out") == listed["study arbitrate"] | arbitrated
    assert written("criteria/out") == written("criteria/prompts") == listed["study validate"]
    assert written("refinement/out") == listed["study refine-criteria"] | people["else"]
    assert written("metaeval/out") | written("metaeval-attacks/out") == listed["metaeval"]
    assert written("calibrate/alone") == listed["study calibrate"]
    assert written("contrast/out") == listed["study contrast"]
    assert written("compare-criteria/out") == listed["study compare-criteria"] | people["else"]
    assert written("taxonomy/out") == listed["study taxonomy"]
    assert written("tick/out") == listed["tick"]
    assert written("validate/out") == listed["study checklist validate"]
    assert written("categories/out") == listed["study checklist categories"]
    assert written("refine/out") == listed["study refine"]
    assert written("best-of/out") == listed["study best-of"]
    assert written("checklist/scored") == listed["study checklist score"]
    assert written("checklist/one") == listed["study checklist generate"]
    assert written("facts/out") == written("facts-more/out") == listed["facts run"]
    assert written("facts-more/selected") == listed["facts select-template"]
    assert written("facts-more/sorted") == listed["facts classify"]
    assert written("flex/out") <= listed["flex build"]
    assert written("flex/talks") == listed["flex simulate"]
    assert written("flex/scored") == listed["flex score"] | people["else"]
    assert written("flex/people") == listed["flex study profiles"]
    assert written("flex-decompose/out") == listed["flex study decompose"]


def test_the_keys_of_run_json_are_those_of_real_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    out = tmp_path / "out"
    given = ("--data", "mini", "--limit", "2", "--model", "openai:tea", "--judge", judge, "--out", str(out))
    with OpenAIServer() as server:  # whose answers tell who gave them
        assert command_here(capsys, "run", *given, "--model-base-url", server.url).returncode == 0
    real = [*infos(), json.loads((out / "run.json").read_text(encoding="utf-8"))]
    tables = FOLDER.split("| Key | What it holds |\n")
    keys, more = [[quoted(line)[0] for line in part.split("\n\n")[0].splitlines()[1:]] for part in tables[1:]]
    assert set(keys) == {key for info in real for key in info}
    options: dict[str, set[str]] = {}
    for name, study in STUDIES.items():
        options.setdefault(study.kind, set()).update(OPTIONS[name].model_fields)
    made = {key for info in real for key in info["settings"] if key not in options[info["kind"]]}
    assert set(more) == made - {"limit"}  # null where a command has no such option
    assert {info["format"] for info in real} == {1}
    kinds = set(quoted(next(line for line in FOLDER.splitlines() if line.startswith("| `kind`")))) - {"kind"}
    assert {info["kind"] for info in real} == kinds - {"run", "study generate", "judge"}


def test_what_binds_is_listed() -> None:
    listed = {
        quoted(name)[0]: (set(quoted(first)), set(quoted(late)))
        for name, first, late in table("Command | From the first paid call | From the first results")
    }
    assert set(listed) == set(STUDIES) - {"study generate", "judge"}
    for name, options in OPTIONS.items():
        bound = {name: facts(field).binds for name, field in options.model_fields.items()}
        first = {n for n, binds in bound.items() if binds and not binds.late and not binds.grows}
        late = {n for n, binds in bound.items() if binds and binds.late and not binds.grows}
        if name == "study generate":
            assert (first, late) == (listed["run"][0], set())
        elif name == "judge":
            assert (first, late) == (set(), listed["run"][1])
        else:
            assert listed[name] == (first, late), name


@pytest.mark.parametrize("page", [BENCHMARK, FOLDER], ids=["add_a_benchmark", "run_folder"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page):
        assert (ROOT / "docs" / target).exists(), target
    for name in re.findall(r"`((?:tests|loaders|truebench_hf|dataset_cards)/[\w./]+)`", page):
        if "NAME" not in name:
            assert (ROOT / name).exists(), name


SIZES = (ROOT / "docs" / "sizes.md").read_text(encoding="utf-8")


def told_sizes() -> dict[str, Usage]:
    """What one model takes, as the page says."""
    rows = re.findall(r"^\| (answers|verdicts)[^|]*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|", SIZES, re.M)
    found = {name: [int(number.replace(",", "")) for number in numbers] for name, *numbers in rows}
    return {name: Usage(read, written, 0, calls) for name, (calls, read, written) in found.items()}


def test_the_plan_of_sizes_reckons_rightly() -> None:
    parts = told_sizes()
    expected = list(sizes.lines({"model": parts["answers"], "judges": parts["verdicts"]}))
    assert len(expected) > 15
    assert [line for line in expected[:-1] if line not in SIZES] == []
    one, every = re.findall(r"([\d,]+ [MG]B)", expected[-1])
    assert f"{one} of ledger per model, {every} for all" in SIZES


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not RELEASE.exists(), reason=f"the release is not at {RELEASE}")
def test_the_plan_of_sizes_is_that_of_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of nobody")
    parts = sizes.spent(str(RELEASE), "rubric")
    told = told_sizes()
    assert parts.pop("model") == told["answers"]
    assert sum(parts.values(), Usage()) == told["verdicts"]


PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
PAPERS: dict[str, str] = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M))
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| Element")
]
NAMES = ("element", "place", "command", "test")


def test_there_are_five_papers_each_with_its_drawing_and_its_table() -> None:
    assert len(PAPERS) == 5
    for title, text in PAPERS.items():
        assert text.count("```mermaid\nflowchart") == 1, title
        assert text.count("\n| ") > 12, title


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:60] for row in ROWS])
def test_a_row_is_complete(row: list[str]) -> None:
    assert len(row) == len(NAMES)
    assert all(row), dict(zip(NAMES, row, strict=True))
    assert quoted(row[2])
    assert quoted(row[3])


@pytest.mark.parametrize("command", sorted({name for row in ROWS for name in quoted(row[2])}))
def test_a_command_exists_with_its_options(command: str) -> None:
    name, *_ = command.partition(" --")
    assert not hasattr(found(name.split())[0], "commands"), f"{name} is no command, or names only a group"
    helps = (CliRunner().invoke(whole(), [*name.split(), option]) for option in ("--help-all", "--help"))
    told = next(done.output for done in helps if done.exit_code == 0)  # few commands have rare options
    assert [word for word in command.split() if word.startswith("--") and word not in told] == []


@pytest.mark.parametrize("test", sorted({name for row in ROWS for name in quoted(row[3])}))
def test_a_test_exists(test: str) -> None:
    path, _, function = test.partition("::")
    file = ROOT / "tests" / path
    assert file.is_file()
    if function:
        assert re.search(rf"^(?:async )?def {function}\(", file.read_text(encoding="utf-8"), re.M)
