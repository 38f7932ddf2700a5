"""`--log otel`: what events say, by the library's own classes, and that a collector can be slow, away or back again."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE

from tests.golden.case import play
from tests.golden.cases import CASES
from tests.support.loopback import HOST, free_port, serving
from tests.support.runs import Done, command_here, row, script, write_jsonl
from tests.support.weighted import weighted_run
from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.study import judge, run
from truebench_hf.cli.studies import _COMMANDS, load
from truebench_hf.errors import UserError
from truebench_hf.judging.listening import Decided
from truebench_hf.study import telemetry
from truebench_hf.text.redaction import learn_environment

Event = dict[str, Any]
CONVENTIONS = {
    gen_ai_attributes.GEN_AI_EVALUATION_NAME, gen_ai_attributes.GEN_AI_EVALUATION_SCORE_VALUE,
    gen_ai_attributes.GEN_AI_EVALUATION_SCORE_LABEL, gen_ai_attributes.GEN_AI_EVALUATION_EXPLANATION, ERROR_TYPE,
}  # fmt: skip
SAID = ("gen_ai.evaluation.name", "gen_ai.evaluation.score.label", "gen_ai.evaluation.score.value", "error.type")


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> InMemoryLogRecordExporter:
    class Kept(InMemoryLogRecordExporter):
        def shutdown(self) -> None:
            """Of one study: the next one of the test has the same."""

    exporter = Kept()
    monkeypatch.setattr(telemetry, "_exporter", lambda: exporter)
    return exporter


def events(memory: InMemoryLogRecordExporter) -> list[Event]:
    records = [one.log_record for one in memory.get_finished_logs()]
    assert {record.event_name for record in records} <= {"gen_ai.evaluation.result"}
    return [dict(record.attributes or {}) for record in records]


def said(found: list[Event]) -> list[tuple[Any, ...]]:
    return sorted(((one["truebench.item"], *(one.get(name) for name in SAID)) for one in found), key=str)


def small(folder: Path, names: str = "ab") -> tuple[str, ...]:
    """A run whose judge passes `is short` and fails `is kind`."""
    rows = [row(name, [(f"Say {name}.", ["is short", "is kind"])]) for name in names]
    return (
        "run", "--data", write_jsonl(folder / "d.jsonl", rows), "--model", script(folder / "m.json", [], {"reply": "So."}),
        "--judge", script(folder / "j.json", [{"contains": "<criteria", "verdicts": {"kind": "FAIL"}}]),
        "--out", str(folder / "out"), "--rules", "off", "--log", "otel",
    )  # fmt: skip


def test_every_verdict_is_an_event_in_the_words_of_the_conventions(
    memory: InMemoryLogRecordExporter, tmp_path: Path
) -> None:
    folder = weighted_run(tmp_path)
    run(
        RunOptions(
            data=str(tmp_path / "d.jsonl"), model=f"scripted:{tmp_path / 'm.json'}",
            judge=(f"scripted:{tmp_path / 'j.json'}",), out=folder, log="otel",
        )
    )  # fmt: skip
    found = events(memory)
    assert said(found) == sorted([
        ("talk", "is short", "pass", 1.0, None), ("talk", "is kind", "pass", 1.0, None),
        ("talk", "is rude", "pass", 1.0, None),  # a fault that is absent
        ("alone", "is =right", "fail", 0.0, None), ("alone", "is rude", "fail", 0.0, None),
        ("dark", "is seen", None, None, "not_judged"), ("gone", "is there", None, None, "not_judged"),
    ], key=str)  # fmt: skip
    names = {name for one in found for name in one}
    assert {name for name in names if not name.startswith("truebench.")} == CONVENTIONS
    by_name = {(one["truebench.item"], one["gen_ai.evaluation.name"]): one for one in found}
    assert by_name["alone", "is =right"]["truebench.criterion.weight"] == 3
    assert by_name["alone", "is =right"]["gen_ai.evaluation.explanation"] == "scripted: FAIL"
    assert by_name["dark", "is seen"]["gen_ai.evaluation.explanation"] == "the judge gave no answer: no judge"
    assert "10.0.0.1" not in str(found), "why there is no answer is told without addresses"
    assert str(tmp_path) not in str(found)
    assert len({one["truebench.event"] for one in found}) == len(found) == 7


def test_a_panel_and_a_cascade_tell_what_they_come_to(memory: InMemoryLogRecordExporter, tmp_path: Path) -> None:
    arguments = small(tmp_path, "a")
    other = script(tmp_path / "k.json", [{"contains": "<criteria", "verdicts": {"kind": "FAIL"}}])
    options: dict[str, Any] = {"data": arguments[2], "model": arguments[4], "rules": "off", "log": "otel"}
    run(RunOptions(judge=(arguments[6], other), panel="majority", out=str(tmp_path / "p"), **options))
    assert [(one["gen_ai.evaluation.score.label"], one["truebench.judge"]) for one in events(memory)] == [
        ("pass", "scripted:j.json + scripted:k.json (majority)"), ("fail", "scripted:j.json + scripted:k.json (majority)"),
    ]  # fmt: skip
    memory.clear()
    run(
        RunOptions(
            judge=(arguments[6],), judge_level="cascade", cascade_judge=other, out=str(tmp_path / "c"), **options
        )
    )
    assert [one["gen_ai.evaluation.score.label"] for one in events(memory)] == ["pass", "fail"]


def test_draws_that_say_the_same_are_events_of_their_own(memory: InMemoryLogRecordExporter, tmp_path: Path) -> None:
    arguments = small(tmp_path, "a")
    options = {"data": arguments[2], "model": arguments[4], "judge": (arguments[6],), "rules": "off", "log": "otel"}
    run(RunOptions(out=str(tmp_path / "o"), samples=3, temperature=1.0, **options))  # type: ignore[arg-type]
    found = events(memory)
    assert len(found) == len({one["truebench.event"] for one in found}) == 6
    memory.clear()
    run(RunOptions(out=str(tmp_path / "o"), samples=4, temperature=1.0, **options))  # type: ignore[arg-type]
    assert len(events(memory)) == 2, "what was sent is not sent again"


def test_a_stage_alone_and_answers_without_a_word(memory: InMemoryLogRecordExporter, tmp_path: Path) -> None:
    arguments = small(tmp_path, "a")
    answers = write_jsonl(tmp_path / "r.jsonl", [{"id": "a", "response": "So."}])
    given: dict[str, Any] = {"data": arguments[2], "responses": answers, "judge": (arguments[6],), "rules": "off"}
    judge(JudgeGivenOptions(out=str(tmp_path / "o"), log="otel", model_name="m", **given))
    assert said(events(memory)) == [("a", "is kind", "fail", 0.0, None), ("a", "is short", "pass", 1.0, None)]
    assert len({one["truebench.response"] for one in events(memory)}) == 1


def test_without_the_option_nothing_is_sent(memory: InMemoryLogRecordExporter, tmp_path: Path) -> None:
    weighted_run(tmp_path)
    assert memory.get_finished_logs() == ()
    assert not (tmp_path / "out" / telemetry.SENT).exists()


def test_secrets_and_half_characters_stay_here(
    memory: InMemoryLogRecordExporter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "abc-123-very-secret-456")
    learn_environment()
    with telemetry.opened("otel", "run", tmp_path) as opened:
        assert opened is not None
        opened.send("it", Decided("is \ud800", "So.", "judge", "pass", 1.0, "since abc-123-very-secret-456"))
    (event,) = events(memory)
    assert event["gen_ai.evaluation.name"] == "is ?"
    assert event["gen_ai.evaluation.explanation"] == "since ***secret***"


def test_a_rating_has_a_score_alone() -> None:
    told = telemetry.attributes(Decided("rating", "", "j", None, 4.0, "fine"))
    assert told == {
        "gen_ai.evaluation.name": "rating", "gen_ai.evaluation.score.value": 4.0, "gen_ai.evaluation.explanation": "fine",
        "truebench.judge": "j",
    }  # fmt: skip
    open_ = telemetry.attributes(Decided("rating", "", "j", None, None, "cut off"))
    assert (open_["error.type"], "gen_ai.evaluation.score.value" in open_) == ("not_judged", False)
    unknown = telemetry.attributes(Decided("is there", "", "j", "unknown", None, "does not apply"))
    assert (unknown["gen_ai.evaluation.score.label"], "error.type" in unknown) == ("unknown", False)


class Collector:
    """A loopback collector: what it was sent, by the library's own classes. It answers with `status`."""

    def __init__(self) -> None:
        self.requests: list[ExportLogsServiceRequest] = []
        self.headers: list[str | None] = []
        self.status, self.delay = 200, 0.0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.content.read()
        await asyncio.sleep(self.delay)
        assert request.path == "/v1/logs"
        self.headers.append(request.headers.get("x-team"))
        if self.status == 200:
            self.requests.append(ExportLogsServiceRequest.FromString(body))
        return web.Response(
            status=self.status, body=ExportLogsServiceResponse().SerializeToString(), content_type="application/x-protobuf"
        )  # fmt: skip

    @property
    def events(self) -> list[Event]:
        found = []
        for request in self.requests:
            for resource in request.resource_logs:
                for scope in resource.scope_logs:
                    for record in scope.log_records:
                        assert record.event_name == telemetry.EVENT
                        values = {one.key: one.value for one in record.attributes}
                        found.append({key: getattr(v, v.WhichOneof("value")) for key, v in values.items()})
        return found


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    with serving(made) as port:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{HOST}:{port}")
        yield made


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    return lambda *arguments: command_here(capsys, *arguments)


def test_a_collector_gets_every_event_once(
    collector: Collector, command: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=key-of-the-team-1")
    done = command(*small(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    once = [
        ("a", "is kind", "fail", 0.0, None), ("a", "is short", "pass", 1.0, None),
        ("b", "is kind", "fail", 0.0, None), ("b", "is short", "pass", 1.0, None),
    ]  # fmt: skip
    assert said(collector.events) == once
    resource = {a.key: a.value.string_value for a in collector.requests[0].resource_logs[0].resource.attributes}
    assert resource["service.name"] == "truebench"
    assert not [name for name in resource if name.startswith("process.")], "a command line may hold keys"
    assert set(collector.headers) == {"key-of-the-team-1"}
    held = (tmp_path / "out" / "run.json").read_text() + (tmp_path / "out" / telemetry.SENT).read_text()
    assert "key-of-the-team-1" not in held
    assert command(*small(tmp_path)).returncode == 0
    assert said(collector.events) == once, "a command repeated sends nothing twice"
    (tmp_path / "out" / telemetry.SENT).write_text("")
    assert command(*small(tmp_path)).returncode == 0
    assert len({one["truebench.event"] for one in collector.events}) == 4, "and if it did, under the same names"


@pytest.mark.parametrize("why", ["away", "refuses"])
def test_a_run_does_not_need_its_collector(
    collector: Collector, command: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    there = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
    if why == "away":
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:hidden-password@{HOST}:{free_port()}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    else:
        collector.status = 400
    done = command(*small(tmp_path))
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("--log otel: 4 of 4 events were not taken by http://127.0.0.1:")
    assert "hidden-password" not in line
    assert (tmp_path / "out" / "scores.json").is_file()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", there)
    collector.status = 200
    assert command(*small(tmp_path)).stderr == ""
    assert len(collector.events) == 4, "what was not taken is sent by the same command"


def test_what_was_decided_before_an_end_is_sent(
    collector: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped() -> None:
        with telemetry.opened("otel", "run", tmp_path) as opened:
            assert opened is not None
            opened.send("it", Decided("is short", "So.", "judge", "pass", 1.0, ""))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert len(collector.events) == 1


def test_more_events_than_the_library_queues_by_itself_are_sent(collector: Collector, tmp_path: Path) -> None:
    with telemetry.opened("otel", "run", tmp_path) as opened:
        assert opened is not None
        for number in range(5000):
            opened.send(str(number), Decided("is short", "So.", "judge", "pass", 1.0, ""))
    assert len(collector.events) == 5000


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: --log otel speaks http/protobuf"),
        ({"OTEL_BLRP_SCHEDULE_DELAY": "-1"}, "--log otel: schedule_delay_millis must be positive"),
    ],
)
def test_what_cannot_be_sent_is_said_first(
    command: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], told: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = command(*small(tmp_path))
    assert (done.returncode, done.stderr.startswith(f"truebench: {told}")) == (2, True)
    assert not (tmp_path / "out" / "scores.json").exists()


def test_the_library_can_be_switched_off(
    collector: Collector, command: Callable[..., Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    done = command(*small(tmp_path))
    assert (done.returncode, done.stderr, collector.events) == (0, "", [])


def test_an_unknown_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown log 'otl': did you mean otel"):
        RunOptions(data="mini", model="smollm2", judge=("smollm2",), out=str(tmp_path / "o"), log="otl")


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_study_has_the_option(name: str) -> None:
    assert "log" in {field.name for field in fields(load(name)[0])}


@pytest.mark.parametrize(
    ("case", "kind", "names"),
    [
        ("tick", "tick", set()),
        ("pairwise", "pairwise", {"preference", "rating"}),
        ("facts", "facts", {"grounding", "eligibility"}),
        ("flex", "flexeval", set()),
        ("metaeval", "metaeval", set()),
        ("arbitrate", "arbitrate", set()),
        ("contrast", "contrast", set()),
        ("calibrate", "calibrate", set()),
        ("best-of", "best-of", set()),
        ("refine", "refine", set()),
    ],
)
def test_judges_of_every_study_are_heard(
    memory: InMemoryLogRecordExporter, tmp_path: Path, case: str, kind: str, names: set[str]
) -> None:
    its = next(one for one in CASES if one.name == case)
    steps = tuple(f"{step} --log otel" if isinstance(step, str) and "judge" in step else step for step in its.steps)
    printed = play(replace(its, steps=steps), tmp_path)
    found = events(memory)
    assert kind in {one["truebench.study"] for one in found}, printed
    assert names <= {one["gen_ai.evaluation.name"] for one in found}
    assert all(("error.type" in one) != (len(set(SAID[1:3]) & set(one)) > 0) for one in found)
