"""Several answers to every instance: drawn, killed, resumed and grown, with every score worked out by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, command_here, row, run_scores, script, write_jsonl
from tests.support.stages import generate, judge
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.results import read_responses, read_run
from truebench_hf.data.records import read_outcomes
from truebench_hf.errors import UserError
from truebench_hf.hub.submission import validate
from truebench_hf.results.report import Report
from truebench_hf.types import Score

ROWS = [
    row("a", [("apple", ["is good"])]),
    row("b", [("banana", ["is good"])]),
    row("c", [("cherry", ["is good"])], language="DE"),
    row("d", [("damson one", ["is good"]), ("damson two", ["is good", "is short"])], category="Multi-Turn"),
]
# What the model says when it is asked the same for the first, second ... time. Nobody can judge what is mumbled.
SAID = {
    "apple": ["good", "bad", "good", "good"],
    "banana": ["bad", "bad", "bad", "good"],
    "cherry": ["good", "good", "good", "mumbled"],
}
JUDGE = [
    {"contains": "mumbled", "error": "the judge cannot hear it"},
    {"contains": ["<criteria", "bad"], "verdicts": {"good": "FAIL"}},
    {"contains": "<criteria", "verdicts": {}},
]
# (value, n, unscored) by name: with two samples, of which a passes one, b none, c and d both; and with four.
TWO = {"mean": (0.625, 4, 0), "any_of_2": (0.75, 4, 0), "all_of_2": (0.5, 4, 0)}
FOUR = {
    "mean": ((3 / 4 + 1 / 4 + 1 + 1) / 4, 4, 0),  # of c three are decided
    "any_of_2": ((1 + (1 - 3 / 6) + 1 + 1) / 4, 4, 0),
    "any_of_3": ((1 + (1 - 1 / 4) + 1 + 1) / 4, 4, 0),
    "any_of_4": (1.0, 4, 0),
    "all_of_2": ((3 / 6 + 0 + 1) / 3, 3, 1),  # of c it hangs on the open one
    "all_of_3": ((1 / 4 + 0 + 1) / 3, 3, 1),
    "all_of_4": ((0 + 0 + 1) / 3, 3, 1),
}


def scripts() -> list[dict[str, Any]]:
    """An answer each time; to both turns of d always the same one."""
    answers = [
        {"contains": fruit, "message": {"content": f"It is {text}."}, "times": 1}
        for fruit, texts in SAID.items()
        for text in texts
    ]
    return [*answers, {"contains": "damson", "message": {"content": "It is good."}}]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as found:
        found.add_scripts(scripts())
        yield found


def flags(folder: Path, server: OpenAIServer, samples: int) -> list[str]:
    data = write_jsonl(folder / "data.jsonl", ROWS)
    return [
        "run", "--data", data, "--model", "openai:m", "--model-base-url", server.url, "--out", str(folder / "out"),
        "--judge", script(folder / "judge.json", JUDGE), "--judge-arg", f"record={folder / 'judged.jsonl'}",
        "--samples", str(samples), "--temperature", "0.7",
    ]  # fmt: skip


def told(scores: Any) -> dict[str, tuple[Any, int, int]]:
    found = scores["repeated_samples"]
    plain = {name: one if isinstance(one, dict) else vars_of(one) for name, one in found.items()}
    return {name: (pytest.approx(one["value"]), one["n"], one["unscored"]) for name, one in plain.items()}


def vars_of(one: Score) -> dict[str, Any]:
    return {"value": one.value, "n": one.n, "unscored": one.unscored}


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def killed_at_the_second_turn(folder: Path, server: OpenAIServer) -> None:
    """Start a run of two samples; kill it while it waits for the second turn of one of d, all else being judged."""
    server.add_faults([{"match": {"contains": "damson two"}, "hang": 60}])
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "truebench_hf.cli.main", *flags(folder, server, 2)], cwd=ROOT, stdout=log, stderr=log,
            env={**os.environ, "OPENAI_API_KEY": "x"},
        )  # fmt: skip
    until = time.monotonic() + 60
    # Judged is what is in the ledger. Equal answers to one prompt are judged once: a 2, b 1, c 1, d 1 and 1.
    while not (folder / "judged.jsonl").exists() or len(lines(folder / "judged.jsonl")) < 6:
        assert process.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < until, (folder / "log").read_text()
        time.sleep(0.01)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=10)


def test_killed_resumed_and_grown(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    out = tmp_path / "out"
    killed_at_the_second_turn(tmp_path, server)
    assert server.stats()["total"] == 10, "two samples of three prompts and of two turns"
    assert not (out / "judgments.jsonl").exists()

    done = command_here(capsys, *flags(tmp_path, server, 2))
    assert done.returncode == 0, done.stderr
    assert server.stats()["total"] == 11, "the turn that was under way, and nothing else"
    scores = run_scores(out)
    assert told(scores) == {name: (pytest.approx(value), *counts) for name, (value, *counts) in TWO.items()}
    assert (scores["overall"]["value"], scores["overall"]["n"]) == (0.625, 4)
    assert "Any of 2 (pass@2)" in done.stdout
    first = {(line["id"], line["sample"]): line["messages"] for line in lines(out / "judgments.jsonl")}
    assert list(first) == [(name, number) for name in "abcd" for number in (1, 2)]

    done = command_here(capsys, *flags(tmp_path, server, 4))
    assert done.returncode == 3, "one sample is unscored"
    assert server.stats()["total"] == 21, "two more samples, and the first two are not asked again"
    grown = lines(out / "judgments.jsonl")
    assert [(line["id"], line["sample"]) for line in grown] == [
        (name, number) for name in "abcd" for number in range(1, 5)
    ]
    for line in grown:
        assert first.get((line["id"], line["sample"]), line["messages"]) == line["messages"]
    for fruit, texts in SAID.items():
        answers = [line["messages"][1]["content"] for line in grown if line["messages"][0]["content"] == fruit]
        assert sorted(answers) == sorted(f"It is {text}." for text in texts)
    scores = run_scores(out)
    assert told(scores) == {name: (pytest.approx(value), *counts) for name, (value, *counts) in FOUR.items()}
    assert (scores["overall"]["value"], scores["overall"]["n"], scores["overall"]["unscored"]) == (0.75, 4, 0)
    (unscored,) = json.loads((out / "scores.json").read_text())["unscored"]
    assert unscored["id"].startswith("c")
    assert "cannot hear" in unscored["reason"]
    assert "Unscored: 1 sample, left out of the mean of their instance" in done.stdout
    page = (out / "report.html").read_text()
    assert page.count("sample 4") >= 4, "every conversation has its number"
    info = json.loads((out / "run.json").read_text())
    assert (info["settings"]["samples"], info["settings"]["items"]) == (4, 4)
    assert info["board"]["rows"][0]["facts"]["Samples"] == "4"
    assert info["board"]["rows"][0]["scores"]["overall"]["n"] == 4

    done = command_here(capsys, *flags(tmp_path, server, 1))
    assert server.stats()["total"] == 21
    assert "There were 4 samples of every item here, now 1; --samples 4 brings them back." in done.stdout.replace(
        "\n", " "
    )
    assert "repeated_samples" not in run_scores(out)
    assert all("sample" not in line for line in lines(out / "judgments.jsonl"))


# --- scripted, in this process --------------------------------------------------------------------------------------


def options(folder: Path, **more: Any) -> dict[str, Any]:
    rules = [{"contains": fruit, "reply": [f"It is {text}." for text in texts]} for fruit, texts in SAID.items()]
    return {
        "data": write_jsonl(folder / "data.jsonl", ROWS), "out": str(folder / "out"),
        "model": script(folder / "model.json", [*rules, {"contains": "damson", "reply": "It is good."}]),
        "judge": script(folder / "judge.json", JUDGE), "samples": 4, "temperature": 0.7,
    } | more  # fmt: skip


def values(report: Report) -> dict[str, tuple[Any, int, int]]:
    return told(report.scores)


def test_from_python_and_in_two_stages(tmp_path: Path) -> None:
    whole = truebench_hf.run(**options(tmp_path))
    wanted = {name: (pytest.approx(value), *counts) for name, (value, *counts) in FOUR.items()}
    assert values(whole) == wanted
    table = whole.to_pandas().set_index(["group", "name"])
    assert table.loc[("repeated_samples", "all_of_2"), "value"] == pytest.approx(0.5)
    assert table.loc[("", "overall"), "n"] == 4

    given = options(tmp_path, out=str(tmp_path / "staged"))
    judging = given.pop("judge")
    assert generate(GenerateOptions(**given)) == 0
    found = lines(tmp_path / "staged" / "responses.jsonl")
    assert [line["sample"] for line in found] == [1, 2, 3, 4] * 4
    assert [line["messages"][1]["content"] for line in found[:4]] == [f"It is {text}." for text in SAID["apple"]]
    report = judge(JudgeGivenOptions(out=given["out"], judge=(judging,)))
    assert values(report) == wanted
    assert lines(tmp_path / "staged" / "judgments.jsonl") == lines(tmp_path / "out" / "judgments.jsonl")
    # Grown, and judged again.
    assert generate(GenerateOptions(**given | {"samples": 5})) == 0
    with pytest.raises(UserError, match="leave it out"):
        judge(JudgeGivenOptions(out=given["out"], judge=(judging,), protocol="official"))
    assert len(judge(JudgeGivenOptions(out=given["out"], judge=(judging,))).judged) == 20


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"temperature": 0.0}, r"--samples 4: at temperature 0 they would all be the same; give a --temperature"),
        ({"samples": 0}, "--samples 0: must be at least 1"),
        ({"protocol": "official"}, "--protocol official: its tables have one answer an instance"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why):
        RunOptions(**options(tmp_path, **more) | {"judge": ("smollm2",)})


# --- whoever reads them ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    truebench_hf.run(**options(folder))
    return folder / "out"


def test_score_counts_instances(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "study", "score", str(run))
    assert done.returncode == 3
    row_ = next(line for line in done.stdout.splitlines() if "Pass rate" in line)
    assert [part for part in row_.split() if part not in ("│", "┃")][:4] == ["Pass", "rate", "75.00", "4"]
    done = command_here(capsys, "study", "score", str(run), "--protocol", "official")
    assert done.returncode == 2
    assert "has several samples of an instance" in done.stderr


def test_boards_compare_instances(run: Path) -> None:
    assert list(read_outcomes(run / "judgments.jsonl").values()) == [{"a": 0.75, "b": 0.25, "c": 1, "d": 1}]


def test_a_file_that_lacks_samples_is_not_the_run(run: Path, tmp_path: Path) -> None:
    for name in ("run.json", "judgments.jsonl"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    kept = [line for line in (run / "judgments.jsonl").read_text().splitlines() if json.loads(line)["sample"] < 3]
    (tmp_path / "judgments.jsonl").write_text("\n".join(kept) + "\n")
    with pytest.raises(
        UserError, match=r"holds 8 responses of .* to 4 instances, run\.json beside it is about 16 to 4; repeat"
    ):
        read_run(tmp_path)


def test_responses_that_lack_samples_are_not_judged(tmp_path: Path) -> None:
    given = options(tmp_path)
    given.pop("judge")
    generate(GenerateOptions(**given))
    file = tmp_path / "out" / "responses.jsonl"
    whole = file.read_text().splitlines()
    for kept in (whole[:-1], [*whole, whole[1]]):
        file.write_text("\n".join(kept) + "\n")
        with pytest.raises(UserError, match="does not hold the answers of"):
            read_responses(tmp_path / "out")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda rows: [*rows, rows[1]], r"instance 'a \(sample 2\)' stands twice"),
        (lambda rows: [rows[0], rows[1] | {"language": "FR"}], "instance 'a' is another one than in a line before"),
    ],
)
def test_a_submission_is_checked_by_sample(run: Path, tmp_path: Path, changed: Any, why: str) -> None:
    rows: Sequence[Any] = lines(run / "judgments.jsonl")
    assert validate(run / "judgments.jsonl").computed["n"] == "4"
    with pytest.raises(UserError, match=why):
        validate(Path(write_jsonl(tmp_path / "judgments.jsonl", changed(rows))))


# --- people's labels ------------------------------------------------------------------------------------------------


def test_people_label_samples_and_instances_are_the_clusters(tmp_path: Path) -> None:
    import csv

    from tests.support.people import read, sample

    rows = [row(f"i{n}", [(f"Prompt {n}", ["is good"])]) for n in range(20)]
    replies = ["It is good.", "It is bad."]
    rules = [{"contains": f"Prompt {n}", "reply": replies[n % 2]} for n in reversed(range(20))]
    run = tmp_path / "out"
    truebench_hf.run(**options(
        tmp_path, samples=2, data=write_jsonl(tmp_path / "twenty.jsonl", rows), model=script(tmp_path / "m.json", rules)
    ))  # fmt: skip
    sheet, _ = sample(str(run), 40, ["eva"])
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        cells = list(csv.DictReader(file))
    assert len({cell["id"] for cell in cells}) == 40, "equal answers of two samples are two units"
    assert {cell["Sample"] for cell in cells} == {"", "Another response to the same: number 2."}
    for cell in cells:  # people agree with the judge, but for a sample that they fail
        good = "good" in cell["Response"] and not cell["id"].startswith("i4-s2-")
        cell["answer"] = "yes" if good else "no"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(cells[0]))
        writer.writeheader()
        writer.writerows(cells)
    report, _ = read(str(run), [str(sheet)])
    found = report.bias_corrected
    assert (found["observed"], found["n"], found["instances"]) == (0.5, 40, 20)
    assert found["estimate"] == pytest.approx(19 / 40)
    labels = lines(run / "labels.jsonl")
    assert sorted(row_.get("sample", 1) for row_ in labels) == [1] * 20 + [2] * 20
    assert {row_["instance_id"] for row_ in labels} == {f"i{n}" for n in range(20)}
    low, high = found["ci95"]
    assert high - low > 0.38, "both samples of an instance agree: they tell as much as one (of 40 instances 0.30)"
    assert "Samples that truly pass" in (run / "report.html").read_text()
