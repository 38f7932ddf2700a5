"""What the tab of judges shows: the papers' figures as printed, ours as the tables of the study have them, and never both in one chart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.space.sample_runs import SCRIPT
from tests.support.runs import script
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.comparing import papers, table
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.results.folder import Results
from truebench_hf.space.board import judges
from truebench_hf.space.board.asked import AskedJudges
from truebench_hf.space.board.figures import Bar, Cell, Chart
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.tabs import judges_html
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
    return Snapshot((*published.entries, *entries), kinds, True, 0.0)


def _texts(chart: Chart) -> dict[tuple[str, str], list[str]]:
    return {(group.title, row.name): [cell.text for cell in row.cells] for group in chart.groups for row in group.rows}


def test_judges_by_paradigm_and_part_with_the_best_first() -> None:
    now = _snapshot(
        _entry("weak", WAYS[0], 0.6), _entry("weak", WAYS[0], 0.5, "hard"), _entry("weak", WAYS[0], 0.7, "easy"),
        _entry("good", WAYS[0], 0.7), _entry("good", WAYS[1], 0.9),
        _entry("other", WAYS[0], 0.99, setting="t"), _entry("good", WAYS[0], 0.1, source="submitted", content="x"),
    )  # fmt: skip
    first, alone, sent = judges.sets(now)
    assert (first.title, first.judges) == ("labels · 100 rubrics", ("good", "weak"))
    chart = judges.by_paradigm(first)
    assert chart.heads == (
        "Judge and paradigm",
        "All",
        "Easy",
        "Hard",
        "Decided",
        "Calls per verdict",
        "Tokens per verdict",
    )
    assert _texts(chart) == {
        ("good", "checklist, reasoning"): ["90.0", "–", "–", "100 %", "–", "–"],
        ("good", "rubric, no reasoning"): ["70.0", "–", "–", "100 %", "–", "–"],
        ("weak", "rubric, no reasoning"): ["60.0", "70.0", "50.0", "100 %", "–", "–"],
    }
    bar = chart.groups[0].rows[0].cells[0]
    assert bar == Bar("90.0", 90.0, 90.0, 85.0, 95.0, "95 %: 85.0 to 95.0, 100 rubrics")
    assert chart.groups[0].rows[0].cells[1] == Bar("–", None, why="not told of this part"), "missing is no 0"
    assert chart.groups[0].rows[0].cells[4] == Cell("–", None, "not counted in this run")
    assert [(one.what, one.judges) for one in (alone, sent)] == [("measured", ("other",)), ("submitted", ("good",))]
    assert judges.page(now, AskedJudges(alone.id)).shown == alone
    assert judges.page(now, AskedJudges("nonsense", "weak")).judge == "weak"
    assert judges.page(now, AskedJudges("", "nobody")).judge == "good"


def test_data_without_all_categories_is_pooled_for_every_judge() -> None:
    pooled, wide = Score(0.8, 50, 0, (0.7, 0.9)), Score(0.75, 50, 0, (0.7, 0.8))
    (found,) = judges.sets(_snapshot(
        _entry("a", WAYS[0], None, pooled=pooled), _entry("b", WAYS[0], 0.9, pooled=wide)
    ))  # fmt: skip
    chart = judges.by_paradigm(found)
    assert [cells[0] for cells in _texts(chart).values()] == ["80.0", "75.0"]
    assert "all rubrics pooled" in chart.note


def test_two_runs_of_the_same_are_both_there_and_few_rubrics_are_pale() -> None:
    few = {"balanced:style_tone": Score(0.5, 12, 0, (0.2, 0.8))}
    (found,) = judges.sets(
        _snapshot(_entry("a", WAYS[0], 0.7, scores=few), _entry("a", WAYS[0], 0.6, key="k", content="y"))
    )
    assert list(_texts(judges.by_paradigm(found))) == [("a", WAYS[0]), ("a", f"{WAYS[0]}, run 2")]
    ((group,), heads) = judges.by_type(found, "a").groups, judges.by_type(found, "a").heads
    assert heads == ("Type", "Rubric, no reasoning", "Rubric, no reasoning, run 2")
    assert group.rows[0].cells == (
        Bar("50.0", 50.0, 50.0, 20.0, 80.0, "95 %: 20.0 to 80.0, 12 rubrics", True), Bar("–", None, why="no such rubric")
    )  # fmt: skip


def test_no_line_hides_another_of_its_name() -> None:
    (found,) = judges.sets(_snapshot(_entry("a", WAYS[0], 0.7), _entry("a", WAYS[0], 0.6, key="again")))
    assert [cells[0] for cells in _texts(judges.by_paradigm(found)).values()] == ["60.0", "70.0"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("meta")
    judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {"must": "FAIL"}}])
    metaeval(
        MetaevalOptions(
            data="rubric_mini", judge=(judge,), paradigms="rubric,checklist", limit=60, out=str(folder / "study")
        )
    )
    return folder


def test_ours_are_the_figures_of_the_run_with_what_it_spent(measured: Path) -> None:
    tables = Results.open(measured / "study").tables
    spent = {role.rpartition(" ")[2]: usage for role, usage in Results.open(measured / "study").spent.items()}
    board = BoardStore([measured])
    (found,) = judges.sets(board.snapshot)
    shown = _texts(judges.by_paradigm(found))
    for way, paradigm in (("rubric", "rubric, no reasoning"), ("checklist", "checklist, no reasoning")):
        row, usage = row_of(tables["judges"], paradigm=way), spent[way]
        every = row["pass_rate"].n + row["pass_rate"].unscored
        cells = shown["judge", paradigm]
        assert cells[0] == f"{100 * row['mean'].value:.1f}"
        tokens = usage.input_tokens + usage.output_tokens
        assert cells[-2:] == [f"{usage.calls / every:.2f}", f"{tokens / every:,.0f}"]
        by_type = judges.by_type(found, "scripted:judge.json")
        column = by_type.heads.index(paradigm.capitalize())
        kinds = {row.name: row.cells[column - 1] for group in by_type.groups for row in group.rows}
        value = row_of(tables["by_rubric_type"], paradigm=way)["rubric_type:quantity_limit"].value
        assert kinds["Quantity Limit"].text == f"{100 * value:.1f}"
    assert shown["judge", "rubric, no reasoning"][-2] == "1.00", "a call a rubric"


def test_the_page_says_what_words_mean_and_keeps_texts_texts(measured: Path) -> None:
    page = judges_html(BoardStore([measured]), AskedJudges())
    assert page.count("<dt>") == 3
    assert all(word in page for word in ("<dt>Paradigm</dt>", "<dt>Decision</dt>"))
    assert "RubricEval paper, Table 3" in page, "what RubricEval prints is a link to its board"
    assert "Demonstrations: made-up models" in page
    assert str(measured) not in page
    board = BoardStore()
    assert "truebench metaeval" in judges_html(board, AskedJudges()), "nothing measured yet"
    board.snapshot = _snapshot(_entry(SCRIPT, f"{SCRIPT} ${{x}}", 0.5, facts={"Rules": "{{x}}"}))
    hostile = judges_html(board, AskedJudges(judge=SCRIPT))
    assert not any(sign in hostile for sign in ("<script", "${", "{{"))
    assert "&lt;script&gt;" in hostile
