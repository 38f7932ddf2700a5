"""What became of submissions, as the Hub's own client reads it; a reason is what whoever closed one has said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.hub_client import HubClient
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


def _told(client: HubClient, most: int = 30) -> Any:
    return client.value(f"""
        import json
        from truebench_hf.hub.queue import submissions
        found = submissions({RESULTS!r}, {most})
        found = submissions({RESULTS!r}, {most}, found)
        print(json.dumps([[one.num, one.model, one.judge, one.state, one.reason, one.url] for one in found]))""")


def test_states_and_reasons(hub: HubStub, client: HubClient) -> None:
    client.value(f"import huggingface_hub as h; print(len(h.create_repo({RESULTS!r}, repo_type='dataset')))")
    repo = hub.repo("dataset", RESULTS)
    for title, status, events, _ in PULLS:
        repo.open_pull(title, status=status).events = events
    found = {num: (state, reason) for num, _, _, state, reason, _ in _told(client)}
    assert found == {num: told for num, (*_, told) in enumerate(PULLS, 1) if told}
    asked = [one.path for one in hub.requests if "/discussions/" in one.path]
    refused = [str(num) for num, (*_, told) in enumerate(PULLS, 1) if told and told[0] == "refused"]
    given = [str(num) for num, (*_, told) in enumerate(PULLS, 1) if told and told[1]]
    counts = {num: sum(path.endswith(f"/{num}") for path in asked) for num in refused}
    assert counts == {num: 1 if num in given else 2 for num in refused}, "a reason that is known is not asked for again"
    assert [row[0] for row in _told(client, most=3)] == [9, 8, 7], "the newest"
    assert _told(client, most=1)[0][5] == f"{hub.url}/datasets/{RESULTS}/discussions/9"


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
