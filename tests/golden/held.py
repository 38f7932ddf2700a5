"""What is held of a case's folder: every file as readable text, without what time, machine and version put into it."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from truebench_hf.hashing import canonical, digest

# Hashes of the data stay. Those of the prompts' templates go, alone or in the setting of a board: what is asked is held
# by the ledger, text by text.
_BOUND = {
    "versions": "<versions>",
    "started": "<time>",
    "finished": "<time>",
    "setting": "<setting>",
    "measurement": "<measurement>",
}
# Of exports and of what goes to the Hub: hashes of files that hold times and versions.
_BOUND |= {"retrieved_timestamp": "<time>", "evaluation_timestamp": "<time>", "checksum": "<sha256>"}
_BOUND |= {"date": "<time>", "tool_version": "<version>", "input_prompt": "<prompts>"}
_HASHED_PROMPTS = ("prompts", "cascade_prompts")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_VERSIONS = re.compile(r"python \d+\.\d+[^|\n]*")  # the line in reports
_CLOCK = re.compile(r"\b\d\d:\d\d UTC")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")  # made of content that holds times
_UNIX_TIME = re.compile(r'(?<=/)\d{10}(?=")')  # at the end of an id
_PUSHED = re.compile(r"(?<=sha256 )[0-9a-f]{12}\b")  # of files that hold times and versions
_HUB_ID = re.compile(r"(?<=--)(?:[0-9a-f]{8}|[0-9a-f]{10})\b")  # of results and runs there, made of setting and files
_RULE = re.compile(r"[\u2500-\u257f]+")
_MASKED = (
    (_TIME, "<time>"), (_CLOCK, "<time>"), (_UNIX_TIME, "<time>"), (_VERSIONS, "<versions>"), (_UUID, "<uuid>"),
    (_PUSHED, "<sha256>"), (_HUB_ID, "<hash>"),
)  # fmt: skip
_WIDTH = 120


def held(folder: Path, printed: str) -> dict[str, str]:
    """The text to hold by file name: `printed.txt`, and all files in folders below `folder`; inputs stand beside them."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.parent != folder)
    found = {"printed.txt": _squeezed(printed)}
    for path in files:
        name = _HUB_ID.sub("hash", _UUID.sub("uuid", path.relative_to(folder).as_posix()))
        suffix, text = _READERS.get(path.suffix, ("", _text))
        assert name + suffix not in found, f"{path.name}: but for a hash another file has this name; let models differ"
        found[name + suffix] = text(path)
    return {name: _without_bound(text, _template_hashes(files)) for name, text in found.items()}


def pretty(value: Any, indent: int = 0) -> str:
    """JSON with sorted keys; what fits into a line stands in one. Floats have ten digits: more is the machine's."""
    if isinstance(value, float):
        return json.dumps(float(f"{value:.10g}"))
    if not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + 1
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {pretty(value[key], deeper)}" for key in sorted(value)]
        opening, closing_ = "{", "}"
    else:
        parts, opening, closing_ = [pretty(item, deeper) for item in value], "[", "]"
    line = opening + ", ".join(parts) + closing_
    if len(line) + indent <= _WIDTH and "\n" not in line:
        return line
    inner = ",\n".join(" " * deeper + part for part in parts)
    return f"{opening}\n{inner}\n{' ' * indent}{closing_}"


def _squeezed(printed: str) -> str:
    """Without the rules and the padding of tables, so that a longer cell changes one line and no other."""
    lines = (re.sub(r" {2,}", " ", line).rstrip() for line in printed.splitlines() if not _RULE.fullmatch(line.strip()))
    return "\n".join(lines) + "\n"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("\r\n", "\n")


def _json(path: Path) -> str:
    return pretty(_unbound(json.loads(_text(path)))) + "\n"


def _json_lines(path: Path) -> str:
    return "".join(pretty(_unbound(json.loads(line))) + "\n" for line in _text(path).splitlines())


def _parquet(path: Path) -> str:
    """The columns with their types, then a line of JSON a row."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    table = pq.read_table(path)
    columns = {field.name: str(field.type) for field in table.schema}
    return "".join(pretty(_unbound(row)) + "\n" for row in [columns, *table.to_pylist()])


def _unbound(value: Any) -> Any:
    if isinstance(value, list):
        return [_unbound(item) for item in value]
    return {key: _bound(key, item) for key, item in value.items()} if isinstance(value, dict) else value


def _bound(key: str, item: Any) -> Any:
    if key in _BOUND and item:
        return _BOUND[key]
    if key in _HASHED_PROMPTS and isinstance(item, dict):
        return dict.fromkeys(item, "<prompt>")
    # A text under `judging` is a hash of all that shapes verdicts, prompts among it.
    return "<judging>" if key == "judging" and isinstance(item, str) else _unbound(item)


def _template_hashes(files: list[Path]) -> list[str]:
    """The hashes of prompt templates in the settings of these folders."""
    infos = [json.loads(_text(path)) for path in files if path.name == "run.json"]
    hashes = [info["settings"].get(name) for info in infos for name in _HASHED_PROMPTS]
    return sorted({hash for found in hashes if found for hash in found.values()})


def _without_bound(text: str, template_hashes: list[str]) -> str:
    for bound, shown in _MASKED:
        text = bound.sub(shown, text)
    for hash in template_hashes:
        text = text.replace(hash, "<prompt>").replace(hash[:12], "<prompt>")
    return text


def _ledger(path: Path) -> str:
    """Calls by role, with the opening and the hash of each text that was asked; not how requests are keyed."""
    with closing(sqlite3.connect(path)) as ledger:
        rows = [(role, json.loads(text)) for role, text in ledger.execute("SELECT role, request FROM calls")]
    lines = []
    for role in sorted({role for role, _ in rows}):
        asked = sorted(_asked(request) for found, request in rows if found == role)
        lines += [f"{role}: {len(asked)} calls", *(f"  {text}" for text in asked)]
    return "\n".join(lines) + "\n"


def _asked(request: dict[str, Any]) -> str:
    if decision := request.get("decide"):
        return f"{len(decision['questions'])} questions, {digest(canonical(decision))[:16]}"
    chat = request["ask"]
    messages, how = chat["messages"], [chat["sampling"], chat["sample"], chat["schema"]]
    # The opening tells which prompt it is, or what the model was asked.
    opening = " ".join(messages[-1][1].split())[:32]
    return f"message {len(messages)} {opening!r} {digest(canonical([messages, how]))[:16]}"


class _Page(HTMLParser):
    """The text of a page: a line per block or table row, cells set apart by bars; no scripts, no styles."""

    _CELLS, _SKIPPED = ("td", "th"), ("script", "style")
    _INLINE = ("a", "b", "i", "em", "strong", "span", "code", "small", "sup", "sub", "mark", "bdi")

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._skipping = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._skipping = tag in self._SKIPPED
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._skipping = False
        self._break(tag, after=True)

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self.parts.append(re.sub(r"\s+", " ", data))

    def _break(self, tag: str, after: bool = False) -> None:
        cell = " | " if after else " "
        self.parts.append(cell if tag in self._CELLS else " " if tag in self._INLINE else "\n")


def _html(path: Path) -> str:
    page = _Page()
    page.feed(_text(path))
    page.close()
    lines = (" ".join(line.split()).strip(" |") for line in "".join(page.parts).splitlines())
    return "\n".join(line for line in lines if line) + "\n"


_READERS = {
    ".json": ("", _json),
    ".jsonl": ("", _json_lines),
    ".html": (".txt", _html),
    ".parquet": (".jsonl", _parquet),
    ".sqlite": (".txt", _ledger),
}
