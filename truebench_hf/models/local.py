"""Local transformers: `hf:REPO_OR_PATH` and the embedded `smollm2`, batched on one worker thread."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from truebench_hf.engine.batching import Batcher
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models import embedded
from truebench_hf.models.chat_template import encode_chat
from truebench_hf.models.kv_cache import growing_cache
from truebench_hf.models.looping import finish, repeats
from truebench_hf.models.prefix import yes_probabilities
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.models.shared_prefix import prefill
from truebench_hf.models.thinking import split_thinking
from truebench_hf.types import Usage


@dataclass(frozen=True)
class LocalOptions:
    """What `--model-arg k=v` may set for `hf:` and `smollm2` specs."""

    revision: str = ""
    dtype: str = "auto"
    device: str = "auto"
    batch_size: int = 16
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise ValueError(f"batch_size={self.batch_size} must be at least 1")


_ROUND = 128  # tokens generated before finished answers leave their batch

# One thread for all local engines: two models at once on one machine only slow each other down.
_MACHINE = ThreadPoolExecutor(max_workers=1, thread_name_prefix="local-model")


class LocalModel:
    """A chat model run by transformers in this process. The weights are loaded on the first request."""

    takes_schema = False
    batch: int | None = 256  # requests let in at once, so that batches can be sorted by length

    def __init__(self, name: str, options: LocalOptions) -> None:
        self._options = options
        if name == "smollm2":
            folder, gguf = embedded.locate()
            self.spec, shown = "smollm2", "SmolLM2-135M-Instruct (GGUF Q4_1)" if gguf else embedded.HUB_ID
        else:
            folder, gguf = name, None
            self.spec, shown = f"hf:{name}", name
        shaping = {"dtype": options.dtype, "chat_template_kwargs": options.chat_template_kwargs}
        self.identity = Identity("transformers", shown, options.revision, shaping)
        self._load = functools.partial(load, folder, gguf, options.revision, options.dtype, options.device)
        self._chats = Batcher(self._generate, self._length, options.batch_size, _MACHINE)
        self._decisions = Batcher(self._decide, lambda request: len(request.state), 1, _MACHINE)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer a conversation as part of a batch; see `ChatModel.complete`."""
        return await self._chats.ask(request)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Answer yes/no questions from next-token probabilities; see `ChatModel.decide`."""
        return await self._decisions.ask(request)

    async def close(self) -> None:
        """Nothing to give back: loaded weights stay for the next run in this process."""

    @staticmethod
    def _length(request: ChatRequest) -> int:
        # Bytes foretell tokens across scripts better than characters do.
        return sum(len(message.content.encode()) for message in request.messages)

    def _generate(self, requests: Sequence[ChatRequest]) -> list[Completion | BaseException]:
        model, tokenizer = self._load()
        answers: list[Completion | BaseException] = [RequestFailed("not run")] * len(requests)
        for sampling in {request.sampling for request in requests}:
            group = [i for i, request in enumerate(requests) if request.sampling == sampling]
            prompts = {i: self._encode(tokenizer, requests[i]) for i in group}
            window = model.config.max_position_embeddings
            for i in [i for i in group if len(prompts[i]) >= window]:
                answers[i] = RequestFailed(f"the prompt has {len(prompts.pop(i))} tokens, the window {window}")
            if prompts:
                made = generate(model, tokenizer, list(prompts.values()), sampling)
                for i, completion in zip(prompts, made, strict=True):
                    answers[i] = completion
        return answers

    def _encode(self, tokenizer: Any, request: ChatRequest) -> list[int]:
        return encode_chat(tokenizer, request.messages, self._options.chat_template_kwargs)

    def _decide(self, requests: Sequence[DecisionRequest]) -> list[Decision | BaseException]:
        model, tokenizer = self._load()
        return [self._decide_one(model, tokenizer, request) for request in requests]

    @staticmethod
    def _decide_one(model: Any, tokenizer: Any, request: DecisionRequest) -> Decision | BaseException:
        try:
            shares, tokens = yes_probabilities(model, tokenizer, request.state, request.questions)
        except RequestFailed as error:
            return error
        return Decision(tuple(shares), Usage(tokens, 0, 0, 1))


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
    return [_completion(tokenizer, row, ends, len(prompt)) for row, prompt in zip(rows, prompts, strict=True)]


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


def _completion(tokenizer: Any, tokens: list[int], ends: set[int], spent: int) -> Completion:
    stop = next((i for i, token in enumerate(tokens) if token in ends), None)
    kept = tokens if stop is None else tokens[:stop]
    text, reasoning, unclosed = split_thinking(tokenizer.decode(kept, skip_special_tokens=True).strip())
    thought = len(tokenizer.encode(reasoning, add_special_tokens=False)) if reasoning else 0
    return Completion(text, reasoning, Usage(spent, len(kept), thought, 1), stop is None or unclosed)


@functools.cache
def load(folder: str, gguf: str | None, revision: str, dtype: str, device: str) -> tuple[Any, Any]:
    """(model, tokenizer) of a checkpoint, loaded once per process. Raises UserError when it cannot be had."""
    # Read when torch is first imported. Threads that spin for long while they wait make a busy machine many times
    # slower; threads that do not spin at all make a quiet one half as fast.
    os.environ.setdefault("GOMP_SPINCOUNT", "5000")
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging
    except ImportError as error:
        raise UserError("local models need torch and transformers: pip install 'truebench-hf[local]'") from error
    logging.disable_progress_bar()
    logging.set_verbosity_error()  # advice on kernels and formats is not for who asked for a score
    where: dict[str, Any] = {"revision": revision} if revision else {}
    if gguf:
        where["gguf_file"] = gguf
    target = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    # CPUs without bfloat16 units crawl on it, and GGUF weights are dequantised anyway.
    precision = torch.float32 if dtype == "auto" and target == "cpu" else dtype
    try:
        with redirect_stderr(StringIO()):  # the bar of the GGUF conversion knows no switch
            tokenizer = AutoTokenizer.from_pretrained(folder, **where)
            model = AutoModelForCausalLM.from_pretrained(folder, dtype=precision, **where)
    except (OSError, ValueError, ImportError) as error:
        first = " ".join(str(error).split())[:300]
        raise UserError(f"hf:{folder}: cannot be loaded: {first}; check the name, or give a local folder") from error
    if not tokenizer.chat_template:
        raise UserError(f"hf:{folder}: has no chat template; choose an instruction-tuned model")
    return model.to(target).eval(), tokenizer
