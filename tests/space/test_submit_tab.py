"""What the Submit tab says of a file, and of one that was handed in before."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.space.sample_runs import real_runs
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from truebench_hf.hub.results import Submitted
from truebench_hf.space import submit, visitors
from truebench_hf.space.submit import Submissions

pytestmark = pytest.mark.slow  # a Gradio server

RESULTS = "org/results"


@pytest.fixture(scope="module")
def judgments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_runs(tmp_path_factory.mktemp("secret-folder")) / "Alpha-7B" / "judgments.jsonl"


def test_a_file_is_named_without_its_folder(judgments: Path, tmp_path: Path) -> None:
    rows, said, ranked = submit.check_file(str(judgments))
    assert (said, ranked) == ("The file holds together.", True)
    assert ("Model", "scripted:Alpha-7B.json") in rows
    assert "secret-folder" not in str(rows)
    (tmp_path / "few.jsonl").write_text("".join(judgments.read_text("utf-8").splitlines(keepends=True)[:5]))
    _, said, ranked = submit.check_file(str(tmp_path / "few.jsonl"))
    assert "It will not be ranked: 5 of the 2,485 tasks of v0.6.1." in said
    assert not ranked
    with pytest.raises(visitors.VisitorError, match=r"at most 64 MiB.*publish results"):
        submit.check_file(None)  # nothing was chosen, or the server refused a larger file
    (tmp_path / "torn.jsonl").write_text("{")
    for name, said in (("torn.jsonl", "torn.jsonl, line 1"), ("gone.jsonl", "gone.jsonl: cannot be read")):
        with pytest.raises(visitors.VisitorError, match=said) as refused:
            submit.check_file(str(tmp_path / name))
        assert str(tmp_path) not in visitors.message_for(refused.value)


def test_the_same_file_is_queued_once(judgments: Path, tmp_path: Path) -> None:
    with HubStub() as hub:
        said = HubClient(hub, tmp_path).value(f"""
            import json
            import huggingface_hub as h
            from truebench_hf.space import submit, visitors
            h.create_repo({RESULTS!r}, repo_type="dataset")
            said = []
            for number in range(3):
                if number == 2:
                    [name] = [f for f in h.HfApi().list_repo_files({RESULTS!r}, repo_type="dataset",
                              revision="refs/pr/1") if f.endswith("/scores.parquet")]
                    h.upload_file(path_or_fileobj=b"merged", path_in_repo=name, repo_id={RESULTS!r}, repo_type="dataset")
                try:
                    said.append(submit.queue_file({str(judgments)!r}, {RESULTS!r}))
                except visitors.VisitorError as error:
                    said.append(str(error))
            print(json.dumps(said))""")
        assert len(hub.pulls("dataset", RESULTS)) == 1
    first, second, third = said
    address = f"{hub.url}/datasets/{RESULTS}/discussions/1"
    assert first == f'Queued for review: <a href="{address}" target="_blank" rel="noopener">{address}</a>'
    assert second == first.replace("Queued for review", "This file waits for review already")
    assert third == "This run is in the results data set already."
    assert "secret-folder" not in json.dumps(said)


DAY = datetime(2026, 3, 1, tzinfo=UTC)
FOUND = (
    Submitted(3, "tea", "o3", "refused", "https://hub/3", DAY),
    Submitted(2, "milk", "o3", "refused", "https://hub/2", DAY),
    Submitted(1, "hf-water", "openai-o3", "merged", "https://hub/1", DAY),
)


def test_the_list_tells_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit, "submissions", lambda repo, most: FOUND)
    shown = Submissions(f"{RESULTS}@main")
    assert "Asking the Hub" in shown.html()
    shown.renewed()
    html = shown.html()
    assert '<a href="https://hub/1" target="_blank" rel="noopener">water</a>, judged by o3' in html
    assert '<b class="tb-word tb-no">refused</b>' in html
    assert html.count("The pull request says why.") == 2
    assert "Hub" not in html


def test_a_hub_that_does_not_answer_is_named_and_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    hang, hung = threading.Event(), threading.Event()

    def hub(repo: str, most: int) -> tuple[Submitted, ...]:
        asked.append(repo)
        if len(asked) == 2:
            raise OSError("no route to host")
        if len(asked) == 4:
            hung.set()
            hang.wait(60)
        return FOUND

    monkeypatch.setattr(submit, "submissions", hub)
    monkeypatch.setattr(submit, "_PATIENCE", 0.2)
    shown = Submissions(RESULTS)
    shown.renewed()
    shown.renewed()
    assert asked == [RESULTS], "asked a moment ago"
    shown.renewed(now=True)
    assert "Nothing could be had from the Hub since" in shown.html()
    assert "what stands here is older" in shown.html()
    assert "water" in shown.html(), "what is known stays"
    shown.renewed(now=True)
    assert "could be had" not in shown.html()
    asking = threading.Thread(target=shown.renewed, kwargs={"now": True})
    asking.start()
    assert hung.wait(60)
    time.sleep(0.3)
    assert "could be had" in shown.renewed(now=True), "one that hangs is not waited for"
    assert len(asked) == 4, "and no other is sent after it"
    hang.set()
    asking.join()
    assert "could be had" not in shown.html()
