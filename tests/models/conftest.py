"""What the tests of models share: a loopback server that keeps the bodies it was sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.openai_server import OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(record=1000) as running:
        yield running
