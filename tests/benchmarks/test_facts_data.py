"""Rows of FACTS in every form, and answers that are there already put to the documents they rest on."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import ROOT, write_jsonl
from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.answers import given_answers
from truebench_hf.benchmarks.facts.data import FactsItem, of_row
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.types import Passage, Source

PARIS = {"question": "Where?", "context": "In Paris."}
TWO = (Passage("1", "In Paris."), Passage("2", "In May."))
ROWS: list[tuple[str, dict[str, Any], Source]] = [
    ("the public CSV", {"system_instruction": "Only this.", "user_request": "Where?", "context_document": "In Paris.",
                        "full_prompt": "all"}, Source("Where?", "In Paris.", "Only this.")),
    ("a question on a context", PARIS, Source("Where?", "In Paris.")),
    ("ragas, old names", {"question": "Where?", "contexts": ["In Paris.", "In May."], "answer": "a", "ground_truth": "g"},
     Source("Where?", passages=TWO)),
    ("ragas, new names", {"user_input": "Where?", "retrieved_contexts": ["In Paris.", "In May."], "reference": "g"},
     Source("Where?", passages=TWO)),
    ("deepeval", {"input": "Where?", "retrieval_context": ["In Paris.", "In May."], "expected_output": "g"},
     Source("Where?", passages=TWO)),
    ("a list in a cell, as JSON", {"question": "Where?", "contexts": '["In Paris.", "In May."]'},
     Source("Where?", passages=TWO)),
    ("a list in a cell, as pandas writes it", {"question": "Where?", "contexts": "['In Paris.', 'In May.']"},
     Source("Where?", passages=TWO)),
    ("passages with ids", {"query": "Where?", "passages": [{"id": "p7", "text": "In Paris."}]},
     Source("Where?", passages=(Passage("p7", "In Paris."),))),
    ("langchain documents of one title", {"query": "Where?", "documents": [
        {"title": "Guide", "page_content": "In Paris."}, {"title": "Guide", "page_content": "In May."}]},
     Source("Where?", passages=(Passage("Guide", "In Paris."), Passage("Guide (2)", "In May.")))),
    ("an object by id", {"query": "Where?", "passages": {"a": "In Paris.", "b": "In May."}},
     Source("Where?", passages=(Passage("a", "In Paris."), Passage("b", "In May.")))),
    ("a document that begins with a bracket", {"request": "Where?", "document": "[Page 1] In Paris."},
     Source("Where?", "[Page 1] In Paris.")),
    ("one text where a list is usual", {"question": "Where?", "contexts": "In Paris."},
     Source("Where?", passages=(Passage("1", "In Paris."),))),
]  # fmt: skip


@pytest.mark.parametrize(("row", "source"), [case[1:] for case in ROWS], ids=[case[0] for case in ROWS])
def test_rows_of_every_form(row: dict[str, Any], source: Source) -> None:
    assert of_row(Record("here", row)).source == source


BAD: list[tuple[str, dict[str, Any], str]] = [
    (
        "no request",
        {"context": "In Paris."},
        r"here: has no request; call its column request, .* or prompt; the file has context",
    ),
    (
        "no document",
        {"question": "Where?"},
        "here: has no document; call its column document, context_document, context, passages",
    ),
    ("passages that are numbers", {"question": "Where?", "contexts": [1, 2]}, r"'contexts\[0\]' must be an object"),
    (
        "passages without text",
        {"question": "Where?", "contexts": [{"id": 1}]},
        r"field 'contexts\[0\].text' is needed",
    ),
    ("a length in words", PARIS | {"context_tokens": "long"}, "'context_tokens' must be a number of tokens"),
    ("half a character", PARIS | {"domain": "\ud800"}, "half a character"),
]


@pytest.mark.parametrize(("row", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_rows_that_cannot_be_used_say_why(row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        of_row(Record("here", row))


def test_the_sample_has_columns_to_tell_scores_apart_by_and_baselines() -> None:
    items = data.load("facts_mini")
    assert Counter(item.domain for item in items).total() == 12
    assert items[0].groups == {
        "domain": "finance", "task": "question answering", "length": "under 1k", "language": "EN"
    }  # fmt: skip
    assert items[-1].groups["length"] == "1k to 2k", "1,164 tokens"
    assert all(item.baseline and item.split == "" for item in items)
    shown = items[0].instance
    assert (shown.system, shown.context, shown.turns[0].prompt) == (
        items[0].source.system, items[0].source.document, items[0].source.request
    )  # fmt: skip


def test_the_public_layout_has_no_groups_and_splits_are_named(tmp_path: Path) -> None:
    built = tmp_path / "data"
    built.mkdir()
    for split in ("open", "blind"):
        with (built / f"{split}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["system_instruction", "user_request", "context_document", "full_prompt"])
            writer.writeheader()
            writer.writerow(dict.fromkeys(writer.fieldnames, split))
    items = data.load(str(built))
    assert [(item.split, item.groups, item.baseline) for item in items] == [
        ("blind", {}, None), ("open", {}, None)
    ]  # fmt: skip
    assert [item.split for item in data.load(str(built / "open.csv"))] == [""], "one file is no split"


def test_passages_are_shown_under_their_ids() -> None:
    item = of_row(Record("here", {"question": "Where?", "contexts": ["In Paris.", "In May."]}))
    assert item.document == "[1]\nIn Paris.\n\n[2]\nIn May."


@pytest.mark.parametrize("found", [[], "[]"])
def test_a_retrieval_that_found_nothing_is_evidence_of_nothing(found: Any) -> None:
    """Logs hold such rows; the answer then rests on the request alone, and the rest of the log is graded as ever."""
    item = of_row(Record("here", {"question": "Where?", "contexts": found}))
    assert (item.document, item.source.request, list(item.source.parts())) == ("", "Where?", [("request", "Where?")])
    both = of_row(Record("here", {"question": "Where?", "contexts": found, "documents": ["In Paris."]}))
    assert both.document == "[1]\nIn Paris."


def test_ids_stand_once(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "d.jsonl", [PARIS | {"id": 1}, PARIS | {"id": 1}])
    with pytest.raises(UserError, match=r"line 2: id 1 stands twice \(first at .*line 1\)"):
        data.load(file)


# Answers that are there already.


def items(*rows: dict[str, Any]) -> list[FactsItem]:
    return [of_row(Record("here", row), str(number)) for number, row in enumerate(rows, 1)]


def answers(tmp_path: Path, rows: list[dict[str, Any]], its: list[FactsItem] | None = None, **more: Any) -> Any:
    model, found = given_answers(write_jsonl(tmp_path / "log.jsonl", rows), its, **more)
    told = [
        (one.item.id, one.document, one.response.answers[0] if one.response.answers else one.response.error)
        for one in found
        if one.response
    ]
    return model, told


ITEMS = items(PARIS | {"id": "a"}, {"id": "b", "question": "When?", "context": "In May."})
LOGS: list[tuple[str, list[dict[str, Any]], Any]] = [
    ("ids and answers", [{"id": "a", "answer": "x"}, {"id": "b", "answer": "y"}], [("a", "a", "x"), ("b", "b", "y")]),
    ("in another order", [{"id": "b", "response": "y"}, {"id": "a", "output": "x"}], [("a", "a", "x"), ("b", "b", "y")]),
    ("by request, without ids", [{"question": " Where? ", "answer": "x"}], [("a", "a", "x"), ("b", "b", "no answer in log.jsonl")]),
    ("a numbered log, by request", [{"id": 0, "question": "When?", "answer": "y"}],
     [("a", "a", "no answer in log.jsonl"), ("b", "b", "y")]),
    ("two answers to one", [{"id": "a", "answer": "x"}, {"id": "a", "answer": "z"}, {"id": "a", "answer": "x"}],
     [("a", "a", "x"), ("a#2", "a", "z"), ("b", "b", "no answer in log.jsonl")]),
    ("an empty answer is one", [{"id": "a", "answer": ""}], [("a", "a", ""), ("b", "b", "no answer in log.jsonl")]),
    ("an id with a gap in its column", [{"id": 7.0, "question": "When?", "answer": "y"}],
     [("a", "a", "no answer in log.jsonl"), ("b", "b", "y")]),
    ("null is none", [{"id": "a", "answer": None}, {"id": "b", "answer": "y"}],
     [("a", "a", "no answer in log.jsonl"), ("b", "b", "y")]),
    ("deepeval", [{"id": "a", "input": "Where?", "actual_output": "x"}], [("a", "a", "x"), ("b", "b", "no answer in log.jsonl")]),
    ("lm-eval", [{"doc_id": 0, "doc": {"question": "Where?"}, "arguments": [["In Paris. Where?"]], "resps": [["x"]]}],
     [("a", "a", "x"), ("b", "b", "no answer in log.jsonl")]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "told"), [case[1:] for case in LOGS], ids=[case[0] for case in LOGS])
def test_answers_find_their_items(tmp_path: Path, rows: list[dict[str, Any]], told: Any) -> None:
    assert answers(tmp_path, rows, ITEMS) == ("log", told)


def test_a_log_of_retrieval_needs_no_data(tmp_path: Path) -> None:
    rows = [
        {"question": "Where?", "contexts": ["In Paris."], "answer": "Paris.", "ground_truth": "g", "model": "m"},
        {"question": "When?", "contexts": ["In May."], "answer": "May.", "model": "m"},
    ]
    where, when = "ef4c5dcd510d", "bad87b77acbf"  # follow from what was asked
    assert answers(tmp_path, rows) == ("m", [(where, where, "Paris."), (when, when, "May.")])
    assert answers(
        tmp_path,
        [
            {"Question": "Where?", "Contexts": ["In Paris."], "Answer": "Paris.", "Ground_Truth": "g", "model": "m"},
            *rows[1:],
        ],
    ) == ("m", [(where, where, "Paris."), (when, when, "May.")]), "in any case"
    _, found = given_answers(str(tmp_path / "log.jsonl"), None)
    assert [(one.item.source.passages, one.item.reference) for one in found] == [
        ((Passage("1", "In Paris."),), "g"), ((Passage("1", "In May."),), None)
    ]  # fmt: skip


def test_what_was_retrieved_takes_the_place_of_the_document(tmp_path: Path) -> None:
    row = {"id": "a", "answer": "x", "passages": [{"id": "p1", "text": "In Lyon."}]}
    _, (found, _) = given_answers(write_jsonl(tmp_path / "log.jsonl", [row]), ITEMS)
    assert found.item.source == Source("Where?", passages=(Passage("p1", "In Lyon."),))


def test_only_one_model_is_graded(tmp_path: Path) -> None:
    rows = [{"id": "a", "answer": "x", "model": "m"}, {"id": "a", "answer": "y", "model": "n"}]
    with pytest.raises(UserError, match="are of m, n; say by --model-name"):
        answers(tmp_path, rows, ITEMS)
    model, told = answers(tmp_path, rows, ITEMS, model_name="n")
    assert (model, told[0]) == ("n", ("a", "a", "y"))
    assert answers(tmp_path, rows[:1], ITEMS, model_name="mine")[0] == "mine"


UNUSABLE: list[tuple[str, list[dict[str, Any]], bool, str]] = [
    ("no document anywhere", [{"question": "Where?", "answer": "x"}], False, "has no document; call its column .*, or give what was asked by --data; the file has question"),
    ("rows to nothing", [{"id": "q", "question": "Why?", "answer": "x"}], True, "none of its 1 responses is to an instance"),
    ("two turns", [{"id": "a", "answer": ["x", "y"]}], True, "holds 2 answers; give one to each request"),
    ("one id, two documents", [PARIS | {"id": 1, "answer": "x"}, PARIS | {"id": 1, "answer": "y", "context": "z"}], False,
     "id 1 stands twice with another document"),
    ("no answers", [{"id": "a"}], True, "missing field 'response' .or responses, .*; the file has id"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "matched", "message"), [case[1:] for case in UNUSABLE], ids=[c[0] for c in UNUSABLE])
def test_answers_that_cannot_be_used_say_why(
    tmp_path: Path, rows: list[dict[str, Any]], matched: bool, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        answers(tmp_path, rows, ITEMS if matched else None)


def test_rows_to_nothing_are_left_out_with_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": "a", "answer": "x"}, {"id": "q", "question": "Why?", "answer": "x"}]
    assert len(answers(tmp_path, rows, ITEMS)[1]) == 2
    assert "1 of 2 responses are to no instance of the data and left out" in capsys.readouterr().err


def test_a_csv_cannot_tell_an_empty_answer_from_none(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("id,answer\na,\nb,y\n")
    _, found = given_answers(str(tmp_path / "log.csv"), ITEMS)
    assert [one.response.error for one in found if one.response] == ["no answer in log.csv", None]


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("{")
    with pytest.raises(UserError, match=r"log\.jsonl, line 1: not JSON"):
        given_answers(str(tmp_path / "log.jsonl"), ITEMS)


PUBLISH = """
from huggingface_hub import HfApi
HfApi().create_repo("google/FACTS-grounding-public", repo_type="dataset")
for name, text in (("examples.csv", EXAMPLES), ("evaluation_prompts.csv", "method,prompt\\na,b\\n")):
    HfApi().upload_file(
        path_or_fileobj=text.encode(), path_in_repo=name, repo_id="google/FACTS-grounding-public", repo_type="dataset"
    )
print("0")
"""
LOAD = """
import json
from truebench_hf.benchmarks.facts.data import load
from truebench_hf.errors import UserError
try:
    print(json.dumps([[item.id, item.split, item.source.request] for item in load("open")]))
except UserError as error:
    print(json.dumps(str(error)))
"""


@pytest.mark.slow
def test_the_public_set_comes_from_its_one_file_of_examples(tmp_path: Path) -> None:
    text = "system_instruction,user_request,context_document,full_prompt\nOnly this.,Where?,In Paris.,all\n"
    with HubStub() as hub:
        client = HubClient(hub, tmp_path)
        missing = client.value(LOAD, PYTHONPATH=str(ROOT))
        assert missing.startswith("--data open: examples.csv of google/FACTS-grounding-public cannot be had: ")
        client.value(f"EXAMPLES = {text!r}\n{PUBLISH}")
        assert client.value(LOAD, PYTHONPATH=str(ROOT)) == [["5cf6671deb02", "open", "Where?"]]
