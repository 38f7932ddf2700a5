"""Yes/no probabilities from one model, computing what the questions of a state share only once."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from truebench_hf.engine.retry import RequestFailed


def yes_probabilities(
    model: Any, tokenizer: Any, state: str, questions: Sequence[str], *, reuse: bool = True
) -> tuple[list[float], int]:
    """P(yes) per question, and the tokens fed to the model.

    Prompts, labels and temperatures are those of the transformers `decision` pipeline, one prompt per question. The
    pipeline feeds every prompt whole; here their common prefix is fed once and its key-value cache reused (`reuse`),
    which changes no probability beyond rounding. Raises RequestFailed when a prompt exceeds the window.
    """
    import torch
    from transformers.decision import DecisionConfig, label_token_ids

    config = DecisionConfig.from_pretrained(model.name_or_path)
    asked = {f"q{i}": {"type": "noul", "instructions": question} for i, question in enumerate(questions)}
    prompts = config.prepare_inputs({"state": state, "questions": asked}, tokenizer)
    rows = [inputs["input_ids"][0].tolist() for inputs, _ in prompts]
    window = model.config.max_position_embeddings
    if (longest := max(map(len, rows))) > window:
        raise RequestFailed(f"the prompt has {longest} tokens, the window {window}")
    shared = _common_prefix(rows) if reuse and len(rows) > 1 else 0
    fed = shared
    shares = []
    with torch.inference_mode():
        cache = (
            model(torch.tensor([rows[0][:shared]], device=model.device), use_cache=True, logits_to_keep=1)
            if shared
            else None
        )
        for row, (_, group) in zip(rows, prompts, strict=True):
            ids = torch.tensor([row[shared:]], device=model.device)
            fed += len(row) - shared
            logits = _last_logits(model, ids, cache.past_key_values if cache else None)
            labels = label_token_ids(tokenizer, tuple(group[0].labels))
            heat = float(config.temperature.get("noul", 1.0))
            share = (logits[labels].float() / heat).softmax(-1).tolist()
            shares.append(float(group[0].answer(share)["noul"]))
    return shares, fed


def _common_prefix(rows: list[list[int]]) -> int:
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
    return min(same, min(map(len, rows)) - 1)  # each row keeps at least one token to be read at


def _last_logits(model: Any, ids: Any, cache: Any) -> Any:
    """Logits after the last token of `ids`, which follow what `cache` holds; the cache is left as it was."""
    # A copy, not a crop: caches of models with sliding windows cannot be cut back.
    past = copy.deepcopy(cache) if cache is not None else None
    return model(ids, past_key_values=past, use_cache=past is not None, logits_to_keep=1).logits[0, -1]
