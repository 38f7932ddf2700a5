"""Several votes of one judge: stored per criterion, their flip rate in the scores and on the page."""

from __future__ import annotations

import pytest

from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.benchmarks.truebench.tables import conversations, run_tables
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Reader, to_row
from truebench_hf.judging.judge import majority
from truebench_hf.report.page import page as make
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Turn, Verdict


def judged(*votes: tuple[Label | None, ...]) -> Judged:
    criteria = tuple(Criterion(f"criterion {i}") for i in range(len(votes)))
    instance = Instance("a", "EN", "Editing", "Rewrite", (Turn("Do.", criteria),))
    response = Response("a", "m", (Message("user", "Do."), Message("assistant", "Done.")), ("",))
    verdicts = tuple(majority([Verdict(c, label) for label in row]) for c, row in zip(criteria, votes, strict=True))
    return Judged(instance, response, (verdicts,))


def test_the_flip_rate_is_a_score_where_there_are_votes() -> None:
    report = score([judged(("yes", "yes", "no"), ("yes", "yes", "yes"), (None, None, None))])
    assert report.scores["flip_rate"] == Score(0.5, 2, 1)


def test_the_mean_share_stands_beside_and_each_share_in_its_row() -> None:
    item = judged(("yes", "yes", "no"), ("yes", "yes", "yes"), (None, None, None))
    share = score([item]).scores["vote_share"]
    assert isinstance(share, Score)
    assert (share.value, share.n, share.unscored) == (pytest.approx((2 / 3 + 1) / 2), 2, 1)
    row = to_row(item, "judge")
    assert [verdict["vote_share"] for verdict in row["verdicts"][0]] == [pytest.approx(2 / 3), 1.0, None]
    Reader().judged(row, "line 1")


def test_one_answer_each_has_no_flip_rate() -> None:
    plain = judged(("yes",))
    once = Judged(plain.instance, plain.response, ((Verdict(Criterion("x"), "yes"),),))
    assert not {"flip_rate", "vote_share"} & set(score([once]).scores)
    assert "vote_share" not in to_row(once, "judge")["verdicts"][0][0]


def test_the_page_shows_the_votes_of_a_criterion() -> None:
    item = judged(("yes", None, "yes"))
    report = score([item], provenance={"model": "m"})
    page = "".join(make("Run", [*run_tables({"m": report}, [item]), conversations(report.provenance, [item])]))
    assert "(votes: yes, undecided, yes)" in page
    assert "Flip rate" in page
    assert "Vote share" in page
