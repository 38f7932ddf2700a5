"""Charts keep apart what was measured, submitted and published, and name the judge where two lines read the same."""

from __future__ import annotations

from typing import Any

import pytest

from truebench_hf.space.board import charts, papers, table
from truebench_hf.space.board.runs import Entry, Run, Source
from truebench_hf.study.board import Column
from truebench_hf.types import Score


def _entry(model: str, source: Source = "measured", judge: str = "j", data: str = "d") -> Entry:
    score, facts = Score(0.5, 100), {"Judge": judge, "Data": data, "Size (B)": "7"}
    return Entry(f"{model}-{judge}-{data}", "truebench", model, source, "s", score, {"overall": score}, facts)


(KIND,), PAPER = table.merged([papers.PAPERS["truebench"].published()])


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
    assert [line.name for line in charts.radar(KIND, lines).data] == names
    heat = charts.heat_map(KIND, lines)
    assert list(heat.layout.yaxis.ticktext) == names[::-1]
    assert [row[0] for row in heat.data[0].customdata] == names[::-1]


def test_score_and_size_draws_each_kind_of_result_by_itself() -> None:
    lines = [_entry("A"), _entry("A", judge="k"), _entry("B", "submitted"), _entry("C", "paper")]
    drawn = {line.name: line for line in charts.score_by_size(KIND, lines).data}
    assert {name: list(line.text) for name, line in drawn.items()} == {
        "measured here": ["A, j", "A, k"], "submitted ‡": ["B ‡"], "published in the paper †": ["C †"],
    }  # fmt: skip
    looks = [{line.marker.symbol for line in drawn.values()}, {line.marker.color for line in drawn.values()}]
    assert [len(look) for look in looks] == [3, 3], "told apart by colour, and without it"


def test_what_there_is_none_of_is_not_in_the_key() -> None:
    published: Any = charts.score_by_size(KIND, PAPER)
    assert [line.name for line in published.data] == ["published in the paper †"]
    assert len(charts.score_by_size(KIND, []).data) == 0


def test_charts_follow_the_columns_that_are_there() -> None:
    columns = (
        Column("m", "Main"),
        *(Column(f"{g}{n}", f"{g}{n}", g, percent=False) for g in ("Tone", "Form") for n in range(3)),
    )
    scores = {"m": Score(2.5, 9), "Tone0": Score(1.0, 9), "Form1": Score(4.0, 9)}
    (kind,), lines = table.merged(
        [Run("k", "m", False, columns, (Entry("a", "k", "A", "measured", "s", Score(None, 0), scores),))]
    )
    assert list(charts.radar(kind, lines).data[0].theta) == ["Tone0", "Tone1", "Tone2", "Tone0"], "the first group"
    assert list(charts.radar(kind, lines, "Form").data[0].r) == [None, 4.0, None, None], "that of the view"
    assert list(charts.heat_map(kind, lines).data[0].x) == ["Form0", "Form1", "Form2"], "the last group"
    bare = table.merged([Run("k", "m", False, columns[:1], ())])[0][0]
    assert len(charts.radar(bare, lines).data[0].r) == 0
    assert charts.heat_map(bare, lines).data[0].x == ()
