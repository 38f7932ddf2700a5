"""Several models in one run: each answered and judged by the same judge, with one table, one report and one board."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.people import read, sample
from tests.support.runs import Done, command_here, held, row, run_scores, script, write_jsonl
from truebench_hf.comparing.compare import compare
from truebench_hf.comparing.correlate import read_scores
from truebench_hf.comparing.leaderboard import leaderboard
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.errors import UserError
from truebench_hf.hub.publish import model_of_page
from truebench_hf.hub.results import check_results as check
from truebench_hf.hub.staging import stage
from truebench_hf.space.board.items import RecentItems, story
from truebench_hf.space.board.store import BoardStore

ROWS = [
    row("river", [("Name a river.", ["is a river", "is in Europe"])]),
    row("hello", [("Translate: hello", ["is in German"])], language="DE", category="Translation"),
    row("seven", [("Remember 7.", ["confirms"]), ("Which number?", ["says 7"])], category="Multi-Turn"),
]
SHARED = [{"contains": "Remember", "reply": "Yes."}, {"contains": "Which number", "reply": "7"}]
# `first` fails one of two criteria of the river, `second` the only one of the translation.
FIRST = [{"contains": "river", "reply": "The Nile."}, {"contains": "hello", "reply": "Hallo."}, *SHARED]
SECOND = [{"contains": "river", "reply": "The Rhine."}, {"contains": "hello", "reply": "Bonjour."}, *SHARED]
VERDICTS = [
    {"contains": ["<criteria", "The Nile"], "verdicts": {"in Europe": "FAIL"}},
    {"contains": ["<criteria", "Bonjour"], "verdicts": {"in German": "FAIL"}},
    {"contains": "<criteria", "verdicts": {}},
]


class Bench:
    """A folder with data, two models and a judge, whose prompts are recorded."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.out, self.capsys = folder, folder / "out", capsys
        self.data = write_jsonl(folder / "data.jsonl", ROWS)
        self.first = script(folder / "first.json", FIRST)
        self.second = script(folder / "second.json", SECOND)
        self.judge = script(folder / "judge.json", VERDICTS)

    def run(self, *models: str, command: str = "run", out: Path | None = None, more: tuple[str, ...] = ()) -> Done:
        named = [word for model in models for word in ("--model", model)]
        records = [f"--model-arg={n}.record={self.folder / f'asked{n}'}" for n in range(1, len(models) + 1)]
        judge = [f"--judge={self.judge}", f"--judge-arg=record={self.folder / 'asked judge'}", "--rules=off"]
        words = [
            *(["--data", self.data] if models else []),
            *named,
            *records,
            *(judge if command != "study generate" else []),
        ]
        return command_here(self.capsys, *command.split(), "--out", str(out or self.out), *words, *more)

    def asked(self, name: str) -> int:
        """How many prompts a model was sent so far, under the number it had in its command."""
        path = self.folder / f"asked{name}"
        return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_two_models_in_one_command(bench: Bench) -> None:
    done = bench.run(bench.first, bench.second)
    assert done.returncode == 0, done.stderr
    first, second = bench.first, bench.second

    # Three instances each: one fails of either model. DRFR: 4 of 5 criteria. By criterion: mean of 1/2, 1, 1 and of 1, 0, 1.
    scores = [run_scores(bench.out, model) for model in (first, second)]
    assert [(s["overall"]["value"], s["overall"]["n"]) for s in scores] == [(pytest.approx(2 / 3), 3)] * 2
    assert [s["drfr"]["value"] for s in scores] == [0.8, 0.8]
    assert [s["soft_criterion"]["value"] for s in scores] == pytest.approx([2.5 / 3, 2 / 3])
    by = {name: [s["by_category"][name]["value"] for s in scores] for name in scores[0]["by_category"]}
    assert by == {"Editing": [0, 1], "Translation": [1, 0], "Multi-Turn": [1, 1]}

    # Every conversation once a model, the models of one instance side by side.
    assert [(line["id"], line["model"], line["passed"]) for line in held(bench.out / "judgments.jsonl")] == [
        ("river", first, False), ("river", second, True), ("hello", first, True), ("hello", second, False),
        ("seven", first, True), ("seven", second, True),
    ]  # fmt: skip
    assert all(set(line["usage"]) == {"model", "judge"} for line in held(bench.out / "judgments.jsonl"))
    assert bench.asked("1") == bench.asked("2") == 4, "a request a turn"
    assert bench.asked(" judge") == 6, "what both answered in the same words is judged once"

    info = held(bench.out / "run.json")
    assert info["settings"]["model"] == info["results"]["model"] == [first, second]
    assert set(info["usage"]["total"]) == {f"model {first}", f"model {second}", "judge"}
    one, other = info["board"]["rows"]
    assert (one["name"], other["name"]) == ("scripted:first.json", "scripted:second.json")
    assert one["setting"] == other["setting"], "ranked together"
    assert [r["scores"]["category:Editing"]["value"] for r in (one, other)] == [0, 1]

    page = (bench.out / "report.html").read_text(encoding="utf-8")
    assert "TRUEBench: 2 models" in page
    # Each model's answers stand in its conversations; the requirements show both models' answers beside each other.
    assert (page.count("The Nile."), page.count("The Rhine.")) == (4, 4)
    table = list(csv.reader((bench.out / "scores_category.csv").open(encoding="utf-8")))
    assert [cells[:2] for cells in table[1:]] == [[first, "66.67"], [second, "66.67"]]
    rows = [line.split("│") for line in done.stdout.splitlines() if "│" in line]
    assert [cells[2].strip() for cells in rows if cells[2].strip()] == ["66.67", "66.67"]


def test_models_may_be_added_and_never_left_out(bench: Bench) -> None:
    assert bench.run(bench.first).returncode == 0
    assert run_scores(bench.out)["overall"]["n"] == 3
    asked, judged = bench.asked("1"), bench.asked(" judge")
    assert (asked, judged) == (4, 4)
    assert bench.run(bench.first, bench.second).returncode == 0
    assert (bench.asked("1"), bench.asked("2"), bench.asked(" judge")) == (4, 4, 6), "only what is new is asked for"
    assert [row["name"] for row in held(bench.out / "run.json")["board"]["rows"]] == [
        "scripted:first.json",
        "scripted:second.json",
    ]
    before = (bench.out / "scores.json").read_bytes()
    fewer = bench.run(bench.second)
    assert fewer.returncode == 2
    assert "first.json too, which would be dropped; name them again with --model" in fewer.stderr
    assert (bench.out / "scores.json").read_bytes() == before


def test_what_reads_a_finished_run_knows_its_models(bench: Bench) -> None:
    assert bench.run(bench.first, bench.second).returncode == 0
    out = str(bench.out)
    table = leaderboard([out])
    assert [(e.name, e.overall.value, e.approximate) for e in table.entries] == [
        ("scripted:first.json", pytest.approx(2 / 3), False), ("scripted:second.json", pytest.approx(2 / 3), False),
    ]  # fmt: skip
    comparison = compare(out, out, model_a=bench.first, model_b=bench.second)
    assert comparison.flips[["a", "b"]].to_dict("index") == {"river": {"a": 0, "b": 1}, "hello": {"a": 1, "b": 0}}
    with pytest.raises(UserError, match=r"name one \(--model-a, --model-b;"):
        compare(out, out)
    soft = read_scores([out], (), "--scores", "--column").frame["soft (criterion)"].to_dict()
    assert soft == {"first.json": pytest.approx(2.5 / 3), "second.json": pytest.approx(2 / 3)}
    printed = command_here(bench.capsys, "study", "score", out)
    assert printed.stdout.index("first.json judged by") < printed.stdout.index("second.json judged by")

    staged = stage(bench.out, bench.folder / "results")
    assert [record.rows[0]["model"] for record in staged] == ["first.json", "second.json"]
    assert check(bench.folder / "results").faults == ()
    info = json.loads((bench.folder / "results" / "runs" / staged[1].run_id / "run.json").read_text())
    assert (info["settings"]["model"], info["self_judged"]) == ("scripted:second.json", False)
    assert list(info["settings"]["models"]) == ["model scripted:second.json"]
    assert info["content"] == held(bench.out / "run.json")["content"][1]
    board = BoardStore([bench.out, bench.folder / "results" / "runs"])
    entries = {entry.name: entry for entry in board.snapshot.entries if entry.folder}
    assert len([entry for entry in board.snapshot.entries if entry.folder]) == 2, "a published copy is no second line"
    assert {name: _ended(entry) for name, entry in entries.items()} == {
        "scripted:first.json": {"river": "failed", "hello": "passed", "seven": "passed"},
        "scripted:second.json": {"river": "passed", "hello": "failed", "seven": "passed"},
    }
    stories = {name: story(RecentItems().of(entry)) for name, entry in entries.items()}
    missed = {name: [example.criterion for example in told.examples] for name, told in stories.items()}
    assert missed == {"scripted:first.json": ["is in Europe"], "scripted:second.json": ["is in German"]}

    named = held(bench.out / "run.json")
    named["settings"]["model"] = ["hf:org/one", "hf:org/two"]
    (bench.out / "run.json").write_text(json.dumps(named))
    assert model_of_page(bench.out, "org/two", force=False) == "hf:org/two"
    with pytest.raises(UserError, match=r"is a run of hf:org/one, hf:org/two; name the repository of one of them"):
        model_of_page(bench.out, "org/three", force=True)


def test_people_label_one_model_at_a_time(bench: Bench) -> None:
    assert bench.run(bench.first, bench.second).returncode == 0
    out = str(bench.out)
    with pytest.raises(UserError, match="name one by --model"):
        sample(out, None, ["A"])
    sheet, _ = sample(out, None, ["A"], model=bench.second)
    assert not (bench.out / "sample.json").exists()
    text = sheet.read_text(encoding="utf-8")
    assert "The Nile." not in text, "of the second model alone"
    sheet.write_text(text.replace("yes|no,,", "yes|no,yes,"), encoding="utf-8")
    report, _ = read(out, [str(sheet)], model=bench.second)
    assert {model: labels["labels"] for model, labels in report.bias_corrected.items()} == {bench.second: 3}
    again = bench.run(bench.first, bench.second)
    assert list(held(bench.out / "bias_corrected.json")) == [bench.second], "a repeated run keeps them"
    assert f"What human labels say: {bench.second}" in " ".join(again.stdout.split())
    alone = bench.folder / "alone"
    assert bench.run(bench.first, out=alone).returncode == 0
    sample(str(alone), None, ["A"])
    refused = bench.run(bench.first, bench.second, out=alone)
    assert (refused.returncode, "holds labels of one model" in refused.stderr) == (2, True)


def _ended(entry: BoardEntry) -> dict[str, str]:
    return {name: item.ended for name, item in RecentItems().of(entry).items()}


def test_models_whose_folders_are_called_alike_stay_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Checkpoints, say: what strangers see of a path is its last part."""

    def model(name: str, river: str) -> Any:
        def answer(messages: list[dict[str, str]]) -> str:
            return river if "river" in messages[-1]["content"] else "Hallo."

        return truebench_hf.model(answer, name=name)

    judge, out = script(tmp_path / "judge.json", VERDICTS), tmp_path / "out"
    models = [model("/runs/1/final", "The Nile."), model("/runs/2/final", "The Rhine.")]
    truebench_hf.run(data=ROWS[:2], model=models, judge=judge, out=out, rules="off")
    board = BoardStore([out])
    board.refresh()
    entries = {entry.name: entry for entry in board.snapshot.entries if entry.folder}
    first, second = sorted(entries)
    assert (first, second) == ("function:final#1", "function:final#2")
    ended = {name: _ended(entry) for name, entry in entries.items()}
    assert ended == {first: {"river": "failed", "hello": "passed"}, second: {"river": "passed", "hello": "passed"}}
    assert [entry.approximate for entry in leaderboard([str(out)]).entries] == [False, False]
    exported = command_here(capsys, "study", "export", str(out), "--to", "csv", "--out", str(tmp_path / "csv"))
    assert exported.returncode == 0, exported.stderr
    verdicts = list(csv.DictReader((tmp_path / "csv" / "verdicts.csv").open(encoding="utf-8")))
    assert {cells["model"] for cells in verdicts} == {first, second}
