"""The views to train on in real trainers of TRL: GRPO on prompts, DPO on pairs."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import truebench_hf
from tests.support.tiny_chat import tiny_chat
from tests.support.trl_import import import_trl
from truebench_hf.models.scripted import verdicts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def test_a_step_of_grpo_on_prompts(tmp_path: Path) -> None:
    import_trl()
    from trl import GRPOConfig, GRPOTrainer

    rows = truebench_hf.load("training", "prompts", "train[:2]", source="mini")
    reward = truebench_hf.checklist_reward(lambda messages: verdicts(messages[-1]["content"], {}))
    settings = GRPOConfig(
        str(tmp_path), max_steps=1, max_completion_length=8, per_device_train_batch_size=4, num_generations=2,
        report_to="none", logging_steps=1, use_cpu=True, save_strategy="no",
    )  # fmt: skip
    model, tokenizer = tiny_chat()
    trainer = GRPOTrainer(model, reward, settings, rows, processing_class=tokenizer)
    trainer.train()
    # The judge passes all; of the five criteria of one prompt of the two a rule finds that babble is no JSON: (1 + 4/5) / 2.
    rewards = [line["reward"] for line in trainer.state.log_history if "reward" in line]
    assert rewards == pytest.approx([0.9])


def test_a_step_of_dpo_on_pairs(tmp_path: Path) -> None:
    import_trl()
    from trl import DPOConfig, DPOTrainer

    rows = truebench_hf.load("training", "pairs", "train[:4]", source="rubric_mini")
    settings = DPOConfig(
        str(tmp_path), max_steps=1, per_device_train_batch_size=2, max_length=4096, report_to="none", logging_steps=1,
        use_cpu=True, save_strategy="no",
    )  # fmt: skip
    model, tokenizer = tiny_chat()
    trainer = DPOTrainer(model, tiny_chat()[0], args=settings, train_dataset=rows, processing_class=tokenizer)
    trainer.train()
    (loss,) = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert math.isfinite(loss)
