"""What a study hands over becomes files, a report and a place on a leaderboard, and comes back as the same tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import held
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.report.table import Column, Table
from truebench_hf.results.folder import Results
from truebench_hf.study.outcome import Outcome, write
from truebench_hf.study.ranking import Board, Ranking
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
    outcome = Outcome(None, title="A study", tables=[LONG, COUNTS], items=items, notes=["One model is missing."])
    results = written(tmp_path, outcome)
    scores = held(tmp_path / "scores.json")
    assert list(scores) == ["scores", "counts", "notes"]
    assert scores["scores"][0]["rate"] == {"value": 0.5, "interval": [0.2, 0.8], "n": 4, "unscored": 1}
    assert (scores["scores"][3]["published"], scores["notes"]) == (True, ["One model is missing."])
    assert held(tmp_path / "rows.jsonl") == [{"id": "a"}]
    for table in (LONG, COUNTS):
        again = results.tables[table.name]
        assert (again.texts, again.columns, again.marks) == (table.texts, [*table.columns], table.marks)
        assert (tmp_path / "tables" / f"{table.name}.csv").read_text(encoding="utf-8") == table.to_csv()
    assert "'=1+1" in COUNTS.to_csv(), "which runs nothing"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [text in page for text in ("A study", "One model is missing.", "paper")] == [True] * 3
    results = written(tmp_path, Outcome(None, title="A study", tables=[COUNTS]))
    assert [file.name for file in (tmp_path / "tables").iterdir()] == ["counts.csv"], "the other table is gone"
    assert list(results.tables) == ["counts"]


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


def board(table: Table, by: str, *alike: Any, **more: Any) -> Board:
    made = Ranking(table, by, alike, **more).board()
    assert made is not None
    return made


def test_a_board_follows_from_a_table() -> None:
    models = board(wide(), "rate", "data", {"votes": 2}, title="Models", unit="%")
    assert [(column.name, column.title, column.group, column.percent) for column in models.columns] == [
        ("rate", "Pass rate", "", True), ("tokens", "Tokens", "Cost", False),
    ]  # fmt: skip
    (row,) = models.rows
    assert (row.name, row.scores) == ("hf:a", {"rate": Score(0.5, 4), "tokens": Score(12.0, 4)})
    assert row.facts == {"Judge": "hf:b (2 votes)", "Split": "all"}  # counts and prose stand in the report alone
    assert (models.main, models.order, models.title, models.unit) == ("rate", "descending", "Models", "%")
    assert board(wide(), "tokens").order == "ascending"


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
        board(table, "rate", *equal, alike_in=["split"]) for table, equal in ((wide(), ["data"]), (other, alike))
    )
    assert (first.rows[0].setting == second.rows[0].setting) is ranked_together


def test_a_long_table_spreads_into_a_board_of_different_models() -> None:
    table = LONG.spread(("group", "name"), "rate")
    assert [column.name for column in table.columns] == ["model", "overall", "category:Coding"]
    spread = board(table, "overall")
    assert [row.name for row in spread.rows] == ["hf:a#1", "hf:a#2"]  # two folders of one name; the paper's row is none
    assert spread.columns[1].group == "category"
    assert spread.rows[1].scores == {"overall": Score(None, 0, 5)}


def test_a_group_of_too_many_columns_and_a_table_without_rows_stay_off_the_board() -> None:
    names = [f"c{number}" for number in range(101)]
    columns = (
        Column("model", "Model"), Column("rate", "Rate", "score"), *(Column(n, n, "score", group="kinds") for n in names)
    )  # fmt: skip
    table = Table("models", columns, [{"model": "a", "rate": Score(1.0, 1)} | dict.fromkeys(names, Score(1.0, 1))])
    assert [column.name for column in board(table, "rate").columns] == ["rate"]
    assert Ranking(replace(table, rows=[]), "rate", []).board() is None
