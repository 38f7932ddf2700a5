"""A results data set on the Hub, copied and kept up to date for whoever shows it for long."""

from __future__ import annotations

import re
import time
from contextlib import suppress
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
        self._reported: set[str] = set()
        self.folder: Path | None = None
        self.stale = ""

    def renew(self) -> None:
        """Bring the copy up to date. Never raises: what was there stays, and the operator is told why, once."""
        from huggingface_hub import HfApi, snapshot_download
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()  # the log would fill with them
        wanted: Any = {"repo_type": "dataset", "revision": self._revision or None, "allow_patterns": _FILES}
        try:
            # Asked first, since the download takes an old copy in silence where the Hub does not answer.
            commit = HfApi().dataset_info(self._name, revision=wanted["revision"], timeout=_PATIENCE).sha
            if self.folder is None or self.folder.name != commit:
                self.folder = Path(snapshot_download(self._name, **wanted))
                if self.folder.name != commit:
                    raise OSError(f"commit {commit} was announced and not sent")
            self._reported, self.stale = set(), ""
        except Exception as error:  # the client has many errors of its own; all mean: keep what we have
            since = time.strftime("%H:%M UTC on %Y-%m-%d", time.gmtime())
            self.stale = self.stale or f"The results data set could not be reached since {since}."
            text = " ".join(_CHANGING.sub("", str(error)).split())[:300]
            message = f"board: results {self._name}: {type(error).__name__}: {text}"
            if message not in self._reported:
                self._reported.add(message)
                warn(message)
            if self.folder is None:
                with suppress(
                    Exception
                ):  # what an earlier process has downloaded, if it is whole: there is nothing else to show
                    self.folder = Path(snapshot_download(self._name, local_files_only=True, **wanted))
