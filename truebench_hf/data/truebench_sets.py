"""Where TRUEBench's instances are: the built-in sample, and the pinned public releases."""

from __future__ import annotations

import os
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

from truebench_hf.data.row_files import built
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest

MINI = Path(__file__).with_name("truebench_mini.jsonl")


@dataclass(frozen=True, slots=True)
class Release:
    """A pinned public release: where its file is, and what it holds."""

    url: str
    sha256: str
    instances: int
    turns: int
    criteria: int


RELEASES = {
    "v0.6.1": Release(
        "https://raw.githubusercontent.com/SamsungLabs/TRUEBench/bb8c0541dc7dca375249fe03cccec592532f6632"
        "/dataset/TRUEBench-v0.6.1.jsonl",
        "5219eda066398d4e2c5f47db5e087f732c3f63536b4588df320b98bc94e1014a",
        2485,
        3000,
        9591,
    )
}
LATEST = "v0.6.1"
NAMES = ("mini", "truebench_mini", "truebench", *RELEASES)  # truebench is the latest release


def located(data: str) -> str:
    """The file of one of `NAMES`, a release fetched if need be; any other text as it is."""
    if not any(built(data, name) for name in NAMES):
        return data
    return str(MINI if data in ("mini", "truebench_mini") else download(LATEST if data == "truebench" else data))


def download(name: str) -> Path:
    """The file of a release, fetched once into the user's cache and checked. Raises UserError when it cannot be had."""
    release = RELEASES[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "truebench_hf"
    target = cache / f"TRUEBench-{name}.jsonl"
    if target.is_file() and digest(target.read_bytes()) == release.sha256:
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(release.url, timeout=60) as answer:
            content = answer.read()
    except (URLError, OSError, HTTPException) as error:
        raise UserError(f"--data {name}: cannot fetch {release.url}: {error}; download it and give its path") from error
    if digest(content) != release.sha256:
        raise UserError(f"--data {name}: {release.url} does not have the pinned SHA-256 {release.sha256}")
    part = target.with_suffix(".part")
    part.write_bytes(content)
    part.replace(target)
    return target
