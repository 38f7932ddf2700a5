"""The board: everything the Space shows at this moment, renewed in the background without a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.errors import UserError
from truebench_hf.records import read_outcomes
from truebench_hf.space.board import runs, ties
from truebench_hf.space.board.entries import Entry, once, published
from truebench_hf.space.board.results import ResultsCopy
from truebench_hf.space.board.runs import JudgeRun
from truebench_hf.terminal import warn


@dataclass(frozen=True)
class Snapshot:
    """One state of the board. `ties_known` is False until the paired comparison of measured runs is done.

    `version` grows whenever something else is to be shown, and only then; `read_at` is when the sources were last
    looked at, in seconds since 1970. `stale` is empty, or says since when the results data set is out of reach.
    """

    entries: tuple[Entry, ...]
    judges: tuple[JudgeRun, ...]
    ties_known: bool
    read_at: float
    version: int = 0
    stale: str = ""

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, if it is there."""
        return next((entry for entry in self.entries if entry.key == key), None)


class Board:
    """Reads run folders and, where given, a results data set on the Hub. `snapshot` is always whole."""

    def __init__(self, roots: Sequence[Path] = (), hub_id: str = "") -> None:
        self._roots = tuple(roots)
        self._hub = ResultsCopy(hub_id) if hub_id else None
        self._read: dict[Path, tuple[tuple[int, ...], Entry | JudgeRun | None]] = {}
        self._outcomes: dict[Path, tuple[tuple[int, int], ties.Outcomes]] = {}
        self._lock = threading.Lock()
        self.ready = threading.Event()  # the sources were looked at once, ties included
        self.snapshot = Snapshot((), (), False, 0.0)
        self._plain, judges = self._scan()
        self._show(self._plain, judges, ties_known=_nothing_to_pair(self._plain))

    def refresh(self) -> None:
        """Look at the sources again: plain ranks at once, ties after. Only what changed is read again."""
        with self._lock:
            if self._hub is not None:
                self._hub.renew()
            entries, judges = self._scan()
            old = self.snapshot
            if old.ties_known and (entries, judges) == (self._plain, old.judges):
                self._show(old.entries, judges, ties_known=True)
                return
            self._plain = entries
            self._show(entries, judges, ties_known=_nothing_to_pair(entries))
            if not self.snapshot.ties_known:
                self._show(ties.paired(entries, self._all_outcomes(entries)), judges, ties_known=True)

    def start(self, every: float) -> threading.Thread:
        """Refresh every so many seconds in a thread that ends with the process."""

        def work() -> None:
            told = ""
            while True:
                try:
                    self.refresh()
                    told = ""
                except Exception as error:  # the board must outlive a broken source; the operator reads why, once
                    if (message := f"board: not renewed: {type(error).__name__}: {error}") != told:
                        told = message
                        warn(message)
                self.ready.set()
                time.sleep(every)

        thread = threading.Thread(target=work, name="board", daemon=True)
        thread.start()
        return thread

    def _show(self, entries: tuple[Entry, ...], judges: tuple[JudgeRun, ...], *, ties_known: bool) -> None:
        old, stale = self.snapshot, self._hub.stale if self._hub else ""
        same = (entries, judges, ties_known, stale) == (old.entries, old.judges, old.ties_known, old.stale)
        self.snapshot = Snapshot(entries, judges, ties_known, time.time(), old.version + (not same), stale)

    def _scan(self) -> tuple[tuple[Entry, ...], tuple[JudgeRun, ...]]:
        # Folders here come first: of a run that was published, too, this is the copy that stays.
        there = [*self._roots, *([self._hub.folder] if self._hub and self._hub.folder else [])]
        known = {}
        for folder in runs.folders(there):
            mark = runs.stamp(folder)
            old = self._read.get(folder)
            known[folder] = old if old is not None and old[0] == mark else (mark, runs.read(folder))
        self._read = known
        items = [item for _, item in known.values()]
        entries = ties.by_score([*once(item for item in items if isinstance(item, Entry)), *published()])
        judges = {item.key: item for item in reversed(items) if isinstance(item, JudgeRun)}
        return entries, tuple(reversed(judges.values()))

    def _all_outcomes(self, entries: Sequence[Entry]) -> dict[str, ties.Outcomes]:
        found, kept = {}, {}
        for entry in entries:
            if entry.folder is None:
                continue
            try:
                # A new commit of the data set is a folder of links to files that are known already.
                file = (entry.folder / "judgments.jsonl").resolve(strict=True)
                mark = (file.stat().st_mtime_ns, file.stat().st_size)
                old = self._outcomes.get(file)
                kept[file] = old if old is not None and old[0] == mark else (mark, read_outcomes(file))
            except (OSError, UserError):
                continue
            found[entry.key] = kept[file][1]
        self._outcomes = kept
        return found


def _nothing_to_pair(entries: Sequence[Entry]) -> bool:
    return not any(entry.folder for entry in entries)
