"""RubricEval from files of other people's: names of columns and values, splits, and the counts beside the paper's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.tables import named
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export

# Whole responses: what is left out of a row is derived from those beside it.
ROWS = [{**row, "split": "hard" if n % 3 else "easy"} for n, row in enumerate(mini_rows(seed=0)[:420])]
for extra in ROWS:
    del extra["pair_id"], extra["trap"], extra["measurable"]


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {"context": None, "reference": None} | {name: value for name, value in row.items() if name != "split"}


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def source(tmp_path: Path) -> str:
    return write(tmp_path / "rows.jsonl", ROWS)


def test_both_splits_come_back(source: str) -> None:
    splits = truebench_hf.load("rubric_eval", source=source)
    for split in ("easy", "hard"):
        assert named(splits[split]) == [plain(row) for row in ROWS if row["split"] == split]


def test_other_names_for_columns_and_values(tmp_path: Path, source: str) -> None:
    """Types as the paper prints them, answers as booleans, and what can be derived left out."""
    theirs = [
        {
            **{
                name: value
                for name, value in row.items()
                if name not in ("response", "id", "rubric_index", "dimension")
            },
            "answer": row["response"],
            "rubric_type": row["rubric_type"].replace("_", " ").title(),
            "instruction_category": row["instruction_category"].replace("_", "-").title(),
            "label": row["label"] == "yes",
            "level": row["split"].upper(),
            "split": "ignored",
        }
        for row in ROWS
        if row["checklist"].count(row["rubric"]) == 1
    ]
    other = write(tmp_path / "theirs.jsonl", theirs)
    columns = {"response": "answer", "split": "level"}
    assert len(theirs) > 240
    ours = [*truebench_hf.load("rubric_eval", "all", "hard", source=other, columns=columns)]
    every = {row["id"]: row for row in truebench_hf.load("rubric_eval", "all", "hard", source=source)}
    assert [row | {"id": ""} for row in ours] == [every[row["id"]] | {"id": ""} for row in ours]
    with pytest.raises(
        UserError, match=r"line 1: missing field 'response'; the file has instruction_id, .*label_source"
    ):
        truebench_hf.load("rubric_eval", source=other)
    with pytest.raises(UserError, match=r"unknown column 'respons'.*did you mean response"):
        truebench_hf.load("rubric_eval", source=other, columns={"respons": "answer"})


def test_what_arbitration_leaves_out_stays_out(tmp_path: Path) -> None:
    """Rows without a rubric type of ours, an annotator without label, and a split without rows."""
    row = plain(ROWS[0]) | {"rubric_type": None, "dimension": None, "source_label": "their kind"}
    row["annotations"] = [{"annotator": "a", "label": None}]
    row["rationales"] = [{"judge": "a", "rationale": ""}]
    (tmp_path / "labels").mkdir()
    write(tmp_path / "labels" / "easy.jsonl", [row])
    write(tmp_path / "labels" / "hard.jsonl", [])
    built = export("rubric_eval", tmp_path / "out", source=str(tmp_path / "labels"))
    assert built.facts.rows["all"] == {"easy": 1}
    assert built.facts.notes == ("rows without rubric type: 1; `truebench study taxonomy` finds one",)


def test_counts_stand_beside_those_of_the_paper(tmp_path: Path) -> None:
    names = {
        "constrained": "infobench",
        "compositional": "ComplexBench",
        "multi_turn": "Struct-FlowBench",
        "system": "Own",
    }
    rows = [row | {"source_benchmark": names[row["instruction_category"]]} for row in ROWS]
    built = export("rubric_eval", tmp_path / "out", source=write(tmp_path / "rows.jsonl", rows))
    table = built.facts.tables[0]
    assert table.header[:4] == ("category", "source", "instructions", "instructions (paper)")
    assert table.header[4:] == ("easy", "easy (paper)", "hard", "hard (paper)", "total", "total (paper)")
    lines = [tuple(row.values()) for row in table.rows]
    found = {line[:2]: line[2:] for line in lines}

    def ours(category: str) -> list[int]:
        mine = [row for row in rows if row["instruction_category"] == category]
        easy = sum(row["split"] == "easy" for row in mine)
        return [len({row["instruction_id"] for row in mine}), easy, len(mine) - easy, len(mine)]

    # The paper's numbers are those of Table 8: instructions, easy, hard, total.
    assert found["constrained", "InfoBench_hard"][1::2] == (95, 72, 47, 119)
    assert list(found["constrained", "InfoBench_hard"][::2]) == ours("constrained")
    assert list(found["multi_turn", "StructFlowBench"][::2]) == ours("multi_turn")
    assert found["multi_turn", "StructFlowBench"][1::2] == (229, 186, 95, 281)
    assert list(found["system", "own"][::2]) == ours("system")
    assert found["system", "own"][1::2] == (None, None, None, None)
    assert found["system", "SysBench"][::2] == (0, 0, 0, 0)
    assert found["total", None][1::2] == (1989, 2034, 1452, 3486)
    assert found["total", None][-2] == len(rows)
    assert lines[-1][0] == "total"
