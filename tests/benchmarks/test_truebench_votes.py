"""Several votes of one judge: stored per criterion, their flip rate in the scores and on the page."""

from __future__ import annotations

from truebench_hf.benchmarks.truebench.records import Judged, to_row
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.judging.votes import majority
from truebench_hf.report.html import render
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Turn, Verdict


def judged(*votes: tuple[Label | None, ...]) -> Judged:
    criteria = tuple(Criterion(f"criterion {i}") for i in range(len(votes)))
    instance = Instance("a", "EN", "Editing", "Rewrite", (Turn("Do.", criteria),))
    response = Response("a", "m", (Message("user", "Do."), Message("assistant", "Done.")), ("",))
    verdicts = tuple(majority([Verdict(c, label) for label in row]) for c, row in zip(criteria, votes, strict=True))
    return Judged(instance, response, (verdicts,))


def test_the_flip_rate_is_a_score_where_there_are_votes() -> None:
    report = score([judged(("yes", "yes", "no"), ("yes", "yes", "yes"), (None, None, None))])
    assert report.scores["flip_rate"] == Score(50.0, 2, 1)


def test_one_answer_each_has_no_flip_rate() -> None:
    plain = judged(("yes",))
    once = Judged(plain.instance, plain.response, ((Verdict(Criterion("x"), "yes"),),))
    assert "flip_rate" not in score([once]).scores


def test_the_page_shows_the_votes_of_a_criterion() -> None:
    item = judged(("yes", None, "yes"))
    page = "".join(render("Run", score([item]), [to_row(item, "judge")]))
    assert "(votes: yes, undecided, yes)" in page
    assert "Flip rate" in page
