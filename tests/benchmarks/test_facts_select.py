"""Choosing judge templates on labelled answers, and sorting prompts by domain and task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.facts import mini
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts import answers as rows
from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.selection import Selection, SelectOptions, SelectTemplate
from truebench_hf.benchmarks.facts.templates import TemplateChoice, fitted, read_choices
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.grounding.classifier import Cut
from truebench_hf.results.folder import Results
from truebench_hf.types import Score

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
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert page.count("no way of asking is better than always saying the same") == 1
    ineligible = eligibility.row(right, "request")
    assert [ineligible[name] for name in ("tp", "tn", "fp", "fn")] == [6, 18, 0, 0]  # positive: ineligible
    second, fourth = selection.tables
    assert [table.name for table in selection.tables] == ["grounding", "eligibility"]
    assert second.texts[0][:4] == ("always accurate", "-", "42.86", "75.00")
    assert (sum(second.marks), sum(fourth.marks), fourth.texts[0][0]) == (21, 6, "always ineligible"), (
        "the paper beside"
    )


def test_what_is_undecided_is_shown_and_does_not_win(tmp_path: Path) -> None:
    silent = judge(tmp_path / "silent.json", {"contains": ["verdict", "<a"], "error": "down"})
    selection = select(tmp_path, labelled(tmp_path), silent)
    assert selection.grounding is not None
    measured = selection.grounding.row(silent, "response")
    # It answers on 12 of 24 and is right on all of them, none of which is inaccurate.
    assert (measured["n"], measured["undecided"], measured["accuracy"].value) == (12, 12, 1.0)
    assert measured["macro_f1_strict"].value == pytest.approx((2 * 12 / (2 * 12 + 6 + 6)) / 2)


def test_facts_mini_has_36_labelled_answers_with_sentences() -> None:
    answers = rows.load_labelled("facts_mini")
    assert len(answers) == 36
    assert [sum(row.accurate == label for row in answers) for label in ("yes", "no")] == [24, 12]
    assert [sum(row.rated and row.eligible == label for row in answers) for label in ("yes", "no")] == [12, 12]
    for row in answers:
        assert bool(row.spans) == (row.accurate == "no")
        assert row.rest == "yes" or row.id.endswith("evasive")
        assert all(row.label(span.start + 1, span.start + 2) == "no" for span in row.spans)
        assert row.label(None, None) is None


def record(**row: Any) -> Record:
    plain = {"document": "D", "request": "R", "response": "One. Two. Three.", "accurate": "yes"}
    return Record("row 1", {name: value for name, value in (plain | row).items() if value is not None})


@each_row(__file__, "facts_select", "parts")
def test_labels_of_parts_of_an_answer(row: dict[str, Any], labels: list[Any]) -> None:
    answer = rows.labelled_row(record(**row), "1")
    assert [answer.label(0, 4), answer.label(5, 9), answer.label(10, 16)] == labels
    assert answer.label(0, 9) == ("no" if "no" in labels else labels[0]), "ungrounded as soon as it touches what is"


@each_row(__file__, "facts_select", "useless")
def test_rows_that_are_no_use_say_why(row: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match="row 1") as caught:
        rows.labelled_row(record(**row), "1")
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


def test_an_estimate_counts_every_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = judge(tmp_path / "judge.json")
    done = command_here(
        capsys, "facts", "select-template", "--labelled", str(labelled(tmp_path, 4)), "--judge", spec,
        "--out", str(tmp_path / "out"), "--estimate",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "out").exists()
    calls = int(next(line for line in done.stdout.splitlines() if " all " in line).split("│")[3].replace(",", ""))
    # 8 answers: two variants of eligibility, six templates of one call (a sentence each), and one with a double check.
    assert 8 * (2 + 6) < calls <= 8 * (2 + 6 + 4)


# Prompts sorted by domain and task


def answer(domain: str, task: str, demand: str = "nothing") -> str:
    return f'A bank.\n```json\n{{"domain": "{domain}", "task": "{task}", "demand": "{demand}"}}\n```'


def prompts(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "prompts.jsonl", [
        {"id": "a", "document": "A bank lends.", "request": "What does it do?", "baseline": "It lends."},
        {"id": "b", "passages": [{"id": "p", "text": "A court decides."}], "request": "In short?", "domain": "legal",
         "baseline": "It decides."},
        {"id": "c", "document": "Unreadable.", "request": "Well?", "system": "Be brief.", "baseline": "No."},
    ])  # fmt: skip


def model(path: Path) -> str:
    return script(path, [
        {"contains": "A bank lends", "reply": answer("finance", "question answering")},
        {"contains": "A court decides", "reply": answer("finance", "summary", "expertise")},
        {"contains": "Unreadable", "reply": "I cannot say."},
    ])  # fmt: skip


def test_what_the_data_knows_is_kept_and_what_is_the_models_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data_file, out = str(prompts(tmp_path)), tmp_path / "out"
    done = command_here(
        capsys, "facts", "classify", "--data", data_file, "--model", model(tmp_path / "m.json"), "--out", str(out)
    )
    assert (done.returncode, "1 of 3 prompts are unsorted" in done.stdout) == (3, True)
    assert "demand more than their material, to be looked at: 1 (the first: b)" in " ".join(done.stdout.split())
    kept, before = data.load(str(out / "classified.jsonl")), data.load(data_file)
    assert [(item.domain, item.task, item.classified) for item in kept] == [
        ("finance", "question answering", ("domain", "task")), ("legal", "summary", ("task",)), ("", "", ()),
    ]  # fmt: skip
    rows = [json.loads(line) for line in (out / "classified.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["demand"] for row in rows] == ["nothing", "expertise", None]
    assert "no JSON object" in rows[2]["classified_why"]
    assert [(item.id, item.baseline, item.source) for item in kept] == [
        (item.id, item.baseline, item.source) for item in before
    ]
    tables = Results.open(out).tables
    assert [(row["by"], row["kind"], row["prompts"]) for row in tables["counts"].rows][:2] == [
        ("domain", "finance", 2), ("domain", "unsorted", 1),
    ]  # fmt: skip
    agreement = tables["agreement"].rows[0]["agreement"]
    assert agreement == Score(0.0, 1, 0, agreement.ci95), "legal, not finance"


def test_a_file_is_written_that_a_run_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, data = judge(tmp_path / "judge.json"), labelled(tmp_path)
    done = command_here(
        capsys, "facts", "select-template", "--labelled", str(data), "--judge", spec, "--template", "response",
        "--eligibility", "full", "--eligibility", "request", "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    file = tmp_path / "out" / "templates.json"
    assert json.loads(file.read_text(encoding="utf-8"))["judges"] == {
        spec: {"template": "response", "eligibility": "full"}
    }
    assert "these labels do not tell full from request" in done.stdout  # equal, and the first named is taken
    assert read_choices(str(file), {"x": spec}) == {"x": TemplateChoice("response", "full")}
    model = script(tmp_path / "model.json", [], {"reply": "Yellow."})
    done = command_here(
        capsys, "facts", "run", "--data", "facts_mini", "--limit", "2", "--model", model, "--judge", spec,
        "--template", str(file), "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))["judging"]["judges"][spec]
    assert (told["template"], told["eligibility"]) == ("response", "full")
