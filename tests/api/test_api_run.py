"""`run` with objects for data, model and judge, with and without a folder; and what its report can be made into."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import row, write_jsonl
from truebench_hf import UserError, run
from truebench_hf.models.scripted import verdicts
from truebench_hf.results.report import Report
from truebench_hf.types import Score

ROWS = [
    row(1, [("Name a colour.", ["names a colour"])]),
    row(2, [("Say hi.", ["greets"]), ("Once more.", ["greets again", "is in French"])], language="DE"),
]


def answer(messages: list[dict[str, str]]) -> str:
    return f"Answer {len(messages)}."


def decide(messages: list[dict[str, str]]) -> str:
    return verdicts(messages[-1]["content"], {"French": "FAIL"})


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made; empty again after each run."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_without_a_folder_nothing_is_kept_but_the_report(nowhere_else: Path) -> None:
    report = run(data=ROWS, model=answer, judge=decide)
    assert report.scores["overall"] == Score(0.5, 2, 0, report.scores["overall"].ci95)  # type: ignore[union-attr]
    assert list(nowhere_else.iterdir()) == []
    assert report.verdicts["label"].tolist()[-3:] == ["yes", "yes", "no"]
    assert set(report.verdicts["judge"]) == {report.provenance["judge"]}
    assert "|  | overall | " in str(report), "a table that people can read"
    (missed,) = report.failures.to_dict("records")
    assert (missed["label"], missed["met"], missed["response"], missed["turn"]) == ("no", False, "Answer 3.", 2)
    assert (missed["probability"] is None or missed["probability"] != missed["probability"], missed["votes"]) == (
        True,
        [],
    )
    assert list(Report({}).verdicts) == list(report.verdicts), "no rows keep the columns"
    (one, two) = report.judged
    assert [one.passed, two.passed] == [True, False]
    assert [[verdict.label for verdict in turn] for turn in two.verdicts] == [["yes"], ["yes", "no"]]
    assert two.response.answers == ("Answer 1.", "Answer 3.")
    assert (report.provenance["model"], report.provenance["judge"]) == ("function:answer", "function:decide")
    assert report.provenance["self_judged"] is False
    assert report.provenance["data"] == "2 rows in memory"


def bonjour(messages: list[dict[str, str]]) -> str:
    return "Bonjour."


def test_of_several_models_a_report_says_whose_score_each_is() -> None:
    frame = run(data=ROWS, model=[answer, bonjour], judge=decide).to_pandas()
    assert list(frame) == ["model", "group", "name", "value", "n", "unscored", "low", "high"]
    overall = frame[(frame["group"] == "") & (frame["name"] == "overall")]
    assert overall[["model", "value"]].values.tolist() == [["function:answer", 0.5], ["function:bonjour", 0.5]]
    german = frame[(frame["group"] == "by_language") & (frame["name"] == "DE")]
    assert german["model"].tolist() == ["function:answer", "function:bonjour"]


@pytest.mark.parametrize("kind", ["generator", "Dataset", "DataFrame", "path"])
def test_rows_come_in_any_form(kind: str, tmp_path: Path) -> None:
    import datasets
    import pandas

    data: Any = {
        "generator": lambda: (one for one in ROWS),
        "Dataset": lambda: datasets.Dataset.from_list(ROWS),
        "DataFrame": lambda: pandas.DataFrame(ROWS).assign(note=[None, 3.0]),
        "path": lambda: Path(write_jsonl(tmp_path / "mine.jsonl", ROWS)),
    }[kind]()
    assert run(data=data, model=answer, judge=decide).to_dict() == run(data=ROWS, model=answer, judge=decide).to_dict()


def test_provider_options_may_be_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.openai_server import OpenAIServer

    with OpenAIServer(record=10) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        run(data=ROWS[:1], model="openai:any", model_arg={"chat_template_kwargs": {"thinking": False}}, judge=decide)
        (body,) = server.stats()["bodies"]
    assert body["chat_template_kwargs"] == {"thinking": False}


def test_a_folder_goes_on_with_a_function_that_has_a_name(tmp_path: Path) -> None:
    calls: list[Any] = []

    def counted(messages: list[dict[str, str]]) -> str:
        calls.append(messages)
        return answer(messages)

    out = tmp_path / "run"
    for _ in range(2):
        named = truebench_hf.model(counted, name="v1"), truebench_hf.model(decide, name="judge v1")
        run(data=ROWS, model=named[0], judge=named[1], out=out)
    assert len(calls) == 3
    assert json.loads((out / "run.json").read_text())["settings"]["model"] == "function:v1"
    with pytest.raises(UserError, match="has results of function:v1 too, which would be dropped"):
        run(data=ROWS, model=counted, judge=named[1], out=out)


def test_a_report_in_a_notebook_shows_hostile_names_as_text() -> None:
    shown = Report({"by_category": {"<script>": Score(1.0, 1)}})._repr_html_()
    assert "<script>" not in shown


RESPONSES: list[tuple[Any, dict[str, str | None], str]] = [
    (["Blue", "Two"], {"1": None, "2": None}, "a text for each row, in their order"),
    (["Blue", None], {"1": None, "2": "no answer: no response in responses"}, "None is no answer, and no fail"),
    ([["Blue"], ["Two"]], {"1": None, "2": None}, "a list of texts, one per turn"),
    (
        [{"id": "2", "response": "Two"}],
        {"1": "no answer: no response in responses", "2": None},
        "rows find theirs by id",
    ),
]


@pytest.mark.parametrize(("responses", "unscored", "reason"), RESPONSES, ids=[case[2] for case in RESPONSES])
def test_responses_stand_in_for_a_model(responses: Any, unscored: dict[str, str | None], reason: str) -> None:
    rows = [
        {"id": "1", "prompt": "Name a colour.", "criteria": ["names one"]},
        {"id": "2", "prompt": "Two?", "criteria": ["says two"]},
    ]
    report = truebench_hf.run(data=rows, responses=responses, judge=lambda messages: '{"criteria_1": "PASS"}')
    assert dict(report.unscored) == {name: why for name, why in unscored.items() if why}, reason
    assert report.scores["overall"].n == 2 - len(report.unscored)  # type: ignore[union-attr]
