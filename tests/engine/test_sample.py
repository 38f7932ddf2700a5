"""The sample that `--limit` takes: in proportion, nested, and the same everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truebench_hf.benchmarks.truebench.data import GenerateOptions, load
from truebench_hf.benchmarks.truebench.run import selection
from truebench_hf.errors import UserError
from truebench_hf.study.items import sample

REAL = Path(__file__).parents[3] / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"
Row = tuple[str, str, str]  # name, stratum, group


def drawn(rows: list[Row], limit: int | None, seed: int = 0, grouped: bool = False) -> list[Row]:
    group = (lambda row: row[2]) if grouped else None
    return sample(rows, limit, lambda row: row[0], lambda row: (row[1],), seed, group)


def made(**sizes: int) -> list[Row]:
    return [(f"{name}{i}", name, f"g{i % 3}") for name, size in sizes.items() for i in range(size)]


@pytest.mark.parametrize(
    ("sizes", "limit", "expected", "reason"),
    [
        ({"a": 60, "b": 30, "c": 10}, 10, {"a": (6, 6), "b": (3, 3), "c": (1, 1)}, "whole shares"),
        ({"a": 60, "b": 30, "c": 10}, 20, {"a": (12, 12), "b": (6, 6), "c": (2, 2)}, "twice of it"),
        ({"a": 50, "b": 50}, 7, {"a": (3, 4), "b": (3, 4)}, "half a row over"),
        ({"a": 99, "b": 1}, 3, {"a": (2, 3), "b": (0, 1)}, "a rare stratum has its chance and no more"),
        ({"a": 5}, 3, {"a": (3, 3)}, "one stratum"),
        ({"a": 2, "b": 2}, 4, {"a": (2, 2), "b": (2, 2)}, "all of them"),
        ({"a": 2, "b": 2}, 9, {"a": (2, 2), "b": (2, 2)}, "more than there are"),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_shares(
    sizes: dict[str, int], limit: int, expected: dict[str, tuple[int, int]], reason: str, seed: int
) -> None:
    rows = made(**sizes)
    found = Counter(row[1] for row in drawn(rows, limit, seed))
    assert found.total() == min(limit, len(rows))
    assert all(low <= found[name] <= high for name, (low, high) in expected.items()), (found, reason)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(UserError, match=f"--limit {limit}: must be at least 1"):
        drawn(made(a=3), limit)


def test_no_rows_and_no_limit() -> None:
    assert drawn([], 3) == []
    assert drawn(made(a=3, b=2), None) == made(a=3, b=2)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.text(), st.sampled_from("abcde"), st.sampled_from("xyz")), min_size=1, max_size=40, unique=True),
    st.integers(1, 40), st.integers(1, 40), st.integers(0, 5), st.booleans(), st.randoms(),
)  # fmt: skip
def test_a_larger_sample_holds_a_smaller_one(
    rows: list[Row], first: int, second: int, seed: int, grouped: bool, shuffler: Any
) -> None:
    small, large = sorted((first, second))
    few, many = drawn(rows, small, seed, grouped), drawn(rows, large, seed, grouped)
    assert len(few) == min(small, len(rows))
    assert set(few) <= set(many)
    assert few == [row for row in rows if row in few], "in the order of the data"
    if len({row[0] for row in rows}) == len(rows):  # without names of their own only their order tells rows apart
        mixed = shuffler.sample(rows, len(rows))
        assert set(drawn(mixed, small, seed, grouped)) == set(few), "whatever the order of the data"


def test_every_group_has_its_turn_before_a_second_of_any() -> None:
    rows = [
        (f"{group}{i}", "ab"[number % 2], group) for number, group in enumerate("pqrstuvw") for i in range(1 + number)
    ]
    for limit, seed in ((8, 0), (8, 1), (5, 0), (15, 0)):
        found = Counter(row[2] for row in drawn(rows, limit, seed, grouped=True))
        assert max(found.values()) - 1 <= min(found.get(group, 0) for group in "qrstuvw"), (limit, found)
    assert Counter(row[1] for row in drawn(rows, 4, 0, grouped=True)) == {"a": 2, "b": 2}


@pytest.mark.parametrize("nested", [False, True])
def test_every_row_has_about_the_same_chance(nested: bool) -> None:
    rows = made(a=12, b=6, c=3)
    inner = {name: str(int(name[1:]) % 4 > 0) for name, *_ in rows}  # quarters inside, down to a single row
    taken: Counter[str] = Counter()
    for seed in range(600):
        few = sample(rows, 7, lambda r: r[0], lambda r: (r[1], inner[r[0]]) if nested else (r[1],), seed)
        taken.update(row[0] for row in few)
    assert set(taken) == {row[0] for row in rows}
    # 600 draws of a third of the rows: 200 times each, with a standard deviation of 12.
    assert all(145 < times < 255 for times in taken.values()), taken


def test_the_same_on_every_machine_and_whatever_hashes_are_seeded_with() -> None:
    expected = ["a1", "a3", "a5", "b2", "b3"]
    assert [row[0] for row in drawn(made(a=7, b=4, é=2), 5)] == expected, "a folder begun elsewhere must go on"


@pytest.mark.skipif(not REAL.is_file(), reason="the real file ../shared/data/truebench is not here")
def test_sixty_instances_of_the_real_file_are_a_fair_picture_of_it() -> None:
    every = load(str(REAL))
    items = selection(GenerateOptions(data=str(REAL), model="-", out="-"))
    sixty, thirty = items.sampled(60, 0), items.sampled(30, 0)
    assert {instance.id for instance in thirty} < {instance.id for instance in sixty}
    ways: list[tuple[Callable[[Any], str], int]] = [(lambda i: i.language, 12), (lambda i: i.category, 10)]
    for way, kinds in ways:
        shares, found = Counter(map(way, every)), Counter(map(way, sixty))
        assert len(found) == len(shares) == kinds, "every language, and every category"
        assert all(abs(found[name] - 60 * n / len(every)) < 2.5 for name, n in shares.items()), found
        for size in (120, 600, 1500):  # and it never goes astray
            found = Counter(map(way, items.sampled(size, 0)))
            assert all(abs(found[name] - size * n / len(every)) < 5 for name, n in shares.items()), (size, found)
