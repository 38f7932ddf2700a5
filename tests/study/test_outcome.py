"""What a study hands over becomes files, a report and a place on a leaderboard, and comes back as the same tables."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.report.table import Column, Table
from truebench_hf.results.folder import Results
from truebench_hf.study.outcome import Outcome, write
from truebench_hf.study.ranking import Ranking
from truebench_hf.types import Score

LONG = Table(
    "scores",
    (
        Column("model", "Model"), Column("group", "Group"), Column("name", "Score"),
        Column("rate", "%", "score", parts=("value", "interval", "n"), drawn=True),
    ),
    [
        {"model": "hf:/models/a", "group": "", "name": "overall", "rate": Score(0.5, 4, 1, (0.2, 0.8))},
        {"model": "hf:/models/a", "group": "category", "name": "Coding", "rate": Score(1.0, 2)},
        {"model": "hf:/other/a", "group": "", "name": "overall", "rate": Score(None, 0, 5)},
        {"model": "GPT", "group": "", "name": "overall", "rate": Score(0.7, 0), "published": True},
    ],
    "Scores", keys=3,
)  # fmt: skip
COUNTS = Table("counts", (Column("kind", "Kind"), Column("n", "n", "count")), [{"kind": "=1+1", "n": 3}])


def written(folder: Path, outcome: Outcome[None]) -> Results:
    run = RunFolder(str(folder), {"data": "mini"}, kind="test")
    try:
        write(run, outcome)
    finally:
        run.ledger.close()
    return Results.open(folder)


def test_files_follow_from_tables_and_come_back_as_the_same_tables(tmp_path: Path) -> None:
    items = {"rows.jsonl": [{"id": "a"}]}
    results = written(
        tmp_path, Outcome(None, title="A study", tables=[LONG, COUNTS], items=items, notes=["One model is missing."])
    )
    scores = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert list(scores) == ["scores", "counts", "notes"]
    assert scores["scores"][0]["rate"] == {"value": 0.5, "interval": [0.2, 0.8], "n": 4, "unscored": 1}
    assert (scores["scores"][3]["published"], scores["notes"]) == (True, ["One model is missing."])
    assert json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8")) == {"id": "a"}
    for table in (LONG, COUNTS):
        again = results.tables[table.name]
        assert (again.texts, again.columns, again.marks) == (table.texts, [*table.columns], table.marks)
        assert (tmp_path / "tables" / f"{table.name}.csv").read_text(encoding="utf-8") == table.to_csv()
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "A study" in page
    assert "One model is missing." in page
    assert "paper" in page


def test_a_table_that_is_gone_leaves_no_file_behind(tmp_path: Path) -> None:
    written(tmp_path, Outcome(None, title="A study", tables=[LONG, COUNTS]))
    results = written(tmp_path, Outcome(None, title="A study", tables=[COUNTS]))
    assert ([file.name for file in (tmp_path / "tables").iterdir()], list(results.tables)) == (
        ["counts.csv"],
        ["counts"],
    )


@pytest.mark.parametrize(
    "damage",
    [
        "",  # cut off
        "[]",  # something else
        '{"scores": [{"model": "a"}], "counts": [], "notes": []}',  # a column is missing
        '{"counts": [], "notes": []}',  # a table is missing
    ],
)
def test_tables_that_cannot_be_read_are_a_line_with_a_remedy(tmp_path: Path, damage: str) -> None:
    results = written(tmp_path, Outcome(None, title="A study", tables=[LONG, COUNTS]))
    (tmp_path / "scores.json").write_text(damage, encoding="utf-8")
    with pytest.raises(UserError, match=r"scores\.json: is not as its study wrote it .* repeat the command"):
        results.tables  # noqa: B018


def wide(**cells: object) -> Table:
    columns = (
        Column("model", "Model"), Column("judge", "Judge"), Column("split", "Split"),
        Column("rate", "Pass rate", "score"), Column("tokens", "Tokens", "score", unit="", lower_is_better=True, group="Cost"),
        Column("calls", "Calls", "count"), Column("why", "Why", "prose"),
    )  # fmt: skip
    row = {
        "model": "hf:/models/a", "judge": "hf:/models/b (2 votes)", "split": "all", "rate": Score(0.5, 4),
        "tokens": Score(12.0, 4), "calls": 4, "why": "a long text", **cells,
    }  # fmt: skip
    return Table("models", columns, [row])


def test_a_board_follows_from_a_table() -> None:
    board = Ranking(wide(), "rate", ["data", {"votes": 2}], title="Models", unit="%").board()
    assert board is not None
    assert [(column.name, column.title, column.group, column.percent) for column in board.columns] == [
        ("rate", "Pass rate", "", True), ("tokens", "Tokens", "Cost", False),
    ]  # fmt: skip
    (row,) = board.rows
    assert (row.name, row.scores) == ("hf:a", {"rate": Score(0.5, 4), "tokens": Score(12.0, 4)})
    assert row.facts == {"Judge": "hf:b (2 votes)", "Split": "all"}  # counts and prose stand in the report alone
    assert (board.main, board.order, board.title, board.unit) == ("rate", "descending", "Models", "%")
    cheapest = Ranking(wide(), "tokens", []).board()
    assert cheapest
    assert cheapest.order == "ascending"


@pytest.mark.parametrize(
    ("other", "alike", "ranked_together"),
    [
        (wide(), ["data"], True),
        (wide(model="c", rate=Score(0.1, 2)), ["data"], True),  # another model is what a board is for
        (wide(judge="someone"), ["data"], True),  # a fact is no setting
        (wide(), ["other data"], False),
        (wide(split="hard"), ["data"], False),  # a column that is named
    ],
)
def test_rows_are_ranked_together_where_the_list_is_equal(
    other: Table, alike: list[str], ranked_together: bool
) -> None:
    first, second = (
        Ranking(wide(), "rate", ["data"], ["split"]).board(),
        Ranking(other, "rate", alike, ["split"]).board(),
    )
    assert first
    assert second
    assert (first.rows[0].setting == second.rows[0].setting) is ranked_together


def test_a_long_table_spreads_into_a_board_of_different_models() -> None:
    table = LONG.spread(("group", "name"), "rate")
    assert [column.name for column in table.columns] == ["model", "overall", "category:Coding"]
    board = Ranking(table, "overall", []).board()
    assert board is not None
    assert [row.name for row in board.rows] == ["hf:a#1", "hf:a#2"]  # two folders of one name; the paper's row is none
    assert board.columns[1].group == "category"
    assert board.rows[1].scores == {"overall": Score(None, 0, 5)}


def test_a_group_of_too_many_columns_and_a_table_without_rows_stay_off_the_board() -> None:
    names = [f"c{number}" for number in range(101)]
    columns = (
        Column("model", "Model"), Column("rate", "Rate", "score"), *(Column(n, n, "score", group="kinds") for n in names)
    )  # fmt: skip
    table = Table("models", columns, [{"model": "a", "rate": Score(1.0, 1)} | dict.fromkeys(names, Score(1.0, 1))])
    board = Ranking(table, "rate", []).board()
    assert board
    assert [column.name for column in board.columns] == ["rate"]
    assert Ranking(replace(table, rows=[]), "rate", []).board() is None


def test_csv_of_a_table_runs_nothing(tmp_path: Path) -> None:
    written(tmp_path, Outcome(None, title="A study", tables=[COUNTS]))
    with (tmp_path / "tables" / "counts.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["kind", "n"], ["'=1+1", "3"]]
