"""The tables of the TICK paper that ship as reference rows: what can be computed of them comes out as printed."""

from __future__ import annotations

import pytest

from truebench_hf.benchmarks.tick.scoring import paper_rows


@pytest.mark.parametrize("table", ["1", "2", "3a", "3b", "4", "5", "6", "7", "8"])
def test_every_table_is_there(table: str) -> None:
    assert all(len(row) > 1 for row in paper_rows(table))


def test_another_table_is_not() -> None:
    with pytest.raises(KeyError):
        paper_rows("9")


def test_the_weighted_distance_is_what_its_parts_make() -> None:
    for row in paper_rows("4"):
        assert row["PLD-0"] + row["PLD-1"] + row["PLD-2"] == pytest.approx(1, abs=0.0015)
        assert row["WPLD"] == pytest.approx(row["PLD-1"] + 2 * row["PLD-2"], abs=0.0015)


def test_one_printed_change_of_table_1_is_off_by_one() -> None:
    off = [
        (row["Task"], name)
        for row in paper_rows("1")
        for name in ("Command-R+/Self-Refine", "Command-R+/STICK", "GPT-4o/Self-Refine", "GPT-4o/STICK")
        if abs(row[name] - row[f"{name.split('/')[0]}/Base"] - row[f"{name}/delta"]) > 0.051
    ]
    assert off == [("Language", "Command-R+/Self-Refine")]
