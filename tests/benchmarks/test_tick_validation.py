"""Checklists and their judges, validated: figures by hand, the command on real rows, and a world whose truth is known."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.corpus import table
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.tick.validation import (
    OTHERS,
    PEOPLE,
    Validate,
    ValidateOptions,
    accuracy_table,
    correlation_tables,
    length_tables,
    likeness_table,
)
from truebench_hf.cli.app import app
from truebench_hf.data import jsonl
from truebench_hf.data.checklist_rows import ChecklistRow, load_entries, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.report.table import Table
from truebench_hf.types import Score


def row(name: str, **parts: Any) -> dict[str, Any]:
    return {"id": name, "messages": [{"role": "user", "content": f"Do {name}."}], **parts}


def checklist(name: str, *questions: str, author: str = "a", **more: Any) -> dict[str, Any]:
    return {"id": name, "author": author, "questions": list(questions), **more}


def said(response: str, checklist: str, by: str, *answers: str | None, **judge: Any) -> dict[str, Any]:
    who = {"judge": by, **judge} if judge else {"annotator": by}
    return {"response_id": response, "checklist_id": checklist, **who, "answers": list(answers)}


def entries(*rows: dict[str, Any]) -> list[ChecklistRow]:
    return [read(Record(one["id"], one)) for one in rows]


def own(tables: list[Table]) -> list[dict[str, Any]]:
    """The rows of a table without the paper's; [] without a table."""
    return [dict(row) for table in tables for row in table.rows if not row.get("published")]


CHOSEN = checklist("c1", "Is it red?", "Is it big?", chosen=True)

ROWS: list[dict[str, Any]] = table(__file__, "tick_validation")["rows"]


def test_figures_by_hand() -> None:
    """z has no chosen list and counts for nothing."""
    # x: 1 and 0 make 0.5; y: 3 of 3 words found, of 6: F1 2/3.
    found = {row["author"]: row for row in own(likeness_table(entries(*ROWS)))}
    assert list(found) == ["gen", "b", PEOPLE]
    assert (found["gen"]["instructions"], found["gen"]["checklists"]) == (2, 3)
    assert found["gen"]["rouge_1"] == pytest.approx((0.5 + 2 / 3) / 2)
    assert found["gen"]["count"] == pytest.approx((0.5 * (0 + 1) + 1) / 2)
    assert found["b"] | {"author": PEOPLE} == found[PEOPLE]
    counts = [(row["author"], row["questions"], row["checklists"]) for row in own(length_tables(entries(*ROWS)))]
    assert counts == [("chosen", 2, 2), ("gen", 1, 3), ("gen", 2, 1), ("b", 3, 1)]
    # People on run 1: x r (1, 0.5), x s (0.5, 0); y r is left out, where the annotators of the chosen list are tied.
    rates = own(correlation_tables(entries(*ROWS)))
    assert [(row["author"], row["r"]) for row in rates if row["by"] == "people"] == [
        ("gen", Score(pytest.approx(1), 2, 1))
    ]
    # Run 1 of the generator: 2 questions where people score 4 (s has no score), 1 where they score 2.
    by_score = {row["author"]: row["r"] for row in rates if row["by"].startswith("score")}
    assert by_score["gen"] == Score(pytest.approx(1), 3, 2)
    assert by_score["b"].value is None, "one pair says nothing"


def test_accuracy_by_hand() -> None:
    """Majority on x r: yes, no. Direct: both right. Reasoning: the second question has one of three right, one open."""
    found = {(row["by"], row["mode"], row["k"]): row for row in own(accuracy_table(entries(*ROWS)))}
    assert found["j", "direct", 1]["accuracy"].value == 1.0
    assert found["j", "direct", 1]["kappa"] == Score(1.0, 2), "one yes and one no, both right"
    single, three = found["j", "reasoning", 1], found["j", "reasoning", 3]
    assert (single["accuracy"].value, single["undecided"]) == pytest.approx(((1 + 1 / 3) / 2, 1 / 6))
    assert (three["accuracy"].value, three["undecided"]) == (0.5, 0.5), "no, yes and nothing: a tie"
    assert single["accuracy"].n == three["accuracy"].n == 2
    assert found[OTHERS, "", 1]["accuracy"] == Score(0.75, 4, 2)
    for rows in ((), ({"id": "x", "messages": [{"role": "user", "content": "Do x."}]},)):
        for of in (likeness_table, correlation_tables, accuracy_table, length_tables):
            assert of(entries(*rows)) == [], "nothing to compare"


def validate(*arguments: str) -> tuple[int, str]:
    run = CliRunner().invoke(app, ["study", "checklist", "validate", *arguments])
    return run.exit_code, run.output


def again(folder: Path, name: str, *tables: str) -> None:
    """What is written gives the same figures again."""
    held = json.loads((folder / name / "scores.json").read_text(encoding="utf-8"))
    options = ValidateOptions(data=f"{folder}/{name}/rows.jsonl", out=f"{folder}/again")
    value = Validate(options).run().value
    assert {table: json.loads(json.dumps(value[table].records())) for table in tables} == {t: held[t] for t in tables}


def _models(folder: Path) -> tuple[str, str]:
    """A generator that writes a list, then another one, then fails; a judge that misses what is red."""
    lists = ["Why: x.\nQuestions:\nIs it red?\nIs it big?", "Why: y.\nQuestions:\nIs it red?\nIs it old?\nIs it big?"]
    writes = [{"contains": ["Do x."], "reply": lists}, {"contains": ["Do y."], "error": "out of paper"}]
    judged = [{"contains": "<criteria", "verdicts": {"red": "FAIL"}}]
    return script(folder / "gen.json", writes), script(folder / "judge.json", judged)


def test_models_add_what_the_data_lacks(tmp_path: Path) -> None:
    generator, judge = _models(tmp_path)
    bare = [
        {**full, "checklists": full["checklists"][:1], "judgments": [], "answers": full["answers"][:keep]}
        for full, keep in zip(ROWS[:2], (4, 0), strict=True)
    ]
    words = ["--data", write_jsonl(tmp_path / "rows.jsonl", bare), "--generator", generator, "--judge", judge]
    code, printed = validate(*words, "--votes", "3", "--generator-concurrency", "1", "--out", f"{tmp_path}/out")
    assert code == 3, printed
    assert "checklists not written: 2" in printed
    assert "out of paper" in printed
    (_, first), (_, second) = jsonl.read(tmp_path / "out" / "rows.jsonl")
    lists = [(of["author"], of["run"], of["source"]) for of in first["checklists"][1:]]
    assert lists == [(generator, 1, "model"), (generator, 2, "model")]
    assert sorted(len(of["questions"]) for of in first["checklists"][1:]) == [2, 3]
    assert second["checklists"] == [{**CHOSEN, "source": "human", "run": 1}]
    for response in ("r", "s"):  # people answered the chosen list alone
        of = [j for j in first["judgments"] if j["response_id"] == response]
        chosen = [(j["mode"], j["sample"]) for j in of if j["checklist_id"] == "c1"]
        assert chosen == [("direct", 1), ("reasoning", 1), ("reasoning", 2), ("reasoning", 3)]
        assert {(j["mode"], j["sample"]) for j in of if j["checklist_id"] != "c1"} == {("reasoning", 1)}
    assert second["judgments"] == [], "nothing to compare the chosen list with, and no answers of people"
    held = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))
    # Of r people say yes, no, of s no, no; the judge says no, yes.
    values = {(row["mode"], row["k"]): row["accuracy"]["value"] for row in held["accuracy"] if row["by"] == judge}
    assert [values[key] for key in (("direct", 1), ("reasoning", 1), ("reasoning", 3))] == [0.25, 0.25, 0.25]
    verdicts = [line for _, line in jsonl.read(tmp_path / "out" / "verdicts.jsonl")]
    assert {line["label"] for line in verdicts if "red" in line["question"]} == {"no"}
    again(tmp_path, "out", "accuracy")
    with pytest.raises(UserError, match="gave already"):
        Validate(ValidateOptions(data=f"{tmp_path}/out/rows.jsonl", judge=(judge,), out=f"{tmp_path}/more")).run()


def test_rows_with_criteria_are_their_chosen_checklist(tmp_path: Path) -> None:
    rows = [
        {"prompt": "Go on.", "history": [{"role": "user", "content": "Begin."}, {"role": "assistant", "content": "Begun."}],
         "system": "Be brief.", "context": "A text.", "criteria": ["Is it done?", {"text": "Is it short?"}]},
        {"prompt": "Without any."},
    ]  # fmt: skip
    first, second = load_entries(write_jsonl(tmp_path / "rows.jsonl", rows))
    assert [message.content for message in first.messages] == ["Be brief.", "Begin.", "Begun.", "A text.\n\nGo on."]
    assert first.chosen
    assert first.chosen.questions == ("Is it done?", "Is it short?")
    assert second.checklists == ()
    left_out: list[str] = []
    several = write_jsonl(tmp_path / "several.jsonl", [{"turns": ["One?", "Two?"]}, *rows])
    assert [entry.id for entry in load_entries(several, left_out)] == ["2", "3"]
    assert len(left_out) == 1
    with pytest.raises(UserError, match="2 turns to be answered; a checklist is for one instruction"):
        load_entries(several)  # what reads sheets back must lose no row
    with pytest.raises(UserError, match="stands twice"):
        load_entries(write_jsonl(tmp_path / "twice.jsonl", [row("x"), row("x")]))


# A world whose truth is known: an instruction is a set of demands that a program checks.
DEMANDS: dict[str, Callable[[str], bool]] = {
    "Is the response written in lower case?": str.islower,
    "Does the response have at most twelve words?": lambda text: len(text.split()) <= 12,
    "Does the response mention the harbour?": lambda text: "harbour" in text.casefold(),
    "Does the response begin with the word today?": lambda text: text.casefold().startswith("today"),
    "Is the response free of digits?": lambda text: not any(map(str.isdigit, text)),
    "Does the response end with a full stop?": lambda text: text.endswith("."),
    "Is the response a single line?": lambda text: "\n" not in text,
    "Does the response avoid the word rain?": lambda text: "rain" not in text.casefold().split(),
}
WORDS = [
    "the", "ferry", "leaves", "harbour", "before", "noon", "and", "rain", "falls",
    "over", "12", "boats", "near", "old", "town", "while", "we", "wait",
]  # fmt: skip
ERRORS = {"five": 0.05, "ten": 0.10, "twenty": 0.20}  # of the annotators
WRONG = 0.10  # of the judge


def world(seed: int = 0, instructions: int = 300) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Rows with 2 to 8 demands, a response that meets some of them, and three annotators; and the truth."""
    draw = random.Random(seed)
    for number in range(instructions):
        demands = draw.sample(list(DEMANDS), draw.randint(2, 8))
        text = " ".join(draw.choices(WORDS, k=draw.randint(6, 18)))
        text = draw.choice(["Today ", "today ", "Maybe "]) + text + draw.choice([".", "!", ".\nBye."])
        truth = ["yes" if DEMANDS[demand](text) else "no" for demand in demands]
        yield row(
            f"i{number}", responses=[{"id": "r", "model": "m", "text": text}],
            checklists=[checklist("c", *demands, chosen=True)],
            answers=[said("r", "c", name, *flipped(truth, error, draw)) for name, error in ERRORS.items()],
        ), truth  # fmt: skip


def flipped(labels: list[str], error: float, draw: random.Random) -> list[str]:
    return [{"yes": "no", "no": "yes"}[label] if draw.random() < error else label for label in labels]


def right(error: float) -> float:
    """How often a judge agrees with the majority of the annotators, each wrong independently."""
    a, b, c = ERRORS.values()
    wrong = a * b * (1 - c) + a * (1 - b) * c + (1 - a) * b * c + a * b * c
    return (1 - error) * (1 - wrong) + error * wrong


def by_k(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """What the judge reaches, by the number of votes, of a table of accuracies."""
    return {row["k"]: row for row in own(accuracy_table(entries(*rows))) if row["mode"] == "reasoning"}


def test_a_judge_that_is_wrong_one_time_in_ten() -> None:
    """Accuracy 0.90 and maj@5 0.991 against the truth; against annotators who err, what their majority leaves of it."""
    draw, true, people = random.Random(1), [], []
    for one, truth in world():
        judged = [said("r", "c", "j", *flipped(truth, WRONG, draw), mode="reasoning", sample=n) for n in range(1, 6)]
        true.append({**one, "judgments": judged, "answers": [said("r", "c", "program", *truth)]})
        people.append({**one, "judgments": judged})
    against_truth, against_people = by_k(true), by_k(people)
    assert [against_truth[k]["accuracy"].value for k in (1, 3, 5)] == pytest.approx([0.9, 0.972, 0.991], abs=0.02)
    assert against_people[1]["accuracy"].value == pytest.approx(right(0.1), abs=0.02)
    assert against_people[5]["accuracy"].value == pytest.approx(right(0.0086), abs=0.02)
    low, high = against_truth[1]["accuracy"].ci95
    assert low < 0.9 < high
