"""The board: everything the Space shows at this moment, renewed in the background without a restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.comparing import runs, table
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import BoardEntry, BoardRun
from truebench_hf.comparing.table import Kind
from truebench_hf.data.records import JUDGMENTS, of_entry, read_outcomes
from truebench_hf.errors import UserError
from truebench_hf.hub.results_copy import ResultsCopy
from truebench_hf.metrics.ranks import Results
from truebench_hf.text.terminal import warn


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of the board, equal to itself alone. `ties_known` is False until the paired comparison of measured runs is done.

    `version` grows whenever something else is to be shown, and only then; `read_at` is when the sources were last
    looked at, in seconds since 1970. `stale` is empty, or says since when the results data set is out of reach.
    """

    entries: tuple[BoardEntry, ...]
    kinds: tuple[Kind, ...]
    ties_known: bool
    read_at: float
    version: int = 0
    stale: str = ""

    def entry(self, key: str) -> BoardEntry | None:
        """The entry of a key, if it is there."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def of(self, kind: Kind) -> list[BoardEntry]:
        """The entries of a kind."""
        return [entry for entry in self.entries if entry.kind == kind.name]


class BoardStore:
    """Reads run folders and, where given, a results data set on the Hub. `snapshot` is always whole."""

    def __init__(self, roots: Sequence[Path] = (), hub_id: str = "") -> None:
        self._roots = tuple(roots)
        self._hub = ResultsCopy(hub_id) if hub_id else None
        self._read: dict[Path, tuple[tuple[int, ...], BoardRun | None]] = {}
        self._outcomes = _Outcomes()
        self._lock = threading.Lock()
        self.ready = threading.Event()  # the sources were looked at once, ties included
        self.snapshot = Snapshot((), (), False, 0.0)
        self._plain, self._kinds = self._scan()
        self._show(self._plain, self._kinds, ties_known=_nothing_to_pair(self._plain))

    def refresh(self) -> None:
        """Look at the sources again: plain ranks at once, ties after. Only what changed is read again."""
        with self._lock:
            if self._hub is not None:
                self._hub.renew()
            entries, kinds = self._scan()
            old = self.snapshot
            if old.ties_known and (entries, kinds) == (self._plain, self._kinds):
                self._show(old.entries, old.kinds, ties_known=True)
                return
            self._plain, self._kinds = entries, kinds
            self._outcomes.keep_only([entry.folder for entry in entries if entry.folder])
            self._show(entries, kinds, ties_known=_nothing_to_pair(entries))
            if not self.snapshot.ties_known:
                outcomes = {e.key: results for e in entries if (results := self._outcomes.of(e)) is not None}
                named, ranked, _ = table.ranked(kinds, entries, outcomes)
                self._show(ranked, named, ties_known=True)

    def start(self, every: float) -> threading.Thread:
        """Refresh every so many seconds in a thread that ends with the process."""

        def work() -> None:
            told = ""
            while True:
                try:
                    self.refresh()
                    self.ready.set()
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

    def _show(self, entries: tuple[BoardEntry, ...], kinds: tuple[Kind, ...], *, ties_known: bool) -> None:
        old, stale = self.snapshot, self._hub.stale if self._hub else ""
        same = (entries, kinds, ties_known, stale) == (old.entries, old.kinds, old.ties_known, old.stale)
        self.snapshot = Snapshot(entries, kinds, ties_known, time.time(), old.version + (not same), stale)

    def _scan(self) -> tuple[tuple[BoardEntry, ...], tuple[Kind, ...]]:
        # Folders here come first: of a run that was published, too, this is the copy that stays.
        there = [*self._roots, *([self._hub.folder] if self._hub and self._hub.folder else [])]
        known = {}
        for folder in runs.folders(there):
            mark = runs.stamp(folder)
            old = self._read.get(folder)
            known[folder] = old if old is not None and old[0] == mark else (mark, runs.read(folder))
        self._read = known
        # The papers' boards come first: they say what a board of their kind is ranked by.
        found = [*(paper.published() for paper in PAPERS.values()), *(run for _, run in known.values() if run)]
        kinds, entries = table.merged(found)
        return table.by_score(runs.once(entries)), kinds


def _nothing_to_pair(entries: Sequence[BoardEntry]) -> bool:
    return not any(entry.folder for entry in entries)


class _Outcomes:
    """Who passed what, of runs' judgments, each file read once until it changes."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[tuple[int, int], Mapping[str, Results]]] = {}

    def of(self, entry: BoardEntry) -> Results | None:
        """That of a board's line; None without judgments that can be read."""
        if entry.folder is None:
            return None
        try:
            # A new commit of the results is a folder of links to files that are known already.
            file = (entry.folder / JUDGMENTS).resolve(strict=True)
            mark = (file.stat().st_mtime_ns, file.stat().st_size)
            old = self._kept.get(file)
            if old is None or old[0] != mark:
                old = self._kept[file] = (mark, read_outcomes(file))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError):
            return None  # whoever wrote it: such a run is shown without
        return of_entry(old[1], entry.name) if old[1] else None

    def keep_only(self, folders: Collection[Path]) -> None:
        """Forget what is no longer there."""
        there = {(folder / JUDGMENTS).resolve() for folder in folders}
        self._kept = {file: kept for file, kept in self._kept.items() if file in there}
