"""A table in each of its renderings: one set of values, said in the same words everywhere."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from truebench_hf.errors import UserError
from truebench_hf.report import console
from truebench_hf.report.console import present, show
from truebench_hf.report.page import fragment
from truebench_hf.report.sections import p_value, percent, points, points_between
from truebench_hf.report.table import WIDTH, Column, Table, pairs
from truebench_hf.types import Score

COLUMNS = (
    Column("model", "Model"),
    Column(
        "rate", "Pass rate", "score", "The share that passes.", parts=("value", "interval", "n", "unscored"), drawn=True
    ),
    Column("calls", "calls", "count", minor=1),
    Column("gap", "Gap", "score", unit="points", digits=1),
    Column("p", "p", "p_value"),
)
ROWS = (
    {"model": "a|b_%&", "rate": Score(0.5, 1200, 3, (0.4, 0.6)), "calls": 18, "gap": Score(-0.012, 9), "p": 0.00001},
    {"model": "=cmd()", "rate": Score(None, 0, 4), "calls": None, "gap": None, "p": None},
    {"model": "GPT", "rate": Score(0.25, 0), "published": True},
)
TABLE = Table("runs", COLUMNS, ROWS, "Runs", "A note.")


def test_texts_are_those_of_people() -> None:
    assert TABLE.header == ("Model", "Pass rate", "95 % interval", "n", "unscored", "calls", "Gap", "p")
    assert TABLE.texts == [
        ("a|b_%&", "50.00", "40.0 to 60.0", "1,200", "3", "18", "-1.2", "< 0.0001"),
        ("=cmd()", "-", "", "0", "4", "", "", ""),
        ("GPT", "25.00", "", "", "", "", "", ""),
    ]


def test_what_rounds_to_zero_has_no_minus() -> None:
    assert Column("c", "C", "number", unit="", digits=2).number(-1e-9) == "0.00"
    assert Column("c", "C", "score", unit="points").number(-1e-9) == "+0.00"
    assert Column("c", "C", "number", unit="", digits=2).number(-0.006) == "-0.01"


def test_records_have_every_part_of_a_score_and_survive_json() -> None:
    first, second, paper = json.loads(json.dumps(TABLE.records()))
    assert first["rate"] == {"value": 0.5, "interval": [0.4, 0.6], "n": 1200, "unscored": 3}
    assert second["rate"] == {"value": None, "interval": None, "n": 0, "unscored": 4}
    assert (first["calls"], second["gap"], "published" in first, paper["published"]) == (18, None, False, True)


def test_a_spreadsheet_runs_nothing_and_counts_stay_whole() -> None:
    header, first, second, paper = csv.reader(io.StringIO(TABLE.to_csv()))
    assert header[:6] == ["model", "rate", "rate_low", "rate_high", "rate_n", "rate_unscored"]
    assert (first[:7], second[0]) == (["a|b_%&", "0.5", "0.4", "0.6", "1200", "3", "18"], "'=cmd()")
    assert (header[-1], paper[-1]) == ("published", "True")


def test_markdown_and_latex_escape_what_would_break_them() -> None:
    lines = TABLE.to_markdown().splitlines()
    assert lines[1].startswith("| --- | --: |")
    assert lines[2].startswith("| a\\|b_%& | 50.00 |")
    assert lines[4].startswith("| paper: GPT | 25.00 |")
    latex = TABLE.to_latex()
    for text in ("\\toprule", "a|b\\_\\%\\& & 50.00 & 40.0 to 60.0", "\\caption{Runs}", "{lrrrrrrr}"):
        assert text in latex
    odd = replace(TABLE, rows=[{"model": "two\n\nlines"}], title="50 % of a_b & c").to_latex()
    assert (r"\caption{50 \% of a\_b \& c}" in odd, "\ntwo lines & " in odd) == (True, True)


def test_the_terminal_folds_the_least_important_columns_first(capsys: pytest.CaptureFixture[str]) -> None:
    wide = [Column(f"c{n}", f"Category {n}", "score", minor=1) for n in range(9)]
    row = {**ROWS[0], **{column.name: Score(0.5, 1) for column in wide}}
    show([Table("wide", (*COLUMNS, *wide), [row], "Wide")])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= WIDTH
    assert "calls, " not in shown.split("Folded: ")[1], "the last of the least important ones go first"
    assert "Gap" in shown.split("Folded: ")[0], "it is not minor"


def test_a_table_of_a_frame_has_none_for_every_kind_of_missing() -> None:
    frame = pd.DataFrame(
        {
            "model": ["a", None],
            "calls": pd.array([1, None], dtype="Int64"),
            "p": [float("nan"), 0.5],
            "rate": [Score(1.0, 1), None],
        }
    )
    table = Table.of_frame("t", frame, COLUMNS[:3])
    assert [tuple(row.values()) for row in table.rows] == [("a", Score(1.0, 1), 1), (None, None, None)]
    assert Table.of_frame("t", frame.iloc[:1], COLUMNS[:3]).records()[0]["calls"] == 1, "no float of one row"


def test_no_rows_are_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    empty = Table.of_frame("t", pd.DataFrame({"model": [], "rate": []}), COLUMNS)
    show([empty])
    assert "Pass rate" in capsys.readouterr().out
    assert (empty.records(), list(empty.to_pandas())) == ([], TABLE.to_csv().split("\n")[0].split(",")[:-1])
    assert empty.to_latex().count("rule") == 3
    assert fragment(empty).count("<tr>") == 1


def test_half_a_character_is_shown_as_its_escape_in_pandas() -> None:
    frame = replace(TABLE, rows=[{"model": "half a \ud83d"}, {"model": "whole \U0001f600"}]).to_pandas()
    assert frame["model"].tolist() == [r"half a \ud83d", "whole \U0001f600"]


def test_parts_of_scores_are_numbers_in_pandas() -> None:
    frame = TABLE.to_pandas()
    assert frame["rate_low"].isna().tolist() == [False, True, True]
    assert [str(frame[name].dtype) for name in ("rate", "rate_low", "rate_n")] == ["float64", "float64", "int64"]


def test_a_count_beside_a_missing_one_stays_a_whole_number_in_pandas() -> None:
    counts = Column("calls", "Calls", "count"), Column("mean", "Mean", "count"), Column("all", "All", "count")
    frame = Table("t", counts, [{"calls": 2**53 + 1, "mean": 2.5, "all": 1}, {"all": 2}]).to_pandas()
    assert [str(frame[name].dtype) for name in ("calls", "mean", "all")] == ["Int64", "float64", "int64"]
    assert frame["calls"].tolist()[0] == 2**53 + 1, "as a float it would be another number"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (percent(0.12345), "12.35"), (percent(0.12345, 1), "12.3"), (percent(None), "-"), (percent(0.0), "0.00"),
        (points(0.0123), "+1.2"), (points(-0.5, 2), "-50.00"), (points(0.0), "+0.0"), (points(None), "-"),
        (points_between((-0.01, 0.02)), "-1.0 to +2.0"), (points_between(None), ""),
        (p_value(0.5), "0.5000"), (p_value(0.0001), "0.0001"), (p_value(0.00009), "< 0.0001"), (p_value(0.0), "< 0.0001"),
        (p_value(None), ""),
    ],
)  # fmt: skip
def test_figures_as_they_read(shown: str, text: str) -> None:
    assert shown == text


def test_files_are_there_when_the_reader_of_the_terminal_goes_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `truebench compare A B --out X | head`."""

    def gone(*_: object, **__: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(console, "show", gone)
    with pytest.raises(BrokenPipeError):
        present("T", [pairs("G", [("a", "1")])], tmp_path / "out" / "report.html", files={"t.json": "{}"})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "t.json"]


def test_what_cannot_be_written_to_its_end_leaves_what_was_there(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a\n1\n")

    def parts() -> Iterator[str]:
        yield "a\n"
        raise UserError("the rest cannot be read")

    with pytest.raises(UserError, match="the rest"):
        present("T", [pairs("G", [("a", "1")])], tmp_path / "report.html", files={"t.csv": parts()})
    assert file.read_text() == "a\n1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "t.csv"]
