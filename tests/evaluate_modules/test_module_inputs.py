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
from truebench_hf.errors import UserError
from truebench_hf.evaluate_modules import columns
from truebench_hf.metrics.binary import preference, tri_valued, yes_no
from truebench_hf.metrics.votes import decided

NAMES = ("checklist_drfr", "flexeval", "grounding_score", "preference_agreement", "rubric_agreement", "truebench_score")
YES_NO = ["yes", "no", "no", None]
NO_YES = datasets.ClassLabel(names=["no", "yes"])  # the order of our own data sets
PASS_FAIL = datasets.ClassLabel(names=["PASS", "FAIL"])

# A row that each module can score, and the references that go with it.
SCORABLE: dict[str, tuple[Any, Any]] = {
    "checklist_drfr": (["yes"], None),
    "flexeval": ({"ask": "yes"}, {"ask": None}),
    "grounding_score": (["yes"], ["yes"]),
    "preference_agreement": ("win", "win"),
    "rubric_agreement": ("yes", "yes"),
    "truebench_score": (["yes"], ["Is polite"]),
}
UNDECIDED: dict[str, Any] = {
    "checklist_drfr": [None],
    "flexeval": {"ask": None},
    "grounding_score": [None],
    "truebench_score": [None],
}


def tensor(values: Any, **how: Any) -> Any:
    import torch

    return torch.tensor(values, **how)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Any]:
    import evaluate

    return lambda name, **options: evaluate.load(truebench_hf.metric(name), cache_dir=str(tmp_path), **options)


def column(values: list[Any], feature: Any) -> Any:
    """A column of a data set, as `ds["label"]`."""
    return datasets.Dataset.from_dict({"label": values}, features=datasets.Features({"label": feature}))["label"]


def given_to(name: str, rows: int) -> dict[str, Any]:
    prediction, reference = SCORABLE[name]
    return {"predictions": [prediction] * rows} | ({"references": [reference] * rows} if reference is not None else {})


# --- labels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "read"),
    [
        (1, "yes"), (0, "no"), (True, "yes"), (False, "no"), (1.0, "yes"), (0.0, "no"), ("1", "yes"), ("0", "no"),
        ("PASS", "yes"), ("FAIL", "no"), ("Passed", "yes"), ("failed", "no"), ("Yes", "yes"), (" no ", "no"),
        ("TRUE", "yes"), ("False", "no"), (None, None), (-1, None), (-1.0, None), ("unknown", None),
    ],
)  # fmt: skip
def test_yes_and_no_in_every_spelling(label: Any, read: str | None) -> None:
    assert yes_no(label) == read


NO_LABELS = [
    "maybe", "", "null", "None", "nan", '"yes"', '["yes"]', "yes, but no", "not yes", "-1", 2, 0.5, -2, {"yes": 1}, "y\nes",
]  # fmt: skip


@pytest.mark.parametrize("label", NO_LABELS)
def test_another_label_is_refused_with_the_choices_on_one_line(label: Any) -> None:
    with pytest.raises(UserError, match=r"neither 'yes' nor 'no' \(nor PASS or FAIL") as caught:
        yes_no(label)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("label", "positive", "negative", "read"),
    [
        ("Ineligible", "ineligible", "eligible", "yes"),
        ("eligible", "ineligible", "eligible", "no"),
        (0, 0, 1, "yes"),  # a data set whose class 0 is the good one
        (1.0, 0, 1, "no"),
        (-1, 1, -1, "no"),  # -1 is a class where it is named
        (None, 0, 1, None),
        (-1, 0, 1, None),
        (False, False, True, "yes"),
    ],
)
def test_classes_may_have_other_names(label: Any, positive: Any, negative: Any, read: str | None) -> None:
    assert yes_no(label, positive, negative) == read


def test_with_other_names_only_these_are_read() -> None:
    with pytest.raises(UserError, match="'yes' is neither 'ineligible' nor 'eligible'"):
        yes_no("yes", "ineligible", "eligible")
    with pytest.raises(UserError, match="are one class"):
        yes_no("a", "A", "a")


def test_verdicts_of_three_values() -> None:
    assert [tri_valued(label) for label in (0, 1, 2, -1, "Unknown", True, None)] == [
        "no", "yes", "unknown", None, "unknown", "yes", None,
    ]  # fmt: skip
    for label in ("2", "maybe", 3):
        with pytest.raises(UserError, match="is not yes, no, unknown or None"):
            tri_valued(label)


def test_preferences_name_the_better_response_and_numbers_are_refused() -> None:
    assert [preference(label) for label in ("A", "model_b", "Tie", "WIN", None)] == ["win", "loss", "tie", "win", None]
    for label in (1, 0, -1, "1", "yes", True):  # 1 is the first response here and a win there; -1 a loss, or missing
        with pytest.raises(UserError, match="is not one of win, tie, loss"):
            preference(label)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        # A remedy that is none (these modules have no positive=) sends the user round in a circle.
        ("checklist_drfr", {"predictions": [["met"]]}, r"None is undecided\)$"),
        ("grounding_score", {"predictions": ["supported"], "references": [[]]}, r"None is undecided\)$"),
        ("rubric_agreement", {"predictions": ["met"], "references": ["yes"]}, r"name other classes by positive="),
        ("truebench_score", {"predictions": ["Blue."], "references": "A colour"}, r"responses are judged with judge="),
        ("rubric_agreement", {"pred": ["yes"], "refs": ["yes"]}, r"^give predictions= and references=, or add rows"),
        ("checklist_drfr", {}, r"^give predictions=, or add rows before$"),
    ],
)
def test_what_is_refused_comes_with_a_remedy_of_this_module(
    load: Any, name: str, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError, match=told) as caught:
        load(name).compute(**given)
    assert "\n" not in str(caught.value)


def test_of_several_peoples_labels_the_majority_holds() -> None:
    assert decided(["yes", 1, "FAIL"], yes_no) == "yes"
    assert decided(["yes", "no"], yes_no) is None  # a tie
    assert decided(["yes", None, None], yes_no) == "yes"  # who did not vote supports nothing
    assert decided([], yes_no) is None


# --- columns of every library ---------------------------------------------------------------------------------------

COLUMNS: dict[str, Callable[[], Any]] = {
    "list": lambda: list(YES_NO),
    "tuple": lambda: tuple(YES_NO),
    "generator": lambda: (label for label in YES_NO),
    "0 and 1": lambda: [1, 0, 0, None],
    "with -1": lambda: [1, 0, 0, -1],
    "truth values": lambda: [True, False, False, None],
    "PASS and FAIL": lambda: ["PASS", "FAIL", "fail", None],
    "numpy of numbers": lambda: np.array([1, 0, 0, -1], dtype=np.int8),
    "numpy with NaN": lambda: np.array([1, 0, 0, np.nan]),
    "numpy of texts": lambda: np.array(["yes", "no", "no", "unknown"]),
    "numpy of objects": lambda: np.array(YES_NO, dtype=object),
    "list of numpy numbers": lambda: [np.int64(1), np.bool_(False), np.float32(0), np.float64("nan")],
    "torch": lambda: tensor([1, 0, 0, -1]),
    "torch of truth values": lambda: [tensor(True), tensor(False), tensor(0), None],
    "torch with gradients": lambda: tensor([1.0, 0.0, 0.0, float("nan")], requires_grad=True),
    "pandas": lambda: pd.Series([1, 0, 0, None]),
    "pandas with pd.NA": lambda: pd.Series([True, False, False, pd.NA], dtype="boolean", index=[3, 9, 9, 1]),
    "pandas of classes": lambda: pd.Series(["yes", "no", "no", None], dtype="category"),
    "list with pd.NA and NaT": lambda: ["yes", "no", "no", pd.NaT],
    "Arrow": lambda: pa.array([1, 0, 0, None]),
    "Arrow in chunks, of a dictionary": lambda: pa.chunked_array([pa.array(YES_NO).dictionary_encode()]),
    "list of Arrow scalars": lambda: list(pa.array(YES_NO)),
    "Column of classes": lambda: column([1, 0, 0, -1], NO_YES),
    "Column of classes, missing": lambda: column([1, 0, 0, None], NO_YES),
    "Column of classes in another order": lambda: column([0, 1, 1, None], PASS_FAIL),
    "Column as torch": lambda: column([1, 0, 0, -1], NO_YES).source.with_format("torch")["label"],
    "Column as numpy": lambda: column([1, 0, 0, -1], NO_YES).source.with_format("numpy")["label"],
    "Column streamed": lambda: list(column([1, 0, 0, -1], NO_YES).source.to_iterable_dataset()["label"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_of_any_library_is_read(load: Any, kind: str) -> None:
    found = load("rubric_agreement").compute(predictions=COLUMNS[kind](), references=["yes", "no", "yes", "yes"])
    assert (found["tp"], found["tn"], found["fn"], found["undecided"]) == (1, 1, 1, 1)
    drfr = load("checklist_drfr").compute(predictions=COLUMNS[kind]())
    assert (drfr["passed"], drfr["n"], drfr["undecided"]) == (1, 3, 1)
    assert (
        load("grounding_score").compute(predictions=COLUMNS[kind](), references=COLUMNS[kind]())["unadjusted"] == 1 / 3
    )
    score = load("truebench_score").compute(predictions=COLUMNS[kind](), references="Is polite")
    assert (score["n"], score["unscored"]) == (3, 1)


def test_the_label_column_of_our_own_data_set(load: Any) -> None:
    rows = truebench_hf.load("rubric_mini", split="easy").select(range(40))
    texts = [rows.features["label"].int2str(label) for label in rows["label"]]
    for predictions in (rows["label"], rows["label"][:], texts):
        found = load("rubric_agreement").compute(predictions=predictions, references=rows["label"])
        assert (found["accuracy"], found["tp"]) == (1.0, texts.count("yes"))


def test_numbers_follow_the_names_of_the_other_column(load: Any) -> None:
    # A classifier trained on this data set says 0 for PASS; to read its 0 as "no" would turn every verdict round.
    found = load("rubric_agreement").compute(predictions=np.array([0, 1, 1]), references=column([0, 1, 0], PASS_FAIL))
    assert (found["tp"], found["tn"], found["fn"]) == (1, 1, 1)
    with pytest.raises(UserError, match="label 2 is not one of the classes: 0 PASS, 1 FAIL"):
        load("rubric_agreement").compute(predictions=[2], references=column([0], PASS_FAIL))


def test_classes_of_a_preference_are_read_by_their_names(load: Any) -> None:
    preferred = column([0, 2, 1, -1], datasets.ClassLabel(names=["A", "B", "tie"]))
    found = load("preference_agreement").compute(predictions=preferred, references=preferred, details=True)
    assert (found["pld_0"], found["undecided"]) == (1.0, 1)
    assert [row["reference"] for row in found["details"]] == ["win", "tie", "loss", None]


def test_classes_deep_in_a_row_are_read_by_their_names(load: Any) -> None:
    verdicts = column(
        [[{"dimension_id": "ask", "label": 1}, {"dimension_id": "tell", "label": 2}]],
        datasets.List(
            {"dimension_id": datasets.Value("string"), "label": datasets.ClassLabel(names=["yes", "no", "unknown"])}
        ),
    )
    found = load("flexeval").compute(predictions=verdicts, references={"ask": None, "tell": "ask"}, details=True)
    assert (found["coverage"], found["right"], found["decided"]) == (1.0, 0, 1)  # "ask" is 1: no, in this order
    lists = column([[1, 0], [1, -1]], datasets.List(PASS_FAIL))
    assert load("checklist_drfr").compute(predictions=lists)["drfr"] == 1 / 3


def test_the_verdicts_of_our_own_flexbench_fit(load: Any) -> None:
    talks = truebench_hf.load("flexbench", "conversations", split="test")
    structures = [{one["dimension_id"]: None for one in row} for row in talks["verdicts"]]
    found = load("flexeval").compute(predictions=talks["verdicts"], references=structures)
    names = talks.features["verdicts"].feature["label"].names
    labels = [names[one["label"]] for row in talks["verdicts"] for one in row]
    assert (found["right"], found["decided"]) == (labels.count("yes"), labels.count("yes") + labels.count("no"))


# --- texts are opaque -----------------------------------------------------------------------------------------------

LOOKALIKES = [
    '{"queue": "billing"}', '["a","b"]', "null", "NaN", "true", "1", "-1", '"yes"', "[]", "{}", "", " ", "1e400", "\ud800",
    "12345678901234567890123456789", "\x00", "Is polite\nIs short", "[[]]", "'a'", "\u2028", "```json\n[1]\n```",
]  # fmt: skip


def seen_by(metric: Any, predictions: list[Any], references: list[Any] | None = None) -> dict[str, list[Any]]:
    """What reaches the score, in place of it."""
    held: dict[str, list[Any]] = {}
    metric._score = lambda **columns: (held.update(columns) or {}, [])
    names = metric._feature_names()
    metric.compute(
        **{name: column for name, column in (("predictions", predictions), ("references", references)) if name in names}
    )
    return held


@pytest.mark.parametrize("name", NAMES)
def test_texts_reach_the_score_as_they_are(load: Any, name: str) -> None:
    metric = load(name, keep_in_memory=True)
    text = st.one_of(
        st.sampled_from(LOOKALIKES),
        st.text(),
        st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps),
    )
    value = st.one_of(text, st.none(), st.booleans(), st.lists(text), st.dictionaries(text, text), st.integers())

    @settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(value, min_size=1, max_size=6))
    def holds(column: list[Any]) -> None:
        held = seen_by(metric, column, column)
        assert all(seen == column for seen in held.values())
        assert all(type(a) is type(b) for a, b in zip(held["predictions"], column, strict=True))  # True == 1

    holds()


@pytest.mark.parametrize("name", ["rubric_agreement", "grounding_score", "checklist_drfr", "preference_agreement"])
def test_a_label_that_looks_like_json_is_no_label(load: Any, name: str) -> None:
    metric = load(name)
    for label in (text for text in LOOKALIKES if text.strip().casefold() not in ("true", "1")):
        rows = {} if name == "checklist_drfr" else {"references": [label]}
        with pytest.raises(UserError, match="label"):
            metric.compute(predictions=[label], **rows)


@pytest.mark.parametrize("answer", ['{"queue": "billing"}', '["a","b"]', "null", "[1, 2]", '"quoted"', "17"])
def test_the_judge_reads_the_answer_as_it_was_given(load: Any, tmp_path: Path, answer: str) -> None:
    script, record = tmp_path / "judge.json", tmp_path / "prompts.jsonl"
    script.write_text(json.dumps({"rules": [{"contains": "<criteria", "verdicts": {}}]}))
    options = {"judge": f"scripted:{script}", "judge_arg": [f"record={record}"]}
    found = load("truebench_score").compute(predictions=[answer], references=['["is JSON"]'], details=True, **options)
    (prompt,) = map(json.loads, record.read_text(encoding="utf-8").splitlines())
    assert answer in json.dumps(prompt, ensure_ascii=False).replace('\\"', '"')
    assert (found["n"], found["unscored"]) == (1, 0)
    assert found["details"][0]["verdicts"][0]["criterion"] == '["is JSON"]'


# --- forms of references --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "predictions", "all_of_them", "expected"),
    [
        ("truebench_score", ["yes", "no"], "Is polite", ("unscored", 0)),
        ("truebench_score", [["yes"], ["no"]], {"prompt": "Hi", "criteria": ["Is polite"]}, ("unscored", 0)),
        ("truebench_score", [["yes"], ["no"]], {"id": "a", "prompt": "Hi", "criteria": ["Is polite"]}, ("unscored", 0)),
        ("flexeval", [{"ask": "yes"}, {"ask": "no"}], {"ask": None}, ("base_total", 2)),
        ("rubric_agreement", ["yes", "no"], "yes", ("fn", 1)),
        ("preference_agreement", ["A", "B"], "A", ("n", 2)),
        ("grounding_score", [["yes"], ["no"]], "yes", ("ineligible", 0)),
    ],
)
def test_one_reference_may_hold_for_all(
    load: Any, name: str, predictions: list[Any], all_of_them: Any, expected: tuple[str, int]
) -> None:
    found = load(name).compute(predictions=predictions, references=all_of_them)
    assert found[expected[0]] == expected[1]


def test_lists_of_references_are_those_of_several_people(load: Any) -> None:
    references = [["yes", "yes", "no"], ["no", "no", None], ["yes", "no"]]
    found = load("rubric_agreement").compute(predictions=["yes", "yes", "no"], references=references)
    assert (found["tp"], found["fp"], found["unlabelled"]) == (1, 1, 1)
    assert load("preference_agreement").compute(predictions=["A"], references=[["A", "A", "tie"]])["pld_0"] == 1.0


def test_references_may_be_a_table_or_a_data_set(load: Any) -> None:
    table = pd.DataFrame({"prompt": ["a", "b"], "criteria": [["one"], ["one", "two"]], "language": ["DE", None]})
    for references in (table, pa.Table.from_pandas(table), datasets.Dataset.from_pandas(table)):
        found = load("truebench_score").compute(predictions=[["yes"], ["no", None]], references=references)
        assert (found["n"], found["by_language/DE"] > 0) == (2, True)


# --- the shape of results -------------------------------------------------------------------------------------------


def is_flat(found: dict[str, Any]) -> bool:
    json.loads(json.dumps(found, allow_nan=False))
    return all(value is None or type(value) in (int, float) for name, value in found.items())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [0, 1, 12])
def test_results_are_flat_and_plain(load: Any, name: str, rows: int) -> None:
    found = load(name).compute(**given_to(name, rows))
    assert is_flat(found)
    detailed = load(name).compute(**given_to(name, rows), details=True)
    assert len(detailed.pop("details")) == rows
    json.dumps(detailed, allow_nan=False)
    assert {key: value for key, value in detailed.items() if key != "notes"} == found


@pytest.mark.parametrize("name", NAMES)
def test_nothing_decided_gives_no_shares(load: Any, name: str) -> None:
    given = given_to(name, 3) | {"predictions": [UNDECIDED.get(name)] * 3}
    found = load(name).compute(**given)
    assert is_flat(found)
    shares = ("drfr", "coverage", "unadjusted", "pld_0", "accuracy", "pass_rate")
    assert {found[share] for share in shares if share in found} == {None}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "checklist_drfr"])
def test_lengths_that_differ_are_told_in_one_line(load: Any, name: str) -> None:
    given = given_to(name, 3)
    metric = load(name)
    with pytest.raises(UserError, match="predictions has 2, references has 3") as caught:
        metric.compute(predictions=given["predictions"][:2], references=given["references"])
    assert "\n" not in str(caught.value)
    assert is_flat(metric.compute(**given)), "and the rows that were refused are gone"


@pytest.mark.parametrize("column", ["yes", {"a": 1}, 1, None, b"yes", {"yes"}])
def test_what_is_no_column_is_refused(load: Any, column: Any) -> None:
    with pytest.raises(UserError, match=r"predictions|give texts"):
        load("rubric_agreement").compute(predictions=column, references=["yes"])


def test_options_that_are_not_there_are_named(load: Any) -> None:
    with pytest.raises(UserError, match="unknown option 'positiv': did you mean positive"):
        load("rubric_agreement").compute(predictions=["yes"], references=["yes"], positiv="a")


def test_a_row_without_verdicts_is_not_judged(load: Any) -> None:
    found = load("truebench_score").compute(
        predictions=[None, [["yes"], None]], references=[["a", "b"], [["c"], ["d"]]]
    )
    assert (found["n"], found["unscored"], found["drfr"]) == (0, 2, 1.0)


def test_details_tell_reasons_per_criterion(load: Any) -> None:
    found = load("truebench_score").compute(
        predictions=[["yes", None], ["no", "yes"]], references=[["one", "two"], ["three", "four"]], details=True
    )
    assert "notes" in found, "what only those see who ask for details"
    first, second = found["details"]
    assert (first["passed"], first["reason"], second["passed"]) == (None, "no label was given", False)
    assert second["verdicts"][0] == {"turn": 1, "criterion": "three", "label": "no", "reason": ""}


# --- as evaluate is used --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_rows_may_be_added_one_by_one_and_in_batches(load: Any, name: str) -> None:
    metric, (prediction, reference) = load(name), SCORABLE[name]
    row = {"prediction": prediction} | ({"reference": reference} if reference is not None else {})
    metric.add(**row)
    metric.add_batch(**given_to(name, 2))
    assert len(metric) == 3
    assert metric.compute() == load(name).compute(**given_to(name, 3))
    metric.add(**row)
    assert metric.compute() == load(name).compute(**given_to(name, 1)), "and the rows of before are gone"


def test_a_row_needs_both_of_its_parts(load: Any) -> None:
    with pytest.raises(UserError, match="reference must be given"):
        load("rubric_agreement").add(prediction="yes")
    with pytest.raises(UserError, match="unknown column 'preds'"):
        load("rubric_agreement").add_batch(preds=["yes"], references=["yes"])


def test_after_an_error_a_module_goes_on_at_once(load: Any, tmp_path: Path) -> None:
    metric = load("rubric_agreement")
    for _ in range(3):
        with pytest.raises(UserError):
            metric.compute(predictions=["maybe"], references=["yes"])
    assert not list(tmp_path.rglob("*.arrow")), "no rows stay behind"
    metric.add(prediction="yes", reference="yes")
    with pytest.raises(UserError):
        metric.add_batch(predictions=["yes"], references=[])
    assert metric.compute()["n"] == 1, "what was added before stays"


def accuracy(cache: Path) -> Any:
    """As evaluate's own `accuracy`, which has to be fetched: numbers in, one value out."""
    import evaluate

    class Accuracy(evaluate.Metric):  # type: ignore[misc]
        def _info(self) -> Any:
            number = datasets.Value("int32")
            features = datasets.Features({"predictions": number, "references": number})
            return evaluate.MetricInfo(description="", citation="", features=features)

        def _compute(self, predictions: Any, references: Any) -> dict[str, float]:
            return {"accuracy": float(np.mean(np.array(predictions) == np.array(references)))}

    return Accuracy(cache_dir=str(cache))


def test_combined_with_accuracy_and_with_each_other(load: Any, tmp_path: Path) -> None:
    import evaluate

    both = evaluate.combine([accuracy(tmp_path), load("rubric_agreement")])
    found = both.compute(predictions=[0, 1, 1], references=[0, 1, 0])
    assert found["accuracy_accuracy"] == found["rubric_agreement_accuracy"] == 2 / 3
    assert found["balanced_accuracy"] == 0.75
    for prediction, reference in ((0, 0), (1, 1), (1, 0)):
        both.add(prediction=prediction, reference=reference)
    assert both.compute() == found
    both.add_batch(predictions=[0, 1, 1], references=[0, 1, 0])
    assert both.compute() == found

    ours = evaluate.combine([load("rubric_agreement"), load("checklist_drfr"), load("grounding_score")])
    labels = truebench_hf.load("rubric_mini", split="easy").select(range(40))["label"]
    found = ours.compute(predictions=labels, references=labels)
    assert found["accuracy"] == 1.0
    assert found["rubric_agreement_n"] == found["checklist_drfr_n"] == found["grounding_score_n"] == len(labels)
    ours.add_batch(predictions=labels, references=labels)
    assert ours.compute() == found


@pytest.mark.parametrize("name", NAMES)
def test_a_module_says_what_it_is_of(load: Any, name: str) -> None:
    metric = load(name)
    assert metric.citation.startswith("@misc{")
    assert "details:" in metric.inputs_description
    assert metric.license == "Apache-2.0"
    assert set(metric.features) <= {"predictions", "references"}
    assert all(url.startswith("https://") for url in metric.info.reference_urls)
    assert metric.homepage == next(iter(metric.info.reference_urls), "")
    assert bool(metric.homepage) == (name != "flexeval")  # the paper of FlexBench has no public address
    assert "details" in (Path(truebench_hf.metric(name)) / "README.md").read_text(encoding="utf-8")


def test_plain_values() -> None:
    assert columns.plain({1: np.array([[1.5, np.nan]]), "a": (pd.NA, pd.NaT, "NaN")}) == {
        "1": [[1.5, None]],
        "a": [None, None, "NaN"],
    }
    with pytest.raises(UserError, match="is a bytes"):
        columns.plain([b"yes"])
