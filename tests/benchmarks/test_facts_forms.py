"""Every form in which tools that evaluate retrieval keep a row, in one table: read alike, or refused with the remedy."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.answers import given_answers
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.types import Passage, Source

TEXTS = ("In Paris.", "In May.")
TWO = Source("Where?", passages=(Passage("1", TEXTS[0]), Passage("2", TEXTS[1])))
NONE, ONE = Source("Where?"), Source("Where?", "In Paris.")
LANGCHAIN = [{"page_content": text, "metadata": {"page": 1}, "type": "Document"} for text in TEXTS]
DUMPED = [
    {"lc": 1, "type": "constructor", "id": ["langchain", "Document"], "kwargs": {"page_content": t}} for t in TEXTS
]
NODES = [
    {"node": {"id_": name, "text": text, "metadata": {"page": 1}}, "score": 0.7}
    for name, text in zip("ab", TEXTS, strict=True)
]
BY_NODE = Source("Where?", passages=(Passage("a", TEXTS[0]), Passage("b", TEXTS[1])))
SPANS = [{"document.content": text, "document.score": 0.5} for text in TEXTS]
PRINTED = "[Document(metadata={'page': 1}, page_content='In Paris.'), Document(page_content='In May.')]"

# (who writes it, the row, what the answer "Paris." must rest on)
ROWS: list[tuple[str, dict[str, Any], Source]] = [
    ("ragas until 0.1", {"question": "Where?", "contexts": TEXTS, "answer": "Paris.", "ground_truth": "g"}, TWO),
    ("ragas from 0.2", {"user_input": "Where?", "retrieved_contexts": TEXTS, "response": "Paris.", "reference": "g"}, TWO),
    ("a test set of ragas", {"user_input": "Where?", "reference_contexts": TEXTS, "response": "Paris."}, TWO),
    ("LangChain's retrieval chain", {"input": "Where?", "context": LANGCHAIN, "answer": "Paris."}, TWO),
    ("LangChain's RetrievalQA", {"query": "Where?", "result": "Paris.", "source_documents": LANGCHAIN}, TWO),
    ("LangChain, dumped", {"input": "Where?", "context": DUMPED, "answer": "Paris."}, TWO),
    ("LangChain, printed into a cell", {"input": "Where?", "context": PRINTED, "answer": "Paris."}, TWO),
    ("LangSmith's runs", {"inputs": {"question": "Where?"}, "outputs": {"answer": "Paris.", "contexts": TEXTS}}, TWO),
    ("LangSmith, chains", {"inputs": {"input": "Where?"}, "outputs": {"output": "Paris.", "documents": LANGCHAIN}}, TWO),
    ("LangSmith's results as a table", {"inputs.question": "Where?", "outputs.answer": "Paris.", "outputs.contexts": TEXTS,
                                        "reference.answer": "g", "feedback.correct": 1}, TWO),
    ("LlamaIndex's evaluations", {"query": "Where?", "contexts": TEXTS, "response": "Paris.", "passing": True}, TWO),
    ("LlamaIndex's responses", {"query": "Where?", "response": "Paris.", "source_nodes": NODES}, BY_NODE),
    ("LlamaIndex's labelled sets", {"query": "Where?", "reference_contexts": TEXTS, "reference_answer": "g",
                                    "answer": "Paris."}, TWO),
    ("Phoenix's spans", {"attributes.input.value": "Where?", "attributes.output.value": "Paris.",
                         "attributes.retrieval.documents": SPANS, "context.span_id": "7f"}, TWO),
    ("Phoenix, nested", {"attributes": {"input.value": "Where?", "output.value": "Paris.", "retrieval.documents": [
        {"document": {"content": text}} for text in TEXTS]}}, TWO),
    ("headers in capitals", {"QUESTION": "Where?", "CONTEXTS": TEXTS, "ANSWER": "Paris."}, TWO),
    ("headers with spaces", {"User Input": "Where?", "Retrieved Contexts": TEXTS, "Response": "Paris."}, TWO),
    ("a list as Python prints it", {"question": "Where?", "contexts": "['In Paris.', 'In May.']", "answer": "Paris."}, TWO),
    ("a list as NumPy prints it", {"question": "Where?", "contexts": "['In Paris.'\n 'In May.']", "answer": "Paris."}, TWO),
    ("a document", {"question": "Where?", "context": "In Paris.", "answer": "Paris."}, ONE),
    ("a document in a file", {"question": "Where?", "document_path": "docs/paris.txt", "answer": "Paris."}, ONE),
    ("a file, and a blank column", {"Question": "Where?", "document": "", "File": "docs/paris.txt", "answer": "Paris."}, ONE),
    ("retrieval found none", {"question": "Where?", "contexts": [], "answer": "Paris."}, NONE),
    ("retrieval found none, printed", {"question": "Where?", "contexts": "[]", "answer": "Paris."}, NONE),
    ("retrieval found none, a blank cell", {"question": "Where?", "contexts": "", "answer": "Paris."}, NONE),
    ("LangChain found none", {"input": "Where?", "context": [], "answer": "Paris."}, NONE),
    ("an address beside passages", {"question": "Where?", "contexts": TEXTS, "url": "https://a.b", "answer": "Paris."}, TWO),
]  # fmt: skip


def as_cell(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else json.dumps(value)


def written(folder: Path, row: dict[str, Any], form: str) -> str:
    """The row in a file of a form, beside a document."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "paris.txt").write_text("In Paris.", encoding="utf-8")
    (folder / "docs" / "paris.pdf").write_bytes(b"%PDF")
    file = folder / f"log{form}"
    if form == ".csv":
        text = io.StringIO()
        csv.writer(text).writerows([list(row), [as_cell(value) for value in row.values()]])
        file.write_text(text.getvalue(), encoding="utf-8")
    elif form == ".parquet":
        import pandas

        pandas.DataFrame([row]).to_parquet(file)
    else:
        file.write_text(json.dumps([row] if form == ".json" else row, indent=None) + "\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("form", [".jsonl", ".json", ".csv", ".parquet"])
@pytest.mark.parametrize(("row", "source"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS])
def test_a_row_reads_the_same_in_every_form(tmp_path: Path, row: dict[str, Any], source: Source, form: str) -> None:
    file = written(tmp_path, row, form)
    _, (task,) = given_answers(file, None)
    assert task.response is not None
    assert (task.item.source, task.response.answers) == (source, ("Paris.",)), "as answers that are there already"
    (item,) = data.load(file)
    assert item.source == source, "as data that a model answers"


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("a document that was forgotten", {"question": "Where?", "document": "", "answer": "Paris."},
     r"has no document; call its column document, .*; \[\] says that retrieval found none"),
    ("no document", {"question": "Where?", "answer": "Paris."}, "has no document; call its column document"),
    *((what, {"question": "Where?", column: name, "answer": "Paris."}, f"'{column}' names {name}, which is no text file in")
      for what, column, name in (
          ("an address", "document_url", "https://a.b/c.html"), ("a file that is not there", "path", "docs/lyon.txt"),
          ("a file elsewhere", "path", "../../etc/passwd"), ("a PDF", "file", "docs/paris.pdf"),
      )),
]  # fmt: skip


@pytest.mark.parametrize("form", [".jsonl", ".csv"])
@pytest.mark.parametrize(("row", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_cannot_be_read_says_what_to_do(tmp_path: Path, row: dict[str, Any], message: str, form: str) -> None:
    file = written(tmp_path, row, form)
    for reading in (lambda: given_answers(file, None), lambda: data.load(file)):
        with pytest.raises(UserError, match=message) as caught:
            reading()
        assert "\n" not in str(caught.value)


def test_a_conversation_is_no_request(tmp_path: Path) -> None:
    row = {"user_input": [{"type": "human", "content": "Where?"}], "retrieved_contexts": TEXTS, "response": "Paris."}
    with pytest.raises(UserError, match="must be a text"):
        data.load(written(tmp_path, row, ".jsonl"))


def test_a_set_from_the_hub_reads_no_files_of_this_machine(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"which is no text file in the folder of the data .it has none"):
        data.of_rows({"": [Record("hub, record 1", {"question": "Where?", "path": "docs/paris.txt"})]})
