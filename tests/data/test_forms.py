"""Every form of log and sheet that people have, in one table: what is read of each, and what is said of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import command_here
from truebench_hf.benchmarks.truebench import data
from truebench_hf.data.answer_files import read_answers
from truebench_hf.data.logs import read_logs
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion

# --- sheets ---------------------------------------------------------------------------------------------------------

HEAD, CELLS = ("Question", "Rubric", "Answer"), ("Name a river.", "- is short\n- is true", "The Rhine.")


def as_csv(head: tuple[str, ...], cells: tuple[str, ...], delimiter: str = ",", encoding: str = "utf-8") -> bytes:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([head, cells])
    return file.getvalue().encode(encoding)


def as_xlsx(head: tuple[str, ...], *rows: tuple[Any, ...], more: str = "") -> bytes:
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


def as_parquet(*rows: Any) -> bytes:
    from datasets import Dataset

    file = io.BytesIO()
    Dataset.from_list(list(rows)).to_parquet(file)
    return file.getvalue()


def as_lines(*rows: Any) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


ROW = {"prompt": CELLS[0], "criteria": CELLS[1], "response": CELLS[2]}
SHEETS = [
    ("a.csv", as_csv(("prompt", "criteria", "response"), CELLS), "", "our own names need no note"),
    ("a.csv", as_csv(("Prompt", "CRITERIA", "Response"), CELLS), "'Prompt' as prompt, 'CRITERIA' as criteria", "any case"),
    ("a.csv", as_csv(HEAD, CELLS), "'Question' as prompt, 'Rubric' as rubric", "likely names"),
    ("a.csv", as_csv(("Instruction", "Checklist", "Output"), CELLS), "'Instruction' as prompt, 'Checklist' as checklist", "others"),
    ("a.csv", as_csv((" user input ", "Criterion", "Completion"), CELLS), "' user input ' as prompt, 'Criterion' as criteria", "with spaces"),
    ("a.csv", as_csv(HEAD, CELLS, ";", "utf-8-sig"), "'Question' as prompt", "as Excel writes it where a comma is the decimal point"),
    ("a.tsv", as_csv(HEAD, CELLS, "\t"), "'Question' as prompt", "tabs"),
    ("A.TSV", as_csv(HEAD, CELLS, "\t"), "'Question' as prompt", "capitals"),
    ("a.parquet", as_parquet(ROW), "", "Parquet"),
    ("a.jsonl", b"\xef\xbb\xbf" + as_lines(ROW), "", "a byte order mark is no part of a row"),
    ("a.json", json.dumps([ROW]).encode("utf-8-sig"), "", "nor of a list"),
    ("a.xlsx", as_xlsx(HEAD, CELLS), "'Question' as prompt", "Excel"),
    ("a.jsonl", as_lines({"inputs": {"question": CELLS[0]}, "criteria": CELLS[1], "outputs": {"answer": CELLS[2]}}),
     "'question' as prompt", "LangSmith"),
    ("a.ndjson", as_lines({"prompt": CELLS[0], "criteria": CELLS[1], "response": CELLS[2]}), "", "JSON Lines by their other name"),
    ("a.csv", as_csv(("inputs", "criteria", "outputs"), ('{"question": "Name a river."}', CELLS[1], '{"answer": "The Rhine."}')),
     "'question' as prompt", "LangSmith's table"),
    ("a.csv", as_csv(HEAD, CELLS, "|"), "'Question' as prompt", "bars"),
    ("a.csv", as_csv(HEAD, CELLS, "\t"), "'Question' as prompt", "tabs under the name of commas"),
    ("a.csv", as_csv(("prompt", "criteria", "response", "a, b"), (*CELLS, "x"), ";"), "", "a comma in a name"),
    ("a.csv", as_csv(("prompt", "criteria", "response", "a; b; c; d; e"), (*CELLS, "x")).replace(b"a; b", b'"a; b', 1).replace(b"; e", b'; e"', 1), "",
     "semicolons in a name"),
    ("a.json", json.dumps(ROW, indent=2).encode(), "", "one row, written over lines"),
    ("a.json", json.dumps(ROW).encode(), "", "one row"),
    ("a.jsonl", json.dumps(ROW, indent=2).encode(), "", "under the name of lines"),
    ("a.jsonl", json.dumps([ROW], indent=2).encode(), "", "a list under the name of lines"),
    ("a.json", json.dumps({"version": 1, "data": [ROW]}).encode(), "rows are those under 'data'", "in an object"),
    ("a.json", json.dumps({"examples": [ROW]}, indent=1).encode(), "rows are those under 'examples'", "LlamaIndex"),
    ("a.json", json.dumps({name: [cell] for name, cell in ROW.items()}).encode(), "read by columns, prompt, criteria", "datasets' to_dict"),
    ("a.json", json.dumps({name: {"0": cell} for name, cell in ROW.items()}).encode(), "read by columns, prompt, criteria", "pandas' to_json"),
    ("a.jsonl", as_lines({"instruction": CELLS[0], "input": "", "criteria": CELLS[1], "output": CELLS[2]}),
     "'instruction' as prompt", "an instruction without an input"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "note", "reason"), SHEETS, ids=[f"{s[0]} {s[3]}" for s in SHEETS])
def test_a_sheet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, note: str, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    (instance,) = data.load(str(tmp_path / name))
    assert instance.turns[0].prompt == "Name a river.", reason
    assert instance.turns[0].criteria == (Criterion("is short"), Criterion("is true")), reason
    told = capsys.readouterr().err
    assert note in told if note else not told, reason
    (answer,) = read_answers(tmp_path / name)
    assert (answer.answers, "Name a river." in answer.prompts) == ("The Rhine.", True), reason


def test_an_instruction_with_the_input_that_it_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"instruction": "Translate.", "input": text, "criteria": "is French"} for text in ("cat", "dog")]
    (tmp_path / "a.jsonl").write_bytes(as_lines(*rows, {"instruction": "Sing.", "input": "", "criteria": "rhymes"}))
    found = [instance.turns[0].prompt for instance in data.load(str(tmp_path / "a.jsonl"))]
    assert found == ["Translate.\n\ncat", "Translate.\n\ndog", "Sing."]
    assert "'instruction' with 'input' below it as prompt" in capsys.readouterr().err


def test_a_prompt_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\ufeffName a river.\n\n  Name a city.\n", encoding="utf-8")
    (tmp_path / "rules.txt").write_text("is short\n", encoding="utf-8")
    found = data.load(str(tmp_path / "a.txt"), criteria=str(tmp_path / "rules.txt"))
    assert [instance.turns[0].prompt for instance in found] == ["Name a river.", "Name a city."]
    (tmp_path / "a.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"a\.txt: holds no records"):
        data.load(str(tmp_path / "a.txt"))


def test_cells_of_excel_are_texts_and_other_sheets_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.xlsx").write_bytes(
        as_xlsx(("id", "prompt", "criteria", None), (7.0, 12, "is short", "x"), more="old")
    )
    (instance,) = data.load(str(tmp_path / "a.xlsx"))
    assert (instance.id, instance.turns[0].prompt) == ("7", "12")
    assert "sheet 'Sheet' is read, and not 'old'" in capsys.readouterr().err
    (tmp_path / "b.xlsx").write_bytes(as_xlsx(("id", "prompt"), (1, "a")))
    with pytest.raises(UserError, match=r"b.xlsx, row 3: has no criteria"):
        data.load(str(tmp_path / "b.xlsx"))


REFUSED = [
    ("a.csv", as_csv(("prompt", "criteria"), ("Größe?", "is short"), encoding="cp1252"),
     "a.csv: cannot be read: it is not UTF-8; save it as UTF-8 .in Excel: Save As, CSV UTF-8"),
    ("a.txt", "Größe?".encode("cp1252"), "not UTF-8.*CSV UTF-8"),
    ("a.csv", as_csv(("prompt", "criteria"), ("a", "b"), encoding="utf-16"), "it is not UTF-8; save it as UTF-8"),
    ("a.xlsx", b"no zip", "a.xlsx: is no Excel file"),
    ("a.json", b"{}", "a.json: holds no records"),
    ("a.json", b"[]", "no records"),
    ("a.jsonl", b"", "no records"),
    ("a.json", b"[", "a.json: not JSON"),
    ("a.jsonl", as_lines(ROW, [1]), "a.jsonl, line 2: must be an object"),
    ("a.jsonl", as_lines(ROW) + b'{"a"\n', "line 2: not JSON"),
    ("a.jsonl", as_lines(ROW) + b'{"a": "\xff"}\n', "line 2: not JSON: 'utf-8' codec"),
    ("a.csv", b"id,prompt\n1\n", "a.csv, record 1: has another number of fields than the header"),
    ("a.parquet", b"PAR", "a.parquet: not a Parquet file"),
    ("a.doc", b"x", r"a.doc: give a file of type \.jsonl, "),
    ("a.json", b'{"prompt": "a"', "a.json: not JSON"),
    ("a.csv", as_csv(("Question", "Query", "criteria"), ("a", "b", "c")),
     "the columns 'Question' and 'Query' may both be the prompt; say which by --column prompt='Question'"),
    ("a.csv", as_csv(("Prompt", "PROMPT", "criteria"), ("a", "b", "c")), "'Prompt' and 'PROMPT' may both be"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "told"), REFUSED, ids=[told[:40] for _, _, told in REFUSED])
def test_a_sheet_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=told) as caught:
        data.load(str(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_a_column_chosen_by_hand_needs_no_guess(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_bytes(as_csv(("Question", "Query", "criteria"), ("a", "b", "c")))
    (instance,) = data.load(str(tmp_path / "a.csv"), ("prompt=Query",))
    assert (instance.turns[0].prompt, capsys.readouterr().err) == ("b", "")


def test_without_the_package_for_excel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.xlsx").write_bytes(as_xlsx(("prompt",), ("a",)))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"a.xlsx: an Excel file needs openpyxl: pip install 'truebench-hf\[xlsx\]'"):
        data.load(str(tmp_path / "a.xlsx"))


ADDRESS = "https://example.org/a.jsonl"


@pytest.mark.parametrize(
    "given",
    [
        ("--logs", ADDRESS), ("--responses", ADDRESS, "--data", "mini"), ("--responses", "absent.jsonl", "--data", ADDRESS),
        ("--responses", "absent.jsonl", "--data", "mini", "--criteria", ADDRESS),
    ],
    ids=["logs", "responses", "data", "criteria"],
)  # fmt: skip
def test_an_address_is_saved_first(tmp_path: Path, capsys: pytest.CaptureFixture[str], given: tuple[str, ...]) -> None:
    done = command_here(capsys, "judge", *given, "--judge", "none", "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert f"{ADDRESS}: is an address; save it to a file first, and give that" in done.stderr


# --- logs -----------------------------------------------------------------------------------------------------------

ASKED, SAID = "Name a river.", "The Rhine."
BEFORE = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
CHAT = [{"role": "system", "content": "Be kind."}, *BEFORE, {"role": "user", "content": ASKED}]
END = {"role": "assistant", "content": SAID}


def part(text: str, kind: str = "text") -> list[dict[str, str]]:
    return [{"type": kind, "text": text}]


def gemini(messages: list[dict[str, str]]) -> list[dict[str, Any]]:
    names = {"assistant": "model"}
    return [{"role": names.get(m["role"], m["role"]), "parts": [{"text": m["content"]}]} for m in messages]


def chat_gpt(*messages: dict[str, Any]) -> dict[str, Any]:
    """An export of ChatGPT: a tree with a branch that was given up, and what is not shown."""
    nodes: dict[str, Any] = {"root": {"message": None, "parent": None}}
    for number, message in enumerate(messages):
        author, parts = {"role": message["role"]}, {"content_type": "text", "parts": [message["content"]]}
        facts = {name: value for name, value in message.items() if name not in ("role", "content")}
        shown = {"author": author, "content": parts, "recipient": "all", "metadata": {}} | facts
        nodes[str(number)] = {"message": shown, "parent": str(number - 1) if number else "root"}
    nodes["old"] = {"message": {"author": {"role": "assistant"}, "content": {"parts": ["No."]}}, "parent": "root"}
    return {"title": "Rivers", "mapping": nodes, "current_node": str(len(messages) - 1), "conversation_id": "c"}


def span(name: str, messages: list[dict[str, str]]) -> dict[str, Any]:
    """Messages as OpenInference writes them into attributes of a span, whose names have dots and numbers."""
    return {
        f"llm.{name}_messages.{place}.message.{field}": text
        for place, message in enumerate(messages)
        for field, text in message.items()
    }


def lang_chain(name: str, text: str) -> dict[str, Any]:
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", name],
        "kwargs": {"content": text},
    }


REQUEST = {"model": "m", "messages": CHAT}
MESSAGE = {"type": "message", "role": "assistant", "content": part(SAID)}
OPENAI_BATCH = (
    {"custom_id": "7", "method": "POST", "url": "/v1/chat/completions", "body": REQUEST},
    {"id": "batch_req_1", "custom_id": "7", "response": {"status_code": 200, "body": {"choices": [{"message": END}]}}, "error": None},
)  # fmt: skip
ANTHROPIC_BATCH = (
    {"custom_id": "7", "params": {"model": "m", "system": "Be kind.", "messages": CHAT[1:]}},
    {"custom_id": "7", "result": {"type": "succeeded", "message": MESSAGE}},
)
GEMINI = (
    {"contents": gemini(CHAT[1:]), "systemInstruction": {"parts": [{"text": "Be kind."}]}},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": SAID}]}}]},
)
LOGS: list[tuple[Any, str]] = [
    (OPENAI_BATCH, "OpenAI's batch, requests and results in one file"),
    (OPENAI_BATCH[::-1], "results first"),
    (OPENAI_BATCH[0] | OPENAI_BATCH[1], "OpenAI's batch, joined by hand"),
    ((OPENAI_BATCH[0] | {"body": {"instructions": "Be kind.", "input": CHAT[1:]}},
      {"custom_id": "7", "response": {"body": {"instructions": "Be kind.", "output": [MESSAGE]}}}), "a batch of OpenAI's responses"),
    (ANTHROPIC_BATCH, "Anthropic's batch"),
    ({**GEMINI[0], "contents": gemini([*CHAT[1:], END])}, "Gemini's contents"),
    ({"request": GEMINI[0], "response": GEMINI[1]}, "Gemini, as Vertex writes batches"),
    (({"key": "a", "request": GEMINI[0]}, {"key": "a", "response": GEMINI[1]}), "Gemini's batch"),
    (chat_gpt({"role": "system", "content": "You are ChatGPT.", "metadata": {"is_visually_hidden_from_conversation": True}},
              *CHAT, {"role": "assistant", "content": "search()", "recipient": "browser"}, {**END, "metadata": {"model_slug": "m"}}),
     "ChatGPT's export"),
    ({"request_id": "x", "request_body": REQUEST, "response_body": {"choices": [{"message": END}]}}, "Helicone"),
    ({"request_body": json.dumps(REQUEST), "response_body": json.dumps({"choices": [{"message": END}]})}, "Helicone's table"),
    ({"conversation_id": "x", "model": "m", "conversation": [*CHAT, END], "turn": 2, "language": "English"}, "LMSYS"),
    ({"input": {"args": [CHAT], "kwargs": {}}, "output": SAID}, "Langfuse, a traced function"),
    ({"input": {"args": [], "kwargs": {"messages": CHAT, "temperature": 0}}, "output": {"content": SAID}}, "by names"),
    ({"attributes": {"llm": {"model_name": "m", "input_messages": [{"message": m} for m in CHAT], "output_messages": [{"message": END}]}}},
     "Phoenix, nested"),
    ({"attributes.llm.input_messages": [{f"message.{k}": v for k, v in m.items()} for m in CHAT],
      "attributes.llm.output_messages": [{"message.role": "assistant", "message.contents": [
          {"message_content": {"type": "text", "text": SAID}}]}], "attributes.input.value": "{}"}, "Phoenix's table"),
    ({"attributes": {**span("input", CHAT), **span("output", [END]), "llm.model_name": "m"}}, "OpenInference, flat"),
    ({f"attributes.{name}": text for name, text in {**span("input", CHAT), **span("output", [END])}.items()}, "flat in a table"),
    ({"attributes": {"gen_ai.input.messages": json.dumps([{"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]}
                                                          for m in CHAT]),
                     "gen_ai.output.messages": [{"role": "assistant", "parts": [{"type": "text", "content": SAID}]}]}}, "OpenTelemetry"),
    ({"instructions": "Be kind.", "input": CHAT[1:], "output": [MESSAGE]}, "OpenAI's responses with instructions"),
    ({"model": "m", "messages": CHAT, "message": END, "done": True}, "Ollama"),
    ({"messages": [*CHAT, END]}, "OpenAI's messages"),
    ({"Messages": json.dumps([*CHAT, END])}, "as a cell of a table"),
    ({"messages": [{**m, "content": part(m["content"])} for m in [*CHAT, END]]}, "content parts"),
    ({"messages": [{"role": "developer", "content": "Be kind."}, *CHAT[1:], END]}, "a developer's message"),
    ({"input": [{**m, "content": part(m["content"], "input_text")} for m in CHAT],
      "output": [{"type": "message", "role": "assistant", "content": part(SAID, "output_text")}]}, "OpenAI's responses"),
    ({"input": [{**m, "content": part(m["content"], "input_text")} for m in CHAT],
      "output": [{"type": "message", "role": "assistant", "content": part(SAID, "output_text")}, {"type": "reasoning", "summary": []}]},
     "OpenAI's responses: the word reasoning is no answer"),
    ({"system": "Be kind.", "chat_messages": [{"sender": {"user": "human"}.get(m["role"], "assistant"), "text": m["content"]}
                                              for m in [*CHAT[1:], END]]}, "Claude's export"),
    ({"request": {"model": "m", "messages": CHAT}, "response": {"choices": [{"message": END, "index": 0}]}}, "request and response"),
    ({"messages": CHAT, "choices": [{"message": END}]}, "messages and choices"),
    ({"system": "Be kind.", "messages": [*CHAT[1:], {**END, "content": [{"type": "thinking", "thinking": "Hm."}, *part(SAID)]}]},
     "Anthropic's, with thinking"),
    ({"request": {"system": part("Be kind."), "messages": CHAT[1:]},
      "response": {"id": "x", "type": "message", "role": "assistant", "content": part(SAID)}}, "Anthropic's request and response"),
    ({"conversations": [{"from": {"user": "human", "assistant": "gpt"}.get(m["role"], "system"), "value": m["content"]}
                        for m in [*CHAT, END]]}, "ShareGPT"),
    ({"system": "Be kind.", "conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi!"},
                                              {"from": "human", "value": ASKED}, {"from": "gpt", "value": SAID}]}, "ShareGPT with system"),
    ({"inputs": {"messages": CHAT}, "outputs": {"messages": [*CHAT, END]}}, "LangSmith, the whole once more"),
    ({"inputs": {"messages": [[lang_chain("SystemMessage", "Be kind."), lang_chain("HumanMessage", "Hello"),
                               lang_chain("AIMessage", "Hi!"), lang_chain("HumanMessage", ASKED)]]},
      "outputs": {"generations": [[{"text": SAID, "message": lang_chain("AIMessage", SAID)}]]}}, "LangSmith's runs of models"),
    ({"inputs": {"messages": CHAT}, "outputs": {"output": SAID}}, "LangSmith, a text that comes out"),
    ({"input": {"messages": CHAT}, "output": END}, "Langfuse"),
    ({"input": json.dumps(CHAT), "output": json.dumps(END)}, "Langfuse's table"),
    ({"input": CHAT, "output": SAID, "model": "gpt-x"}, "Langfuse, a generation"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "reason"), LOGS, ids=[reason for _, reason in LOGS])
def test_a_log(tmp_path: Path, row: Any, reason: str) -> None:
    (tmp_path / "log.jsonl").write_bytes(as_lines(*row) if isinstance(row, tuple) else as_lines(row))
    model = "gpt-x" if "gpt-x" in str(row) else "m" if "'m'" in str(row) or '"m"' in str(row) else "log"
    ((instance, response),) = read_logs(tmp_path / "log.jsonl", [Criterion("is short")]).answered
    assert (instance.system, [m.content for m in instance.history]) == ("Be kind.", ["Hello", "Hi!"]), reason
    assert [(turn.prompt, turn.criteria) for turn in instance.turns] == [(ASKED, (Criterion("is short"),))], reason
    assert (response.answers, response.model) == ((SAID,), model), reason
    ((instance, response),) = read_logs(tmp_path / "log.jsonl", [Criterion("is short")], "all").answered
    assert ([turn.prompt for turn in instance.turns], instance.history) == (["Hello", ASKED], ()), reason
    assert response.answers == ("Hi!", SAID), reason
    if not isinstance(row, tuple) and not isinstance(row.get("output"), str):  # of a table a cell with JSON is a text
        (answer,) = read_answers(tmp_path / "log.jsonl")
        texts = answer.answers if isinstance(answer.answers, tuple) else (answer.answers,)
        assert (texts[-1], ASKED in answer.prompts) == (SAID, True), "a log is a file of responses, too"


SHORT: list[tuple[dict[str, Any], str]] = [
    ({"input": ASKED, "output": SAID}, "texts"),
    ({"Question": ASKED, "Answer": SAID}, "a sheet"),
    ({"prompt": ASKED, "completion": SAID}, "pairs for training"),
    ({"inputs": {"question": ASKED}, "outputs": {"answer": SAID}}, "LangSmith's fields"),
    ({"inputs": {"topic": ASKED}, "outputs": {"poem": SAID}}, "LangSmith's fields by names of one's own"),
    ({"input": {"args": [ASKED], "kwargs": {}}, "output": SAID}, "Langfuse, a traced function"),
    ({"input": {"args": [], "kwargs": {"topic": ASKED, "n": 3}}, "output": SAID}, "by a name of one's own"),
    ({"attributes": {"input": {"value": ASKED}, "output": {"value": SAID}}}, "Phoenix, a chain"),
    ({"attributes.input.value": ASKED, "attributes.output.value": SAID}, "in its table"),
    ({"message": ASKED, "response": SAID}, "a bot's log"),
    ({"input": {"query": ASKED}, "output": {"content": SAID}}, "Langfuse's fields"),
]


@pytest.mark.parametrize(("row", "reason"), SHORT, ids=[reason for _, reason in SHORT])
def test_a_log_of_single_questions(tmp_path: Path, row: dict[str, Any], reason: str) -> None:
    (tmp_path / "log.jsonl").write_bytes(as_lines(row | {"id": 5, "rubric": ["is short"]}))
    ((instance, response),) = read_logs(tmp_path / "log.jsonl", ()).answered
    assert (instance.id, instance.turns[0].prompt, instance.history, response.answers) == ("5", ASKED, (), (SAID,)), (
        reason
    )
    assert instance.turns[0].criteria == (Criterion("is short"),), "criteria of its own"


def test_an_answer_that_is_json_is_a_text(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_bytes(
        as_lines({"messages": [*BEFORE, BEFORE[0], {**END, "content": '{"a": [1, 2]}'}]})
    )
    ((_, response),) = read_logs(tmp_path / "log.jsonl", [Criterion("is JSON")]).answered
    assert response.answers == ('{"a": [1, 2]}',)


def test_the_two_conversations_of_an_arena(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": ASKED}]
    row = {"model_a": "m", "model_b": "n", "winner": "model_a", "conversation_a": [*talk, END],
           "conversation_b": [*talk, {**END, "content": "The Elbe."}]}  # fmt: skip
    (tmp_path / "log.jsonl").write_bytes(as_lines(row))
    for name, answers in (("m", [SAID]), ("n", ["The Elbe."]), ("both", [SAID, "The Elbe."])):
        found = read_logs(tmp_path / "log.jsonl", [Criterion("c")], model_name=name)
        assert [response.answers[0] for _, response in found.answered] == answers
    assert "1 of 2 rows are" in read_logs(tmp_path / "log.jsonl", [Criterion("c")], model_name="m").summary
    with pytest.raises(UserError, match="holds answers of m, n; say by --model-name which are meant, or what"):
        read_logs(tmp_path / "log.jsonl", [Criterion("c")])


@pytest.mark.parametrize("batch", [OPENAI_BATCH, ANTHROPIC_BATCH], ids=["OpenAI", "Anthropic"])
def test_the_two_files_of_a_batch(tmp_path: Path, batch: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "batch").mkdir()
    requests, results = tmp_path / "batch" / "requests.jsonl", tmp_path / "batch" / "results.jsonl"
    requests.write_bytes(as_lines(batch[0], batch[0] | {"custom_id": "8"}))
    failed = (
        {"response": {"status_code": 400, "body": {"error": {}}}}
        if "response" in batch[1]
        else {"result": {"type": "errored", "error": {}}}
    )
    results.write_bytes(as_lines(batch[1], {"custom_id": "8", **failed}))
    found = read_logs(tmp_path / "batch", [Criterion("c")])
    assert [(instance.id, response.answers, response.model) for instance, response in found.answered] == [
        ("7", (SAID,), "m")
    ]
    assert "1 of 2 rows are" in found.summary
    assert "left out: 1 without an answer at the end" in found.summary
    with pytest.raises(UserError, match=r"0 of 2 rows .*of a batch a folder with the files of requests and of results"):
        read_logs(results, [Criterion("c")])
    # Requests are data, results are responses to it.
    assert [(answer.id, answer.answers) for answer in read_answers(results)] == [("7", (SAID,)), ("8", None)]
    (tmp_path / "rules.txt").write_text("is short\n", encoding="utf-8")
    first, _ = data.load(str(requests), criteria=str(tmp_path / "rules.txt"))
    assert (first.id, first.system, first.turns[0].prompt) == ("7", "Be kind.", ASKED)
    assert "'custom_id' as id" in capsys.readouterr().err


def judged(capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: list[Any], *more: str) -> Any:
    (tmp_path / "log.jsonl").write_bytes(as_lines(*rows))
    (tmp_path / "rules.txt").write_text("at most 2 words\n", encoding="utf-8")
    given = ("--logs", str(tmp_path / "log.jsonl"), "--judge", "none", "--out", str(tmp_path / "out"))
    return command_here(capsys, "judge", *given, *more)


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "out" / "judgments.jsonl").read_text().splitlines()]


TOOL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
MESSY = [
    {"messages": [*CHAT, END]},
    {
        "messages": [
            *CHAT,
            TOOL,
            {"role": "tool", "content": "3"},
            {"role": "assistant", "content": "Rhine, I would say."},
        ]
    },
    {"messages": CHAT},
    {"note": 1},
    ["no object"],
    {
        "messages": [
            {"role": "user", "content": [*part("Look."), {"type": "image_url", "image_url": {"url": "x"}}]},
            END,
        ]
    },
]


def test_the_command_says_first_what_it_reads_and_judges_the_last_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = judged(capsys, tmp_path, MESSY, "--criteria", str(tmp_path / "rules.txt"))
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.endswith(
        "log.jsonl: 3 of 6 rows are conversations with an answer; the last answer of each is judged; left out: 1 without an "
        "answer at the end (the first: line 3), 1 without messages (the first: line 4), 1 that cannot be read (the first: row "
        "5); not text, and left out of conversations: 1 tool calls, 1 tool messages, 1 images"
    )
    found = lines(tmp_path)
    assert [(row["passed"], row["model"]) for row in found] == [(True, "log"), (False, "log"), (True, "log")]
    assert found[0]["id"] == found[1]["id"], "the same was asked twice: samples of one instance"
    assert [row["sample"] for row in found[:2]] == [1, 2]
    assert "Rows of the data left out: 3" in done.stdout


def test_the_command_judges_every_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = judged(
        capsys, tmp_path, [MESSY[0]], "--criteria", str(tmp_path / "rules.txt"), "--turns", "all", "--model-name", "m"
    )
    assert done.returncode == 0, done.stderr
    assert "1 rows are conversations with an answer; each answer is judged" in done.stdout
    (row,) = lines(tmp_path)
    assert ([turn[0]["label"] for turn in row["verdicts"]], row["model"]) == (["yes", "yes"], "m")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--data", "mini"), "--logs holds prompts and answers; leave out --responses, --data and --column"),
        (("--turns", "some"), "unknown turns 'some': choose from last, all"),
        ((), "has no criteria; give them to all by --criteria FILE"),
    ],
)
def test_what_does_not_go_with_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], told: str
) -> None:
    done = judged(capsys, tmp_path, [MESSY[0]], *more)
    assert (done.returncode, told in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_logs_without_any_answer_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = judged(capsys, tmp_path, MESSY[2:4], "--criteria", str(tmp_path / "rules.txt"))
    assert (done.returncode, "0 of 2 rows are conversations" in done.stderr) == (2, True), done.stderr


def test_several_models_are_named(tmp_path: Path) -> None:
    rows = [{"input": ASKED, "output": SAID, "model": name} for name in ("a", "b")]
    (tmp_path / "log.jsonl").write_bytes(as_lines(*rows))
    with pytest.raises(UserError, match="holds answers of a, b; say by --model-name"):
        read_logs(tmp_path / "log.jsonl", [Criterion("c")])
    read: Callable[..., Any] = read_logs
    assert {
        response.model for _, response in read(tmp_path / "log.jsonl", [Criterion("c")], model_name="both").answered
    } == {"both"}
