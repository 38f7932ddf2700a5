"""Token prompts completed in one batch by transformers.

Answers that have begun to repeat themselves, as those of small models do up to the token limit, leave the batch and are
finished alone and faster; greedy answers stay what they are, beyond rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from truebench_hf.models.chat_template import completed, window_of
from truebench_hf.models.kv_cache import Running, attention_only, growing_cache, prefill
from truebench_hf.models.protocol import Completion

_ROUND = 128  # tokens generated before finished answers leave their batch
# Of an answer that repeats itself: tokens looked at, tokens in a row that count as a repetition, tokens guessed at once.
_TAIL, _GRAM, _AHEAD = 128, 8, 48


def generate(
    model: Any, tokenizer: Any, prompts: list[list[int]], sampling: Any, *, reuse: bool = True,
    running: Running | None = None, watch: Callable[[list[int]], bool] | None = None,
) -> list[Completion]:  # fmt: skip
    """Complete token prompts in one left-padded batch. Returns one Completion per prompt.

    Long beginnings that prompts share (rubrics of one response) are computed once where `reuse` is on, which changes
    no answer beyond rounding; with a `running` cache, once for all batches that it is led through. `watch` is told the
    first row's tokens after each one, and stops the batch with True.
    """
    import torch

    width = max(map(len, prompts))
    window = window_of(model)
    # A prompt that fits gets the rest of the window at most.
    limits = [min(sampling.max_tokens, window - len(prompt)) for prompt in prompts]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    ids = torch.tensor([[pad] * (width - len(prompt)) + prompt for prompt in prompts], device=model.device)
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=model.device)
    drawn = sampling.temperature > 0
    how: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p} if drawn else {}
    how |= {"do_sample": drawn, "pad_token_id": pad, "repetition_penalty": sampling.repetition_penalty}
    # Whatever the model's own settings say: the caches given here are used, and rows are answers.
    how |= {"use_cache": True, "cache_implementation": None, "num_beams": 1}
    if watch:
        how["stopping_criteria"] = [_watching(watch, width)]
    ends = _ends(model, tokenizer)
    shared = prefill(model, prompts, running) if reuse else None
    cache = growing_cache(model) if shared is None else shared
    rows = _rows(model, ids, mask, cache, limits, ends, how)
    return [_completion(tokenizer, row, ends, prompt) for row, prompt in zip(rows, prompts, strict=True)]


def _rows(
    model: Any, ids: Any, mask: Any, cache: Any, limits: list[int], ends: set[int], how: dict[str, Any]
) -> list[list[int]]:
    """The new tokens of each row. After every round finished rows leave the batch: one long answer holds up no other."""
    import torch

    # A repetition is predictable where every token is a fixed choice and the cache can be cut back.
    predictable = not how["do_sample"] and "stopping_criteria" not in how and cache is not None
    # Where rows cannot be selected all stay to the end, which comes for some too late.
    at_once = 0 if attention_only(model) else max(limits)
    rows: list[list[int]] = [[] for _ in ids]
    going = list(range(len(rows)))
    while going:
        left = at_once or min(_ROUND, *(limits[i] - len(rows[i]) for i in going))
        with torch.inference_mode():
            out = model.generate(
                input_ids=ids, attention_mask=mask, past_key_values=cache, max_new_tokens=left,
                return_dict_in_generate=True, **how,
            )  # fmt: skip
        made = out.sequences[:, ids.shape[1] :]
        for row, tokens in zip(going, made.tolist(), strict=True):
            rows[row] += tokens
        if at_once or made.shape[1] < left:  # all have ended, or the batch was stopped
            break
        ids, cache, mask = out.sequences, out.past_key_values, torch.cat([mask, torch.ones_like(made)], dim=1)
        stays = []
        for at, i in enumerate(going):
            left = 0 if ends.intersection(rows[i]) else limits[i] - len(rows[i])
            if left and predictable and repeats(rows[i]):
                rows[i] += _finish_repetition(model, ids, mask, cache, at, left, how)
            elif left:
                stays.append(at)
        if stays:
            keep = torch.tensor(stays, device=ids.device)
            ids, mask = ids[keep], mask[keep]
            cache.batch_select_indices(keep)
        going = [going[at] for at in stays]
    return [row[:limit] for row, limit in zip(rows, limits, strict=True)]


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
    return completed(tokenizer, prompt, tokenizer.decode(kept, skip_special_tokens=True), len(kept), stop is None)


def repeats(tokens: Sequence[int]) -> bool:
    """Whether three quarters of an answer's last tokens have stood in it before, in stretches of `_GRAM`."""
    grams = [tuple(tokens[i : i + _GRAM]) for i in range(len(tokens) - _GRAM + 1)]
    seen, last = set(grams[:-_TAIL]), grams[-_TAIL:]
    again = 0
    for gram in last:
        again += gram in seen
        seen.add(gram)
    return len(last) == _TAIL and 4 * again >= 3 * _TAIL


def _finish_repetition(
    model: Any, ids: Any, mask: Any, cache: Any, row: int, left: int, how: dict[str, Any]
) -> list[int]:
    """Up to `left` further tokens of one row of a left-padded batch, whose `cache` holds all but its last token.

    What follows a repetition can be guessed: the tokens that followed last time are offered all at once (prompt
    lookup), and the model confirms them in one pass or goes on in its own way.
    """
    import torch

    pad = int((mask[row] == 0).sum())
    own = growing_cache(model)
    if own is None:
        raise TypeError("only plain caches can be cut back")
    for number, layer in enumerate(cache.layers):
        own.update(layer.keys[row : row + 1, :, pad:], layer.values[row : row + 1, :, pad:], number)
    alone = ids[row : row + 1, pad:]
    with torch.inference_mode():
        out = model.generate(
            input_ids=alone, attention_mask=torch.ones_like(alone), past_key_values=own, max_new_tokens=left,
            prompt_lookup_num_tokens=_AHEAD, max_matching_ngram_size=16, **how,
        )  # fmt: skip
    made: list[int] = out[0, alone.shape[1] :].tolist()
    return made
