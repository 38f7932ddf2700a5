"""The durable ledger: every completion is committed before it is used, keyed by what shaped it."""

from __future__ import annotations

import json
import shlex
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, write_error
from truebench_hf.hashing import canonical
from truebench_hf.text.terminal import warn
from truebench_hf.types import Usage

# The request comes last: it is the longest, and only people read it.
COLUMNS = (
    "key", "role", "result", "input_tokens", "output_tokens", "reasoning_tokens", "unknown_calls", "session", "finished", "checksum",
    "request",
)  # fmt: skip
_CALLS = """(
    key TEXT PRIMARY KEY, role TEXT NOT NULL, result TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    session TEXT NOT NULL, finished REAL NOT NULL, checksum INTEGER NOT NULL, request TEXT NOT NULL
) WITHOUT ROWID"""
_INSERT = f"INSERT OR IGNORE INTO calls VALUES ({', '.join('?' * len(COLUMNS))})"
_NOTES = "(name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID"
PAGE = 4096  # bytes of a page of the file
_LOG_PAGES = 4096  # pages of the log from which on it is folded into the file, which every call under way waits for
PART = ".part"  # what a ledger is called beside the name until it is rescued
_TABLES = "SELECT sql FROM sqlite_master"
_NOTE = "SELECT CAST(value AS BLOB), checksum FROM notes WHERE name = ?"
OURS = 0x54424C32  # application_id: by it SQLite files tell whose they are
# Text as bytes: damage may leave what is no text.
_TEXTS = ("key", "role", "result", "session", "request")
_SOUND = f"sound({', '.join(f'CAST({name} AS BLOB)' if name in _TEXTS else name for name in COLUMNS)})"
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ
}  # fmt: skip
# Keys that do not follow each other: looked up by its key, another row would be found, or none.
_DISORDER = "SELECT EXISTS (SELECT 1 FROM (SELECT key <= LAG(key) OVER () AS wrong FROM calls) WHERE wrong)"


class Ledger:
    """Completions of one run folder in SQLite (`ledger.sqlite`), or with `shared` of whoever opens the file.

    A `put` is committed when it returns: killing the process at any time afterwards does not lose it. Every row has a
    checksum; those that are not as they were written are taken out when the file is opened, and `damaged` counts them,
    as `held` does those that are left.
    All methods raise UserError where the file cannot be used: another run holds it, the disk is full, it is damaged, or
    it is no ledger.
    """

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self._path, self._kind = path, "file" if shared else "folder"
        self._shown = f"cache {path}" if shared else f"--out {path.parent}"
        self._wait = 10.0 if shared else 1.0  # seconds for whoever holds it
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=self._wait)
        except sqlite3.DatabaseError as error:
            raise self._put_right(error) from error
        try:
            if not shared:
                # Held from the first statement to the end of the process: a second run would ask for the same calls.
                self._ask("PRAGMA locking_mode=EXCLUSIVE")
            self._refuse_foreign()
            self._ask("PRAGMA journal_mode=WAL")
            # NORMAL under WAL survives a killed process; only a power cut may lose commits since the last folding.
            self._ask("PRAGMA synchronous=NORMAL")
            self._ask(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
            self._ask(f"CREATE TABLE IF NOT EXISTS calls {_CALLS}")
            self._ask(f"CREATE TABLE IF NOT EXISTS notes {_NOTES}")
            self._db.create_function("sound", len(COLUMNS), sound, deterministic=True)
            self.held, self.damaged = self._without_damaged()
        except BaseException:
            self._db.close()
            raise
        self.session = f"{time.time():.6f}"

    def get(self, key: str) -> dict[str, Any] | None:
        """The result committed under `key`, or None."""
        rows = self._ask("SELECT result FROM calls WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else None

    def put(self, key: str, role: str, request: str, result: dict[str, Any], usage: Usage) -> dict[str, Any]:
        """Commit one result; what `get` gives for its key from now on. The first one committed under a key stays."""
        tokens = (
            int(usage.input_tokens),
            int(usage.output_tokens),
            int(usage.reasoning_tokens),
            int(usage.unknown_calls > 0),
        )
        asked, answered = _storable(request), _storable(json.dumps(result, ensure_ascii=False))
        finished = time.time()
        check = checksum((key.encode(), role.encode(), answered, *tokens, self.session.encode(), finished, asked))
        kept, before = answered.decode(), self._db.total_changes
        self._ask(_INSERT, (key, role, kept, *tokens, self.session, finished, check, asked.decode()))
        found = self.get(key) if self._db.total_changes == before else None
        return json.loads(kept) if found is None else found

    def used(self) -> bool:
        """Whether any completion is committed."""
        return bool(self._ask("SELECT EXISTS (SELECT 1 FROM calls)")[0][0])

    def without_schema(self, role: str) -> bool:
        """Whether a request of the role that named no JSON schema is committed."""
        # The text of a message cannot hold this: its quotation marks are escaped.
        query = "SELECT EXISTS (SELECT 1 FROM calls WHERE role = ? AND instr(request, ?))"
        return bool(self._ask(query, (role, canonical({"schema": None})[1:-1]))[0][0])

    def usage(self) -> dict[str, dict[str, Usage]]:
        """Tokens and calls by role, spent in this session (`now`) and ever (`total`)."""
        query = (
            "SELECT role, SUM(input_tokens), SUM(output_tokens), SUM(reasoning_tokens), COUNT(*), SUM(unknown_calls) FROM calls "
            "WHERE session = ? OR ? GROUP BY role ORDER BY role"
        )
        return {
            name: {role: Usage(*counts) for role, *counts in self._ask(query, (self.session, everything))}
            for name, everything in (("now", 0), ("total", 1))
        }

    def note(self, name: str) -> str | None:
        """A text kept beside the completions, or None: also where it is not as it was written."""
        rows = self._ask(_NOTE, (name,))
        return noted(name, *rows[0]) if rows else None

    def keep_note(self, name: str, text: str) -> None:
        """Commit a text under a name, in place of the one before."""
        value = _storable(text)
        check = checksum((name.encode(), value))
        self._ask("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (name, value.decode(), check))

    def take(self, rows: Iterable[Sequence[Any]]) -> None:
        """Commit rows of another ledger (`COLUMNS`), all or none; those it has stay."""
        with self._whole():
            for row in rows:
                self._ask(_INSERT, row)

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        self._db.close()

    def _refuse_foreign(self) -> None:
        # In this order: whoever makes the file at the same moment says first whose it is.
        filled = self._ask("SELECT EXISTS (SELECT 1 FROM sqlite_master)")[0][0]
        if self._ask("PRAGMA application_id")[0][0] == OURS:
            return
        if filled and as_made(self._ask(_TABLES)):
            raise self._is_damaged("its head is not as it was written")
        if filled:
            raise UserError(f"{self._path} is no ledger of this version, or none at all; choose another {self._kind}")
        self._ask(f"PRAGMA page_size={PAGE}")
        self._ask(f"PRAGMA application_id={OURS}")

    def _without_damaged(self) -> tuple[int, int]:
        """Take out the rows that are not as they were written; how many are left, and how many there were."""
        every, damaged = self._ask(f"SELECT COUNT(*), COUNT(*) FILTER (WHERE NOT {_SOUND}) FROM calls")[0]
        if damaged or self._ask(_DISORDER)[0][0]:
            # Into a new table: a damaged key stands in the wrong place, where neither it nor its neighbours are found.
            with self._whole():
                self._ask(f"CREATE TABLE sound_calls {_CALLS}")
                self._ask(f"INSERT OR IGNORE INTO sound_calls SELECT * FROM calls WHERE {_SOUND}")
                self._ask("DROP TABLE calls")
                self._ask("ALTER TABLE sound_calls RENAME TO calls")
            every = self._ask("SELECT COUNT(*) FROM calls")[0][0] + damaged
        return every - damaged, damaged

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is done inside is done whole or not at all."""
        self._ask("BEGIN IMMEDIATE")
        try:
            yield
            self._ask("COMMIT")
        finally:
            if self._db.in_transaction:
                self._db.rollback()

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        until = time.monotonic() + self._wait
        while True:
            try:
                return self._db.execute(statement, values).fetchall()
            except sqlite3.DatabaseError as error:
                if not hasattr(error, "sqlite_errorcode"):  # not SQLite's word: our own mistake
                    raise
                if "user-defined function" in str(error):  # `sound` fails for nothing else
                    raise KeyboardInterrupt from error
                # SQLite waits by itself, except where two that open a new file at once both set its journal mode.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise self._put_right(error) from error
                time.sleep(0.01)

    def _put_right(self, error: sqlite3.DatabaseError) -> UserError:
        """What the user can do about an error of SQLite."""
        code = error.sqlite_errorcode & 0xFF  # the kind of error, without its finer shades
        if is_busy(error):
            return in_use(self._shown, self._kind)
        # An error in a statement, which are all right, means that the tables are not as they were made.
        if {code, error.sqlite_errorcode} & {*_DAMAGED, sqlite3.SQLITE_ERROR}:
            return self._is_damaged(error)
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            return write_error(f"{self._shown}: cannot write {self._path.name}", error)
        return UserError(f"cannot use the ledger {self._path}: {error}; move it away or choose another {self._kind}")

    def _is_damaged(self, why: object) -> DamagedError:
        return damaged(self._path, why, self._path if self._kind == "file" else self._path.parent)


def as_made(tables: Iterable[Sequence[str | None]]) -> bool:
    """Whether the table of the completions is among these, as we make it; a table is its statement in SQL."""
    return any(str(sql).endswith(_CALLS) for (sql,) in tables)


def checksum(values: Sequence[bytes | float]) -> int:
    """CRC-32 of the values of a row, texts as their bytes: no safeguard against people, but against disks."""
    return zlib.crc32(b"\0".join(value if isinstance(value, bytes) else repr(value).encode() for value in values))


def sound(*row: Any) -> bool:
    """Whether a row (`COLUMNS`, texts as bytes) is as it was written."""
    *values, there, request = row
    return bool(there == checksum((*values, request)))


def noted(name: str, value: bytes, check: object) -> str | None:
    """The text of a note, or None where it is not as it was written."""
    return value.decode() if check == checksum((name.encode(), value)) else None


def note_in(file: Path, name: str) -> str | None:
    """A note of a ledger that is not opened for it, or None. Raises UserError where the file is in use or damaged."""
    if not file.is_file() or not file.stat().st_size:
        return None
    try:
        with closing(only_read(file)) as db:
            rows = db.execute(_NOTE, (name,)).fetchall()
    except sqlite3.DatabaseError as error:
        if is_busy(error):
            raise in_use(file.parent) from error
        if {error.sqlite_errorcode & 0xFF, error.sqlite_errorcode} & _DAMAGED:
            raise damaged(file, error, file.parent) from error
        return None  # of somebody else, or of a session that had begun nothing
    return noted(name, *rows[0]) if rows else None


def is_busy(error: sqlite3.DatabaseError) -> bool:
    """Whether somebody else holds the file."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def in_use(what: object, kind: str = "folder") -> UserError:
    """The error for what somebody else holds."""
    return UserError(f"{what} is in use by another run; wait for it, or choose another {kind}")


def only_read(file: Path) -> sqlite3.Connection:
    """A connection for reading an existing file, which holds it against runs from its first statement on."""
    db = sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=1.0)
    db.execute("PRAGMA locking_mode=EXCLUSIVE")
    return db


class DamagedError(UserError):
    """A ledger that SQLite cannot read."""


def tell_lost(file: object, count: int) -> None:
    """Say that so many answers of a ledger are gone, if any are."""
    if count:
        warn(f"{file}: damaged or gone answers: {count:,}; they are asked for again")


def damaged(file: Path, why: object, rescued: Path) -> DamagedError:
    """The error for a ledger that SQLite cannot read; `rescued` is what the command that helps is given."""
    command = f"truebench study rescue {shlex.quote(str(rescued))}"
    return DamagedError(f"{file} is damaged ({why}); `{command}` keeps all answers in it that can still be read")


def _storable(text: str) -> bytes:
    # SQLite takes no lone surrogates; as an escape the JSON text means the same.
    return text.encode("utf-8", "backslashreplace")
