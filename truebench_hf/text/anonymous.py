"""What strangers may see of a run: names without folders, texts without addresses, settings without either."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from truebench_hf.text import redaction

_PRIVATE = re.compile(r"key|token|secret|password|auth|header|base_url", re.IGNORECASE)
_ADDRESS = re.compile(r"\b\w+://[^\s'\"<>,;)\]]+")
_NUMERIC = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?")  # an address without a name
_KEY = re.compile(r"\b(?:hf_|sk-)[A-Za-z0-9_-]{8,}")
_PATH = re.compile(r"(?<![\w.:/])(?:/[\w.@%+-]+){2,}/?|\b[A-Za-z]:\\[^\s'\"]+")  # of two levels or more
_SPEC = re.compile(
    r"(?<![\w./-])([a-z][\w-]*:)(?:/|~/|\.{1,2}/)(?:[^\s/]+/)*(?=[^\s/])"
)  # the folder in `hf:/models/x`


def name(text: str) -> str:
    """A path by its last part alone; a spec (`hf:/models/x`) keeps its kind. A Hub id is no path."""
    if " + " in text:  # the judges of a panel
        return " + ".join(map(name, text.split(" + ")))
    key, equals, value = text.partition("=")
    if equals and key.isidentifier():
        return f"{key}={name(value)}"
    if re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", text):  # a Hub id with a revision, which may have slashes
        return text
    kind, colon, path = text.partition(":")
    if colon and len(kind) > 1 and kind.isidentifier() and _is_path(path):
        return f"{kind}:{_last(path)}"
    return _last(text) if _is_path(text) else text


def names(texts: Iterable[str]) -> dict[str, str]:
    """The names of different texts, numbered where two would be one: of folders called alike, say."""
    public = {text: name(text) for text in texts}
    alike = Counter(public.values())
    numbers = Counter[str]()
    for text, plain in public.items():
        if alike[plain] > 1:
            numbers[plain] += 1
            public[text] = f"{plain}#{numbers[plain]}"
    return public


def text(private: str) -> str:
    """A reason or an error without addresses, paths and keys."""
    hidden = _KEY.sub("(hidden)", _NUMERIC.sub("(hidden)", _ADDRESS.sub("(address)", private)))
    return redaction.error(_SPEC.sub(r"\1", _PATH.sub("(path)", hidden)))


def settings(value: Any) -> Any:
    """Settings without local folders, addresses of servers and keys; what has passed here once stays as it is."""
    if isinstance(value, dict):
        # Numbers of tokens are no tokens: input_tokens and max_tokens stay.
        kept = [key for key, inner in value.items() if not _PRIVATE.search(key) or isinstance(inner, int | float)]
        return _renamed({key: settings(value[key]) for key in kept})
    if isinstance(value, list | tuple):
        return [settings(inner) for inner in value if not (isinstance(inner, str) and _private_pair(inner))]
    return redaction.known(name(value)) if isinstance(value, str) else value


def everything(value: Any) -> Any:
    """JSON of whatever shape without local folders, addresses and keys, in names as well: nothing is dropped."""
    if isinstance(value, dict):
        return _renamed({key: everything(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return [everything(inner) for inner in value]
    if not isinstance(value, str):
        return value
    return redaction.known(text(value if " " in value and " + " not in value else name(value)))


def _renamed(content: dict[str, Any]) -> dict[str, Any]:
    """An object whose names tell no folder; two models of one name, in different folders, stay two."""
    renamed: dict[str, Any] = {}
    for key, inner in content.items():
        public_key = everything(key)
        while public_key in renamed:
            public_key += "'"
        renamed[public_key] = inner
    return renamed


def _private_pair(pair: str) -> bool:
    key, equals, _ = pair.partition("=")
    return bool(equals and _PRIVATE.search(key) and "max_" not in key)


def _is_path(path: str) -> bool:
    anchored = re.match(r"(/|~|\.{1,2}[/\\]|[A-Za-z]:[/\\])", path) is not None
    return anchored or (path.count("/") > 1 and "://" not in path) or path.endswith((".json", ".jsonl"))


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
