"""The store of calls: every answer is committed before it is used, keyed by what shaped it.

One class serves as the ledger of a run folder and as the cache across folders.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.engine.money import PaidTokens
from truebench_hf.errors import UserError, write_error
from truebench_hf.types import Usage

# The request comes last: it is the longest, and only people read it.
_CALLS = """(
    key TEXT PRIMARY KEY, role TEXT NOT NULL, result TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, reasoning_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, unknown_calls INTEGER NOT NULL, session TEXT NOT NULL, finished REAL NOT NULL,
    recalled REAL, model TEXT NOT NULL, request TEXT NOT NULL
) WITHOUT ROWID"""
_UNANSWERED = "(role TEXT, model TEXT, input_tokens INTEGER, output_tokens INTEGER, cached_tokens INTEGER)"
_ROWS = "(name TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID"
_PAID = (
    "SELECT role, model, SUM(input_tokens), SUM(output_tokens), SUM(cached_tokens), COUNT(*), SUM(unknown_calls) FROM "
    "(SELECT role, model, input_tokens, output_tokens, cached_tokens, unknown_calls FROM calls WHERE recalled IS NULL "
    "UNION ALL SELECT *, 0 FROM unanswered) GROUP BY role, model ORDER BY role"
)
_SERVED = (
    "SELECT model, told.key, told.value, COUNT(*) FROM calls, "
    "json_each(CASE WHEN json_valid(result) THEN result ELSE '{}' END, '$.served') AS told GROUP BY 1, 2, 3 ORDER BY 4 DESC"
)
PAGE = 4096  # bytes of a page of the file
_LOG_PAGES = 4096  # pages of the log from which on it is folded into the file, which every call under way waits for
_OURS = 0x54424C34  # application_id: by it SQLite files tell whose they are
# All statements are right: an error in one means that the tables are not as they were made.
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ,
}  # fmt: skip
_ANEW = {  # what helps by the kind of place
    "folder": "put a copy of it back, or move it and the results beside it away, and the same command begins anew",
    "cache": "`truebench cache clear` begins it anew, --no-cache goes without it",
}


class Calls:
    """All calls of one run folder in SQLite (`ledger.sqlite`), or with `shared` those of all who open a cache.

    A `put` is committed when it returns: killing the process at any time afterwards does not lose it. All methods raise
    UserError where the file cannot be used: another run holds it, the disk is full, it is damaged, or it is no ledger.
    """

    def __init__(self, path: Path, *, shared: bool = False, keeps: bool = True, over: Path | None = None) -> None:
        """One that keeps nothing takes no answers. What is in the file that it lies `over` is known too: for estimates."""
        self._keeps, self._estimates = keeps, over is not None
        self._below = Calls(over) if over and over.exists() and over.stat().st_size else None
        self._path, self._kind = path, "cache" if shared else "folder"
        self._shown = f"--{'cache' if shared else 'out'} {path.parent}"
        self._wait = 30.0 if shared else 1.0  # seconds for whoever holds it
        self.session = f"{time.time():.6f}"
        try:
            # Used by one thread after the other: in notebooks calls run in a thread of their own.
            self._db = sqlite3.connect(path, isolation_level=None, timeout=self._wait, check_same_thread=False)
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error
        try:
            self._prepare()
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        if self._kind == "folder":
            # Held from the first statement to the end of the process: a second run would ask for the same calls.
            self._ask("PRAGMA locking_mode=EXCLUSIVE")
        # In this order: whoever makes the file at the same moment says first whose it is.
        is_filled = self._ask("SELECT EXISTS (SELECT 1 FROM sqlite_master)")[0][0]
        if self._ask("PRAGMA application_id")[0][0] != _OURS:
            if is_filled:
                raise UserError(
                    f"{self._path} is no ledger of this version, or none at all; choose another {self._kind}"
                )
            self._ask(f"PRAGMA page_size={PAGE}")
            self._ask(f"PRAGMA application_id={_OURS}")
        self._ask("PRAGMA journal_mode=WAL")
        # NORMAL under WAL survives a killed process; only a power cut may lose commits since the last folding.
        self._ask("PRAGMA synchronous=NORMAL")
        self._ask(f"PRAGMA wal_autocheckpoint={_LOG_PAGES}")
        for table, columns in (("calls", _CALLS), ("rows", _ROWS), ("unanswered", _UNANSWERED)):
            self._ask(f"CREATE TABLE IF NOT EXISTS {table} {columns}")
        if (report := self._ask("PRAGMA quick_check(1)")[0][0]) != "ok":
            raise self._is_damaged(report.splitlines()[-1])

    def get(self, key: str) -> dict[str, Any] | None:
        """The result committed under `key`, or None."""
        return hit[0] if (hit := self.get_dated(key)) else None

    def get_dated(self, key: str) -> tuple[dict[str, Any], float] | None:
        """The result committed under `key`, and when it was (seconds since 1970); or None."""
        if rows := self._ask("SELECT result, finished FROM calls WHERE key = ?", (key,)):
            return json.loads(rows[0][0]), rows[0][1]
        return self._below.get_dated(key) if self._below else None

    def put(
        self, key: str, role: str, request: str, result: dict[str, Any], usage: Usage, recalled: float | None = None,
        model: str = "",
    ) -> dict[str, Any]:  # fmt: skip
        """Commit one result; what `get` gives for its key from now on. The first one committed under a key stays.

        `cached_tokens` of a result are those of its input that the server took from a cache of its own. `recalled` is
        when a result was asked for that came from the cache; None: it was asked for now. `model` is its spec.
        """
        if not self._keeps:
            return result
        tokens = (usage.input_tokens, usage.output_tokens, usage.reasoning_tokens, result.get("cached_tokens", 0))
        # As escapes: SQLite takes no lone surrogates, and in a JSON text the escape means the same.
        texts = (json.dumps(result, ensure_ascii=False), "" if self._estimates else request)
        kept, body = (text.encode("utf-8", "backslashreplace").decode() for text in texts)
        is_unknown, now = usage.unknown_calls > 0, time.time()
        row = (key, role, kept, *tokens, is_unknown, self.session, now, recalled, model, body)
        # Of two who commit at once the second sets nothing, and is given what the first has set.
        marks = ", ".join("?" * len(row))
        setting = f"INSERT INTO calls VALUES ({marks}) ON CONFLICT DO UPDATE SET key = key RETURNING result"
        first: dict[str, Any] = json.loads(self._ask(setting, row)[0][0])
        return first

    def put_unanswered(self, role: str, model: str, tokens: PaidTokens) -> None:
        """Commit what a try was billed for of which no answer came."""
        values = (role, model, tokens.input, tokens.output, tokens.cached)
        self._ask("INSERT INTO unanswered VALUES (?, ?, ?, ?, ?)", values)

    def used(self) -> bool:
        """Whether any completion is committed; of an estimate in the file below it."""
        return bool((self._below or self)._ask("SELECT EXISTS (SELECT 1 FROM calls)")[0][0])

    def usage(self) -> dict[str, dict[str, Usage]]:
        """Tokens and calls by role: of all answers (`total`), of those in it from the cache (`from_cache`), and of those
        asked for in this session (`now`).
        """
        parts: dict[str, dict[str, Usage]] = {"now": {}, "total": {}, "from_cache": {}}
        sums = "SUM(input_tokens), SUM(output_tokens), SUM(reasoning_tokens), COUNT(*), SUM(unknown_calls)"
        query = f"SELECT role, session = ?, recalled IS NOT NULL, {sums} FROM calls GROUP BY 1, 2, 3 ORDER BY 1"
        for role, is_new, is_recalled, *counts in self._ask(query, (self.session,)):
            for part in ("total", *(["from_cache"] if is_recalled else ["now"] if is_new else [])):
                parts[part][role] = parts[part].get(role, Usage()) + Usage(*counts)
        return parts

    def paid(self) -> dict[tuple[str, str], PaidTokens]:
        """By role and model what was asked for by this folder itself, in all sessions, whether an answer came or not."""
        return {(role, model): PaidTokens(*counts) for role, model, *counts in self._ask(_PAID)}

    def served(self) -> dict[str, dict[str, dict[str, int]]]:
        """By model and kind (provider, model, system_fingerprint, revision) how many answers told what of who gave them."""
        counts: dict[str, dict[str, dict[str, int]]] = {}
        for model, kind, value, count in self._ask(_SERVED):
            values = counts.setdefault(model, {}).setdefault(kind, {})
            if len(values) < 20:  # servers may say anything
                values[value] = count
        return counts

    def recalled(self) -> tuple[int, int, float, float]:
        """How many answers were asked for by this folder itself, how many came from the cache, and when the first and the
        last of these were asked for.
        """
        counts = "COUNT(*) - COUNT(recalled), COUNT(recalled)"
        own, count, first, last = self._ask(f"SELECT {counts}, MIN(recalled), MAX(recalled) FROM calls")[0]
        return own, count, first or 0.0, last or 0.0

    def dates(self) -> dict[str, tuple[int, float, float]]:
        """By role how many answers there are, and when the first and the last of them were committed."""
        query = "SELECT role, COUNT(*), MIN(finished), MAX(finished) FROM calls GROUP BY role ORDER BY role"
        return {role: (count, first, last) for role, count, first, last in self._ask(query)}

    def prune(self, before: float) -> int:
        """Remove what was committed before a moment (seconds since 1970) and give its space back; how many answers."""
        removed = self._ask("DELETE FROM calls WHERE finished < ? RETURNING 1", (before,))
        self._ask("VACUUM")
        return len(removed)

    def rows(self) -> dict[str, str]:
        """The hashes of the rows of data that the folder is about, by their names."""
        return dict(self._ask("SELECT name, sha256 FROM rows"))

    def keep_rows(self, rows: Mapping[str, str]) -> None:
        """Put these hashes in place of those that are kept."""
        with self._db:
            self._ask("BEGIN")
            self._ask("DELETE FROM rows")
            self._db.executemany("INSERT INTO rows VALUES (?, ?)", rows.items())

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        self._db.close()
        if self._below:
            self._below.close()

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
                    raise self._meaning(error) from error
                time.sleep(0.01)

    def _meaning(self, error: sqlite3.DatabaseError) -> UserError:
        """Return what the user can do about an error of SQLite."""
        code = error.sqlite_errorcode & 0xFF  # the kind of error, without its finer shades
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return UserError(f"{self._shown} is in use by another run; wait for it, or choose another {self._kind}")
        if _DAMAGED & {code, error.sqlite_errorcode}:
            return self._is_damaged(error)
        return write_error(f"{self._shown}: cannot write {self._path.name}", error)

    def _is_damaged(self, reason: object) -> UserError:
        return UserError(f"{self._path} is damaged ({reason}); {_ANEW[self._kind]}")
