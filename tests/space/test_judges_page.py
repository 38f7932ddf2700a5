"""What the tab of judges shows: ours as the tables of the study have them, never together with what a paper prints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.space.made import board_of, page, text_of
from tests.space.sample_runs import SCRIPT
from tests.support.runs import script
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.comparing import papers, table
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.report.table import Table
from truebench_hf.results.folder import Results
from truebench_hf.space.board import judges
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.pages import Query
from truebench_hf.types import Score

WAYS = ("rubric, no reasoning", "checklist, reasoning")


def _entry(name: str, way: str, value: float | None, part: str = "", **more: Any) -> BoardEntry:
    score = Score(value, 100 if value is not None else 0, 0, None if value is None else (value - 0.05, value + 0.05))
    pooled = more.pop("pooled", score)
    scores = {"category_mean": score, "pooled:balanced_accuracy": pooled} | more.pop("scores", {})
    facts = {"Paradigm": way, "Data": f"labels, {part}" if part else "labels"} | more.pop("facts", {})
    made = BoardEntry(
        f"{name}{way}{part}", "metaeval", name, "measured", f"s{part}", score, scores, facts, content=f"{name}{way}"
    )
    return replace(made, **more)


def _snapshot(*entries: BoardEntry) -> Snapshot:
    published = papers.PAPERS["metaeval"].published()
    kinds, _ = table.merged([published])
    return Snapshot((*published.entries, *entries), kinds)


def _drawn(now: Snapshot, **query: str) -> SimpleNamespace:
    """What the page of judges has to draw."""
    return SimpleNamespace(**(judges.page(now, Query(**query)) or {}))


def _cells(drawn: Table) -> dict[tuple[str, str], list[str]]:
    """The texts of the cells of each row, by its keys; scores without what stands beside them."""
    return {
        (str(row[drawn.columns[0].name]), str(row[drawn.columns[1].name])): [
            column.texts(row.get(column.name))[0] for column in drawn.columns[2:]
        ]
        for row in drawn.rows
    }


def test_judges_by_paradigm_and_part_with_the_best_first() -> None:
    now = _snapshot(
        _entry("weak", WAYS[0], 0.6), _entry("weak", WAYS[0], 0.5, "hard"), _entry("weak", WAYS[0], 0.7, "easy"),
        _entry("good", WAYS[0], 0.7), _entry("good", WAYS[1], 0.9),
        _entry("other", WAYS[0], 0.99, setting="t"), _entry("good", WAYS[0], 0.1, source="submitted", content="x"),
    )  # fmt: skip
    first = _drawn(now)
    assert (first.title, first.names) == ("labels · 100 rubrics", ("good", "weak"))
    drawn = first.tables[0]
    titles = ["Judge", "Paradigm", "All", "Easy", "Hard", "Decided"]
    assert [column.title for column in drawn.columns] == titles
    assert _cells(drawn) == {
        ("good", "checklist, reasoning"): ["90.0", "", "", "100 %"],
        ("good", "rubric, no reasoning"): ["70.0", "", "", "100 %"],
        ("weak", "rubric, no reasoning"): ["60.0", "70.0", "50.0", "100 %"],
    }
    assert (drawn.columns[2].mark, drawn.rows[0]["all"].n) == (0.5, 100)
    (alone,), (sent,) = first.others.values()
    assert (alone[1:], sent[1:]) == (("labels · 100 rubrics", 1), ("labels · 100 rubrics", 1))
    assert _drawn(now, set=alone[0]).names == ("other",)
    assert _drawn(now, set=sent[0]).names == ("good",)
    assert _drawn(now, set="nonsense", judge="weak").judge == "weak"
    assert _drawn(now, judge="nobody").judge == "good"
    text = text_of(page(now, tab="judges"))
    assert "Measured (1) labels · 100 rubrics 1 line" in text
    assert "Submitted by visitors: the verdicts are checked" in text


def test_data_without_all_categories_is_pooled_for_every_judge() -> None:
    pooled, wide = Score(0.8, 50, 0, (0.7, 0.9)), Score(0.75, 50, 0, (0.7, 0.8))
    now = _snapshot(_entry("a", WAYS[0], None, pooled=pooled), _entry("b", WAYS[0], 0.9, pooled=wide))
    drawn = _drawn(now).tables[0]
    assert [cells[0] for cells in _cells(drawn).values()] == ["80.0", "75.0"]
    assert "all rubrics counted together" in drawn.note


def test_no_line_hides_another_and_runs_of_the_same_are_numbered() -> None:
    few = {"balanced:style_tone": Score(0.5, 12, 0, (0.2, 0.8))}
    again = _entry("a", WAYS[0], 0.6, key="k", content="y")
    by_paradigm, by_type = _drawn(_snapshot(_entry("a", WAYS[0], 0.7, scores=few), again)).tables
    assert list(_cells(by_paradigm)) == [("a", WAYS[0]), ("a", f"{WAYS[0]}, run 2")]
    titles = ["Dimension", "Type", "Rubric, no reasoning", "Rubric, no reasoning, run 2"]
    assert [column.title for column in by_type.columns] == titles
    assert _cells(by_type) == {("Style", "Style Tone"): ["50.0", ""]}
    copies = _snapshot(_entry("a", WAYS[0], 0.7), replace(again, content=f"a{WAYS[0]}"))
    assert [cells[0] for cells in _cells(_drawn(copies).tables[0]).values()] == ["70.0", "60.0"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meta")
    judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {"must": "FAIL"}}])
    metaeval(
        MetaevalOptions(
            data="rubric_mini", judge=(judge,), paradigms="rubric,checklist", limit=24, out=str(folder / "study")
        )
    )
    return folder


def test_ours_are_the_figures_of_the_run_with_what_it_spent(measured: Path) -> None:
    tables = Results.open(measured / "study").tables
    spent = {role.rpartition(" ")[2]: usage for role, usage in Results.open(measured / "study").spent.items()}
    board = board_of(measured)
    by_paradigm, by_type = _drawn(board.snapshot).tables
    drawn = _cells(by_paradigm)
    for way, paradigm in (("rubric", "rubric, no reasoning"), ("checklist", "checklist, no reasoning")):
        row, usage = row_of(tables["judges"], paradigm=way), spent[way]
        total = row["pass_rate"].n + row["pass_rate"].unscored
        cells = drawn["judge", paradigm]
        assert cells[0] == f"{100 * row['mean'].value:.1f}"
        tokens = usage.input_tokens + usage.output_tokens
        assert cells[-2:] == [f"{usage.calls / total:.2f}", f"{tokens / total:.0f}"]
        limit = row_of(tables["by_rubric_type"], paradigm=way)["rubric_type:quantity_limit"]
        (shown,) = (row[paradigm] for row in by_type.rows if row["type"] == "Quantity Limit")
        assert shown.value == limit.value
    assert drawn["judge", "rubric, no reasoning"][-2] == "1.00", "a call a rubric"


def test_the_page_says_what_words_mean_and_keeps_texts_texts(measured: Path) -> None:
    board = board_of(measured)
    markup = page(board, tab="judges")
    assert markup.count("<b>Paradigm</b>") == 1
    assert "What RubricEval prints of judges</a>" in markup, "never in one table with ours"
    assert "Demonstrations: made-up models" in markup
    assert str(measured) not in markup
    assert "truebench metaeval" in page(BoardStore(), tab="judges"), "nothing measured yet"
    now = _snapshot(_entry(SCRIPT, f"{SCRIPT} ${{x}}", 0.5, facts={"Rules": "{{x}}"}))
    hostile = page(now, tab="judges", judge=SCRIPT)
    assert not any(sign in hostile for sign in ("<script", "${", "{{"))
    assert "&lt;script&gt;" in hostile
