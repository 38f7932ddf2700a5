"""What of a study's options ties its folder to them, and what a folder holds that a command would drop: see `Binds`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.options import Binds, flag
from truebench_hf.study.options import FolderOptions
from truebench_hf.study.roles import Roles
from truebench_hf.text import redaction


def bound(
    options: FolderOptions, roles: Roles, unasked: Collection[str], *, results: bool
) -> tuple[dict[str, Any], set[str]]:
    """What `run.json` notes of the options and the models, and which of it may change.

    `unasked` are options that say nothing here, `results` whether the folder has some, by which more is tied.
    """
    held: dict[str, Any] = {}
    free: set[str] = set() if results else {"judge_models"}
    for field in fields(options):
        binds: Binds | None = field.metadata["binds"]
        value = getattr(options, field.name)
        if field.name in unasked:
            continue
        if binds is None:
            usual = () if field.default is MISSING else field.default  # which says nothing
            free.add(field.name)
            if field.name not in ("out", "prompt", "cache", "no_cache", "update", "price", "budget") and value != usual:
                held[field.name] = value
            continue
        name = binds.name or field.name
        held[name] = binds.value(options) if binds.value else value
        if binds.grows or (binds.late and not results):
            free.add(name)
        if "role" in field.metadata:
            key = "judge_models" if binds.late else "models"
            held.setdefault(key, {}).update(roles.identities(field.name))
    return held, free


def growing(options: FolderOptions) -> dict[str, Binds]:
    """The options that may be added to, by the names under which run.json notes them."""
    pairs = [(field.metadata["binds"], field.name) for field in fields(options)]
    return {binds.name or name: binds for binds, name in pairs if binds and binds.grows}


def refuse_to_drop(options: FolderOptions, held: Mapping[str, Any]) -> None:
    """Results are written anew from what a command names: one that names less would drop what the folder holds."""
    before = read_info(Path(options.out)).get("results", {})
    for name, binds in growing(options).items():
        values = [held[name], before.get(name)]
        lists = [[] if v is None else list(v) if isinstance(v, list | tuple) else [v] for v in values]
        if gone := [result for result in lists[1] if result not in lists[0]]:
            option = next(field.name for field in fields(options) if field.metadata["binds"] is binds)
            raise UserError(
                f"--out {options.out} has results of {', '.join(map(str, gone))} too, which would be dropped; name "
                f"{binds.again or f'them again with {flag(option)}'} (finished calls are not asked again), or choose "
                "another folder"
            )


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
        hashes: dict[str, Any] = {}
        for name, parts in files.items():
            self._refuse(name, noted)
            text = "".join(map(redaction.known, parts)).encode("utf-8", "backslashreplace").decode()
            is_given = self._is_given(name) or self._is_read(name)
            hashes[name] = (_of(noted, name)) | {_hash(name, text): is_given}
        return {NOTED: {**noted, **hashes}} if hashes else {}

    def has(self, name: str) -> bool:
        """Whether people edit the file of this name."""
        return Path(name).name in self._back

    def _refuse(self, name: str, noted: Noted) -> None:
        file = self._folder / name
        if not file.is_file() or self._there(name) == self._read.get(name):
            return
        known, back = _of(noted, name), self._back[file.name]
        was_given = known.get(self._there(name))
        if was_given is None:
            again = f"add {flag(back)} {file} to use it (finished calls are not asked again)"
            use = again if back else "use another --out"
            raise UserError(f"{file} was edited since it was written; {use}, or move it away to have it written anew")
        if was_given and back and not self._is_given(name):
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
