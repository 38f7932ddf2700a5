"""Files of a study that people edit: one that was is never written over, unless the study has read it.

`run.json` notes under `written` a hash of all that the study wrote under such a name, and whether its content was given.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.options import flag
from truebench_hf.text import redaction

Noted = Mapping[str, Any]  # by file: whether the content was given, by hash
NOTED = "written"


class Editable:
    """The files of a study in a folder that people edit: `back` names the option that takes one back, "" without one.

    Those in folders below count too, by their last name.
    """

    def __init__(self, folder: Path, back: Mapping[str, str], options: Any) -> None:
        self._folder, self._back, self._options = folder, back, options
        self._read: dict[str, str] = {}  # hashes of those that this very command reads

    def check(self, noted: Noted) -> None:
        """Raise UserError where a file that is there would be written over though it was edited, or given."""
        for name in dict.fromkeys((*self._back, *(name for name in noted if self.has(name)))):
            if (self._folder / name).is_file() and self._is_read(name):
                self._read[name] = self._there(name)
            self._refuse(name, noted)

    def to_note(self, files: Mapping[str, Iterable[str]], noted: Noted) -> dict[str, Any]:
        """What to note before these texts are written. Raises UserError where one was edited since the check."""
        found: dict[str, Any] = {}
        for name, parts in files.items():
            self._refuse(name, noted)
            text = "".join(map(redaction.known, parts)).encode("utf-8", "backslashreplace").decode()
            given = self._is_given(name) or self._is_read(name)
            found[name] = (_of(noted, name)) | {_hash(name, text): given}
        return {NOTED: {**noted, **found}} if found else {}

    def has(self, name: str) -> bool:
        """Whether people edit the file of this name."""
        return Path(name).name in self._back

    def _refuse(self, name: str, noted: Noted) -> None:
        file = self._folder / name
        if not file.is_file() or self._there(name) == self._read.get(name):
            return
        known, back = _of(noted, name), self._back[file.name]
        given = known.get(self._there(name))
        if given is None:
            use = (
                f"add {flag(back)} {file} to use it (finished calls are not asked again)"
                if back
                else "use another --out"
            )
            raise UserError(f"{file} was edited since it was written; {use}, or move it away to have it written anew")
        if given and back and not self._is_given(name):
            raise UserError(
                f"{file} holds what was given by {flag(back)}; add {flag(back)} {file} to use it again, or move it away to "
                "have it written anew"
            )

    def _is_given(self, name: str) -> bool:
        back = self._back[Path(name).name]
        return bool(back) and getattr(self._options, back) is not None

    def _is_read(self, name: str) -> bool:
        """Whether an option names this very file."""
        file = (self._folder / name).resolve()
        values = [value for value in vars(self._options).values() if isinstance(value, str)]
        return any(Path(value).name == file.name and Path(value).resolve() == file for value in values)

    def _there(self, name: str) -> str:
        # An editor may have saved it in another encoding: that is an edit, too.
        return _hash(name, (self._folder / name).read_text(encoding="utf-8-sig", errors="replace"))


def _of(noted: Noted, name: str) -> dict[str, bool]:
    known = noted.get(name)
    return known if isinstance(known, dict) else {}


def _hash(name: str, text: str) -> str:
    """Of what a text says: blank lines, ends of lines, the mark of UTF-8 and blanks between JSON values are no edit."""
    lines = [line.rstrip() for line in text.removeprefix("\ufeff").split("\n") if line.strip()]
    if name.endswith(".jsonl"):
        try:
            return digest(canonical([json.loads(line) for line in lines]))
        except (ValueError, RecursionError):
            pass  # broken by hand
    return digest("\n".join(lines))
