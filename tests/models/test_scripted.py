"""The test double: rules in order, replies one by one, errors, verdicts, probabilities, a record of prompts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest, Completion, DecisionRequest
from truebench_hf.models.scripted import ScriptedModel, ScriptedOptions, from_file, verdicts
from truebench_hf.types import Message, Usage

RULES: list[dict[str, Any]] = [
    {"contains": "Translate", "reply": "Bonjour"},
    {"contains": ["capital", "Peru"], "reply": ["Cusco", "Lima"]},
    {"contains": "long", "reply": {"text": "", "reasoning": "hm hm", "truncated": True}},
    {"contains": "broken", "error": "the server burned down"},
    {"contains": "<criteria", "verdicts": {"in German": "FAIL"}},
    {"contains": "polite", "probability": 0.8},
]


def ask(model: ScriptedModel, *texts: str) -> Completion:
    return asyncio.run(model.complete(ChatRequest(tuple(Message("user", text) for text in texts))))


@pytest.fixture
def model(tmp_path: Path) -> ScriptedModel:
    path = script(tmp_path / "rules.json", RULES).partition(":")[2]
    return from_file(path, ScriptedOptions(record=str(tmp_path / "record.jsonl")))


def test_rules_are_tried_in_order(model: ScriptedModel) -> None:
    assert ask(model, "Translate: hello").text == "Bonjour"
    assert ask(model, "Translate broken").text == "Bonjour", "the first rule that fits"
    assert ask(model, "anything").text == "OK", "the default"
    assert ask(model, "Translate", "something else").text == "OK", "only the last message counts"


def test_a_list_of_needles_must_all_occur_and_replies_go_one_by_one(model: ScriptedModel) -> None:
    assert ask(model, "the capital").text == "OK"
    assert [ask(model, "capital of Peru?").text for _ in range(4)] == ["Cusco", "Lima", "Lima", "Lima"]


def test_thinking_truncation_usage_and_errors(model: ScriptedModel) -> None:
    assert ask(model, "a long one") == Completion("", "hm hm", Usage(3, 2, 2, 1), True)
    with pytest.raises(RequestFailed, match="burned down"):
        ask(model, "broken")


def test_verdicts_and_probabilities(model: ScriptedModel) -> None:
    text = ask(model, "<criteria_1a>\n1. is in German\n2. is short\n</criteria_1a>").text
    assert json.loads(text.split("```json")[1].strip("`\n")) == {"criteria_1": "FAIL", "criteria_2": "PASS"}
    decision = asyncio.run(model.decide(DecisionRequest("some state", ("is polite", "is long"))))
    assert decision.probabilities == (0.8, 0.5), "a rule without a probability answers no question"


def test_every_prompt_is_recorded(model: ScriptedModel, tmp_path: Path) -> None:
    ask(model, "one", "zwei ü")
    asyncio.run(model.decide(DecisionRequest("state", ("q",))))
    assert len(model.prompts) == 2
    lines = (tmp_path / "record.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == [["one", "zwei ü"], ["state", "q"]]


@pytest.mark.parametrize(("record", "reason"), [("nowhere/record.jsonl", "no such folder"), ("", "a folder")])
def test_a_record_that_cannot_be_written_is_the_users_error(tmp_path: Path, record: str, reason: str) -> None:
    path = script(tmp_path / "rules.json", RULES).partition(":")[2]
    model = from_file(path, ScriptedOptions(record=str(tmp_path / record)))
    with pytest.raises(UserError, match=r"record=.*cannot be written") as caught:
        ask(model, "Translate")
    assert str(tmp_path / record) in str(caught.value), reason


def test_answers_are_signed_where_the_prompt_asks_for_it(tmp_path: Path) -> None:
    prompt = 'Judge.\n<criteria_1a>\n1. one\n</criteria_1a>\nIt has "id", which is "3f9a2c41"; "criteria_1".'
    assert '{"id": "3f9a2c41", "criteria_1": "PASS"}' in verdicts(prompt, {})
    assert '{"criteria_1": "PASS"}' in verdicts(prompt.replace('"id"', "the id"), {})
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"rules": [{"contains": "Judge", "reply": '{"id": "{id}", "rating": 4}'}]}))
    assert ask(from_file(str(file), ScriptedOptions()), prompt).text == '{"id": "3f9a2c41", "rating": 4}'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        ('{"rules": [{"reply": "x"}]}', "a rule without contains"),
        ('{"rules": [3]}', "a rule that is no object"),
        ('{"rules": [{"contains": 3, "reply": "x"}]}', "contains is no text"),
        (None, "no such file"),
    ],
)
def test_an_unusable_script_is_the_users_error(tmp_path: Path, content: str | None, reason: str) -> None:
    path = tmp_path / "rules.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match="scripted:") as caught:
        from_file(str(path), ScriptedOptions())
    assert str(path) in str(caught.value), reason


@pytest.mark.parametrize(
    ("rules", "default", "told"),
    [
        ([{"contains": "a", "text": "b"}], None, "rule 1, 'text': choose from contains, reply, error"),
        ([RULES[0], {"contains": "a", "replies": ["b"]}], None, "rule 2, 'replies': did you mean reply"),
        ([{"contain": "a", "reply": "b"}], None, "rule 1, 'contain': did you mean contains"),
        ([{"contains": "a", "reply": {"txt": "b"}}], None, "rule 1, reply, 'txt': did you mean text"),
        ([{"contains": "a", "reply": ["b", {"thinking": "c"}]}], None, "rule 1, reply, 'thinking': choose from text"),
        ([], {"text": "b"}, "default, 'text': choose from reply"),
        ([], {"contains": "a", "reply": "b"}, "default, 'contains': choose from reply"),
        ([{"contains": "a"}], None, "rule 1: answers nothing; give one of reply, error, verdicts, probability"),
        ([{"contains": "a", "reply": []}], None, "rule 1: reply must be a text, an object, or a list"),
        ([{"contains": "a", "reply": 5}], None, "rule 1: reply must be a text, an object, or a list"),
        ([{"contains": "a", "verdicts": ["x"]}], None, 'rule 1: verdicts must be an object such as {"is short": "PASS"}'),
        ([{"reply": "a"}], None, "rule 1: contains must be a text or a list of texts"),
    ],
)  # fmt: skip
def test_a_key_that_says_nothing_is_refused(tmp_path: Path, rules: list[Any], default: Any, told: str) -> None:
    """It would be passed over, and the model answer OK."""
    path = tmp_path / "rules.json"
    path.write_text(json.dumps({"rules": rules} | ({} if default is None else {"default": default})))
    with pytest.raises(UserError) as caught:
        from_file(str(path), ScriptedOptions())
    assert told in str(caught.value)
    path.write_text(json.dumps({"rule": rules}))
    with pytest.raises(UserError, match="at its top, 'rule': did you mean rules"):
        from_file(str(path), ScriptedOptions())
