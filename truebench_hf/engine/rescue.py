"""What of a damaged ledger can still be read goes into a new one; the damaged file goes beside it, as it is."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from truebench_hf.engine.info import INFO, LEDGER, calls, parsed, torn
from truebench_hf.engine.ledger import (
    COLUMNS,
    OURS,
    PART,
    DamagedError,
    Ledger,
    in_use,
    is_busy,
    note_in,
    noted,
    only_read,
    sound,
)
from truebench_hf.engine.pages import Row, open_or_none, rows
from truebench_hf.errors import UserError, write_error
from truebench_hf.text.whole_files import write_whole

_LOG = "-wal"


@dataclass(frozen=True)
class Rescued:
    """How many answers were `saved`, by role, and `lost`, as far as can be told.

    `moved` is where the damaged file is now, None where nothing was damaged; `info` tells that `run.json` was made again.
    """

    saved: dict[str, int]
    lost: int = 0
    moved: Path | None = None
    info: bool = False


def rescue(path: str | Path) -> Rescued:
    """Make the ledger of a run folder, or the file of a cache, anew from what can be read of it.

    What is sound stays as it is. Stopped at any moment, it is gone on with by the next call. Raises UserError where there
    is no ledger, where a run uses it, where a file of another name holds no answer, and where the place cannot be written.
    """
    given = Path(path)
    file = given / LEDGER if given.is_dir() else given
    if not any(_beside(file, end).is_file() for end in ("", PART, _LOG)):
        raise UserError(f"{path}: has no ledger; give the folder of a run, or the file of a cache")
    if link := next((one for one in (file, _beside(file, PART)) if one.is_symlink()), None):
        raise UserError(f"{link} is a link; give the place where the file itself is")
    try:
        found = _rescued(file, _told(given))
        return Rescued(found.saved, found.lost, found.moved, given.is_dir() and _info_again(given))
    except OSError as error:
        raise write_error(f"{path}", error) from error


def _rescued(file: Path, told: int) -> Rescued:
    part, notes, broken = _beside(file, PART), dict[str, list[str]](), set[Any]()
    # The files are opened within the lock and closed after it: with a file that a process closes, its locks on it go.
    with ExitStack() as files, _held(file) as db:
        if db is not None:
            _refuse_foreign(db, file)
        there, log = (files.enter_context(open_or_none(_beside(file, end))) for end in ("", _LOG))
        new = _begun(part, again=file.exists())
        try:
            new.take(_sound(rows(there, log), notes, broken))
            for name, texts in notes.items():
                new.keep_note(name, max(texts, key=_when))
            saved = {role: usage.calls for role, usage in new.usage()["total"].items()}
            lost = sum(not isinstance(key, bytes) or new.get(key.decode("latin-1")) is None for key in broken)
        finally:
            new.close()
        if db is not None and _whole(db) == sum(saved.values()):
            part.unlink()
            return Rescued(saved)
        if not saved and file.name != LEDGER:  # anything at all, by a slip
            part.unlink()
            raise UserError(
                f"{file}: holds no answer that can be read, and is perhaps no ledger; it stays as it is; move it away to "
                "begin anew"
            )
        moved = _put_beside(file)
    part.replace(file)
    return Rescued(saved, max(lost, told - sum(saved.values())), moved)


def _begun(part: Path, *, again: bool) -> Ledger:
    """The new ledger, with what a rescue that was stopped has put into it; from the beginning where that is damaged."""
    try:
        return Ledger(part)
    except DamagedError:
        if not again:
            raise
        part.unlink()
        return Ledger(part)


def _sound(found: Iterator[Row], notes: dict[str, list[str]], broken: set[Any]) -> Iterator[Row]:
    """The rows that are as they were written, texts as such; notes and keys of broken rows are gathered by the way."""
    for row in found:
        if len(row) == len(COLUMNS):
            # SQLite stores 5.0 as 5.
            row = tuple(
                float(v) if n == "finished" and type(v) is int else v for n, v in zip(COLUMNS, row, strict=True)
            )
            if sound(*row):
                yield tuple(value.decode() if isinstance(value, bytes) else value for value in row)
            else:
                broken.add(row[0])
        elif len(row) == 3 and isinstance(row[0], bytes) and isinstance(row[1], bytes):
            name = row[0].decode("latin-1")
            if (text := noted(name, row[1], row[2])) is not None:
                notes.setdefault(name, []).append(text)


def _when(text: str) -> str:
    """By what the newest of several copies of a `run.json` is known."""
    with suppress(ValueError, LookupError, TypeError):
        last = parsed(text)["sessions"][-1]
        return f"{last['started']} {last['finished']}"
    return ""


def _refuse_foreign(db: sqlite3.Connection, file: Path) -> None:
    with suppress(sqlite3.DatabaseError):
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        if tables and "calls" not in tables:
            raise UserError(f"{file}: is a database of another program")


def _whole(db: sqlite3.Connection) -> int | None:
    """How many rows SQLite finds in a file in which it finds nothing wrong; None where it does."""
    try:
        sound = db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        ours = db.execute("PRAGMA application_id").fetchone()[0] == OURS
        held: int = db.execute(f"SELECT COUNT(*) FROM (SELECT {', '.join(COLUMNS)} FROM calls)").fetchone()[0]
        return held if sound and ours else None
    except sqlite3.DatabaseError:
        return None


@contextmanager
def _held(file: Path) -> Iterator[sqlite3.Connection | None]:
    """Keep runs off the file meanwhile; None where SQLite cannot open it, nor could a run. Raises UserError."""
    aside = _aside(file)
    if aside.exists():  # by a rescue that was stopped
        aside.replace(_beside(file, _LOG))
    if not file.is_file() or not file.stat().st_size:  # SQLite would delete the log of such a one
        yield None
        return
    if not os.access(file, os.W_OK):  # nor could SQLite hold it
        raise write_error(str(file), "it is write-protected")
    try:
        db = only_read(file)
    except sqlite3.DatabaseError as error:
        raise write_error(str(file), error) from error
    try:
        try:
            db.execute("SELECT 1 FROM sqlite_master").fetchall()
            found = db
        except sqlite3.DatabaseError as error:
            if is_busy(error):
                raise in_use(file.parent) from error
            found = None
        yield found
    finally:
        with _unseen(file):
            db.close()


@contextmanager
def _unseen(file: Path) -> Iterator[None]:
    """SQLite folds the log in when it closes a file, and deletes it: with all that it could not read of it."""
    log, aside = _beside(file, _LOG), _aside(file)
    if log.exists() and log.stat().st_size:
        log.replace(aside)
    try:
        yield
    finally:
        if aside.exists():
            aside.replace(log)


def _put_beside(file: Path) -> Path:
    """Move a file and its log to names that are free; where the file is now."""
    for end in ("", _LOG):  # in this order: as long as the file is there, a rescue that is stopped begins anew
        if (one := _beside(file, end)).exists() and (not end or one.stat().st_size):
            one.replace(next(name for name in _damaged(file, end) if not name.exists()))
    for end in (_LOG, "-shm"):
        _beside(file, end).unlink(missing_ok=True)
    return [_beside(file, ".damaged"), *takewhile(Path.exists, _damaged(file, ""))][-1]


def _damaged(file: Path, end: str) -> Iterator[Path]:
    """The names under which what is damaged is kept, one after the other."""
    yield _beside(file, f".damaged{end}")
    yield from (_beside(file, f".damaged-{number}{end}") for number in count(2))


def _told(folder: Path) -> int:
    """How many answers there were, as far as `run.json` tells."""
    with suppress(OSError, ValueError):
        return calls(parsed((folder / INFO).read_text(encoding="utf-8-sig")))
    return 0


def _info_again(folder: Path) -> bool:
    """Write `run.json` anew from its copy in the ledger, where it is lost or torn; whether that was so."""
    if not torn(folder) or (text := note_in(folder / LEDGER, INFO)) is None:
        return False
    write_whole(folder / INFO, [text])
    return True


def _aside(file: Path) -> Path:
    return _beside(file, f"{_LOG}.aside")


def _beside(file: Path, end: str) -> Path:
    return file.with_name(file.name + end)
