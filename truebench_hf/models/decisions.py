"""Yes/no probabilities from one model, computing what the questions of a state share only once."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.models.chat_template import yes_no_prompts


def yes_probabilities(
    model: Any, tokenizer: Any, state: str, questions: Sequence[str], *, reuse: bool = True
) -> tuple[list[float], int]:
    """P(yes) per question, and the tokens fed to the model.

    Prompts, labels and temperatures are those of the transformers `decision` pipeline, one prompt per question. The
    pipeline feeds every prompt whole; here their common prefix is fed once and its key-value cache reused (`reuse`),
    which changes no probability beyond rounding. Raises RequestFailed when a prompt exceeds the window.
    """
    import torch

    prompts = yes_no_prompts(tokenizer, model.name_or_path, state, questions)
    rows = [prompt.tokens for prompt in prompts]
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
        for prompt in prompts:
            ids = torch.tensor([prompt.tokens[shared:]], device=model.device)
            fed += ids.shape[1]
            logits = _last_logits(model, ids, cache.past_key_values if cache else None)
            share = (logits[[prompt.yes, prompt.no]].float() / prompt.temperature).softmax(-1)
            shares.append(float(share[0]))
    return shares, fed


def _common_prefix(rows: list[list[int]]) -> int:
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
    return min(same, min(map(len, rows)) - 1)  # each row keeps at least one token to be read at


def _last_logits(model: Any, ids: Any, cache: Any) -> Any:
    """Logits after the last token of `ids`, which follow what `cache` holds; the cache is left as it was."""
    # A copy, not a crop: caches of models with sliding windows cannot be cut back.
    past = copy.deepcopy(cache) if cache is not None else None
    return model(ids, past_key_values=past, use_cache=past is not None, logits_to_keep=1).logits[0, -1]
