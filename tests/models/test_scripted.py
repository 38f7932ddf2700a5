"""The test double: rules in order, replies one by one, errors, verdicts, probabilities, a record of prompts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import held, script
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest, Completion, DecisionRequest
from truebench_hf.models.scripted import ScriptedModel, ScriptedOptions, from_file, verdicts
from truebench_hf.types import Message, Usage

SIGNED = 'Judge.\n<criteria_1a>\n1. one\n</criteria_1a>\nIt has "id", which is "3f9a2c41"; "criteria_1".'
RULES: list[dict[str, Any]] = [
    {"contains": "Translate", "reply": "Bonjour"},
    {"contains": ["capital", "Peru"], "reply": ["Cusco", "Lima"]},
    {"contains": "long", "reply": {"text": "", "reasoning": "hm hm", "truncated": True}},
    {"contains": "broken", "error": "the server burned down"},
    {"contains": "Judge", "reply": '{"id": "{id}", "rating": 4}'},
    {"contains": "<criteria", "verdicts": {"in German": "FAIL"}},
    {"contains": "polite", "probability": 0.8},
]


def ask(model: ScriptedModel, *texts: str) -> Completion:
    return asyncio.run(model.complete(ChatRequest(tuple(Message("user", text) for text in texts))))


@pytest.fixture
def model(tmp_path: Path) -> ScriptedModel:
    path = script(tmp_path / "rules.json", RULES).partition(":")[2]
    return from_file(path, ScriptedOptions(record=str(tmp_path / "record.jsonl")))


@pytest.mark.parametrize(
    ("prompts", "replies", "reason"),
    [
        ([["Translate: hello"], ["Translate broken"]], ["Bonjour"] * 2, "the first rule that fits"),
        ([["anything"], ["Translate", "something else"]], ["OK"] * 2, "the default, as only the last message counts"),
        ([["the capital"], *[["capital of Peru?"]] * 4], ["OK", "Cusco", "Lima", "Lima", "Lima"], "one by one, by all needles"),
        ([[SIGNED]], ['{"id": "3f9a2c41", "rating": 4}'], "signed where the prompt asks for it"),
    ],
)  # fmt: skip
def test_which_rule_answers(model: ScriptedModel, prompts: list[list[str]], replies: list[str], reason: str) -> None:
    assert [ask(model, *texts).text for texts in prompts] == replies, reason


def test_thinking_truncation_usage_and_errors(model: ScriptedModel) -> None:
    assert ask(model, "a long one") == Completion("", "hm hm", Usage(3, 2, 2, 1), True)
    with pytest.raises(RequestFailed, match="burned down"):
        ask(model, "broken")


def test_verdicts_and_probabilities_and_the_record_of_all_prompts(model: ScriptedModel, tmp_path: Path) -> None:
    prompt = "<criteria_1a>\n1. is in German\n2. is short ü\n</criteria_1a>"
    text = ask(model, prompt).text
    assert json.loads(text.split("```json")[1].strip("`\n")) == {"criteria_1": "FAIL", "criteria_2": "PASS"}
    decision = asyncio.run(model.decide(DecisionRequest("some state", ("is polite", "is long"))))
    assert decision.probabilities == (0.8, 0.5), "a rule without a probability answers no question"
    assert held(tmp_path / "record.jsonl") == [[prompt], ["some state", "is polite", "is long"]]
    assert len(model.prompts) == 2
    assert '{"id": "3f9a2c41", "criteria_1": "PASS"}' in verdicts(SIGNED, {})
    assert '{"criteria_1": "PASS"}' in verdicts(SIGNED.replace('"id"', "the id"), {})


@pytest.mark.parametrize("record", ["nowhere/record.jsonl", ""], ids=["no such folder", "a folder"])
def test_a_record_that_cannot_be_written_is_the_users_error(tmp_path: Path, record: str) -> None:
    path = script(tmp_path / "rules.json", RULES).partition(":")[2]
    with pytest.raises(UserError, match=rf"record={tmp_path}.*cannot be written"):
        ask(from_file(path, ScriptedOptions(record=str(tmp_path / record))), "Translate")


def rules(*rules: Any) -> dict[str, Any]:
    return {"rules": list(rules)}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "Expecting property name"),
        ([], "must be an object"),
        (None, "No such file"),
        ({"rule": []}, "at its top, 'rule': did you mean rules"),
        (rules(3), "not a usable script"),
        (rules({"reply": "a"}), "rule 1: contains must be a text or a list of texts"),
        (rules({"contains": 3, "reply": "x"}), "rule 1: contains must be a text or a list of texts"),
        (rules({"contains": "a", "text": "b"}), "rule 1, 'text': choose from contains, reply, error"),
        (rules(RULES[0], {"contains": "a", "replies": ["b"]}), "rule 2, 'replies': did you mean reply"),
        (rules({"contain": "a", "reply": "b"}), "rule 1, 'contain': did you mean contains"),
        (rules({"contains": "a", "reply": {"txt": "b"}}), "rule 1, reply, 'txt': did you mean text"),
        (rules({"contains": "a", "reply": ["b", {"thinking": "c"}]}), "rule 1, reply, 'thinking': choose from text"),
        (rules({"contains": "a"}), "rule 1: answers nothing; give one of reply, error, verdicts, probability"),
        (rules({"contains": "a", "reply": []}), "rule 1: reply must be a text, an object, or a list"),
        (rules({"contains": "a", "reply": 5}), "rule 1: reply must be a text, an object, or a list"),
        (rules({"contains": "a", "verdicts": ["x"]}), 'rule 1: verdicts must be an object such as {"is short": "PASS"}'),
        ({"default": {"text": "b"}}, "default, 'text': choose from reply"),
        ({"default": {"contains": "a", "reply": "b"}}, "default, 'contains': choose from reply"),
    ],
)  # fmt: skip
def test_an_unusable_script_is_the_users_error(tmp_path: Path, content: Any, told: str) -> None:
    """A key that says nothing would be passed over, and the model answer OK."""
    path = tmp_path / "rules.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(UserError, match=f"scripted:{path}") as caught:
        from_file(str(path), ScriptedOptions())
    assert told in str(caught.value)
