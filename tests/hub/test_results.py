"""Publishing runs with the real command and the real client on the loopback Hub."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.hub.conftest import table
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import run_scores
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import public, stage_run


def test_published_judgments_pass_the_check_again(runs: Path, tmp_path: Path) -> None:
    staged = stage_run(runs / "whole", tmp_path / "a")
    again = stage_run(tmp_path / "a" / "runs" / staged.run_id, tmp_path / "b")
    assert again == dataclasses.replace(staged, submission=again.submission)
    assert table(tmp_path / "a") == staged.rows


@pytest.mark.slow
def test_two_runs_make_a_data_set_that_loads(hub: HubStub, client: HubClient, runs: Path) -> None:
    """The first try fails in the middle, and leaves what stood there; a card that somebody wrote stays."""
    client.value("""
        import truebench_hf
        from pathlib import Path
        from huggingface_hub import HfApi
        HfApi().create_repo("org/results", repo_type="dataset")
        card = Path(truebench_hf.__file__).with_name("hub").joinpath("results_card.md").read_bytes() + b"Ours."
        HfApi().upload_file(path_or_fileobj=card, path_in_repo="README.md", repo_id="org/results", repo_type="dataset")
        print(1)""")
    before = hub.files("dataset", "org/results")
    hub.fail_next("POST", "/commit/", 403)
    for name, code in (("whole", 2), ("whole", 0), ("part", 0), ("whole", 0)):  # the same once more changes nothing
        done = client.truebench("publish", "results", runs / name, "--repo-id", "org/results", "--force")
        assert (done.returncode, done.stderr.count("\n")) == (code, bool(code)), done.stderr
        assert "stub-token" not in done.stdout + done.stderr
        assert (hub.files("dataset", "org/results") == before) is bool(code)
    rows = client.value("""
        import json
        from datasets import load_dataset
        print(json.dumps(list(load_dataset("org/results", split="results")), default=str))
        """)
    heads = [row for row in rows if row["main"]]
    files = hub.files("dataset", "org/results")
    assert files["README.md"].endswith(b"Ours.")
    names = sorted(name.split("/")[-1] for name in files if name.startswith("runs/"))
    assert names == sorted(2 * ["judgments.jsonl", "report.html", "run.json", "scores.json", "scores.parquet"])
    assert len(hub.commits("dataset", "org/results")) == 4  # the initial one, the card, and one per run
    for name, content in files.items():
        for private in (b"secret-folder", b"10.0.0.4", str(runs).encode()):
            assert private not in content, f"{private!r} in {name}"
    whole = next(row for row in heads if row["n"] > 3)
    scores = run_scores(runs / "whole")
    assert (whole["value"], whole["unscored"]) == (pytest.approx(scores["overall"]["value"]), 1)
    languages = {row["score"]: row["n"] for row in rows if row["run"] == whole["run"] and "language" in row["score"]}
    assert languages == {f"language:{name}": score["n"] for name, score in scores["by_language"].items()}
    assert whole["model"] == "tea-model.json"
    assert len(files[f"runs/{whole['run']}/judgments.jsonl"].splitlines()) == 36


@pytest.fixture
def run(runs: Path, tmp_path: Path) -> Path:
    return shutil.copytree(runs / "whole", tmp_path / "run")


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def published_scores(run: Path, out: Path) -> dict[str, Any]:
    found = json.loads((out / "runs" / stage_run(run, out).run_id / "scores.json").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda s: s["scores"][0]["score"].update(interval=[None, None]), "one without ends cannot even be shown"),
        (lambda s: s.update(notes=["The official pass rule gives 100.00 %."]), "notes hold figures"),
        (lambda s: s["unscored"][0].update(reason="<b>the judge was bribed</b>"), "why an instance is unscored"),
        (lambda s: s.update(certified="yes"), "what no run writes"),
    ],
)
def test_what_is_published_is_computed_and_not_claimed(
    run: Path, tmp_path: Path, change: Callable[[dict[str, Any]], Any], why: str
) -> None:
    honest = published_scores(run, tmp_path / "honest")
    edit(run / "scores.json", change)
    assert published_scores(run, tmp_path / "edited") == honest, why


def test_what_does_not_follow_from_the_judgments_is_not_published(run: Path, tmp_path: Path) -> None:
    judgments, scores = (run / "judgments.jsonl").read_text(), (run / "scores.json").read_text()
    (run / "judgments.jsonl").write_text(
        judgments.replace('"role": "user", "content": "', '"role": "user", "content": "So? ', 1)
    )
    with pytest.raises(UserError, match="not over the data"):
        stage_run(run, tmp_path / "out")
    (run / "judgments.jsonl").write_text(judgments)
    edit(run / "scores.json", lambda content: content["scores"][0]["score"].update(value=99.0))
    with pytest.raises(UserError, match=r"overall is given as \(99\.0"):
        stage_run(run, tmp_path / "out")
    (run / "scores.json").unlink()
    with pytest.raises(UserError, match=r"scores\.json: is not as its study wrote it"):
        stage_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (run / "scores.json").write_text(scores)
    edit(run / "run.json", lambda info: info["settings"].update(cascade_judge=info["settings"]["model"]))
    notes = published_scores(run, tmp_path / "out")["notes"]
    assert any(note.startswith("Self-judged") for note in notes), "notes on the judge follow from the run"


def test_paths_are_known_by_their_last_part() -> None:
    paths = {
        "hf:/home/me/models/tea": "hf:tea", "/home/me/data.jsonl": "data.jsonl", "./data/x.jsonl": "x.jsonl", "~/x": "x",
        "C:\\Users\\me\\x.jsonl": "x.jsonl", "some/deep/folder/x.jsonl": "x.jsonl", "adapter=/home/me/lora": "adapter=lora",
    }  # fmt: skip
    no_paths = ("openai/gpt-oss-120b", "hf:Qwen/Qwen3-8B", "org/name@refs/pr/1", "v0.6.1")  # Hub ids
    for value, shown in (paths | dict(zip(no_paths, no_paths, strict=True))).items():
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
