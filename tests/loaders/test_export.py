"""The exported folder: whole or absent, the same each time, and never over something else."""

from __future__ import annotations

import http.server
import threading
from pathlib import Path

import pytest

from truebench_hf.data.catalogue import MINI, RELEASES
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export, manifest


def test_a_build_is_the_same_each_time(tmp_path: Path) -> None:
    folders = [export("facts_mini", tmp_path / name).folder for name in ("a", "b")]
    assert _contents(folders[0]) == _contents(folders[1])


def test_an_earlier_build_is_replaced_as_a_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    export("truebench_mini", out)
    export("facts_mini", out)
    assert manifest(out)["name"] == "facts_mini"
    assert [path.name for path in (out / "data").iterdir()] == ["all"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_earlier_build_outlives_a_failure(tmp_path: Path) -> None:
    out, bad = tmp_path / "out", tmp_path / "bad.jsonl"
    export("facts_mini", out)
    before = _contents(out)
    bad.write_text("{}\n")
    with pytest.raises(UserError, match="line 1"):
        export("truebench", out, source=str(bad))
    assert _contents(out) == before


def test_what_is_no_build_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep me")
    with pytest.raises(UserError, match="holds something else"):
        export("facts_mini", tmp_path / "mine")
    with pytest.raises(UserError, match="is a file"):
        export("facts_mini", tmp_path / "mine" / "notes.txt")
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep me"


def test_the_manifest_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    export("truebench", tmp_path / "out", source=str(MINI))
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir() if path.is_file())
    assert str(MINI.parent) not in text
    assert str(tmp_path) not in text


@pytest.fixture
def served(tmp_path: Path) -> str:
    """The URL of a folder with the sample in it, served on this machine."""
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "sample.jsonl").write_bytes(MINI.read_bytes())

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path / "www"))  # type: ignore[arg-type]

        def log_message(self, format: str, *arguments: object) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()


def test_a_url_is_fetched(tmp_path: Path, served: str) -> None:
    built = export("truebench", tmp_path / "out", source=f"{served}/sample.jsonl")
    assert built.facts.rows["all"] == {"test": 36}
    with pytest.raises(UserError, match=r"absent.jsonl: cannot be had: "):
        export("truebench", tmp_path / "other", source=f"{served}/absent.jsonl")


def test_the_url_of_a_release_is_checked(tmp_path: Path, served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release's own address, here one that serves something else, must give the pinned contents."""
    from dataclasses import replace

    url = f"{served}/sample.jsonl"
    monkeypatch.setitem(RELEASES, "v0.6.1", replace(RELEASES["v0.6.1"], url=url))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for source in (url, "v0.6.1", None):
        with pytest.raises(UserError, match="does not have the pinned SHA-256"):
            export("truebench", tmp_path / "out", source=source)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
