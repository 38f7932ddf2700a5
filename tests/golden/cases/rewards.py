"""`checklist_reward` as a trainer calls it, and checklists in the form of `verifiers`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import scripts
from tests.golden.cases.python import attempts, write_json

PROMPTS = ["Name a colour.", "Name a colour.", "Name a whale.", "Say hi."]
COMPLETIONS = ["Bleu.", "Blue.", "Blue whale.", ""]
CRITERIA: list[list[Any]] = [
    ["names a colour", {"text": "is in French", "weight": 3}, {"text": "is rude", "weight": -1}],
    ["names a colour", {"text": "is in French", "weight": 3}, {"text": "is rude", "weight": -1}],
    ["names a whale"],
    ["greets"],
]
JUDGE: list[Mapping[str, Any]] = [
    {"contains": "whale", "reply": "I would rather not say."},
    {"contains": ["<criteria", "Bleu."], "verdicts": {"rude": "FAIL"}},
    {"contains": ["<criteria", "Blue."], "verdicts": {"French": "FAIL", "rude": "FAIL"}},
    {"contains": ["<criteria", "Hi."], "verdicts": {}},
    {"contains": "<criteria", "verdicts": {}},
]
WRITER: list[Mapping[str, Any]] = [
    {"contains": "whale", "reply": "There is nothing to ask."},
    {"contains": "You prepare", "reply": "Analysis: short.\nQuestions:\nDoes it name a colour?\nIs it in French?"},
]


class _Trainer:
    """What a trainer offers for logging."""

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}
        self.extra: dict[str, list[Any]] = {}

    def columns(self) -> dict[str, Any]:
        return {"log_metric": self.metrics.__setitem__, "log_extra": self.extra.__setitem__}


def _reward() -> str:
    from truebench_hf import checklist_reward

    given: dict[str, Any] = {"prompts": PROMPTS, "criteria": CRITERIA}
    rewards: dict[str, Any] = {}
    for shape in ("fraction", "pass_all"):
        trainer = _Trainer()
        reward = checklist_reward("scripted:judge.json", shape=shape)
        rewards[shape] = {"rewards": reward(COMPLETIONS, **given, **trainer.columns()), "name": reward.__name__}
        rewards[shape] |= {"metrics": trainer.metrics, "extra": trainer.extra}
        reward.close()
    write_json("rewards", rewards)
    generated = checklist_reward("scripted:judge.json", generator="scripted:writer.json", rules="off")
    answered = generated(COMPLETIONS[:3], prompts=PROMPTS[:3])
    write_json("generated", {"rewards": answered, "why": [one.reason for one in generated.last]})
    ruled = checklist_reward("none")
    # One fails, one is met beside an open one, and one is met beside a fault that is open.
    lists = [["has at most 2 words", "is kind"]] * 2 + [["has at most 2 words", {"text": "is rude", "weight": -1}]]
    counted = ruled(["Hi there, all.", "Hi.", "Hi."], prompts=["Say hi."] * 3, criteria=lists)
    write_json("ruled", {"rewards": counted, "why": [one.reason for one in ruled.last]})
    refused = attempts([
        lambda: checklist_reward("scripted:judge.json", shape="mean"),
        lambda: checklist_reward(),
        lambda: checklist_reward("scripted:judge.json")(["Hi."], prompts=["Say hi."]),
        lambda: checklist_reward("scripted:judge.json")(["Hi."], prompts=["Say hi."], criteria=[[{"text": "is rude", "weight": -1}]]),
        lambda: checklist_reward("scripted:judge.json")(["Hi."], criteria=[["is kind"]]),
    ])  # fmt: skip
    return "\n".join(["python: checklist_reward", *refused]) + "\n"


def _verifiers() -> str:
    from truebench_hf.integrations.export import to_verifiers

    write_json("verifiers", to_verifiers(CRITERIA[0]))
    return "python: to_verifiers\n"


def _write() -> None:
    Path("python").mkdir()
    scripts({"judge": JUDGE, "writer": WRITER}, {"reply": "?"})


CASES = (Case("rewards", _write, (_reward, _verifiers)),)
