"""Whole runs with scripted models: exact results, nothing asked twice, nothing unscored in silence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import truebench_hf
from tests.support.corpus import each_row
from tests.support.openai_server import OpenAIServer
from tests.support.runs import held, row, script, write_jsonl
from tests.support.scenarios import Scenario, scenarios
from tests.support.stages import generate, judge
from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions
from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError
from truebench_hf.results.report import Report
from truebench_hf.types import Score

ROWS = [
    row(1, [("Translate: good morning", ["is in German", "is short"])], language="DE", category="Translation"),
    row(2, [("Name a river.", ["is a river", "is in Europe"])]),
    row(3, [("Remember 7.", ["confirms"]), ("Which number?", ["says 7", "is short"])], category="Multi-Turn"),
]
ANSWERS = [
    {"contains": "good morning", "reply": "Guten Morgen"},
    {"contains": "river", "reply": "The Nile."},
    {"contains": "Remember", "reply": {"text": "I will.", "reasoning": "secret thought"}},
    {"contains": "Which number", "reply": "7"},
]
VERDICTS = [{"contains": "<criteria", "verdicts": {"in Europe": "FAIL"}}]


class Bench:
    """A folder with data and two scripts, and runs on them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.data = write_jsonl(folder / "data.jsonl", ROWS)
        self.scripts(ANSWERS, VERDICTS)

    def scripts(self, model: list[dict[str, Any]], judge: list[dict[str, Any]]) -> None:
        self.model = script(self.folder / "model.json", model)
        self.judge = script(self.folder / "judge.json", judge)

    def options(self, **more: Any) -> dict[str, Any]:
        records = {f"{role}_arg": (f"record={self.folder / f'{role}.jsonl'}",) for role in ("model", "judge")}
        base = {"data": self.data, "model": self.model, "judge": self.judge, "out": str(self.out)}
        return base | records | more

    def run(self, **more: Any) -> Report:
        return truebench_hf.run(**self.options(**more))

    def asked(self, role: str) -> list[list[str]]:
        """The prompts of a role, one list of message texts a request."""
        path = self.folder / f"{role}.jsonl"
        return held(path) if path.exists() else []  # type: ignore[no-any-return]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def value(report: Report, name: str) -> tuple[float | None, int, int]:
    score = report.scores[name]
    assert isinstance(score, Score)
    return score.value, score.n, score.unscored


@each_row(__file__, "truebench_run", "no_verdicts")
def test_what_is_no_verdict_is_neither_pass_nor_fail(bench: Bench, answer: str) -> None:
    bench.data = write_jsonl(bench.folder / "data.jsonl", ROWS[1:2])
    bench.scripts(ANSWERS, [{"contains": "", "reply": answer}])
    report = bench.run()
    assert (value(report, "overall"), value(report, "strict")) == ((None, 0, 1), (0.0, 1, 0))
    assert report.unscored["2"]
    assert len(bench.asked("judge")) == 3, "asked again twice"


FAILING = [{"contains": "Remember", "error": "the prompt has 9000 tokens, the window 8192"}, *ANSWERS]


def test_a_failed_generation_is_unscored_and_its_text_goes_nowhere(bench: Bench) -> None:
    bench.scripts(FAILING, VERDICTS)
    report = bench.run()
    assert [value(report, name) for name in ("overall", "multi_turn")] == [(0.5, 2, 1), (None, 0, 1)]
    assert "9000 tokens" in report.unscored["3"]
    third = held(bench.out / "judgments.jsonl")[2]
    assert third["error"] == "turn 1: the prompt has 9000 tokens, the window 8192"
    assert [message["role"] for message in third["messages"]] == ["user"]
    assert [[v["label"] for v in turn] for turn in third["verdicts"]] == [[None], [None, None]]
    assert "9000 tokens" not in json.dumps(bench.asked("model")), "no error text in a history"
    assert len(bench.asked("judge")) == 2, "nothing to judge where there is no answer"
    before = len(bench.asked("model")), len(bench.asked("judge"))
    bench.scripts([{"contains": "Which number", "error": "down"}, *ANSWERS], VERDICTS)
    bench.run()
    verdicts = [[v["label"] for v in turn] for turn in held(bench.out / "judgments.jsonl")[2]["verdicts"]]
    assert verdicts == [["yes"], [None, None]], "a later turn that fails keeps the earlier verdicts"
    bench.scripts(ANSWERS, VERDICTS)
    assert value(bench.run(), "overall") == (pytest.approx(2 / 3), 3, 0)
    after = len(bench.asked("model")), len(bench.asked("judge"))
    assert (after[0] - before[0], after[1] - before[1]) == (3, 2), "what was answered is not asked for again"


def test_judging_may_be_changed_until_there_are_results(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge option that its server refuses must not lock away the answers that are paid for."""
    generate(GenerateOptions(data=bench.data, model=bench.model, out=str(bench.out)))
    rubric = JudgeGivenOptions(judge=(bench.judge,), out=str(bench.out), judge_level="rubric")
    with monkeypatch.context() as died:
        died.setattr(Calls, "put", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            judge(rubric)
    report = judge(JudgeGivenOptions(judge=(bench.judge,), out=str(bench.out), judge_level="checklist"))
    assert report.provenance["judging"]["level"] == "checklist"
    with pytest.raises(UserError, match=r"judging\.level"):
        judge(rubric)


def test_python_values_and_a_running_event_loop_will_do(bench: Bench) -> None:
    async def notebook() -> Report:
        return truebench_hf.run(
            data=Path(bench.data), model=bench.model, judge=bench.judge, out=bench.out, language="EN",
            category={"Translation", "Editing"}, prompt={}, judge_level="decision", threshold=0.6,
        )  # fmt: skip

    report = asyncio.run(notebook())
    assert report.provenance["judging"]["threshold"] == 0.6
    assert report.provenance["language"] == ["EN"]


def test_a_refused_key_stops_the_run_in_one_line(bench: Bench) -> None:
    """Many calls fail at once; the user reads one line, and the next run goes on."""
    rows = [row(i, [(f"ask {i}", ["is good"]), (f"more {i}", ["is better"])]) for i in range(12)]
    bench.data = write_jsonl(bench.folder / "data.jsonl", rows)
    with OpenAIServer(delay=0.02) as server:
        server.add_faults([{"match": {"kind": "judge"}, "status": 401}] * 40)
        # A few at a time: some verdicts have failed while their conversations still wait for a second answer.
        more = {"judge": "openai:judge", "judge_base_url": server.url, "model": "openai:model", "judge_arg": ()}
        more |= {"model_base_url": server.url, "model_concurrency": 3, "model_arg": ()}
        with pytest.raises(UserError) as refusal:
            bench.run(**more)
        assert "\n" not in str(refusal.value)
        for part in ("openai:judge", server.url, "401", "OPENAI_API_KEY"):
            assert part in str(refusal.value)
        server.reset()
        bench.run(**more)
        assert server.stats()["by_kind"]["judge"] == 24
        assert server.stats()["by_kind"]["model"] < 24, "committed answers were kept"
    assert len(held(bench.out / "judgments.jsonl")) == 12


@scenarios(__file__, "truebench_run")
def test_data_of_ones_own(scenario: Scenario, tmp_path: Path) -> None:
    """A few rows with nothing but prompts and criteria."""
    scenario.play(tmp_path)


def test_the_hash_knows_all_that_shapes_calls_or_scores(tmp_path: Path) -> None:
    base = {"id": "1", "prompt": "p", "criteria": [{"text": "c"}]}
    changes: list[dict[str, Any]] = [
        {}, {"id": "2"}, {"prompt": "q"}, {"criteria": ["d"]}, {"criteria": [{"text": "c", "weight": 2}]},
        {"criteria": [{"text": "c", "weight": -1}]}, {"criteria": [{"text": "c", "condition": "x"}]},
        {"criteria": [{"text": "c", "kind": "x"}]}, {"system": "x"}, {"context": "x"}, {"reference": "x"},
        {"history": [{"role": "user", "content": "x"}]}, {"language": "x"}, {"category": "x"}, {"task": "x"},
        {"criteria": ["c", "c"]},
    ]  # fmt: skip
    hashes = [data.data_hash(data.load(write_jsonl(tmp_path / "r.jsonl", [base | change]))) for change in changes]
    assert len(set(hashes)) == len(changes)
    same = [
        base | {"note": "mine"}, dict(reversed(base.items())), {"id": "1", "prompt": "p", "rubric": "c"},
        row("1", [("p", ["c"])], language="", category="", sub_category=""),
    ]  # fmt: skip
    for one in same:
        assert data.data_hash(data.load(write_jsonl(tmp_path / "r.jsonl", [one]))) == hashes[0], "of the content alone"
    two = data.load(write_jsonl(tmp_path / "r.jsonl", [base, base | {"id": "2"}]))
    assert len({data.data_hash(chosen) for chosen in (two, two[::-1], two[:1])}) == 3
