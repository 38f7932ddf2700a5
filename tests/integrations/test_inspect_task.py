"""The task of inspect scores as `truebench run` does, and neighbours read our exports, in their own environments."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.finished import golden
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, run_scores, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.data.catalogue import entry
from truebench_hf.integrations.export import export as export_run
from truebench_hf.loaders.card import eval_yaml
from truebench_hf.loaders.export import export
from truebench_hf.results.report import Report
from truebench_hf.types import Score

FAULT = {"text": "is rude", "weight": -2}
# Twelve that pass, fail and stay open, so that every score has its interval; the last ones are hard to have.
ROWS: list[dict[str, Any]] = [
    *({"id": f"p{n}", "prompt": f"Say p{n}.", "criteria": ["is short", "is kind"], "language": "DE", "category": "chat"} for n in range(6)),
    *({"id": f"f{n}", "prompt": f"Say f{n}.", "criteria": ["is short", "is wrong", FAULT], "language": "EN"} for n in range(3)),
    {"id": "dark", "prompt": "Dark?", "criteria": ["is seen"]},
    {"id": "half", "turns": [{"prompt": "Half one?", "criteria": ["is wrong"]}, {"prompt": "Half two?", "criteria": ["is seen", "is short"]}]},
    {"id": "talk", "system": "Be brief.", "context": "Tea has caffeine.", "reference": "Yes.", "criteria": ["is short", {"text": "is kind", "weight": 3}],
     "messages": [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Tea?"}]},
    {"id": "bare", "turns": [{"prompt": "Bare one?", "criteria": []}, {"prompt": "Bare two?", "criteria": ["is short"]}]},
]  # fmt: skip
JUDGING = [
    {"contains": "is seen", "error": "no judge"},
    {"contains": "not good", "verdicts": {"short": "FAIL"}},
    {"contains": "<criteria", "verdicts": {"wrong": "FAIL", "rude": "FAIL"}},
]


@dataclass(frozen=True)
class Both:
    """Files for either side, and what `truebench run` makes of them."""

    folder: Path
    data: str
    model: str
    judge: str
    other: str

    def ours(self, name: str = "out", **more: Any) -> Report:
        options = {"data": self.data, "model": f"scripted:{self.model}", "judge": (f"scripted:{self.judge}",)} | more
        return run(RunOptions(out=str(self.folder / name), **options))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("both")
    model = script(folder / "m.json", [{"contains": "Say p3", "reply": ["good", "not good"]}], {"reply": "good"})
    judge = script(folder / "j.json", JUDGING)
    data = write_jsonl(folder / "d.jsonl", ROWS)
    other = script(folder / "k.json", [{"contains": "<criteria", "verdicts": {"short": "FAIL"}}])
    return Both(folder, data, *(spec.partition(":")[2] for spec in (model, judge, other)))


@pytest.fixture(scope="module")
def found(both: Both) -> dict[str, dict[str, Any]]:
    """What comes of every call, all of them in one process: it takes seconds to load inspect."""
    args, spec = {"data": both.data}, f"scripted:{both.judge}"
    calls: dict[str, dict[str, Any]] = {
        "by role": {"args": args, "grader": both.judge},
        "by spec": {"args": args | {"judge": spec}, "again": spec},
        "panel": {"args": args, "grader": f"{both.judge} {both.judge} {both.other}"},
        "headers": {"args": args | {"judge": "openai:m", "judge_arg": 'extra_headers={"Authorization": "Bearer abcdef"}'}},
        "epochs": {"args": args, "grader": both.judge, "epochs": 2},
        "few": {"args": args | {"language": "de,en", "limit": 3, "seed": 4}, "grader": both.judge},
        "level": {"args": args | {"language": ["DE"], "judge_level": "rubric", "rules": False}, "grader": both.judge},
        "rules": {"args": {"data": "mini", "limit": 6, "judge": spec, "rules": "decide"}},
        "no judge": {"args": args},
        "decision": {"args": args | {"judge_level": "decision"}, "grader": both.judge},
        "misspelt": {"args": args | {"judge": spec, "lnaguage": "DE"}},
        "language": {"args": args | {"language": "XX"}, "grader": both.judge},
        "key": {"args": args | {"judge": "openai:m", "judge_arg": "api_key=abc"}},
        "login": {"args": args | {"judge": "openai:m", "judge_base_url": "http://me:pw@localhost/v1"}},
    }  # fmt: skip
    asked = {"model": both.model, "logs": str(both.folder / "logs"), "calls": list(calls.values())}
    told = python("inspect", "tests/integrations/inspect_runs.py", json.dumps(asked))
    return dict(zip(calls, told, strict=True))


def compared(report: Report, found: dict[str, Any]) -> None:
    """Every score of the task is that of the report, with its interval and what is left out of it."""
    assert found["status"] == "success"
    for name, its in found["scores"].items():
        ours = report.scores.get(name, report.scores["soft_criterion"] if name == "weighted" else None)
        assert isinstance(ours, Score), name
        low, high = ours.ci95 or (None, None)
        assert (its["value"], its["ci95_low"], its["ci95_high"]) == pytest.approx((ours.value, low, high)), name
    for group in ("language", "category"):
        of = report.scores[f"by_{group}"]
        assert isinstance(of, dict)
        told = {
            key.partition("_")[2]: value
            for key, value in found["scores"]["overall"].items()
            if key.startswith(f"{group}_")
        }
        assert told == {name: score.value for name, score in of.items()}  # fmt: skip


@pytest.mark.slow
def test_the_same_answers_have_the_same_scores(both: Both, found: dict[str, dict[str, Any]]) -> None:
    report = both.ours()
    by_role, by_spec = found["by role"], found["by spec"]
    for one in (by_role, by_spec, by_spec["again"]):
        compared(report, one)
    overall = report.scores["overall"]
    assert isinstance(overall, Score)
    assert (overall.value, overall.n, overall.unscored) == (8 / 12, 12, 1)
    assert (by_role["scores"]["overall"]["scored"], by_role["scores"]["overall"]["unscored"]) == (12, 1)
    assert set(by_role["scores"]) == {
        "overall",
        "strict",
        "official",
        "soft_criterion",
        "soft_turn",
        "drfr",
        "weighted",
    }
    dark = by_role["samples"]["dark 1"]
    assert dark["overall"] is None, "unscored, never 0"
    assert "no judge" in dark["reason"]
    assert "no judge" in dark["explanation"]
    assert by_role["samples"]["half 1"]["overall"] == 0.0, "one FAIL settles it"
    assert by_role["samples"]["talk 1"]["messages"] == [
        ["system", "Be brief."], ["user", "Tea has caffeine.\n\nHello."], ["assistant", "Hi."], ["user", "Tea?"], ["assistant", "good"],
    ]  # fmt: skip
    assert [role for role, _ in by_role["samples"]["half 1"]["messages"]] == ["user", "assistant"] * 2
    ours = {
        row["id"]: row for row in map(json.loads, (both.folder / "out" / "judgments.jsonl").read_text().splitlines())
    }
    assert len(ours) == len(by_role["samples"]) == 13
    judged = {verdict["judge"] for sample in by_role["samples"].values() for verdict in sample["verdicts"]}
    assert judged == {"mockllm/grader"}


@pytest.mark.slow
def test_epochs_are_samples_of_an_instance(both: Both, found: dict[str, dict[str, Any]]) -> None:
    report = both.ours("epochs", samples=2, temperature=1.0)
    assert len(found["epochs"]["samples"]) == 26
    overall = report.scores["overall"]
    assert isinstance(overall, Score)
    assert overall.value == pytest.approx(7.5 / 12)
    compared(report, found["epochs"])


@pytest.mark.slow
def test_arguments_are_those_of_the_command(both: Both, found: dict[str, dict[str, Any]]) -> None:
    report = both.ours("few", language=("de", "en"), limit=3, seed=4)
    ours = {row["id"] for row in map(json.loads, (both.folder / "few" / "judgments.jsonl").read_text().splitlines())}
    assert {name.partition(" ")[0] for name in found["few"]["samples"]} == ours
    assert report.provenance["items"] == 3
    compared(report, found["few"])
    compared(both.ours("level", language=("DE",), judge_level="rubric", rules="off"), found["level"])
    compared(both.ours("rules", data="mini", limit=6), found["rules"])


@pytest.mark.slow
def test_several_graders_are_a_panel(both: Both, found: dict[str, dict[str, Any]]) -> None:
    specs = tuple(f"scripted:{file}" for file in (both.judge, both.other))
    twin = both.folder / "twin.json"  # no judge stands twice in a panel of ours
    twin.write_text(Path(both.judge).read_text())
    compared(both.ours("panel", judge=(specs[0], f"scripted:{twin}", specs[1]), panel="majority"), found["panel"])


@pytest.mark.slow
@each_row(__file__, "inspect_task", "what_makes_no_sense_is_refused")
def test_what_makes_no_sense_is_refused(found: dict[str, dict[str, Any]], call: str, told: str) -> None:
    assert told in found[call].get("refused", found[call].get("error", ""))
    assert not found[call].get("asked")


@pytest.mark.slow
def test_the_command_of_inspect_knows_the_task_by_its_name(both: Both, tmp_path: Path) -> None:
    program = ROOT / ".venv-inspect" / "bin" / "inspect"
    if not program.exists():
        pytest.skip("sh tests/integrations/setup.sh")
    with OpenAIServer() as server:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
        done = subprocess.run(
            [str(program), "eval", "truebench_hf/truebench", "--model", "openai/gpt-4.1-mini", "--display", "none",
             "-T", f"data={both.data}", "-T", f"judge=scripted:{both.judge}", "--log-dir", str(tmp_path / "logs")],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        report = both.ours("cli", model="openai:gpt-4.1-mini", model_base_url=server.url)
    (log,) = (tmp_path / "logs").glob("*.eval")
    told = python("inspect", "-c", (
        "import json, sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1], header_only=True); "
        "print(json.dumps({s.name: s.metrics['truebench_hf/value'].value for s in log.results.scores}))"
    ), str(log))  # fmt: skip
    overall = report.scores["overall"]
    assert isinstance(overall, Score)
    assert told["overall"] == overall.value


INSPECT = ROOT / ".venv-inspect" / "bin"
LOG = (
    "import json, sys; from inspect_ai.log import read_eval_log; log = read_eval_log(sys.argv[1]); "
    "print(json.dumps([[s.input, s.target, s.metadata, s.scores['model_graded_qa'].value] for s in log.samples]))"
)


@pytest.mark.slow
def test_inspect_evaluates_the_data_set_by_its_name_on_the_hub(tmp_path: Path) -> None:
    """Only releases get an eval.yaml, and none is here: the built-in set stands in, with the file that a release gets."""
    if not INSPECT.exists():
        pytest.skip("sh tests/integrations/setup.sh")
    built = export("truebench_mini", tmp_path / "built")
    (built.folder / "eval.yaml").write_text(eval_yaml(entry("truebench"), built.facts.rows), encoding="utf-8")
    with HubStub() as hub, OpenAIServer() as server:
        code = f"""
            import huggingface_hub
            where = {{"repo_id": "org/tb", "repo_type": "dataset"}}
            huggingface_hub.create_repo(**where)
            huggingface_hub.upload_folder(**where, folder_path={str(built.folder)!r})
            print(1)
        """
        assert HubClient(hub, tmp_path).value(code) == 1
        # The grader finds all criteria met but where one asks for exactly five lines.
        server.add_scripts(
            [
                {"contains": "exactly five lines", "message": {"content": "GRADE: I"}},
                {"contains": "GRADE", "message": {"content": "GRADE: C"}},
                {"contains": "", "message": {"content": "An answer."}},
            ]
        )
        home = {"HF_HOME": str(tmp_path / "home"), "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url}
        done = subprocess.run(
            [str(INSPECT / "inspect"), "eval", "hf/org/tb/ko", "--model", "openai/gpt-4.1-mini", "--display", "none",
             "--log-dir", str(tmp_path / "logs")],
            cwd=tmp_path, env={**os.environ, **hub.env, **home}, capture_output=True, text=True, timeout=250,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (tmp_path / "logs").glob("*.eval")
    read = subprocess.run([str(INSPECT / "python"), "-c", LOG, str(log)], capture_output=True, text=True, timeout=120)
    samples = json.loads(read.stdout)
    assert len(samples) == built.facts.rows["ko"]["test"]
    assert all(metadata["language"] == "KO" and target.startswith("- ") for _, target, metadata, _ in samples)
    five = sum("exactly five lines" in target for _, target, _, _ in samples)
    assert five
    assert Counter(value for *_, value in samples) == {"I": five, "C": len(samples) - five}


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_rubrics_are_read_by_verifiers(tmp_path: Path) -> None:
    export_run(golden("export", tmp_path / "run"), "verifiers", tmp_path / "out")
    tasks = [json.loads(line) for line in (tmp_path / "out" / "tasks.jsonl").read_text().splitlines()]
    told = python("verifiers", "-c", CRITERIA, str(tmp_path / "out" / tasks[2]["rubric"]))
    assert [(name, weight, yes) for name, _, weight, yes in told] == [
        ("criterion_1", 3.0, 1.0),
        ("criterion_2", 2.0, 0.0),
    ]
    assert [name for name, *_ in told] == list(tasks[2]["metrics"])
