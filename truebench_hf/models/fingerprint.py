"""What a model in a local folder is: a fingerprint of the files that shape its answers, whatever the folder is called.

A name on the Hub stands for the same weights tomorrow; a folder is written anew by the next training. So its content
tells it apart, not its path and not its age: a copy answers as the original does, and is not asked again.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.models.protocol import Identity

WHOLE = 4 * 2**30  # bytes of all files up to which each of them counts: two seconds of reading
# Of larger checkpoints so many bytes count in every so many: no training leaves a tensor as it was.
BLOCK, STEP = 2**16, 2**24
_IN_PROCESS = ("hf", "vllm", "reward", "hf-classifier")
_WEIGHTS = r".*\.(safetensors|gguf)|.*(model|consolidated).*\.(bin|pth?)"
# Among them none that a run writes into its folder, which may be the model's own.
_BESIDE = r".*(config|token|vocab|merges|chat_template|decision|\.index|tekken|params).*\.(json|jinja|txt)|.*\.(model|tiktoken)"
_COUNTS = re.compile(f"{_WEIGHTS}|{_BESIDE}")


def identity(provider: str, name: str, revision: str, options: dict[str, Any]) -> Identity:
    """The identity of a model on the Hub, or of one in a local folder, which its content makes up."""
    content = fingerprint(name)
    return (
        Identity(provider, "a local folder", content, options)
        if content
        else Identity(provider, name, revision, options)
    )


def unchanged(spec: str, name: str, known: Identity) -> str:
    """The fingerprint of the folder of a model, to load it by. Raises UserError where it is no longer the one `known`."""
    content = fingerprint(name)
    if content and content != known.revision:
        raise UserError(f"{spec}: its files were changed while it was in use; begin again once they are whole")
    return content


def of_spec(spec: str) -> str:
    """The fingerprint of the folder that a spec names; "" for all that is none."""
    kind, _, name = spec.partition(":")
    return fingerprint(name) if kind in _IN_PROCESS and name else ""


def fingerprint(name: str) -> str:
    """`content-` and 16 hex digits of the files of a local folder (or of a file) that answers depend on, else "".

    Read once, and again where size or time of a file changed. Raises UserError where one cannot be read.
    """
    place = Path(name)
    try:
        if not place.exists():
            return ""
        files = {"": place} if place.is_file() else _files(place)
        whole = sum(file.stat().st_size for file in files.values()) <= WHOLE
        told = "".join(f"{part} {_digest(file, whole)}\n" for part, file in sorted(files.items()))
        told += _base(place)
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror or error}; give a folder that can") from error
    return f"content-{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}" if told else ""


def _files(folder: Path) -> dict[str, Path]:
    every = [*folder.iterdir(), *(folder / "additional_chat_templates").glob("*.jinja")]
    named = {file.relative_to(folder).as_posix(): file for file in every if file.is_file()}
    return {name: file for name, file in named.items() if _COUNTS.fullmatch(name.casefold())}


def _base(folder: Path) -> str:
    """The fingerprint of the base of an adapter, where that is a local folder, too."""
    file = folder / "adapter_config.json"
    if not file.is_file():
        return ""
    try:
        base = json.loads(file.read_bytes())["base_model_name_or_path"]
    except (ValueError, TypeError, KeyError):
        return ""  # which nobody can load
    return fingerprint(base) if isinstance(base, str) and base and not Path(base, file.name).exists() else ""


def _digest(file: Path, whole: bool) -> str:
    facts = file.stat()
    return _read(file.resolve(), facts.st_size, facts.st_mtime_ns, whole)


@functools.lru_cache(maxsize=1024)
def _read(file: Path, size: int, written: int, whole: bool) -> str:
    """Size and hash of a file: of all of it, or of blocks spread over it, its head and its end among them."""
    with file.open("rb") as opened:
        if whole or size <= BLOCK:
            return f"{size} {hashlib.file_digest(opened, 'sha256').hexdigest()}"
        parts = hashlib.sha256()
        for start in (*range(0, size, STEP), size - BLOCK):
            opened.seek(start)
            parts.update(opened.read(BLOCK))
    return f"{size} {parts.hexdigest()}"
