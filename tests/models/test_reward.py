"""Reward models: the logit that transformers itself computes, alone and in batches, and what is no reward model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_reward
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest, Completion, DecisionRequest
from truebench_hf.models.spec import open_model
from truebench_hf.types import Message

ANSWERS = ["Blue.", "Red, as roses are.", "", "青い", "Green. " * 12]


def request(answer: str) -> ChatRequest:
    return ChatRequest((Message("user", "Name a colour."), Message("assistant", answer)))


def rewards(spec: str, answers: Sequence[str], **arguments: str) -> list[Any]:
    async def all_of_them() -> list[Any]:
        model = open_model(spec, arguments)
        return await asyncio.gather(*(model.complete(request(one)) for one in answers), return_exceptions=True)

    return asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_reward.save(tmp_path_factory.mktemp("reward"))


def by_transformers(folder: str, answer: str) -> float:
    """The logit after the chat template, one conversation at a time."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForSequenceClassification, AutoTokenizer))
    chat = [{"role": message.role, "content": message.content} for message in request(answer).messages]
    text = tokenizer.apply_chat_template(chat, tokenize=False)
    assert text.endswith("<|end|>"), "the answer is closed and no other one opened"
    with torch.inference_mode():
        return float(model(**tokenizer(text, return_tensors="pt")).logits[0, 0])


@pytest.mark.parametrize("size", ["1", "16"])
def test_rewards_are_the_logits_of_transformers_in_batches_too(checkpoint: str, size: str) -> None:
    made = rewards(f"reward:{checkpoint}", ANSWERS, batch_size=size)
    assert all(isinstance(one, Completion) and one.usage.calls == 1 and one.usage.output_tokens == 0 for one in made)
    wanted = [by_transformers(checkpoint, answer) for answer in ANSWERS]
    assert [float(one.text) for one in made] == pytest.approx(wanted, abs=1e-4)
    assert len(set(wanted)) == len(ANSWERS), "the answers can be told apart"


def test_a_model_that_knows_no_padding_rates_one_at_a_time(tmp_path: Path) -> None:
    folder = tiny_reward.save(tmp_path, padded=False)
    made = rewards(f"reward:{folder}", ANSWERS)
    assert [float(one.text) for one in made] == pytest.approx([by_transformers(folder, a) for a in ANSWERS], abs=1e-4)


def test_what_does_not_fit_the_window_fails_alone(checkpoint: str) -> None:
    short, long = rewards(f"reward:{checkpoint}", ["Blue.", "blue " * 100])
    assert isinstance(short, Completion)
    assert isinstance(long, RequestFailed)
    assert "the window 256" in str(long)


@pytest.mark.parametrize(
    ("made", "removed", "said"),
    [
        ({"labels": 2}, "", "no head that gives one reward"),  # two logits rank nothing
        ({"head": False}, "", "no head that gives one reward"),  # it would be random
        ({}, "chat_template.jinja", "has no chat template"),
        ({}, "model.safetensors", "reward:.*cannot be loaded"),
    ],
)
def test_what_is_no_reward_model_is_refused(tmp_path: Path, made: dict[str, Any], removed: str, said: str) -> None:
    folder = tiny_reward.save(tmp_path, **made)
    if removed:
        (tmp_path / removed).unlink()
    (refusal,) = rewards(f"reward:{folder}", ["Blue."])
    assert isinstance(refusal, UserError)
    assert re.search(said, str(refusal))


def test_a_reward_model_neither_writes_nor_decides(checkpoint: str) -> None:
    model = open_model(f"reward:{checkpoint}")
    with pytest.raises(UserError, match="writes no text"):
        asyncio.run(model.complete(ChatRequest((Message("user", "Name a colour."),))))
    with pytest.raises(UserError, match="decides no criteria"):
        asyncio.run(model.decide(DecisionRequest("Blue.", ("Is it blue?",))))
