"""What the Submit tab says of a file, and of one that was handed in before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.space.sample_runs import real_runs
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from truebench_hf.space import guard, submit
from truebench_hf.space.options import SpaceOptions

RESULTS = "org/results"


@pytest.fixture(scope="module")
def judgments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_runs(tmp_path_factory.mktemp("secret-folder")) / "Alpha-7B" / "judgments.jsonl"


def test_a_file_is_named_without_its_folder(judgments: Path, tmp_path: Path) -> None:
    rows, _ = submit._check(str(judgments), SpaceOptions())
    assert ["Model", "scripted:Alpha-7B.json"] in rows
    assert "secret-folder" not in str(rows)
    (tmp_path / "torn.jsonl").write_text("{")
    for name, said in (("torn.jsonl", "torn.jsonl, line 1"), ("gone.jsonl", "gone.jsonl: cannot be read")):
        with pytest.raises(guard.VisitorError, match=said) as refused:
            submit._check(str(tmp_path / name), SpaceOptions())
        assert str(tmp_path) not in guard.told(refused.value)


def test_the_same_file_is_queued_once(judgments: Path, tmp_path: Path) -> None:
    with HubStub() as hub:
        said = HubClient(hub, tmp_path).value(f"""
            import json
            import huggingface_hub as h
            from truebench_hf.space import guard, submit
            from truebench_hf.space.options import SpaceOptions
            h.create_repo({RESULTS!r}, repo_type="dataset")
            options, said = SpaceOptions(results={RESULTS!r}), []
            for number in range(3):
                if number == 2:
                    [name] = [f for f in h.HfApi().list_repo_files({RESULTS!r}, repo_type="dataset",
                              revision="refs/pr/1") if f.startswith("index/")]
                    h.upload_file(path_or_fileobj=b"merged", path_in_repo=name, repo_id={RESULTS!r}, repo_type="dataset")
                try:
                    said.append(submit._queue({str(judgments)!r}, options))
                except guard.VisitorError as error:
                    said.append(str(error))
            print(json.dumps(said))""")
        assert len(hub.pulls("dataset", RESULTS)) == 1
    first, second, third = said
    assert first.startswith("Queued for review: http")
    assert second == first.replace("Queued for review", "This file waits for review already")
    assert third == "This run is in the results data set already."
    assert "secret-folder" not in json.dumps(said)
