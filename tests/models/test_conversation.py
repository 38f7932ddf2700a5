"""A conversation with an empty answer in it, at servers that refuse empty messages."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.openai_client import open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.ledger import Ledger
from truebench_hf.errors import UserError
from truebench_hf.models.caller import Caller
from truebench_hf.models.conversation import converse
from truebench_hf.models.protocol import Sampling
from truebench_hf.types import Instance, Response, Turn

TURNS = (Turn("Name a river.", ()), Turn("And a lake?", ()))
REFUSED = {"error": {"message": "text content blocks must be non-empty"}}


def _conversed(server: OpenAIServer, first: str) -> Response:
    """The conversation about TURNS where the first answer is `first` and the second request is answered by 400."""
    server.add_scripts([{"message": {"content": first}, "times": 1}])
    server.add_faults([{"match": {"contains": "And a lake?"}, "status": 400, "body": REFUSED}])

    async def talk() -> Response:
        model = open_at(server.url)
        try:
            caller = Caller(model, Ledger(Path(":memory:")), "model", 1)
            return await converse(Instance("1", "EN", "Editing", "x", TURNS), caller, Sampling())
        finally:
            await model.close()

    return asyncio.run(talk())


@pytest.mark.parametrize("empty", ["", " \n"])
def test_a_refused_empty_answer_ends_this_conversation_only(server: OpenAIServer, empty: str) -> None:
    response = _conversed(server, empty)
    assert response.error is not None
    assert response.error.startswith("turn 2: ")
    assert "empty answer" in response.error
    assert "must be non-empty" in response.error
    assert server.stats()["total"] == 2, "not tried again"


def test_the_same_refusal_of_a_full_conversation_stops_the_run(server: OpenAIServer) -> None:
    with pytest.raises(UserError, match="must be non-empty"):
        _conversed(server, "The Rhine.")
