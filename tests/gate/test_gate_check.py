"""`truebench check`: exit codes, pairing, groups, must-pass criteria and anchors; and the error rates, simulated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.finished import finished, numbered
from tests.support.openai_server import OpenAIServer
from tests.support.runs import command_here, row, script, write_jsonl
from tests.support.scenarios import Scenario, scenarios
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.comparing.gate_statistics import Loss, ratio_loss, score_loss, verdicts
from truebench_hf.study.ranking import Board, BoardColumn, BoardRow
from truebench_hf.types import Score


@scenarios(__file__, "gate")
def test_gates(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def blamed(loss: Callable[..., Loss], margin: float, runs: int, draw: Callable[[Any], Any], seed: int = 0) -> int:
    """In how many of so many simulated checks the new application is blamed; `draw` gives old and new scores."""
    random = np.random.default_rng(seed)
    return sum(verdicts([loss(*draw(random))], [margin]) == ["worse"] for _ in range(runs))


def at_most(runs: int) -> float:
    """5 % of so many and three standard errors."""
    return 0.05 * runs + 3 * (0.05 * 0.95 * runs) ** 0.5


SIMULATED = [(200, 1000), *(pytest.param(n, 4000, marks=pytest.mark.slow) for n in (50, 200, 1000))]


@pytest.mark.parametrize(("n", "runs"), SIMULATED)
@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_equal_applications_are_blamed_in_at_most_5_percent(n: int, runs: int, margin: float) -> None:
    found = blamed(score_loss, margin, runs, lambda random: (random.random((2, n)) < 0.8).astype(float), n)
    assert found <= at_most(runs), "8,000 runs gave 4.6 %"


def test_6_points_beyond_the_margin_are_caught_in_80_percent_at_1000_rows() -> None:
    rates = np.array([[0.6], [0.51]])
    caught = blamed(score_loss, 0.03, 500, lambda random: (random.random((2, 1000)) < rates).astype(float))
    assert caught >= 400, caught


@pytest.mark.parametrize("runs", [500, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_ratio_that_is_equal_is_blamed_in_at_most_5_percent(runs: int) -> None:
    factors = np.array([[1.0], [1.1]])
    found = blamed(ratio_loss, 0.1, runs, lambda random: random.lognormal(5, 0.6, (2, 100)) * factors, 5)
    assert found <= at_most(runs)


def test_cost_is_gated_by_the_prices_of_the_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    data = write_jsonl(tmp_path / "data.jsonl", [row(f"q{n}", [(f"Ask {n}.", ["is right"])]) for n in range(12)])
    with OpenAIServer() as server:
        for model in ("small", "large"):
            names = {"model": f"openai:{model}", "model_base_url": server.url, "out": str(tmp_path / model)}
            run(RunOptions(data=data, judge=(judge,), **names))
    check = ["check", "large", "--against", "small", "--margin", "50", "--cost-margin"]
    done = command_here(capsys, *check, "50")
    assert (done.returncode, "no price of" in done.stderr) == (2, True), done
    for price, margin, code in ((2, "50", 1), (2, "99.9", 1), (1.2, "50", 0)):  # the same tokens at this price
        prices = f'["small"]\ninput = 1\noutput = 1\n["large"]\ninput = {price}\noutput = {price}\n'
        (tmp_path / "prices.toml").write_text(prices)
        done = command_here(capsys, *check, margin)
        assert (done.returncode, f"cost, margin {margin} %" in done.stdout) == (code, True)


# `--fail-under`: one option for all commands that score


def board(*values: float | None, title: str = "Final") -> Board:
    rows = [BoardRow(f"m{place}", "", {"main": Score(value, 1)}) for place, value in enumerate(values)]
    return Board("main", (BoardColumn("main", title),), tuple(rows))


def test_a_score_at_the_gate_passes_it() -> None:
    for percent in range(2, 101):
        assert board(percent / 100).below(percent) == "", "100 * 0.57 is less than 57"
        assert f"under --fail-under {percent}" in board(percent / 100 - 0.0001).below(percent)


@pytest.mark.parametrize(
    ("values", "title", "line"),
    [
        ((0.5,), "Final", "the final score is 50.00, under --fail-under 90"),
        ((0.95, 0.5), "Pass rate", "the pass rate of m1 is 50.00, under --fail-under 90"),
        ((None,), "Overall", "there is no overall score to hold against --fail-under 90: too little is decided"),
    ],
)
def test_the_line_names_the_score(values: tuple[float | None, ...], title: str, line: str) -> None:
    assert board(*values, title=title).below(90) == line


def test_more_than_nothing_is_worse_and_nothing_again_is_within() -> None:
    """A free model before, or empty answers: no share of 0 is there to be told."""
    none, some = np.zeros(20), np.ones(20)
    assert verdicts([ratio_loss(none, some), ratio_loss(none, none)], [0.1, 0.1]) == ["worse", "within"]


ANCHORS = 40
APPLICATION = numbered([True] * 12)


def judge_of_today(folder: Path, wrong: int = 0, left_open: int = 0) -> str:
    """Rewrite the judge of the runs in a folder: it is wrong on the first anchors, and leaves the next ones open."""
    rules: list[dict[str, Any]] = [{"contains": f"<{n}>", "verdicts": {"is right": "FAIL"}} for n in range(wrong)]
    rules += [{"contains": f"<{n}>", "error": "judge out of order"} for n in range(wrong, wrong + left_open)]
    return script(folder / "judge.json", [*rules, {"contains": "<criteria", "verdicts": {}}])


def anchored(folder: Path, rows: int = ANCHORS) -> str:
    """A file of answers that all meet their criterion."""
    data = folder / "anchors.csv"
    lines = [f"Say {n}.,Answer <{n}>.,is right,1" for n in range(rows)]
    data.write_text("\n".join(["prompt,response,criterion,label", *lines]), encoding="utf-8")
    return str(data)


def check(capsys: pytest.CaptureFixture[str], run: str, *arguments: str) -> tuple[int, str]:
    done = command_here(capsys, "check", run, "--against", run, *arguments)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


DAYS: list[tuple[int, int, int, str]] = [  # wrong and open today, the exit code, and what is said
    (5, 0, 0, "The judge agrees with 88% of 40 labels, on 20"),
    (10, 0, 4, "The judge has drifted, and nothing is said of the application: it agrees with 75% of 40 labels, on 20"),
    # What it leaves open is no disagreement: 4 of the other 36 or 33 are wrong, as they were.
    (4, 4, 0, "The judge agrees with 89% of 36 labels (4 of 40 left open), on 20"),
    (4, 7, 3, "Unsure: the judge left more than a tenth of its anchors open, which is no failure of the application."),
]


def test_a_judge_that_has_drifted_ends_with_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, anchors = finished(tmp_path, "app", APPLICATION), anchored(tmp_path)
    judge_of_today(tmp_path, wrong=4)
    code, text = check(capsys, run, "--anchors", anchors)
    assert (code, "The judge agrees with 90% of 40 labels;" in text) == (0, True)
    assert "anchors.csv.record.json keeps that for later checks: commit it." in text
    record = Path(f"{anchors}.record.json").read_bytes()
    for wrong, left_open, wanted, line in DAYS:
        judge_of_today(tmp_path, wrong, left_open)
        code, text = check(capsys, run, "--anchors", anchors, "--summary", str(tmp_path / "summary.md"))
        assert (code, line in text) == (wanted, True), text
        assert ("has drifted" in line) == ("with 90%; check again" in text), "said once, with what to do"
        summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
        assert summary.startswith(f"## truebench: { {0: 'within', 3: 'unsure', 4: 'drifted'}[code] }\n")
        assert summary.count("The judge ") == 1, "once"
        assert Path(f"{anchors}.record.json").read_bytes() == record, "later days change nothing"


def test_anchors_are_judged_in_the_way_of_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A record of another way of judging is refused; that of a run which judges alike is taken."""
    anchors = anchored(tmp_path)
    plain, rubric = (
        finished(tmp_path / name, "app", APPLICATION, judge_level=name) for name in ("checklist", "rubric")
    )
    assert check(capsys, plain, "--anchors", anchors)[0] == 0
    record = json.loads((tmp_path / "anchors.csv.record.json").read_text(encoding="utf-8"))
    assert record["way"]["paradigms"] == ["checklist-reasoning"]
    assert list(record["labels"].values()) == ["yes"] * ANCHORS
    code, text = check(capsys, rubric, "--anchors", anchors)
    assert code == 2
    assert all(part in text for part in ("in another way", "level or reasoning", "delete it to begin anew")), text


@pytest.mark.parametrize(
    ("rows", "options", "text"),
    [
        (101, {}, "101 labels; 100 are enough"),
        (9, {}, "the judge decided 9 of 9 labels today"),
        (20, {"judge_level": "cascade"}, "was not judged by one model at level checklist, rubric or decision"),
    ],
)
def test_what_cannot_be_watched_is_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int, options: dict[str, str], text: str
) -> None:
    run = finished(tmp_path, "app", APPLICATION, **options)
    code, printed = check(capsys, run, "--anchors", anchored(tmp_path, rows))
    assert (code, text in printed) == (2, True), printed
    assert not (tmp_path / "anchors.csv.record.json").exists()


def test_a_broken_record_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, anchors = finished(tmp_path, "app", APPLICATION), anchored(tmp_path)
    for kept in ("", "[]", '{"day": "2026-11-26"}', '{"day": 1, "way": 2, "agrees": 3}'):
        (tmp_path / "anchors.csv.record.json").write_text(kept, encoding="utf-8")
        code, printed = check(capsys, run, "--anchors", anchors)
        assert (code, "anchors.csv.record.json: is no record of anchors" in printed) == (2, True), printed


def test_corrected_labels_and_new_rows_are_no_drift(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both days are held against the labels of today, and rows that are new are kept beside the old ones."""
    run, anchors = finished(tmp_path, "app", APPLICATION), anchored(tmp_path, 30)
    assert check(capsys, run, "--anchors", anchors)[0] == 0
    file = Path(anchored(tmp_path))
    file.write_text(file.read_text(encoding="utf-8").replace("<1>.,is right,1", "<1>.,is right,0"), encoding="utf-8")
    code, text = check(capsys, run, "--anchors", anchors)
    assert (code, "agrees with 97% of 30 labels, on 20" in text, "with 97%." in text) == (0, True, True), text
    record = json.loads(Path(f"{anchors}.record.json").read_text(encoding="utf-8"))
    assert len(record["labels"]) == ANCHORS
    assert "with 98% of 40 labels" in check(capsys, run, "--anchors", anchors)[1]
