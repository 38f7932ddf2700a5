"""Rows of FACTS in every form, answers that are there already, and judge templates chosen on labelled answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas
import pytest

from tests.support.corpus import each_row, table
from tests.support.facts import mini
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import ROOT, script, write_jsonl
from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.answers import given_answers, labelled_row
from truebench_hf.benchmarks.facts.data import of_row
from truebench_hf.benchmarks.facts.selection import Selection, SelectOptions, SelectTemplate
from truebench_hf.benchmarks.facts.templates import fitted
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.classifier import Cut
from truebench_hf.judging.grounding.types import Passage, Source

CASES = table(__file__, "facts_forms")
PARIS = {"question": "Where?", "context": "In Paris."}
ITEMS = [
    of_row(Record("here", row)) for row in (PARIS | {"id": "a"}, {"id": "b", "question": "When?", "context": "In May."})
]


def written(folder: Path, row: dict[str, Any], form: str) -> str:
    """The row in a file of a form, beside documents."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "paris.txt").write_text("In Paris.")
    (folder / "docs" / "paris.pdf").write_text("%PDF")
    file = folder / f"log{form}"
    if form == ".csv":
        cells = [value if isinstance(value, str | int | float) else json.dumps(value) for value in row.values()]
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows([list(row), cells])
    elif form == ".parquet":
        pandas.DataFrame([row]).to_parquet(file)
    else:
        file.write_text(json.dumps([row] if form == ".json" else row) + "\n", encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("form", [".jsonl", ".json", ".csv", ".parquet"])
@pytest.mark.parametrize(("row", "rests_on"), [c[1:] for c in CASES["rows"]], ids=[c[0] for c in CASES["rows"]])
def test_a_row_reads_the_same_in_every_form(
    tmp_path: Path, row: dict[str, Any], rests_on: dict[str, Any], form: str
) -> None:
    if form == ".parquet" and isinstance(row.get("passages"), dict):
        pytest.skip("a column of objects has the keys of all rows")
    passages = tuple(Passage(*passage) for passage in rests_on.get("passages", {}).items())
    source = Source("Where?", rests_on.get("document", ""), rests_on.get("system", ""), passages)
    file = written(tmp_path, row, form)
    _, (task,) = given_answers(file, None, "m")
    assert task.response is not None
    assert (task.item.source, task.response.answers) == (source, ("Paris.",)), "as answers that are there already"
    (item,) = data.load(file)
    assert item.source == source, "as data that a model answers"


@pytest.mark.parametrize("form", [".jsonl", ".csv"])
@pytest.mark.parametrize(("row", "words"), [c[1:] for c in CASES["refused"]], ids=[c[0] for c in CASES["refused"]])
def test_what_cannot_be_read_says_what_to_do(tmp_path: Path, row: dict[str, Any], words: str, form: str) -> None:
    if form == ".csv" and isinstance(row.get("user_input"), list):
        pytest.skip("a cell is a text")
    file = written(tmp_path, row, form)
    with pytest.raises(UserError, match=words) as caught:
        data.load(file)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError):
        given_answers(file, None)


def test_rows_in_memory_read_no_files_and_need_whole_characters() -> None:
    for row, words in (
        (
            {"question": "Where?", "path": "docs/paris.txt"},
            r"which is no text file in the folder of the data .it has none",
        ),
        (PARIS | {"domain": "\ud800"}, "half a character"),
    ):
        with pytest.raises(UserError, match=words):
            data.of_rows({"": [Record("hub, record 1", row)]})


def test_the_sample_has_columns_to_tell_scores_apart_by_and_baselines() -> None:
    items = data.load("facts_mini")
    first, source = items[0], items[0].source
    assert len(items) == 12
    groups = {"domain": "finance", "task": "question answering", "length": "under 1k", "language": "EN"}
    assert (first.groups, items[-1].groups["length"]) == (groups, "1k to 2k"), "1,164 tokens"
    assert all(item.baseline and item.split == "" for item in items)
    shown = first.instance
    assert (shown.system, shown.context, shown.turns[0].prompt) == (source.system, source.document, source.request)
    passages = of_row(Record("here", {"question": "Where?", "contexts": ["In Paris.", "In May."]}))
    assert passages.document == "[1]\nIn Paris.\n\n[2]\nIn May.", "under their ids"
    for tokens, length in ((999, "under 1k"), (1000, "1k to 2k"), (31_999, "16k to 32k"), (32_000, "over 32k")):
        assert of_row(Record("here", PARIS | {"context_tokens": tokens})).groups["length"] == length


def test_splits_are_named_and_ids_stand_once(tmp_path: Path) -> None:
    built = tmp_path / "data"
    built.mkdir()
    for split in ("open", "blind"):
        header = "system_instruction,user_request,context_document,full_prompt"
        (built / f"{split}.csv").write_text(f"{header}\n{','.join([split] * 4)}\n")
    items = data.load(str(built))
    assert [(item.split, item.groups, item.baseline) for item in items] == [("blind", {}, None), ("open", {}, None)]
    assert [item.split for item in data.load(str(built / "open.csv"))] == [""], "one file is no split"
    for rows, words in (
        ([PARIS | {"id": 1}] * 2, r"line 2: id 1 stands twice \(first at .*line 1\)"),
        ([], "holds no rec"),
    ):
        with pytest.raises(UserError, match=words):
            data.load(write_jsonl(tmp_path / "d.jsonl", rows))
    first, second = data.load(write_jsonl(tmp_path / "d.jsonl", [PARIS] * 2))
    assert second.id == f"{first.id}-2", "a hash of what is asked, numbered"


def answers(tmp_path: Path, rows: list[dict[str, Any]], items: Any = ITEMS, **more: Any) -> tuple[str, dict[str, str]]:
    """Whose answers these are, and the answer to each item; "-" where there is none."""
    model, tasks = given_answers(write_jsonl(tmp_path / "log.jsonl", rows), items, **more)
    assert [task.document for task in tasks] == [task.item.id.partition("#")[0] for task in tasks]
    texts = {}
    for task in tasks:
        assert task.response is not None
        assert bool(task.response.answers) != bool(task.response.error)
        texts[task.item.id] = task.response.answers[0] if task.response.answers else "-"
        assert task.response.error in (None, "no answer in log.jsonl")
    return model, texts


@pytest.mark.parametrize(("rows", "texts"), [c[1:] for c in CASES["answers"]], ids=[c[0] for c in CASES["answers"]])
def test_answers_find_their_items(tmp_path: Path, rows: list[dict[str, Any]], texts: dict[str, str]) -> None:
    assert answers(tmp_path, rows) == ("log", texts)


@pytest.mark.parametrize(("rows", "matched", "words"), CASES["unusable"])
def test_answers_that_cannot_be_used_say_why(
    tmp_path: Path, rows: list[dict[str, Any]], matched: bool, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        answers(tmp_path, rows, ITEMS if matched else None)


def test_whose_answers_they_are_and_what_they_rest_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": "a", "answer": "x", "model": "m"}, {"id": "a", "answer": "y", "model": "n"}]
    assert answers(tmp_path, rows, model_name="n") == ("n", {"a": "y", "b": "-"})
    assert answers(tmp_path, rows[:1], model_name="mine")[0] == "mine"
    row = {"id": "a", "answer": "x", "passages": [{"id": "p1", "text": "In Lyon."}]}
    _, (task, _) = given_answers(write_jsonl(tmp_path / "log.jsonl", [row, {"id": "q", "answer": "x"}]), ITEMS)
    assert task.item.source == Source("Where?", passages=(Passage("p1", "In Lyon."),)), "what was retrieved"
    assert "1 of 2 responses are to no instance of the data and left out" in capsys.readouterr().err
    logged = {"question": "Where?", "contexts": ["In Paris."], "answer": "Paris.", "Ground_Truth": "g", "model": "m"}
    assert answers(tmp_path, [logged], None) == ("m", {"ef4c5dcd510d": "Paris."}), "it follows from what was asked"
    _, (task,) = given_answers(str(tmp_path / "log.jsonl"), None)
    assert task.item.reference == "g"
    (tmp_path / "log.csv").write_text("id,answer\na,\nb,y\n")
    _, tasks = given_answers(str(tmp_path / "log.csv"), ITEMS)
    assert [task.response.error for task in tasks if task.response] == ["no answer in log.csv", None]
    (tmp_path / "log.jsonl").write_text("{")
    for file, words in (
        ("log.jsonl", r"log\.jsonl, line 1: not JSON"),
        ("gone.jsonl", "no such file, nor a run folder"),
    ):
        with pytest.raises(UserError, match=words):
            given_answers(str(tmp_path / file), ITEMS)


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


# Judge templates chosen on labelled answers

ACCURATE, INACCURATE = 'Looked at. {"verdict": "accurate"}', 'Looked at. {"verdict": "inaccurate"}'


def labelled(tmp_path: Path, count: int = 12, **more: Any) -> Path:
    """Answers to `count` documents, two each: every second pair is inaccurate (blue) and ineligible (stubby)."""
    rows = []
    for number in range(count):
        asked = {"document": f"Document {number} says that bananas are yellow.", "request": "Which colour is it?"}
        asked |= {"baseline": "Bananas are yellow."}
        bad = number % 2 == 1
        for kind, text in (
            ("a", f"Bananas are {'blue' if bad else 'yellow'} <a{number}>."),
            ("b", f"b{number} stubby" if bad else f"Yellow it is, b{number}."),
        ):
            labels = {"accurate": "no" if "blue" in text else "yes", "eligible": "no" if "stubby" in text else "yes"}
            rows.append(asked | {"id": f"{number}{kind}", "response": text} | labels | more)
    return write_jsonl(tmp_path / "labelled.jsonl", rows)


def judge(path: Path, *rules: dict[str, Any]) -> str:
    """A judge that sees what is blue and what is stubby, but for the rules before."""
    return script(path, [
        *rules,
        {"contains": ["rating", "stubby"], "reply": 'Too short. {"rating": "major issues"}'},
        {"contains": "rating", "reply": 'Fine. {"rating": "minor issues"}'},
        {"contains": "are blue", "reply": INACCURATE},
        {"contains": "verdict", "reply": ACCURATE},
    ])  # fmt: skip


def select(tmp_path: Path, data: Path | str, *judges: str, **more: Any) -> Selection:
    options = {"template": ("response",), "eligibility": ("request",), "out": str(tmp_path / "out")} | more
    return SelectTemplate(SelectOptions(labelled=str(data), judge=judges, **options)).run().value


def test_figures_of_two_judges(tmp_path: Path) -> None:
    right = judge(tmp_path / "right.json")
    lenient = judge(tmp_path / "lenient.json", {"contains": "are blue", "reply": ACCURATE})
    selection = select(tmp_path, labelled(tmp_path), right, lenient)
    grounding, eligibility = selection.grounding, selection.eligibility
    assert grounding is not None
    assert eligibility is not None
    row, other = (grounding.row(spec, "response") for spec in (right, lenient))
    assert (row["macro_f1"].value, row["undecided"], grounding.choices[right].best) == (1.0, 0, "response")
    # 6 of 24 answers are inaccurate: who calls all accurate is right on 75 %, with an F1 of 6/7 on one side alone.
    assert [other[name].value for name in ("accuracy", "fpr", "fnr")] == [0.75, 1.0, 0.0]
    assert other["macro_f1"].value == pytest.approx(3 / 7)
    always = grounding.row("always accurate", "-")  # which is what this judge does
    assert always | {"judge": lenient, "template": "response"} == other
    ineligible = eligibility.row(right, "request")
    assert [ineligible[name] for name in ("tp", "tn", "fp", "fn")] == [6, 18, 0, 0]  # positive: ineligible


def test_what_is_undecided_is_shown_and_does_not_win(tmp_path: Path) -> None:
    silent = judge(tmp_path / "silent.json", {"contains": ["verdict", "<a"], "error": "down"})
    selection = select(tmp_path, labelled(tmp_path), silent)
    assert selection.grounding is not None
    measured = selection.grounding.row(silent, "response")
    # It answers on 12 of 24 and is right on all of them, none of which is inaccurate.
    assert (measured["n"], measured["undecided"], measured["accuracy"].value) == (12, 12, 1.0)
    assert measured["macro_f1_strict"].value == pytest.approx((2 * 12 / (2 * 12 + 6 + 6)) / 2)


def record(**row: Any) -> Record:
    plain = {"document": "D", "request": "R", "response": "One. Two. Three.", "accurate": "yes"}
    return Record("row 1", {name: value for name, value in (plain | row).items() if value is not None})


@each_row(__file__, "facts_select", "parts")
def test_labels_of_parts_of_an_answer(row: dict[str, Any], labels: list[Any]) -> None:
    answer = labelled_row(record(**row), "1")
    assert [answer.label(0, 4), answer.label(5, 9), answer.label(10, 16)] == labels
    assert answer.label(0, 9) == ("no" if "no" in labels else labels[0]), "ungrounded as soon as it touches what is"


@each_row(__file__, "facts_select", "useless")
def test_rows_that_are_no_use_say_why(row: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match="row 1") as caught:
        labelled_row(record(**row), "1")
    assert words in str(caught.value)


@each_row(__file__, "facts_select", "choose_nothing")
def test_labels_that_choose_nothing_are_refused_or_left_out(
    tmp_path: Path, changed: dict[str, Any], words: str
) -> None:
    data, spec = labelled(tmp_path, **changed), judge(tmp_path / "judge.json")
    if "was not judged" in words:
        selection = select(tmp_path, data, spec)
        assert (selection.grounding is None, selection.eligibility is None) == ("G" in words, "E" in words)
        assert words in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    else:
        with pytest.raises(UserError, match=words):
            select(tmp_path, data, spec)


def test_the_cut_of_a_classifier() -> None:
    """Fitted on all answers; the labels are those of cuts that had not seen the document."""
    shares = [0.95 if row % 2 else 0.7 for row in range(40)]
    gold: list[Any] = ["yes" if row % 2 else "no" for row in range(40)]
    cut, labels = fitted(shares, gold, [row // 2 for row in range(40)], folds=5, seed=0) or (Cut(), [])
    assert labels == gold
    assert cut.share(0.7) < cut.threshold <= cut.share(0.95)  # 0.5 would have called all supported
    assert fitted(shares, ["yes"] * 40, range(40), folds=5, seed=0) is None  # one kind of answer
    assert fitted([None] * 40, gold, range(40), folds=5, seed=0) is None  # no probability
    assert fitted([], [], [], folds=5, seed=0) is None


def test_sentences_are_held_against_their_labels(tmp_path: Path) -> None:
    """An oracle for single sentences of facts_mini is right on every one that it is asked about."""
    wrong = [entry["sentence"] for row in mini() for entry in row["ungrounded_sentences"]]
    spec = script(tmp_path / "oracle.json", [
        *({"contains": f">\n{sentence}\n</span", "reply": INACCURATE} for sentence in wrong),
        {"contains": "verdict", "reply": ACCURATE},
    ])  # fmt: skip
    selection = select(tmp_path, "facts_mini", spec, template=("span",))
    (row,) = selection.sentences.rows
    assert [row[name] for name in ("tp", "fn", "fp", "undecided")] == [len(wrong), 0, 0, 0]
    assert row["tn"] > 100
    assert selection.grounding is not None
    assert selection.grounding.row(spec, "span")["macro_f1"].value == 1.0  # 24 accurate answers and 12 that are not
