"""Several votes of one judge: stored per criterion, their flip rate in the scores and on the page."""

from __future__ import annotations

import pytest

from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Reader, to_row
from truebench_hf.judging.judge import majority
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Turn, Verdict


def judged(*votes: tuple[Label | None, ...]) -> Judged:
    criteria = tuple(Criterion(f"criterion {i}") for i in range(len(votes)))
    instance = Instance("a", "EN", "Editing", "Rewrite", (Turn("Do.", criteria),))
    response = Response("a", "m", (Message("user", "Do."), Message("assistant", "Done.")), ("",))
    verdicts = tuple(majority([Verdict(c, label) for label in row]) for c, row in zip(criteria, votes, strict=True))
    return Judged(instance, response, (verdicts,))


def test_the_mean_share_stands_beside_and_each_share_in_its_row() -> None:
    item = judged(("yes", "yes", "no"), ("yes", "yes", "yes"), (None, None, None))
    share = score([item]).scores["vote_share"]
    assert isinstance(share, Score)
    assert (share.value, share.n, share.unscored) == (pytest.approx((2 / 3 + 1) / 2), 2, 1)
    assert score([item]).scores["flip_rate"] == Score(0.5, 2, 1)
    once = Judged(item.instance, item.response, ((Verdict(Criterion("x"), "yes"),),))
    assert not {"flip_rate", "vote_share"} & set(score([once]).scores)
    row = to_row(item, "judge")
    assert [verdict["vote_share"] for verdict in row["verdicts"][0]] == [pytest.approx(2 / 3), 1.0, None]
    Reader().judged(row, "line 1")
