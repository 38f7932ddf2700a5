"""What people hand to the `evaluate` modules: labels in every spelling and library, texts that look like something else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import truebench_hf
from tests.support.corpus import each_row
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import preference, tri_valued, yes_no
from truebench_hf.metrics.pass_rate import grounding


def test_truebench_score_never_replaces_what_is_said_of_other_responses(load: Any, tmp_path: Path) -> None:
    script = tmp_path / "judge.json"
    script.write_text(json.dumps({"rules": [{"contains": "<criteria", "verdicts": {}}]}))
    given = {"references": [["Is French"]], "judge": f"scripted:{script}", "out": str(tmp_path / "run")}
    load("truebench_score").compute(predictions=["Bonjour"], **given)
    load("truebench_score").compute(predictions=["Bonjour"], **given)
    with pytest.raises(UserError, match="belongs to a run with other options"):
        load("truebench_score").compute(predictions=["Adieu"], **given)
    assert "Bonjour" in (tmp_path / "run" / "judgments.jsonl").read_text(encoding="utf-8")


def test_truebench_score_asks_the_judge_with_the_instruction_and_its_history(load: Any, tmp_path: Path) -> None:
    record, answer = tmp_path / "prompts.jsonl", '{"queue": "billing"}'  # stays a text, whatever it looks like
    script = tmp_path / "judge.json"
    script.write_text(json.dumps({"rules": [{"contains": "<criteria", "verdicts": {"Keeps": "FAIL"}}]}))
    row = {
        "index": "x1", "language": "DE", "category": "Editing", "sub_category": "Tone",
        "input": ["Erste Frage", "Zweite Frage"], "criteria": [["Is polite"], ["Keeps the meaning", "Is short"]],
        "system": "Sei freundlich.",
    }  # fmt: skip
    found = load("truebench_score").compute(
        predictions=[[answer, "Antwort zwei"]],
        references=[row],
        judge=f"scripted:{script}",
        judge_arg=[f"record={record}"],
        out=str(tmp_path / "run"),
    )
    prompts = sorted(record.read_text(encoding="utf-8").splitlines())
    assert len(prompts) == 2
    assert all("Sei freundlich." in text for text in prompts)
    assert any("Zweite Frage" in text and answer in text.replace('\\"', '"') for text in prompts)  # turn 2 sees turn 1
    assert (found["pass_rate"], found["soft_turn"], found["by_language/DE"]) == (0.0, 0.5, 0.0)
    assert found["drfr"] == pytest.approx(2 / 3)
    assert (tmp_path / "run" / "report.html").is_file()
    assert (tmp_path / "run" / "ledger.sqlite").is_file()


@each_row(__file__, "modules", "grounding")
def test_grounding(grounded: Any, eligible: Any, unadjusted: Any, final: Any, ineligible: int) -> None:
    found = grounding(grounded, eligible)
    assert (found.unadjusted, found.final, found.ineligible) == (unadjusted, final, ineligible)


def test_grounding_needs_every_judge_on_every_response() -> None:
    with pytest.raises(UserError, match="one grounding verdict per judge"):
        grounding([["yes", "no"], ["yes"]])


# --- what people hand over ------------------------------------------------------------------------------------------

YES_NO = ["yes", "no", "no", None]
NO_YES = datasets.ClassLabel(names=["no", "yes"])  # the order of our own data sets
PASS_FAIL = datasets.ClassLabel(names=["PASS", "FAIL"])

# A row that each module can score, the references that go with it, and a row in which nothing is decided.
SCORABLE: dict[str, tuple[Any, Any, Any]] = {
    "checklist_drfr": (["yes"], None, [None]),
    "flexeval": ({"ask": "yes"}, {"ask": None}, {"ask": None}),
    "grounding_score": (["yes"], ["yes"], [None]),
    "preference_agreement": ("win", "win", None),
    "rubric_agreement": ("yes", "yes", None),
    "truebench_score": (["yes"], ["Is polite"], [None]),
}


def tensor(values: Any, **how: Any) -> Any:
    import torch

    return torch.tensor(values, **how)


def column(values: list[Any], feature: Any) -> Any:
    """A column of a data set, as `ds["label"]`."""
    return datasets.Dataset.from_dict({"label": values}, features=datasets.Features({"label": feature}))["label"]


def given_to(name: str, rows: int, decided: bool = True) -> dict[str, Any]:
    prediction, reference, undecided = SCORABLE[name]
    predictions = {"predictions": [prediction if decided else undecided] * rows}
    return predictions | ({"references": [reference] * rows} if reference is not None else {})


# --- labels ---------------------------------------------------------------------------------------------------------

LABELS: dict[Callable[..., str | None], dict[str | None, list[Any]]] = {
    yes_no: {
        "yes": [1, True, 1.0, "1", "PASS", "Passed", "Yes", "TRUE"],
        "no": [0, False, 0.0, "0", "FAIL", "failed", " no ", "False"],
        None: [None, -1, -1.0, "unknown"],
    },
    tri_valued: {"yes": [1, True, "PASS"], "no": [0, "no"], "unknown": [2, "Unknown"], None: [-1, None]},
    preference: {"win": ["A", "WIN"], "loss": ["model_b"], "tie": ["Tie"], None: [None]},
}
NO_LABELS: dict[Callable[..., str | None], tuple[str, list[Any]]] = {
    yes_no: (
        r"neither 'yes' nor 'no' \(nor PASS or FAIL",
        ["maybe", "", "null", "nan", '"yes"', '["yes"]', "yes, but no", "-1", 2, 0.5, {"yes": 1}, "y\nes"],
    ),
    tri_valued: ("is not yes, no, unknown or None", ["2", "maybe", 3]),
    # 1 is the first response here and a win there; -1 a loss, or missing.
    preference: ("is not one of win, tie, loss", [1, 0, -1, "1", "yes", True]),
}


@pytest.mark.parametrize("read", LABELS)
def test_labels_in_every_spelling_and_no_others(read: Callable[..., str | None]) -> None:
    for meaning, labels in LABELS[read].items():
        assert [read(label) for label in labels] == [meaning] * len(labels)
    refusal, others = NO_LABELS[read]
    for label in others:
        with pytest.raises(UserError, match=refusal) as caught:
            read(label)
        assert "\n" not in str(caught.value)


@each_row(__file__, "modules", "classes_may_have_other_names")
def test_classes_may_have_other_names(label: Any, positive: Any, negative: Any, read: str | None) -> None:
    assert yes_no(label, positive, negative) == read
    with pytest.raises(UserError, match="'yes' is neither"):
        yes_no("yes", positive, negative)
    with pytest.raises(UserError, match="are one class"):
        yes_no(label, positive, positive)


@pytest.mark.parametrize(
    ("name", "given", "shown"),
    [
        # A remedy that is none (these modules have no positive=) sends the user round in a circle.
        ("checklist_drfr", {"predictions": [["met"]]}, r"None is undecided\)$"),
        ("rubric_agreement", {"predictions": ["met"], "references": ["yes"]}, r"name other classes by positive="),
        ("truebench_score", {"predictions": ["Blue."], "references": "A colour"}, r"responses are judged with judge="),
        ("rubric_agreement", {"pred": ["yes"], "refs": ["yes"]}, r"^give predictions= and references=, or add rows"),
        ("rubric_agreement", {"predictions": ["yes"], "references": ["yes"], "positiv": "a"}, "did you mean positive"),
        ("rubric_agreement", {"predictions": ["yes"] * 2, "references": ["yes"] * 3}, "has 2, references has 3"),
        *(
            ("rubric_agreement", {"predictions": column, "references": ["yes"]}, r"predictions|give texts")
            for column in ("yes", {"a": 1}, 1, None, b"yes", {"yes"}, [b"yes"])
        ),
        ("truebench_score", {"predictions": [["yes"]], "references": [["one", "two"]]}, "one label per criterion"),
        ("truebench_score", {"predictions": [["maybe"]], "references": [["one"]]}, "'maybe' is not yes"),
        (
            "truebench_score",
            {"predictions": [["yes"]], "references": [["one"]], "out": "run"},
            "^out: goes with judge=",
        ),
    ],
)
def test_what_is_refused_comes_with_a_remedy_and_leaves_nothing(
    load: Any, folder: Path, name: str, given: dict[str, Any], shown: str
) -> None:
    metric = load(name)
    with pytest.raises(UserError, match=shown) as caught:
        metric.compute(**given)
    assert "\n" not in str(caught.value)
    assert not list(folder.rglob("*.arrow")), "no rows stay behind"
    assert metric.compute(**given_to(name, 3)), "and the module goes on at once"


# --- columns of every library ---------------------------------------------------------------------------------------

COLUMNS: dict[str, Callable[[], Any]] = {
    "generator": lambda: (label for label in YES_NO),
    "numpy with NaN": lambda: np.array([1, 0, 0, np.nan]),
    "list of numpy numbers": lambda: [np.int64(1), np.bool_(False), np.float32(0), np.float64("nan")],
    "torch with gradients": lambda: tensor([1.0, 0.0, 0.0, float("nan")], requires_grad=True),
    "pandas with pd.NA": lambda: pd.Series([True, False, False, pd.NA], dtype="boolean", index=[3, 9, 9, 1]),
    "Arrow in chunks, of a dictionary": lambda: pa.chunked_array([pa.array(YES_NO).dictionary_encode()]),
    "Column of classes": lambda: column([1, 0, 0, -1], NO_YES),
    "Column of classes in another order": lambda: column([0, 1, 1, None], PASS_FAIL),
    "Column as torch": lambda: column([1, 0, 0, -1], NO_YES).source.with_format("torch")["label"],
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_library_is_read(load: Any, kind: str) -> None:
    found = load("rubric_agreement").compute(predictions=COLUMNS[kind](), references=["yes", "no", "yes", "yes"])
    assert (found["tp"], found["tn"], found["fn"], found["undecided"]) == (1, 1, 1, 1)
    score = load("truebench_score").compute(predictions=COLUMNS[kind](), references="Is polite")
    assert (score["n"], score["unscored"]) == (3, 1)


def test_columns_of_our_own_data_sets(load: Any) -> None:
    rows = truebench_hf.load("rubric_mini", split="easy").select(range(40))
    texts = [rows.features["label"].int2str(label) for label in rows["label"]]
    for predictions in (rows["label"], rows["label"][:], texts):
        found = load("rubric_agreement").compute(predictions=predictions, references=rows["label"])
        assert (found["accuracy"], found["tp"]) == (1.0, texts.count("yes"))
    talks = truebench_hf.load("flexbench", "conversations", split="test")
    structures = [{verdict["dimension_id"]: None for verdict in row} for row in talks["verdicts"]]
    found = load("flexeval").compute(predictions=talks["verdicts"], references=structures)
    names = talks.features["verdicts"].feature["label"].names
    labels = [names[verdict["label"]] for row in talks["verdicts"] for verdict in row]
    assert (found["right"], found["decided"]) == (labels.count("yes"), labels.count("yes") + labels.count("no"))


def test_numbers_are_read_by_the_names_of_their_classes_wherever_these_stand(load: Any) -> None:
    # A classifier trained on this data set says 0 for PASS; to read its 0 as "no" would turn every verdict round.
    found = load("rubric_agreement").compute(predictions=np.array([0, 1, 1]), references=column([0, 1, 0], PASS_FAIL))
    assert (found["tp"], found["tn"], found["fn"]) == (1, 1, 1)
    with pytest.raises(UserError, match="label 2 is not one of the classes: 0 PASS, 1 FAIL"):
        load("rubric_agreement").compute(predictions=[2], references=column([0], PASS_FAIL))
    preferred = column([0, 2, 1, -1], datasets.ClassLabel(names=["A", "B", "tie"]))
    found = load("preference_agreement").compute(predictions=preferred, references=preferred, details=True)
    assert [row["reference"] for row in found["details"]] == ["win", "tie", "loss", None]
    labels = datasets.ClassLabel(names=["yes", "no", "unknown"])
    verdicts = column(
        [[{"dimension_id": "ask", "label": 1}, {"dimension_id": "tell", "label": 2}]],
        datasets.List({"dimension_id": datasets.Value("string"), "label": labels}),
    )
    found = load("flexeval").compute(predictions=verdicts, references={"ask": None, "tell": "ask"}, details=True)
    assert (found["coverage"], found["right"], found["decided"]) == (1.0, 0, 1)  # "ask" is 1: no, in this order
    lists = column([[1, 0], [1, -1]], datasets.List(PASS_FAIL))
    assert load("checklist_drfr").compute(predictions=lists)["drfr"] == 1 / 3


# --- texts are opaque -----------------------------------------------------------------------------------------------

LOOKALIKES = [
    '{"queue": "billing"}', '["a","b"]', "null", "NaN", "true", "1", "-1", '"yes"', "[]", "{}", "", " ", "1e400", "\ud800",
    "12345678901234567890123456789", "\x00", "Is polite\nIs short", "[[]]", "'a'", "\u2028", "```json\n[1]\n```",
]  # fmt: skip


def test_texts_reach_the_score_as_they_are(load: Any) -> None:
    metric, held = load("flexeval", keep_in_memory=True), dict[str, list[Any]]()
    metric._score = lambda **columns: (held.update(columns) or {}, [])
    text = st.one_of(st.sampled_from(LOOKALIKES), st.text())
    value = st.one_of(text, st.none(), st.booleans(), st.lists(text), st.dictionaries(text, text), st.integers())

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(value, min_size=1, max_size=6))
    def holds(column: list[Any]) -> None:
        metric.compute(predictions=column, references=column)
        assert held == {"predictions": column, "references": column}
        assert all(type(a) is type(b) for a, b in zip(held["predictions"], column, strict=True))  # True == 1

    holds()


# --- forms of references, and the shape of results ------------------------------------------------------------------


@each_row(__file__, "modules", "forms_of_references")
def test_forms_of_references(
    load: Any, name: str, predictions: list[Any], references: Any, expected: dict[str, Any]
) -> None:
    found = load(name).compute(predictions=predictions, references=references)
    assert {key: found[key] for key in expected} == expected


def test_references_may_be_a_table_or_a_data_set(load: Any) -> None:
    table = pd.DataFrame({"prompt": ["a", "b"], "criteria": [["one"], ["one", "two"]], "language": ["DE", None]})
    for references in (table, pa.Table.from_pandas(table), datasets.Dataset.from_pandas(table)):
        found = load("truebench_score").compute(predictions=[["yes"], ["no", None]], references=references)
        assert (found["n"], found["by_language/DE"] > 0) == (2, True)


def is_flat(found: dict[str, Any]) -> bool:
    json.loads(json.dumps(found, allow_nan=False))
    return all(value is None or type(value) in (int, float) for name, value in found.items())


@pytest.mark.parametrize("name", SCORABLE)
def test_results_are_flat_and_plain_however_rows_are_added(load: Any, name: str) -> None:
    for rows in (0, 12):
        found = load(name).compute(**given_to(name, rows))
        assert is_flat(found)
        detailed = load(name).compute(**given_to(name, rows), details=True)
        assert len(detailed.pop("details")) == rows
        assert {key: value for key, value in detailed.items() if key != "notes"} == found
    undecided = load(name).compute(**given_to(name, 3, decided=False))
    assert is_flat(undecided)
    shares = ("drfr", "coverage", "unadjusted", "pld_0", "accuracy", "pass_rate")
    assert {undecided[share] for share in shares if share in undecided} == {None}
    metric = load(name)
    metric.add(**{f"{key}"[:-1]: rows[0] for key, rows in given_to(name, 1).items()})
    metric.add_batch(**given_to(name, 11))
    assert metric.compute() == found
    metric.add_batch(**given_to(name, 1))
    assert metric.compute() == load(name).compute(**given_to(name, 1)), "and the rows of before are gone"


def test_a_row_needs_both_of_its_parts(load: Any) -> None:
    metric = load("rubric_agreement")
    metric.add(prediction="yes", reference="yes")
    for refused, shown in (
        (lambda: metric.add(prediction="yes"), "references must be given"),
        (lambda: metric.add_batch(preds=["yes"], references=["yes"]), "unknown column 'preds'"),
        (lambda: metric.add_batch(predictions=["yes"], references=[]), "has 1, references has 0"),
    ):
        with pytest.raises(UserError, match=shown):
            refused()
    assert metric.compute()["n"] == 1, "what was added before stays"


def test_details_tell_reasons_per_criterion(load: Any) -> None:
    found = load("truebench_score").compute(
        predictions=[["yes", None], ["no", "yes"]], references=[["one", "two"], ["three", "four"]], details=True
    )
    assert "notes" in found, "what only those see who ask for details"
    first, second = found["details"]
    assert (first["passed"], first["reason"], second["passed"]) == (None, "no label was given", False)
    assert second["verdicts"][0] == {"turn": 1, "criterion": "three", "label": "no", "reason": ""}


def test_modules_are_combined(load: Any) -> None:
    import evaluate

    ours = evaluate.combine([load("rubric_agreement"), load("checklist_drfr"), load("grounding_score")])
    labels = truebench_hf.load("rubric_mini", split="easy").select(range(40))["label"]
    found = ours.compute(predictions=labels, references=labels)
    assert found["accuracy"] == 1.0
    assert found["rubric_agreement_n"] == found["checklist_drfr_n"] == found["grounding_score_n"] == len(labels)
    ours.add_batch(predictions=labels, references=labels)
    assert ours.compute() == found
