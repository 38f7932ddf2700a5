"""What a conversation sends, and an empty answer in it at servers that refuse empty messages."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.openai_client import open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.data.judged import cases
from truebench_hf.engine.ledger import Calls
from truebench_hf.models.asking import converse
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.types import Instance, Message, Response, Turn

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


@pytest.mark.parametrize("first", ["", " \n", "The Rhine."])
def test_a_refused_conversation_ends_alone(server: OpenAIServer, first: str) -> None:
    """Some servers take no empty answer back; whatever it is, the same path has answered before."""
    response = _conversed(server, first)
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
