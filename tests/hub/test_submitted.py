"""What became of submissions, as the Hub's own client reads it; a reason is what whoever closed one has said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_store import Repo
from tests.support.hub_stub import HubStub

RESULTS = "org/results"
DESCRIPTION = ("tester", None, "**Claimed by the submitter**")
CLOSED = ("owner", "closed", None)
# Title, status, events, and what is to be told of it: (state, reason), or None where it is no submission.
PULLS: list[tuple[str, str, list[Any], tuple[str, str] | None]] = [
    ("Submission: tea--o3--0123456789 (truebench-hf 0.1, sha256 ab)", "open", [DESCRIPTION], ("waiting", "")),
    ("Submission: tea--o3--0123456789 (truebench-hf 0.1, sha256 ab)", "draft", [], ("waiting", "")),
    ("Submission: tea--o3--0123456789 (x", "merged", [DESCRIPTION, ("owner", "merged", None)], ("merged", "")),
    ("Submission: a--b--0123456789 (x", "closed", [DESCRIPTION, CLOSED], ("refused", "")),
    ("Submission: a--b--0123456789 (x", "closed", [DESCRIPTION, ("owner", None, "Not the\nwhole data."), CLOSED], ("refused", "Not the whole data.")),
    ("Submission: a--b--0123456789 (x", "closed", [DESCRIPTION, CLOSED, ("owner", None, "Too late.")], ("refused", "Too late.")),
    ("Submission: a--b--0123456789 (x", "closed", [DESCRIPTION, ("stranger", None, "Buy pills"), CLOSED], ("refused", "")),
    ("Submission: a--b--0123456789 (x", "closed", [DESCRIPTION, ("tester", "closed", None)], ("refused", "")),  # taken back
    ("Submission: a--b--0123456789 (x", "closed", [DESCRIPTION, ("owner", None, "x" * 999), CLOSED], ("refused", "x" * 299 + "…")),
    ("Submission: <b>--b--0123456789 (x", "open", [DESCRIPTION], None),
    ("Add run facts--tea--0123456789 (truebench-hf 0.1, sha256 ab)", "open", [DESCRIPTION], None),
    ("A better card", "open", [DESCRIPTION], None),
    ("Submission: a--b--0123456789 (x", "unheard of", [DESCRIPTION], None),
]  # fmt: skip


def test_states_and_reasons(hub: HubStub, client: HubClient) -> None:
    repo = hub.repos["dataset", RESULTS] = Repo("dataset", RESULTS)
    for title, status, events, _ in PULLS:
        repo.open_pull(title, status=status).events = events
    every, three, one = client.value(f"""
        import json
        from truebench_hf.hub.queue import submissions
        found = submissions({RESULTS!r}, 30)
        found = submissions({RESULTS!r}, 30, found)
        every = [found, submissions({RESULTS!r}, 3), submissions({RESULTS!r}, 1)]
        print(json.dumps([[[each.num, each.state, each.reason, each.url] for each in some] for some in every]))""")
    assert {num: (state, why) for num, state, why, _ in every} == {
        num: told for num, (*_, told) in enumerate(PULLS, 1) if told
    }
    asked = [request.path for request in hub.requests if "/discussions/" in request.path]
    for num, (*_, told) in enumerate(PULLS, 1):
        if told and told[0] == "refused" and num < 7:  # what later calls ask for as well is not counted
            times = sum(path.endswith(f"/{num}") for path in asked)
            assert times == (1 if told[1] else 2), "a reason that is known is not asked for again"
    assert [row[0] for row in three] == [9, 8, 7], "the newest"
    assert one[0][3] == f"{hub.url}/datasets/{RESULTS}/discussions/9"


@pytest.mark.slow
def test_a_pull_request_of_ours_is_one_of_them(hub: HubStub, client: HubClient, runs: Path) -> None:
    said = client.value(f"""
        import json
        import huggingface_hub as h
        from truebench_hf.hub.queue import submit
        from truebench_hf.hub.queue import submissions
        h.create_repo({RESULTS!r}, repo_type="dataset")
        url = submit({str(runs / "part" / "judgments.jsonl")!r}, {RESULTS!r}).url
        before = submissions({RESULTS!r}, 5)
        h.change_discussion_status({RESULTS!r}, 1, "closed", repo_type="dataset", comment="A part only.")
        print(json.dumps([url, *[[one.url, one.model, one.state, one.reason] for one in (*before, *submissions({RESULTS!r}, 5))]]))""")
    url, before, after = said
    assert before == [url, "scripted-tea-model-json", "waiting", ""]
    assert after == [url, "scripted-tea-model-json", "refused", "A part only."]
