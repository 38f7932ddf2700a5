"""Scores of models against other scores of theirs; all outside scores here are made up."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.finished import finished, numbered, table
from tests.support.runs import command_here
from truebench_hf.comparing import correlate as shown
from truebench_hf.comparing.correlate import FAR, correlate, read_scores
from truebench_hf.errors import UserError
from truebench_hf.report.table import paper_rows

OURS = [{"model": f"org/M{n}", "score": 10.0 * n} for n in range(1, 13)]
THEIRS = [{"Model": f"openai:M{n}", "MMLU": 5.0 * n + (n % 2), "Arena": 1300 - n} for n in range(1, 13)]


def test_every_column_against_every_other(tmp_path: Path) -> None:
    ours, theirs = table(tmp_path / "ours.json", OURS), table(tmp_path / "theirs.json", THEIRS)
    correlated = correlate([ours], [theirs])
    assert [(p.column, p.other, len(p.points)) for p in correlated.pairings] == [
        ("score", "MMLU", 12), ("score", "Arena", 12),
    ]  # fmt: skip
    up, down = correlated.pairings
    assert up.agreement["spearman"].value == pytest.approx(1.0)
    assert (down.agreement["kendall"].value, down.line.slope, down.line.r2) == pytest.approx((-1.0, -10.0, 1.0))
    assert up.only == ((), ())
    strangers = correlate([ours], [table(tmp_path / "c.json", [{"model": "stranger", "s": 1}])])
    only = [note for note in shown.notes(strangers) if note.startswith("Only in ")]
    assert (" and 2 more; " in only[0], "c.json: stranger; names are" in only[1]) == (True, True), only


def test_by_hand(tmp_path: Path) -> None:
    # Ranks 1 2 3 4 against 2 1 3 4: rho 1 - 6 x 2 / 60, tau (5 - 1) / 6; line through (1, 2), (2, 1), (3, 3), (4, 4).
    ours = table(tmp_path / "a.json", [{"model": m, "s": y} for m, y in zip("abcd", (2, 1, 3, 4), strict=True)])
    theirs = table(tmp_path / "b.json", [{"model": m, "t": x} for m, x in zip("abcde", (1, 2, 3, 4, 5), strict=True)])
    (one,) = correlate([ours], [theirs]).pairings
    assert (one.agreement["spearman"].value, one.agreement["kendall"].value) == pytest.approx((0.8, 2 / 3))
    assert (one.line.slope, one.line.intercept, one.line.r2) == pytest.approx((0.8, 0.5, 0.64))
    assert list(one.points[["rank_x", "rank_y"]].itertuples(name=None)) == [
        ("d", 1, 1),
        ("c", 2, 2),
        ("a", 4, 3),
        ("b", 3, 4),
    ]
    assert one.only == ((), ("e",))
    assert (one.agreement["spearman"].ci95, one.agreement["kendall"].ci95) == (None, None)
    assert any("fewer than 10 models" in note for note in shown.notes(correlate([ours], [theirs])))


def test_the_published_scores_against_others_and_who_is_far_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = {row["Model"]: row["Overall"] for row in paper_rows("truebench", "truebench_table5")}
    made = [
        {"model": name, "made up": round(score * 1.2 + 5 + 2 * (place % 3) + (25 if name == "Phi-4" else 0), 1)}
        for place, (name, score) in enumerate(printed.items())
        if name != "o1"
    ]
    others = table(tmp_path / "b.json", [*made, {"model": "O1", "made up": 90}])
    done = command_here(capsys, "study", "correlate", "published", "--with", others, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "out" / "correlate.json").read_text())
    told, only = content["coefficients"][0], content["only"][0]
    assert (told["n"], only["scores"], only["others"]) == (31, ["o1"], ["O1"])
    assert [model["model"] for model in content["models"] if model["p_value"] < FAR] == ["Phi-4"]
    low, high = told["spearman"]["interval"]
    assert low < told["spearman"]["value"] < high <= 1
    assert "Only in TRUEBench as published: o1; names are compared exactly" in " ".join(done.stdout.split())
    assert "paper: MMLU-pro" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "least squares" in page
    assert "far off the line: Phi-4" in page
    rows = list(csv.DictReader((tmp_path / "out" / "models.csv").open()))
    assert len(rows) == 31


def test_runs_have_hard_and_soft_scores(tmp_path: Path) -> None:
    shares = (3, 6, 9)
    for share in shares:
        finished(tmp_path, f"M{share}", numbered([n < share for n in range(10)]))
    others = table(tmp_path / "b.json", [{"model": f"M{share}.json", "their score": share**2} for share in shares])
    found = correlate([str(tmp_path / "runs")], [others])
    assert [one.column for one in found.pairings] == ["hard", "soft (criterion)", "soft (turn)"]
    assert found.pairings[0].points["y"].tolist() == pytest.approx([0.9, 0.6, 0.3])
    outcome = shown.outcome(found)
    grid, plot = outcome.tables[0], outcome.charts[0]
    # Data on the one scale, what people read in percent: the line, too.
    assert grid.texts[0][-1] == f"{100 * found.pairings[0].line.slope:.3f}"  # type: ignore[union-attr]
    assert [y for _, y, *_ in plot.series[0].points] == pytest.approx([90, 60, 30])  # type: ignore[union-attr]
    told = outcome.items["correlate.json"]["models"]
    assert [point["y"] for point in told if point["column"] == "hard"] == pytest.approx([0.9, 0.6, 0.3])
    published = read_scores(["published"], (), "SCORES", "--column").frame["Overall"]
    assert published["o1"] == pytest.approx(0.6907)
    assert any(row["with"] == "Chatbot Arena" for row in grid.rows)  # type: ignore[union-attr]
    chosen = correlate([str(tmp_path / "runs")], [others], column=["soft (turn)"])
    assert [one.column for one in chosen.pairings] == ["soft (turn)"]


def test_runs_judged_otherwise_are_marked_and_two_of_one_model_refused(tmp_path: Path) -> None:
    for place, name in enumerate(("one", "two")):
        finished(tmp_path / str(place), name, {f"q{place}": True})
    assert "not all judged alike" in read_scores([str(tmp_path)], (), "SCORES", "--column").notes[0]
    finished(tmp_path / "2", "one", {"q0": True})
    with pytest.raises(UserError, match=r"one\.json stands in .* and in .*; name one run of each model"):
        read_scores([str(tmp_path)], (), "SCORES", "--column")


@pytest.mark.parametrize(
    ("name", "text", "columns", "wanted"),
    [
        ("a.csv", "Model,Score\no1,69.07%\nx, 5 \ny,\n", {"Score": {"o1": 69.07, "x": 5.0, "y": None}}, ()),
        ("a.csv", "id,s,t\no1,1,2\nx,-,nan\n", {"t": {"o1": 2.0, "x": None}}, ("t",)),
        ("a.tsv", "\ufeffname\ts\no1\t1\n", {"s": {"o1": 1.0}}, ()),
        ("a.jsonl", '{"llm": "o1", "s": 1, "note": "a"}\n{"llm": "x", "s": null}\n', {"s": {"o1": 1.0, "x": None}}, ()),
        ("a.csv", "model,s\no1,1\n,2\n", {"s": {"o1": 1.0}}, ()),
    ],
)
def test_tables_are_read(
    tmp_path: Path, name: str, text: str, columns: dict[str, Any], wanted: tuple[str, ...]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    scores = read_scores([str(tmp_path / name)], wanted, "SCORES", "--column").frame
    assert scores.astype(object).where(scores.notna(), None).to_dict() == columns


@pytest.mark.parametrize(
    ("text", "wanted", "match"),
    [
        ("a,b\n1,2\n", (), "no column names the models"),
        ("model,b\nx,red\n", (), "no column of numbers"),
        ("model,s\nx,1\nx,2\n", (), r"record 2: 'x' stands twice"),
        ("model,s\nopenai:x,1\norg/x,2\n", (), "'openai:x' and 'org/x' are both 'x'"),
        ("model,s\nx,1\n", ("t",), "unknown column for --column 't'"),
        ("model,s,t\nx,1,red\n", ("t",), "column 't' is not all numbers"),
        ("model,a,b,c,d,e,f,g\nx,1,2,3,4,5,6,7\n", (), "has 7 columns of numbers"),
        ("model,s\nx,True\n", (), "no column of numbers"),
        ("model,s\nx,inf\n", (), "no column of numbers"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, text: str, wanted: tuple[str, ...], match: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError, match=match):
        read_scores([str(tmp_path / "a.csv")], wanted, "SCORES", "--column")


@pytest.mark.parametrize(
    ("sources", "match"),
    [
        (lambda p: [], "SCORES: give a table"),
        (lambda p: [str(p / "nothing.csv")], "no such file"),
        (lambda p: [str(p)], "no run folder at or below it"),
        (lambda p: [table(p / "a.json", OURS), table(p / "b.json", OURS)], "of tables give one"),
    ],
)
def test_sources_that_cannot_be_used(tmp_path: Path, sources: Callable[[Path], list[str]], match: str) -> None:
    with pytest.raises(UserError, match=match):
        read_scores(sources(tmp_path), (), "SCORES", "--column")
