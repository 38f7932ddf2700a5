"""Data sets to the Hub and back, with the real clients: every row, streaming, pull requests, failures in the middle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from truebench_hf import push_data
from truebench_hf.errors import UserError
from truebench_hf.hub.push import HubOptions, push_folder
from truebench_hf.loaders.export import export
from truebench_hf.text.redaction import learn

REAL = Path(__file__).parents[3] / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"
needs_real = pytest.mark.skipif(not REAL.is_file(), reason="the real file ../shared/data/truebench is not here")


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export("truebench_mini", tmp_path_factory.mktemp("built") / "mini").folder


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


@needs_real
@pytest.mark.slow
def test_truebench_comes_back_row_by_row(hub: HubStub, client: HubClient, tmp_path: Path) -> None:
    built = client.truebench("data", "build", "truebench", "--source", REAL, "--out", tmp_path / "tb")
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
    published = [json.loads(line) for line in REAL.read_text(encoding="utf-8").splitlines()]
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
