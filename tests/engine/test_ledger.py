"""The ledger: what is committed stays, whatever happens to the process; one run at a time."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.runs import ROOT
from truebench_hf.engine.ledger import Ledger, canonical, digest
from truebench_hf.errors import UserError
from truebench_hf.types import Usage

HOLDER = """
import sys, time
from pathlib import Path
from truebench_hf.engine.ledger import Ledger
from truebench_hf.types import Usage
ledger = Ledger(Path(sys.argv[1]))
for number in range(100):
    ledger.put(f"key{number}", "model", "{}", {"text": f"answer {number}"}, Usage(1, 2, 0, 1))
print("committed", flush=True)
time.sleep(60)
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_what_was_put_is_there_and_the_first_one_stays(ledger: Ledger) -> None:
    assert ledger.get("k") is None
    ledger.put("k", "model", "{}", {"text": "one"}, Usage(1, 2, 1, 1))
    ledger.put("k", "model", "{}", {"text": "two"}, Usage(9, 9, 9, 1))
    assert ledger.get("k") == {"text": "one"}
    assert ledger.usage()["total"] == {"model": Usage(1, 2, 1, 1)}, "an ignored result costs nothing twice"


@pytest.mark.parametrize("text", ["", "a\0b", "한국어 العربية 🎉", "half \ud83d emoji", '"\\\n', "x" * 2_000_000])
def test_any_text_survives(ledger: Ledger, text: str) -> None:
    ledger.put("k", "judge", canonical({"ask": text}), {"text": text}, Usage())
    assert ledger.get("k") == {"text": text}
    assert len(digest(text)) == 64


def test_usage_now_and_in_total(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "ledger.sqlite")
    first.put("a", "model", "{}", {}, Usage(10, 5, 2, 1))
    first.put("b", "judge", "{}", {}, Usage(100, 50, 0, 1))
    first.close()
    second = Ledger(tmp_path / "ledger.sqlite")
    second.put("c", "model", "{}", {}, Usage(1, 1, 1, 1))
    assert second.usage() == {
        "now": {"model": Usage(1, 1, 1, 1)},
        "total": {"judge": Usage(100, 50, 0, 1), "model": Usage(11, 6, 3, 2)},
    }


def test_canonical_has_one_spelling_per_value() -> None:
    assert canonical({"b": 1, "a": [1.0, None]}) == canonical({"a": [1.0, None], "b": 1}) == '{"a":[1.0,null],"b":1}'
    assert digest(canonical({"a": 1})) != digest(canonical({"a": "1"}))


def test_a_second_run_is_refused_in_one_line_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline().strip() == "committed"
        with pytest.raises(UserError, match="in use by another run") as caught:
            Ledger(path)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)
    finally:
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert holder.stdout is not None
        holder.stdout.close()
    again = Ledger(path)
    assert [again.get(f"key{number}") for number in (0, 99)] == [{"text": "answer 0"}, {"text": "answer 99"}]
    assert again.usage()["total"]["model"].calls == 100
    again.close()


def test_within_one_process_too(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(UserError, match="in use"):
        Ledger(tmp_path / "ledger.sqlite")
    first.close()
    Ledger(tmp_path / "ledger.sqlite").close()


def test_a_ledger_that_cannot_be_opened_is_the_users_error(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(UserError, match=r"cannot write ledger\.sqlite: .*; free space or make it writable") as caught:
        Ledger(tmp_path / "ledger.sqlite")
    assert str(tmp_path) in str(caught.value)


def test_our_own_mistakes_keep_their_traceback(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        ledger.get("key")


@pytest.mark.parametrize(
    "content", [b"this is no database, but long enough to look like a page of one" * 20, b"SQLite"]
)
def test_a_file_that_is_no_ledger_is_the_users_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"is damaged .*`truebench rescue"):
        Ledger(path)
    assert path.read_bytes() == content, "nothing is lost"


def test_a_shared_one_may_be_open_in_many_threads(tmp_path: Path) -> None:
    def fill(number: int) -> dict[str, object] | None:
        begin.wait()
        ledger = Ledger(tmp_path / "ledger.sqlite", shared=True)
        ledger.put("k", "judge", "{}", {"by": number}, Usage())
        found = ledger.get("k")
        ledger.close()
        return found

    begin = threading.Barrier(8)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(fill, range(8)))
    assert found == [found[0]] * 8, "the first one stays"


def test_a_shared_one_waits_where_sqlite_does_not(tmp_path: Path) -> None:
    """Another one has just made the file: SQLite refuses to set its journal mode, in place of waiting."""
    path = tmp_path / "ledger.sqlite"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, other.execute, ["COMMIT"]).start()
    assert not Ledger(path, shared=True).used()


def test_a_shared_one_is_refused_where_a_run_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = Ledger(tmp_path / "ledger.sqlite")
    held.put("k", "model", "{}", {}, Usage())
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, timeout, **more: real(*given, timeout=0.1, **more))
    monkeypatch.setattr(time, "monotonic", iter(range(0, 1000, 20)).__next__)
    with pytest.raises(UserError, match=r"cache .*ledger\.sqlite is in use by another run"):
        Ledger(tmp_path / "ledger.sqlite", shared=True)
