"""Sources of rubrics, real files and hand-made records: what comes through into items, instances and commands."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpus import lines
from tests.support.runs import command_here, run_scores, script
from truebench_hf.benchmarks.rubric_eval import data as rubric_data
from truebench_hf.benchmarks.truebench.data import load
from truebench_hf.data.checklist_rows import load_entries
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources import is_source, read
from truebench_hf.data.sources.forms import sets
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Message

REAL = Path(__file__).parents[2] / ".." / "shared" / "data"


def real(name: str) -> Path:
    path = REAL / name
    if not path.exists():
        pytest.skip(f"the real file ../shared/data/{name} is not here")
    return path


def test_the_real_structflowbench() -> None:
    found = read("structflowbench", real("structflowbench/StructFlowBench.json"))
    places = [source.instruction_id.split("-")[1:] for source in found]  # conversation, turn
    assert len({conversation for conversation, _ in places}) == 155
    assert len(found) == 643  # turns, the "instructions" of RubricEval's Table 5
    assert sum(len(source.rubrics) for source in found) == 1775
    kinds = Counter(rubric.hint for source in found for rubric in source.rubrics)
    assert kinds["Content Constraint"] == 505
    assert kinds["recall"] == 32
    assert {source.category for source in found} == {"multi_turn"}
    for source, (_, turn) in zip(found, places, strict=True):
        roles = [message.role for message in source.messages]
        assert roles == ["user", "assistant"] * (int(turn) - 1) + ["user"]
        assert not source.answered
        assert source.reference


def test_the_real_llmbar() -> None:
    found = read("llmbar", real("llmbar"))
    pairs = {source.instruction_id for source in found}
    assert len(pairs) == 419
    assert len(found) == 838
    assert Counter(source.facts["subset"] for source in found) == {
        "Natural": 200, "Neighbor": 268, "GPTInst": 184, "GPTOut": 94, "Manual": 92,
    }  # fmt: skip
    for pair in pairs:
        both = [source for source in found if source.instruction_id == pair]
        assert sorted(source.facts["preferred"] for source in both) == [False, True]
        assert both[0].messages == both[1].messages
        assert all(source.case.response for source in both)
    first = json.loads((real("llmbar") / "Natural" / "dataset.json").read_text())[0]
    chosen = next(s for s in found if s.instruction_id == "llmbar-natural-000" and s.facts["preferred"])
    assert chosen.case.response == first[f"output_{first['label']}"]


USER = {"role": "user", "content": "Write a haiku about tea."}
HERE = Path(__file__).parent
RECORDS: dict[str, dict[str, Any]] = {
    case["set"]: case["row"] for case in map(json.loads, (HERE / "source_rows.jsonl").read_text("utf-8").splitlines())
}
RECORDS["complexbench_en"] = RECORDS["complexbench"]
RECORDS["rar_without_pitfalls"] = RECORDS["rar"]


def written(folder: Path, *rows: Any) -> Path:
    """The rows as a .json file, the shape most corpora have."""
    path = folder / "data.json"
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return path


def plain(item: Item) -> dict[str, Any]:
    """What an item holds, without what is empty or usual."""
    case = item.case
    usual = (None, None, 1)
    rest = [(one.kind, one.condition, one.weight) for one in case.criteria]
    fields = {
        "id": item.id, "instruction": item.instruction_id, "language": item.language, "category": item.category,
        "messages": [[message.role, message.content] for message in item.messages], "response": case.response,
        "criteria": [[one.text, *(more if more != usual else ())] for one, more in zip(case.criteria, rest, strict=True)],
        "stated": [rubric.text for rubric in item.rubrics if rubric.text not in {one.text for one in case.criteria}],
        "labels": [rubric.label for rubric in item.rubrics], "hints": [rubric.hint for rubric in item.rubrics],
        "reference": item.reference, "shown": case.reference, "model": item.model, "facts": dict(item.facts),
        "answered": item.answered,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value}


ITEMS = lines(__file__, "source_items")  # of each set, and of rows that are changed


@pytest.mark.parametrize("case", ITEMS, ids=[f"{case['set']}: {case['why']}" for case in ITEMS])
def test_what_is_read_of_a_row(tmp_path: Path, case: dict[str, Any]) -> None:
    rows = [RECORDS[case["set"]] | change for change in case["rows"]]
    assert [plain(item) for item in read(case["set"], written(tmp_path, *rows))] == case["items"]


def test_rubric_mini_comes_back_as_whole_responses(tmp_path: Path) -> None:
    rows = rubric_data.mini_rows()
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    found = read("rubric_eval", path)
    assert {source.id for source in found} == {row["response_id"] for row in rows}
    assert sum(len(source.rubrics) for source in found) == len(rows)
    by_id = {source.id: source for source in found}
    for row in rows:
        source, place = by_id[row["response_id"]], row["rubric_index"]
        assert source.case.criteria[place] == Criterion(row["rubric"], row["rubric_type"])
        assert source.rubrics[place].label == row["label"]
        assert source.case.response == row["response"]


def test_unknown_names_and_doubled_ids(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="sysbench"):
        read("sysbnch", tmp_path)
    with pytest.raises(UserError, match="no such file"):
        read("sysbench", tmp_path / "absent.json")
    with pytest.raises(UserError, match=r"no dataset\.json"):
        read("llmbar", _empty(tmp_path))


# What the public files hold beside good rows: what differs from a good row (`wrong`, without the fields `gone`), how many
# items come of it (`more`), and what is said where the row is left out.
WRONG = [json.loads(line) for line in (HERE / "wrong_rows.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", WRONG, ids=[f"{case['set']}: {case['why']}" for case in WRONG])
def test_a_dirty_row_is_used_or_left_out_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, case: dict[str, Any]
) -> None:
    name, told = case["set"], case["told"]
    row = RECORDS[name] | case["wrong"] if "wrong" in case else case["row"]
    for field in case.get("gone", ()):
        del row[field]
    clean = read(name, written(tmp_path, RECORDS[name]))
    found = read(name, written(tmp_path, RECORDS[name], row))
    assert found[: len(clean)] == clean
    assert len(found) == len(clean) + case["more"]
    assert bool(found.left_out) == bool(told) == bool(caplog.messages)
    if told:
        assert caplog.messages == [str(found.left_out)]
        assert caplog.messages[0].startswith("data.json: 1 of 2 rows cannot be used and are left out: record 2")
        assert told in caplog.messages[0]
        assert str(tmp_path) not in caplog.messages[0], "cards show it to strangers"
        with pytest.raises(UserError, match="record 2") as caught:
            read(name, tmp_path / "data.json", strict=True)
        assert "\n" not in str(caught.value)
        assert found.left_out.reasons == (str(caught.value),)


def test_every_reader_has_its_dirt() -> None:
    assert {case["set"] for case in WRONG} == set(RECORDS)


@pytest.mark.parametrize(
    ("lines", "used", "said", "reason"),
    [
        (["good", "bad"], 1, "1 of 2 rows", "half of it"),
        (["good", "bad", "bad"], None, "2 of 3 rows cannot be used and are left out: line 2: ", "more than half"),
        (["good", "good", '{"a', "new"], 2, "line 2: id 'wildbench-ab12' stands twice, first at line 1; line 3: not JSON", "kinds"),
        ([*(f"new{n}" for n in range(9)), *["bad"] * 6], 9, "line 12: field 'checklist' must be a list", "the first"),
        ([*(f"new{n}" for n in range(9)), *["bad"] * 6], 9, "; and 3 more", "not all of them"),
    ],
)  # fmt: skip
def test_how_much_of_a_file_may_be_bad(
    tmp_path: Path, lines: list[str], used: int | None, said: str, reason: str
) -> None:
    good = RECORDS["wildbench"]
    known = {"good": good, "bad": good | {"checklist": []}}
    rows = [known.get(line) or (good | {"session_id": line} if line.startswith("new") else line) for line in lines]
    path = tmp_path / "data.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    if used is None:
        with pytest.raises(UserError) as caught:
            read("wildbench", path)
        assert said in str(caught.value), reason
        assert str(caught.value).startswith(str(path))
    else:
        found = read("wildbench", path)
        assert len(found) == used
        assert said in str(found.left_out), reason


def test_bad_rows_of_several_files_are_counted_together(tmp_path: Path) -> None:
    for name, label in (("Natural", 1), ("Manual", 3)):
        (tmp_path / name).mkdir()
        rows = [RECORDS["llmbar"], RECORDS["llmbar"] | {"label": label}]
        (tmp_path / name / "dataset.json").write_text(json.dumps(rows))
    found = read("llmbar", tmp_path)
    assert len(found) == 6
    assert "1 of 4 rows cannot be used and are left out: Manual/dataset.json, record 2: field 'label'" in str(
        found.left_out
    )


def test_rows_of_a_response_that_do_not_fit_it_are_left_out(tmp_path: Path) -> None:
    whole = rubric_data.mini_rows()
    rows = [row for row in whole if row["response_id"] == whole[0]["response_id"]]
    another = {"checklist": ["another"], "rubric": "another", "rubric_index": 0}
    wrong = [rows[0] | another, rows[0] | {"rubric_index": 99}, rows[0] | {"response": None, "label": "yes"}]
    path = written(tmp_path, *rows, *wrong)
    found = read("rubric_eval", path)
    assert found == read("rubric_eval", written(tmp_path, *rows))
    assert len(found) == 1
    found = read("rubric_eval", written(tmp_path, *rows, *wrong))
    assert [reason.split("field ")[1][:14] for reason in found.left_out.reasons] == [
        "'checklist' di",
        "'rubric_index'",
        "'response' mus",
    ]


def test_what_was_left_out_is_printed_where_nobody_handles_it(tmp_path: Path) -> None:
    path = written(tmp_path, RECORDS["infobench"], RECORDS["infobench"])
    code = f"from truebench_hf.data.sources import read; read('infobench', {str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told = "data.json: 1 of 2 rows cannot be used and are left out: record 2: "
    assert done.stderr == f"{told}id 'infobench-task_7' stands twice, first at record 1\n"


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize("name", [name for name in sets() if name in RECORDS])
def test_any_value_in_any_field_is_read_or_refused(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(name)

    @settings(max_examples=12, deadline=None)
    @given(st.sampled_from(sorted(RECORDS[name])), JSON)
    def check(field: str, value: Any) -> None:
        row = {**RECORDS[name], field: value}
        try:
            found = read(name, written(folder, row))
        except UserError:
            return
        assert found
        for source in found:
            assert source.rubrics
            assert source.messages[-1].role == "user"

    check()


def test_rubrichub_in_both_forms(tmp_path: Path) -> None:
    (found,) = read("rubrichub", written(tmp_path, RECORDS["rubrichub"]))
    assert found.instruction_id == "rubrichub-r1"
    assert [(one.text, one.weight) for one in found.case.criteria] == [("Names one.", 10.0), ("Names two.", -5.0)]
    trained = {"prompt": [USER], "Rubrics": RECORDS["rubrichub"]["rubrics"], "ability": "chat"}
    other, again = read("rubrichub", written(tmp_path, trained, trained | {"ability": None}))
    assert other.case.criteria == found.case.criteria
    assert (other.instruction_id, again.instruction_id) == ("rubrichub-000000", "rubrichub-000001")
    assert other.messages == (Message("user", USER["content"]),)


@pytest.mark.parametrize("name", sorted(set(sets()) - {"rubric_eval"}))
def test_every_source_is_data_of_a_run(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, RECORDS[name])
    found, items = load(f"{name}:{path}"), read(name, path)
    assert [one.id for one in found] == list(dict.fromkeys(item.instruction_id for item in items))
    for one in found:
        item = next(item for item in items if item.instruction_id == one.id)
        assert one.turns[0].criteria == item.case.criteria, "weights, signs and conditions"
        said = ([] if one.system is None else [Message("system", one.system)]) + [*one.history]
        assert (*said, Message("user", one.turns[0].prompt)) == item.messages
        assert one.category
        assert one.language != "UND"


def test_what_is_a_source(tmp_path: Path) -> None:
    (tmp_path / "a:b.jsonl").write_text("{}")
    for name in ("hf://datasets/a/b", "https://x.y/z.jsonl", "mini", "", str(tmp_path / "a:b.jsonl"), "a/b@c", ["x"]):
        assert not is_source(name), name
    assert is_source("profbench:nvidia/ProfBench")
    with pytest.raises(UserError, match=r"profbnch.*profbench"):
        load("profbnch:x.jsonl")
    with pytest.raises(UserError, match="no such file"):
        load(f"profbench:{tmp_path / 'absent.jsonl'}")


def test_a_source_may_be_a_folder_or_what_was_saved(tmp_path: Path) -> None:
    from datasets import Dataset

    folder = tmp_path / "data"
    folder.mkdir()
    for split, name in (("train", "other"), ("test", "p1")):
        (folder / f"{split}.jsonl").write_text(json.dumps(RECORDS["healthbench"] | {"prompt_id": name}) + "\n")
    assert [item.instruction_id for item in read("healthbench", folder)] == ["healthbench-p1"], "of the split test"
    Dataset.from_list([RECORDS["rubrichub"]]).save_to_disk(tmp_path / "saved")
    assert [item.instruction_id for item in read("rubrichub", tmp_path / "saved")] == ["rubrichub-r1"]


def test_a_run_on_points_and_a_meta_evaluation_on_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, RECORDS["healthbench"])
    model = script(tmp_path / "model.json", [], {"reply": "At most five cups, but forty do no harm."})
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])  # all PASS: the fault too
    done = command_here(
        capsys,
        "run",
        "--data",
        f"healthbench:{path}",
        "--model",
        model,
        "--judge",
        judge,
        "--out",
        str(tmp_path / "run"),
    )
    assert done.returncode == 0, done.stderr
    scores = run_scores(tmp_path / "run")
    assert scores["overall"]["value"] == 0.0
    assert scores["weighted"]["value"] == 0.0, "(7 - 9) / 7, and never below 0"

    path = written(tmp_path, RECORDS["profbench"])
    judge = script(tmp_path / "labeller.json", [{"contains": "<criteri", "verdicts": {"dose": "FAIL"}}])
    done = command_here(
        capsys, "metaeval", "--data", f"profbench:{path}", "--judge", judge, "--paradigms", "checklist",
        "--out", str(tmp_path / "meta"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "meta" / "scores.json").read_text())["judges"]
    assert (found["accuracy"]["value"], found["accuracy"]["n"]) == (pytest.approx(2 / 3), 3)
    done = command_here(
        capsys, "metaeval", "--data", f"wildbench:{written(tmp_path, RECORDS['wildbench'])}", "--judge", judge,
        "--out", str(tmp_path / "none"),
    )  # fmt: skip
    assert (done.returncode, "no row has a label to measure judges by" in done.stderr) == (2, True)


def test_faults_are_no_questions_of_a_checklist(tmp_path: Path) -> None:
    left_out: list[str] = []
    (entry,) = load_entries(f"healthbench:{written(tmp_path, RECORDS['healthbench'])}", left_out)
    assert entry.row["checklists"][0]["questions"] == ["Names a limit."]
    assert left_out == ["healthbench: 1 criteria that name a fault, which is no question of a checklist"]


def test_a_rubric_without_responses_is_a_prompt_to_answer(tmp_path: Path) -> None:
    bare = {name: RECORDS["openrubrics"][name] for name in ("instruction", "rubric", "source")}
    (item,) = read("openrubrics", written(tmp_path, bare))
    assert not item.answered
