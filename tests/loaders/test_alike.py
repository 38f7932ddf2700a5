"""The same file is accepted or refused alike, whether a set is built from it or a command reads it; and how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from truebench_hf.benchmarks.facts import data as facts
from truebench_hf.benchmarks.rubric_eval import data as rubrics
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rubric_rows
from truebench_hf.benchmarks.truebench import data as truebench
from truebench_hf.errors import UserError

ROW = {"index": 1, "language": "EN", "category": "Editing", "sub_category": "s", "turns": 1,
       "input": ["Say a."], "criteria": [["is a", "is short"]]}  # fmt: skip
OWN = {"id": 1, "prompt": "Say a.", "criteria": "is a\nis short"}


def line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")


def lines(*rows: dict[str, Any]) -> bytes:
    return b"\n".join(map(line, rows)) + b"\n"


ONE, TWO = ROW, ROW | {"index": 2}
CSV = b'index,language,category,sub_category,input,criteria\n1,EN,Editing,s,"[""Say a.""]","[[""is a""]]"\n'
FILES: list[tuple[str, bytes, list[Any] | str, str]] = [
    # name, content, the ids or what is refused, why
    ("a.jsonl", lines(ONE, TWO), [1, 2], "as published"),
    ("a.jsonl", lines(ROW | {"index": "EN-1"}, TWO), ["EN-1", "2"], "ids that are texts"),
    ("a.jsonl", lines(ROW | {"index": "007"}, TWO), ["007", "2"], "a text of digits that is no number"),
    ("a.jsonl", lines({**ROW, "index": None}, {**ROW, "index": None}), ["60b8fad52dce", "60b8fad52dce-2"], "no ids: what is asked, and again"),
    ("a.jsonl", lines(OWN, OWN | {"id": 2}), [1, 2], "rows of one's own, without groups"),
    ("a.jsonl", b"\xef\xbb\xbf" + lines(ONE, TWO), [1, 2], "a byte order mark"),
    ("a.jsonl", lines(ROW | {"input": ["half \ud83d"]}), [1], "half a character in a prompt"),
    ("a.jsonl", line(ROW | {"input": ["\ud83d"]}).replace(b"\xed\xa0\xbd", b"half \\ud83d"), [1], "the same, escaped"),
    ("a.csv", CSV, [1], "cells of JSON"),
    ("a.jsonl", lines(ROW | {"index": "half \ud83d"}), "field 'index' holds half a character", "half a character in an id"),
    ("a.jsonl", lines(ROW | {"index": float("nan")}), "field 'index' must be a whole number or a text", "NaN for an id"),
    ("a.jsonl", lines(ROW | {"turns": 2}), "field 'turns' is 2, but 'input' has 1", "a count that is wrong"),
    ("a.jsonl", line(ONE) + b"\n{", "line 2: not JSON", "a line that is cut"),
    ("a.csv", CSV.replace(b"Editing", "é".encode("latin-1")), "save it as UTF-8", "another encoding of a table"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "wanted", "why"), FILES, ids=[case[3] for case in FILES])
def test_data_build_and_run_take_the_same(
    tmp_path: Path, name: str, content: bytes, wanted: list[Any] | str, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    if isinstance(wanted, str):
        for read in (truebench.load, lambda data: truebench_hf.load("truebench", source=data, strict=True)):
            with pytest.raises(UserError, match=wanted) as caught:
                read(str(tmp_path / name))
            assert "\n" not in str(caught.value)
        return
    built = truebench_hf.load("truebench", split="test", source=tmp_path / name, strict=True)
    assert built["index"] == wanted, why
    ran = truebench.load(str(tmp_path / name))
    assert [instance.id for instance in ran] == list(map(str, wanted))
    built.to_parquet(tmp_path / "built.parquet")
    again = truebench.load(str(tmp_path / "built.parquet"))
    if "half" not in why and "and in" not in why and why != "the same, escaped":
        assert again == ran, "a run on what was built is a run on the file"
    else:
        assert "\ufffd" in str(again)


def test_what_a_build_mends_it_says(tmp_path: Path) -> None:
    from truebench_hf.loaders.export import export

    (tmp_path / "a.jsonl").write_bytes(lines(ONE, ROW | {"index": 2, "input": ["half \ud83d"]}))
    notes = export("truebench", tmp_path / "out", source=str(tmp_path / "a.jsonl")).facts.notes
    assert notes[0] == "1 rows held half a character (a lone surrogate), now U+FFFD"


RUBRIC = {name: value for name, value in rubric_rows(seed=0)[0].items() if name != "pair_id"} | {"split": "easy"}
FACT = dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), "Say a.")
OTHERS: list[tuple[str, dict[str, Any], bool, str]] = [
    ("rubric_eval", RUBRIC | {"response": "half \ud83d"}, True, "half a character in a response"),
    ("rubric_eval", RUBRIC | {"label": 1}, True, "a number for a label"),
    ("rubric_eval", RUBRIC | {"id": 5, "instruction_id": 7}, True, "ids that are numbers"),
    ("rubric_eval", RUBRIC | {"label": float("nan")}, False, "NaN for a label"),
    ("rubric_eval", RUBRIC | {"messages": None}, False, "nothing that was asked"),
    ("facts_grounding", FACT | {"context_document": "half \ud83d"}, True, "half a character in a document"),
    ("facts_grounding", FACT | {"user_request": None}, False, "no request"),
    ("facts_grounding", FACT | {"user_request": float("nan")}, False, "NaN for one"),
]


@pytest.mark.parametrize(("name", "row", "taken", "why"), OTHERS, ids=[f"{case[0]}: {case[3]}" for case in OTHERS])
def test_so_do_the_builders_and_commands_of_other_sets(
    tmp_path: Path, name: str, row: dict[str, Any], taken: bool, why: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + line(row) + b"\r\n\r\n")
    read = {"rubric_eval": lambda data: rubrics.items(rubrics.load(data)), "facts_grounding": facts.load}[name]

    def build(data: str) -> Any:
        return truebench_hf.load(name, source=data, strict=True)

    for way in (read, build):
        if taken:
            assert way(str(tmp_path / "a.jsonl")), why
        else:
            with pytest.raises(UserError):
                way(str(tmp_path / "a.jsonl"))
