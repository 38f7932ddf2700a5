"""Token prompts completed in one batch by transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truebench_hf.models.chat_template import begins_thinking
from truebench_hf.models.kv_cache import growing_cache
from truebench_hf.models.looping import finish, repeats
from truebench_hf.models.protocol import Completion
from truebench_hf.models.shared_prefix import prefill
from truebench_hf.models.thinking import split_thinking
from truebench_hf.types import Usage

_ROUND = 128  # tokens generated before finished answers leave their batch


def generate(
    model: Any, tokenizer: Any, prompts: list[list[int]], sampling: Any, *, reuse: bool = True,
    watch: Callable[[list[int]], bool] | None = None,
) -> list[Completion]:  # fmt: skip
    """Complete token prompts in one left-padded batch. Returns one Completion per prompt.

    Long beginnings that prompts share (rubrics of one response) are computed once where `reuse` is on, which changes
    no answer beyond rounding. `watch` is told the first row's tokens after each one, and stops the batch with True.
    """
    import torch

    width = max(map(len, prompts))
    # A prompt that fits gets the rest of the window at most.
    limits = [min(sampling.max_tokens, model.config.max_position_embeddings - len(prompt)) for prompt in prompts]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    drawn = sampling.temperature > 0
    how: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p} if drawn else {}
    how |= {"do_sample": drawn, "pad_token_id": pad, "repetition_penalty": sampling.repetition_penalty}
    if watch:
        how["stopping_criteria"] = [_watching(watch, width)]
    ends = _ends(model, tokenizer)
    shared = prefill(model, prompts) if reuse else None
    cache = growing_cache(model) if shared is None else shared
    rows = _rows(model, ids, mask, cache, limits, ends, how)
    return [_completion(tokenizer, row, ends, prompt) for row, prompt in zip(rows, prompts, strict=True)]


def _rows(
    model: Any, ids: Any, mask: Any, cache: Any, limits: list[int], ends: set[int], how: dict[str, Any]
) -> list[list[int]]:
    """The new tokens of each row. After every round finished rows leave the batch: one long answer holds up no other."""
    import torch

    # Loops are foretold where every token is a fixed choice and the cache can be cut back.
    foretold = not how["do_sample"] and "stopping_criteria" not in how and cache is not None
    rows: list[list[int]] = [[] for _ in ids]
    going = list(range(len(rows)))
    while going:
        room = min(_ROUND, *(limits[i] - len(rows[i]) for i in going))
        with torch.inference_mode():
            out = model.generate(
                input_ids=ids, attention_mask=mask, past_key_values=cache, max_new_tokens=room,
                return_dict_in_generate=True, **how,
            )  # fmt: skip
        made = out.sequences[:, ids.shape[1] :]
        for row, tokens in zip(going, made.tolist(), strict=True):
            rows[row] += tokens
        if made.shape[1] < room:  # all have ended, or the batch was stopped
            break
        ids, cache, mask = out.sequences, out.past_key_values, torch.cat([mask, torch.ones_like(made)], dim=1)
        stays = []
        for at, i in enumerate(going):
            room = 0 if ends.intersection(rows[i]) else limits[i] - len(rows[i])
            if room and foretold and repeats(rows[i]):
                rows[i] += finish(model, ids, mask, cache, at, room, how)
            elif room:
                stays.append(at)
        if stays:
            keep = torch.tensor(stays, device=ids.device)
            ids, mask = ids[keep], mask[keep]
            cache.batch_select_indices(keep)
        going = [going[at] for at in stays]
    return rows


def _watching(watch: Callable[[list[int]], bool], width: int) -> Callable[..., Any]:
    import torch

    def step(ids: Any, scores: Any, **_: Any) -> Any:
        return torch.full((ids.shape[0],), watch(ids[0, width:].tolist()), dtype=torch.bool, device=ids.device)

    return step


def _ends(model: Any, tokenizer: Any) -> set[int]:
    ends = model.generation_config.eos_token_id
    return {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])}


def _completion(tokenizer: Any, tokens: list[int], ends: set[int], prompt: list[int]) -> Completion:
    stop = next((i for i, token in enumerate(tokens) if token in ends), None)
    kept = tokens if stop is None else tokens[:stop]
    made = tokenizer.decode(kept, skip_special_tokens=True).strip()
    text, reasoning, unclosed = split_thinking(made, begins_thinking(tokenizer, prompt))
    thought = len(tokenizer.encode(reasoning, add_special_tokens=False)) if reasoning else 0
    return Completion(text, reasoning, Usage(len(prompt), len(kept), thought, 1), stop is None or unclosed)
