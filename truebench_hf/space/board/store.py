"""The board: everything the Space shows at this moment, renewed in the background without a restart."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from truebench_hf.comparing import runs, table
from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import BoardEntry, BoardRun
from truebench_hf.comparing.table import Kind
from truebench_hf.data.records import JUDGMENTS, Stamp, of_entry, read_outcomes, stamp
from truebench_hf.errors import UserError
from truebench_hf.hub.results import ResultsCopy
from truebench_hf.metrics.ranks import Results
from truebench_hf.text.terminal import warn

V = TypeVar("V")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """One state of the board, equal to itself alone.

    `version` grows whenever something else is to be shown, and only then; `read_at` is when the sources were last
    looked at, in seconds since 1970. `stale` is empty, or says since when the results data set is out of reach.
    """

    entries: tuple[BoardEntry, ...]
    kinds: tuple[Kind, ...]
    read_at: float = 0.0
    version: int = 0
    stale: str = ""

    def entry(self, key: str) -> BoardEntry | None:
        """The entry of a key, if it is there."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def of(self, kind: Kind) -> list[BoardEntry]:
        """The entries of a kind."""
        return [entry for entry in self.entries if entry.kind == kind.name]


class BoardStore:
    """Reads run folders and, where given, a results data set on the Hub. `snapshot` is always whole.

    Before the first `refresh` it holds the run folders alone, ranked by their totals.
    """

    def __init__(self, roots: Sequence[Path] = (), hub_id: str = "") -> None:
        self.roots = tuple(roots)
        self._hub = ResultsCopy(hub_id) if hub_id else None
        self._read: dict[Path, tuple[tuple[Stamp, ...], BoardRun | None]] = {}
        self._judged: dict[Path, tuple[Stamp, Mapping[str, Results]]] = {}
        self._lock = threading.Lock()
        self.ready = threading.Event()  # the sources were looked at once
        self._plain: tuple[BoardEntry, ...] = ()  # as they were before models were compared
        self.snapshot = Snapshot(*self._scan(self.roots))

    def refresh(self) -> None:
        """Look at the sources again. Only what changed is read again, and models are compared only where something did."""
        with self._lock:
            old = self.snapshot
            if self._hub is not None:
                self._hub.renew()
            # Folders here come first: of a run that was published, too, this is the copy that stays.
            roots = [*self.roots, *([self._hub.folder] if self._hub and self._hub.folder else [])]
            plain, kinds = self._scan(roots)
            entries = old.entries
            if (plain, kinds) != (self._plain, old.kinds):
                entries = table.paired(plain, self._outcomes(plain))
                self._plain = plain
            stale = self._hub.stale if self._hub else ""
            changed = (entries, kinds, stale) != (old.entries, old.kinds, old.stale)
            self.snapshot = Snapshot(entries, kinds, time.time(), old.version + changed, stale)

    def start(self, seconds: float) -> threading.Thread:
        """Refresh every so many seconds in a thread that ends with the process."""

        def work() -> None:
            last = ""
            while True:
                try:
                    self.refresh()
                    last = ""
                except Exception as error:  # the board must outlive a broken source; the operator reads why, once
                    if (message := f"board: not renewed: {type(error).__name__}: {error}") != last:
                        last = message
                        warn(message)
                self.ready.set()
                time.sleep(seconds)

        thread = threading.Thread(target=work, name="board", daemon=True)
        thread.start()
        return thread

    def _scan(self, roots: Sequence[Path]) -> tuple[tuple[BoardEntry, ...], tuple[Kind, ...]]:
        """Return all lines, ranked by their totals, and the kinds of boards."""
        read = {}
        for folder in runs.folders(roots):
            mark, old = runs.stamp(folder), self._read.get(folder)
            read[folder] = old if old is not None and old[0] == mark else (mark, runs.read_board(folder))
        self._read = read
        # The papers' boards come first: they say what a board of their kind is ranked by.
        published = [paper.published() for paper in PAPERS.values()]
        kinds, entries = table.merged([*published, *(run for _, run in read.values() if run)])
        return table.by_score(runs.once(entries)), kinds

    def _outcomes(self, entries: Sequence[BoardEntry]) -> dict[str, Results]:
        """Return who passed what, by key of those with judgments that can be read; a file is read once until it changes."""
        judged: dict[Path, tuple[Stamp, Mapping[str, Results]]] = {}
        outcomes: dict[str, Results] = {}
        for entry in (entry for entry in entries if entry.folder):
            try:
                # A new commit of the results is a folder of links to files that are known already.
                file = (entry.folder / JUDGMENTS).resolve(strict=True)  # type: ignore[operator]
                mark, old = stamp(file), judged.get(file) or self._judged.get(file)
                judged[file] = old if old is not None and old[0] == mark else (mark, read_outcomes(file))
            except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError):
                continue  # whoever wrote it: such a run is shown without
            if judged[file][1] and (results := of_entry(judged[file][1], entry.name)) is not None:
                outcomes[entry.key] = results
        self._judged = judged
        return outcomes


class Recent(Generic[V]):
    """What was made last, by key, at most so many: a click does not make it again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, V] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Hashable, make: Callable[[], V]) -> V:
        """What was made for a key, or is made now. Raises what `make` raises."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return self._kept[key]
