"""The ledger: what is committed stays, whatever happens to the process; one run at a time."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support.runs import ROOT
from truebench_hf.engine.ledger import PAGE, Calls
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.types import Usage


@pytest.fixture
def ledger(tmp_path: Path) -> Calls:
    return Calls(tmp_path / "ledger.sqlite")


def test_what_was_put_is_there_and_the_first_one_stays(ledger: Calls) -> None:
    assert ledger.get("k") is None
    assert ledger.put("k", "model", "{}", {"text": "one"}, Usage(1, 2, 1, 1)) == {"text": "one"}
    assert ledger.put("k", "model", "{}", {"text": "two"}, Usage(9, 9, 9, 1)) == {"text": "one"}
    assert ledger.get("k") == {"text": "one"}
    assert ledger.usage()["total"] == {"model": Usage(1, 2, 1, 1)}, "an ignored result costs nothing twice"


@pytest.mark.parametrize("text", ["", "a\0b", "한국어 العربية 🎉", "half \ud83d emoji", '"\\\n', "x" * 2_000_000])
def test_any_text_survives(ledger: Calls, text: str) -> None:
    assert ledger.put("k", "judge", canonical({"ask": text}), {"text": text}, Usage()) == {"text": text}
    assert ledger.get("k") == {"text": text}
    assert len(digest(text)) == 64


def test_canonical_has_one_spelling_per_value() -> None:
    assert canonical({"b": 1, "a": [1.0, None]}) == canonical({"a": [1.0, None], "b": 1}) == '{"a":[1.0,null],"b":1}'
    assert digest(canonical({"a": 1})) != digest(canonical({"a": "1"}))
    assert canonical([Usage(1, 2)]) == canonical([asdict(Usage(1, 2))])
    with pytest.raises(TypeError, match="object has no spelling in JSON"):
        canonical(object())


def test_the_log_is_folded_in_seldom_and_at_the_end(tmp_path: Path) -> None:
    """Every folding holds up all calls under way. Killed before one, the log alone has what was committed since."""
    file, log, mib = tmp_path / "ledger.sqlite", tmp_path / "ledger.sqlite-wal", 2**20
    ledger = Calls(file)
    sizes = []
    for number in range(30):
        ledger.put(f"key{number}", "model", "{}", {"text": "x" * mib}, Usage())
        sizes.append(file.stat().st_size // mib)
    assert sorted(set(sizes)) == [0, 16], "folded in once, when the log had 16 MiB"
    assert 16 * mib <= log.stat().st_size < 18 * mib, "and then written from its beginning"
    (tmp_path / "killed").mkdir()
    for one in (file, log):
        shutil.copy(one, tmp_path / "killed")
    for left in (ledger, Calls(tmp_path / "killed" / file.name)):
        assert [number for number in range(30) if left.get(f"key{number}") is None] == []
        left.close()
    assert not log.exists()
    assert file.stat().st_size >= 30 * mib
    with closing(sqlite3.connect(file)) as db:
        assert db.execute("SELECT COUNT(*) FROM calls").fetchall() == [(30,)]


HOLDER = """
import sys, time
from pathlib import Path
from truebench_hf.engine.ledger import Calls
from truebench_hf.types import Usage
ledger = Calls(Path(sys.argv[1]))
for number in range(100):
    ledger.put(f"key{number}", "model", "{}", {"text": f"answer {number}"}, Usage(1, 2, 0, 1))
print("committed", flush=True)
time.sleep(600)
"""


@contextlib.contextmanager
def held_by_another(path: Path) -> Iterator[None]:
    """A process with a hundred answers holds the ledger at `path` within the block, and is killed behind it."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "committed\n"
            yield
        finally:
            process.kill()


def test_a_second_run_is_refused_in_one_line_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with held_by_another(path):
        with pytest.raises(UserError, match="in use by another run") as caught:
            Calls(path)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)
    again = Calls(path)
    assert [again.get(f"key{number}") for number in (0, 99)] == [{"text": "answer 0"}, {"text": "answer 99"}]
    assert again.usage()["total"]["model"].calls == 100
    again.close()


def test_a_ledger_that_cannot_be_opened_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(
        UserError, match=rf"{tmp_path}: cannot write ledger\.sqlite: .*; free space or make it writable"
    ):
        Calls(tmp_path / "ledger.sqlite")


def test_a_shared_one_waits_where_sqlite_does_not(tmp_path: Path) -> None:
    """Another one has just made the file: SQLite refuses to set its journal mode, in place of waiting."""
    path = tmp_path / "ledger.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, other.execute, ["COMMIT"]).start()
    assert not Calls(path, shared=True).used()


def test_a_shared_one_is_refused_where_a_run_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Calls(tmp_path / "ledger.sqlite")
    held.put("k", "model", "{}", {}, Usage())
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, timeout, **more: real(*given, timeout=0.1, **more))
    monkeypatch.setattr(time, "monotonic", iter(range(0, 1000, 20)).__next__)
    with pytest.raises(UserError, match=r"--cache .* is in use by another run"):
        Calls(tmp_path / "ledger.sqlite", shared=True)


def filled(path: Path, count: int = 9) -> list[str]:
    """A ledger of some answers, closed; their keys."""
    ledger, keys = Calls(path), [digest(str(number)) for number in range(count)]
    for number, key in enumerate(keys):
        ledger.put(key, "model", f"ask {number}", {"text": f"answer {number}"}, Usage(number, 2, 0, 1))
    ledger.close()
    return keys


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda file: os.truncate(file, file.stat().st_size // 2), "a torn tail"),
        (lambda file: zeros(file, 5, 4), "pages in the middle"),
        (lambda file: zeros(file, 0), "the head: SQLite takes it for no database at all"),
        (lambda file: zeros(file, 1), "the root of the table, which leads to all other pages"),
        (lambda file: file.write_bytes(b"this is no database, but as long as a page of one" * 90), "another file"),
        (lambda file: file.write_bytes(b"SQLite"), "a few bytes"),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_a_damaged_ledger_is_told_when_it_is_opened(
    tmp_path: Path, damage: Callable[[Path], None], why: str, *, shared: bool
) -> None:
    path = tmp_path / "ledger.sqlite"
    filled(path, 200)
    damage(path)
    content = path.read_bytes()
    remedy = "`truebench cache clear`" if shared else "put a copy of it back, or move it and the results beside it"
    with pytest.raises(UserError, match=rf"ledger\.sqlite is damaged \(.*\); {remedy}") as caught:
        Calls(path, shared=shared)
    assert "\n" not in str(caught.value), why
    assert path.read_bytes() == content, "nothing is lost"
    path.rename(tmp_path / "damaged")
    keys = filled(path)
    assert Calls(path).get(keys[0]) == {"text": "answer 0"}, "what the line says helps"


def zeros(file: Path, page: int, count: int = 1) -> None:
    with file.open("r+b") as opened:
        opened.seek(page * PAGE)
        opened.write(bytes(count * PAGE))


def test_a_database_of_another_program_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE calls (number TEXT)")
    db.close()
    content = path.read_bytes()
    with pytest.raises(UserError, match="is no ledger of this version, or none at all; choose another folder"):
        Calls(path)
    assert path.read_bytes() == content
