"""What is pushed: which files, under which hash, to which names."""

from __future__ import annotations

from pathlib import Path

import pytest

from truebench_hf.errors import UserError
from truebench_hf.hub.options import HubOptions
from truebench_hf.hub.push import push_folder
from truebench_hf.text.redaction import learn

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
