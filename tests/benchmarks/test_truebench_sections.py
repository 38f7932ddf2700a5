"""What the report of a TRUEBench run shows: the run's own scores, counted by its own rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import pytest

from tests.benchmarks.test_truebench_scores import ITEMS, N, X, Y, judged
from truebench_hf.benchmarks.truebench.scores import as_frames, score
from truebench_hf.benchmarks.truebench.tables import (
    conversations,
    lead,
    missed_most,
    requirements,
    run_charts,
    run_tables,
)
from truebench_hf.data.judged import Judged
from truebench_hf.report.page import fragment, page
from truebench_hf.report.sections import Conversations, Matrix, Section
from truebench_hf.report.table import Table
from truebench_hf.results.report import Report
from truebench_hf.types import Criterion, Label, Score, Verdict

T = TypeVar("T")
MADE = {"model": "m", "judge": "j", "judging": {"level": "rubric", "reasoning": True}, "data": "mini"}


def of_type(found: Sequence[Section], kind: type[T]) -> list[T]:
    return [section for section in found if isinstance(section, kind)]


def sections(report: Report, judged: Sequence[Judged] = (), folder: str = "") -> list[Section]:
    """All that the report of a model shows, in order."""
    return all_sections({"m": report}, judged, folder)


def all_sections(reports: Mapping[str, Report], judged: Sequence[Judged], folder: str) -> list[Section]:
    frames = dict.fromkeys(reports, as_frames(judged))
    shown: list[Section] = [*run_tables(reports, judged), *run_charts(reports, frames, judged)]
    provenance = next(iter(reports.values())).provenance
    return [*shown, conversations(provenance, judged, folder)] if judged else shown


@pytest.mark.parametrize("protocol", ["default", "official"])
def test_the_map_and_the_instances_count_as_the_scores_do(protocol: str) -> None:
    """The sums over the map are those by category: both come from one function and one rule."""
    report = score(ITEMS, provenance=MADE | {"protocol": protocol})
    found = sections(report, ITEMS)
    (grid,), (talks,) = of_type(found, Matrix), of_type(found, Conversations)
    assert grid.columns == ("KO", "EN", "DE"), "in the official order"
    by_category = report.scores["by_category"]
    assert isinstance(by_category, dict)
    assert [name for name, _ in grid.rows] == list(by_category)
    for name, cells in grid.rows:
        there = [cell for cell in cells if cell]
        assert sum(cell.n for cell in there) == by_category[name].n
        passed = sum((cell.value or 0) * cell.n for cell in there)
        assert passed == pytest.approx((by_category[name].value or 0) * by_category[name].n)
    outcomes = [row.outcome for row in talks.rows]
    assert outcomes.count("open") == (2 if protocol == "default" else 0)
    overall = report.scores["overall"]
    assert isinstance(overall, Score)
    assert outcomes.count("yes") == round((overall.value or 0) * overall.n)


@pytest.mark.parametrize(
    ("protocol", "told", "untold"),
    [
        ("default", "left out of the pass rate", "Undecided"),
        ("official", "the official rule counts them by the labels given", "left out of the pass rate"),
    ],
)
def test_what_becomes_of_open_verdicts_is_said_by_protocol(protocol: str, told: str, untold: str) -> None:
    report = Report({"overall": Score(1.0, 1)}, {"3": "no label"}, {}, {"model": "m", "protocol": protocol})
    headline, unscored = sections(report)
    assert isinstance(headline, Table)
    assert isinstance(unscored, Table)
    assert told in unscored.title
    assert untold not in unscored.title + headline.note
    assert unscored.texts == [("3", "no label")]


def with_criteria(number: int, *said: tuple[str, Label | None]) -> Judged:
    item = judged(number, "KO", "Editing", "Rewrite", [[label for _, label in said]])
    return replace(item, verdicts=(tuple(Verdict(Criterion(text), label) for text, label in said),))


def test_criteria_failed_most_by_failures_then_by_share() -> None:
    items = [
        with_criteria(1, ("often", "no"), ("rare", "no"), ("never", "yes")),
        with_criteria(2, ("often", "no"), ("rare", "yes"), ("often", None)),
        with_criteria(3, ("alone", "no")),
    ]
    failed = missed_most(items)
    assert [row[:3] for row in failed.texts] == [("often", "2", "2"), ("alone", "1", "1"), ("rare", "1", "2")]


@pytest.mark.parametrize("label", ["yes", None])
def test_no_failure_no_list_of_failures(label: Label | None) -> None:
    items = [with_criteria(1, ("c", label))]
    assert missed_most(items).rows == []
    report = Report({"overall": Score(1.0, 1)})
    assert "Criteria failed most" not in [table.title for table in run_tables({"m": report}, items)]


def test_requirements_are_rows_with_what_was_measured_and_why() -> None:
    (item,) = [with_criteria(1, ("at most 3 words", "no"), ("is kind", "yes"), ("is not rude", "yes"))]
    short, kind, rude = item.verdicts[0]
    short = replace(short, judge="rules", reason="measured: 5 words")
    kind = replace(kind, judge="j", reason="It greets.")
    rude = replace(rude, criterion=replace(rude.criterion, weight=-2))  # a fault that is there
    item = replace(item, verdicts=((kind, rude, short),))
    table = requirements([item])
    assert [row.requirement for row in table.rows] == ["is not rude (-2 points)", "at most 3 words", "is kind"]
    cells = [row.cells[0] for row in table.rows]
    assert [(cell.outcome, cell.figure, cell.reason) for cell in cells] == [
        ("no", "", rude.reason), ("no", "5 words", "measured: 5 words"), ("yes", "", "It greets.")
    ]  # fmt: skip
    html = fragment(table)
    assert "5 words" in html.split("</summary>")[1], "in the row itself"
    assert "It greets." in html.split("</summary>")[3], "behind the click"


@pytest.mark.parametrize(("judge", "shown"), [("none", False), ("j", True)])
def test_the_official_rule_is_no_figure_where_nobody_was_asked(judge: str, shown: bool) -> None:
    items = [with_criteria(1, ("counted", "yes"), ("is polite", None))]
    headline = of_type(sections(score(items, provenance=MADE | {"judge": judge}), items), Table)[0]
    assert ("Official rule" in [row["score"] for row in headline.rows]) is shown


def test_a_run_of_nothing_and_groups_without_rows() -> None:
    assert lead({}) == ""
    found = sections(Report({"overall": Score(None, 0), "by_language": {}}))
    assert [type(section) for section in found] == [Table]


@pytest.mark.parametrize("text", ["<&>" * 1000, "한" * 1000])
def test_a_page_stays_below_five_megabytes_whatever_the_run(text: str) -> None:
    """Here 4,000 answers, each to a task of its own, of two models."""
    items = [judged(n, "KO", "Editing", f"task {n}", [[Y, N, X]]) for n in range(2000)]
    for item in items:
        message = replace(item.response.messages[1], content=f"{item.instance.id} {text}")
        object.__setattr__(item.response, "messages", (item.response.messages[0], message))
    others = [replace(item, response=replace(item.response, model="n")) for item in items]
    one = sections(score(items, provenance=MADE), items, "runs/x")
    made = {"model": ["m", "n"]}
    reports = {"m": score(items, provenance=made), "n": score(others, provenance=made)}
    both = all_sections(reports, [*items, *others], "runs/x")
    for shown in (one, both):
        size = sum(len(part.encode()) for part in page("T", shown))
        assert 1_000_000 < size < 5_000_000
        assert "more: `truebench space --runs runs/x` shows all" in of_type(shown, Conversations)[0].note
