"""What can be read of a damaged ledger is kept, wherever the damage is and whenever the rescue is stopped."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.ledger_holder import held_by_another
from tests.support.runs import ROOT
from truebench_hf.engine.folder import RunFolder
from truebench_hf.engine.info import read_info
from truebench_hf.engine.ledger import PAGE, Ledger
from truebench_hf.engine.rescue import rescue
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.types import Usage

COUNT = 80
KEYS = [digest(str(number)) for number in range(COUNT)]


def answer(number: int) -> dict[str, object]:
    return {"text": f"answer {number} " + "é" * (number % 9 * 300)}


def fill(ledger: Ledger) -> None:
    for number, key in enumerate(KEYS):
        request = f"ask {number} " + "x" * (number % 7 * 900)
        ledger.put(key, ("model", "judge")[number % 2], request, answer(number), Usage(number, 2**40, 0, 1))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run: 80 answers in some 60 pages, short ones and such as go on in other pages."""
    folder = RunFolder(str(tmp_path / "run"), {"model": "m"}, kind="truebench", files=("scores.json",))
    fill(folder.ledger)
    folder.write("scores.json", "{}")
    folder.finish()
    folder.ledger.close()
    return folder.path


def held(run: Path) -> list[int]:
    """Which answers a ledger holds; those are as they were."""
    ledger = Ledger(run / "ledger.sqlite")
    found = [ledger.get(key) for key in KEYS]
    assert ledger.damaged == 0
    assert ledger.held == len(found) - found.count(None)
    ledger.close()
    assert all(one in (None, answer(number)) for number, one in enumerate(found))
    return [number for number, one in enumerate(found) if one is not None]


def go_on(run: Path) -> None:
    RunFolder(str(run), {"model": "m"}, kind="truebench", files=("scores.json",)).ledger.close()


def zeros(file: Path, page: int, count: int = 1) -> None:
    with file.open("r+b") as opened:
        opened.seek(page * PAGE)
        opened.write(bytes(count * PAGE))


def replace(file: Path, old: bytes, new: bytes) -> None:
    """Where it stands first, in the page that is the head."""
    content = file.read_bytes()
    assert 0 <= content.find(old) < PAGE
    file.write_bytes(content.replace(old, new, 1))


def test_a_sound_ledger_stays_as_it_is(run: Path) -> None:
    content = (run / "ledger.sqlite").read_bytes()
    found = rescue(run)
    assert (found.saved, found.lost, found.moved, found.info) == ({"judge": 40, "model": 40}, 0, None, False)
    assert (run / "ledger.sqlite").read_bytes() == content
    assert sorted(file.name for file in run.iterdir()) == ["ledger.sqlite", "run.json", "scores.json"]


@pytest.mark.parametrize(
    ("damage", "least", "why"),
    [
        (lambda file: os.truncate(file, file.stat().st_size // 2), 15, "a torn tail"),
        (lambda file: zeros(file, 10, 4), 65, "pages in the middle"),
        (lambda file: zeros(file, 0), COUNT, "the head: SQLite takes it for no database at all"),
        (
            lambda file: zeros(file, 1),
            COUNT - 4,
            "the root of a table, which leads to all others and holds rows itself",
        ),
        (lambda file: replace(file, b"TBL2", b"TBM2"), COUNT, "what tells whose file it is"),
        (lambda file: replace(file, b"reasoning_t", b"seasoning_t"), COUNT, "what tells SQLite how the table was made"),
        (lambda file: os.truncate(file, 0), 0, "an empty file"),
        (lambda file: file.write_bytes(b"no database" * 999), 0, "something else"),
    ],
)
def test_damage_is_told_and_what_can_be_read_is_kept(
    run: Path, damage: Callable[[Path], None], least: int, why: str
) -> None:
    file = run / "ledger.sqlite"
    damage(file)
    content = file.read_bytes()
    with pytest.raises(UserError, match=rf"ledger\.sqlite is damaged \(.*\); `truebench study rescue {run}` keeps"):
        go_on(run)
    assert file.read_bytes() == content, "nothing is lost meanwhile"
    found = rescue(run)
    kept = held(run)
    assert least <= len(kept) == sum(found.saved.values()), why
    assert found.lost == COUNT - len(kept)
    assert found.moved == run / "ledger.sqlite.damaged"
    assert found.moved.read_bytes() == content, "and the damaged file is as it was"
    assert sorted(one.name for one in run.iterdir()) == [
        "ledger.sqlite", "ledger.sqlite.damaged", "run.json", "scores.json"
    ]  # fmt: skip
    if kept:
        go_on(run)
        with pytest.raises(UserError, match='model: "m" there, "n" now'):
            RunFolder(str(run), {"model": "n"}, kind="truebench")


@pytest.mark.parametrize("every", [21, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("wrong", [bytes(PAGE), b"\x0a\0\0\x09\x01" + bytes(range(256)) * 15, b"\xff" * PAGE])
def test_any_page_may_be_damaged(run: Path, wrong: bytes, every: int) -> None:
    file = run / "ledger.sqlite"
    content = file.read_bytes()
    for page in range(2, len(content) // PAGE, every):
        file.write_bytes(content[: page * PAGE] + wrong[:PAGE] + content[page * PAGE + len(wrong[:PAGE]) :])
        found = rescue(run)
        kept = held(run)
        assert len(kept) >= COUNT - 12, page
        assert found.lost == COUNT - len(kept), page
        for one in run.glob("ledger*"):
            one.unlink()


def test_a_log_that_sqlite_cannot_read_to_its_end(tmp_path: Path) -> None:
    """From a damaged frame on SQLite takes no notice of it; every row behind is there nevertheless."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    fill(ledger)
    (tmp_path / "copy").mkdir()
    for file in sorted(tmp_path.glob("ledger*")):
        shutil.copy(file, tmp_path / "copy")
    ledger.close()
    log = tmp_path / "copy" / "ledger.sqlite-wal"
    with log.open("r+b") as opened:
        opened.seek(log.stat().st_size // 3)
        opened.write(b"\xff" * 64)
    found = rescue(tmp_path / "copy")
    assert len(held(tmp_path / "copy")) == sum(found.saved.values()) >= COUNT - 2
    assert {one.name for one in (tmp_path / "copy").iterdir()} == {
        "ledger.sqlite", "ledger.sqlite.damaged", "ledger.sqlite.damaged-wal"
    }  # fmt: skip


def test_a_log_whose_file_is_gone(run: Path, tmp_path: Path) -> None:
    """SQLite would delete it with the first look."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    fill(ledger)
    shutil.copy(tmp_path / "ledger.sqlite-wal", run)
    ledger.close()
    for content in (None, b""):
        (run / "ledger.sqlite").unlink(missing_ok=True)
        if content is not None:
            (run / "ledger.sqlite").write_bytes(content)
        with pytest.raises(UserError, match=r"its log is all there is of it.*truebench study rescue"):
            go_on(run)
    assert sum(rescue(run).saved.values()) == COUNT
    assert len(held(run)) == COUNT


def test_the_folder_of_a_run_that_goes_on_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with held_by_another(path):
        before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
        with pytest.raises(UserError, match="in use by another run"):
            rescue(tmp_path)
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
        with pytest.raises(UserError, match="in use by another run"):
            Ledger(path)
    assert rescue(tmp_path).saved == {"model": 100}


def test_within_one_process_the_run_keeps_its_lock(run: Path) -> None:
    ledger = Ledger(run / "ledger.sqlite")
    with pytest.raises(UserError, match="in use by another run"):
        rescue(run)
    code = "import sys, pathlib; from truebench_hf.engine.ledger import Ledger; Ledger(pathlib.Path(sys.argv[1]))"
    other = subprocess.run(
        [sys.executable, "-c", code, run / "ledger.sqlite"], cwd=ROOT, capture_output=True, text=True
    )
    assert "in use by another run" in other.stderr
    ledger.close()


@pytest.mark.parametrize("step", range(4))
def test_stopped_at_any_moment_the_next_call_goes_on(
    run: Path, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the rows are written, and before each of the three files gets its new name."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    fill(ledger)
    for file in tmp_path.glob("ledger*"):  # as a killed run leaves them
        shutil.copy(file, run)
    ledger.close()
    zeros(run / "ledger.sqlite", 0)
    with (run / "ledger.sqlite-wal").open("r+b") as log:
        log.write(bytes(32))  # its head
    moves = list[Path]()

    real = Path.replace

    def stopped(path: Path, *given: Path) -> Path:
        if "aside" not in f"{path}{given}":
            moves.append(path)
            if len(moves) == step:
                raise KeyboardInterrupt
        return real(path, *given)

    def never(*given: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stopped)
        if not step:
            patched.setattr(Ledger, "usage", never)
        with pytest.raises(KeyboardInterrupt):
            rescue(run)
    with pytest.raises(UserError, match=f"`truebench study rescue {run}`"):
        go_on(run)
    found = rescue(run)
    assert (sum(found.saved.values()), found.moved) == (COUNT, run / "ledger.sqlite.damaged")
    assert len(held(run)) == COUNT
    go_on(run)


def test_damaged_files_of_earlier_rescues_stay(run: Path) -> None:
    for name in ("ledger.sqlite.damaged", "ledger.sqlite.damaged-2"):
        zeros(run / "ledger.sqlite", 0)
        assert rescue(run).moved == run / name
    assert len(held(run)) == COUNT


@pytest.mark.parametrize("text", [None, "", '{"settings": {', "[]", '{"settings": 3}'])
def test_a_lost_or_torn_run_json_is_made_again(run: Path, text: str | None) -> None:
    before = read_info(run)
    (run / "run.json").unlink()
    if text is not None:
        (run / "run.json").write_text(text)
    zeros(run / "ledger.sqlite", 0)
    with pytest.raises(UserError, match=f"`truebench study rescue {run}`"):
        go_on(run)
    assert rescue(run).info
    assert read_info(run) == before
    assert not rescue(run).info


def test_of_several_copies_of_run_json_the_newest_counts(run: Path, tmp_path: Path) -> None:
    """The log holds one per session, and nothing but the log is left."""
    go_on(run)
    folder = RunFolder(str(run), {"model": "m"}, kind="truebench", files=("scores.json",))
    before = read_info(run)
    shutil.copytree(run, tmp_path / "copy")
    folder.ledger.close()
    (tmp_path / "copy" / "run.json").unlink()
    zeros(tmp_path / "copy" / "ledger.sqlite", 0)
    rescue(tmp_path / "copy")
    assert len(before["sessions"]) == 3
    assert read_info(tmp_path / "copy") == before


def test_the_file_of_a_cache(tmp_path: Path) -> None:
    cache = Ledger(tmp_path / "my cache", shared=True)
    fill(cache)
    cache.close()
    os.truncate(tmp_path / "my cache", 20 * PAGE)
    with pytest.raises(UserError, match=f"`truebench study rescue '{tmp_path}/my cache'` keeps"):
        Ledger(tmp_path / "my cache", shared=True)
    found = rescue(tmp_path / "my cache")
    assert found.saved
    assert found.moved == tmp_path / "my cache.damaged"


def test_what_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no ledger; give the folder of a run, or the file of a cache"):
        rescue(tmp_path)
    with pytest.raises(UserError, match="has no ledger"):
        rescue(tmp_path / "nowhere")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as db:
        db.execute("CREATE TABLE mine (number TEXT)")
    db.close()
    content = (tmp_path / "ledger.sqlite").read_bytes()
    with pytest.raises(UserError, match="is a database of another program"):
        rescue(tmp_path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"ledger.sqlite": content}


@pytest.mark.parametrize("content", [b"", b'{"settings": {}}\n', b"\0" * 3 * PAGE])
def test_a_file_named_by_a_slip_stays(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.json: holds no answer that can be read, .*; it stays as it is; move it"):
        rescue(tmp_path / "run.json")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"run.json": content}


@pytest.mark.parametrize("name", ["ledger.sqlite", "ledger.sqlite.part"])
def test_links_are_not_followed(run: Path, tmp_path: Path, name: str) -> None:
    zeros(run / "ledger.sqlite", 0)
    (tmp_path / "mine").write_bytes((run / "ledger.sqlite").read_bytes())
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(tmp_path / "mine")
    content = (tmp_path / "mine").read_bytes()
    with pytest.raises(UserError, match=f"{name} is a link"):
        rescue(run)
    assert (tmp_path / "mine").read_bytes() == content


def test_a_new_ledger_that_is_damaged_itself_is_begun_anew(run: Path) -> None:
    """By a power cut in the middle of a rescue."""
    zeros(run / "ledger.sqlite", 0)
    (run / "ledger.sqlite.part").write_bytes(b"no database" * 999)
    assert sum(rescue(run).saved.values()) == COUNT


def test_a_log_that_was_put_aside_is_found_again(run: Path, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    fill(ledger)
    shutil.copy(tmp_path / "ledger.sqlite-wal", run / "ledger.sqlite-wal.aside")
    ledger.close()
    (run / "ledger.sqlite").write_bytes(b"")
    assert sum(rescue(run).saved.values()) == COUNT
