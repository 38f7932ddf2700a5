"""The board: everything the Space shows at this moment, renewed in the background without a restart."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.errors import UserError
from truebench_hf.report.board import runs, ties
from truebench_hf.report.board.entries import Entry, published
from truebench_hf.report.board.runs import JudgeRun


@dataclass(frozen=True)
class Snapshot:
    """One state of the board. `ties_known` is False until the paired comparison of measured runs is done."""

    entries: tuple[Entry, ...]
    judges: tuple[JudgeRun, ...]
    ties_known: bool
    read_at: float

    def entry(self, key: str) -> Entry | None:
        """The entry of a key, if it is there."""
        return next((entry for entry in self.entries if entry.key == key), None)


class Board:
    """Reads run folders and, where given, a results data set on the Hub. `snapshot` is always whole."""

    def __init__(self, roots: Sequence[Path] = (), hub_id: str = "") -> None:
        self._roots, self._hub_id = tuple(roots), hub_id
        self._read: dict[Path, tuple[tuple[int, ...], Entry | JudgeRun | None]] = {}
        self._outcomes: dict[Path, tuple[tuple[int, ...], ties.Outcomes]] = {}
        self._lock = threading.Lock()
        self._downloaded: Path | None = None
        self.ready = threading.Event()  # the sources were looked at once, ties included
        self.snapshot = self._scan()
        self._plain = self.snapshot.entries

    def refresh(self) -> None:
        """Look at the sources again: plain ranks at once, ties after. Only what changed is read again."""
        with self._lock:
            self._fetch()
            found = self._scan()
            if (found.entries, found.judges) == (self._plain, self.snapshot.judges) and self.snapshot.ties_known:
                return
            self._plain, self.snapshot = found.entries, found
            if not found.ties_known:
                tied = ties.paired(found.entries, self._all_outcomes(found.entries))
                self.snapshot = Snapshot(tied, found.judges, True, found.read_at)

    def start(self, every: float) -> threading.Thread:
        """Refresh every so many seconds in a thread that ends with the process."""

        def work() -> None:
            while True:
                try:
                    self.refresh()
                except Exception as error:  # the board must outlive a broken source; the operator reads why
                    print(f"board: not renewed: {type(error).__name__}: {error}", file=sys.stderr)
                self.ready.set()
                time.sleep(every)

        thread = threading.Thread(target=work, name="board", daemon=True)
        thread.start()
        return thread

    def _scan(self) -> Snapshot:
        there = list(self._roots) + ([self._downloaded] if self._downloaded else [])
        known = {}
        for folder in runs.folders(there):
            mark = runs.stamp(folder)
            old = self._read.get(folder)
            known[folder] = old if old is not None and old[0] == mark else (mark, runs.read(folder))
        self._read = known
        items = [item for _, item in known.values()]
        unique = {item.key: item for item in items if isinstance(item, Entry)}
        entries = ties.by_score([*unique.values(), *published()])
        judges = tuple(item for item in items if isinstance(item, JudgeRun))
        return Snapshot(entries, judges, not unique, time.time())

    def _all_outcomes(self, entries: Sequence[Entry]) -> dict[str, ties.Outcomes]:
        found = {}
        for entry in entries:
            file = entry.folder / "judgments.jsonl" if entry.folder else None
            if file is None or not file.is_file():
                continue
            mark = runs.stamp(file.parent)
            old = self._outcomes.get(file)
            try:
                self._outcomes[file] = old if old is not None and old[0] == mark else (mark, ties.read_outcomes(file))
            except (OSError, ValueError, KeyError, TypeError):
                continue
            found[entry.key] = self._outcomes[file][1]
        return found

    def _fetch(self) -> None:
        if not self._hub_id:
            return
        from huggingface_hub import snapshot_download
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # the log would fill with them
        name, _, revision = self._hub_id.partition("@")
        try:
            patterns = ["*scores.json", "*run.json", "*judgments.jsonl"]
            folder = snapshot_download(name, repo_type="dataset", revision=revision or None, allow_patterns=patterns)
        except Exception as error:  # the client has many errors of its own; all mean: keep what we have
            raise UserError(f"results {name}: {' '.join(str(error).split())[:300]}") from error
        self._downloaded = Path(folder)
