"""The figures that the FACTS Grounding paper prints, computed from as few of them as determine the rest."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from truebench_hf.benchmarks.facts import rank as paper
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.ranks import fused_rank
from truebench_hf.report.table import paper_rows

TABLES = (paper.BEFORE, paper.AFTER)
COLUMNS = ("Macro-F1", "Acc.", "FPR", "FNR", "F1(+)", "F1(-)")


def columns(of: int, negative: int, missed: int, false_alarms: int) -> tuple[list[str], list[str]]:
    """Gold and predicted labels of so many positive and negative rows, of which so many were judged wrongly."""
    gold = ["yes"] * of + ["no"] * negative
    judged = ["no"] * missed + ["yes"] * (of - missed) + ["yes"] * false_alarms + ["no"] * (negative - false_alarms)
    return gold, judged


def shown(gold: list[str], judged: list[str]) -> list[float]:
    measures = ("macro_f1", "accuracy", "fpr", "fnr", "f1_yes", "f1_no")
    found = label_agreement(gold, judged, measures=measures)
    return [100 * (found[name].value or 0) for name in measures]


@pytest.mark.parametrize(("table", "positive", "negative"), [(2, 344, 62), (4, 150, 300)])
def test_fpr_and_fnr_give_every_other_column(table: int, positive: int, negative: int) -> None:
    # Table 2 says N=402 in its caption; only 344 accurate and 62 inaccurate responses (406) give its figures.
    rows = paper_rows("facts", f"facts_table{table}")
    assert len(rows) == {2: 21, 4: 6}[table]
    for row in rows:
        wrong = round(row["FNR"] * positive / 100), round(row["FPR"] * negative / 100)
        found = shown(*columns(positive, negative, *wrong))
        assert found == pytest.approx([row[name] for name in COLUMNS], abs=0.01), row


def test_always_accurate() -> None:
    assert [round(share, 2) for share in shown(*columns(344, 62, 0, 62))[:2]] == [45.87, 84.73]


@pytest.mark.parametrize("table", TABLES)
def test_means_and_half_widths_as_printed(table: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    for row in paper_rows("facts", table):
        scores = paper.paper_scores(table)[row["Response Model"]]
        # Six figures rounded to a tenth, and their mean is: a tenth is the most that rounding explains.
        assert mean(scores.values()) == pytest.approx(row["Average"], abs=0.1 + 1e-9)
        sizes = {f"{split}/{judge}": paper.SPLITS[split] for split, judge in scores}
        for name, n in {**sizes, "Average": sum(paper.SPLITS.values())}.items():
            low, high = proportion_confint(row[name] / 100 * n, n, method="normal")  # Wald's, as the paper has it
            assert 50 * (high - low) == pytest.approx(row[f"{name}/ci95"], abs=0.05), (row["Response Model"], name)


@pytest.mark.parametrize("table", TABLES)
def test_fused_ranks_as_printed(table: int) -> None:
    scores: dict[str, list[float | None]] = {model: [*row.values()] for model, row in paper.paper_scores(table).items()}
    found = fused_rank(scores)
    assert found.ranks == {row["Response Model"]: row["Fused Rank"] for row in paper_rows("facts", table)}
    assert found.cycles == ()
    assert len(found.tied) == 2  # pairs that win three rankings each: without a rule for ties there is no order
    without_means = {model: [*row, 50 - (sum(row) / 6)] for model, row in scores.items()}  # type: ignore[arg-type]
    assert fused_rank(without_means).ranks != found.ranks


@pytest.mark.parametrize("name", [2, 4, 5, 6])
def test_reference_rows_say_that_they_are_the_papers(name: int) -> None:
    folder = Path(paper.__file__).parent / "reference"
    whole: dict[str, Any] = json.loads(next(folder.glob(f"facts_table{name}_*.json")).read_text(encoding="utf-8"))
    assert (whole["paper"], whole["table"], whole["rows"]) == (
        "FACTS Grounding",
        name,
        paper_rows("facts", f"facts_table{name}"),
    )


def test_no_such_table() -> None:
    with pytest.raises(KeyError, match="facts_table1"):
        paper_rows("facts", "facts_table1")
