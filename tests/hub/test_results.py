"""Publishing runs with the real command and the real client on the loopback Hub."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hub.conftest import table
from tests.support.hub_stub import HubStub
from tests.support.runs import command, run_scores
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import public, stage_run


def publish(hub: HubStub, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return command("publish", *arguments, **hub.env, HF_HOME=str(home))


def python(hub: HubStub, home: Path, code: str) -> Any:
    from os import environ

    env = {**environ, **hub.env, "HF_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=home, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_two_runs_make_a_data_set_that_loads(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    code = f"""if True:
        import json
        from datasets import load_dataset
        from truebench_hf.hub.options import ResultsOptions
        from truebench_hf.hub.results import publish_run
        for name in ("whole", "part", "whole"):  # the same run once more changes nothing
            publish_run(ResultsOptions(run={str(runs)!r} + "/" + name, repo_id="org/results", force=True))
        print(json.dumps(list(load_dataset("org/results", split="results")), default=str))"""
    rows = python(hub, tmp_path, code)
    heads = [row for row in rows if row["main"]]
    assert len(heads) == 2
    files = hub.files("dataset", "org/results")
    names = sorted(name.split("/")[-1] for name in files if name != ".gitattributes")
    assert (
        names.count("judgments.jsonl")
        == names.count("scores.json")
        == names.count("run.json")
        == names.count("report.html")
        == 2
    )
    assert "README.md" in names
    assert len(hub.commits("dataset", "org/results")) == 3  # the initial one and one per run
    for name, content in files.items():
        for private in (b"secret-folder", b"10.0.0.4", str(runs).encode()):
            assert private not in content, f"{private!r} in {name}"
    whole = next(row for row in heads if row["n"] > 3)
    scores = run_scores(runs / "whole")
    assert whole["value"] == pytest.approx(scores["overall"]["value"])
    assert whole["unscored"] == 1
    languages = {row["score"]: row["n"] for row in rows if row["run"] == whole["run"] and "language" in row["score"]}
    assert languages == {f"language:{name}": score["n"] for name, score in scores["by_language"].items()}
    assert whole["model"] == "tea-model.json"
    published = [json.loads(line) for line in files[f"runs/{whole['run']}/judgments.jsonl"].splitlines()]
    assert len(published) == 36


def test_published_judgments_pass_the_check_again(runs: Path, tmp_path: Path) -> None:
    staged = stage_run(runs / "whole", tmp_path / "a")
    again = stage_run(tmp_path / "a" / "runs" / staged.run_id, tmp_path / "b")
    assert again == dataclasses.replace(staged, submission=again.submission)
    assert table(tmp_path / "a") == staged.rows


@pytest.mark.slow
def test_a_failure_in_the_middle_leaves_the_remote_as_it_was(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    python(
        hub,
        tmp_path,
        "from huggingface_hub import create_repo; create_repo('org/results', repo_type='dataset'); print(1)",
    )
    before = hub.files("dataset", "org/results")
    hub.fail_next("POST", "/commit/", 403)
    done = publish(hub, tmp_path, "results", str(runs / "whole"), "--repo-id", "org/results", "--force")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "stub-token" not in done.stdout + done.stderr
    assert hub.files("dataset", "org/results") == before
    assert publish(hub, tmp_path, "results", str(runs / "whole"), "--repo-id", "org/results", "--force").returncode == 0


@pytest.mark.slow
def test_an_edited_card_stays(hub: HubStub, runs: Path, tmp_path: Path) -> None:
    code = """if True:
        from huggingface_hub import HfApi
        HfApi().create_repo("org/results", repo_type="dataset")
        card = b"---\\nlicense: mit\\n---\\nOurs."
        HfApi().upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id="org/results", repo_type="dataset")
        print(1)"""
    python(hub, tmp_path, code)
    assert publish(hub, tmp_path, "results", str(runs / "part"), "--repo-id", "org/results", "--force").returncode == 0
    assert hub.files("dataset", "org/results")["README.md"].endswith(b"Ours.")


def test_scores_that_do_not_follow_from_the_judgments_are_not_published(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "whole", tmp_path / "run")
    path = tmp_path / "run" / "scores.json"
    scores = json.loads(path.read_text())
    scores["scores"][0]["score"]["value"] = 99.0
    path.write_text(json.dumps(scores))
    with pytest.raises(UserError, match=r"overall is given as \(99\.0"):
        stage_run(tmp_path / "run", tmp_path / "out")
    path.unlink()
    with pytest.raises(UserError, match=r"scores\.json: is not as its study wrote it"):
        stage_run(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def _scores(run: Path, out: Path) -> dict[str, Any]:
    """The published `scores.json` of a run."""
    found = json.loads((out / "runs" / stage_run(run, out).run_id / "scores.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (
            lambda s: s["scores"][0]["score"].update(interval=[99.0, 100.0]),
            "an interval is not claimed, it is computed",
        ),
        (lambda s: s["scores"][0]["score"].update(interval=[None, None]), "one without ends cannot even be shown"),
        (lambda s: s["scores"][3]["score"].update(interval="wide"), "one of another form"),
        (lambda s: s.update(notes=["The official pass rule gives 100.00 %."]), "notes hold figures"),
        (lambda s: s["unscored"][0].update(reason="<b>the judge was bribed</b>"), "why an instance is unscored"),
        (lambda s: s["unscored"].clear(), "no reasons"),
        (lambda s: s.update(certified="yes"), "what no run writes"),
    ],
)
def test_what_is_published_is_computed_and_not_claimed(
    runs: Path, tmp_path: Path, edit: Callable[[dict[str, Any]], Any], why: str
) -> None:
    shutil.copytree(runs / "whole", tmp_path / "run")
    path = tmp_path / "run" / "scores.json"
    honest = _scores(tmp_path / "run", tmp_path / "honest")
    claimed = json.loads(path.read_text())
    edit(claimed)
    path.write_text(json.dumps(claimed))
    assert _scores(tmp_path / "run", tmp_path / "edited") == honest, why


def test_what_cannot_be_computed_again_is_kept(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "whole", tmp_path / "run")
    model = json.loads((tmp_path / "run" / "run.json").read_text())["settings"]["model"]
    cases = (({model: {"labels": 3}}, True), ({model: "100 %"}, False), ({"another": {"labels": 3}}, False))
    for number, (content, kept) in enumerate(cases):
        (tmp_path / "run" / "bias_corrected.json").write_text(json.dumps(content))
        out = tmp_path / f"out{number}"
        published = out / "runs" / stage_run(tmp_path / "run", out).run_id / "bias_corrected.json"
        assert published.is_file() is kept, "only what a run writes is published"
        assert not kept or list(json.loads(published.read_text()).values()) == [{"labels": 3}]


def test_notes_on_the_judge_follow_from_the_run(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "part", tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    info = json.loads(path.read_text())
    info["settings"]["cascade_judge"] = info["settings"]["model"]
    path.write_text(json.dumps(info))
    assert any(note.startswith("Self-judged") for note in _scores(tmp_path / "run", tmp_path / "out")["notes"])


def test_judgments_over_other_data_are_not_published(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "part", tmp_path / "run")
    path = tmp_path / "run" / "judgments.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[0]["messages"][0]["content"] = "An easier question?"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(UserError, match="not over the data"):
        stage_run(tmp_path / "run", tmp_path / "out")


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
        "model_base_url": "http://10.0.0.4:8000/v1",
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
