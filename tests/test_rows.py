"""Labels in files of labelled rubrics: one grammar, whoever reads them; and the files that rows stand in."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import items, mini_rows
from truebench_hf.benchmarks.rubric_eval.data import load as rubric_rows
from truebench_hf.benchmarks.rubric_eval.funnel import read_trusted
from truebench_hf.data.row_files import splits
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.rubric_eval import row as published

ROW = mini_rows()[0]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("yes", "yes"), ("Yes", "yes"), (" YES ", "yes"), (True, "yes"), ("True", "yes"), ("true", "yes"), (1, "yes"),
        ("1", "yes"), (1.0, "yes"), ("1.0", "yes"), ("no", "no"), ("NO", "no"), (False, "no"), ("False", "no"),
        ("false", "no"), (0, "no"), ("0", "no"), (0.0, "no"), ("0.0", "no"), (None, None), ("", None), (" ", None),
    ],
)  # fmt: skip
def test_every_reader_of_labels_takes_the_same(tmp_path: Path, value: Any, wanted: str | None) -> None:
    row = ROW | {"label": value}
    assert items([row])[0].rubrics[0].label == wanted
    path = write_jsonl(tmp_path / "rows.jsonl", [row, ROW | {"id": "other", "label": "no"}])
    found = read_trusted(path).get(ROW["id"])
    assert (found and found[0]) == wanted
    if wanted:
        assert published(Record("here", row))["label"] == wanted


@pytest.mark.parametrize(
    "value", ["unknown", "maybe", "y", "pass", "none", "nan", 2, 0.5, -1, float("nan"), ["yes"], {}]
)
def test_and_refuses_the_same(tmp_path: Path, value: Any) -> None:
    row = ROW | {"label": value}
    path = write_jsonl(tmp_path / "rows.jsonl", [row])
    for read in (lambda: items([row]), lambda: read_trusted(path), lambda: published(Record("here", row))):
        with pytest.raises(
            UserError, match="field 'label' must be yes or no, true or false, 1 or 0, or empty"
        ) as caught:
            read()
        assert "\n" not in str(caught.value)


def test_a_published_row_needs_its_label() -> None:
    with pytest.raises(UserError, match="field 'label' must be yes or no in this set"):
        published(Record("here", ROW | {"label": None}))


ROWS = [{"id": "1", "prompt": "a"}, {"id": "2", "prompt": "b\nc"}]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows in the form that the name of the file says, as the usual libraries write it."""
    from datasets import Dataset

    table = Dataset.from_list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    {".jsonl": table.to_json, ".json": table.to_json, ".csv": table.to_csv, ".parquet": table.to_parquet}[path.suffix](
        path
    )
    return path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("id;prompt\n1;a, b\n2;c\n", "where a comma is the decimal point"),
        ("\ufeffid;prompt\r\n1;a, b\r\n2;c\r\n;\r\n", "Excel's: a mark in front, an empty row behind"),
        ("id\tprompt\n1\ta, b\n2\tc\n", "tabs under the name of commas"),
        ('id,prompt\n1,"a, b"\n , \n2,c\n,\n', "rows of empty cells"),
    ],
)
def test_tables_as_spreadsheets_write_them(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "rows.csv").write_bytes(text.encode())
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("rows.csv", "rows.csv.gz"):
        rows = [dict(record.row) for record in splits(str(tmp_path / name))[""]]
        assert rows == [{"id": "1", "prompt": "a, b"}, {"id": "2", "prompt": "c"}], why


def test_an_empty_cell_of_the_only_column_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('response\na\n" "\n')
    assert [record.row["response"] for record in splits(str(tmp_path / "rows.csv"))[""]] == ["a", " "]


def test_a_folder_of_splits(tmp_path: Path) -> None:
    write(tmp_path / "test-00000-of-00002.parquet", ROWS[:1])
    write(tmp_path / "test-00001-of-00002.parquet", ROWS[1:])
    write(tmp_path / "train.jsonl", ROWS[:1])
    (tmp_path / "dataset_infos.json").write_text("{}")
    (tmp_path / "dev.jsonl").write_text("")
    found = {split: [record.row["id"] for record in records] for split, records in splits(str(tmp_path)).items()}
    assert {s: list(map(str, ids)) for s, ids in found.items()} == {"dev": [], "test": ["1", "2"], "train": ["1"]}
    assert [row["split"] for row in rubric_rows(str(tmp_path))] == ["test", "test", "train"]


def test_what_is_not_there_is_said_with_what_can_be_given(tmp_path: Path) -> None:
    for name in ("absent.jsonl", "org/absent.csv", "absent.txt.gz", "a b/c", ""):
        with pytest.raises(UserError, match=r"--it .*: no such file; give mini, a path .JSONL, .* or a Hub id"):
            splits(name, ("mini",), "--it")
    (tmp_path / "samples").mkdir()
    with pytest.raises(UserError, match=r"holds no \.jsonl, .*; give a file, or such a folder"):
        splits(str(tmp_path / "samples"))
    (tmp_path / "latin.csv").write_bytes("id\nü\n".encode("latin-1"))
    with pytest.raises(UserError, match="save it as UTF-8"):
        list(splits(str(tmp_path / "latin.csv"))[""])


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.csv", "id,criteria,prompt,criteria\n1,a,p,b\n", "a.csv: columns 2 and 4 are both called 'criteria'"),
        ("a.tsv", "criteria\tcriteria\na\tb\n", "a.tsv: columns 1 and 2 are both called 'criteria'"),
        ("a.csv", "id;prompt;id\n1;p;2\n", "columns 1 and 3 are both called 'id'"),
        ("a.csv", '"id",id\n1,2\n', "columns 1 and 2 are both called 'id'"),
        ("a.jsonl", '{"id": 1}\n{"prompt": "a", "prompt": "b"}\n', "a.jsonl, line 2: the key 'prompt' stands twice"),
        ("a.json", '[{"prompt": "a", "prompt": "a"}]', "a.json: the key 'prompt' stands twice"),
        ("a.jsonl", '{"turns": [{"prompt": "a", "prompt": "b"}]}\n', "the key 'prompt' stands twice"),
    ],
)
def test_two_values_of_one_name_are_refused(tmp_path: Path, name: str, text: str, told: str) -> None:
    """Of both the last would win, unnoticed."""
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=told):
        list(splits(str(tmp_path / name))[""])


def test_two_columns_of_one_name_in_parquet_and_in_memory(tmp_path: Path) -> None:
    import pandas
    import pyarrow as pa
    import pyarrow.parquet as pq

    import truebench_hf

    pq.write_table(pa.table([["a"], ["b"]], names=["prompt", "prompt"]), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="columns 1 and 2 are both called 'prompt'"):
        list(splits(str(tmp_path / "a.parquet"))[""])
    frame = pandas.DataFrame([["a", "b"]], columns=["prompt", "prompt"])
    with pytest.raises(UserError, match="data: columns 1 and 2 are both called 'prompt'"):
        truebench_hf.run(data=frame, model=lambda messages: "x", judge="none")


def test_columns_without_a_name_are_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,prompt,,\n1,a,,\n")
    assert [record.row["prompt"] for record in splits(str(tmp_path / "a.csv"))[""]] == ["a"]
