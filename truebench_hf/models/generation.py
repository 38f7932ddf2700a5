"""Token prompts completed in batches by transformers, of as many rows as memory is meant for.

Rows that have grown too long for all of them wait, and go on when others have ended. Answers that have begun to repeat
themselves, as those of small models do up to the token limit, leave the batch and are finished alone and faster. Greedy
answers stay what they are, beyond rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.models.chat_template import completed, window_of
from truebench_hf.models.kv_cache import Running, attention_only, growing_cache, prefill, room
from truebench_hf.models.protocol import Completion

_ROUND = 128  # tokens generated before finished answers leave their batch
# Of an answer that repeats itself: tokens looked at, tokens in a row that count as a repetition, tokens guessed at once.
_TAIL, _GRAM, _AHEAD = 128, 8, 48


def generate(
    model: Any, tokenizer: Any, prompts: list[list[int]], sampling: Any, *, reuse: bool = True,
    running: Running | None = None, watch: Callable[[list[int]], bool] | None = None,
) -> list[Completion]:  # fmt: skip
    """Complete token prompts in left-padded batches. Returns one Completion per prompt.

    Long beginnings that prompts share (rubrics of one response) are computed once where `reuse` is on, which changes
    no answer beyond rounding; with a `running` cache, once for all batches that it is led through. `watch` is told the
    tokens of the answer to the only prompt after each one, and stops it with True.
    """
    window = window_of(model)
    # A prompt that fits gets the rest of the window at most.
    limits = [min(sampling.max_tokens, window - len(prompt)) for prompt in prompts]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    drawn = sampling.temperature > 0
    how: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p} if drawn else {}
    how |= {"do_sample": drawn, "pad_token_id": pad, "repetition_penalty": sampling.repetition_penalty}
    # Whatever the model's own settings say: the caches given here are used, and rows are answers.
    how |= {"use_cache": True, "cache_implementation": None, "num_beams": 1}
    if watch:
        how["stopping_criteria"] = [_watching(watch, len(prompts[0]))]
    ends = _ends(model, tokenizer)
    running = (running or Running.of(model)) if reuse else None
    rows = _Rows(model, prompts, limits, ends, how, running).written()
    return [_completion(tokenizer, row, ends, prompt) for row, prompt in zip(rows, prompts, strict=True)]


@dataclass(frozen=True)
class _Rows:
    """Prompts whose answers are written, none longer than its limit."""

    model: Any
    prompts: list[list[int]]
    limits: list[int]
    ends: set[int]
    how: dict[str, Any]
    running: Running | None

    def written(self) -> list[list[int]]:
        """The new tokens of each row."""
        rows: list[list[int]] = [[] for _ in self.prompts]
        alone = list[int]()
        waiting = list(range(len(rows)))
        while waiting:
            longest = max(len(self.prompts[i]) + len(rows[i]) for i in waiting)
            count = self._fitting(longest)
            waiting = waiting[count:] + self._together(rows, waiting[:count], alone)
        for i in alone:  # once no batch is held any more
            rows[i] += self._repetition(self.prompts[i] + rows[i], self.limits[i] - len(rows[i]))
        return [row[:limit] for row, limit in zip(rows, self.limits, strict=True)]

    def _fitting(self, longest: int) -> int:
        """How many rows go on together for a round, the longest of so many tokens."""
        return max(1, room(self.model) // (longest + _ROUND))

    def _together(self, rows: list[list[int]], going: list[int], alone: list[int]) -> list[int]:
        """Write `going` rows on until they have ended; returns those that are to go on later, as they have no room.

        After every round finished rows leave the batch, so that one long answer holds up no other, and those that
        repeat themselves go to `alone`.
        """
        import torch

        ids, mask, cache = self._laid([self.prompts[i] + rows[i] for i in going])
        # A repetition is predictable where every token is a fixed choice and the cache can be cut back.
        predictable = not self.how["do_sample"] and "stopping_criteria" not in self.how and cache is not None
        # Where rows cannot be selected all stay to the end, which comes for some too late.
        at_once = 0 if attention_only(self.model) else max(self.limits[i] for i in going)
        later = list[int]()
        while going:
            left = at_once or min(_ROUND, *(self.limits[i] - len(rows[i]) for i in going))
            with torch.inference_mode():
                out = self.model.generate(
                    input_ids=ids, attention_mask=mask, past_key_values=cache, max_new_tokens=left,
                    return_dict_in_generate=True, **self.how,
                )  # fmt: skip
            made = out.sequences[:, ids.shape[1] :]
            for i, tokens in zip(going, made.tolist(), strict=True):
                rows[i] += tokens
            if at_once or made.shape[1] < left:  # all have ended, or the batch was stopped
                break
            ids, cache, mask = out.sequences, out.past_key_values, torch.cat([mask, torch.ones_like(made)], dim=1)
            open_ = [i for i in going if len(rows[i]) < self.limits[i] and not self.ends.intersection(rows[i])]
            repeating = [i for i in open_ if predictable and repeats(rows[i])]
            alone += repeating
            stays = [i for i in open_ if i not in repeating]
            count = self._fitting(ids.shape[1])
            stays, later = stays[:count], later + stays[count:]
            if stays:
                keep = torch.tensor([going.index(i) for i in stays], device=ids.device)
                ids, mask = ids[keep], mask[keep]
                cache.batch_select_indices(keep)
            going = stays
        return later

    def _laid(self, texts: list[list[int]]) -> tuple[Any, Any, Any]:
        """Tokens, left-padded, their mask, and a cache, with all but their last tokens where they share much."""
        import torch

        width, device = max(map(len, texts)), self.model.device
        pad = self.how["pad_token_id"]
        ids = torch.tensor([[pad] * (width - len(text)) + text for text in texts], device=device)
        mask = torch.tensor([[0] * (width - len(text)) + [1] * len(text) for text in texts], device=device)
        shared = prefill(self.model, texts, self.running) if self.running else None
        return ids, mask, growing_cache(self.model) if shared is None else shared

    def _repetition(self, text: list[int], left: int) -> list[int]:
        """Up to `left` further tokens behind a text that repeats itself.

        What follows a repetition can be guessed: the tokens that followed last time are offered all at once (prompt
        lookup), and the model confirms them in one pass or goes on in its own way.
        """
        import torch

        ids = torch.tensor([text], device=self.model.device)
        with torch.inference_mode():
            out = self.model.generate(
                input_ids=ids, attention_mask=torch.ones_like(ids), past_key_values=growing_cache(self.model),
                max_new_tokens=left, prompt_lookup_num_tokens=_AHEAD, max_matching_ngram_size=16, **self.how,
            )  # fmt: skip
        made: list[int] = out[0, len(text) :].tolist()
        return made


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
