"""The run folder: what it belongs to, its ledger, and files that are whole or absent."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from truebench_hf import redaction
from truebench_hf.confidential import recorded
from truebench_hf.engine.ledger import Ledger
from truebench_hf.errors import UserError, write_error

_PACKAGES = ("truebench-hf", "openai", "transformers", "torch", "vllm", "datasets", "huggingface-hub", "ray")
FORMAT = 1  # of the folder; one of another format is not continued


class RunFolder:
    """One run's folder. Opening it locks the ledger, so that a second run cannot mix in.

    What cannot be written, on a full disk say, is a UserError. No setting and no file holds a known secret.
    """

    def __init__(
        self,
        out: str,
        settings: Mapping[str, Any],
        free: Collection[str] = (),
        replaced_prompts: Mapping[str, Mapping[str, str]] | None = None,
        *,
        kind: str = "",
        files: Collection[str] = (),
        boards: bool = True,
    ) -> None:
        """`settings` is what the run is made with; those named in `free` may change from session to session.

        The others bind as soon as a completion is paid for, objects entry by entry: new entries may join.
        `replaced_prompts` (`Prompts.replaced`) is kept in `run.json` so that the texts behind their hashes are not
        lost; None where a session fills no prompt. `kind` is what is being made ("" continues whatever is there), and
        `files` (or folders) what it writes; `boards`: its results take the place of those on a leaderboard. Raises UserError where the folder belongs to another run, or holds files
        of somebody else that this one would overwrite.
        """
        self.path = Path(out)
        self._masked: dict[str, int] = {}  # secrets masked by file
        try:
            _refuse_foreign(self.path, kind, ("run.json", *files))
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / ".writable").touch()
            (self.path / ".writable").unlink()
        except OSError as error:
            raise UserError(f"--out {out}: cannot write there: {error}; choose another folder") from error
        self.ledger = Ledger(self.path / "ledger.sqlite")
        try:
            self.info = self._joined(recorded(settings), free, boards)
            self.info |= {"kind": kind or self.info.get("kind", ""), "format": FORMAT}
            self.info.setdefault("sessions", []).append({"started": _now(), "finished": None})
            self.info["versions"] = versions()
            if replaced_prompts is not None:
                self.info["replaced_prompts"] = {name: dict(facts) for name, facts in replaced_prompts.items()}
            self.write_json("run.json", self.info)
        except BaseException:
            self.ledger.close()
            raise

    def usage(self) -> dict[str, dict[str, Any]]:
        """Tokens and calls by role as plain data, spent `now`, in this session, and in `total`."""
        found = self.ledger.usage()
        return {when: {role: asdict(usage) for role, usage in roles.items()} for when, roles in found.items()}

    def finish(self, **facts: Any) -> None:
        """Note the end of this session, what was spent, and facts about the run, in `run.json`.

        Among them how many secrets were masked in the records: the JSON lines written before.
        """
        self.info["sessions"][-1]["finished"] = _now()
        self.info |= {"usage": self.usage(), "secrets_masked": sum(self._masked.values()), **facts}
        self.write_json("run.json", self.info)

    def write(self, name: str, text: str) -> Path:
        """Write a file so that it is whole or absent whenever the process dies."""
        return self.write_lines(name, [text])

    def write_json(self, name: str, value: Any) -> Path:
        """Write a value as indented JSON."""
        return self.write(name, json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    def write_lines(self, name: str, parts: Iterable[str]) -> Path:
        """Write a file from parts (whole lines or texts, which are masked one by one), without holding it in memory.

        A lone surrogate is written as its escape, which in a JSON text means the same and keeps the file UTF-8.
        """
        target = self.path / name
        part = target.with_name(target.name + ".part")
        found = 0
        try:
            with part.open("w", encoding="utf-8", errors="backslashreplace") as file:
                for text in map(redaction.known, parts):
                    found += text.count(redaction.MARK)
                    file.write(text)
            part.replace(target)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)  # what is left of it would take the room that is missing
            raise write_error(f"--out {self.path}: cannot write {name}", error.strerror or error) from error
        if name.endswith(".jsonl"):
            self._masked[name] = found
        return target

    def _joined(self, settings: Mapping[str, Any], free: Collection[str], boards: bool) -> dict[str, Any]:
        known = read_info(self.path)
        there: dict[str, Any] = known.get("settings", {})
        # Compared as JSON: that is how they were kept.
        here = json.loads(json.dumps(settings))
        if boards or there.get("data_sha256") != here.get("data_sha256"):
            known.pop("board", None)  # of the session before: no board shows what is being changed
        bound = [name for name in here if name in there and name not in free] if self.ledger.used() else []
        if differing := [text for name in bound for text in _differing(name, there[name], here[name])]:
            shown = "; ".join(differing)
            raise UserError(f"--out {self.path} belongs to a run with other options ({shown}); choose another folder")
        kept = {name: value for name, value in there.items() if name in here or name not in free}
        grown = {
            n: kept[n] | v for n, v in here.items() if n in bound and isinstance(v, dict) and isinstance(kept[n], dict)
        }
        return known | {"settings": kept | here | grown}


def _refuse_foreign(path: Path, kind: str, files: Collection[str]) -> None:
    info = read_info(path)
    if "settings" in info:  # which every run.json of ours has
        if info.get("format") != FORMAT:
            raise UserError(
                f"--out {path} was made by another version (format {info.get('format')}); choose another folder"
            )
        if kind and (made := info.get("kind", "")) not in ("", kind):
            raise UserError(f"--out {path} holds a study of kind {made}, not {kind}; choose another folder")
        return
    held = [name for name in files if _filled(path / name)]
    if held:
        raise UserError(f"--out {path} holds {', '.join(held)}, which no run of ours left there; choose another folder")


def _filled(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.exists() and path.stat().st_size > 0


def read_info(path: Path) -> dict[str, Any]:
    """The content of a folder's `run.json`, {} where there is none. Raises UserError where it is unreadable."""
    file = path / "run.json"
    if not file.exists():
        return {}
    try:
        info = json.loads(file.read_text(encoding="utf-8"))
        kinds: dict[str, type] = {"settings": dict, "sessions": list, "kind": str, "results": dict}
        if not isinstance(info, dict) or any(not isinstance(info.get(name, its()), its) for name, its in kinds.items()):
            raise ValueError("not an object with settings, sessions, kind and results as we write them")
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: cannot be read: {error}; choose another folder") from error
    return info


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that shape results, where installed."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _differing(name: str, there: Any, here: Any, *, entry: bool = False) -> list[str]:
    """What differs, objects entry by entry: `sampling.max_tokens: 4096 there, 7 now`.

    A setting may get or lack an entry, a model say; the `entry` itself may not.
    """
    if isinstance(there, dict) and isinstance(here, dict):
        keys = [key for key in there | here if entry or (key in there and key in here)]
        pairs = ((key, there.get(key), here.get(key)) for key in keys)
        return [text for key, a, b in pairs for text in _differing(f"{name}.{key}", a, b, entry=True)]
    return [] if there == here else [f"{name}: {_short(there)} there, {_short(here)} now"]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
