"""Sets of labels: per row, then averaged; rows without gold or without prediction are counted."""

from __future__ import annotations

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import SetScores, set_scores


@pytest.mark.parametrize(
    ("gold", "predicted", "expected", "why"),
    [
        ([], [], SetScores(None, None, None, 0, 0, 0), "nothing"),
        ([{"Length"}], [{"Length"}], SetScores(1, 1, 1, 1, 0, 0), "a single one"),
        ([{"a"}, {"a", "b"}], [{"a", "b"}, {"a"}], SetScores(0.75, 0.75, 2 / 3, 2, 0, 0), "F1 is no harmonic mean"),
        ([set(), {"a"}], [{"a"}, {"a"}], SetScores(1, 1, 1, 1, 1, 0), "nobody can find what is not there"),
        ([{"a"}, {"b"}], [None, {"a"}], SetScores(0, 0, 0, 1, 0, 1), "no answer is left out, a wrong one counts"),
        ([{"a"}], [set()], SetScores(0, 0, 0, 1, 0, 0), "naming nothing finds nothing"),
        ([set()], [None], SetScores(None, None, None, 0, 1, 0), "an empty row is counted once"),
        ([{"長さ", "文体"}], [{"長さ"}], SetScores(1, 0.5, 2 / 3, 1, 0, 0), "any script"),
    ],
)
def test_sets(gold: list[set[str]], predicted: list[set[str] | None], expected: SetScores, why: str) -> None:
    found = set_scores(gold, predicted)
    assert (found.n, found.empty, found.undecided) == (expected.n, expected.empty, expected.undecided), why
    for name in ("precision", "recall", "f1"):
        wanted = getattr(expected, name)
        assert getattr(found, name) == (None if wanted is None else pytest.approx(wanted)), (why, name)


def test_columns_are_parallel() -> None:
    with pytest.raises(UserError, match="parallel"):
        set_scores([{"a"}], [])
