"""What of a run strangers may see: no local folders, no addresses of servers, no keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from truebench_hf import jsonl, redaction
from truebench_hf.records import Judged, Reader, judgment_lines
from truebench_hf.redaction import masked
from truebench_hf.types import Verdict

_SECRET = re.compile(r"key|token|secret|password|auth|header|base_url", re.IGNORECASE)


def public(info: Mapping[str, Any]) -> dict[str, Any]:
    """`run.json` without what is nobody's business: local folders, addresses of servers, keys."""
    # A submission stays one when it is fetched and published again.
    kept = ("submitted", "settings", "sessions", "versions", "usage", "self_judged")
    return {name: _public(info[name]) for name in kept if name in info}


def _public(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _public(inner) for name, inner in value.items() if not _SECRET.search(name) or _count(inner)}
    if isinstance(value, list | tuple):
        return [_public(inner) for inner in value if not (isinstance(inner, str) and _secret_pair(inner))]
    return redaction.known(base_name(value)) if isinstance(value, str) else value


def _count(value: Any) -> bool:
    """Numbers of tokens are no tokens: input_tokens and max_tokens stay."""
    return isinstance(value, int | float)


def _secret_pair(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals and _SECRET.search(name) and "max_" not in name)


def base_name(text: str) -> str:
    """A path by its last part alone; a spec (`hf:/models/x`) keeps its kind. A Hub id is no path."""
    if " + " in text:  # the judges of a panel
        return " + ".join(map(base_name, text.split(" + ")))
    name, equals, value = text.partition("=")
    if equals and name.isidentifier():
        return f"{name}={base_name(value)}"
    if re.fullmatch(r"[\w.-]+/[\w.-]+@[\w./-]+", text):  # a Hub id with a revision, which may have slashes
        return text
    kind, colon, path = text.partition(":")
    if colon and kind.isidentifier() and _is_path(path):
        return f"{kind}:{_last(path)}"
    return _last(text) if _is_path(text) else text


def _is_path(text: str) -> bool:
    return bool(re.match(r"(/|~|\.{1,2}[/\\]|[A-Za-z]:[/\\])", text)) or (text.count("/") > 1 and "://" not in text)


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def public_judgments(path: Path) -> bytes:
    """The file's lines, without local paths in names, addresses of servers in the texts of errors, and known secrets."""
    reader = Reader()
    read = [reader.judged(row, where) for where, row in jsonl.read(path)]
    judge = base_name(read[0][1])  # of a file that holds one run
    return "".join(judgment_lines((masked(_named(item)) for item, _ in read), judge)).encode("utf-8", errors="replace")


def _named(item: Judged) -> Judged:
    response = replace(item.response, model=base_name(item.response.model), error=no_address(item.response.error))
    return replace(item, response=response, verdicts=tuple(tuple(map(_told, turn)) for turn in item.verdicts))


def _told(verdict: Verdict) -> Verdict:
    reason = no_address(verdict.reason) if verdict.label is None else verdict.reason
    return replace(verdict, judge=base_name(verdict.judge), reason=reason or "")


def no_address(text: str | None) -> str | None:
    """The text of an error without the addresses of servers and without keys in it."""
    return text and redaction.error(re.sub(r"\w+://[^\s,;)\]]+", "(address)", text))
