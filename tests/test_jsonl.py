"""JSON Lines: where a line ends, and that any text comes back through every file of ours."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.runs import row
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.benchmarks.truebench.data import data_hash, load
from truebench_hf.benchmarks.truebench.labels import questions, read_labels, results
from truebench_hf.benchmarks.truebench.results import read_responses, read_run
from truebench_hf.data import jsonl
from truebench_hf.data.instances import of_row
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import RESPONSES, read_outcomes, response_lines
from truebench_hf.data.row_files import records
from truebench_hf.data.rows import Record
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import public_judgments
from truebench_hf.hub.submission import validate
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, adjudicate
from truebench_hf.report.labels import line as label_line
from truebench_hf.report.sections import guard, unguard
from truebench_hf.results.folder import Results
from truebench_hf.study.outcome import Outcome, write
from truebench_hf.types import Message, Response, Verdict

# Every character at which `str.splitlines`, a text file or a spreadsheet may see the end of a line.
BREAKS = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\rj\nk\r\nl\tm\ufeffn\0o"
GOOD = b'{"a": 1}'


@pytest.mark.parametrize(
    ("content", "expected", "reason"),
    [
        (b"", [], "an empty file"),
        (b"\n \t\n\r\n", [], "blank lines"),
        (GOOD, [(1, {"a": 1})], "no line break at the end"),
        (GOOD + b"\r\n" + GOOD + b"\r\n", [(1, {"a": 1}), (2, {"a": 1})], "as Windows writes"),
        (b"\xef\xbb\xbf" + GOOD + b"\n", [(1, {"a": 1})], "a byte order mark"),
        (b"\xef\xbb\xbf\n" + GOOD, [(2, {"a": 1})], "a byte order mark alone on its line"),
        (b"\n\n" + GOOD + b"\n\n7\n", [(3, {"a": 1}), (5, 7)], "numbers count blank lines too"),
        ('"\u2028\u2029\x85"\n7'.encode(), [(1, "\u2028\u2029\x85"), (2, 7)], "no end of a line"),
    ],
)
def test_lines(tmp_path: Path, content: bytes, expected: list[tuple[int, Any]], reason: str) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(content)
    assert list(jsonl.read(file)) == [(f"{file}, line {number}", value) for number, value in expected], reason


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"a": ', "line 2: not JSON"),
        (b'{"a": "\xff"}', "line 2: not JSON: 'utf-8' codec"),
        (b"[" * 100_000, "line 2: not JSON"),
        (b'{"a": 1} {"a": 2}', "line 2: not JSON: Extra data"),
        (b"\x0b", "line 2: not JSON"),
        (GOOD.decode().encode("utf-16-le"), "line 2: not JSON"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, bad: bytes, said: str) -> None:
    file = tmp_path / "some.jsonl"
    file.write_bytes(GOOD + b"\n" + bad + b"\n" + GOOD)
    with pytest.raises(UserError, match=said) as caught:
        list(jsonl.read(file))
    assert str(caught.value).startswith(str(file))
    with pytest.raises(UserError, match=r"absent\.jsonl: cannot be read: .*; do this"):
        list(jsonl.read(tmp_path / "absent.jsonl", "do this"))


@settings(max_examples=8, deadline=None)
@given(st.text(min_size=1))
@example(BREAKS)
@example("\ud83d")
def test_any_text_comes_back_from_the_files_of_a_run(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    out = tmp_path_factory.mktemp("run")
    instance = of_row(Record("here", row(1, [(f"?{text}", [f"={text}", "is there"])], sub_category="t")))
    messages = (Message("user", instance.turns[0].prompt), Message("assistant", text))
    response = Response("1", "m", messages, (text,), error=text, truncated=(1,))
    verdicts = tuple(Verdict(criterion, "yes", text, "j") for criterion in instance.turns[0].criteria)
    judged = Judged(instance, response, (verdicts,))
    folder = RunFolder(str(out), {"model": "m", "judge": "j", "data_sha256": data_hash([instance])})
    write(folder, Outcome(0, items={RESPONSES: response_lines([(instance, response)])}))
    write(folder, results(folder, [judged]))
    answers = {question.id: {text: "yes"} for question in questions(judged)}
    labels = adjudicate(Annotations(answers, dict.fromkeys(answers, ("yes", "no")))).rows
    folder.write_lines("labels.jsonl", map(label_line, labels))
    folder.ledger.close()

    assert read_responses(out) == [(instance, response)]
    (again,) = read_run(out)
    assert again == judged
    assert read_labels(out)[0] == labels
    file = out / "judgments.jsonl"
    assert validate(file).judged[0].response == response
    assert [item.name for item in Results(folder.path, {}).judged()] == ["1"]
    assert list(read_outcomes(file).values()) == [{"1": True}]
    assert public_judgments(validate(file).judged, "j").count(b"\n") == 1


@settings(max_examples=8, deadline=None)
@given(st.text())
@example(BREAKS)
def test_any_text_comes_back_from_files_of_rows(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("rows")
    made = {**mini_rows()[0], "response": text, "rubric": f"={text}", "checklist": [f"={text}"], "rubric_index": 0}
    official = row(1, [(f"?{text}", [f"={text}"])])
    for name, line in (("rows", made), ("official", official)):
        content = json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass")
        (folder / f"{name}.jsonl").write_bytes(content + b"\n" + content.replace(b'"index": 1', b'"index": 2') + b"\n")
    assert rubric_rows.load(str(folder / "rows.jsonl")) == [made, made]
    assert [record.row for record in records(folder / "rows.jsonl")] == [made, made]
    first, second = load(str(folder / "official.jsonl"))
    assert first.turns == second.turns
    assert first.turns[0].criteria[0].text == f"={text}"


SHEET_TEXT = st.text(st.characters(exclude_categories=("Cs",)))  # a sheet writes half a character as a question mark


@settings(max_examples=8, deadline=None)
@given(SHEET_TEXT, st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs", "Cf", "Co", "Cn"))))
@example(BREAKS, "=1+1")
@example("'=x", "'")
def test_any_text_comes_back_from_sheets(tmp_path_factory: pytest.TempPathFactory, text: str, name: str) -> None:
    folder = tmp_path_factory.mktemp("sheets")
    name = name.replace("|", "") or "x"
    asked = labels.Question(name, f"?{text}", {"Response": text}, ("yes", f"no {name}"))
    sheet, _ = labels.write([asked], folder, ["ann"])
    given = list(csv.reader(io.StringIO(sheet.read_bytes().decode("utf-8-sig"), newline="")))
    header, cells = given
    assert cells[header.index("Response")] == guard(text)
    cells[header.index("answer")], cells[header.index("note")] = cells[header.index("options")].split("|")[-1], text
    back = io.StringIO()
    csv.writer(back).writerows([header, cells])
    sheet.write_bytes(back.getvalue().encode("utf-8-sig"))
    found = labels.read([sheet])
    assert found.labels == {name: {"ann": f"no {name}"}}
    assert found.options == {name: ("yes", f"no {name}")}
    assert found.notes.get((name, "ann"), "") == unguard(text).strip()
