"""The real huggingface_hub, datasets and evaluate clients, each in its own process with an empty cache, on the stub."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from .hub_store import blob
from .hub_stub import HubStub

CARD = "---\nlicense: apache-2.0\nconfigs:\n- config_name: de\n  data_files:\n  - split: test\n    path: de/*.parquet\n---\n"


class Client:
    """Runs code in fresh client processes against one stub."""

    def __init__(self, hub: HubStub, folder: Path) -> None:
        self.hub = hub
        self.folder = folder
        self.processes = 0

    def process(self, code: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run `code` with an empty HF_HOME, in an empty working directory: a local folder `user/name` would win."""
        self.processes += 1
        here = self.folder / f"process{self.processes}"
        here.mkdir()
        environment = {**os.environ, **self.hub.env, "HF_HOME": str(here / "home"), **env}
        code = textwrap.dedent(code)
        return subprocess.run(
            [sys.executable, "-c", code], cwd=here, env=environment, capture_output=True, text=True, timeout=60
        )

    def run(self, code: str, **env: str) -> Any:
        """The value that `code` prints as JSON on its last line."""
        done = self.process(code, **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def hub() -> Iterator[HubStub]:
    with HubStub() as running:
        yield running


@pytest.fixture
def client(hub: HubStub, tmp_path: Path) -> Client:
    return Client(hub, tmp_path)


def parquet_folder(folder: Path, rows: int, filler: int = 0) -> Path:
    """A data set folder with a card and one Parquet file; `filler` random letters a row defeat compression."""
    noise = random.Random(0)
    text = [f"row {row} é" + "".join(noise.choices("abcdefghijklmnop", k=filler)) for row in range(rows)]
    (folder / "de").mkdir(parents=True)
    pq.write_table(pa.table({"index": list(range(rows)), "text": text}), folder / "de" / "test.parquet")
    (folder / "README.md").write_text(CARD)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_create_repo_of_each_type(hub: HubStub, client: Client) -> None:
    answer = client.run("""
        import json
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError
        api = HfApi()
        urls = [str(api.create_repo("user/m", private=True)),
                str(api.create_repo("user/d", repo_type="dataset")),
                str(api.create_repo("user/s", repo_type="space", space_sdk="gradio"))]
        again = [str(api.create_repo("user/m", exist_ok=True)),
                 str(api.create_repo("user/d", repo_type="dataset", exist_ok=True))]
        try:
            api.create_repo("user/m")
            status = None
        except HfHubHTTPError as error:
            status = error.response.status_code
        print(json.dumps([urls, again, status, api.whoami()["name"], api.model_info("user/m").private]))
    """)
    urls, again, status, name, private = answer
    assert urls == [f"{hub.url}/user/m", f"{hub.url}/datasets/user/d", f"{hub.url}/spaces/user/s"]
    assert (again, status, name, private) == (urls[:2], 409, "tester", True)
    assert [hub.repo(*key).private for key in hub.repos] == [True, False, False]
    assert hub.repo("space", "user/s").sdk == "gradio"


def test_writing_needs_a_token(hub: HubStub, client: Client) -> None:
    done = client.process("from huggingface_hub import create_repo; create_repo('user/m')", HF_TOKEN="")
    assert "401" in done.stderr
    assert hub.repos == {}
    assert not any(request.token for request in hub.requests)


@pytest.mark.parametrize("disable_xet", ["1", "0"])
def test_upload_folder_plain_and_as_pull_request(hub: HubStub, client: Client, disable_xet: str) -> None:
    """With xet on, upload_folder opens the pull request first and commits to it; off, it does both in one request."""
    first = parquet_folder(client.folder / "first", 3)
    second = parquet_folder(client.folder / "second", 5)
    before = contents(first)
    answer = client.run(
        f"""
        import json
        from huggingface_hub import HfApi
        api = HfApi()
        api.create_repo("user/d", repo_type="dataset")
        def push(folder, **more):
            return api.upload_folder(repo_id="user/d", repo_type="dataset", folder_path=folder, **more)
        push({str(first)!r}, commit_message="first")
        push({str(first)!r}, commit_message="nothing new")
        pull = push({str(second)!r}, commit_message="second", create_pr=True)
        print(json.dumps([pull.pr_num, pull.pr_revision]))
        """,
        HF_HUB_DISABLE_XET=disable_xet,
    )
    assert answer == [1, "refs/pr/1"]
    assert hub.commits("dataset", "user/d") == ["initial commit", "first"]
    assert hub.files("dataset", "user/d") == before
    assert hub.files("dataset", "user/d", "refs/pr/1") == contents(second)
    assert [(pull.num, pull.title) for pull in hub.pulls("dataset", "user/d")] == [(1, "second")]
    commits = [request for request in hub.requests if "/commit/" in request.path]
    assert [request.path.rsplit("/commit/")[1] for request in commits][-1] == (
        "main" if disable_xet == "1" else "refs/pr/1"
    )


def test_reading_and_merging_with_hf_api(hub: HubStub, client: Client) -> None:
    folder = parquet_folder(client.folder / "data", 3)
    (folder / "big.bin").write_bytes(random.Random(1).randbytes(3_000_000))  # above aiohttp's own cap of 1 MiB
    answer = client.run(f"""
        import hashlib, json, pathlib
        from huggingface_hub import HfApi, hf_hub_download
        api = HfApi()
        api.create_repo("user/d", repo_type="dataset")
        at = dict(repo_id="user/d", repo_type="dataset")
        api.upload_folder(folder_path={str(folder)!r}, **at)
        pull = api.upload_file(path_or_fileobj=b"new", path_in_repo="a b/ü.txt", create_pr=True, **at)
        api.delete_file("big.bin", revision="refs/pr/1", **at)
        exists = [api.file_exists("user/d", "README.md", repo_type="dataset"),
                  api.file_exists("user/d", "none.md", repo_type="dataset"),
                  api.file_exists("user/none", "README.md", repo_type="dataset"),
                  api.file_exists("user/d", "README.md", repo_type="dataset", revision="none"),
                  api.repo_exists("user/d", repo_type="dataset"), api.repo_exists("user/d")]
        big = pathlib.Path(hf_hub_download(filename="big.bin", **at)).read_bytes()
        new = pathlib.Path(hf_hub_download(filename="a b/ü.txt", revision="refs/pr/1", **at)).read_text()
        listed = [api.list_repo_files(**at), api.list_repo_files(revision="refs/pr/1", **at)]
        folders = [item.path for item in api.list_repo_tree(**at)]
        pulls = [pull.num for pull in api.get_repo_discussions("user/d", repo_type="dataset")]
        api.merge_pull_request("user/d", 1, repo_type="dataset")
        api.create_branch("user/d", branch="side", repo_type="dataset", revision="refs/pr/1")
        refs = api.list_repo_refs(include_pull_requests=True, **at)
        titles = [commit.title for commit in api.list_repo_commits(**at)]
        sizes = [item.size for item in api.get_paths_info(paths=["README.md", "none"], **at)]
        print(json.dumps([exists, hashlib.sha256(big).hexdigest(), new, listed, folders, pulls,
                          [item.name for item in refs.branches + refs.pull_requests], titles, sizes]))
    """)
    exists, digest, new, listed, folders, pulls, refs, titles, sizes = answer
    assert exists == [True, False, False, False, True, False]
    assert digest == hashlib.sha256((folder / "big.bin").read_bytes()).hexdigest()
    assert new == "new"
    assert [sorted(names) for names in listed] == [
        ["README.md", "big.bin", "de/test.parquet"],
        ["README.md", "a b/ü.txt", "de/test.parquet"],
    ]
    assert sorted(folders) == ["README.md", "big.bin", "de"]
    assert (pulls, refs) == ([1], ["main", "side", "refs/pr/1"])
    assert titles[0].endswith("(#1)")
    assert sizes == [len(CARD)]
    assert sorted(hub.files("dataset", "user/d")) == ["README.md", "a b/ü.txt", "de/test.parquet"]
    assert hub.pulls("dataset", "user/d")[0].status == "merged"


def test_failure_in_the_middle_leaves_main_as_it_was(hub: HubStub, client: Client) -> None:
    folder = parquet_folder(client.folder / "data", 3)
    code = f"""
        from huggingface_hub import HfApi
        api = HfApi()
        api.create_repo("user/d", repo_type="dataset", exist_ok=True)
        api.upload_folder(repo_id="user/d", repo_type="dataset", folder_path={str(folder)!r}, commit_message="push")
        print("1")
    """
    hub.fail_next("POST", "datasets/user/d/preupload", 403)
    hub.fail_next("POST", "datasets/user/d/commit/main", 400)
    for status in ("403", "400"):
        done = client.process(code)
        assert done.returncode != 0
        assert status in done.stderr
        assert hub.files("dataset", "user/d") == {}
    client.run(code)
    assert hub.files("dataset", "user/d") == contents(folder)
    assert hub.commits("dataset", "user/d") == ["initial commit", "push"]


def put(hub: HubStub, repo_type: str, repo_id: str, folder: Path) -> None:
    """Upload with the real client, from this process's point of view: another process."""
    done = Client(hub, folder.parent).process(f"""
        from huggingface_hub import HfApi
        HfApi().create_repo({repo_id!r}, repo_type={repo_type!r}, space_sdk={"gradio" if repo_type == "space" else None!r})
        HfApi().upload_folder(repo_id={repo_id!r}, repo_type={repo_type!r}, folder_path={str(folder)!r})
    """)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_load_dataset_by_name_streaming_and_from_a_pull_request(hub: HubStub, client: Client) -> None:
    folder = parquet_folder(client.folder / "up" / "data", 600, filler=5000)  # big enough to be read in ranges
    put(hub, "dataset", "user/d", folder)
    changed = parquet_folder(client.folder / "changed", 2)
    repo = hub.repo("dataset", "user/d")
    pull = repo.open_pull("shorter")
    repo.commit(pull.ref, "shorter", "", {path: blob(data) for path, data in contents(changed).items()})
    hub.requests.clear()
    answer = client.run("""
        import json
        from datasets import load_dataset
        from datasets.exceptions import DatasetNotFoundError
        whole = load_dataset("user/d", "de", split="test")
        streamed = load_dataset("user/d", "de", split="test", streaming=True)
        same = [row["text"] for row in streamed] == whole["text"][:]
        short = load_dataset("user/d", "de", split="test", revision="refs/pr/1")
        try:
            load_dataset("user/none")
            missing = None
        except DatasetNotFoundError as error:
            missing = type(error).__name__
        print(json.dumps([len(whole), whole[7]["text"][:7], same, short["index"][:], missing]))
    """)
    assert answer == [600, "row 7 é", True, [0, 1], "DatasetNotFoundError"]
    assert 206 in [request.status for request in hub.requests]
    assert [request.path for request in hub.requests if request.method not in ("GET", "HEAD")] == []


METRIC = """
import datasets
import evaluate

from .helper import DOUBLE


class Metric(evaluate.Metric):
    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("float")})
        return evaluate.MetricInfo(description="d", citation="c", features=features)

    def _compute(self, predictions):
        return {"value": DOUBLE * sum(predictions)}
"""


@pytest.mark.slow
def test_evaluate_load_from_a_pushed_space(hub: HubStub, client: Client) -> None:
    folder = client.folder / "up" / "metric"
    folder.mkdir(parents=True)
    (folder / "metric.py").write_text(METRIC)
    (folder / "helper.py").write_text("DOUBLE = 2\n")
    put(hub, "space", "user/metric", folder)
    answer = client.run("""
        import json
        import evaluate
        print(json.dumps(evaluate.load("user/metric").compute(predictions=[1.0, 2.5])))
    """)
    assert answer == {"value": 7.0}
    assert hub.repo("space", "user/metric").sdk == "gradio"


def test_eval_results_go_into_a_pull_request_on_the_model(hub: HubStub, client: Client) -> None:
    client.run("""
        from huggingface_hub import HfApi
        api = HfApi()
        api.create_repo("user/m")
        hit = api.upload_file(repo_id="user/m", path_or_fileobj=b"- value: 1\\n", path_in_repo=".eval_results/x.yaml",
                              create_pr=True, commit_message="Add results", commit_description="Measured.")
        print(hit.pr_num)
    """)
    assert hub.files("model", "user/m") == {}
    assert hub.files("model", "user/m", "refs/pr/1") == {".eval_results/x.yaml": b"- value: 1\n"}
    assert hub.commits("model", "user/m", "refs/pr/1") == ["initial commit", "Add results"]
    assert hub.repo("model", "user/m").head("refs/pr/1").description == "Measured."


def test_other_hosts_are_refused_by_the_stub(hub: HubStub, client: Client) -> None:
    answer = client.run("""
        import json, urllib.request, urllib.error
        def status(url):
            try:
                return urllib.request.urlopen(url, timeout=60).status
            except urllib.error.HTTPError as error:
                return error.code
            except OSError as error:
                return str(error)
        print(json.dumps([status("http://outside.example/x"), status("https://outside.example/x")]))
    """)
    assert answer[0] == 404
    assert "502" in answer[1]
    assert [request.method for request in hub.requests] == ["GET", "CONNECT"]
