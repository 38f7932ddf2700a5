"""Data sets to the Hub and back, with the real clients: every row and address, failures in the middle, and refusals in one line."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from tests.golden.compare import EXPECTED
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import RELEASE, command_here, needs_release
from truebench_hf import push_data
from truebench_hf.data.catalogue import MINI
from truebench_hf.errors import UserError
from truebench_hf.hub.push import HubOptions, push_folder
from truebench_hf.loaders.export import export
from truebench_hf.text.redaction import learn


def contents(folder: Path, repo_id: str = "") -> dict[str, bytes]:
    """The files of a folder; those of a built one as they are in the repository that they were pushed to."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    if repo_id:
        about = json.loads(found["build.json"])
        card = found["README.md"].decode().replace(f"ORGANISATION/{about['name']}", repo_id)
        found["README.md"] = card.encode()
        found["build.json"] = (json.dumps({**about, "repository": repo_id}, indent=2) + "\n").encode()
    return found


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


@needs_release
@pytest.mark.slow
def test_truebench_comes_back_row_by_row(hub: HubStub, client: HubClient, tmp_path: Path) -> None:
    built = client.truebench("data", "build", "truebench", "--source", RELEASE, "--out", tmp_path / "tb")
    assert built.returncode == 0, built.stderr
    assert built.stderr == ""  # no notes on a pinned release, and no progress bars
    pushed = client.truebench("data", "push", tmp_path / "tb", "--repo-id", "org/truebench")
    assert pushed.returncode == 0, pushed.stderr
    assert contents(tmp_path / "tb", "org/truebench") == hub.files("dataset", "org/truebench")
    assert hub.commits("dataset", "org/truebench")[-1] == "Add truebench v0.6.1 (truebench-hf 0.1.0)"
    loaded = client.value("""
        import json
        from datasets import load_dataset
        rows = load_dataset("org/truebench", split="test").to_list()
        german = load_dataset("org/truebench", "de", split="test").to_list()
        turns = load_dataset("org/truebench", "multi_turn", split="test", streaming=True)
        print(json.dumps([rows, german, list(turns)]))
    """)
    first = ("first_prompt", "first_criteria")  # ours, beside the published columns
    loaded = [[{name: row[name] for name in row if name not in first} for row in rows] for rows in loaded]
    published = [json.loads(line) for line in RELEASE.read_text(encoding="utf-8").splitlines()]
    assert loaded[0] == published
    assert loaded[1] == [row for row in published if row["language"] == "DE"]
    assert loaded[2] == [row for row in published if row["category"] == "Multi-Turn"]


@pytest.mark.slow
def test_failure_in_the_middle_leaves_the_remote_as_it_was(hub: HubStub, client: HubClient, mini: Path) -> None:
    arguments = ("data", "push", mini, "--repo-id", "org/mini")
    assert client.truebench(*arguments).returncode == 0
    before, commits = hub.files("dataset", "org/mini"), hub.commits("dataset", "org/mini")
    changed = client.folder / "changed"
    write(changed, {name: data + (b"\n" if name == "README.md" else b"") for name, data in contents(mini).items()})
    (changed / "data" / "vi" / "test.parquet").unlink()
    hub.fail_next("POST", "/commit/", 400)
    failed = client.truebench("data", "push", changed, "--repo-id", "org/mini")
    assert failed.returncode == 2
    assert failed.stderr.startswith("truebench: org/mini: the Hub refused with 400")
    assert len(failed.stderr.splitlines()) == 1
    assert (hub.files("dataset", "org/mini"), hub.commits("dataset", "org/mini")) == (before, commits)
    # The same command again does the whole of it: the new card, and the file that is gone, in one commit.
    assert client.truebench("data", "push", changed, "--repo-id", "org/mini").returncode == 0
    assert hub.files("dataset", "org/mini") == contents(changed, "org/mini")
    assert len(hub.commits("dataset", "org/mini")) == len(commits) + 1


@pytest.mark.slow
def test_private_is_never_pushed_to_a_public_repository(hub: HubStub, client: HubClient, mini: Path) -> None:
    assert client.truebench("data", "push", mini, "--repo-id", "org/kept", "--private").returncode == 0
    assert hub.repo("dataset", "org/kept").private
    client.value("import huggingface_hub as h; print(len(h.create_repo('org/open', repo_type='dataset')))")
    done = client.truebench("data", "push", mini, "--repo-id", "org/open", "--private")
    assert done.returncode == 2
    assert "exists and is public" in done.stderr
    assert hub.files("dataset", "org/open") == {}


@pytest.fixture
def blind(tmp_path: Path) -> Path:
    source = tmp_path / "private.csv"
    source.write_text("system_instruction,user_request,context_document,full_prompt\na,b,c,a c b\n", encoding="utf-8")
    return export("facts_grounding", tmp_path / "blind", source=str(source), split="blind").folder


@pytest.mark.parametrize("disguise", ["none", "manifest"], ids=["as built", "manifest edited"])
def test_a_blind_split_needs_private(blind: Path, disguise: str) -> None:
    if disguise == "manifest":
        (blind / "build.json").write_text('{"name": "facts_grounding", "version": "x", "rows": {"all": {"open": 1}}}')
    with pytest.raises(UserError, match="never pushed in public; add private"):
        push_data(blind, "org/facts", dry_run=True)
    assert push_data(blind, "org/facts", dry_run=True, private=True).files


def test_a_folder_that_is_no_build_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n")
    with pytest.raises(UserError, match="is not what `truebench data build` writes"):
        push_data(tmp_path, "org/x", dry_run=True)


# What is pushed: which files, to which names


DRY = HubOptions(dry_run=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("README.md", "data/a.txt", ".eval_results/x.yaml", ".git/config", "__pycache__/m.pyc", ".env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def test_leftovers_and_secrets_stay_behind(folder: Path) -> None:
    pushed = push_folder(folder, "org/x", "model", DRY)
    assert pushed.files == {".eval_results/x.yaml": 20, "README.md": 9, "data/a.txt": 10}


@pytest.mark.parametrize(
    "name", ["x", "a/b/c", "../x", "org/", "org/a b", "org/ü", "-org/x"], ids=lambda name: name or "blank"
)
def test_names_that_are_none(folder: Path, name: str) -> None:
    with pytest.raises(UserError, match="--repo-id"):
        push_folder(folder, name, "model", DRY)


def test_nothing_to_push(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a folder"):
        push_folder(tmp_path / "absent", "org/x", "model", DRY)
    with pytest.raises(UserError, match="holds no files"):
        push_folder(tmp_path, "org/x", "model", DRY)


def test_a_file_with_a_secret_is_not_pushed(folder: Path) -> None:
    learn("a-known-secret-word")
    (folder / "notes.md").write_text("key: a-known-secret-word\n")
    with pytest.raises(UserError, match=r"^notes\.md holds a key or a login of yours; .*nothing was pushed") as caught:
        push_folder(folder, "org/x", "dataset", DRY)
    assert "a-known-secret-word" not in str(caught.value)


def test_own_rows_go_under_the_licence_of_a_release_only_where_somebody_says_so(tmp_path: Path) -> None:
    rows = tmp_path / "own.jsonl"
    rows.write_text('{"input": "Name a tea.", "criteria": ["names a tea"]}\n', encoding="utf-8")
    folder = export("truebench", tmp_path / "own", source=str(rows)).folder
    with pytest.raises(UserError, match="no public release of truebench"):
        push_data(folder, "org/own")


CODE = """
import json, sys
from pathlib import Path
from huggingface_hub import HfApi
import truebench_hf
from truebench_hf.benchmarks.truebench import data
from truebench_hf.errors import UserError

folder, url = sys.argv[1:]
HfApi().create_repo("user/set", repo_type="dataset")
HfApi().upload_folder(repo_id="user/set", repo_type="dataset", folder_path=folder)
hub, web = "hf://datasets/user/set", f"{url}/datasets/user/set"
found = {}

def count(name, read):
    try:
        found[name] = read()
    except UserError as error:
        found[name] = str(error)

for name in ("user/set", "user/set@main", hub, f"{hub}/data/all/test.parquet", f"{hub}/data/de", f"{hub}/raw/*.jsonl.gz",
             f"{hub}/data/all/none.parquet", f"{web}/resolve/main/data/all/test.parquet",
             f"{web}/blob/main/raw/rows.jsonl.gz"):
    name_ = name.replace(url, "URL")
    count("run " + name_, lambda: len(data.load(name)))
    count("build " + name_, lambda: len(truebench_hf.load("truebench", split="test", source=name)))
stream = lambda: len(list(truebench_hf.load("truebench", "german", "test", source=f"{hub}/raw/rows.jsonl.gz", streaming=True)))
count("stream", stream)
count("hidden", lambda: len(data.load("user/none")))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_every_address_leads_to_the_rows(client: HubClient, hub: HubStub, tmp_path: Path) -> None:
    export("truebench_mini", tmp_path / "set")
    (tmp_path / "set" / "raw").mkdir()
    (tmp_path / "set" / "raw" / "rows.jsonl.gz").write_bytes(gzip.compress(MINI.read_bytes()))
    done = client.process("-c", CODE, str(tmp_path / "set"), hub.url)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    none = "hf://datasets/user/set/data/all/none.parquet"
    for way in ("run", "build"):
        assert "cannot be had" in found.pop(f"{way} {none}")
        assert found.pop(f"{way} hf://datasets/user/set/data/de") == 3
    assert "cannot be loaded from the Hub" in found.pop("hidden")
    assert found.pop("stream") == 3
    assert found == dict.fromkeys(found, 36)
    assert len(found) == 7 * 2
    built = client.truebench("data", "build", "truebench", "--source", "user/set", "--out", tmp_path / "again")
    assert built.returncode == 0, built.stderr
    assert "36 rows in test" in built.stdout


PUSH = "data push {mini} --repo-id org/mini"
RESULTS = "publish results {runs}/whole"
AT_THE_HUB: list[tuple[str, dict[str, str], str]] = [
    # the command, the environment, and what is told
    (PUSH, {"HF_TOKEN": ""}, "run `hf auth login` or set HF_TOKEN"),
    (PUSH, {"HF_HUB_OFFLINE": "1"}, "unset it to reach the Hub"),
    (PUSH, {"HF_ENDPOINT": "http://127.0.0.1:9"}, "the Hub cannot be reached"),
    ("publish results --check org/nothing", {"HF_ENDPOINT": "http://127.0.0.1:9"}, "org/nothing: the Hub cannot be reached"),
]  # fmt: skip
BEFORE: list[tuple[str, str]] = [
    (RESULTS, "say where to"),
    (f"{RESULTS} --model-repo org/m", "--dataset"),
    (f"{RESULTS} --repo-id org/r --public --private", "--public and --private: say one of the two"),
    (f"{RESULTS} --dataset org/d --model-repo org/m --private", "--private is about the results data set"),
    (
        f"{RESULTS} --repo-id org/r --dataset org/d",
        "--dataset is about the page of a model: name one with --model-repo",
    ),
    (f"{RESULTS} --repo-id org/r --before org/r", "--before goes with --check"),
    (f"{RESULTS} --repo-id org/r --check", "--check publishes nothing: leave --repo-id"),
    (f"{RESULTS} --repo-id results", "ORGANISATION/NAME"),
    (f"{RESULTS} --repo-id org/a--b", "--repo-id org/a--b: Cannot have --"),  # the Hub's own rules hold as well
    (f"{RESULTS} --repo-id org/r --dataset org/d --model-repo m", "--model-repo m: write it as"),
    ("publish results {runs}/absent --repo-id org/r", "absent: no such folder; give the --out of a finished run"),
    ("publish results {runs}/judge.json --repo-id org/r", r"judge\.json: is no run folder"),
    ("publish results {runs} --repo-id org/r", "is no run folder"),  # what holds the runs
    (
        f"publish results {EXPECTED / 'metaeval' / 'out'} --model-repo org/good --dataset org/set",
        "into a results data set",
    ),
]


@pytest.mark.parametrize(("line", "told"), BEFORE)
def test_refused_in_a_line_before_the_hub_is_asked(
    runs: Path, line: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_very_secret_token")
    done = command_here(capsys, *line.format(runs=runs).split())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(told, done.stderr)
    assert "very_secret" not in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("line", "env", "told"), AT_THE_HUB, ids=[told for *_, told in AT_THE_HUB])
def test_a_hub_that_cannot_be_asked_is_one_line_and_nothing_is_sent(
    hub: HubStub, client: HubClient, mini: Path, line: str, env: dict[str, str], told: str
) -> None:
    done = client.truebench(*line.format(mini=mini).split(), **{"HF_TOKEN": "hf_very_secret_token"} | env)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert re.search(told, done.stderr)
    assert "very_secret" not in done.stdout + done.stderr
    assert hub.repos == {}


CHECK = "publish results --check org/results"


@pytest.mark.parametrize(
    ("line", "method", "path", "status", "told"),
    [
        (PUSH, "POST", "/repos/create", 403, "refused with 403: .*use a token that may do so"),
        pytest.param(CHECK, "GET", "org/results", 500, "refused with 500: injected failure 500; try", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_what_the_hub_refuses_is_one_line(
    hub: HubStub, client: HubClient, mini: Path, line: str, method: str, path: str, status: int, told: str
) -> None:
    hub.fail_next(method, path, status, times=20)
    done = client.truebench(*line.format(mini=mini).split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert re.search(told, done.stderr)
