"""Malformed input: build and commands refuse alike, name file, line and field, leave nothing behind, and tell."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.loaders.test_sources import RECORDS
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts import data as facts
from truebench_hf.benchmarks.rubric_eval import data as rubrics
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rubric_rows
from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench import data as truebench
from truebench_hf.data.row_files import unusable
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export

PACKAGE = Path(truebench_hf.__file__).parent / "benchmarks"


def first(path: str) -> dict[str, Any]:
    with (PACKAGE / path).open(encoding="utf-8") as file:
        return dict(json.loads(file.readline()))


TRUEBENCH = first("../data/truebench_mini.jsonl")
RUBRIC = {**rubric_rows(seed=0)[0], "split": "easy"}
LIST = first("../data/checklists_mini.jsonl")
ANSWER, PREFERENCE, RATING = LIST["answers"][0], LIST["preferences"][0], LIST["ratings"][0]
CHOSEN, SORTING = LIST["checklists"][0], LIST["categories"][0]
SECOND: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    # set, a good row, what is wrong with the row after it, and what must be said
    ("truebench", TRUEBENCH, {"system": "Be kind.", "index": 2}, "line 2: field 'system' tells a system, for which TRUEBench has no"),
    ("truebench", TRUEBENCH, {"criteria": [[{"text": "a", "weight": 2}]], "index": 2}, "without points or conditions"),
    ("truebench", TRUEBENCH, {"turns": 7, "index": 2}, "line 2: field 'turns' is 7"),
    ("truebench", TRUEBENCH, {}, "line 2: id '1' stands twice, first at .*line 1"),
    ("rubric_eval", RUBRIC, {"id": "b", "label": "maybe"}, "line 2: field 'label' must be yes or no, .* not 'maybe'"),
    ("rubric_eval", RUBRIC, {"id": "b", "rubric": "another"}, "line 2: field 'rubric' is not entry"),
    ("rubric_eval", RUBRIC, {"id": "b", "messages": [{"role": "assistant", "content": "x"}]}, "must end with the user's"),
    ("rubric_eval", RUBRIC, {"id": "b", "split": "medium"}, "line 2: field 'split' is 'medium', which is none of easy, hard"),
    ("rubric_eval", RUBRIC, {}, "line 2: id .* stands twice, first at .*line 1"),
    ("checklists", LIST, {"id": "b", "responses": "x"}, "line 2: field 'responses' must be JSON"),
    ("checklists", LIST, {"id": "b", "extra": 1}, "line 2: field 'extra' is unknown; leave it out"),
    ("checklists", LIST, {"id": "b", "answers": [{**ANSWER, "answers": ["yes"]}]}, r"field 'answers\[0\].answers' must hold one for each"),
    ("checklists", LIST, {"id": "b", "answers": [ANSWER, ANSWER]}, "'answers' has more than one of annotator ada, response_id"),
    ("checklists", LIST, {"id": "b", "preferences": [{**PREFERENCE, "rating": 6}]}, r"'preferences\[0\].rating' must be less than or equal to 5, not 6"),
    ("checklists", LIST, {"id": "b", "checklists": [CHOSEN, {**CHOSEN, "id": "d", "chosen": False}]}, "more than one of author construction, run 1"),
    ("checklists", LIST, {"id": "b", "ratings": [{**RATING, "effect": "easier"}]}, r"'ratings\[0\].effect' is of check_then_score"),
    ("checklists", LIST, {"id": "b", "categories": [{**SORTING, "categories": [["Length"]]}]}, r"'categories\[0\].categories' must hold one for each question, 4"),
    ("checklists", LIST, {}, "line 2: id 'tick-mini-01' stands twice, first at .*line 1"),
    ("facts_grounding", dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), "x"),
     {"full_prompt": ""}, "line 2: field 'full_prompt' must be a text that is not blank"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "good", "wrong", "told"), SECOND, ids=[f"{c[0]}: {c[3]}" for c in SECOND])
def test_the_second_row_is_wrong(
    tmp_path: Path, name: str, good: dict[str, Any], wrong: dict[str, Any], told: str
) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text(f"{json.dumps(good)}\n{json.dumps({**good, **wrong})}\n", encoding="utf-8")
    built = export(name, tmp_path / "out", source=str(source))
    assert sum(built.facts.rows["all"].values()) == 1, "the good row alone"
    note, told = built.facts.notes[0], told.replace(".*line 1", "line 1")
    assert note.startswith("rows.jsonl: 1 of 2 rows cannot be used and are left out: line 2")
    assert re.search(told, note)
    assert note in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    (reason,) = json.loads((tmp_path / "out" / "build.json").read_text(encoding="utf-8"))["left_out"]
    assert reason.startswith("rows.jsonl, line 2")


FLEX = {name: [first(f"flexbench/samples/{name}.jsonl")] for name in ("instructions", "dimensions", "conversations")}
FLEX["conversations"][0] |= {"target_dimensions": ["td-01"], "verdicts": [{"dimension_id": "td-01", "label": "yes"}]}
DANGLING: list[tuple[str, dict[str, Any], str]] = [
    ("dimensions", {"instruction_id": "none"}, "td-01: field 'instruction_id' names 'none'"),
    ("conversations", {"target_dimensions": ["td-99"]}, "field 'target_dimensions' names 'td-99'"),
    ("conversations", {"verdicts": [{"dimension_id": "td-99", "label": "no"}]}, "field 'verdicts' names 'td-99'"),
    ("conversations", {"verdicts": [{"dimension_id": "td-01", "label": "perhaps"}]}, r"'verdicts\[0\].label' is 'perhaps'"),
    ("instructions", {"words": "many"}, r"instructions\.jsonl: 1 of 1 rows .* line 1: field 'words' must be a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "wrong", "told"), DANGLING, ids=[case[2] for case in DANGLING])
def test_flexbench_references_must_hold(tmp_path: Path, config: str, wrong: dict[str, Any], told: str) -> None:
    folder = tmp_path / "flex"
    folder.mkdir()
    for name, rows in FLEX.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert len(truebench_hf.load("flexbench", config, "test", source=str(folder))) == 1
    (folder / f"{config}.jsonl").write_text(json.dumps({**FLEX[config][0], **wrong}), encoding="utf-8")
    with pytest.raises(UserError, match=told):
        export("flexbench", tmp_path / "out", source=str(folder))


def test_what_hangs_on_a_row_that_is_left_out_is_left_out_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = {name: [rows[0] | {"id": f"{rows[0]['id']}-2"}] for name, rows in FLEX.items()}
    bad = other["instructions"][0] | {"words": "many"}
    other["dimensions"][0] |= {"instruction_id": bad["id"]}
    other["conversations"][0] |= {"instruction_id": bad["id"]}
    for name, rows in FLEX.items():
        mine = [*rows, *(other[name] if name != "instructions" else [bad])]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in mine), encoding="utf-8")
    for number, (name, rows) in enumerate(FLEX.items(), 1):  # each is read with those that it refers to
        found = truebench_hf.load("flexbench", name, "test", source=str(tmp_path))
        assert [row["id"] for row in found] == [rows[0]["id"]]
        told = caplog.messages.pop()
        counted = f"{number} of {2 * number} rows cannot be used and are left out"
        assert f"{counted}: instructions.jsonl, line 2: field 'words'" in told
    (note,) = export("flexbench", tmp_path / "out", source=str(tmp_path)).facts.notes
    assert note == told, "each file counts once, though it was read for several configurations"
    assert "dimensions.jsonl, line 2, td-01-2: field 'instruction_id' names" in told
    assert "conversations.jsonl, line 2" in told
    with pytest.raises(UserError, match=r"instructions\.jsonl, line 2: field 'words'"):
        truebench_hf.load("flexbench", source=str(tmp_path), strict=True)


OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    (
        "rubric_mini",
        {"source": str(PACKAGE.parent / "data" / "truebench_mini.jsonl")},
        "is built in and takes no --source",
    ),
    ("rubric_eval", {}, "needs --source"),
    ("truebench", {"source": "x.jsonl"}, "--source x.jsonl: no such file; give a path"),
    ("truebench", {"source": str(PACKAGE)}, r"--source .*: holds no \.jsonl"),
    ("truebench", {"source": "http://127.0.0.1:9/rows.jsonl"}, "--source .*: cannot be had"),
    ("truebench_mini", {"split": "blind"}, "takes no --split"),
    (
        "checklists",
        {"split": "blind", "source": str(PACKAGE.parent / "data" / "checklists_mini.jsonl")},
        "checklists takes source, strict, and no --split",
    ),
    ("flexbench", {"source": str(PACKAGE.parent / "data")}, "holds no instructions.jsonl"),
]


@pytest.mark.parametrize(("name", "options", "told"), OPTIONS, ids=[f"{c[0]}: {c[2]}" for c in OPTIONS])
def test_options_that_do_not_fit(tmp_path: Path, name: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        export(name, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def dirty(tmp_path: Path) -> str:
    """Three conversations of HealthBench, of which the second has no rubrics."""
    rows: list[dict[str, Any]] = [RECORDS["healthbench"] | {"prompt_id": name} for name in ("a", "b", "c")]
    rows[1] = rows[1] | {"rubrics": []}
    return f"healthbench:{write_jsonl(tmp_path / 'hb.jsonl', rows)}"


def test_commands_on_instances_tell_of_rows_left_out(
    dirty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    answers = write_jsonl(tmp_path / "a.jsonl", [{"id": f"healthbench-{n}", "response": "Five cups."} for n in "ac"])
    for words in (
        ["judge", "--responses", answers, "--data", dirty, "--model-name", "m", "--judge", judge],
        ["data", "rules", "--data", dirty],
        ["study", "validate", "--data", dirty, "--validator", judge, "--estimate"],
    ):
        out = tmp_path / words[0]
        done = command_here(capsys, *words, "--out", str(out))
        told = " ".join(done.stdout.split())
        assert done.returncode == 0, done.stderr
        assert "Rows of the data left out: 1 (the first:" in told, words[0]
        assert "hb.jsonl, line 2: field 'rubrics' must be" in told, words[0]
        assert (out / "report.html").is_file() <= ("Rows of the data left out" in _text(out / "report.html"))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def test_a_selection_keeps_what_was_left_out(dirty: str) -> None:
    every = data.load(dirty)
    assert len(every) == 2
    (why,) = unusable(data.select(every, [], ["communication"]))
    assert "line 2" in why
    assert unusable(data.load("mini")) == unusable(data.select(data.load("mini"), ["de"], [])) == ()


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


RUBRIC_ROW = {name: value for name, value in rubric_rows(seed=0)[0].items() if name != "pair_id"} | {"split": "easy"}
FACT = dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), "Say a.")
OTHERS: list[tuple[str, dict[str, Any], bool, str]] = [
    ("rubric_eval", RUBRIC_ROW | {"response": "half \ud83d"}, True, "half a character in a response"),
    ("rubric_eval", RUBRIC_ROW | {"label": 1}, True, "a number for a label"),
    ("rubric_eval", RUBRIC_ROW | {"id": 5, "instruction_id": 7}, True, "ids that are numbers"),
    ("rubric_eval", RUBRIC_ROW | {"label": float("nan")}, False, "NaN for a label"),
    ("rubric_eval", RUBRIC_ROW | {"messages": None}, False, "nothing that was asked"),
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
