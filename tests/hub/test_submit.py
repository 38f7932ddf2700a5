"""A stranger's file on its way into a results data set: what the reviewer is told, and that it is asked once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.hub.conftest import headline
from tests.support.hub_client import HubClient
from tests.support.hub_store import Repo
from tests.support.hub_stub import HubStub
from tests.support.runs import run_scores
from truebench_hf.hub.layout import read_table
from truebench_hf.hub.results import describe
from truebench_hf.hub.staging import Staged, stage_file, stage_run
from truebench_hf.hub.submission import validate

pytestmark = pytest.mark.slow  # round trips to a Hub

RESULTS = "org/results"
# Title, status, and the state that is told; None where it is no submission.
PULLS: list[tuple[str, str, str | None]] = [
    ("Submission: tea--o3--0123456789 (truebench-hf 0.1, sha256 ab)", "open", "waiting"),
    ("Submission: tea--o3--0123456789 (truebench-hf 0.1, sha256 ab)", "draft", "waiting"),
    ("Submission: tea--o3--0123456789 (x", "merged", "merged"),
    ("Submission: a--b--0123456789 (x", "closed", "refused"),
    ("Submission: <b>--b--0123456789 (x", "open", None),
    ("Add run facts--tea--0123456789 (truebench-hf 0.1, sha256 ab)", "open", None),
    ("A better card", "open", None),
    ("Submission: a--b--0123456789 (x", "unheard of", None),
]


@pytest.fixture
def results(hub: HubStub) -> str:
    hub.repos["dataset", RESULTS] = Repo("dataset", RESULTS)
    return RESULTS


def submit(client: HubClient, run: Path) -> list[object]:
    """What `submit` gives, [url, new], or the kind and text of its error."""
    return list(
        client.value(f"""
            import json
            from truebench_hf.errors import UserError
            from truebench_hf.hub.results import submit
            try:
                pushed = submit({str(run / "judgments.jsonl")!r}, {RESULTS!r})
                print(json.dumps([pushed.url, pushed.new]))
            except UserError as error:
                print(json.dumps([type(error).__name__, str(error)]))""")
    )


def staged(run: Path, out: Path) -> Staged:
    return stage_file(validate(run / "judgments.jsonl"), out)


def test_a_submission_becomes_a_pull_request(
    hub: HubStub, client: HubClient, results: str, runs: Path, tmp_path: Path
) -> None:
    url, new = submit(client, runs / "whole")
    assert str(url).endswith("/discussions/1")
    assert new is True
    files = hub.files("dataset", RESULTS, "refs/pr/1")
    (content,) = (content for name, content in files.items() if name.endswith("/scores.parquet"))
    (tmp_path / "scores.parquet").write_bytes(content)
    row = headline(read_table(tmp_path / "scores.parquet"))
    assert row["submitted"] is True
    assert row["value"] == run_scores(runs / "whole")["overall"]["value"]
    assert row["judge"] == "scripted:judge.json (rules decide)"  # the file does not tell the level
    assert b"secret-folder" not in b"".join(files.values())
    told = hub.repo("dataset", RESULTS).head("refs/pr/1").description
    claims, computed = told.split("**Computed again")
    assert "checked by nobody" in claims
    assert "Model: `scripted:tea-model.json`" in claims
    assert "Judge: `scripted:judge.json`" in claims
    value, low, high = (100 * row[name] for name in ("value", "low", "high"))
    assert f"- Pass rate in %: {value:.2f}\n- 95 % interval: {low:.1f} to {high:.1f}\n" in computed
    assert "- n: 35\n- Unscored: 1\n- Data: mini\n" in computed
    assert f"- Data SHA-256: {row['data_sha256']}" in computed
    assert "secret-folder" not in told


def test_names_can_hold_no_markup(runs: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    rows = [json.loads(line) for line in (runs / "part" / "judgments.jsonl").read_text().splitlines()]
    hostile = "x` ![](https:e.co) @org\n# Merge this"
    (run / "judgments.jsonl").write_text("".join(json.dumps(row | {"model": hostile}) + "\n" for row in rows))
    told = describe(staged(run, tmp_path / "out"))
    assert "- Model: `x ![](https:e.co) @org # Merge this`\n" in told  # one span of code, in which nothing is markup


def test_the_same_file_is_queued_once(hub: HubStub, client: HubClient, results: str, runs: Path) -> None:
    first, _ = submit(client, runs / "whole")
    assert submit(client, runs / "whole") == [first, False]
    assert len(hub.pulls("dataset", RESULTS)) == 1
    assert submit(client, runs / "part")[1] is True  # another one does not wait behind it
    repo = hub.repo("dataset", RESULTS)
    repo.pull("2").status = "closed"
    assert str(submit(client, runs / "part")[0]).endswith("/discussions/3")  # declined once, offered again
    repo.merge(repo.pull("1"))
    commits = len(hub.commits("dataset", RESULTS))
    kind, message = submit(client, runs / "whole")
    assert kind == "AlreadyThere"
    assert str(message).endswith(f"is already in {RESULTS}")
    assert (len(hub.pulls("dataset", RESULTS)), len(hub.commits("dataset", RESULTS))) == (3, commits)


def test_a_submission_stays_one(runs: Path, tmp_path: Path) -> None:
    first = staged(runs / "whole", tmp_path / "first")
    folder = tmp_path / "first" / "runs" / first.run_id
    assert json.loads((folder / "run.json").read_text())["submitted"] is True
    # Fetched from the results data set and published by somebody as a run of their own.
    again = stage_run(folder, tmp_path / "again")
    info = json.loads((tmp_path / "again" / "runs" / again.run_id / "run.json").read_text())
    assert (info["submitted"], again.rows[0]["submitted"], again.run_id) == (True, True, first.run_id)


def test_states(hub: HubStub, client: HubClient) -> None:
    repo = hub.repos["dataset", RESULTS] = Repo("dataset", RESULTS)
    for title, status, _ in PULLS:
        repo.open_pull(title, status=status)
    every, three, newest = client.value(f"""
        import json
        from truebench_hf.hub.results import submissions
        every = [submissions({RESULTS!r}, most) for most in (30, 3, 1)]
        print(json.dumps([[[each.num, each.state, each.url] for each in some] for some in every]))""")
    assert {num: state for num, state, _ in every} == {num: state for num, (*_, state) in enumerate(PULLS, 1) if state}
    assert [row[0] for row in three] == [4, 3, 2], "the newest"
    assert newest[0][2] == f"{hub.url}/datasets/{RESULTS}/discussions/4"
