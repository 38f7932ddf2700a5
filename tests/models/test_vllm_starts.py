"""Engines of vLLM that do not start, without vLLM: see `tests/vllm` for those that do."""

from __future__ import annotations

import asyncio
import sys
from types import SimpleNamespace

import pytest

from truebench_hf.errors import UserError
from truebench_hf.models import vllm_engine
from truebench_hf.models.protocol import DecisionRequest
from truebench_hf.models.vllm_engine import VllmModel, VllmOptions


def test_an_engine_that_cannot_start_is_started_once_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that fails takes half a minute, and all requests of a run wait for one; the next run tries again."""
    starts = 0

    def fail(name: str, options: VllmOptions) -> None:
        nonlocal starts
        starts += 1
        raise UserError(f"{name}: no memory")

    async def ask() -> None:
        for _ in range(3):
            with pytest.raises(UserError, match="org/m: no memory"):
                await VllmModel("org/m", VllmOptions()).decide(DecisionRequest("", ()))

    monkeypatch.setattr(vllm_engine, "_ENGINES", {})
    monkeypatch.setattr(vllm_engine, "_start", fail)
    monkeypatch.setattr(vllm_engine, "_tokenizer", lambda *names: None)
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(SamplingParams=None))
    asyncio.run(ask())
    assert starts == 1
    asyncio.run(ask())
    assert starts == 2

    async def twice() -> None:  # on a loop that lives longer than a run, as in a notebook
        await ask()
        await VllmModel("org/m", VllmOptions()).close()
        await ask()

    asyncio.run(twice())
    assert starts == 4
