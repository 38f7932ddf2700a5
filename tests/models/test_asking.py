"""Asking until an answer can be read, a bounded number of times, and what a conversation sends."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_client import once, open_at
from tests.support.openai_server import OpenAIServer
from tests.support.runs import caller
from truebench_hf.data.judged import cases
from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError
from truebench_hf.models.asking import CUT_OFF, Problem, SchemaFallback, ask, converse
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Completion, Sampling, SchemaRefused
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.types import Instance, Message, Turn

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
    refusals = 0

    async def complete(self, request: ChatRequest) -> Completion:
        if request.schema is not None:
            self.refusals += 1
            raise SchemaRefused("no schemas here")
        return await super().complete(request)


@pytest.mark.parametrize(
    ("refuses", "mode", "structured", "why"),
    [
        (True, "auto", [True, False, True, False], "once refused it is not tried again"),
        (True, "off", [False, False], "never tried"),
        (False, "auto", [True, True], "the form without is neither made nor looked up"),
    ],
)
def test_a_schema_that_is_refused_is_left_out(refuses: bool, mode: str, structured: list[bool], why: str) -> None:
    model = (Refusing if refuses else ScriptedModel)("rater", lambda request: "4", takes_schema=True)
    ledger, made = Calls(Path(":memory:")), list[bool]()

    def request(shaped: bool) -> ChatRequest:
        made.append(shaped)
        sample = len(made) if refuses else 3
        return ChatRequest(REQUEST.messages, sample=sample, schema={"type": "object"} if shaped else None)

    async def value(schemas: SchemaFallback) -> Any:
        return await schemas.ask(request, lambda shaped: ask(schemas.caller, shaped, rating, str))

    schemas = SchemaFallback(Caller(model, ledger, "judge", 4), mode)
    again = schemas if refuses else SchemaFallback(Caller(model, ledger, "judge", 4), mode)
    assert [asyncio.run(value(schemas)), asyncio.run(value(again))] == [4, 4]
    assert made == structured, why
    assert len(model.prompts) == (2 if refuses else 1)
    assert getattr(model, "refusals", 0) == (1 if refuses and mode == "auto" else 0)


def test_a_schema_that_has_to_be_is_the_users_error_where_it_is_refused() -> None:
    schemas = SchemaFallback(caller(Refusing("rater", lambda request: "4", takes_schema=True)), "on")
    with pytest.raises(UserError, match="--structured off"):
        asyncio.run(schemas.ask(lambda shaped: replace(REQUEST, schema={}), schemas.caller.complete))


TURNS = (Turn("Name a river.", ()), Turn("And a lake?", ()))
REFUSED = {"error": {"message": "text content blocks must be non-empty"}}


def test_a_refused_conversation_ends_alone(server: OpenAIServer) -> None:
    """Some servers take no empty answer back; whatever it is, the same path has answered before."""
    server.add_scripts([{"message": {"content": ""}, "times": 1}])
    server.add_faults([{"match": {"contains": "And a lake?"}, "status": 400, "body": REFUSED}])
    model = open_at(server.url)
    response = once(model, converse(Instance("1", "EN", "Editing", "x", TURNS), caller(model), Sampling()))
    assert str(response.error).startswith("turn 2: the server refused this request: ")
    assert "must be non-empty" in str(response.error)
    assert server.stats()["total"] == 2, "not tried again"


def test_all_that_the_data_tells_reaches_the_model() -> None:
    model = ScriptedModel("model", lambda request: f"answer {len(model.prompts)}")
    had = (Message("user", "Hello"), Message("assistant", "Hi!"))
    instance = Instance("1", "", "", "", TURNS, "Be brief.", "The Rhine is a river.", had)
    response = asyncio.run(converse(instance, caller(model, "model"), Sampling()))
    first, second = ([(m.role, m.content) for m in request.messages] for request in model.prompts)
    assert first == [
        ("system", "Be brief."), ("user", "The Rhine is a river.\n\nHello"), ("assistant", "Hi!"),
        ("user", "Name a river."),
    ]  # fmt: skip
    assert second == [*first, ("assistant", "answer 1"), ("user", "And a lake?")]
    assert response.answers == ("answer 1", "answer 2"), "what was said before is none of its answers"
    assert "Rhine" not in str(response), "and the document stands in the instance alone"
    alone = replace(instance, turns=TURNS[:1], system=None, history=())
    asyncio.run(converse(alone, caller(model, "model"), Sampling()))
    assert [m.content for m in model.prompts[-1].messages] == ["The Rhine is a river.\n\nName a river."]
    first_case, second_case = cases(instance, response)
    assert first_case.history == (Message("system", "Be brief."), *had)
    assert second_case.history[-2:] == (Message("user", "Name a river."), Message("assistant", "answer 1"))
    assert (first_case.context, first_case.category) == ("The Rhine is a river.", "multi_turn")
