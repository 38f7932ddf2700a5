"""The seven templates, eligibility and classifiers as judges: what each decides, and what it is shown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.judging.grounding.helpers import SOURCE, caller, judged, row, rows
from tests.support import runs
from tests.support.corpus import each_row
from tests.support.signing import signed, tag_of
from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.grounding.classifier import ClassifierJudge, Cut, worst_share
from truebench_hf.judging.grounding.judge import EligibilityJudge, GroundingJudge
from truebench_hf.judging.grounding.types import TEMPLATES, Grounding, Passage, Source, prompts_of, template_named
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, SchemaRefused
from truebench_hf.models.scripted import Answer, ScriptedModel
from truebench_hf.prompts import Prompts, about_prompts, example

OPENS, FREE = "It opens at 9 on weekdays.", "Entry is free."
TWO = f"{OPENS} {FREE}"
each_template = pytest.mark.parametrize("template", list(TEMPLATES))
each_json_template = pytest.mark.parametrize("template", [name for name in TEMPLATES if "json" in name])


@pytest.mark.parametrize(
    ("word", "accurate", "attempted"),
    [("not_attempted", False, False), ("accurate", True, True), ("inaccurate", False, True)],
)
def test_not_attempted_counts_as_inaccurate(tmp_path: Path, word: str, accurate: bool, attempted: bool) -> None:
    verdict, _ = judged(tmp_path, "simpleqa", TWO, [json.dumps({"verdict": word})])
    assert (verdict.accurate, verdict.attempted) == (accurate, attempted)


def test_a_false_sentence_under_a_final_accurate_is_asked_again_and_then_undecided(tmp_path: Path) -> None:
    labelled = [{"sentence": OPENS, "label": "accurate"}, {"sentence": FREE, "label": "Inaccurate"}]
    wrong, right = (json.dumps({"sentences": labelled, "final_answer": word}) for word in ("accurate", "inaccurate"))
    verdict, seen = judged(tmp_path, "implicit_span", TWO, [wrong])
    assert (verdict.accurate, "does not agree" in verdict.reason, len(seen)) == (None, True, 3)
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

    verdict, seen = judged(tmp_path, "json_double_check", TWO, reply)
    assert (verdict.accurate, len(seen)) == (False, 3)
    assert [(unit.label, unit.checked) for unit in verdict.units] == [("supported", True), ("unsupported", False)]
    assert "double check says no" in verdict.units[1].reason
    plain, _ = judged(tmp_path / "b", "json", TWO, [first])
    assert plain.accurate is True, "without the double check"


def test_a_span_with_nothing_to_verify_is_accurate(tmp_path: Path) -> None:
    reply = '```json\n{"excerpts": [], "verdict": "accurate"}\n```'
    verdict, seen = judged(tmp_path, "span", "Happy to help! Have a nice day.", [reply])
    assert (verdict.accurate, len(seen)) == (True, 1), "nobody is asked about what claims nothing"
    assert [unit.label for unit in verdict.units] == ["no_rad", "supported"]
    assert [unit.untraced for unit in verdict.units] == [False, False], "nothing to show"


@pytest.mark.parametrize(
    ("opens", "accurate", "labels"),
    [
        ('{"verdict": "accurate"}', False, ["supported", "unsupported"]),
        ("Who knows.", False, [None, "unsupported"]),  # one wrong span decides over an undecided one
    ],
)
def test_a_span_is_asked_about_alone_and_one_decides(
    tmp_path: Path, opens: str, accurate: bool, labels: list[str | None]
) -> None:
    wrong = '{"excerpts": ["Admission is 12 euros"], "verdict": "inaccurate"}'
    verdict, seen = judged(
        tmp_path, "span", TWO, lambda request: wrong if FREE in request.messages[0].content.partition("<span_")[2] else opens
    )  # fmt: skip
    assert (verdict.accurate, [unit.label for unit in verdict.units]) == (accurate, labels)
    assert verdict.units[1].excerpts[0].place == "document"
    assert len({request.messages[0].content.partition("Your task")[0] for request in seen}) == 1, "read once"
    undecided, _ = judged(tmp_path / "b", "span", OPENS, ["Who knows."])
    assert (undecided.accurate, undecided.units[0].label) == (None, None)


@each_json_template
def test_only_no_rad_is_accurate(tmp_path: Path, template: str) -> None:
    reply = rows(row("Happy to help!", "no_rad"), row("Have a nice day.", "NO RAD"))
    verdict, seen = judged(tmp_path, template, "Happy to help! Have a nice day.", [reply])
    assert (verdict.accurate, len(seen)) == (True, 1)
    assert {unit.label for unit in verdict.units} == {"no_rad"}


@each_json_template
def test_a_dropped_sentence_is_refused_and_asked_for_again(tmp_path: Path, template: str) -> None:
    opens = row(OPENS, "supported", "The museum opens at 9 on weekdays.")
    half, both = rows(opens), rows(opens, row(FREE, "contradictory", "Admission is 12 euros."))
    verdict, seen = judged(tmp_path, template, TWO, [half, both])
    assert verdict.accurate is False
    assert FREE in seen[1].messages[-1].content, "it is told what is missing"
    never, seen = judged(tmp_path / "b", template, TWO, [half])
    assert (never.accurate, never.units, len(seen)) == (None, (), 3)
    assert "have no object" in never.reason


def test_supported_without_a_findable_excerpt_is_shown_and_flips_nothing(tmp_path: Path) -> None:
    labelled = [
        row(OPENS, "supported", "The museum opens at 9 … Admission is 12 euros"),
        row("You come with children.", "supported", "I come with two children"),
        row(FREE, "supported", "Nobody has to pay at the door of the house"),
        row("It has a shop.", "supported"),
    ]
    answer = " ".join(str(part["sentence"]) for part in labelled)
    verdict, _ = judged(tmp_path, "json", answer, [rows(*labelled)])
    assert verdict.accurate is True
    assert [unit.untraced for unit in verdict.units] == [False, False, True, True]
    places = [[(excerpt.place, excerpt.ratio) for excerpt in unit.excerpts if excerpt.found] for unit in verdict.units]
    # Two pieces; the whole prompt is evidence; not there; none.
    assert places == [[("document", 1.0)] * 2, [("request", 1.0)], [], []]


@each_template
@pytest.mark.parametrize("answer", ["", " \n\t", "---\n**"])
def test_an_empty_answer_is_accurate_without_a_call(tmp_path: Path, template: str, answer: str) -> None:
    verdict, seen = judged(tmp_path, template, answer, ["never asked"])
    assert seen == []
    assert verdict.accurate is (template != "simpleqa"), "which is not attempted there"
    assert verdict.reason == "the answer is empty"


@each_template
def test_a_window_that_is_too_small_is_undecided_with_the_numbers(tmp_path: Path, template: str) -> None:
    verdict, _ = judged(tmp_path, template, TWO, [{"error": "the prompt has 40000 tokens, the window 8192"}])
    assert verdict.accurate is None
    assert "40000 tokens, the window 8192" in verdict.reason


@each_template
def test_what_is_cut_off_is_never_read(tmp_path: Path, template: str) -> None:
    implicit = json.dumps({"sentences": [{"sentence": OPENS, "label": "accurate"}]})[:-1]
    whole = 'So {"verdict": "accura' if template != "implicit_span" else implicit
    text = rows(row(OPENS, "supported", "x"))[:-1] if "json" in template else whole
    verdict, seen = judged(tmp_path, template, OPENS, [{"text": text, "truncated": True}])
    assert (verdict.accurate, "cut off" in verdict.reason) == (None, True)
    assert len(seen) == (3 if template in ("span", "response", "simpleqa") else 1), "a long answer would be cut again"


@each_template
def test_the_example_of_every_request_can_be_read_and_prompts_begin_alike(tmp_path: Path, template: str) -> None:
    verdict, seen = judged(tmp_path, template, TWO, lambda request: request.example)
    assert verdict.accurate is True, verdict.reason
    assert all(request.example for request in seen)
    _, others = judged(tmp_path / "b", template, "It is closed on Mondays.", lambda request: request.example)
    shared = seen[0].messages[0].content.partition("<response_")[0]
    assert others[0].messages[0].content.startswith(shared), "alike for all answers"
    assert shared.index(SOURCE.document) < shared.index(SOURCE.system) < shared.index(SOURCE.request)
    assert shared.index(SOURCE.document) < 200


class Refusing(ScriptedModel):
    """A server that takes no schema."""

    async def complete(self, request: ChatRequest) -> Any:
        if request.schema:
            raise SchemaRefused("no response_format here")
        return await super().complete(request)


STRUCTURED: dict[str, dict[str, Any]] = {
    "json": {"sentences": [row("At 9.", "supported", "opens at 9")]},
    "implicit_span": {"sentences": [{"sentence": "At 9.", "label": "accurate"}], "final_answer": "accurate"},
    "span": {"reason": "", "excerpts": ["opens at 9"], "verdict": "accurate"},
    "response": {"reason": "", "verdict": "accurate"},
    "simpleqa": {"reason": "", "verdict": "accurate"},
}


@each_template
def test_schemas_are_asked_with_and_left_out_where_they_are_refused(tmp_path: Path, template: str) -> None:
    entries = STRUCTURED["json" if "json" in template else template]

    def reply(request: ChatRequest) -> Answer:
        if request.schema is None:
            return request.example
        prompt, required = request.messages[0].content, request.schema["required"]
        assert request.schema["properties"]["id"]["const"] == tag_of(prompt)
        if "entailed" in required:
            return signed(prompt, entailed="yes")
        assert set(required) == {"id", *entries}
        return signed(prompt, **entries)

    for number, kind in enumerate((ScriptedModel, Refusing)):
        asked = Caller(kind("x", reply, takes_schema=True), Calls(tmp_path / f"{number}.sqlite"), "judge", 4)
        verdict = asyncio.run(GroundingJudge(asked, template, Prompts()).verdict(SOURCE, "At 9."))
        assert verdict.accurate is True, verdict.reason


def test_templates_are_named_with_their_prompts() -> None:
    assert next(iter(TEMPLATES)) == "json"
    assert template_named("JSON-alt") == "json_alt"
    assert prompts_of("json-double-check") == ("grounding_json", "grounding_double_check")
    assert {name for template in TEMPLATES for name in prompts_of(template)} <= set(about_prompts())
    with pytest.raises(Exception, match="unknown grounding template 'jsn': did you mean json"):
        template_named("jsn")


def test_what_reading_cost_counts_answers_as_grounded_or_not(tmp_path: Path) -> None:
    """One answer is grounded, one is not, and the judge's labels of the third are never read."""
    replies = {
        OPENS: rows(row(OPENS, "supported", "opens at 9")), FREE: rows(row(FREE, "unsupported")), "It is big.": "Hm.",
    }  # fmt: skip
    asked, _ = caller(
        tmp_path, lambda r: next((reply for text, reply in replies.items() if text in r.messages[0].content), "")
    )
    for answer in replies:
        asyncio.run(GroundingJudge(asked, "json", Prompts()).verdict(SOURCE, answer))
    assert (asked.reading.labels, asked.reading.unread) == (3, 1)
    assert asked.reading.share_of_yes == (1 / 3, 2 / 3)


# --- eligibility ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "shown"), [("request", False), ("full", True)])
def test_eligibility_shows_the_request_alone_or_the_full_prompt(tmp_path: Path, variant: str, shown: bool) -> None:
    asked, seen = caller(tmp_path, ['Vague.\n```json\n{"rating": "major issues"}\n```'])
    eligibility = asyncio.run(EligibilityJudge(asked, variant, Prompts()).rate(SOURCE, "Early.", "At 9 sharp."))
    assert (eligibility.rating, eligibility.reason) == ("major", "Vague.")
    text = seen[-1].messages[0].content
    assert (SOURCE.document in text, SOURCE.system in text, "At 9 sharp." in text) == (shown, shown, True)


def test_an_empty_answer_has_a_major_issue_and_a_failed_request_none(tmp_path: Path) -> None:
    asked, seen = caller(tmp_path, [{"error": "the prompt has 9 tokens, the window 8"}])
    judge = EligibilityJudge(asked, "request", Prompts())
    assert asyncio.run(judge.rate(SOURCE, " \n", "At 9.")).rating == "major"
    assert seen == []
    undecided = asyncio.run(judge.rate(SOURCE, "At 9.", "At 9."))
    assert undecided.rating is None
    assert "9 tokens, the window 8" in undecided.reason
    with pytest.raises(Exception, match="unknown eligibility variant 'all'"):
        EligibilityJudge(asked, "all", Prompts())


@each_row(__file__, "prompts", "rules")
def test_the_prompts_state_the_papers_rules(name: str, words: list[str]) -> None:
    text = " ".join(example(name, Prompts()).lower().split())
    assert [word for word in words if word not in text] == []
    assert ("be very strict" in text) == (name == "grounding_json")


MONUMENT = Source("Where is it?", "It stands in Rome.", "Use the notice.", (Passage("p1", "It is old."),))


def scripted(shares: dict[str, float | None]) -> ScriptedModel:
    """P(supported) by what a claim holds, 0.9 for all others."""

    def share(request: Any, claim: str) -> float | None:
        return next((share for words, share in shares.items() if words in claim), 0.9)

    return ScriptedModel("classifier", lambda request: "never asked", share)


def classified(shares: dict[str, float | None], answer: str, cut: Cut | None = None) -> Grounding:
    return asyncio.run(ClassifierJudge(runs.caller(scripted(shares)), cut).verdict(MONUMENT, answer))


@each_row(__file__, "classifier", "answers")
def test_an_answer_is_its_worst_sentence(
    shares: dict[str, float | None], answer: str, accurate: bool | None, labels: list[str | None]
) -> None:
    found = classified(shares, answer)
    assert (found.accurate, [unit.label for unit in found.units]) == (accurate, labels)
    assert all(unit.text == answer[unit.start : unit.end] for unit in found.units)
    assert (found.template, found.judge) == ("classifier", "scripted:classifier")


def test_the_reason_names_the_worst_sentences_probability() -> None:
    assert classified({"Paris": 0.1}, "It is in Rome. It was in Paris.").reason == (
        "the worst sentence has P(supported) = 0.100, from 0.500 on it counts as supported"
    )
    for answer in ("It is in Rome.", "It is in Rome. It is old."):
        assert "leaves no room" in classified({"Rome": None}, answer).reason


def test_the_whole_prompt_is_the_evidence_and_sentences_are_the_claims() -> None:
    model = scripted({})
    asyncio.run(ClassifierJudge(runs.caller(model)).verdict(MONUMENT, "It is in Rome.\n- It is old."))
    (request,) = model.prompts
    assert request.state == "It stands in Rome.\n\nIt is old.\n\nUse the notice.\n\nWhere is it?"  # type: ignore[union-attr]
    assert request.questions == ("It is in Rome.", "- It is old.")  # type: ignore[union-attr]


def test_a_fitted_cut_moves_the_line() -> None:
    strict = Cut(0.95)
    assert classified({}, "It is in Rome.", strict).accurate is False
    # Log-odds of 0.9 are 2.2; less 3 they are below 0, and the calibrated probability is 0.31.
    calibrated = Cut(0.5, Calibrator("platt", slope=1.0, intercept=-3.0))
    found = classified({}, "It is in Rome.", calibrated)
    assert (found.accurate, found.units[0].reason[:20]) == (False, "P(supported) = 0.309")


def test_a_request_that_fails_is_undecided() -> None:
    from truebench_hf.engine.retry import RequestFailed

    class Down(ScriptedModel):
        async def decide(self, request: Any) -> Any:
            raise RequestFailed("it is down")

    model = Down("down", lambda request: "")
    found = asyncio.run(ClassifierJudge(runs.caller(model)).verdict(MONUMENT, "It is in Rome."))
    assert (found.accurate, found.reason) == (None, "the judge gave no answer: it is down")


@pytest.mark.parametrize(
    ("shares", "worst"), [([], None), ([0.4], 0.4), ([0.4, 0.2, 0.9], 0.2), ([0.1, None], None), ([0.0, 1.0], 0.0)]
)
def test_the_probability_of_an_answer(shares: list[float | None], worst: float | None) -> None:
    assert worst_share({(place, place + 1): share for place, share in enumerate(shares)}) == worst
