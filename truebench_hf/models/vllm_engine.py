"""In-process vLLM: `vllm:REPO_OR_PATH`, with its own continuous batching and prefix caching."""

from __future__ import annotations

import asyncio
import functools
import math
import os
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any
from uuid import uuid4

from pydantic import Field, NonNegativeInt, PositiveInt

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, refused
from truebench_hf.hashing import canonical
from truebench_hf.models.chat_template import YesNoPrompt, completed, encode_chat, tokens_left, yes_no_prompts
from truebench_hf.models.loading import Checkpoint
from truebench_hf.models.protocol import (
    ChatRequest,
    Completion,
    Decision,
    DecisionRequest,
    NoDecisions,
    SamplingOptions,
    SchemaRefused,
)  # fmt: skip
from truebench_hf.types import Usage

_CPU_BLOCK = 32
_SETTINGS = (  # of `VllmOptions`, under their names there
    "revision", "dtype", "quantization", "max_model_len", "gpu_memory_utilization", "tensor_parallel_size", "enforce_eager",
)  # fmt: skip


@dataclass(frozen=True)
class VllmOptions(SamplingOptions):
    """What `--model-arg k=v` may set for `vllm:` specs."""

    revision: str = ""
    dtype: str = "auto"
    quantization: str = ""
    max_model_len: NonNegativeInt = 0  # window in tokens; 0: the model's own
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] = 0.9
    # Memory for the key-value cache; 0: what vLLM thinks right.
    kv_cache_gib: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    tensor_parallel_size: PositiveInt = 1
    enforce_eager: bool = False
    prefix_caching: bool = True
    chat_template_kwargs: dict[str, Any] = field(default_factory=dict)


class VllmModel(Checkpoint):
    """A chat model run by vLLM in this process. Its engine starts with the first request.

    Models of one name and options share an engine, so a judge of the model's own kind is not loaded twice.
    `prompt_tokens` counts tokens of prompts so far, `cached_tokens` how many of them the prefix cache spared.
    """

    kind = provider = "vllm"
    shaped_by = ("dtype", "quantization", "max_model_len", "chat_template_kwargs")
    takes_schema = True
    batch: int | None = 256  # vLLM schedules by itself and wants to see much at once

    def __init__(self, name: str, options: VllmOptions) -> None:
        super().__init__(name, options)
        self.prompt_tokens = self.cached_tokens = 0

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer a conversation; see `ChatModel.complete`."""
        from vllm import SamplingParams
        from vllm.exceptions import VLLMClientError
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        engine, tokenizer = self._open()
        prompt = encode_chat(tokenizer, request.messages, self._options.chat_template_kwargs)
        sampling = self._options.applied(request).sampling
        left = tokens_left(prompt, engine.model_config.max_model_len)
        try:
            how = SamplingParams(
                temperature=sampling.temperature, top_p=sampling.top_p, repetition_penalty=sampling.repetition_penalty,
                max_tokens=min(sampling.max_tokens, left),
                output_kind=RequestOutputKind.FINAL_ONLY,
                structured_outputs=StructuredOutputsParams(json=request.schema) if request.schema else None,
            )  # fmt: skip
            answer = await self._ask(engine, prompt, how)
        except VLLMClientError as error:
            raise (SchemaRefused if request.schema else RequestFailed)(f"vLLM refused the request: {error}") from error
        return completed(tokenizer, prompt, answer.text, len(answer.token_ids), answer.finish_reason == "length")

    async def decide(self, request: DecisionRequest) -> Decision:
        """P(yes) of each question from the next token's probabilities of Yes and No; see `ChatModel.decide`.

        One token per question has to be drawn for vLLM to show them; it is thrown away.
        """
        from vllm import SamplingParams

        engine, tokenizer = self._open()
        try:
            prompts = yes_no_prompts(tokenizer, self._name, request.state, request.questions)
        except ValueError as error:
            raise NoDecisions(f"{self.spec}: no decision level: {error}; use checklist or rubric level") from error
        for prompt in prompts:
            tokens_left(prompt.tokens, engine.model_config.max_model_len)

        async def share(prompt: YesNoPrompt) -> float:
            labels = [prompt.yes, prompt.no]
            answer = await self._ask(engine, prompt.tokens, SamplingParams(max_tokens=1, logprob_token_ids=labels))
            yes, no = (answer.logprobs[0][label].logprob / prompt.temperature for label in labels)
            return 1.0 / (1.0 + math.exp(min(no - yes, 700.0)))

        shares = await asyncio.gather(*map(share, prompts))
        return Decision(tuple(shares), Usage(sum(len(prompt.tokens) for prompt in prompts), 0, 0, 1))

    async def close(self) -> None:
        """Stop the engine, unless another model still uses it."""
        for key, running in list(_ENGINES.items()):
            running.users.discard(id(self))
            if not running.users:
                _ENGINES.pop(key).stop()

    def _open(self) -> tuple[Any, Any]:
        tokenizer = _tokenizer(self._name, self._options.revision, self.identity.revision)
        shaping = asdict(replace(self._options, chat_template_kwargs={}))
        key = canonical([self._name, self.identity.revision, shaping])
        loop, running = asyncio.get_running_loop(), _ENGINES.get(key)
        if running is None or running.loop is not loop:
            if running:  # left over from a run that has ended
                _ENGINES.pop(key).stop()
            self._unchanged()
            running = _ENGINES[key] = _Running(loop)
            # Blocks the loop while the weights load: the engine ties its sockets to the loop it is made in.
            try:
                running.engine = _start(self._name, self._options)
            except UserError as error:
                running.failure = error
        if running.failure:  # all who wait would try in turn, each for half a minute
            raise running.failure
        running.users.add(id(self))
        return running.engine, tokenizer

    async def _ask(self, engine: Any, prompt: list[int], sampling: Any) -> Any:
        final = None
        async for output in engine.generate({"prompt_token_ids": prompt}, sampling, uuid4().hex):
            final = output
        if final is None:
            raise RequestFailed("vLLM ended the request without an answer")
        self.prompt_tokens += len(prompt)
        self.cached_tokens += final.num_cached_tokens or 0
        return final.outputs[0]


_REMEDY = "; check the name and the --model-arg/--judge-arg options"


@functools.cache
def _tokenizer(name: str, revision: str, content: str) -> Any:
    # Once for the content of a folder. Our own, not the engine's: the decision prompts add tokens to it.
    from transformers import AutoTokenizer

    with refused(f"vllm:{name}: cannot be started", _REMEDY):
        tokenizer = AutoTokenizer.from_pretrained(name, **({"revision": revision} if revision else {}))
    if not tokenizer.chat_template:
        raise UserError(f"vllm:{name}: has no chat template; choose an instruction-tuned model")
    return tokenizer


_STOPS = 20.0  # seconds; killed after vLLM's own five, its workers would leave shared memory behind on a busy machine


@dataclass
class _Running:
    """An engine, or why it did not start, the event loop it is bound to, and the models that use it."""

    loop: asyncio.AbstractEventLoop
    engine: Any = None
    failure: UserError | None = None
    users: set[int] = field(default_factory=set)

    def stop(self) -> None:
        if self.engine:
            self.engine.shutdown(timeout=_STOPS)
            # Its destructor would shut it down again, too late, as the interpreter ends, and complain.
            self.engine.shutdown = lambda *_, **__: None


_ENGINES: dict[str, _Running] = {}


def _start(name: str, options: VllmOptions) -> Any:
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")  # it would send statistics home
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.platforms import current_platform
    from vllm.v1.engine.async_llm import AsyncLLM

    settings = {setting: getattr(options, setting) for setting in _SETTINGS}
    settings["kv_cache_memory_bytes"] = int(options.kv_cache_gib * 2**30)
    # Prefixes are shared in whole blocks. On processors vLLM takes 128 tokens; 32 is the smallest it is fast with.
    settings["block_size"] = _CPU_BLOCK if current_platform.is_cpu() else 0
    with refused(f"vllm:{name}: cannot be started", _REMEDY):
        arguments = AsyncEngineArgs(
            model=name, enable_prefix_caching=options.prefix_caching, disable_log_stats=True,
            **{setting: value for setting, value in settings.items() if value},  # else what vLLM thinks right
        )  # fmt: skip
        return AsyncLLM.from_engine_args(arguments)
