"""The playground's steps over HTTP, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.space.visitor import Visitor, launched
from tests.support.loopback import free_port
from truebench_hf.space import playground
from truebench_hf.space.engine import Engine
from truebench_hf.space.options import SpaceOptions

SECRET = "A very private question about tea, asked by me."
RULES = [
    {"contains": "Fail, please", "error": f"503 from http://10.0.0.7/v1 with sk-abcdefgh1234 for '{SECRET}' (busy)"},
    {"contains": ["<criteria", "cup"], "verdicts": {"German": "FAIL"}},
    {"contains": "tea", "probability": 0.9},
    {"contains": "in German", "probability": 0.1},
]


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    import gradio as gr

    script = tmp_path / "rules.json"
    script.write_text(json.dumps({"rules": RULES, "default": {"reply": "A cup of tea.", "probability": 0.5}}))
    with gr.Blocks(analytics_enabled=False) as app:
        playground.build(Engine(SpaceOptions(model=f"scripted:{script}")))
    app.queue(api_open=False)
    url = launched(lambda: app.launch(server_port=free_port(), prevent_thread_lock=True, quiet=True, ssr_mode=False)[1])
    found = Visitor(url)
    found.shown["prompt", "value"] = "Tea?"
    found.shown["answer", "value"] = "A cup of tea."
    found.shown["checklist", "value"] = "- It is about tea\n- It is in German"
    yield found
    app.close()


@pytest.mark.parametrize("level", ["Decision", "Checklist", "Cascade"])
def test_verdicts_are_counted_to_the_last_and_no_further(visitor: Visitor, level: str) -> None:
    visitor.shown["level", "value"] = next(name for name in playground._LEVELS if name.startswith(level))
    told = visitor.whole("judge")
    assert "The answer fails: 1 of 2 criteria met, 1 not met." in visitor.shown["judge-line", "value"]
    assert ("Judging all 2 criteria in one call" in told) is (level == "Checklist")
    assert ("Judging criterion 2 of 2" in told) is (level != "Checklist")
    assert "criterion 3 of 2" not in told


def test_a_new_answer_takes_the_place_of_the_old_one_and_its_verdicts(visitor: Visitor) -> None:
    visitor.whole("judge")
    assert "about tea" in visitor.shown["verdicts", "value"]
    visitor.shown["answer", "value"] = "Old."
    visitor.whole("answer")
    assert visitor.shown["answer", "value"] == "A cup of tea."
    assert "about tea" not in visitor.shown["verdicts", "value"]


def test_a_model_that_fails_leaves_no_old_answer_and_tells_the_operator_why(
    visitor: Visitor, capsys: pytest.CaptureFixture[str]
) -> None:
    visitor.shown["prompt", "value"] = f"Fail, please. {SECRET}"
    visitor.whole("answer")
    assert visitor.shown["answer", "value"] == ""
    assert "The model gave no answer" in visitor.shown["answer-line", "value"]
    log = capsys.readouterr().err
    assert "rules.json gave no answer: 503 from (address) with (hidden) for '[…]' (busy)" in log
    assert "private" not in log


def test_a_judge_that_fails_is_told_of_as_well(visitor: Visitor, capsys: pytest.CaptureFixture[str]) -> None:
    visitor.shown["answer", "value"] = f"Fail, please. {SECRET}"
    visitor.shown["level", "value"] = next(name for name in playground._LEVELS if name.startswith("Rubric"))
    visitor.whole("judge")
    assert "1 not met, 1 not decided" in visitor.shown["judge-line", "value"], "that it is not in German is measured"
    log = capsys.readouterr().err
    assert log.count("gave no answer: 503") == 1
    assert "private" not in log


def test_a_checklist_tells_how_far_it_is_and_a_failed_one_leaves_the_old_one(visitor: Visitor) -> None:
    told = visitor.whole("draft")
    assert "Writing a checklist: 13 characters so far" in told
    assert "No checklist: it has no line `Questions:`" in visitor.shown["draft-line", "value"]
    assert visitor.shown["checklist", "value"] == "- It is about tea\n- It is in German"


def test_an_empty_prompt_leaves_the_answer_that_is_there(visitor: Visitor) -> None:
    visitor.shown["prompt", "value"] = " "
    visitor.whole("answer")
    assert "The prompt is empty." in visitor.shown["answer-line", "value"]
    assert visitor.shown["answer", "value"] == "A cup of tea."


def test_an_example_is_filled_in_without_waiting(visitor: Visitor) -> None:
    visitor.shown["example", "value"] = visitor.shown["example", "choices"][0][1]
    (filled,) = visitor.on("example", "input")
    visitor.at_once(filled)
    assert len(visitor.shown["prompt", "value"]) > 10
    assert visitor.shown["checklist", "value"]
