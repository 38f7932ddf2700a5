"""Publishing runs with the real command and the real client on the loopback Hub."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.hub_stub import HubStub
from tests.support.runs import command, script
from truebench_hf import run
from truebench_hf.benchmarks.truebench import data
from truebench_hf.errors import UserError
from truebench_hf.hub.results import read_index
from truebench_hf.hub.staging import public, stage_run

ADDRESS = "http://10.0.0.4:8000/v1"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs: `whole` over mini, where the server of one answer was down, and `part` over three instances."""
    folder = tmp_path_factory.mktemp("secret-folder")
    rules = [{"contains": data.load("mini")[0].turns[0].prompt[:40], "error": f"the server at {ADDRESS} is down"}]
    model = script(folder / "tea-model.json", rules, {"reply": "Answer 🍵."})
    judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {"sentence": "FAIL"}}])
    chosen: dict[str, dict[str, Any]] = {"whole": {}, "part": {"limit": 3}}
    for name, options in chosen.items():
        run(data="mini", model=model, judge=judge, judge_level="checklist", out=str(folder / name), **options)
    return folder


@pytest.fixture
def hub() -> Iterator[HubStub]:
    with HubStub() as running:
        yield running


def publish(hub: HubStub, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command("publish", *arguments, **hub.env, HF_HOME=str(home))


def python(hub: HubStub, home: Path, code: str) -> Any:
    from os import environ

    env = {**environ, **hub.env, "HF_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=home, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_two_runs_make_a_data_set_that_loads(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    code = f"""if True:
        import json
        from datasets import load_dataset
        from truebench_hf.hub.results import publish_run
        for name in ("whole", "part", "whole"):  # the same run once more changes nothing
            publish_run({str(runs)!r} + "/" + name, "org/results")
        print(json.dumps(list(load_dataset("org/results", split="runs")), default=str))"""
    rows = python(hub, tmp_path, code)
    assert len(rows) == 2
    files = hub.files("dataset", "org/results")
    names = sorted(name.split("/")[-1] for name in files if name != ".gitattributes")
    assert names.count("judgments.jsonl") == names.count("scores.json") == names.count("run.json") == 2
    assert "README.md" in names
    assert len(hub.commits("dataset", "org/results")) == 3  # the initial one and one per run
    for name, content in files.items():
        for private in (b"secret-folder", b"10.0.0.4", str(runs).encode()):
            assert private not in content, f"{private!r} in {name}"
    whole = next(row for row in rows if row["overall"]["n"] > 3)
    scores = json.loads((runs / "whole" / "scores.json").read_text())
    assert whole["overall"]["value"] == pytest.approx(scores["overall"]["value"])
    assert whole["overall"]["unscored"] == 1
    assert {group["name"]: group["n"] for group in whole["by_language"]} == {
        name: score["n"] for name, score in scores["by_language"].items()
    }
    assert whole["model"] == "scripted:tea-model.json"
    published = [json.loads(line) for line in files[f"{whole['path']}/judgments.jsonl"].splitlines()]
    assert len(published) == 36


def test_published_judgments_pass_the_check_again(runs: Path, tmp_path: Path) -> None:
    staged = stage_run(runs / "whole", tmp_path / "a")
    again = stage_run(tmp_path / "a" / "runs" / staged.run_id, tmp_path / "b")
    assert again.index["overall"] == staged.index["overall"]
    assert read_index(tmp_path / "a") == [staged.index]


def test_pull_request_and_dry_run(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    run_folder = str(runs / "part")
    done = publish(hub, tmp_path, "results", run_folder, "--repo-id", "org/results", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "judgments.jsonl" in done.stdout
    assert hub.requests == []
    done = publish(hub, tmp_path, "results", run_folder, "--repo-id", "org/results", "--create-pr")
    assert done.returncode == 0, done.stderr
    assert len(hub.pulls("dataset", "org/results")) == 1
    assert not any(name.startswith("runs/") for name in hub.files("dataset", "org/results"))
    assert any(name.startswith("runs/") for name in hub.files("dataset", "org/results", "refs/pr/1"))


def test_a_failure_in_the_middle_leaves_the_remote_as_it_was(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    python(
        hub,
        tmp_path,
        "from huggingface_hub import create_repo; create_repo('org/results', repo_type='dataset'); print(1)",
    )
    before = hub.files("dataset", "org/results")
    hub.fail_next("POST", "/commit/", 403)
    done = publish(hub, tmp_path, "results", str(runs / "whole"), "--repo-id", "org/results")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "stub-token" not in done.stdout + done.stderr
    assert hub.files("dataset", "org/results") == before
    assert publish(hub, tmp_path, "results", str(runs / "whole"), "--repo-id", "org/results").returncode == 0


def test_an_edited_card_stays(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    code = """if True:
        from huggingface_hub import HfApi
        HfApi().create_repo("org/results", repo_type="dataset")
        card = b"---\\nlicense: mit\\n---\\nOurs."
        HfApi().upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id="org/results", repo_type="dataset")
        print(1)"""
    python(hub, tmp_path, code)
    assert publish(hub, tmp_path, "results", str(runs / "part"), "--repo-id", "org/results").returncode == 0
    assert hub.files("dataset", "org/results")["README.md"].endswith(b"Ours.")


def test_the_entry_of_a_model_page(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    python(hub, tmp_path, "from huggingface_hub import create_repo; create_repo('org/tea-model'); print(1)")
    arguments = ["results", str(runs / "whole"), "--model-repo", "org/tea-model", "--dataset", "org/truebench"]
    done = publish(hub, tmp_path, *arguments, "--repo-id", "org/results")
    assert done.returncode == 0, done.stderr
    assert len(hub.pulls("model", "org/tea-model")) == 1
    assert ".eval_results/truebench.yaml" not in hub.files("model", "org/tea-model")
    content = hub.files("model", "org/tea-model", "refs/pr/1")[".eval_results/truebench.yaml"]
    (row,) = yaml.safe_load(content)
    scores = json.loads((runs / "whole" / "scores.json").read_text())
    assert row["dataset"] == {"id": "org/truebench", "task_id": "all"}
    assert row["value"] == round(scores["overall"]["value"], 2)
    assert row["evaluation_framework"] == "truebench-hf"
    assert "judge scripted:judge.json at checklist level; n=35, 1 unscored" in row["notes"]
    assert row["source"]["url"].startswith(f"{hub.url}/datasets/org/results/tree/main/runs/")
    code = f"""if True:
        import json, yaml
        from huggingface_hub import parse_eval_result_entries
        (entry,) = parse_eval_result_entries(yaml.safe_load({content.decode()!r}))
        print(json.dumps([entry.dataset_id, entry.task_id, entry.value, entry.date]))"""
    assert python(hub, tmp_path, code)[:3] == ["org/truebench", "all", row["value"]]
    done = publish(hub, tmp_path, *arguments, "--variant", "strict-judge", "--direct")
    assert done.returncode == 0, done.stderr
    assert ".eval_results/truebench-strict-judge.yaml" in hub.files("model", "org/tea-model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["whole"], "say where to"),
        (["whole", "--model-repo", "org/m"], "--dataset"),
        (["whole", "--model-repo", "org/m", "--dataset", "org/d", "--variant", "a/b"], "--variant"),
        (["part", "--model-repo", "org/m", "--dataset", "org/d"], "--limit"),  # a part must not look like the whole
        (["whole", "--model-repo", "org/absent", "--dataset", "org/d"], "no such repository"),
        (["whole", "--repo-id", "results"], "ORGANISATION/NAME"),
        (["absent", "--repo-id", "org/r"], "not a run folder|no scores.json"),
    ],
)
def test_bad_input_is_one_line(hub: HubStub, runs: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    import re

    done = publish(hub, tmp_path, "results", str(runs / arguments[0]), *arguments[1:])
    assert done.returncode == 2
    assert re.search(message, done.stderr)
    assert done.stderr.count("\n") == 1
    assert not [request for request in hub.requests if "/commit/" in request.path]


def test_scores_that_do_not_follow_from_the_judgments_are_not_published(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "whole", tmp_path / "run")
    path = tmp_path / "run" / "scores.json"
    scores = json.loads(path.read_text())
    scores["overall"]["value"] = 99.0
    path.write_text(json.dumps(scores))
    with pytest.raises(UserError, match=r"overall\.value is given as 99\.0"):
        stage_run(tmp_path / "run", tmp_path / "out")
    path.unlink()
    with pytest.raises(UserError, match="finish the run first"):
        stage_run(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_judgments_over_other_data_are_not_published(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "part", tmp_path / "run")
    path = tmp_path / "run" / "judgments.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["messages"][0]["content"] = "An easier question?"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match="not over the data"):
        stage_run(tmp_path / "run", tmp_path / "out")


def test_a_submission_becomes_a_pull_request(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    code = f"""if True:
        import json
        from huggingface_hub import create_repo
        from truebench_hf.benchmarks.truebench import data
        from truebench_hf.hub.results import submit
        create_repo("org/results", repo_type="dataset")
        pushed = submit({str(runs / "whole" / "judgments.jsonl")!r}, "org/results", reference=data.load("mini"))
        print(json.dumps(pushed.url))"""
    assert "/discussions/1" in python(hub, tmp_path, code)
    files = hub.files("dataset", "org/results", "refs/pr/1")
    row = json.loads(next(content for name, content in files.items() if name.startswith("index/")))
    assert row["submitted"] is True
    assert row["overall"]["value"] == json.loads((runs / "whole" / "scores.json").read_text())["overall"]["value"]
    assert b"secret-folder" not in b"".join(files.values())


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("openai/gpt-oss-120b", "openai/gpt-oss-120b"),  # a Hub id is no path
        ("hf:Qwen/Qwen3-8B", "hf:Qwen/Qwen3-8B"),
        ("hf:/home/me/models/tea", "hf:tea"),
        ("/home/me/data.jsonl", "data.jsonl"),
        ("./data/x.jsonl", "x.jsonl"),
        ("~/x", "x"),
        ("C:\\Users\\me\\x.jsonl", "x.jsonl"),
        ("some/deep/folder/x.jsonl", "x.jsonl"),
        ("org/name@refs/pr/1", "org/name@refs/pr/1"),
        ("adapter=/home/me/lora", "adapter=lora"),
        ("v0.6.1", "v0.6.1"),
    ],
)
def test_paths_are_known_by_their_last_part(value: str, shown: str) -> None:
    assert public({"settings": {"data": value}}) == {"settings": {"data": shown}}


def test_keys_and_addresses_go_and_token_counts_stay() -> None:
    settings = {
        "model_base_url": ADDRESS,
        "model_arg": ["api_key_env=MY_KEY", "max_retries=3", "default_headers={}", "max_completion_tokens=5"],
        "sampling": {"max_tokens": 5, "temperature": 0.0},
    }
    usage = {"total": {"model": {"input_tokens": 3, "calls": 1}}}
    assert public({"settings": settings, "usage": usage, "hostname": "me"}) == {
        "settings": {
            "model_arg": ["max_retries=3", "max_completion_tokens=5"],
            "sampling": {"max_tokens": 5, "temperature": 0.0},
        },
        "usage": usage,
    }


def test_the_space_and_a_metric_are_pushed(hub: HubStub, tmp_path: Path) -> None:
    space = tmp_path / "space"
    space.mkdir()
    for name in ("app.py", "README.md"):
        (space / name).write_text("---\ntitle: x\n---\n" if name == "README.md" else "print(1)\n")
    done = publish(hub, tmp_path, "space", "--repo-id", "org/board", "--folder", str(space))
    assert done.returncode == 0, done.stderr
    assert hub.repo("space", "org/board").sdk == "gradio"
    assert hub.files("space", "org/board")["app.py"] == b"print(1)\n"
    done = publish(hub, tmp_path, "space", "--repo-id", "org/board", "--folder", str(tmp_path / "absent"))
    assert done.returncode == 2
    done = publish(hub, tmp_path, "metric", "rubric_agreement", "--repo-id", "org/other_name")
    assert done.returncode == 2
    assert "org/rubric_agreement" in done.stderr
    done = publish(hub, tmp_path, "metric", "rubric_agreement", "--repo-id", "org/rubric_agreement")
    assert done.returncode == 0, done.stderr
    assert "rubric_agreement.py" in hub.files("space", "org/rubric_agreement")
