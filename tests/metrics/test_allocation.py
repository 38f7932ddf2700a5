from __future__ import annotations

import pytest

from truebench_hf.metrics.double_sampling import AT_LEAST, allocate


@pytest.mark.parametrize(
    ("sizes", "n", "given", "reason"),
    [
        ({}, 5, {}, "nothing there"),
        ({"pass": 3}, 5, {"pass": 3}, "never more than there are"),
        ({"pass": 100, "fail": 100}, 1, {"pass": 1, "fail": 0}, "one label"),
        ({"pass": 1500, "fail": 500}, 200, {"pass": 150, "fail": 50}, "in proportion"),
        (
            {"pass": 1900, "fail": 80, "undecided": 20},
            200,
            {"pass": 187, "fail": 8, "undecided": 5},
            "a few of the rare",
        ),
        ({"pass": 1997, "fail": 0, "undecided": 3}, 200, {"pass": 197, "fail": 0, "undecided": 3}, "all of the rarest"),
        ({"pass": 1000, "fail": 10, "undecided": 10}, 15, {"pass": 5, "fail": 5, "undecided": 5}, "few labels"),
    ],
)
def test_labels_by_stratum(sizes: dict[str, int], n: int, given: dict[str, int], reason: str) -> None:
    assert allocate(sizes, n) == given, reason


@pytest.mark.parametrize("sizes", [{"a": 6, "b": 6, "c": 2}, {"a": 1337, "b": 91, "c": 7}, {"a": 10, "b": 10, "c": 10}])
def test_more_labels_hold_fewer(sizes: dict[str, int]) -> None:
    # Rounding by the largest remainder fails on 6, 6, 2: of 10 labels the third gets 2, of 11 it gets 1.
    before = dict.fromkeys(sizes, 0)
    for n in range(1, min(400, sum(sizes.values())) + 1):
        now = allocate(sizes, n)
        assert sum(now.values()) == n
        assert sum(now[name] - before[name] for name in sizes) == 1
        assert min(now[name] - before[name] for name in sizes) == 0
        before = now


def test_the_rare_get_no_more_than_a_few() -> None:
    assert allocate({"pass": 10_000, "undecided": 100}, 200)["undecided"] == AT_LEAST
