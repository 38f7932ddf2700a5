"""Models that are objects in Python: a function, a loaded transformers model, or any `ChatModel`."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, count
from typing import Any

from truebench_hf.engine.retry import RequestFailed, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.chat_template import split_thinking
from truebench_hf.models.generation import SharedPrefix
from truebench_hf.models.local import LocalModel, LocalOptions
from truebench_hf.models.openai_reading import completion
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.models.spec import read_options
from truebench_hf.prompts import fence
from truebench_hf.types import Usage

_LAMBDAS = count(1)


class FunctionModel:
    """A function of the user's that answers a conversation.

    It gets the messages, `[{"role": ..., "content": ...}]`, or, where its first parameter is annotated as `str`, one
    text. It returns a text, or a chat completion as the openai client does. An `async def` is called many at a time,
    on a loop of ours; a plain function one at a time, in one thread. How it draws its answers is its own affair.
    """

    takes_schema = False
    batch: int | None = None

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self._function = function
        self._shown = name or _name_of(function)
        self.spec = f"function:{self._shown}"
        # Nobody can tell what a function calls and whether that is still the same tomorrow. So only a name makes its
        # answers last: one without is another model each time.
        self.named = name is not None
        self.identity = Identity("function", self._shown, "" if self.named else f"unnamed {uuid.uuid4().hex[:12]}")
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # some built-in ones tell nothing
            parameters = []
        # The openai client takes messages by name alone.
        self._by_name = any(p.name == "messages" and p.kind != p.POSITIONAL_ONLY for p in parameters)
        self._takes_text = not self._by_name and bool(parameters) and parameters[0].annotation in (str, "str")
        self.cache_scope = "" if self.named else None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="function-model")
        self._answered = False

    async def complete(self, request: ChatRequest) -> Completion:
        """What the function says. Raises UserError where it never answered, RequestFailed once it has."""
        messages = request.messages
        argument: Any = [{"role": message.role, "content": message.content} for message in messages]
        if self._takes_text:  # of several messages each stands under its role, which none can forge
            tag = fence(*(message.content for message in messages))
            parts = [f"[{message.role}_{tag}]\n{message.content}" for message in messages]
            argument = "\n\n".join(parts) if len(parts) > 1 else messages[0].content
        call = partial(self._function, messages=argument) if self._by_name else partial(self._function, argument)
        try:
            if inspect.iscoroutinefunction(self._function):
                result = await call()
            else:
                result = await asyncio.get_running_loop().run_in_executor(self._thread, call)
                result = await result if inspect.isawaitable(result) else result
            completion = _completion(result)
        except (RequestFailed, UserError):
            raise
        except Exception as error:  # whatever a function of the user's may raise
            problem = f"{self.spec} raised {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            if self._answered:
                raise RequestFailed(problem) from error
            form = "one text" if self._takes_text else "a list of messages, [{'role': ..., 'content': ...}]"
            raise UserError(f"{problem}; it is given {form}, and returns a text") from error
        self._answered = True
        return completion

    async def decide(self, request: DecisionRequest) -> Decision:
        """Raises UserError: a function writes texts."""
        raise UserError(f"{self.spec}: gives no probabilities; use checklist or rubric level")

    async def close(self) -> None:
        """Nothing: several may use it at once, and its thread ends with it."""


class LoadedModel(LocalModel):
    """A transformers model that is loaded already, with its tokenizer: generated with as `hf:` models are.

    Its identity holds a checksum of the weights as they are now.
    """

    def __init__(self, model: Any, tokenizer: Any, options: LocalOptions, name: str | None = None) -> None:
        display_name = name or str(getattr(model, "name_or_path", "")) or type(model).__name__
        if not getattr(tokenizer, "chat_template", None):
            raise UserError(f"{display_name}: its tokenizer has no chat template; give an instruction-tuned model")
        super().__init__(display_name, options)
        self.spec = f"loaded:{display_name}"
        shaping = {"chat_template_kwargs": options.chat_template_kwargs, "dtype": str(getattr(model, "dtype", ""))}
        self.identity = Identity("transformers in memory", display_name, checksum(model), shaping)
        self._model = model
        self._load = lambda: (model, tokenizer)  # type: ignore[method-assign]

    @property
    def cache_scope(self) -> None:
        """None: its owner may train it at any moment."""

    def _shared_prefix(self, model: Any) -> SharedPrefix:
        # Between two batches its owner may train it, or turn an adapter off: nothing computed before holds then.
        return SharedPrefix(model)


def in_memory(model: Any, name: str | None = None, **options: Any) -> ChatModel:
    """A model of an object: a function, a (model, tokenizer) pair, a text-generation pipeline, or a `ChatModel`.

    `name` is what it is called in reports; for a function it also promises that it stays the same under that name.
    `options` are `batch_size` and `chat_template_kwargs` of a loaded model. Raises UserError on anything else.
    """
    if all(hasattr(model, part) for part in ("spec", "identity", "complete")):
        return model  # type: ignore[no-any-return]
    pair = list(model) if isinstance(model, tuple) and len(model) == 2 else []
    if not pair and hasattr(getattr(model, "model", None), "generate") and hasattr(model, "tokenizer"):
        pair = [model.model, model.tokenizer]  # a pipeline
    pair.sort(key=lambda part: not hasattr(part, "generate"))
    if pair and hasattr(pair[0], "generate") and hasattr(pair[1], "apply_chat_template"):
        return LoadedModel(pair[0], pair[1], read_options(LocalOptions, options, "a loaded model"), name)
    if hasattr(model, "generate") and hasattr(model, "config"):
        raise UserError(f"{type(model).__name__}: give a loaded model with its tokenizer, as (model, tokenizer)")
    if not callable(model):
        accepted = "a spec such as openai:gpt-5, a function, (model, tokenizer) or a text-generation pipeline"
        raise UserError(f"a model is {accepted}; not a {type(model).__name__}")
    if options:
        raise UserError(f"function:{name or _name_of(model)}: takes no {', '.join(options)}; leave it out")
    return FunctionModel(model, name)


def checksum(model: Any) -> str:
    """A short text that differs as soon as the weights do: of each tensor its sum and up to 64 of its values.

    Computed where the weights are. Random for weights that are not there to be read, on the `meta` device.
    """
    import torch

    parts = hashlib.sha256()
    with torch.no_grad():
        for name, tensor in chain(model.named_parameters(), model.named_buffers()):
            if tensor.is_meta:
                return uuid.uuid4().hex[:16]
            flat = tensor.reshape(-1)
            flat = flat if flat.dtype.itemsize > 1 else flat.view(torch.uint8)  # few sums are made of 8-bit floats
            some = flat[:: max(1, len(flat) // 64)].double().tolist()
            parts.update(f"{name} {tuple(tensor.shape)} {flat.sum(dtype=torch.float64).item()} {some}\n".encode())
    return parts.hexdigest()[:16]


def _completion(result: Any) -> Completion:
    """What a function returned as a completion."""
    if hasattr(result, "choices"):
        plain: Mapping[str, Any] = result.model_dump() if hasattr(result, "model_dump") else result
        try:
            return completion(dict(plain))
        except TryAgain as error:
            raise RequestFailed(str(error)) from error
    if not isinstance(result, str):
        raise TypeError(f"it returned a {type(result).__name__}, not a text")
    text, reasoning, unclosed = split_thinking(result)
    return Completion(text, reasoning, Usage(calls=1, unknown_calls=1), unclosed)


def _name_of(function: Any) -> str:
    inner = function.func if isinstance(function, partial) else function
    name = str(getattr(inner, "__qualname__", type(inner).__qualname__)).replace("<locals>.", "")
    # Two lambdas are two models: of one name, a model would seem to judge itself.
    return name.replace("<lambda>", f"lambda-{next(_LAMBDAS)}")
