"""Token prompts completed in batches by transformers, and yes/no questions read off the next token.

What prompts begin with alike (the rules of a judge, a state that is asked many questions) is computed once and kept from
batch to batch. Rows are laid out exactly as left padding lays them out, so that answers stay what they are, beyond
rounding. Rows that have ended leave their batch; those for which memory has no room wait for the others.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from truebench_hf.models.chat_template import completed, too_long, window_of, yes_no_prompts
from truebench_hf.models.protocol import Completion, NoDecisions, Sampling

_ROUND = 128  # tokens generated before finished answers leave their batch
_LOOP = 256  # tokens at the end of an answer, at least, that repeat themselves four times or more where it is in a loop
_ROOM = 3 * 2**27  # bytes that keys and values of a batch may take in any case
_QUESTIONS = 8  # questions read at once: each needs a copy of the state's keys and values, and logits


class SharedPrefix:
    """Keys and values of what the last prompts began with: cut back to what the next ones begin with alike.

    Only for models that keep plain keys and values (`is_plain`): sliding windows and states cannot be cut back.
    """

    def __init__(self, model: Any) -> None:
        self.model, self.is_plain = model, _keeps(model, windows=False)
        self._cache: Any = None
        self._tokens: list[int] = []

    def rows(self, tokens: list[int], shifts: Sequence[int]) -> Any | None:
        """Return a cache of a row per shift that holds `tokens`, moved to the right by the shift; None for no tokens.

        What is moved beyond the end comes in again at the beginning, where padding stands.
        """
        import torch

        if not tokens or not self.is_plain:
            return None
        keep = _common(self._tokens, tokens)
        cache, held = self._cache, len(self._tokens)
        self._cache, self._tokens = None, []  # where memory runs out, some layers have tokens that others lack
        if not keep:
            cache = _new_cache(self.model)
        else:
            cache.crop(keep - held)
        if fresh := tokens[keep:]:
            ids = torch.tensor([fresh], device=self.model.device)
            self.model(input_ids=ids, past_key_values=cache, logits_to_keep=1)
        self._cache, self._tokens = cache, tokens
        copies = _new_cache(self.model)
        for number, layer in enumerate(self._cache.layers):
            states = (
                torch.cat([part.roll(shift, dims=2) if shift else part for shift in shifts])
                for part in (layer.keys, layer.values)
            )
            copies.update(*states, number)
        return copies


def generate(
    model: Any, tokenizer: Any, prompts: list[list[int]], sampling: Sampling, prefix: SharedPrefix | None = None, *,
    usual: Sequence[int] = (), **streaming: Any,
) -> list[Completion]:  # fmt: skip
    """Complete token prompts in left-padded batches. Returns one Completion per prompt.

    `prefix` holds what earlier batches began with; it is left holding what this one does. `usual` are the tokens of a
    usual answer to each prompt: a longer one that repeats itself at its end, be it with other numbers, is cut off there
    and not at its limit; only at temperature 0. `streaming` goes to transformers' `generate`: a streamer, say, which sees
    the answer to the only prompt grow.
    """
    window = window_of(model)
    # A prompt that fits gets the rest of the window at most.
    limits = [min(sampling.max_tokens, window - len(prompt)) for prompt in prompts]
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    drawn = sampling.temperature > 0
    how: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p} if drawn else {}
    how |= {"do_sample": drawn, "pad_token_id": pad, "repetition_penalty": sampling.repetition_penalty}
    # Whatever the model's own settings say: the caches given here are used, and rows are answers.
    how |= {"use_cache": True, "cache_implementation": None, "num_beams": 1, **streaming}
    own_ends = model.generation_config.eos_token_id
    ends = {tokenizer.eos_token_id, *(own_ends if isinstance(own_ends, list) else [own_ends])}
    # Where rows cannot be selected, or are watched, all stay to the end.
    to_the_end = bool(streaming) or not _keeps(model, windows=True)
    prefix = prefix or SharedPrefix(model)
    with evaluating(model):
        rows = _Rows(prompts, limits, ends, how, prefix, to_the_end, tokenizer, () if drawn else usual).written()
    completions = []
    for row, prompt in zip(rows, prompts, strict=True):
        stop = next((i for i, token in enumerate(row) if token in ends), None)
        text = tokenizer.decode(row[:stop], skip_special_tokens=True)
        completions.append(completed(tokenizer, prompt, text, len(row[:stop]), stop is None))
    return completions


def yes_probabilities(
    model: Any, tokenizer: Any, state: str, questions: Sequence[str], prefix: SharedPrefix
) -> tuple[list[float], int]:
    """P(yes) per question, and the tokens of state and questions together.

    Prompts, labels and temperatures are those of the transformers `decision` pipeline, one prompt per question; what
    they begin with alike is computed once, which changes no probability beyond rounding. Raises RequestFailed when a
    prompt exceeds the window, NoDecisions where the labels are no single tokens.
    """
    import torch

    try:
        prompts = yes_no_prompts(tokenizer, model.name_or_path, state, questions)
    except ValueError as error:
        raise NoDecisions(f"no decision level: {error}; use checklist or rubric level") from error
    rows = [prompt.tokens for prompt in prompts]
    window = window_of(model)
    if len(longest := max(rows, key=len)) > window:
        raise too_long(longest, window)
    shared = _shared(rows)
    with torch.inference_mode(), evaluating(model):
        last_logits = _last_logits(model, prefix, rows, shared)
    pairs = zip(prompts, last_logits, strict=True)
    shares = [(logits[[p.yes, p.no]].float() / p.temperature).softmax(-1) for p, logits in pairs]
    return [float(share[0]) for share in shares], shared + sum(len(row) - shared for row in rows)


def _last_logits(model: Any, prefix: SharedPrefix, rows: list[list[int]], shared: int) -> list[Any]:
    """The logits after the last token of each row, of shape (vocabulary); all rows share their first tokens."""
    import torch

    if not prefix.is_plain:
        return [model(torch.tensor([row], device=model.device), logits_to_keep=1).logits[0, -1] for row in rows]
    by_row = dict[int, Any]()
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]))  # little is padded then
    size = min(_QUESTIONS, _fitting(model, len(rows[by_length[-1]])))
    for at in range(0, len(rows), size):
        some = by_length[at : at + size]
        tails = [rows[i][shared:] for i in some]
        width = max(map(len, tails))
        # Padded behind what is read: no token sees those after it.
        ids = torch.tensor([[*tail, *tail[-1:] * (width - len(tail))] for tail in tails], device=model.device)
        ends = sorted({len(tail) - 1 for tail in tails})
        cache = prefix.rows(rows[0][:shared], [0] * len(some))
        logits = model(ids, past_key_values=cache, logits_to_keep=torch.tensor(ends, device=model.device)).logits
        by_row |= {i: logits[place, ends.index(len(tails[place]) - 1)] for place, i in enumerate(some)}
    return [by_row[i] for i in range(len(rows))]


@dataclass(frozen=True)
class _Rows:
    """Prompts whose answers are written, none longer than its limit."""

    prompts: list[list[int]]
    limits: list[int]
    ends: set[int]
    how: dict[str, Any]
    prefix: SharedPrefix
    to_the_end: bool
    tokenizer: Any
    usual: Sequence[int]

    def written(self) -> list[list[int]]:
        """The new tokens of each row."""
        rows: list[list[int]] = [[] for _ in self.prompts]
        model, waiting = self.prefix.model, list(range(len(rows)))
        while waiting:
            # The shortest first, as many as there is room for: beside the longest there is room for few.
            by_length = sorted((len(self.prompts[i]) + len(rows[i]), i) for i in waiting)
            size = max(n for n, (length, _) in enumerate(by_length, 1) if n == 1 or n <= _fitting(model, length))
            going, waiting = [i for _, i in by_length[:size]], [i for _, i in by_length[size:]]
            waiting += self._write_together(rows, going, is_last=not waiting)
        return [row[:limit] for row, limit in zip(rows, self.limits, strict=True)]

    def _write_together(self, rows: list[list[int]], going: list[int], *, is_last: bool) -> list[int]:
        """Write `going` rows on until they have ended; returns those that are to go on later, as they have no room.

        After every round finished rows leave the batch, so that one long answer holds up no other; unless this is the
        last batch, the last half of it goes on later, too, beside those that wait. The last row of all goes on alone.
        """
        import torch

        ids, mask, cache = self._laid([self.prompts[i] + rows[i] for i in going])
        later, fewest = list[int](), 0 if is_last else len(going) // 2
        while going:
            left = [self.limits[i] - len(rows[i]) for i in going]
            most = max(left) if self.to_the_end else min(_ROUND, *left)
            out = self.prefix.model.generate(
                input_ids=ids, attention_mask=mask, past_key_values=cache, max_new_tokens=most,
                return_dict_in_generate=True, **self.how,
            )  # fmt: skip
            tokens_written = out.sequences[:, ids.shape[1] :]
            for i, tokens in zip(going, tokens_written.tolist(), strict=True):
                rows[i] += tokens
            if self.to_the_end or tokens_written.shape[1] < most:  # all have ended
                break
            stays = [i for i in going if len(rows[i]) < self.limits[i] and not self._has_ended(rows[i], i)]
            size = _fitting(self.prefix.model, out.sequences.shape[1]) if len(stays) > fewest else 0
            stays, later = stays[:size], later + stays[size:]
            if stays:
                keep = torch.tensor([going.index(i) for i in stays], device=ids.device)
                ids, cache = out.sequences[keep], out.past_key_values
                mask = torch.cat([mask, torch.ones_like(tokens_written)], 1)[keep]
                cache.batch_select_indices(keep)
            going = stays
        return later

    def _has_ended(self, row: list[int], place: int) -> bool:
        if self.ends.intersection(row):
            return True
        if not self.usual or len(row) < max(self.usual[place], _LOOP):
            return False
        # One repetition is no loop: who thinks first drafts a verdict, and copies it.
        least, tail = (re.sub(r"\d+", "0", self.tokenizer.decode(row[-size:])) for size in (_LOOP, 4 * _LOOP))
        loops = ((period, tail[-max(4 * period, len(least)) :]) for period in range(1, len(tail) // 4 + 1))
        return any(loop[period:] == loop[:-period] for period, loop in loops)

    def _laid(self, texts: list[list[int]]) -> tuple[Any, Any, Any]:
        """Tokens, left-padded, their mask, and a cache of the first of them where all texts begin alike."""
        import torch

        width, device, pad = max(map(len, texts)), self.prefix.model.device, self.how["pad_token_id"]
        gaps = [width - len(text) for text in texts]
        ids = torch.tensor([[pad] * gap + text for gap, text in zip(gaps, texts, strict=True)], device=device)
        mask = torch.tensor([[0] * gap + [1] * (width - gap) for gap in gaps], device=device)
        with torch.inference_mode():
            return ids, mask, self.prefix.rows(texts[0][: _shared(texts)], gaps)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Dropout off meanwhile, and every part back in its mode afterwards: the model may be in the middle of training."""
    training = [part for part in model.modules() if part.training]
    model.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def _shared(rows: Sequence[list[int]]) -> int:
    """How many tokens all rows begin with alike; each keeps at least one to be read at."""
    return min(_common(min(rows), max(rows)), min(map(len, rows)) - 1)


def _common(tokens: Sequence[int], others: Sequence[int]) -> int:
    same = (place for place, pair in enumerate(zip(tokens, others, strict=False)) if pair[0] != pair[1])
    return next(same, min(len(tokens), len(others)))


def _fitting(model: Any, length: int) -> int:
    """How many rows of so many tokens go on together for a round."""
    return max(1, room(model) // (length + _ROUND))


def room(model: Any) -> int:
    """How many tokens a batch may hold: those whose keys and values take three quarters of the memory of the weights, or 384 MiB."""
    config = model.config.get_text_config()
    heads = getattr(config, "num_attention_heads", 0)
    if not heads:  # states, whose size does not grow
        return sys.maxsize
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    kept = getattr(config, "num_key_value_heads", None) or heads
    each = 2 * config.num_hidden_layers * kept * size * model.dtype.itemsize
    return int(max(model.get_memory_footprint() * 3 // 4, _ROOM) // each)


def _new_cache(model: Any) -> Any:
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


def _keeps(model: Any, *, windows: bool) -> bool:
    """Whether a model keeps keys and values alone, and with `windows` maybe those of a sliding window.

    Of recurrent states (Mamba and its hybrids) rows cannot be selected, and some go on by one token only.
    """
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    if not model._supports_default_dynamic_cache() or getattr(model, "_is_stateful", False):
        return False
    kinds = {type(layer) for layer in _new_cache(model).layers}
    return bool(kinds) and kinds <= ({DynamicLayer, DynamicSlidingWindowLayer} if windows else {DynamicLayer})
