"""Names and texts as a visitor may see them: whole, and without paths, addresses or keys of the machine behind."""

from __future__ import annotations

import json
import re
from typing import Any

# Absolute paths (two levels or more), Windows paths, web addresses with a port or of a private host, and keys.
_PATH = re.compile(r"(?<![\w.:/])(?:/[\w.@%+-]+){2,}/?|\b[A-Za-z]:\\[^\s'\"]+")
_ADDRESS = re.compile(r"\bhttps?://[^\s'\"<>)]+")
_HALF = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
_SECRET = re.compile(r"\b(?:hf_|sk-)[A-Za-z0-9_-]{8,}|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?")


def loads(text: str) -> Any:
    """JSON as it can be shown: half a character, which no page can carry, is a question mark. Raises as `json` does."""
    value = json.loads(text)
    if _HALF.search(text) is None:  # only an escape can stand for half a character, and few files have any
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def name(spec: str) -> str:
    """A model spec without the folder it was loaded from: `hf:/data/m/Qwen3-8B` -> `hf:Qwen3-8B`; a panel by each."""
    if " + " in spec:
        return " + ".join(map(name, spec.split(" + ")))
    kind, colon, rest = spec.partition(":")
    if not colon:
        return rest or (kind if "/" not in kind else kind.rstrip("/").rpartition("/")[2])
    local = rest.startswith(("/", ".", "~")) or "\\" in rest or rest.count("/") > 1 or kind == "scripted"
    return f"{kind}:{_last(rest)}" if local else spec


def data(text: str) -> str:
    """A `--data` value as shown: a file by its name alone, a Hub id or release whole."""
    return _last(text) if text.endswith((".jsonl", ".json")) else name(text)


def _last(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def scrub(text: str) -> str:
    """A reason or error without paths, addresses and keys."""
    text = _ADDRESS.sub("(address)", text)
    text = _SECRET.sub("(hidden)", text)
    return _PATH.sub("(path)", text)
