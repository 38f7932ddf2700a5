"""What became of submissions, as the Hub's own client reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_store import Repo
from tests.support.hub_stub import HubStub

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


@pytest.mark.slow
def test_a_pull_request_of_ours_is_one_of_them(hub: HubStub, client: HubClient, runs: Path) -> None:
    said = client.value(f"""
        import json
        import huggingface_hub as h
        from truebench_hf.hub.results import submit
        from truebench_hf.hub.results import submissions
        h.create_repo({RESULTS!r}, repo_type="dataset")
        url = submit({str(runs / "part" / "judgments.jsonl")!r}, {RESULTS!r}).url
        before = submissions({RESULTS!r}, 5)
        h.change_discussion_status({RESULTS!r}, 1, "closed", repo_type="dataset", comment="A part only.")
        print(json.dumps([url, *[[one.url, one.model, one.state] for one in (*before, *submissions({RESULTS!r}, 5))]]))""")
    url, before, after = said
    assert before == [url, "scripted-tea-model-json", "waiting"]
    assert after == [url, "scripted-tea-model-json", "refused"]
