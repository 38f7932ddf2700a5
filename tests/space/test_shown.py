"""How the playground shows verdicts, changes of a text and guesses: what is sure apart from what is guessed, all of it as text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import each_row
from truebench_hf.benchmarks.tick.revision import Rewrite
from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.grounding.classifier import grounding_by_decisions
from truebench_hf.judging.grounding.types import Grounding, Source, Unit, UnitLabel
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import DecisionRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.prompts import Prompts
from truebench_hf.space import playground_html as shown
from truebench_hf.space.playground_html import difference
from truebench_hf.types import Criterion, Label, Verdict

HOSTILE = "<img src=x onerror=alert(1)>![i](http://x/y.png)${1+1}{{x}}</li><script>"


def verdict(
    label: Label | None, judge: str = "smollm2", text: str = "It is so.", reason: str = "P(yes) = 0.4"
) -> Verdict:
    return Verdict(Criterion(text), label, reason, judge, None if judge == JUDGE else 0.4)


@pytest.mark.parametrize(
    ("verdicts", "kind", "head", "more"),
    [
        ([verdict("no", JUDGE), verdict("no")], "fail", "The answer fails", "0 of 2 criteria met, 2 not met (1 measured, 1 a tiny model's guess)."),
        ([verdict("yes", JUDGE), verdict("no")], "fail", "The answer fails by a tiny model's guess", "1 of 2 criteria met, 1 not met (1 measured, 1 a tiny model's guess)."),
        ([verdict("yes", JUDGE), verdict("yes")], "good", "The answer passes by a tiny model's guess", "2 of 2 criteria met (1 measured, 1 a tiny model's guess)."),
        ([verdict("yes", JUDGE)], "good", "The answer passes", "1 of 1 criterion met (1 measured)."),
        ([verdict("yes", JUDGE), verdict(None)], "open", "Left open", "1 of 2 criteria met, 1 not decided (1 measured)."),
        ([verdict("unknown")], "open", "Left open", "0 of 1 criterion met, 1 not decided."),  # never a fail
    ],
)  # fmt: skip
def test_what_is_measured_settles_and_what_is_guessed_says_so(
    verdicts: list[Verdict], kind: str, head: str, more: str
) -> None:
    found = shown.outcome(verdicts, tiny=True)
    assert (found.kind, found.head, found.more) == (kind, head, more)
    assert "guess" not in shown.outcome(verdicts, tiny=False).head


def test_each_verdict_says_who_gave_it() -> None:
    measured = verdict("yes", JUDGE, reason="measured: 3 bullet points")
    silent = verdict(None, reason="no answer from http://10.0.0.1:8000/v1")
    page = shown.verdicts_html([measured, verdict("no"), silent], tiny=True)
    rows = page.split("<li")[1:]
    assert "measured: 3 bullet points" in rows[0]
    assert "guess" not in rows[0]
    assert "a tiny model&#39;s guess: P(yes) = 0.4" in rows[1]
    assert "tb-guess" in rows[1]
    assert "guess:" not in rows[2], "nothing was guessed"
    assert "Open" in rows[2]
    assert "10.0.0.1" not in rows[2], "no address of a server"
    assert "tiny" not in shown.verdicts_html([measured, verdict("no", "openai:x")])


def test_hostile_text_stays_text() -> None:
    bad = verdict("no", text=HOSTILE, reason=HOSTILE)
    found = Grounding(None, HOSTILE, "json", HOSTILE)
    for page in (
        shown.verdicts_html([bad], [HOSTILE], tiny=True),
        shown.verdicts_html([bad]),
        shown.improved_html(HOSTILE, Rewrite(f"x {HOSTILE}", HOSTILE), [bad], [bad]),
        shown.outcome_html(shown.grounding_outcome(found)),
        shown.grounding_html(Source(HOSTILE, HOSTILE), HOSTILE, found),
    ):
        assert "&lt;script&gt;" in page or page.count("tb-section") == 1
        assert "<script" not in page
        assert "<img" not in page
        assert "${" not in page
        assert "{{" not in page


@pytest.mark.parametrize(
    ("labels", "more"),
    [
        (("supported", "contradictory"), "1 of 2 sentences is not supported by the document."),
        (("unsupported", "unsupported"), "2 of 2 sentences are not supported by the document."),
        ((), "No sentence of the answer claims anything."),
        (("supported",), "The one sentence is supported or needs no evidence."),
        (("supported", "no_rad"), "All 2 sentences are supported or need no evidence."),
    ],
)
def test_what_a_check_of_grounding_comes_to(labels: tuple[UnitLabel, ...], more: str) -> None:
    units = tuple(Unit("a", 0, 1, label, "") for label in labels)
    found = Grounding(not {"unsupported", "contradictory"} & set(labels), "", "json", "openai:x", units)
    assert shown.grounding_outcome(found).more == more


@each_row(__file__, "cases", "differences")
def test_the_difference_word_by_word(old: str, new: str, pieces: list[list[str]]) -> None:
    assert [list(piece) for piece in difference(old, new)] == pieces


@given(st.text(max_size=60), st.text(max_size=60))
def test_both_texts_can_be_read_off_their_difference(old: str, new: str) -> None:
    pieces = difference(old, new)
    assert "".join(piece.text for piece in pieces if piece.kind != "new") == old
    assert "".join(piece.text for piece in pieces if piece.kind != "gone") == new


SOURCE = Source("When does it open?", "The museum opens at nine. A ticket costs five euros.")


@pytest.mark.parametrize(
    ("answer", "labels", "accurate", "beside"),
    [
        ("It opens at nine. Tickets are free.", ["supported", "unsupported"], False, "The museum opens at nine."),
        ("It opens at nine.", ["supported"], True, "The museum opens at nine."),
        ("It opens at nine. Nobody knows.", ["supported", None], None, "The museum opens at nine."),  # declined
        ("…", [], True, ""),  # claims nothing
    ],
)
def test_a_tiny_model_guesses_sentence_by_sentence(
    answer: str, labels: list[str | None], accurate: bool | None, beside: str
) -> None:
    def share(request: DecisionRequest, question: str) -> float | None:
        assert SOURCE.document in request.state
        return None if "Nobody" in question else 0.7 if "opens" in question else 0.2

    model = ScriptedModel("x", lambda request: "", share)

    async def found() -> Grounding:
        ledger = Calls(Path(":memory:"))
        try:
            judge = CriteriaJudge(Caller(model, ledger, "judge", 1), JudgeSettings(level="decision"), Prompts())
            return await grounding_by_decisions(judge, SOURCE, answer)
        finally:
            ledger.close()

    made = asyncio.run(found())
    assert [unit.label for unit in made.units] == labels
    assert made.accurate is accurate
    assert all(answer[unit.start : unit.end] == unit.text for unit in made.units)
    if made.units:
        assert made.units[0].excerpts[0].text == beside
        assert made.units[0].reason == "P(supported) = 0.70"
    if accurate is not None and labels:
        assert "by a tiny model's guess" in shown.grounding_outcome(made).head
