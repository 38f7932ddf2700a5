"""The seven templates on small answers: what each alone decides, and what stays open."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from tests.judging.grounding.helpers import SOURCE, caller, judged, row, rows
from tests.support.signing import signed
from truebench_hf.judging.grounding.judge import EligibilityJudge, GroundingJudge
from truebench_hf.judging.grounding.types import TEMPLATES, prompts_of, template_named
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.prompts import Prompts, about_prompts

TWO = "It opens at 9 on weekdays. Entry is free."
OPENS, FREE = "It opens at 9 on weekdays.", "Entry is free."


def test_not_attempted_counts_as_inaccurate(tmp_path: Path) -> None:
    found, _ = judged(tmp_path, "simpleqa", "Please ask the museum.", ['{"verdict": "not_attempted"}'])
    assert (found.accurate, found.attempted) == (False, False)
    right, _ = judged(tmp_path / "b", "simpleqa", TWO, ['{"verdict": "accurate"}'])
    assert (right.accurate, right.attempted) == (True, True)
    wrong, _ = judged(tmp_path / "c", "simpleqa", TWO, ['{"verdict": "inaccurate"}'])
    assert (wrong.accurate, wrong.attempted) == (False, True)


def test_a_false_sentence_under_a_final_accurate_is_asked_again_and_then_undecided(tmp_path: Path) -> None:
    said = [{"sentence": OPENS, "label": "accurate"}, {"sentence": FREE, "label": "Inaccurate"}]
    wrong, right = (json.dumps({"sentences": said, "final_answer": word}) for word in ("accurate", "inaccurate"))
    found, seen = judged(tmp_path, "implicit_span", TWO, [wrong])
    assert found.accurate is None
    assert "does not agree" in found.reason
    assert len(seen) == 3
    mended, seen = judged(tmp_path / "b", "implicit_span", TWO, [wrong, right])
    assert (mended.accurate, len(seen)) == (False, 2)
    assert [(unit.text, unit.label) for unit in mended.units] == [(OPENS, "supported"), (FREE, "unsupported")]
    assert all(TWO[unit.start : unit.end] == unit.text for unit in mended.units)


def test_supported_with_a_no_of_the_double_check_is_unsupported(tmp_path: Path) -> None:
    first = rows(row(OPENS, "supported", "opens at 9"), row(FREE, "supported", "Admission is 12 euros."))

    def reply(request: ChatRequest) -> str:
        text = request.messages[0].content
        if "Does the context entail" not in text:
            return first
        assert SOURCE.document not in text, "sentence and excerpt alone"
        assert SOURCE.request not in text
        return signed(text, entailed="no" if FREE in text else "Yes.")

    found, seen = judged(tmp_path, "json_double_check", TWO, reply)
    assert len(seen) == 3
    assert found.accurate is False
    assert [(unit.label, unit.checked) for unit in found.units] == [("supported", True), ("unsupported", False)]
    assert "double check says no" in found.units[1].reason
    plain, _ = judged(tmp_path / "b", "json", TWO, [first])
    assert plain.accurate is True, "without the double check"


def test_a_span_with_nothing_to_verify_is_accurate(tmp_path: Path) -> None:
    reply = '```json\n{"excerpts": [], "verdict": "accurate"}\n```'
    found, seen = judged(tmp_path, "span", "Happy to help! Have a nice day.", [reply])
    assert (found.accurate, len(seen)) == (True, 1), "nobody is asked about what claims nothing"
    assert [unit.label for unit in found.units] == ["no_rad", "supported"]
    assert [unit.untraced for unit in found.units] == [False, False], "nothing to show"


def test_a_span_is_asked_about_alone_and_one_decides(tmp_path: Path) -> None:
    def reply(request: ChatRequest) -> str:
        span = request.messages[0].content.partition("<span_")[2]
        return (
            '{"excerpts": ["Admission is 12 euros"], "verdict": "inaccurate"}'
            if FREE in span
            else '{"verdict": "accurate"}'
        )

    found, seen = judged(tmp_path, "span", TWO, reply)
    assert (found.accurate, len(seen)) == (False, 2)
    assert [unit.label for unit in found.units] == ["supported", "unsupported"]
    assert found.units[1].excerpts[0].place == "document"
    starts = {request.messages[0].content.partition("Your task")[0] for request in seen}
    assert len(starts) == 1, "source and answer are read once"


def test_one_wrong_span_decides_over_an_undecided_one(tmp_path: Path) -> None:
    def reply(request: ChatRequest) -> str:
        return (
            '{"verdict": "inaccurate"}' if FREE in request.messages[0].content.partition("<span_")[2] else "Who knows."
        )

    found, _ = judged(tmp_path, "span", TWO, reply)
    assert found.accurate is False
    open_, _ = judged(tmp_path / "b", "span", OPENS, ["Who knows."])
    assert (open_.accurate, open_.units[0].label) == (None, None)


@pytest.mark.parametrize("template", ["json", "json_alt", "json_double_check"])
def test_only_no_rad_is_accurate(tmp_path: Path, template: str) -> None:
    said = rows(row("Happy to help!", "no_rad"), row("Have a nice day.", "NO RAD"))
    found, seen = judged(tmp_path, template, "Happy to help! Have a nice day.", [said])
    assert (found.accurate, len(seen)) == (True, 1)
    assert {unit.label for unit in found.units} == {"no_rad"}


@pytest.mark.parametrize("template", ["json", "json_alt", "json_double_check"])
def test_a_dropped_sentence_is_refused_and_asked_for_again(tmp_path: Path, template: str) -> None:
    opens = row(OPENS, "supported", "The museum opens at 9 on weekdays.")
    half, whole = rows(opens), rows(opens, row(FREE, "contradictory", "Admission is 12 euros."))
    found, seen = judged(tmp_path, template, TWO, [half, whole])
    assert found.accurate is False
    assert FREE in seen[1].messages[-1].content, "it is told what is missing"
    never, seen = judged(tmp_path / "b", template, TWO, [half])
    assert (never.accurate, never.units, len(seen)) == (None, (), 3)
    assert "have no object" in never.reason


def test_thousands_of_sentences_are_matched_in_seconds(tmp_path: Path) -> None:
    """As long as the longest answers are, and each sentence unlike all others: the time grows with their number."""
    sentences = [f"Line {number} of the answer says that it is open on day {number}." for number in range(1000)]
    began = time.process_time()
    found, _ = judged(tmp_path / "x", "json", " ".join(sentences), [rows(*(row(one, "no_rad") for one in sentences))])
    assert (found.accurate, len(found.units)) == (True, 1000)
    assert time.process_time() - began < 2


def test_supported_without_a_findable_excerpt_is_shown_and_flips_nothing(tmp_path: Path) -> None:
    said = [
        row("It opens at 9 on weekdays.", "supported", "The museum opens at 9 … Admission is 12 euros"),
        row("You come with children.", "supported", "I come with two children"),
        row("Entry is free.", "supported", "Nobody has to pay at the door of the house"),
        row("It has a shop.", "supported"),
    ]
    answer = "It opens at 9 on weekdays. You come with children. Entry is free. It has a shop."
    found, _ = judged(tmp_path, "json", answer, [rows(*said)])
    assert found.accurate is True
    assert [unit.untraced for unit in found.units] == [False, False, True, True]
    places = [[(one.found, one.place, one.ratio) for one in unit.excerpts] for unit in found.units]
    assert places[0] == [(True, "document", 1.0), (True, "document", 1.0)], "two pieces"
    assert places[1] == [(True, "request", 1.0)], "the whole prompt is evidence"
    assert not places[2][0][0]


@pytest.mark.parametrize("template", list(TEMPLATES))
@pytest.mark.parametrize("answer", ["", " \n\t", "---\n**"])
def test_an_empty_answer_is_accurate_without_a_call(tmp_path: Path, template: str, answer: str) -> None:
    found, seen = judged(tmp_path, template, answer, ["never asked"])
    assert seen == []
    assert found.accurate is (template != "simpleqa"), "which is not attempted there"
    assert found.reason == "the answer is empty"


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_a_window_that_is_too_small_is_undecided_with_the_numbers(tmp_path: Path, template: str) -> None:
    found, _ = judged(tmp_path, template, TWO, [{"error": "the prompt has 40000 tokens, the window 8192"}])
    assert found.accurate is None
    assert "40000 tokens, the window 8192" in found.reason


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_what_is_cut_off_is_never_read(tmp_path: Path, template: str) -> None:
    texts = {
        "span": 'So {"verdict": "accura',
        "implicit_span": json.dumps({"sentences": [{"sentence": OPENS, "label": "accurate"}]})[:-1],
    }
    text = texts.get(template, rows(row(OPENS, "supported", "x"))[:-1] if "json" in template else texts["span"])
    found, seen = judged(tmp_path, template, OPENS, [{"text": text, "truncated": True}])
    assert found.accurate is None
    assert len(seen) == (3 if template in ("span", "response", "simpleqa") else 1), "a long answer would be cut again"
    assert "cut off" in found.reason


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_the_example_of_every_request_can_be_read(tmp_path: Path, template: str) -> None:
    found, seen = judged(tmp_path, template, TWO, lambda request: request.example)
    assert found.accurate is True, found.reason
    assert all(request.example for request in seen)


@pytest.mark.parametrize("template", list(TEMPLATES))
def test_prompts_begin_with_the_document_and_alike_for_all_answers(tmp_path: Path, template: str) -> None:
    _, one = judged(tmp_path, template, TWO, lambda request: request.example)
    _, other = judged(tmp_path / "b", template, "It is closed on Mondays.", lambda request: request.example)
    first, second = (seen[0].messages[0].content for seen in (one, other))
    shared = first.partition("<response_")[0]
    assert second.startswith(shared)
    assert shared.index(SOURCE.document) < shared.index(SOURCE.system) < shared.index(SOURCE.request)
    assert shared.index(SOURCE.document) < 200


def test_templates_are_named_with_their_prompts() -> None:
    assert next(iter(TEMPLATES)) == "json"
    assert template_named("JSON-alt") == "json_alt"
    assert prompts_of("json-double-check") == ("grounding_json", "grounding_double_check")
    assert {name for template in TEMPLATES for name in prompts_of(template)} <= set(about_prompts())
    with pytest.raises(Exception, match="unknown grounding template 'jsn': did you mean json"):
        template_named("jsn")
    assert GroundingJudge.__doc__


def test_what_reading_cost_counts_answers_as_grounded_or_not(tmp_path: Path) -> None:
    """One answer is grounded, one is not, and the judge's labels of the third are never read."""
    replies = {
        OPENS: rows(row(OPENS, "supported", "opens at 9")), FREE: rows(row(FREE, "unsupported")), "It is big.": "Hm.",
    }  # fmt: skip
    asked, _ = caller(
        tmp_path, lambda r: next((said for text, said in replies.items() if text in r.messages[0].content), "")
    )
    for answer in replies:
        asyncio.run(GroundingJudge(asked, "json", Prompts()).verdict(SOURCE, answer))
    assert (asked.reading.labels, asked.reading.unread) == (3, 1)
    assert asked.reading.share_of_yes == (1 / 3, 2 / 3)


def test_eligibility_shows_the_request_alone_or_the_full_prompt(tmp_path: Path) -> None:
    asked, seen = caller(tmp_path, ['Vague.\n```json\n{"rating": "major issues"}\n```'])
    for variant, shown in (("request", False), ("full", True)):
        found = asyncio.run(EligibilityJudge(asked, variant, Prompts()).rate(SOURCE, "Early.", "At 9 sharp."))
        assert (found.rating, found.reason) == ("major", "Vague.")
        text = seen[-1].messages[0].content
        assert (SOURCE.document in text, SOURCE.system in text) == (shown, shown)
        assert "At 9 sharp." in text
