"""Every form of row, sheet and log that people have (YAML beside this file): what is read, and what is said of it."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import cases
from tests.support.runs import Done, command_here
from truebench_hf.benchmarks.truebench import data
from truebench_hf.data.answer_files import read_answers
from truebench_hf.data.instances import criteria_file, of_row, of_rows
from truebench_hf.data.logs import read_logs
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Message, Turn

ROW = {"prompt": "Name a river.", "criteria": "- is short\n- is true", "response": "The Rhine."}
C = [Criterion("c")]


def as_xlsx(head: tuple[Any, ...], *rows: tuple[Any, ...], more: str = "") -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    for line in (head, (None,) * len(head), *rows):  # people leave empty rows
        book.active.append(line)
    if more:
        book.create_sheet(more).append(["a", "b"])
        book[more].append([1, 2])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def as_lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def check_sheet(path: Path, note: str, capsys: pytest.CaptureFixture[str]) -> None:
    (instance,) = data.load(str(path))
    assert instance.turns[0].prompt == ROW["prompt"]
    assert instance.turns[0].criteria == (Criterion("is short"), Criterion("is true"))
    printed = capsys.readouterr().err
    assert note in printed if note else not printed
    (answer,) = read_answers(path)
    assert (answer.answers, ROW["prompt"] in answer.prompts) == (ROW["response"], True)


@pytest.mark.parametrize("row", cases(__file__, "sheets", "read"))
def test_a_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str], row: dict[str, str]) -> None:
    (tmp_path / row["file"]).write_bytes(row["text"].encode())
    check_sheet(tmp_path / row["file"], row.get("note", ""), capsys)


def test_a_sheet_of_excel_and_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from datasets import Dataset

    (tmp_path / "a.xlsx").write_bytes(as_xlsx(("Question", "Rubric", "Answer"), tuple(ROW.values())))
    check_sheet(tmp_path / "a.xlsx", "'Question' as prompt", capsys)
    Dataset.from_list([ROW]).to_parquet(tmp_path / "a.parquet")
    capsys.readouterr()
    check_sheet(tmp_path / "a.parquet", "", capsys)


def test_an_instruction_with_the_input_that_it_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"instruction": "Translate.", "input": text, "criteria": "is French"} for text in ("cat", "dog")]
    (tmp_path / "a.jsonl").write_bytes(as_lines(*rows, {"instruction": "Sing.", "input": "", "criteria": "rhymes"}))
    prompts = [instance.turns[0].prompt for instance in data.load(str(tmp_path / "a.jsonl"))]
    assert prompts == ["Translate.\n\ncat", "Translate.\n\ndog", "Sing."]
    assert "'instruction' with 'input' below it as prompt" in capsys.readouterr().err


def test_a_prompt_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffName a river.\n\n  Name a city.\n", encoding="utf-8")
    (tmp_path / "rules.txt").write_text("is short\n", encoding="utf-8")
    instances = data.load(str(tmp_path / "a.txt"), criteria=str(tmp_path / "rules.txt"))
    assert [instance.turns[0].prompt for instance in instances] == ["Name a river.", "Name a city."]
    (tmp_path / "a.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"a\.txt: holds no records"):
        data.load(str(tmp_path / "a.txt"))


def test_cells_of_excel_are_texts_and_other_sheets_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    head = ("id", "prompt", "criteria", None)
    (tmp_path / "a.xlsx").write_bytes(as_xlsx(head, (7.0, 12, "is short", "x"), more="old"))
    (instance,) = data.load(str(tmp_path / "a.xlsx"))
    assert (instance.id, instance.turns[0].prompt) == ("7", "12")
    assert "sheet 'Sheet' is read, and not 'old'" in capsys.readouterr().err
    (tmp_path / "b.xlsx").write_bytes(as_xlsx(("id", "prompt"), (1, "a")))
    with pytest.raises(UserError, match=r"b.xlsx, row 3: has no criteria"):
        data.load(str(tmp_path / "b.xlsx"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"a.xlsx: an Excel file needs openpyxl: pip install 'truebench-hf\[xlsx\]'"):
        data.load(str(tmp_path / "a.xlsx"))


@pytest.mark.parametrize("row", cases(__file__, "sheets", "refused"))
def test_a_sheet_that_cannot_be_read(tmp_path: Path, row: dict[str, str]) -> None:
    (tmp_path / row["file"]).write_bytes(row["text"].encode(row.get("encoding", "utf-8")))
    with pytest.raises(UserError, match=row["told"]) as caught:
        data.load(str(tmp_path / row["file"]))
    assert "\n" not in str(caught.value)


ADDRESS = "https://example.org/a.jsonl"


@pytest.mark.parametrize(
    "arguments",
    [
        f"--logs {ADDRESS}", f"--responses {ADDRESS} --data mini", f"--responses absent.jsonl --data {ADDRESS}",
        f"--responses absent.jsonl --data mini --criteria {ADDRESS}",
    ],
)  # fmt: skip
def test_an_address_is_saved_first(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str) -> None:
    done = command_here(capsys, "judge", *arguments.split(), "--judge", "none", "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"{ADDRESS}: is an address; save it to a file first, and give that" in done.stderr


@pytest.mark.parametrize("row", cases(__file__, "logs", "conversations"))
def test_a_log(tmp_path: Path, row: dict[str, Any]) -> None:
    log, rows, texts = tmp_path / "log.jsonl", row["rows"], json.dumps(row["rows"])
    log.write_bytes(as_lines(*rows))
    model = "gpt-x" if "gpt-x" in texts else "m" if '"m"' in texts or '\\"m\\"' in texts else "log"
    ((instance, response),) = read_logs(log, C).answered
    assert (instance.system, [message.content for message in instance.history]) == ("Be kind.", ["Hello", "Hi!"])
    assert [(turn.prompt, turn.criteria) for turn in instance.turns] == [(ROW["prompt"], tuple(C))]
    assert (response.answers, response.model) == ((ROW["response"],), model)
    ((instance, response),) = read_logs(log, C, "all").answered
    assert ([turn.prompt for turn in instance.turns], instance.history) == (["Hello", ROW["prompt"]], ())
    assert response.answers == ("Hi!", ROW["response"])
    if len(rows) == 1 and not isinstance(rows[0].get("output"), str):  # of a table a cell with JSON is a text
        (answer,) = read_answers(log)
        last = answer.answers[-1] if isinstance(answer.answers, tuple) else answer.answers
        assert (last, ROW["prompt"] in answer.prompts) == (ROW["response"], True), "a log is a file of responses, too"


@pytest.mark.parametrize("row", cases(__file__, "logs", "questions"))
def test_a_log_of_single_questions(tmp_path: Path, row: dict[str, Any]) -> None:
    (tmp_path / "log.jsonl").write_bytes(as_lines(row["row"] | {"id": 5, "rubric": ["is short"]}))
    ((instance, response),) = read_logs(tmp_path / "log.jsonl", ()).answered
    assert (instance.id, instance.turns[0].prompt, instance.history) == ("5", ROW["prompt"], ())
    assert response.answers == (ROW["response"],)
    assert instance.turns[0].criteria == (Criterion("is short"),), "criteria of its own"


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def test_an_answer_that_is_json_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(as_lines({"messages": [user("Hello"), assistant('{"a": [1, 2]}')]}))
    ((_, response),) = read_logs(tmp_path / "log.jsonl", C).answered
    assert response.answers == ('{"a": [1, 2]}',)


def test_of_rows_of_several_models_those_of_a_name_are_read(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [{"model": name, "messages": [user("Hi."), assistant(text)]} for name, text in (("m", "A"), ("n", "B"))]
    log.write_bytes(as_lines(*rows))
    for name, answers in (("m", ["A"]), ("n", ["B"]), ("both", ["A", "B"])):
        responses = [response for _, response in read_logs(log, C, model_name=name).answered]
        assert [response.answers[0] for response in responses] == answers
        assert {response.model for response in responses} == {name}
    assert "1 of 2 rows are" in read_logs(log, C, model_name="m").summary
    with pytest.raises(UserError, match="holds answers of m, n; say by --model-name which are meant, or what"):
        read_logs(log, C)


@pytest.mark.parametrize("name", ["OpenAI's batch, requests and results in one file", "Anthropic's batch"])
def test_the_two_files_of_a_batch(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    conversations = [case.values[0] for case in cases(__file__, "logs", "conversations")]
    request, result = next(row["rows"] for row in conversations if row["why"] == name)
    (tmp_path / "batch").mkdir()
    requests, results = tmp_path / "batch" / "requests.jsonl", tmp_path / "batch" / "results.jsonl"
    requests.write_bytes(as_lines(request, request | {"custom_id": "8"}))
    failed = {"response": {"status_code": 400, "body": {"error": {}}}} if "response" in result else {
        "result": {"type": "errored", "error": {}}}  # fmt: skip
    results.write_bytes(as_lines(result, {"custom_id": "8", **failed}))
    log = read_logs(tmp_path / "batch", C)
    assert [(i.id, response.answers, response.model) for i, response in log.answered] == [("7", ("The Rhine.",), "m")]
    assert "1 of 2 rows are" in log.summary
    assert "left out: 1 without an answer at the end" in log.summary
    with pytest.raises(UserError, match=r"0 of 2 rows .*of a batch a folder with the files of requests and of results"):
        read_logs(results, C)
    # Requests are data, results are responses to it.
    assert [(answer.id, answer.answers) for answer in read_answers(results)] == [("7", ("The Rhine.",)), ("8", None)]
    (tmp_path / "rules.txt").write_text("is short\n", encoding="utf-8")
    first, _ = data.load(str(requests), criteria=str(tmp_path / "rules.txt"))
    assert (first.id, first.system, first.turns[0].prompt) == ("7", "Be kind.", "Name a river.")
    assert "'custom_id' as id" in capsys.readouterr().err


TALK = {"messages": [user("Hello"), assistant("Hi!"), user("Name a river."), assistant("The Rhine.")]}
MESSY = [
    TALK,
    {"messages": [*TALK["messages"][:3], assistant(None, tool_calls=[{"id": "1"}]), {"role": "tool", "content": "3"},
                  assistant("Rhine, I would say.")]},
    {"messages": TALK["messages"][:3]},
    {"note": 1},
    ["no object"],
    {"messages": [user([{"type": "text", "text": "Look."}, {"type": "image_url", "image_url": {"url": "x"}}]),
                  assistant("The Rhine.")]},
]  # fmt: skip


def judged(capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: list[Any], *more: str) -> tuple[Done, list[Any]]:
    """What `judge --logs` prints, and the lines that it writes."""
    (tmp_path / "log.jsonl").write_bytes(as_lines(*rows))
    (tmp_path / "rules.txt").write_text("at most 2 words\n", encoding="utf-8")
    options = ("--logs", str(tmp_path / "log.jsonl"), "--judge", "none", "--out", str(tmp_path / "out"))
    rules = str(tmp_path / "rules.txt")
    done = command_here(capsys, "judge", *options, *(rules if text == "RULES" else text for text in more))
    judgments = tmp_path / "out" / "judgments.jsonl"
    return done, [json.loads(line) for line in judgments.read_text().splitlines()] if judgments.exists() else []


def test_the_command_says_first_what_it_reads_and_judges_the_last_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done, rows = judged(capsys, tmp_path, MESSY, "--criteria", "RULES")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(
        "log.jsonl: 3 of 6 rows are conversations with an answer; the last answer of each is judged; left out: 1 without an "
        "answer at the end (the first: line 3), 1 without messages (the first: line 4), 1 that cannot be read (the first: row "
        "5); not text, and left out of conversations: 1 tool calls, 1 tool messages, 1 images"
    )
    assert [(row["passed"], row["model"]) for row in rows] == [(True, "log"), (False, "log"), (True, "log")]
    assert rows[0]["id"] == rows[1]["id"], "the same was asked twice: samples of one instance"
    assert [row["sample"] for row in rows[:2]] == [1, 2]
    assert "Rows of the data left out: 3" in done.stdout


def test_the_command_judges_every_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done, (row,) = judged(capsys, tmp_path, [TALK], "--criteria", "RULES", "--turns", "all", "--model-name", "m")
    assert "1 rows are conversations with an answer; each answer is judged" in done.stdout
    assert ([turn[0]["label"] for turn in row["verdicts"]], row["model"]) == (["yes", "yes"], "m")


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ([TALK], "--data mini", "--logs holds prompts and answers; leave out --responses, --data and --column"),
        ([TALK], "--turns some", "unknown --turns 'some': choose from last, all"),
        ([TALK], "", "has no criteria; give them to all by --criteria FILE"),
        (MESSY[2:4], "--criteria RULES", "0 of 2 rows are conversations"),
    ],
)
def test_what_does_not_go_with_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[Any], more: str, message: str
) -> None:
    done, _ = judged(capsys, tmp_path, rows, *more.split())
    assert (done.returncode, message in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


OWN = "3ca8d9bbe391"  # the id of a row that has none: a hash of what is asked
ONE = Instance(OWN, "", "", "", (Turn("Name a colour.", (Criterion("names a colour"),)),))
PROMPT = {"prompt": "Name a colour."}
GREETING = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
CHAT = [*GREETING, {"role": "user", "content": "Name a colour."}]


def read(*rows: dict[str, Any], **options: Any) -> list[Instance]:
    return of_rows([Record(f"rows, line {n}", row) for n, row in enumerate(rows, 1)], **options)


def ids(*rows: dict[str, Any], **options: Any) -> list[str]:
    return [instance.id for instance in read(*rows, **options)]


@pytest.mark.parametrize("row", cases(__file__, "instances", "same"))
def test_all_these_are_the_same_instance(row: dict[str, Any]) -> None:
    assert read(row["row"]) == [ONE]


@pytest.mark.parametrize("row", cases(__file__, "instances", "criteria"))
def test_criteria(row: dict[str, Any]) -> None:
    (instance,) = read(PROMPT | {"criteria": row["given"]})
    assert [turn.criteria for turn in instance.turns] == [tuple(Criterion(**wanted) for wanted in row["wanted"])]


@pytest.mark.parametrize("row", cases(__file__, "instances", "refused"))
def test_a_row_that_cannot_be_used(row: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"^rows, line 2.*{row['said']}") as caught:
        read({"id": "good"} | PROMPT | {"criteria": ["c"]}, row["row"])
    assert "\n" not in str(caught.value)


def test_everything_else_that_a_row_may_tell() -> None:
    row = PROMPT | {"id": 7, "language": "DE", "category": "Facts", "task": "Colours", "system": "Be brief.",
                    "context": "Red is a colour.", "reference": "Red.", "criteria": ["names a colour"], "note": "mine"}  # fmt: skip
    turn = Turn("Name a colour.", (Criterion("names a colour"),), "Red.")
    assert read(row) == [Instance("7", "DE", "Facts", "Colours", (turn,), "Be brief.", "Red is a colour.")]
    assert read({"index": "x", "sub_category": "t"} | PROMPT | {"criteria": ["c"]})[0].task == "t", "by official names"
    turns = [{"prompt": "a", "criteria": ["b"], "reference": "r"}, {"prompt": "c"}]
    assert read({"turns": turns})[0].turns == (Turn("a", (Criterion("b"),), "r"), Turn("c", ())), (
        "a turn may have no criteria"
    )
    assert read({"turns": ["a", "c"], "criteria": [["b"], []]})[0].turns == (
        Turn("a", (Criterion("b"),)),
        Turn("c", ()),
    )
    assert read(PROMPT, judged=False) == [Instance(OWN, "", "", "", (Turn("Name a colour.", ()),))], (
        "only to be answered"
    )


def test_a_conversation_that_was_had_is_history() -> None:
    row = {"messages": [{"role": "system", "content": "Be brief."}, *CHAT], "criteria": ["names a colour"]}
    (instance,) = read(row)
    history = (Message("user", "Hello"), Message("assistant", "Hi!"))
    assert instance == Instance(instance.id, "", "", "", ONE.turns, "Be brief.", None, history)
    assert read(PROMPT | {"history": GREETING, "system": "Be brief.", "criteria": ["names a colour"]}) == [instance]
    assert instance.id != OWN, "what was said before is a part of what is asked"


def test_an_id_that_is_absent_follows_from_what_is_asked() -> None:
    row, other = PROMPT | {"criteria": ["c"]}, {"prompt": "Name a fruit.", "criteria": ["c"]}
    assert ids(row, {"id": "own"} | row) == [OWN, "own"]
    assert ids(other, row)[1] == OWN, "a row on top moves nothing"
    assert ids(PROMPT | {"criteria": ["another"]}) == [OWN], "nor do other criteria"
    assert ids(row, row, row) == [OWN, f"{OWN}-2", f"{OWN}-3"], "rows that are alike stay apart"
    assert ids(row, row, repeated=True) == [OWN], "but for those that hold several responses"
    with pytest.raises(UserError, match=r"line 2: id 1 stands twice \(first at rows, line 1\)"):
        read({"id": "1"} | row, {"id": 1} | row)


def test_an_instance_as_it_is_written_is_a_row() -> None:
    turns = (Turn("a", (Criterion("x", "style", "if y", -2.5), Criterion("z")), "r"), Turn("b", ()))
    history = (Message("user", "u"), Message("assistant", ""))
    for instance in (
        Instance("ü", "DE", "Facts", "Colours", turns, "s", "c", history),
        Instance("1", "", "", "", (Turn("a", ()),)),
    ):
        assert of_row(Record("here", json.loads(json.dumps(asdict(instance))))) == instance


def test_columns_by_other_names() -> None:
    row = {"question": "Name a colour.", "points to check": ["names a colour"], "n": "q1", "prompt": "x", "rubric": "x"}
    columns = {"prompt": ["question"], "criteria": ["points to check"], "id": ["n"]}
    assert read(row, columns=columns) == [Instance("q1", "", "", "", ONE.turns)], "what is mapped is what is meant"
    with pytest.raises(UserError, match="--column prompt=qestion: no row has a column 'qestion'; there are question, "):
        read(row, columns={"prompt": ["qestion"]})
    with pytest.raises(UserError, match="unknown column 'promt': did you mean prompt"):
        read(row, columns={"promt": ["question"]})
    (instance,) = read(row | {"prompt": CHAT}, columns={"messages": ["prompt"], "criteria": ["rubric"]})
    assert instance.history[1].content == "Hi!"


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("rules.txt", b"- is short\n- is polite\n", [Criterion("is short"), Criterion("is polite")]),
        (
            "rules.json",
            b'["is short", {"text": "shouts", "weight": -1}]',
            [Criterion("is short"), Criterion("shouts", weight=-1)],
        ),
        ("absent.txt", None, "cannot be read"),
        ("blank.txt", b" \n", "one criterion a line, or with a JSON list"),
        ("rules.yaml", b"- text: a\n", "one criterion a line, or with a JSON list"),
        ("rules.jsonl", b'{"text": "a"}\n{"text": "b"}\n', "begins like JSON and is none"),
    ],
)
def test_criteria_for_every_row(tmp_path: Path, name: str, content: bytes | None, wanted: Any) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    if isinstance(wanted, str):
        with pytest.raises(UserError, match=f"^--criteria .*{wanted}"):
            criteria_file(str(tmp_path / name))
        return
    more = criteria_file(str(tmp_path / name))
    assert more == tuple(wanted)
    first, second = read(PROMPT, {"turns": [{"prompt": "a", "criteria": ["b"]}, {"prompt": "c"}]}, more=more)
    assert [turn.criteria for turn in (*first.turns, *second.turns)] == [more, (Criterion("b"), *more), more]
