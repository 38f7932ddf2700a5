"""Charts keep apart what was measured, submitted and published, and name the judge where two lines read the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from truebench_hf.space.board import charts, entries
from truebench_hf.space.board.entries import Entry, Source
from truebench_hf.types import Score


def _entry(model: str, source: Source = "measured", judge: str = "j", data: str = "d") -> Entry:
    return Entry(f"{model}-{judge}-{data}", model, source, judge, data, "s", Score(50.0, 100), {}, 7.0)


LONG = "hf:a-very-long-name/of-a-model-7B-"


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([_entry("A"), _entry("B", "submitted"), _entry("C", "paper")], ["A", "B ‡", "C †"]),
        ([_entry("A"), _entry("A", "submitted"), _entry("A", "paper")], ["A", "A ‡", "A †"]),  # the mark tells enough
        ([_entry("A"), _entry("A", judge="k"), _entry("B")], ["A, j", "A, k", "B"]),
        ([_entry("A"), _entry("A", data="e")], ["A, j, d", "A, j, e"]),
        ([_entry("A", "submitted"), _entry("A", "submitted", "<k>")], ["A ‡, j", "A ‡, &lt;k&gt;"]),
        ([_entry(f"{LONG}1"), _entry("A")], [f"{LONG[:27]}…", "A"]),
        ([_entry(f"{LONG}1"), _entry(f"{LONG}2")], [f"{LONG}1", f"{LONG}2"]),  # what tells them apart is not cut off
    ],
)
def test_every_line_of_a_chart_has_a_name_of_its_own(lines: list[Entry], names: list[str]) -> None:
    assert [line.name for line in charts.radar(lines).data] == names
    heat = charts.heat_map(lines)
    assert list(heat.layout.yaxis.ticktext) == names[::-1]
    assert [row[0] for row in heat.data[0].customdata] == names[::-1]


def test_score_and_size_draws_each_kind_of_result_by_itself() -> None:
    lines = [_entry("A"), _entry("A", judge="k"), _entry("B", "submitted"), _entry("C", "paper")]
    drawn = {line.name: line for line in charts.score_by_size(lines).data}
    assert {name: list(line.text) for name, line in drawn.items()} == {
        "measured here": ["A, j", "A, k"], "submitted ‡": ["B ‡"], "published in the paper †": ["C †"],
    }  # fmt: skip
    looks = [{line.marker.symbol for line in drawn.values()}, {line.marker.color for line in drawn.values()}]
    assert [len(look) for look in looks] == [3, 3], "told apart by colour, and without it"


def test_what_there_is_none_of_is_not_in_the_key() -> None:
    published: Any = charts.score_by_size([replace(e, source="paper") for e in entries.published()])
    assert [line.name for line in published.data] == ["published in the paper †"]
    assert len(charts.score_by_size([]).data) == 0
