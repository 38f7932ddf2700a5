"""The ledger: what is committed stays, whatever happens to the process; one run at a time."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.support.ledger_holder import held_by_another
from truebench_hf.engine.ledger import PAGE, Ledger, note_in, only_read
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.types import Usage


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_what_was_put_is_there_and_the_first_one_stays(ledger: Ledger) -> None:
    assert ledger.get("k") is None
    assert ledger.put("k", "model", "{}", {"text": "one"}, Usage(1, 2, 1, 1)) == {"text": "one"}
    assert ledger.put("k", "model", "{}", {"text": "two"}, Usage(9, 9, 9, 1)) == {"text": "one"}
    assert ledger.get("k") == {"text": "one"}
    assert ledger.usage()["total"] == {"model": Usage(1, 2, 1, 1)}, "an ignored result costs nothing twice"


@pytest.mark.parametrize("text", ["", "a\0b", "한국어 العربية 🎉", "half \ud83d emoji", '"\\\n', "x" * 2_000_000])
def test_any_text_survives(ledger: Ledger, text: str) -> None:
    assert ledger.put("k", "judge", canonical({"ask": text}), {"text": text}, Usage()) == {"text": text}
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
    assert canonical([Usage(1, 2)]) == canonical([asdict(Usage(1, 2))])
    with pytest.raises(TypeError, match="object has no spelling in JSON"):
        canonical(object())


def test_the_log_is_folded_in_seldom_and_at_the_end(tmp_path: Path) -> None:
    """Every folding holds up all calls under way. Killed before one, the log alone has what was committed since."""
    file, log, mib = tmp_path / "ledger.sqlite", tmp_path / "ledger.sqlite-wal", 2**20
    ledger = Ledger(file)
    sizes = []
    for number in range(30):
        ledger.put(f"key{number}", "model", "{}", {"text": "x" * mib}, Usage())
        sizes.append(file.stat().st_size // mib)
    assert sorted(set(sizes)) == [0, 16], "folded in once, when the log had 16 MiB"
    assert 16 * mib <= log.stat().st_size < 18 * mib, "and then written from its beginning"
    (tmp_path / "killed").mkdir()
    for one in (file, log):
        shutil.copy(one, tmp_path / "killed")
    for left in (ledger, Ledger(tmp_path / "killed" / file.name)):
        assert [number for number in range(30) if left.get(f"key{number}") is None] == []
        left.close()
    assert not log.exists()
    assert file.stat().st_size >= 30 * mib
    with closing(only_read(file)) as db:
        assert db.execute("SELECT COUNT(*) FROM calls").fetchall() == [(30,)]


def test_a_second_run_is_refused_in_one_line_and_a_killed_one_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with held_by_another(path):
        with pytest.raises(UserError, match="in use by another run") as caught:
            Ledger(path)
        assert str(tmp_path) in str(caught.value)
        assert "\n" not in str(caught.value)
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
    with pytest.raises(UserError, match=r"is damaged .*`truebench study rescue"):
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


def filled(path: Path, count: int = 9) -> list[str]:
    """A ledger of some answers, closed; their keys."""
    ledger, keys = Ledger(path), [digest(str(number)) for number in range(count)]
    for number, key in enumerate(keys):
        ledger.put(key, "model", f"ask {number}", {"text": f"answer {number}"}, Usage(number, 2, 0, 1))
    ledger.close()
    return keys


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("result = replace(result, 'answer', 'answes')", "another text"),
        ("result = CAST(substr(CAST(result AS BLOB), 1, 9) AS TEXT)", "cut off"),
        ("result = CAST(x'7bff7d' AS TEXT)", "no UTF-8"),
        ("result = CAST(result AS BLOB) || x'00'", "no text"),
        ("result = 7", "a number"),
        ("key = 'g' || substr(key, 2)", "another key"),
        ("key = CAST(x'ff' AS TEXT)", "a key that is no text"),
        ("role = 'judge'", "another role"),
        ("input_tokens = 9223372036854775807", "more tokens than there are"),
        ("output_tokens = 'two'", "tokens that are a text"),
        ("finished = -1.0", "another time"),
        ("checksum = checksum + 1", "the checksum itself"),
        ("request = 'ask for more'", "what was asked"),
    ],
)
def test_a_damaged_row_counts_as_absent(tmp_path: Path, change: str, why: str) -> None:
    path = tmp_path / "ledger.sqlite"
    keys = filled(path)
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE calls SET {change} WHERE key = ?", (keys[4],))
    db.close()
    again = Ledger(path)
    assert (again.damaged, again.held) == (1, 8), why
    assert [again.get(key) for key in keys] == [
        None if number == 4 else {"text": f"answer {number}"} for number in range(9)
    ]
    assert again.usage()["total"]["model"].calls == 8
    again.put(keys[4], "model", "ask 4", {"text": "anew"}, Usage())
    assert again.get(keys[4]) == {"text": "anew"}
    again.close()
    once_more = Ledger(path)
    assert (once_more.damaged, once_more.held) == (0, 9), "it is told once"
    once_more.close()


@pytest.mark.parametrize("what", ["key", "text"])
def test_a_bit_that_flipped_on_the_disk(tmp_path: Path, what: str) -> None:
    """A key in the wrong place leads searches for its neighbours astray, too."""
    path = tmp_path / "ledger.sqlite"
    keys = filled(path, 60)
    content = bytearray(path.read_bytes())
    content[content.index(keys[30].encode() if what == "key" else b'"answer 30"') + 1] ^= 0x10
    path.write_bytes(content)
    again = Ledger(path)
    assert again.damaged == 1
    assert [number for number, key in enumerate(keys) if again.get(key) is None] == [30]
    again.close()


def test_pages_that_changed_places_lead_to_no_other_answer(tmp_path: Path) -> None:
    # Every row is as it was written; SQLite, which trusts their order, would find another one, or none.
    file = tmp_path / "ledger.sqlite"
    ledger, keys = Ledger(file), [digest(str(number)) for number in range(200)]
    for number, key in enumerate(keys):
        ledger.put(key, "model", f"ask {number}" + "x" * 300, {"text": str(number)}, Usage())
    ledger.close()
    content = file.read_bytes()
    leaves = [at for at in range(0, len(content), PAGE) if content[at] == 0x0A and len(content[at:]) >= PAGE][-8:]
    for one, other in pairwise(leaves):
        swapped = bytearray(content)
        swapped[one : one + PAGE], swapped[other : other + PAGE] = (
            content[other : other + PAGE],
            content[one : one + PAGE],
        )
        file.write_bytes(swapped)
        ledger = Ledger(file)
        assert [ledger.get(key) for key in keys] == [{"text": str(number)} for number in range(200)]
        assert (ledger.held, ledger.damaged) == (200, 0)
        ledger.close()


def test_damaged_rows_of_a_cache_that_several_open_at_once(tmp_path: Path) -> None:
    keys = filled(tmp_path / "cache")
    with sqlite3.connect(tmp_path / "cache") as db:
        db.execute("UPDATE calls SET result = '' WHERE key < 'a'")
    db.close()
    lost = sum(key < "a" for key in keys)

    def opened(number: int) -> int:
        begin.wait()
        ledger = Ledger(tmp_path / "cache", shared=True)
        held = sum(ledger.get(key) is not None for key in keys)
        ledger.close()
        return held

    begin = threading.Barrier(4)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(opened, range(4))) == [9 - lost] * 4


def test_a_repair_that_is_stopped_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.sqlite"
    filled(path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE calls SET role = 'x' WHERE key > 'a'")
        left = db.execute("SELECT COUNT(*) FROM calls WHERE role = 'model'").fetchone()[0]
    db.close()
    ask = Ledger._ask

    def stopped(self: Ledger, statement: str, *given: object) -> list[object]:
        if statement.startswith("ALTER"):
            raise KeyboardInterrupt
        return ask(self, statement, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_ask", stopped)
        with pytest.raises(KeyboardInterrupt):
            Ledger(path)
    again = Ledger(path)
    assert (again.damaged, again.held) == (9 - left, left)
    again.close()


def test_notes_are_kept_beside_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger(path)
    assert ledger.note("run.json") is None
    for text in ("one", "half \ud83d of it, and 🎉"):
        ledger.keep_note("run.json", text)
    assert ledger.note("run.json") == "half \\ud83d of it, and 🎉"
    with pytest.raises(UserError, match="in use by another run"):
        note_in(path, "run.json")
    ledger.close()
    assert note_in(path, "run.json") == "half \\ud83d of it, and 🎉"
    assert note_in(path, "other") is note_in(tmp_path / "none", "run.json") is None
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.sqlite"]
    with sqlite3.connect(path) as db:
        db.execute("UPDATE notes SET value = CAST(x'ff' AS TEXT)")
    db.close()
    assert note_in(path, "run.json") is None


def test_a_database_of_another_program_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE calls (number TEXT)")
    db.close()
    content = path.read_bytes()
    with pytest.raises(UserError, match="is no ledger of this version, or none at all; choose another folder"):
        Ledger(path)
    assert note_in(path, "run.json") is None
    assert path.read_bytes() == content


def test_a_ledger_that_is_copied_while_it_is_written(tmp_path: Path) -> None:
    """With its log it holds all that was committed; opened, and read for its note, by nobody in particular."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    for number in range(50):
        ledger.put(f"key{number}", "model", "{}", {"n": number}, Usage())
    ledger.keep_note("run.json", "{}")
    (tmp_path / "copy").mkdir()
    for file in sorted(tmp_path.glob("ledger*")):
        shutil.copy(file, tmp_path / "copy")
    ledger.close()
    assert note_in(tmp_path / "copy" / "ledger.sqlite", "run.json") == "{}"
    copy = Ledger(tmp_path / "copy" / "ledger.sqlite")
    assert (copy.held, copy.damaged) == (50, 0)
    copy.close()


def test_whatever_counts_tokens_the_row_is_sound(tmp_path: Path) -> None:
    for tokens in (True, 3.0, np.int64(7), np.float32(2.0)):
        ledger = Ledger(tmp_path / f"{type(tokens).__name__}")
        ledger.put("k", "model", "{}", {}, Usage(tokens, tokens, tokens, 1))  # type: ignore[arg-type]
        ledger.close()
        again = Ledger(tmp_path / f"{type(tokens).__name__}")
        assert (again.held, again.damaged) == (1, 0), type(tokens)
        again.close()


def test_ctrl_c_while_a_ledger_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite turns what is raised in a function of ours into an error of its own."""
    filled(tmp_path / "ledger.sqlite")

    def pressed(*row: object) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("truebench_hf.engine.ledger.sound", pressed)
    with pytest.raises(KeyboardInterrupt):
        Ledger(tmp_path / "ledger.sqlite")
