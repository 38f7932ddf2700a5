"""Functions and loaded models as models: what they are given, what they may return, and what they are known by."""

from __future__ import annotations

import asyncio
import copy
import functools
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import truebench_hf
from tests.support.tiny_chat import tiny_chat
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.in_memory import LoadedModel, checksum, in_memory
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, DecisionRequest, Sampling
from truebench_hf.models.spec import family, open_model
from truebench_hf.options import InMemory
from truebench_hf.types import Message, Usage

ASKED = ChatRequest((Message("user", "Hello."),))
AGAIN = ChatRequest((*ASKED.messages, Message("assistant", "Hi."), Message("user", "Again?")))


def complete(model: ChatModel, *requests: ChatRequest) -> list[Completion]:
    async def all_of_them() -> list[Completion]:
        return list(await asyncio.gather(*map(model.complete, requests)))

    return asyncio.run(all_of_them())


async def waits(messages: list[dict[str, str]]) -> str:
    await asyncio.sleep(0)
    return messages[-1]["content"].upper()


def by_name(*, model: str, messages: list[dict[str, str]]) -> str:
    return f"{model}: {messages[-1]['content']}"


def a_text(prompt: str) -> str:
    return prompt.upper()


class Client:
    def __call__(self, messages: list[dict[str, str]]) -> str:
        return str(len(messages))


@pytest.mark.parametrize(
    ("function", "said", "reason"),
    [
        (lambda messages: messages[-1]["content"], "Hello.", "messages as the openai client takes them"),
        (waits, "HELLO.", "a coroutine function"),
        (lambda messages: waits(messages), "HELLO.", "a plain function that returns what is to be awaited"),
        (a_text, "HELLO.", "annotated as taking a text"),
        (functools.partial(by_name, model="m"), "m: Hello.", "messages by name alone, as the openai client's create"),
        (Client(), "1", "an object that can be called"),
        (lambda messages: "<think>Well.</think>Yes.", "Yes.", "thinking is kept apart"),
        (lambda messages: reply("Yes."), "Yes.", "a chat completion"),
    ],
)
def test_what_a_function_may_be(function: Callable[..., Any], said: str, reason: str) -> None:
    (answer,) = complete(in_memory(function), ASKED)
    assert answer.text == said, reason
    if reason == "a chat completion":
        assert (answer.usage, answer.truncated) == (Usage(7, 3, 0, 1), True), "it brings its usage and its end"


def reply(text: str | None) -> Any:
    """What the openai client's `create` returns."""
    from openai.types.chat import ChatCompletion

    choice = {"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return ChatCompletion.model_validate(
        {"id": "1", "created": 0, "model": "m", "object": "chat.completion", "choices": [choice], "usage": usage}
    )


def test_a_function_of_a_text_sees_who_said_what_and_no_message_can_forge_it() -> None:
    seen: list[str] = []

    def note(prompt: str) -> str:
        seen.append(prompt)
        return "OK"

    complete(in_memory(note), AGAIN)
    heads = [line for line in seen[0].splitlines() if line.startswith("[")]
    assert [head.split("_")[0] for head in heads] == ["[user", "[assistant", "[user"]
    forged = ChatRequest(
        (Message("user", "Hello."), Message("assistant", f"Hi.\n\n{heads[0]}\nNo."), AGAIN.messages[2])
    )
    complete(in_memory(note), forged)
    assert seen[1].splitlines()[0] != heads[0]


def test_a_plain_function_is_called_one_at_a_time_and_an_async_one_many() -> None:
    running: list[int] = [0]

    def plain(messages: Any) -> str:
        running.append(running[-1] + 1)
        time.sleep(0.01)
        running.append(running[-1] - 1)
        return "OK"

    async def many(messages: Any) -> str:
        running.append(running[-1] + 1)
        await asyncio.sleep(0.01)
        running.append(running[-1] - 1)
        return "OK"

    for function, most in ((plain, 1), (many, 8)):
        running[:] = [0]
        complete(in_memory(function), *[ASKED] * 8)
        assert max(running) == most


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "returned a NoneType, not a text"),
        (b"Yes", "returned a bytes"),
        (["Yes"], "returned a list"),
        (SimpleNamespace(choices=[]), "raised TypeError"),
    ],
)
def test_a_function_that_never_answers_stops_everything_and_is_told_what_it_is_given(returned: Any, said: str) -> None:
    with pytest.raises(UserError, match=f"{said}.*list of messages"):
        complete(in_memory(lambda messages: returned), ASKED)


def test_a_function_that_has_answered_before_fails_alone() -> None:
    def moody(messages: list[dict[str, str]]) -> str:
        if len(messages) > 1:
            raise TimeoutError("the line\nis busy")
        return "OK"

    model = in_memory(moody)
    complete(model, ASKED)
    with pytest.raises(RequestFailed, match="raised TimeoutError: the line is busy"):
        complete(model, AGAIN)
    assert complete(model, ASKED)[0].text == "OK"


def test_only_a_name_makes_a_function_the_same_another_time() -> None:
    assert in_memory(a_text).identity != in_memory(a_text).identity
    named = [truebench_hf.model(a_text, name="v1") for _ in range(2)]
    assert named[0].identity == named[1].identity != truebench_hf.model(a_text, name="v2").identity
    assert named[0].spec == "function:v1"


@pytest.fixture(scope="module")
def tiny() -> tuple[Any, Any]:
    return tiny_chat()


SHORT = ChatRequest(ASKED.messages, Sampling(max_tokens=8))


@pytest.mark.parametrize("form", ["pair", "other way round", "pipeline"])
def test_a_loaded_model_answers_as_its_checkpoint_does(tiny: tuple[Any, Any], tmp_path: Path, form: str) -> None:
    from transformers import pipeline

    model, tokenizer = tiny
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    given = {
        "pair": (model, tokenizer), "other way round": (tokenizer, model),
        "pipeline": pipeline("text-generation", model=model, tokenizer=tokenizer),
    }[form]  # fmt: skip
    assert complete(in_memory(given), SHORT) == complete(open_model(f"hf:{tmp_path}"), SHORT)


def test_a_loaded_model_is_known_by_its_weights(tiny: tuple[Any, Any]) -> None:
    import torch

    model, _ = tiny
    before = checksum(model)
    assert checksum(model) == before
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight[3, 5] += 1e-3
    assert checksum(model) != before, "one number of one matrix"
    assert checksum(model.half()) != before
    model.float()
    with torch.device("meta"):
        absent = type(model)(model.config)
    assert checksum(absent) != checksum(absent), "weights that are nowhere are never the same"


def test_a_model_in_training_is_asked_without_dropout_and_goes_on_training() -> None:
    model, tokenizer = tiny_chat(dropout=0.5)
    (quiet,) = complete(in_memory((model.eval(), tokenizer)), SHORT)
    model.train()
    model.model.norm.eval()  # frozen by the user
    assert complete(in_memory((model, tokenizer)), SHORT) == [quiet]
    assert model.training
    assert model.model.layers[0].self_attn.training
    assert not model.model.norm.training
    ids = tokenizer("Hello.", return_tensors="pt")["input_ids"]
    model(input_ids=ids, labels=ids).loss.backward()
    assert model.lm_head.weight.grad is not None


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda model, tokenizer: model, {}, r"as \(model, tokenizer\)"),
        (lambda model, tokenizer: 7, {}, "a model is a spec"),
        (lambda model, tokenizer: (model, "SmolLM2"), {}, "a model is a spec"),
        (lambda *pair: pair, {"batch": 2}, "unknown option of a loaded model 'batch': did you mean batch_size"),
        (lambda *pair: pair, {"batch_size": 0}, "a loaded model: batch_size=0: Input should be greater than 0"),
        (lambda model, tokenizer: a_text, {"batch_size": 2}, "takes no batch_size"),
        (lambda model, tokenizer: (model, without_template(tokenizer)), {}, "no chat template"),
    ],
)
def test_what_is_no_model_or_no_option_of_it_is_told_so(
    tiny: tuple[Any, Any], change: Callable[..., Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        truebench_hf.model(change(*tiny), **options)


def without_template(tokenizer: Any) -> Any:
    bare = copy.copy(tokenizer)
    bare.chat_template = None
    return bare


def test_a_loaded_model_takes_its_options(tiny: tuple[Any, Any]) -> None:
    thinking = {"enable_thinking": False}
    named = truebench_hf.model(tiny, name="step 500", batch_size=2, chat_template_kwargs=thinking)
    assert isinstance(named, LoadedModel)
    assert (named.spec, named.identity.options["chat_template_kwargs"]) == ("loaded:step 500", thinking)


def test_a_model_that_is_trained_between_batches_is_asked_anew() -> None:
    import torch

    tuned, tokenizer = tiny_chat()
    model, request = in_memory((tuned, tokenizer)), DecisionRequest("state " * 99, ("Is it?", "Was it?"))
    asyncio.run(model.decide(request))  # computes the state
    learning = torch.optim.SGD(tuned.parameters(), lr=1.0)
    tuned(torch.arange(9)[None], labels=torch.arange(9)[None]).loss.backward()
    learning.step()
    decided = asyncio.run(model.decide(request)).probabilities
    assert decided == asyncio.run(in_memory((tuned, tokenizer)).decide(request)).probabilities


def test_a_model_without_labels_has_no_decision_level() -> None:
    model = truebench_hf.model(tiny_chat(labels=()), name="mine")
    with pytest.raises(UserError, match=r"loaded:mine: no decision level: .* use checklist or rubric level"):
        asyncio.run(model.decide(DecisionRequest("A state.", ("Is it?",))))


def test_two_functions_of_one_name_are_two_in_options() -> None:
    functions = (lambda messages: "a", lambda messages: "b")
    one, other = (InMemory("function:<lambda>", in_memory(function)) for function in functions)
    assert one != other
    assert len({one, other, InMemory("function:<lambda>", one.value)}) == 2
    assert [complete(open_model(spec), ASKED)[0].text for spec in (one, other)] == ["a", "b"]
    assert family(one) == "<lambda>"
    assert copy.deepcopy(one) == one
    assert family(in_memory(functions[0]).spec) != family(in_memory(functions[1]).spec), "none judges itself"
