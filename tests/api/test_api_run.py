"""`run` on objects for data, model and judge, what its report becomes, and arguments as the commands' flags are."""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.corpus import each_row
from tests.support.runs import command_here, row, write_jsonl
from truebench_hf import run
from truebench_hf.api.face import BuildOptions
from truebench_hf.api.judge import KeptJudgeOptions
from truebench_hf.api.run import AgreementOptions
from truebench_hf.benchmarks.tick.tick import TickOptions
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.errors import UserError, as_arguments
from truebench_hf.hub.push import MetricOptions, PublishSpaceOptions, PushOptions, ResultsOptions
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


ONE_ROW = [{"id": "1", "prompt": "Greet.", "criteria": ["greets"]}]


def hello(messages: Any) -> str:
    return "Hi"


CALLS: dict[Callable[..., Any], dict[str, Any]] = {
    truebench_hf.run: {"data": ONE_ROW, "model": hello, "judge": hello},
    truebench_hf.tick: {"data": ONE_ROW, "model": hello, "judge": hello},
    truebench_hf.judge: {"prompt": "Hi.", "response": "Hello.", "criteria": "greets", "judge": hello},
    truebench_hf.publish_results: {"run": "."},
}
REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (truebench_hf.run, {"column": ["prompt"]}, "column='prompt': write it as name=value"),
    (truebench_hf.run, {"rules": "off", "judge": "none"}, "judge='none': what can be counted"),
    (truebench_hf.run, {"language": "DE"}, "language='DE': the data names no language"),
    (truebench_hf.run, {"data": 3}, "must be a path, a name, or rows"),
    (truebench_hf.run, {"data": []}, "holds no instances"),
    (truebench_hf.run, {"data": ["Name a colour."]}, "row 1 is a str"),
    (truebench_hf.run, {"data": {"train": ONE_ROW, "test": ONE_ROW}}, "several splits (train, test)"),
    (truebench_hf.run, {"model": 3}, "model=3: must be a text"),
    (truebench_hf.run, {"responses": ["Hi."]}, "give a model, or responses in its place"),
    (truebench_hf.tick, {"votes": 0}, "votes=0: must be at least 1"),
    (truebench_hf.publish_results, {}, "say where to: repo_id='ORG/RESULTS'"),
    (truebench_hf.judge, {"criteria": [{"text": "good", "wieght": 2}]}, "did you mean weight"),
    (truebench_hf.judge, {"criteria": 3}, "criteria: must be a text or a list, not a int"),
    (truebench_hf.judge, {"criteria": []}, "criteria: there are none"),
    (truebench_hf.judge, {"response": 3}, "response: must be a text or a list"),
    (truebench_hf.judge, {"response": ["a", 3]}, "response 2: response: must be a text, not a int"),
    (truebench_hf.judge, {"response": ["a", "b"], "prompt": ["a", "b", "c"]}, "prompt: 3 for 2 responses"),
    (truebench_hf.judge, {"response": ["a", "b"], "context": ["c"]}, "context: 1 for 2 responses"),
    (truebench_hf.judge, {"response": ["a"], "criteria": ["b", ["c"]]}, "criteria: some are lists and some are not"),
    (truebench_hf.judge, {"prompt": [{"role": "system", "content": "Hi."}]}, "its last message must be the user's"),
    (truebench_hf.judge, {"judge": 3}, "a model is a spec such as"),
    (truebench_hf.judge, {"judge": None, "rules": False}, "with rules='off' nothing would be decided"),
    (truebench_hf.judge, {"threshold": 2.0}, "threshold=2.0"),
    (truebench_hf.judge, {"votes": 3}, "temperature above 0"),
    (truebench_hf.judge, {"base_url": "http://localhost:1/v1"}, "base URL only goes with specs of servers"),
    (truebench_hf.judge, {"judge_arg": {"batch_size": 2}}, "takes no options here"),
    (truebench_hf.judge, {"judge": "smollm2", "calibration": "none.json"}, "calibration='none.json': cannot be read"),
]


@pytest.mark.parametrize(("call", "more", "message"), REFUSED)
def test_what_the_caller_can_fix_is_one_line_about_arguments(
    call: Callable[..., Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as refusal:
        call(**CALLS[call] | more)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "--" not in str(refusal.value)


def test_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(
        capsys, "run", "--data", "mini", "--model", "smollm2", "--judge", "smollm2", "--column", "prompt", "--out", "x"
    )
    assert done.stderr == "truebench: --column prompt: write it as name=value\n"


@each_row(__file__, "api_run", "flags_as_arguments")
def test_flags_as_arguments(flags: str, arguments: str) -> None:
    assert as_arguments(flags) == arguments


SIGNATURES = [
    (truebench_hf.run, RunOptions, {"responses", "model_name"}),
    (truebench_hf.tick, TickOptions, set()),
    (truebench_hf.judge_agreement, AgreementOptions, set()),
    (truebench_hf.build_data, BuildOptions, set()),
    (truebench_hf.push_data, PushOptions, set()),
    (truebench_hf.publish_results, ResultsOptions, set()),
    (truebench_hf.publish_space, PublishSpaceOptions, set()),
    (truebench_hf.publish_metric, MetricOptions, set()),
    (truebench_hf.judge, KeptJudgeOptions, {"prompt", "response", "criteria", "judge", "context", "reference"}),
    (truebench_hf.Judge, KeptJudgeOptions, {"judge"}),
]


@pytest.mark.parametrize(("call", "options", "more"), SIGNATURES, ids=[call.__name__ for call, *_ in SIGNATURES])
def test_a_call_takes_the_options_of_its_command_and_no_others(call: Any, options: Any, more: set[str]) -> None:
    names = set(options.model_fields) - {"estimate"}  # a call returns a report
    assert set(inspect.signature(call).parameters) == names | more
    assert all(f"- `{name}`: " in call.__doc__ for name in names)
    required = [
        name for name, p in inspect.signature(call).parameters.items() if p.default is p.empty and name != "settings"
    ]
    with pytest.raises(TypeError, match=rf"{call.__name__}\(\): unknown argument 'modle'"):
        call(**dict.fromkeys(required, "x"), modle="y")


def test_models_may_be_objects_and_texts_several() -> None:
    parameters = inspect.signature(truebench_hf.run).parameters
    kinds = {name: parameters[name].annotation for name in ("judge", "cascade_judge", "language", "limit")}
    assert kinds == {"judge": "Models", "cascade_judge": "ModelLike | None", "language": "Texts", "limit": "int | None"}
