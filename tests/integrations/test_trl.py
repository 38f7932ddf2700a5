"""In a real `trl.GRPOTrainer`: both forms, rewards that are None, metrics, and training that goes on."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.tiny_chat import import_trl, tiny_chat
from tests.vllm.export_smollm2 import embedded
from truebench_hf import checklist_reward
from truebench_hf.models.scripted import verdicts

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
CRITERIA = ["names a colour", "is short"]


class Halves:
    """A judge that gives no verdict on every second response it meets, and fails one criterion of the others."""

    def __init__(self) -> None:
        self.met: dict[str, int] = {}

    def __call__(self, messages: list[dict[str, str]]) -> str:
        asked = messages[0]["content"]
        return "no verdict" if self.met.setdefault(asked, len(self.met)) % 2 else verdicts(asked, {"short": "FAIL"})


def train(
    model: tuple[Any, Any], rewards: Any, rows: list[dict[str, Any]], out: Path, **more: Any
) -> list[dict[str, Any]]:
    """The log of a training of one step, or as many as `max_steps` says, with two groups of two completions each."""
    import_trl()
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    settings = {"max_steps": 1, "max_completion_length": 8, "learning_rate": 1e-4, "seed": 3} | more
    arguments = GRPOConfig(
        str(out), per_device_train_batch_size=4, num_generations=2, report_to="none", logging_steps=1, use_cpu=True,
        bf16=False, save_strategy="no", log_completions=True, **settings,
    )  # fmt: skip
    trainer = GRPOTrainer(model[0], rewards, arguments, Dataset.from_list(rows), processing_class=model[1])
    trainer.train()
    return [line for line in trainer.state.log_history if "reward" in line]


def chat(number: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": f"Name colour number {number}."}]


def test_a_step_of_the_embedded_model_with_nones_and_a_judge_beside(tmp_path: Path) -> None:
    held_out = checklist_reward(lambda messages: verdicts(messages[0]["content"], {}), name="held_out")
    rewards = [
        checklist_reward(Halves(), shape="fraction"),
        checklist_reward(Halves(), name="checklist_again"),
    ]
    rows = [{"prompt": chat(n), "criteria": CRITERIA} for n in range(2)]
    (line,) = train(embedded(), [*rewards, held_out], rows, tmp_path / "out", reward_weights=[1.0, 1.0, 0.0])
    assert [sum(one.reward is None for one in reward.last) for reward in rewards] == [2, 2]
    assert line["rewards/checklist_fraction/mean"] == pytest.approx(0.5)
    assert line["rewards/checklist_again/mean"] == pytest.approx(0.5)
    assert line["checklist_fraction/not_judged"] == line["checklist_again/not_judged"] == 0.5
    assert line["rewards/held_out/mean"] == 1.0
    assert math.isfinite(line["loss"])
    assert math.isfinite(line["grad_norm"])


@pytest.mark.parametrize("form", [lambda n: f"Name colour number {n}.", chat], ids=["texts", "conversations"])
def test_training_that_is_repeated_asks_nothing_again(tmp_path: Path, form: Callable[[int], Any]) -> None:
    asked: list[str] = []

    def judging(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return verdicts(asked[-1], {"short": "FAIL"} if len(asked[-1]) % 2 else {})

    rows = [{"prompt": form(n), "checklist": [{"text": text, "weight": None} for text in CRITERIA]} for n in range(4)]
    logs = []
    for _ in range(2):
        reward = checklist_reward(truebench_hf.model(judging, name="judge"), cache=tmp_path / "cache")
        logs.append(train(tiny_chat(), reward, rows, tmp_path / "out", max_steps=2))
        reward.close()
        assert len(asked) == len(set(asked)) > 0
    assert [line["reward"] for line in logs[0]] == [line["reward"] for line in logs[1]]


def test_a_data_set_in_which_some_prompts_have_no_criteria(tmp_path: Path) -> None:
    """Nothing to be judged by: TRL leaves these completions out, and goes on where a whole batch is such."""
    rows: list[dict[str, Any]] = [{"prompt": chat(n), "criteria": []} for n in range(3)]
    rows.append({"prompt": chat(3), "criteria": CRITERIA})
    reward = checklist_reward(lambda messages: verdicts(messages[0]["content"], {}))
    log = train(tiny_chat(), reward, rows, tmp_path / "out", max_steps=2)
    shares = [line["checklist_fraction/not_judged"] for line in log]
    assert sorted(shares) == [0.5, 1.0]
    assert [line["reward"] for line in log] == [1.0 if share == 0.5 else None for share in shares]


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
