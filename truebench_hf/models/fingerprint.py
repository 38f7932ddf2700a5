"""Which model stands in a local folder: names, sizes and times of the files that shape its answers, whatever it is called.

A name on the Hub stands for the same weights tomorrow; a folder is written anew by the next training. Two folders are
taken for the same model where every file has the same name and, up to 64 MiB, the same bytes, or beyond that the same
size, time of writing and some blocks. That is less than the same content, and errs to the safe side: a copy that did
not keep its times, or weights that were written anew, are another model, which is asked again.
"""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.models.protocol import Identity

COPIES = "a copy is the same model where it keeps the times of its files (cp -a, rsync -a)"
WHOLE = 2**26  # bytes of a file up to which all of it counts: configurations, tokenizers, adapters
_BLOCKS, _BLOCK = (
    16,
    2**16,
)  # of larger ones, where times tell nothing: images, packages and archives may set them alike
_IN_PROCESS = ("hf", "vllm", "reward", "hf-classifier")
_WEIGHTS = r".*\.(safetensors|gguf)|.*(model|consolidated).*\.(bin|pth?)"
# Among them none that a run writes into its folder, which may be the model's own.
_BESIDE = r".*(config|token|vocab|merges|chat_template|decision|\.index|tekken|params).*\.(json|jinja|txt)|.*\.(model|tiktoken)"
_COUNTS = re.compile(f"{_WEIGHTS}|{_BESIDE}")


def identity(provider: str, name: str, revision: str, options: dict[str, Any]) -> Identity:
    """The identity of a model on the Hub, or of one in a local folder, whose revision is its fingerprint."""
    files = fingerprint(name)
    return (
        Identity(provider, "a local folder", files, options) if files else Identity(provider, name, revision, options)
    )


def unchanged(spec: str, name: str, known: Identity) -> str:
    """The fingerprint of the folder of a model, to load it by. Raises UserError where it is no longer the one `known`."""
    files = fingerprint(name)
    if files and files != known.revision:
        raise UserError(f"{spec}: its files were changed while it was in use; begin again once they are whole")
    return files


def of_spec(spec: str) -> str:
    """The fingerprint of the folder that a spec names; "" for all that is none."""
    kind, _, name = spec.partition(":")
    return fingerprint(name) if kind in _IN_PROCESS and name else ""


def fingerprint(name: str) -> str:
    """`files-` and 16 hex digits of the files in and below a local folder (or of a file) that answers depend on, else "".

    What equal ones say is told above. A file is read once, and again where its size or time changed. Raises UserError
    where one cannot be read.
    """
    place = Path(name)
    try:
        if not place.exists():
            return ""
        files = {"": place} if place.is_file() else _files(place)
        shown = "".join(f"{part} {_shown(file)}\n" for part, file in sorted(files.items()))
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror or error}; give a folder that can") from error
    return f"files-{digest(shown)[:16]}" if shown else ""


def _files(folder: Path) -> dict[str, Path]:
    """The files that count, by their relative paths; folders that are links are not entered."""
    counted = (file for file in folder.rglob("*") if _COUNTS.fullmatch(file.name.casefold()) or _template(file))
    return {file.relative_to(folder).as_posix(): file for file in counted if file.is_file()}


def _template(file: Path) -> bool:
    return file.suffix == ".jinja" and file.parent.name == "additional_chat_templates"


def _shown(file: Path) -> str:
    facts = file.stat()
    return _read(file.resolve(), facts.st_size, facts.st_mtime_ns)


@functools.lru_cache(maxsize=1024)
def _read(file: Path, size: int, written: int) -> str:
    """A small file by the hash of its bytes; a large one by its size, time, and the hash of blocks spread over it."""
    with file.open("rb") as opened:
        if size <= WHOLE:
            return hashlib.file_digest(opened, "sha256").hexdigest()
        blocks = hashlib.sha256()
        for start in range(0, size, size // _BLOCKS):
            opened.seek(start)
            blocks.update(opened.read(_BLOCK))
    return f"{size} {written} {blocks.hexdigest()}"
