"""The durable ledger: every completion is committed before it is used, keyed by what shaped it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, write_error
from truebench_hf.types import Usage

_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    key TEXT PRIMARY KEY, role TEXT NOT NULL, request TEXT NOT NULL, result TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    session TEXT NOT NULL, finished REAL NOT NULL
) WITHOUT ROWID
"""


def canonical(value: Any) -> str:
    """JSON with one spelling per value: the text that keys and hashes are made of."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(text: str) -> str:
    """SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Ledger:
    """Completions of one run folder in SQLite (`ledger.sqlite`), or with `shared` of whoever opens the file.

    A `put` is committed when it returns: killing the process at any time afterwards does not lose it. All methods raise
    UserError where the file cannot be used: another run holds it, the disk is full, or it is no ledger.
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
            self._ask("PRAGMA journal_mode=WAL")
            # NORMAL under WAL survives a killed process; only a power cut may lose the last commits.
            self._ask("PRAGMA synchronous=NORMAL")
            self._ask(_SCHEMA)
        except BaseException:
            self._db.close()
            raise
        self.session = f"{time.time():.6f}"

    def get(self, key: str) -> dict[str, Any] | None:
        """The result committed under `key`, or None."""
        rows = self._ask("SELECT result FROM calls WHERE key = ?", (key,))
        return json.loads(rows[0][0]) if rows else None

    def put(self, key: str, role: str, request: str, result: dict[str, Any], usage: Usage) -> None:
        """Commit one result. The first one committed under a key stays."""
        tokens = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens)
        text = json.dumps(result, ensure_ascii=False)
        self._ask(
            "INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, role, _storable(request), _storable(text), *tokens, self.session, time.time()),
        )

    def used(self) -> bool:
        """Whether any completion is committed."""
        return bool(self._ask("SELECT EXISTS (SELECT 1 FROM calls)")[0][0])

    def usage(self) -> dict[str, dict[str, Usage]]:
        """Tokens and calls by role, spent in this session (`now`) and ever (`total`)."""
        query = (
            "SELECT role, SUM(input_tokens), SUM(output_tokens), SUM(reasoning_tokens), COUNT(*) FROM calls "
            "WHERE session = ? OR ? GROUP BY role ORDER BY role"
        )
        return {
            name: {role: Usage(*counts) for role, *counts in self._ask(query, (self.session, everything))}
            for name, everything in (("now", 0), ("total", 1))
        }

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        self._db.close()

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        until = time.monotonic() + self._wait
        while True:
            try:
                return self._db.execute(statement, values).fetchall()
            except sqlite3.DatabaseError as error:
                if not hasattr(error, "sqlite_errorcode"):  # not SQLite's word: our own mistake
                    raise
                # SQLite waits by itself, except where two that open a new file at once both set its journal mode.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise self._put_right(error) from error
                time.sleep(0.01)

    def _put_right(self, error: sqlite3.DatabaseError) -> UserError:
        """What the user can do about an error of SQLite."""
        code = error.sqlite_errorcode & 0xFF  # the kind of error, without its finer shades
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return UserError(f"{self._shown} is in use by another run; wait for it, or choose another {self._kind}")
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            return write_error(f"{self._shown}: cannot write {self._path.name}", error)
        return UserError(f"cannot use the ledger {self._path}: {error}; move it away or choose another {self._kind}")


def _storable(text: str) -> str:
    # SQLite takes no lone surrogates; as an escape the JSON text means the same.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
