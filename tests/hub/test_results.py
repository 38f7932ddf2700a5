"""Publishing runs and studies with the real command and the real client on the loopback Hub, as owners try it."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.golden.compare import EXPECTED
from tests.hub.conftest import table
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import run_scores
from truebench_hf.comparing import runs as board
from truebench_hf.errors import UserError
from truebench_hf.hub.results import check_real
from truebench_hf.hub.results import check_results as check
from truebench_hf.hub.staging import public, stage_run, stage_study
from truebench_hf.models.spec import without_kind


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


RUN = """
import sys, pathlib, runpy
pathlib.Path("m.json").write_text('{"rules": []}')
sys.argv[0] = "truebench"
runpy.run_module("truebench_hf.cli.main", run_name="__main__")
"""


@pytest.mark.slow
def test_a_gated_set_is_read_with_a_token_and_says_so_without(hub: HubStub, client: HubClient, mini: Path) -> None:
    assert client.truebench("data", "push", mini, "--repo-id", "org/set").returncode == 0
    hub.repo("dataset", "org/set").gated = "auto"
    read = ("run", "--data", "org/set", "--model", "scripted:m.json", "--judge", "scripted:m.json", "--out", "x")
    read += ("--estimate",)
    assert client.process("-c", RUN, *read).returncode == 0
    done = client.process("-c", RUN, *read, HF_TOKEN="")
    assert done.returncode == 2
    assert "org/set" in done.stderr
    assert "gated" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_metric_that_evaluate_could_not_import_is_refused() -> None:
    with pytest.raises(UserError, match=r"evaluate cannot load from an organisation with a dot"):
        truebench_hf.publish_metric("checklist_drfr", "My.Org/checklist_drfr", dry_run=True)


@pytest.mark.slow
def test_a_card_that_the_hub_refuses_is_one_line_with_the_remedy(hub: HubStub, client: HubClient, mini: Path) -> None:
    hub.card_errors = ['"license" must be one of [apache-2.0, ...]', '"language" must be an array']
    done = client.truebench("data", "push", mini, "--repo-id", "org/set")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        'truebench: org/set: the Hub refuses the header of the card: "license" must be one of'
    )
    assert '"language" must be an array; mend README.md between its two lines of ---' in done.stderr
    assert hub.files("dataset", "org/set") == {}
    hub.card_errors, hub.card_warnings = [], ["empty or missing yaml metadata"]
    done = client.truebench("data", "push", mini, "--repo-id", "org/set")
    assert done.returncode == 0
    assert done.stderr == "note: Warnings while validating metadata in README.md: - empty or missing yaml metadata\n"


def test_given_answers_of_a_test_double_are_known_by_the_board(tmp_path: Path) -> None:
    run = shutil.copytree(EXPECTED / "flex" / "scored", tmp_path / "run")
    info = json.loads((run / "run.json").read_text().replace("scripted:judge.json", "openai:judge"))
    (run / "run.json").write_text(json.dumps(info))
    assert "scripted:" not in json.dumps(info["settings"])  # the conversations were there before
    with pytest.raises(UserError, match=r"was made with scripted:assistant\.json"):
        check_real(run, force=False)
    check_real(run, force=True)


GOLDEN = ["metaeval/out", "best-of/out"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A finished meta-evaluation whose folder tells where it was made."""
    run = shutil.copytree(EXPECTED / "metaeval" / "out", tmp_path / "study")
    text = (
        (run / "run.json").read_text().replace("scripted:good.json", "hf:/home/me/good").replace("scripted:", "openai:")
    )
    info = json.loads(text)
    info["settings"]["judge_base_url"] = "http://10.0.0.4:8000/v1"
    (run / "run.json").write_text(json.dumps(info))
    scores = (run / "scores.json").read_text().replace("scripted:good.json", "hf:/home/me/good")
    (run / "scores.json").write_text(scores)
    return run


@pytest.mark.parametrize("name", GOLDEN)
def test_the_figures_of_a_study_are_published_and_its_rows_are_not(tmp_path: Path, name: str) -> None:
    run_id = stage_study(EXPECTED / name, tmp_path).run_id
    out = tmp_path / "runs" / run_id
    assert {path.name for path in out.iterdir()} == {"run.json", "scores.json", "scores.parquet", "report.html"}
    here, there = board.read_board(EXPECTED / name), board.read_board(out)
    assert here is not None
    assert there is not None
    assert [e.key for e in here.entries] == [e.key for e in there.entries], "one study, whichever copy a board reads"
    rows = [row for row in table(tmp_path) if row["main"]]
    assert [(without_kind(e.name), e.kind) for e in here.entries] == [(row["model"], row["kind"]) for row in rows]
    assert [row["value"] for row in rows] == [e.overall.value for e in here.entries]
    assert stage_study(EXPECTED / name, tmp_path / "again").run_id == run_id
    assert stage_study(out, tmp_path / "fetched").run_id == run_id, "what was fetched can be published again"
    assert check(tmp_path).faults == ()


def test_nothing_of_a_study_tells_where_it_was_made(study: Path, tmp_path: Path) -> None:
    stage_study(study, tmp_path / "out")
    for path in (path for path in (tmp_path / "out").rglob("*") if path.is_file()):
        for private in ("/home/me", "10.0.0.4"):
            assert private.encode() not in path.read_bytes(), path.name
        assert b"good" in path.read_bytes()


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            lambda info: info.update(kind="flexbuild"),
            "kind flexbuild measures nothing; it holds no figures to publish",
        ),
        (
            lambda info: (info.pop("board"), info["sessions"][-1].update(finished=None)),
            "is not finished; repeat its command",
        ),
        (lambda info: info.update(board={"main": 3}), "holds a leaderboard that no study writes"),
        (lambda info: info["board"].update(rows=[]), "nothing of it is scored"),
        (lambda info: info.pop("settings"), "is not a run folder"),
    ],
)
def test_a_study_without_a_leaderboard_is_refused(study: Path, tmp_path: Path, edit: object, told: str) -> None:
    info = json.loads((study / "run.json").read_text())
    edit(info)  # type: ignore[operator]
    (study / "run.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match=told):
        stage_study(study, tmp_path / "out")


@pytest.mark.slow
def test_the_commands_on_a_pushed_card_work_as_they_stand(hub: HubStub, client: HubClient, mini: Path) -> None:
    repo_id = "Some.Org/My_Set-v1.0"
    done = client.truebench("data", "push", mini, "--repo-id", repo_id)
    assert done.returncode == 0, done.stderr
    card = hub.files("dataset", repo_id)["README.md"].decode()
    assert "ORGANISATION" not in card
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert client.value(f"{code}\nprint(len(rows))") == 3
    (line,) = re.findall(r"^truebench (.*)$", card, re.MULTILINE)
    words = line.replace("openai:MODEL", "scripted:m.json").replace("openai:JUDGE", "scripted:m.json").split()
    assert words[words.index("--data") + 1] == repo_id
    estimated = client.process("-c", RUN, *words, "--estimate")
    assert estimated.returncode == 0, estimated.stderr
    assert "36" in estimated.stdout
