"""Asking until an answer can be read, a bounded number of times, and what a conversation sends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_client import open_at
from tests.support.openai_server import OpenAIServer
from tests.support.runs import caller
from truebench_hf.data.judged import cases
from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError
from truebench_hf.models.asking import CUT_OFF, Problem, SchemaFallback, ask, converse
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Completion, Sampling, SchemaRefused
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.types import Instance, Message, Response, Turn

REQUEST = ChatRequest((Message("user", "Rate it, 1 to 5."),), sample=3)
ERROR = {"error": "the server burned down"}


def rating(text: str, truncated: bool) -> int | Problem:
    if text == "refused":
        return Problem("the model refuses", final=True)
    return int(text) if text.isdigit() else Problem(f"{text!r} is no number")


def asked(answers: list[Any], read: Any = rating) -> tuple[Any, list[ChatRequest]]:
    left = list(answers)
    model = ScriptedModel("rater", lambda request: left.pop(0))
    found = asyncio.run(ask(caller(model), REQUEST, read, lambda problem: f"Again: {problem}", who="the rater"))
    return found, model.prompts  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("answers", "found", "calls", "why"),
    [
        (["4"], 4, 1, "a good answer is not questioned"),
        (["0"], 0, 1, "nor is a value that Python takes for nothing"),
        (["hm", "4"], 4, 2, "unreadable, then good"),
        (["hm", "hm", "4"], 4, 3, "the same bad answer twice is still asked about, not looked up"),
        (["a", "b", "c", "4"], Problem("'c' is no number"), 3, "bounded, and the last problem stands"),
        (["refused", "4"], Problem("the model refuses", final=True), 1, "in vain"),
        ([ERROR], Problem("the rater gave no answer: the server burned down", failed=True), 1, "it was retried below"),
        (["hm", ERROR], Problem("the rater gave no answer: the server burned down", failed=True), 2, "later, too"),
        ([{"text": "fou", "truncated": True}] * 3, Problem(CUT_OFF), 3, "why it cannot be read is that it was cut"),
        ([{"text": "4", "truncated": True}], 4, 1, "a reader may take what was cut off behind the value"),
    ],
)
def test_asking_until_it_can_be_read(answers: list[Any], found: object, calls: int, why: str) -> None:
    value, requests = asked(answers)
    assert (value, len(requests)) == (found, calls), why
    assert {request.sample for request in requests} == {3}


def test_the_conversation_grows_with_each_bad_answer() -> None:
    _, requests = asked(["", "hm", "4"])
    assert [(message.role, message.content) for message in requests[2].messages] == [
        ("user", "Rate it, 1 to 5."),
        ("assistant", "(empty answer)"),  # some servers refuse an empty message
        ("user", "Again: '' is no number"),
        ("assistant", "hm"),
        ("user", "Again: 'hm' is no number"),
    ]


class Refusing(ScriptedModel):
    async def complete(self, request: ChatRequest) -> Completion:
        if request.schema:
            raise SchemaRefused("no schemas here")
        return await super().complete(request)


def test_a_schema_that_is_refused_is_left_out_and_not_tried_again() -> None:
    model = Refusing("rater", lambda request: "4", takes_schema=True)

    async def both(mode: str) -> list[Any]:
        whom = caller(model)
        schemas = SchemaFallback(whom, mode)
        tried: list[bool] = []

        def request(structured: bool) -> ChatRequest:
            tried.append(structured)
            return ChatRequest(REQUEST.messages, sample=len(tried), schema={} if not structured else {"type": "object"})

        values = [
            await schemas.ask(request, lambda made: ask(whom, made, rating, lambda problem: problem)) for _ in range(2)
        ]
        return [*values, *tried]

    assert asyncio.run(both("auto")) == [4, 4, True, False, True, False]
    assert asyncio.run(both("off")) == [4, 4, False, False]
    with pytest.raises(UserError, match="--structured off"):
        asyncio.run(both("on"))


def test_what_was_answered_with_its_schema_is_made_and_looked_up_in_that_form_alone() -> None:
    model = ScriptedModel("rater", lambda request: "4", takes_schema=True)
    ledger = Calls(Path(":memory:"))
    made: list[bool] = []

    def request(structured: bool) -> ChatRequest:
        made.append(structured)
        return replace(REQUEST, schema={"type": "object"} if structured else None)

    async def one() -> Any:
        whom = Caller(model, ledger, "judge", 4)
        return await SchemaFallback(whom).ask(request, lambda shaped: ask(whom, shaped, rating, str))

    assert asyncio.run(one()) == asyncio.run(one()) == 4
    assert made == [True, True], "prompts without the schema are a good part of what going on with a run takes"
    assert len(model.prompts) == 1


TURNS = (Turn("Name a river.", ()), Turn("And a lake?", ()))
REFUSED = {"error": {"message": "text content blocks must be non-empty"}}


def _conversed(server: OpenAIServer, first: str) -> Response:
    """The conversation about TURNS where the first answer is `first` and the second request is answered by 400."""
    server.add_scripts([{"message": {"content": first}, "times": 1}])
    server.add_faults([{"match": {"contains": "And a lake?"}, "status": 400, "body": REFUSED}])

    async def talk() -> Response:
        model = open_at(server.url)
        try:
            caller = Caller(model, Calls(Path(":memory:")), "model", 1)
            return await converse(Instance("1", "EN", "Editing", "x", TURNS), caller, Sampling())
        finally:
            await model.close()

    return asyncio.run(talk())


def test_a_refused_conversation_ends_alone(server: OpenAIServer) -> None:
    """Some servers take no empty answer back; whatever it is, the same path has answered before."""
    response = _conversed(server, "")
    assert response.error is not None
    assert response.error.startswith("turn 2: the server refused this request: ")
    assert "must be non-empty" in response.error
    assert server.stats()["total"] == 2, "not tried again"


def test_all_that_the_data_tells_reaches_the_model() -> None:
    model = ScriptedModel("model", lambda request: f"answer {len(model.prompts)}")
    had = (Message("user", "Hello"), Message("assistant", "Hi!"))
    instance = Instance("1", "", "", "", TURNS, "Be brief.", "The Rhine is a river.", had)
    response = asyncio.run(converse(instance, Caller(model, Calls(Path(":memory:")), "model", 1), Sampling()))
    first, second = ([(m.role, m.content) for m in request.messages] for request in model.prompts)
    assert first == [
        ("system", "Be brief."), ("user", "The Rhine is a river.\n\nHello"), ("assistant", "Hi!"),
        ("user", "Name a river."),
    ]  # fmt: skip
    assert second == [*first, ("assistant", "answer 1"), ("user", "And a lake?")]
    assert response.answers == ("answer 1", "answer 2"), "what was said before is none of its answers"
    assert "Rhine" not in str(response), "and the document stands in the instance alone"
    alone = replace(instance, turns=TURNS[:1], system=None, history=())
    asyncio.run(converse(alone, Caller(model, Calls(Path(":memory:")), "model", 1), Sampling()))
    assert [m.content for m in model.prompts[-1].messages] == ["The Rhine is a river.\n\nName a river."]
    first_case, second_case = cases(instance, response)
    assert first_case.history == (Message("system", "Be brief."), *had)
    assert second_case.history[-2:] == (Message("user", "Name a river."), Message("assistant", "answer 1"))
    assert (first_case.context, first_case.category) == ("The Rhine is a river.", "multi_turn")
