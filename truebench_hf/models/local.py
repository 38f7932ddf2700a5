"""Local transformers: `hf:REPO_OR_PATH` and the embedded `smollm2`, batched on one worker thread."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import PositiveInt

from truebench_hf.engine.pool import Batcher
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.chat_template import byte_count, encode_chat, too_long, window_of
from truebench_hf.models.generation import SharedPrefix, generate, yes_probabilities
from truebench_hf.models.loading import EMBEDDED, Checkpoint, locate
from truebench_hf.models.protocol import (
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    Identity,
    SamplingOptions,
)  # fmt: skip
from truebench_hf.types import Usage

Dtype = Literal["auto", "float32", "bfloat16", "float16"]


@dataclass(frozen=True)
class LocalOptions(SamplingOptions):
    """What `--model-arg k=v` may set for `hf:` and `smollm2` specs."""

    revision: str = ""
    dtype: Dtype = "auto"
    device: str = "auto"
    batch_size: PositiveInt = 16
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)


# One thread for all local engines: two models at once on one machine only slow each other down.
MACHINE = ThreadPoolExecutor(max_workers=1, thread_name_prefix="local-model")


class LocalModel(Checkpoint):
    """A chat model run by transformers in this process."""

    kind = "hf"
    provider = "transformers"
    shaped_by = ("dtype", "chat_template_kwargs")
    batch: int | None = 256  # requests let in at once, so that batches can be sorted by length

    def __init__(self, name: str, options: LocalOptions) -> None:
        """`name` is a repository or a folder; "" means the embedded model."""
        super().__init__(name, options)
        if not name:
            self.spec = "smollm2"
            self._folder, self._gguf = locate()
        self._prefix: SharedPrefix | None = None
        size = options.batch_size
        self._chats = Batcher(
            self._generate, lambda request: byte_count(*(m.content for m in request.messages)), size, MACHINE
        )
        self._decisions = Batcher(
            self._decide, lambda request: byte_count(request.state, *request.questions), size, MACHINE
        )

    @functools.cached_property
    def identity(self) -> Identity:
        """That of the embedded model names the file it is."""
        known = super().identity
        embedded = "SmolLM2-135M-Instruct (GGUF Q4_1)" if self._gguf else EMBEDDED
        return known if self._name else replace(known, model=embedded, revision=self._options.revision)

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer a conversation as part of a batch; see `ChatModel.complete`."""
        return await self._chats.ask(request)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Answer yes/no questions from next-token probabilities; see `ChatModel.decide`."""
        return await self._decisions.ask(request)

    async def close(self) -> None:
        """Give back the cache; loaded weights stay for the next run in this process."""
        self._prefix = None
        # A batch of a run that was broken off may still compute, and would leave another.
        with suppress(RuntimeError):  # the interpreter is ending
            MACHINE.submit(setattr, self, "_prefix", None)

    def _generate(self, requests: Sequence[ChatRequest]) -> list[Completion | BaseException]:
        model, tokenizer = self._load()
        requests = [self._options.applied(request) for request in requests]
        prompts, window = [self._encode(tokenizer, request) for request in requests], window_of(model)
        answers: list[Completion | BaseException] = [too_long(prompt, window) for prompt in prompts]
        # A judge that repeats itself will not come to its verdict; what a model under test writes is left as it is.
        kinds = [(request.sampling, bool(request.example)) for request in requests]
        for sampling, judges in dict.fromkeys(kinds):
            group = [i for i, kind in enumerate(kinds) if kind == (sampling, judges) and len(prompts[i]) < window]
            texts, prefix = [prompts[i] for i in group], self._shared_prefix(model)
            usual = [len(tokenizer.encode(requests[i].example)) for i in group] if judges else []
            completions = generate(model, tokenizer, texts, sampling, prefix, usual=usual)
            for i, completion in zip(group, completions, strict=True):
                answers[i] = replace(completion, served=_commit(model))
        return answers

    def _encode(self, tokenizer: Any, request: ChatRequest) -> list[int]:
        return encode_chat(tokenizer, request.messages, self._options.chat_template_kwargs)

    def _decide(self, requests: Sequence[DecisionRequest]) -> list[Decision | BaseException]:
        model, tokenizer = self._load()
        # Like states one after the other: what they begin with alike is computed once.
        prefix, answers = self._shared_prefix(model), dict[int, Decision | BaseException]()
        for i in sorted(range(len(requests)), key=lambda i: requests[i].state):
            request = requests[i]
            try:
                shares, tokens = yes_probabilities(model, tokenizer, request.state, request.questions, prefix)
                answers[i] = Decision(tuple(shares), Usage(tokens, 0, 0, 1), _commit(model))
            except RequestFailed as error:
                answers[i] = error
            except UserError as error:
                raise UserError(f"{self.spec}: {error}") from error
        return [answers[i] for i in range(len(requests))]

    def _shared_prefix(self, model: Any) -> SharedPrefix:
        """What goes from batch to batch: all prompts of a judge begin alike."""
        if self._prefix is None or self._prefix.model is not model:
            self._prefix = SharedPrefix(model)
        return self._prefix


def _commit(model: Any) -> dict[str, str]:
    """The commit of the Hub that the weights are of; a folder has none."""
    commit = getattr(model.config, "_commit_hash", None)
    return {"revision": commit} if commit else {}
