"""A results data set on the Hub, copied and kept up to date for whoever shows it for long."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from truebench_hf.text.terminal import warn

_FILES = ["*run.json", "*judgments.jsonl"]
_PATIENCE = 10.0  # seconds
# Differs from request to request, and would make every failure look new.
_CHANGING = re.compile(r"\(Request ID: [^)]*\)|0x[0-9a-f]{6,}", re.IGNORECASE)


class ResultsCopy:
    """`folder` is the copy read last (None before the first), `stale` tells visitors since when it is out of reach."""

    def __init__(self, repo: str) -> None:
        """`repo` is a data set's id, `ORG/NAME[@REVISION]`."""
        self._name, _, self._revision = repo.partition("@")
        self._told: set[str] = set()
        self.folder: Path | None = None
        self.stale = ""

    def renew(self) -> None:
        """Bring the copy up to date. Never raises: what was there stays, and the operator is told why, once."""
        try:
            self._download()
            self._told, self.stale = set(), ""
        except Exception as error:  # the client has many errors of its own; all mean: keep what we have
            since = time.strftime("%H:%M UTC on %Y-%m-%d", time.gmtime())
            self.stale = self.stale or f"The results data set could not be reached since {since}."
            self._tell(error)
            self.folder = self.folder or self._left_over()

    def _download(self) -> None:
        from huggingface_hub import HfApi, snapshot_download
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # the log would fill with them
        # Asked first, since the download takes an old copy in silence where the Hub does not answer.
        commit = HfApi().dataset_info(self._name, revision=self._revision or None, timeout=_PATIENCE).sha
        if self.folder is not None and self.folder.name == commit:
            return
        self.folder = Path(snapshot_download(self._name, **self._wanted()))
        if self.folder.name != commit:
            raise OSError(f"commit {commit} was announced and not sent")

    def _left_over(self) -> Path | None:
        """What an earlier process has downloaded, if it is whole."""
        from huggingface_hub import snapshot_download

        try:
            return Path(snapshot_download(self._name, local_files_only=True, **self._wanted()))
        except Exception:  # told already, and there is nothing else to show
            return None

    def _wanted(self) -> dict[str, Any]:
        return {"repo_type": "dataset", "revision": self._revision or None, "allow_patterns": _FILES}

    def _tell(self, error: Exception) -> None:
        text = " ".join(_CHANGING.sub("", str(error)).split())[:300]
        message = f"board: results {self._name}: {type(error).__name__}: {text}"
        if message not in self._told:
            self._told.add(message)
            warn(message)
