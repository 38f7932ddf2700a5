"""The run folder: what it belongs to, its ledger, and files that are whole or absent."""

from __future__ import annotations

import json
import platform
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError, write_error
from truebench_hf.text import redaction
from truebench_hf.text.redaction import shown
from truebench_hf.text.terminal import how_many, shortened
from truebench_hf.text.whole_files import write_whole

_PACKAGES = ("truebench-hf", "openai", "transformers", "torch", "vllm", "datasets", "huggingface-hub", "ray")
DATA = "selection_sha256"  # the setting that ties a folder to its data
_SHOWN = 60  # characters of a value that differs


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
        rows: Mapping[str, str] | None = None,
        update: bool = False,
    ) -> None:
        """`settings` is what the run is made with; those named in `free` may change from session to session.

        The others bind as soon as a completion is paid for, objects entry by entry: new entries may join.
        `replaced_prompts` (`Prompts.replaced`) is kept in `run.json` so that the texts behind their hashes are not
        lost; None where a session fills no prompt. `kind` is what is being made ("" continues whatever is there), and
        `files` (or folders) what it writes; `boards`: its results take the place of those on a leaderboard. `rows` are
        hashes of the data by row, which may differ from those of the session before with `update` alone. Raises
        UserError where the folder belongs to another run, or holds files of somebody else that this one would
        overwrite.
        """
        self.path = Path(out)
        self._masked: dict[str, int] = {}  # secrets masked by file
        try:
            known = _info_of_ours(self.path, kind, files)
            self.path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self.path).close()
        except OSError as error:
            raise UserError(f"--out {out}: cannot write there: {error}; choose another folder") from error
        self.ledger = Calls(self.path / LEDGER)
        try:
            earlier, used = known.get("settings", {}), self.ledger.used()
            if not used:
                self._refuse_lost(known, files)
            before = earlier.get(DATA)
            if used and not update and before != settings.get(DATA, before):
                self._refuse_changed(rows or {})
            free = {*free, DATA} if update else free
            if boards or earlier.get("data_sha256") != settings.get("data_sha256"):
                known.pop("board", None)  # of the session before: no board shows what is being changed
            self.info = known | {"settings": joined(self.path, earlier, shown(settings), free, used=used)}
            if rows:
                self.ledger.keep_rows(rows)
            self.info |= {"kind": kind or self.info.get("kind", ""), "format": FORMAT}
            self.info.setdefault("sessions", []).append({"started": _now(), "finished": None})
            self.info["versions"] = versions()
            if replaced_prompts is not None:
                self.info["replaced_prompts"] = {name: dict(facts) for name, facts in replaced_prompts.items()}
            self._keep()
        except BaseException:
            self.ledger.close()
            raise

    def usage(self) -> dict[str, dict[str, Any]]:
        """Tokens and calls by role as plain data: see `Calls.usage`. `from_cache` is only there where something was."""
        parts = self.ledger.usage()
        if not parts["from_cache"]:
            del parts["from_cache"]
        return {part: {role: asdict(usage) for role, usage in roles.items()} for part, roles in parts.items()}

    def finish(self, **facts: Any) -> None:
        """Note the end of this session, what was spent, and facts about the run, in `run.json`.

        Among them how many secrets were masked in the records: the JSON lines written before.
        """
        self.info["sessions"][-1]["finished"] = _now()
        spent = self.usage()
        if spent["total"] or "usage" not in self.info:  # without its ledger a folder keeps what it knew of its cost
            self.info["usage"] = spent
        self.info |= {"secrets_masked": sum(self._masked.values()), **facts}
        self._keep()

    def note(self, **facts: Any) -> None:
        """Note facts in `run.json` now, before anything is written that they are about."""
        self.info |= facts
        self._keep()

    def write_lines(self, name: str, parts: Iterable[str]) -> Path:
        """Write a file from parts (whole lines or texts, which are masked one by one), without holding it in memory. It is
        whole or absent whenever the process dies.

        A lone surrogate is written as its escape, which in a JSON text means the same and keeps the file UTF-8. A link
        that bears the name is replaced.
        """
        target, masks = self.path / name, 0

        def masked() -> Iterator[str]:
            nonlocal masks
            for text in map(redaction.known, parts):
                masks += text.count(redaction.MARK)
                yield text

        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, masked())
        except OSError as error:
            raise write_error(f"--out {self.path}: cannot write {name}", error.strerror or error) from error
        if name.endswith(".jsonl"):
            self._masked[name] = masks
        return target

    def _refuse_lost(self, known: Mapping[str, Any], files: Collection[str]) -> None:
        """Raise UserError where results are there, but not the ledger with the calls that they were made of."""
        spent = known.get("usage", {}).get("total", {}).values()
        paid = any(isinstance(part, dict) and part.get("calls") for part in spent)
        if paid and (held := _filled(self.path, files)):
            raise UserError(
                f"--out {self.path} has lost its {LEDGER}: everything would be asked and paid for again, and "
                f"{', '.join(held)} replaced; put {LEDGER} back, or move these files away to begin anew, or choose another "
                "folder"
            )

    def _refuse_changed(self, now: Mapping[str, str]) -> None:
        """Raise UserError on what changed between rows of data, by their hashes, where that can be told."""
        before = self.ledger.rows()
        changed = [name for name, sha256 in now.items() if before.get(name, sha256) != sha256]
        new, gone = [name for name in now if name not in before], [name for name in before if name not in now]
        if len(changed) + len(new) == len(now) or not (changed or new or gone):
            return  # another file, or another selection of this one
        named = shortened(", ".join([*changed, *new, *gone]), _SHOWN)
        more = "".join(f", {len(names):,} {what}" for names, what in ((new, "new"), (gone, "gone")) if names)
        changes = f"{len(changed):,} of {how_many(len(now), 'row')}{more} ({named})"
        raise UserError(
            f"--out {self.path}: the data changed in {changes}: --update judges those anew and keeps the rest; or "
            "choose another folder"
        )

    def _keep(self) -> None:
        self.write_lines(INFO, [json.dumps(self.info, ensure_ascii=False, indent=1) + "\n"])


def joined(
    out: object, earlier: Mapping[str, Any], settings: Mapping[str, Any], free: Collection[str], *, used: bool
) -> dict[str, Any]:
    """The settings of a folder, those `earlier` and those of this session; where it is `used` only `free` ones may differ.

    Objects are compared entry by entry; new entries may join. Raises UserError naming both values of what differs.
    """
    here: dict[str, Any] = json.loads(json.dumps(settings))  # compared as JSON: that is how they were kept
    differing = list[str]()
    for name in [name for name in here if name in earlier and name not in free] if used else ():
        differing += _differing(name, earlier[name], here[name])
        if isinstance(here[name], dict) and isinstance(earlier[name], dict):
            here[name] = earlier[name] | here[name]
    if differing:
        differences = "; ".join(differing)
        raise UserError(f"--out {out} belongs to a run with other options ({differences}); choose another folder")
    return {name: value for name, value in earlier.items() if name in here or name not in free} | here


def _differing(name: str, before: Any, now: Any, *, entry: bool = False) -> list[str]:
    """What differs, objects entry by entry: `sampling.max_tokens: 4096 there, 7 now`.

    A setting may get or lack an entry, a model say; the `entry` itself may not.
    """
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [key for key in before | now if entry or (key in before and key in now)]
        pairs = ((key, before.get(key), now.get(key)) for key in keys)
        return [text for key, a, b in pairs for text in _differing(f"{name}.{key}", a, b, entry=True)]
    if before == now:
        return []
    texts = [shortened(json.dumps(value, ensure_ascii=False), _SHOWN) for value in (before, now)]
    return [f"{name}: {texts[0]} there, {texts[1]} now"]


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that shape results, where installed."""
    installed = {"python": platform.python_version()}
    for name in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


INFO, LEDGER = "run.json", "ledger.sqlite"
FORMAT = 1  # of the folder; one of another format is not continued
_LARGEST = 2**24  # bytes of a run.json
_NONE = type(None)
# What is looked into, by whoever reads the folder of a stranger: of a part that is there, the types it may have.
_TYPES: dict[str, tuple[type, ...]] = {
    "settings": (dict,), "sessions": (list,), "kind": (str,), "results": (dict,), "usage": (dict,), "usage.total": (dict,), "written": (dict,),
    "tables": (dict,),
    "format": (int,), "settings.model": (str, list, _NONE), "settings.judge": (str, list, _NONE),
    "settings.cascade_judge": (str, _NONE), "settings.panel": (dict, str, _NONE), "settings.panel.judges": (list,),
    "settings.judging": (dict,), "settings.judging.level": (str,),
    "settings.judging.rules": (str,), "settings.judging.votes": (int,), "settings.prompts": (dict,),
    "settings.items": (int,), "settings.samples": (int,),
}  # fmt: skip


def read_info(path: Path) -> dict[str, Any]:
    """What a folder's `run.json` says; {} where there is none. Raises UserError where it cannot be read."""
    file = path / INFO
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"larger than {_LARGEST / 2**20:g} MiB")
        return _parsed(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise UserError(
            f"{file}: cannot be read: {error}; move it and the results beside it away, and the same command makes them "
            f"again from {LEDGER}; or choose another folder"
        ) from error


def _parsed(text: str) -> dict[str, Any]:
    """What a text says that should be a `run.json`. Raises ValueError where it is none."""
    try:
        info = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(info, dict):
        raise ValueError("not an object")
    wrong, absent = [], object()
    for name, types in _TYPES.items():
        part: Any = info
        for step in name.split("."):
            part = part.get(step, absent) if isinstance(part, dict) else absent
        if part is not absent and not isinstance(part, types):
            wrong.append(name)
    if wrong:
        raise ValueError(f"not as we write it: {', '.join(wrong)}")
    return info


def _info_of_ours(path: Path, kind: str, files: Collection[str]) -> dict[str, Any]:
    """What a folder says of itself, if a study of a kind may go on in it that writes `files`. Raises UserError."""
    if path.is_symlink() and not path.exists():
        raise UserError(f"--out {path} is a link to {path.readlink()}, which is not there; make that folder first")
    info = read_info(path)
    if "settings" in info:  # which every run.json of ours has
        if (version := info.get("format")) != FORMAT:
            raise UserError(f"--out {path} was made by another version (format {version}); choose another folder")
        if kind and (earlier := info.get("kind", "")) not in ("", kind):
            raise UserError(f"--out {path} holds a study of kind {earlier}, not {kind}; choose another folder")
    elif held := _filled(path, (INFO, *files)):
        raise UserError(f"--out {path} holds {', '.join(held)}, which no run of ours left there; choose another folder")
    return info


def _filled(path: Path, files: Collection[str]) -> list[str]:
    """Those of the files and folders that are there and hold something."""
    places = ((name, path / name) for name in files if (path / name).exists())
    return [name for name, place in places if (any(place.iterdir()) if place.is_dir() else place.stat().st_size)]


def count_noted(out: str, name: str = "items", default: int = 0) -> int:
    """How many items (or samples) the last session in a folder had in work; `default` where there was none."""
    return int(read_info(Path(out)).get("settings", {}).get(name, default))
