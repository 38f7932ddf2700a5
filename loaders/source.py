"""Where a builder's rows come from: a path, a pinned release, or a URL that is fetched first."""

from __future__ import annotations

import urllib.parse
import urllib.request
from http.client import HTTPException
from pathlib import Path

from truebench_hf.benchmarks.truebench.data import RELEASES, download
from truebench_hf.errors import UserError


def resolve(name: str, source: str | None, scratch: Path) -> str | None:
    """The local source of data set `name`; a URL is fetched into `scratch`, that of a pinned release is checked.

    Raises UserError where the file or folder is not there, or the URL cannot be fetched.
    """
    if source is None:
        return None
    if source.startswith(("http://", "https://")):
        return str(_fetched(source, scratch))
    if name == "truebench" and source in RELEASES:
        return source
    if not Path(source).exists():
        raise UserError(f"--source {source}: no such file or folder")
    return source


def _fetched(url: str, scratch: Path) -> Path:
    pinned = next((version for version, release in RELEASES.items() if release.url == url), None)
    if pinned:
        return download(pinned)
    target = scratch / (Path(urllib.parse.urlparse(url).path).name or "source.jsonl")
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            target.write_bytes(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        raise UserError(f"--source {url}: cannot be fetched: {error}; download it and give its path") from error
    return target
