"""A run folder through its life: what may change later, files left over from another run, rows on their own, several models."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.people import read, sample
from tests.support.runs import Done, command_here, held, row, run_scores, script, write_jsonl
from tests.support.stages import generate, judge, run
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.results import read_run
from truebench_hf.errors import UserError


class Folder:
    """A run folder, two models and a judge by script."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.data = write_jsonl(folder / "data.jsonl", [row(n, [(f"Say {n}.", [f"says {n}"])]) for n in (1, 2)])
        self.old = script(folder / "old.json", [{"contains": "Say", "reply": "as you wish"}])
        self.new = script(folder / "new.json", [{"contains": "Say", "reply": "no"}])
        self.judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])

    def generate(self, model: str, **more: Any) -> None:
        generate(GenerateOptions(data=self.data, model=(model,), out=str(self.out), **more))

    def judged(self, **more: Any) -> Any:
        given = {"judge": self.judge, "out": str(self.out)} | more
        return judge(JudgeGivenOptions(**given | {"judge": (given["judge"],)}))

    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "run.json").read_text(encoding="utf-8"))["settings"]
        return found

    def set(self, **settings: Any) -> None:
        """Change settings in `run.json`; `...` takes one out."""
        info = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        changed = {key: value for key, value in (info["settings"] | settings).items() if value is not ...}
        (self.out / "run.json").write_text(json.dumps(info | {"settings": changed}), encoding="utf-8")

    def without_ledger(self) -> None:
        """The ledger moved away, so that nothing binds any more."""
        (self.out / "ledger.sqlite").rename(self.folder / "ledger.old")
        info = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        (self.out / "run.json").write_text(json.dumps(info | {"results": {}}), encoding="utf-8")
        for name in ("responses.jsonl", "report.html", "scores.json"):  # moved away, as the command asks for
            (self.out / name).unlink(missing_ok=True)
        shutil.rmtree(self.out / "tables", ignore_errors=True)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# --- what may change once there are results -------------------------------------------------------------------------


def test_a_judge_that_timed_out_is_mended_in_its_folder_and_may_move(folder: Folder) -> None:
    folder.generate(folder.old)
    with OpenAIServer() as server:
        server.add_faults([{"match": {"contains": "Say 2"}, "hang": 1.0}])
        one = {"judge": "openai:j", "judge_base_url": server.url}
        short = ("timeout=0.3", "deadline=0.3")
        assert list(folder.judged(**one, judge_arg=short).unscored) == ["2"]
        assert folder.judged(**one, judge_arg=("timeout=30",)).unscored == {}
        moved = server.url.replace("127.0.0.1", "localhost").replace("http://", "http://me:hushed@")
        calls = server.stats()["by_kind"]["judge"]
        assert folder.judged(judge="openai:j", judge_base_url=moved).usage["now"] == {}
        assert folder.judged(judge="openai:j", judge_arg=(f"base_url={moved}",)).usage["now"] == {}
        assert server.stats()["by_kind"]["judge"] == calls, "nothing is asked twice"
    text = (folder.out / "run.json").read_text(encoding="utf-8")
    assert "base_url=http://localhost" in text, "what was said is noted"
    assert "hushed" not in text


def test_what_shapes_verdicts_stays_bound(folder: Folder) -> None:
    folder.generate(folder.old)
    with OpenAIServer() as server:
        one = {"judge": "openai:j", "judge_base_url": server.url, "judge_level": "cascade"}
        one |= {"cascade_judge": "openai:c", "cascade_judge_base_url": server.url}
        folder.judged(**one, cascade_judge_arg=("timeout=20",))
        folder.judged(**one, cascade_judge_arg=("timeout=30",))
        changes: list[tuple[dict[str, Any], str]] = [
            ({"judge": "openai:other"}, "judge: "),
            ({"judge_arg": ("reasoning_effort=low",)}, r"judge_models\.judge openai:j\.options\.reasoning_effort"),
            ({"cascade_judge_arg": ("omit=temperature",)}, r"judge_models\.cascade_judge\.options\.omit"),
        ]
        for more, bound in changes:
            with pytest.raises(UserError, match=bound):
                folder.judged(**one | more)


# --- files left over from another run -------------------------------------------------------------------------------


def test_files_of_another_run_are_not_taken_for_those_of_the_new_one(folder: Folder) -> None:
    folder.generate(folder.old)
    folder.judged()
    responses = folder.out / "responses.jsonl"
    stale = responses.read_bytes()
    folder.without_ledger()
    folder.generate(folder.new)
    other = r"of .* judged by .* run\.json tells, or this file, but not both"
    for reading in (read_run, lambda out: read_run(out / "judgments.jsonl"), lambda out: sample(str(out), 1, ["ann"])):
        with pytest.raises(UserError, match=other):
            reading(folder.out)
    fresh = responses.read_text(encoding="utf-8")
    responses.write_bytes(stale)  # as if generating had been stopped before its end
    with pytest.raises(UserError, match=r"holds answers of .*old\.json, run\.json there is about .*new\.json; finish"):
        folder.judged()
    first, second = fresh.splitlines(keepends=True)
    for part in (first, first + second + first):
        responses.write_text(part, encoding="utf-8")
        with pytest.raises(UserError, match="does not hold the answers"):
            folder.judged()
    responses.write_text(fresh, encoding="utf-8")
    folder.judged()


def test_answers_that_cannot_be_read_are_one_line(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.generate(folder.old)
    for content, said in (
        (b"", "holds no answers"),
        (b'{"id": "\xff"}\n', "line 1: not JSON"),
        (b"{}\n", "line 1: not a line of responses.jsonl: missing field 'id'; the file has none"),
    ):
        (folder.out / "responses.jsonl").write_bytes(content)
        done = command_here(capsys, "judge", "--judge", folder.judge, "--out", str(folder.out))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr


# --- rows on their own ----------------------------------------------------------------------------------------------


def score(capsys: pytest.CaptureFixture[str], path: Path) -> Done:
    capsys.readouterr()
    done = command_here(capsys, "study", "score", str(path))
    return Done(done.returncode, " ".join(done.stdout.split()), done.stderr)


@pytest.fixture
def lines(folder: Folder) -> list[dict[str, Any]]:
    """Two rows of judgments, whose folder is gone."""
    run(RunOptions(data=folder.data, model=folder.old, judge=(folder.judge,), out=str(folder.out)))
    text = (folder.out / "judgments.jsonl").read_text(encoding="utf-8")
    shutil.rmtree(folder.out)
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("other", [{"model": "openai:b"}, {"judge": "openai:k"}], ids=["models", "judges"])
def test_rows_of_two_models_or_judges_are_scored_apart(
    lines: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str], other: dict[str, str]
) -> None:
    first = {"model": "openai:a", "judge": "openai:j"}
    rows = [lines[0] | first, lines[1] | first | other]

    def scored(*rows: dict[str, Any]) -> Done:
        return score(capsys, Path(write_jsonl(tmp_path / "judgments.jsonl", rows)))

    both, alone = scored(*rows), [scored(row).stdout for row in rows]
    assert (both.returncode, both.stderr) == (0, "")
    assert both.stdout == " ".join(alone), "one report after the other, as from a file each"
    ((field, name),) = other.items()
    assert (first[field] in alone[0], name in alone[1]) == (True, True)
    assert scored(*rows, *rows).stdout.count("1 rows stand twice") == 2, "a row of another model is no double"


# Several models: each answered and judged by the same judge, with one table, one report and one board

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
