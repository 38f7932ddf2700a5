"""Scores of judged checklists on what is rare: nothing, ties alone, open questions; and intervals where there are enough."""

from __future__ import annotations

import pytest

from truebench_hf.benchmarks.tick.checklists import Listed, sections, summary
from truebench_hf.benchmarks.tick.scoring import SCORES, Graded, by_category, by_model, model_pairs, unscored_responses
from truebench_hf.data.judged import Judged
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.types import Criterion, Instance, Label, Response, Score, Turn, Verdict

MODELS = ("a", "b")


def graded(number: int, *answers: str, problem: str = "") -> Graded:
    """An instruction and per model its answers as letters: y, n, or ? for an open question."""
    criteria = tuple(Criterion(f"Is it {i}?") for i in range(len(answers[0]) if answers else 0))
    instance = Instance(str(number), "", "", "", (Turn("Say it.", criteria),))
    judged = {}
    for model, letters in zip(MODELS, answers, strict=False):
        labels: list[Label | None] = [{"y": "yes", "n": "no"}.get(letter) for letter in letters]  # type: ignore[misc]
        verdicts = tuple(Verdict(c, label, "why") for c, label in zip(criteria, labels, strict=True))
        judged[model] = [Judged(instance, Response(str(number), model, ()), (verdicts,))]
    return Graded(Listed(instance, "data", problem=problem), judged)


def test_nothing() -> None:
    assert by_model([], ["a"]) == {name: {"a": Score(None, 0)} for name in SCORES}
    (pair,) = model_pairs([], MODELS)
    assert (pair.win.value, pair.difference.n) == (None, 0)
    assert by_category([], MODELS) == {}
    assert unscored_responses([], MODELS) == []
    assert summary([])["mean"] is None
    assert [section.title for section in sections(summary([]))] == ["Checklists"]


def test_ties_alone() -> None:
    same = [graded(n, "yn", "ny") for n in range(12)]
    (pair,) = model_pairs(same, MODELS)
    assert (pair.win.value, pair.tie.value, pair.loss.value) == (0.0, 1.0, 0.0)
    assert (pair.difference.difference, pair.difference.ahead) == (0.0, 0)


def test_open_questions_and_no_checklist() -> None:
    some = [graded(1, "y?", "yy"), graded(2, problem="cut off"), graded(3, "yn")]
    found = by_model(some, MODELS)
    assert found["pass_rate"] == {"a": Score(0.5, 1, 2), "b": Score(1.0, 1, 2)}
    assert found["drfr"] == {"a": Score(pytest.approx(2 / 3), 3, 1), "b": Score(1.0, 2, 0)}
    assert found["all_met"]["a"].n == 1, "one open, one without a checklist"
    assert [(one["id"], one["model"], one["reason"]) for one in unscored_responses(some, MODELS)] == [
        ("1", "a", "why"), ("2", None, "no checklist: cut off"), ("3", "b", "no response")
    ]  # fmt: skip


def test_intervals_are_those_of_the_metrics() -> None:
    """Of twelve instructions, by instruction: checklists of unequal length weigh alike in one and not in the other."""
    some = [graded(n, "y" * (n % 3 + 1) + "n" * (n % 2), "y" + "n" * (n % 3 + n % 2)) for n in range(12)]
    found = by_model(some, MODELS)
    labels = [one.labels("a") for one in some]
    assert found["drfr"]["a"] == drfr(labels)
    shares = {model: [one.share(model) for one in some] for model in MODELS}
    known = [share for share in shares["a"] if share is not None]
    assert found["pass_rate"]["a"].value == pytest.approx(sum(known) / 12)
    assert found["pass_rate"]["a"].ci95 is not None
    (pair,) = model_pairs(some, MODELS)
    assert pair.difference == paired_difference(shares["a"], shares["b"])
    assert pair.difference.interval is not None
    assert pair.win.n == pair.tie.n == pair.loss.n == 12
