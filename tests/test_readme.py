"""The README as it stands: its commands and its Python run, its flags and links are there.

What is named openai: is answered by a server on this machine. Commands that need the network, or go on until they are
stopped, are parsed only; those on a large built-in set get a small `--limit` behind.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import truebench_hf
from tests import commands_page
from tests.support.hub_stub import HubStub
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, command_here, write_jsonl
from truebench_hf.benchmarks.flexbench.conversations import corpus_folder
from truebench_hf.benchmarks.flexbench.procedure import as_yaml, built_in
from truebench_hf.cli.app import app
from truebench_hf.cli.commands import help_text
from truebench_hf.models.classifier import ClassifierOptions
from truebench_hf.models.local import LocalOptions
from truebench_hf.models.openai_options import OpenAIOptions
from truebench_hf.models.scripted import ScriptedOptions
from truebench_hf.models.vllm_engine import VllmOptions

README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
RUN = (
    "README.md",
    "benchmarks.md",
    "data.md",
    "hub.md",
)  # pages whose commands are run; those of the others are parsed
PARSED_ONLY = (
    "--data v0.6.1",
    "truebench space",
    "--data mini",
    "truebench publish results . --check",
    "truebench demo",
)
LARGE = "--data rubric_mini"
# The server cannot answer these; their work is done with answers as an estimate reckons with them.
ESTIMATED = ("truebench study refine", "truebench study best-of", "truebench facts", "truebench flex")
ROOT_COMMAND: Any = typer.main.get_command(app)


def blocks(kind: str, page: str = README) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)


def commands(page: str = README) -> list[list[str]]:
    """The words of every `truebench` command in the shell blocks, without the `truebench`."""
    lines = "\n".join(blocks("sh", page)).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("truebench ")]


def found(words: list[str]) -> tuple[Any, list[str]]:
    """The command that words name, and the words behind its name."""
    one = ROOT_COMMAND
    while words and words[0] in getattr(one, "commands", {}):
        one, words = one.commands[words[0]], words[1:]
    return one, words


def every_command(one: Any = ROOT_COMMAND) -> Iterator[Any]:
    yield getattr(one, "loaded", one)  # its options are loaded when it is called
    for inner in getattr(one, "commands", {}).values():
        yield from every_command(inner)


def test_commands_are_as_they_are_written() -> None:
    shown = [words for page in PAGES.values() for words in commands(page)]
    assert len(shown) >= 10
    for words in shown:
        if words[0] == "demo" and "demo" not in ROOT_COMMAND.commands:
            continue
        one, arguments = found(words)
        assert not getattr(one, "commands", {}), f"no command: {words}"
        one.make_context(words[0], list(arguments)).close()  # refuses unknown flags, and misses required ones


def test_flags_and_commands_in_running_text_are_there() -> None:
    flags = {flag for one in every_command() for parameter in one.params for flag in (*parameter.opts, *parameter.secondary_opts)}  # fmt: skip
    pages = [*PAGES.values(), *(help_text(name) for name in commands_page.commands())]
    running = [
        code for page in pages for code in re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", page, flags=re.S))
    ]
    named = {flag for code in running for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code)}
    assert {"--judge", "--limit", "--allow-unscored"} <= named
    assert named - flags <= {"--help", "--data=", "--out=", "--truebench-offline"}  # the last one is of pytest
    for code in running:
        if code.startswith("truebench ") and "COMMAND" not in code:
            assert found(code.split()[1:])[0] is not ROOT_COMMAND, code


def test_the_page_of_commands_is_that_of_today() -> None:
    assert PAGES["commands.md"] == commands_page.page(), "write it anew: python -m tests.commands_page"


def test_the_provider_options_that_the_page_of_models_names_are_all_there_are() -> None:
    kinds = {"openai:": OpenAIOptions, "smollm2": LocalOptions, "vllm:": VllmOptions, "hf-classifier:": ClassifierOptions, "scripted:": ScriptedOptions}  # fmt: skip
    rows = PAGES["models.md"].split("| Specs | Options")[1].split("\n\n")[0].splitlines()[2:]
    named = {
        re.findall(r"`([^`]+)`", row)[0]: set(re.findall(r"`([a-z_]+)`", row.split("|")[2])) for row in rows if row
    }
    assert named == {name: set(kind.__dataclass_fields__) for name, kind in kinds.items()}


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


@pytest.fixture
def here(server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the reader's files, and a server that answers for openai:."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "none-of-theirs")
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "mine.jsonl").write_text(blocks("json")[0], encoding="utf-8")
    write_jsonl(tmp_path / "answers.jsonl", [{"prompt": json.loads(blocks("json")[0])["prompt"], "response": "Blue."}])
    write_jsonl(tmp_path / "chats.jsonl", [{"input": "Name a colour.", "output": "Blue."}])
    labels = "prompt,response,criterion,label\nName a colour.,Blue.,names a colour,1\n"
    (tmp_path / "labels.csv").write_text(labels, encoding="utf-8")
    (tmp_path / "rules.txt").write_text("names a colour\n", encoding="utf-8")
    write_jsonl(tmp_path / "prompts.jsonl", [{"prompt": "Name a colour."}, {"prompt": "Name a town."}])
    log = {"question": "When?", "contexts": ["On Friday.", "At noon."], "answer": "On Friday at noon."}
    write_jsonl(tmp_path / "rag_log.jsonl", [log])
    (tmp_path / "procedure.md").write_text("Ask for the name.\nGiven: greet by it.\n", encoding="utf-8")
    talks = corpus_folder(tmp_path / "runs" / "desk", 0, "m")
    talks.mkdir(parents=True)
    (tmp_path / "runs" / "desk" / "procedure.yaml").write_text(as_yaml(built_in()["travel-desk"]), encoding="utf-8")
    write_jsonl(talks / "conversations.jsonl", [{"messages": [{"role": "user", "content": "Hello."}], "model": "m"}])
    return tmp_path


@pytest.mark.parametrize("name", RUN)
def test_the_commands_run_as_they_stand(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = []
    for words in commands(PAGES[name]):
        line = " ".join(["truebench", *words])
        if any(part in line for part in PARSED_ONLY):
            continue
        if line.startswith("truebench compare"):
            _two_runs(here, capsys)
        more = ["--limit", "4"] if LARGE in line else ["--estimate"] if line.startswith(ESTIMATED) else []
        done = command_here(capsys, *words, *more)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        ran.append(words[0])
    assert ran or name == "hub.md"
    assert name != "README.md" or (here / "runs" / "mine" / "report.html").is_file()


def _two_runs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The two runs that the README compares."""
    for name, model in (("old", "openai:one"), ("new", "openai:two")):
        done = command_here(
            capsys, "run", "--data", "mine.jsonl", "--model", model, "--judge", "openai:judge", "--out", f"runs/{name}"
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", blocks("python"), ids=["run", "judge", "evaluate"])
def test_the_python_runs_as_it_stands(block: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip()


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 1300


def test_pages_link_to_what_is_there() -> None:
    for name, page in PAGES.items():
        folder = ROOT if name == "README.md" else ROOT / "docs"
        for target in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (folder / target).exists(), f"{name}: {target}"
    linked = set(re.findall(r"\(docs/([\w.]+)\)", README))
    assert {path.name for path in (ROOT / "docs").iterdir() if path.suffix != ".png"} <= linked


def test_it_names_every_metric_and_every_example() -> None:
    (metrics,) = re.findall(r"The measures are .*", README)
    names = {name for name in re.findall(r"`(\w+)`", metrics) if name != "stats"}
    folder = Path(truebench_hf.__file__).parent / "evaluate_modules"
    assert names == {path.name for path in folder.iterdir() if (path / "README.md").is_file()}
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.is_file()}
    assert {name for name in examples if f"examples/{name})" in README} == examples


def test_the_picture_is_small_and_rows_are_json() -> None:
    picture = (ROOT / "docs" / "report.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 150_000
    assert int.from_bytes(picture[16:20], "big") <= 1200
    assert json.loads(blocks("json")[0]).keys() == {"prompt", "criteria"}


def test_the_job_commands_are_taken_by_the_installed_client(tmp_path: Path) -> None:
    """`hf jobs` refuses an option or a place for one that it does not know, also where nothing is submitted."""
    lines = "\n".join(blocks("sh", PAGES["hub.md"])).replace("\\\n", " ").splitlines()
    jobs = [shlex.split(line)[1:] for line in lines if line.startswith("hf jobs ")]
    assert [words[: words.index("run") + 1] for words in jobs] == [["jobs", "run"], ["jobs", "uv", "run"]]
    with HubStub() as hub:
        for words in jobs:
            place = words.index("run") + 1
            code = "from huggingface_hub.cli.hf import main; main()"
            done = subprocess.run(
                [sys.executable, "-c", code, *words[:place], "--dry-run", *words[place:]], cwd=ROOT, text=True,
                env={**os.environ, **hub.env, "HF_HOME": str(tmp_path)}, capture_output=True, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            assert "dry run" in done.stdout
            shell = next((word for word in words if "truebench publish" in word), "")
            for line in shell.split(" && ")[1:]:
                one, arguments = found(shlex.split(line)[1:])
                one.make_context("truebench", list(arguments)).close()
