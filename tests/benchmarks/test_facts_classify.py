"""Prompts sorted by domain and task: what is read, what is kept, and that breakdowns say they are classified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts import data
from truebench_hf.results.folder import Results
from truebench_hf.types import Score


def answer(domain: str, task: str, demand: str = "nothing") -> str:
    return f'A bank.\n```json\n{{"domain": "{domain}", "task": "{task}", "demand": "{demand}"}}\n```'


def prompts(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "prompts.jsonl", [
        {"id": "a", "document": "A bank lends.", "request": "What does it do?", "baseline": "It lends."},
        {"id": "b", "passages": [{"id": "p", "text": "A court decides."}], "request": "In short?", "domain": "legal",
         "baseline": "It decides."},
        {"id": "c", "document": "Unreadable.", "request": "Well?", "system": "Be brief.", "baseline": "No."},
    ])  # fmt: skip


def model(path: Path) -> str:
    return script(path, [
        {"contains": "A bank lends", "reply": answer("finance", "question answering")},
        {"contains": "A court decides", "reply": answer("finance", "summary", "expertise")},
        {"contains": "Unreadable", "reply": "I cannot say."},
    ])  # fmt: skip


def test_what_the_data_knows_is_kept_and_what_is_the_models_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_file, out = str(prompts(tmp_path)), tmp_path / "out"
    done = command_here(
        capsys, "facts", "classify", "--data", data_file, "--model", model(tmp_path / "m.json"), "--out", str(out)
    )
    assert (done.returncode, "1 of 3 prompts are unsorted" in done.stdout) == (3, True)
    assert "demand more than their material, to be looked at: 1 (the first: b)" in " ".join(done.stdout.split())
    kept, before = data.load(str(out / "classified.jsonl")), data.load(data_file)
    assert [(item.domain, item.task, item.classified) for item in kept] == [
        ("finance", "question answering", ("domain", "task")), ("legal", "summary", ("task",)), ("", "", ()),
    ]  # fmt: skip
    rows = [json.loads(line) for line in (out / "classified.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["demand"] for row in rows] == ["nothing", "expertise", None]
    assert "no JSON object" in rows[2]["classified_why"]
    assert [(item.id, item.baseline, item.source) for item in kept] == [
        (item.id, item.baseline, item.source) for item in before
    ]
    tables = Results.open(out).tables
    assert [(row["by"], row["kind"], row["prompts"]) for row in tables["counts"].rows][:2] == [
        ("domain", "finance", 2), ("domain", "unsorted", 1),
    ]  # fmt: skip
    agreement = tables["agreement"].rows[0]["agreement"]
    assert agreement == Score(0.0, 1, 0, agreement.ci95), "legal, not finance"
    judge = script(tmp_path / "j.json", [
        {"contains": "rating", "reply": '{"rating": "no issues"}'}, {"contains": "verdict", "reply": '{"verdict": "accurate"}'},
    ])  # fmt: skip
    done = command_here(
        capsys, "facts", "run", "--data", str(out / "classified.jsonl"), "--judge", judge, "--template", "response",
        "--model", script(tmp_path / "a.json", [], {"reply": "It lends."}), "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    groups = json.loads((tmp_path / "run/scores.json").read_text(encoding="utf-8"))["groups"]
    assert [(row["by"], row["group"]) for row in groups] == [
        ("domain (classified)", "finance"), ("task (classified)", "question answering"), ("task (classified)", "summary"),
        ("domain", "legal"),
    ]  # fmt: skip
    assert "classified" in (tmp_path / "run/report.html").read_text(encoding="utf-8")


def test_an_estimate_asks_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, record = model(tmp_path / "m.json"), tmp_path / "asked"
    done = command_here(
        capsys, "facts", "classify", "--data", "facts_mini", "--model", spec, "--model-arg", f"record={record}",
        "--out", str(tmp_path / "out"), "--estimate",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (record.exists(), (tmp_path / "out").exists()) == (False, False)
    assert " 12 " in done.stdout  # one call a prompt: the example of the usual answer can be read
