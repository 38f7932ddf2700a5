"""Several answers to every instance: drawn, grown and judged in two stages, with every score worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.people import read, rows_of, sample, write_sheet
from tests.support.runs import command_here, held, row, run_scores, script, write_jsonl
from tests.support.stages import generate, judge
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions
from truebench_hf.benchmarks.truebench.results import read_responses, read_run
from truebench_hf.data.records import read_outcomes
from truebench_hf.errors import UserError
from truebench_hf.hub.submission import validate

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


def options(folder: Path, **more: Any) -> dict[str, Any]:
    rules = [{"contains": fruit, "reply": [f"It is {text}." for text in texts]} for fruit, texts in SAID.items()]
    return {
        "data": write_jsonl(folder / "data.jsonl", ROWS), "out": str(folder / "out"),
        "model": script(folder / "model.json", [*rules, {"contains": "damson", "reply": "It is good."}]),
        "judge": script(folder / "judge.json", JUDGE), "samples": 4, "temperature": 0.7,
    } | more  # fmt: skip


def repeated(out: Path) -> dict[str, tuple[float, int, int]]:
    """The scores over repeated samples: (value, n, unscored) by name."""
    scores = run_scores(out).get("repeated_samples", {})
    return {name: (round(score["value"], 9), score["n"], score["unscored"]) for name, score in scores.items()}


def by_hand(wanted: dict[str, tuple[float, int, int]]) -> dict[str, tuple[float, int, int]]:
    return {name: (round(value, 9), *counts) for name, (value, *counts) in wanted.items()}  # type: ignore[misc]


def test_grown_from_two_to_four_and_back_to_one(tmp_path: Path) -> None:
    asked, left = list[str](), {fruit: iter(texts) for fruit, texts in SAID.items()}

    def answer(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return f"It is {next(left.get(asked[-1], iter(['good'])))}."

    given, out = options(tmp_path, model=truebench_hf.model(answer, name="m")), tmp_path / "out"
    truebench_hf.run(**given | {"samples": 2})
    assert repeated(out) == by_hand(TWO)
    assert run_scores(out)["overall"]["value"] == 0.625
    first = {(line["id"], line["sample"]): line["messages"] for line in held(out / "judgments.jsonl")}
    assert list(first) == [(name, number) for name in "abcd" for number in (1, 2)]

    report = truebench_hf.run(**given)
    assert len(asked) == 20, "the first two of each are not asked for again"
    grown = held(out / "judgments.jsonl")
    assert [(line["id"], line["sample"]) for line in grown] == [(name, n) for name in "abcd" for n in range(1, 5)]
    assert all(first.get((line["id"], line["sample"]), line["messages"]) == line["messages"] for line in grown)
    assert repeated(out) == by_hand(FOUR)
    scores = run_scores(out)
    assert (scores["overall"]["value"], scores["overall"]["n"], scores["overall"]["unscored"]) == (0.75, 4, 0)
    assert list(report.unscored) == ["c (sample 4)"]
    info = held(out / "run.json")
    assert (info["settings"]["samples"], info["settings"]["items"]) == (4, 4)
    assert info["board"]["rows"][0]["facts"]["Samples"] == "4"

    truebench_hf.run(**given | {"samples": 1})
    assert len(asked) == 20
    assert "There were 4 samples of every item here, now 1" in (out / "report.html").read_text()
    assert repeated(out) == {}
    assert all("sample" not in line for line in held(out / "judgments.jsonl"))


def test_in_two_stages(tmp_path: Path) -> None:
    truebench_hf.run(**options(tmp_path))
    given = options(tmp_path, out=str(tmp_path / "staged"))
    judging, staged = (given.pop("judge"),), tmp_path / "staged"
    assert generate(GenerateOptions(**given)) == 0
    assert [line["sample"] for line in held(staged / "responses.jsonl")] == [1, 2, 3, 4] * 4
    judge(JudgeGivenOptions(out=str(staged), judge=judging))
    assert repeated(staged) == by_hand(FOUR)
    assert held(staged / "judgments.jsonl") == held(tmp_path / "out" / "judgments.jsonl")
    # Grown, and judged again.
    assert generate(GenerateOptions(**given | {"samples": 5})) == 0
    with pytest.raises(UserError, match="leave it out"):
        judge(JudgeGivenOptions(out=str(staged), judge=judging, protocol="official"))
    assert len(judge(JudgeGivenOptions(out=str(staged), judge=judging)).judged) == 20
    whole = (staged / "responses.jsonl").read_text().splitlines()
    for kept in (whole[:-1], [*whole, whole[1]]):
        (staged / "responses.jsonl").write_text("\n".join(kept) + "\n")
        with pytest.raises(UserError, match="does not hold the answers of"):
            read_responses(staged)


# Whoever reads them.


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    truebench_hf.run(**options(folder))
    return folder / "out"


def test_instances_are_counted_and_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "study", "score", str(run))
    assert done.returncode == 3, "one sample is unscored"
    done = command_here(capsys, "study", "score", str(run), "--protocol", "official")
    assert (done.returncode, "has several samples of an instance" in done.stderr) == (2, True)
    assert list(read_outcomes(run / "judgments.jsonl").values()) == [{"a": 0.75, "b": 0.25, "c": 1, "d": 1}]
    assert len(read_run(run)) == 16


def test_a_file_that_lacks_samples_is_not_the_run(run: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((run / "run.json").read_bytes())
    kept = [line for line in held(run / "judgments.jsonl") if line["sample"] < 3]
    write_jsonl(tmp_path / "judgments.jsonl", kept)
    about = r"holds 8 responses of .* to 4 instances, run\.json beside it is about 16 to 4; repeat"
    with pytest.raises(UserError, match=about):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda rows: [*rows, rows[1]], r"instance 'a \(sample 2\)' stands twice"),
        (lambda rows: [rows[0], rows[1] | {"language": "FR"}], "instance 'a' is another one than in a line before"),
    ],
)
def test_a_submission_is_checked_by_sample(run: Path, tmp_path: Path, changed: Callable[[Any], Any], why: str) -> None:
    assert validate(run / "judgments.jsonl").computed["n"] == "4"
    rows = changed(held(run / "judgments.jsonl"))
    with pytest.raises(UserError, match=why):
        validate(Path(write_jsonl(tmp_path / "judgments.jsonl", rows)))


def test_people_label_samples_and_instances_are_the_clusters(tmp_path: Path) -> None:
    rows = [row(f"i{n}", [(f"Prompt {n}", ["is good"])]) for n in range(20)]
    replies = ["It is good.", "It is bad."]
    rules = [{"contains": f"Prompt {n}", "reply": replies[n % 2]} for n in reversed(range(20))]
    data, model = write_jsonl(tmp_path / "twenty.jsonl", rows), script(tmp_path / "m.json", rules)
    truebench_hf.run(**options(tmp_path, samples=2, data=data, model=model))
    run = tmp_path / "out"
    sheet, _ = sample(str(run), 40, ["eva"])
    cells = rows_of(sheet)
    assert len({cell["id"] for cell in cells}) == 40, "equal answers of two samples are two units"
    assert {cell["Sample"] for cell in cells} == {"", "Another response to the same: number 2."}
    for cell in cells:  # people agree with the judge, but for a sample that they fail
        good = "good" in cell["Response"] and not cell["id"].startswith("i4-s2-")
        cell["answer"] = "yes" if good else "no"
    write_sheet(sheet, cells)
    by_labels = read(str(run), [str(sheet)])[0].bias_corrected
    assert (by_labels["observed"], by_labels["n"], by_labels["instances"]) == (0.5, 40, 20)
    assert by_labels["estimate"] == pytest.approx(19 / 40)
    low, high = by_labels["ci95"]
    assert high - low > 0.38, "both samples of an instance agree: they tell as much as one (of 40 instances 0.30)"
    assert "Samples that truly pass" in (run / "report.html").read_text()
    labels = held(run / "labels.jsonl")
    assert sorted(label["sample"] for label in labels) == [1] * 20 + [2] * 20
