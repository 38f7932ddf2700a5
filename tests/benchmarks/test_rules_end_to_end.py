"""Rules through the real commands: who decided stands in the records, folders and boards keep modes apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import Done, command_here, held, script, write_jsonl
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.judging.rules.deciding import MODES

SHORT = {"text": "At most three words.", "rule": {"kind": "count", "unit": "words", "max": 3}}
ROWS = [
    {"id": "a", "prompt": "Name a river.", "criteria": ["names a river", SHORT]},
    {"id": "b", "prompt": "Name a lake.", "criteria": [SHORT]},
]
ANSWERS = [{"contains": "river", "reply": "The great river Rhine."}, {"contains": "lake", "reply": "Garda."}]
JUDGE = [{"contains": "<criteria", "verdicts": {}}]  # passes everything


class Bench:
    """Data, a model and a judge who passes everything and writes down what it is asked."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.data = write_jsonl(folder / "data.jsonl", ROWS)
        self.model, self.judge = script(folder / "model.json", ANSWERS), script(folder / "judge.json", JUDGE)

    def do(self, name: str, out: str, *more: str) -> Done:
        """The command, whose judge writes what it is asked into `OUT.asked`."""
        record = () if self.judge == "none" else ("--judge-arg", f"record={self.folder / out}.asked")
        return command_here(
            self.capsys, *name.split(), "--judge", self.judge, *record, "--out", str(self.folder / out), *more
        )

    def run(self, out: str, *more: str, name: str = "run") -> Done:
        return self.do(name, out, "--data", self.data, "--model", self.model, *more)

    def asked(self, out: str) -> str:
        file = self.folder / f"{out}.asked"
        return file.read_text() if file.exists() else ""

    def lines(self, out: str, file: str) -> list[dict[str, Any]]:
        return [row for _, row in jsonl.read(self.folder / out / file)]

    def info(self, out: str) -> dict[str, Any]:
        return held(self.folder / out / "run.json")  # type: ignore[no-any-return]


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


# mode -> passed by instance, calls of the judge, whether figures are stated
RUNS = {
    "off": ([True, True], 2, False),  # the judge takes four words for three
    "evidence": ([True, True], 2, True),  # told so it says the same: it decides
    "decide": ([False, True], 1, False),  # one criterion is left to it
}


@pytest.mark.parametrize("mode", MODES)
def test_run(bench: Bench, mode: str) -> None:
    done = bench.run("out", "--rules", mode)
    assert done.returncode == 0, done.stderr
    passed, calls, stated = RUNS[mode]
    lines = bench.lines("out", "judgments.jsonl")
    assert [line["passed"] for line in lines] == passed
    assert len(bench.asked("out").splitlines()) == calls
    assert (": 4 words)" in bench.asked("out")) == stated
    by = [verdict.get("judge", "the judge") for line in lines for turn in line["verdicts"] for verdict in turn]
    assert by == (["the judge", "rules", "rules"] if mode == "decide" else ["the judge"] * 3)
    said = "Decided by rules: 2 of 3 criteria."
    assert (said in done.stdout) == (mode == "decide")
    settings = bench.info("out")["settings"]
    assert (settings["rules"], settings["judging"]["rules"]) == (mode, mode)
    if mode == "decide":
        assert lines[0]["verdicts"][0][1]["reason"] == "measured: 4 words"
        assert "measured: 4 words" in (bench.folder / "out" / "report.html").read_text()


def rubrics() -> list[dict[str, Any]]:
    """Two responses with a rubric for rules and one for judges each; the judge below is wrong on all it fails."""
    found: list[dict[str, Any]] = []
    for name, response, labels in (("a", "One two.", ["yes", "no"]), ("b", "One two three four.", ["no", "yes"])):
        shared = {
            "instruction_id": f"i-{name}", "response_id": f"r-{name}", "instruction_category": "constrained",
            "language": "EN", "messages": [{"role": "user", "content": "Say something."}], "response": response,
            "checklist": [SHORT["text"], "is kind"],
        }  # fmt: skip
        for place, label in enumerate(labels):
            text = shared["checklist"][place]
            rule = {"rule": SHORT["rule"]} if place == 0 else {}
            found.append(shared | {"rubric_index": place, "rubric": text, "label": label} | rule)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_metaeval(bench: Bench, mode: str) -> None:
    bench.data = write_jsonl(bench.folder / "rubrics.jsonl", rubrics())
    bench.judge = script(bench.folder / "judge.json", [{"contains": "<criteria", "verdicts": {"is kind": "FAIL"}}])
    done = bench.do("metaeval", "out", "--data", bench.data, "--paradigms", "checklist,rubric", "--rules", mode)
    assert done.returncode == 0, done.stderr
    scores = json.loads((bench.folder / "out" / "scores.json").read_text())
    together = [one["balanced_accuracy"]["value"] for one in scores["judges"]]
    # It passes all lengths and fails all kindness: half of each is right. The rules have all lengths right.
    assert together == [0.75, 0.75] if mode == "decide" else [0.5, 0.5]
    lines = bench.lines("out", "judgments.jsonl")
    by = [line["decided_by"] == "rules" for line in lines]
    assert by == ([True, False] * 4 if mode == "decide" else [False] * 8)
    if mode != "decide":
        assert [one["ruled"] for one in scores["judges"]] == [None, None]
        return
    # A checklist is asked about as long as one criterion is left.
    assert [(one["ruled"], one["calls_saved"]) for one in scores["judges"]] == [(2, 0), (2, 2)]
    apart = [row for row in scores["agreement"] if row["by"] == "decided_by"]
    assert {(row["group"], row["balanced_accuracy"]["value"]) for row in apart} == {("rules", 1.0), ("judge", 0.5)}


@pytest.mark.parametrize("name", ["run", "tick"])
def test_folders_and_boards_keep_modes_apart(bench: Bench, name: str) -> None:
    for mode in MODES:
        assert bench.run(mode, "--rules", mode, name=name).returncode == 0
    for other in ("off", "evidence"):
        done = bench.run("decide", "--rules", other, name=name)
        assert done.returncode == 2
        (line,) = [line for line in done.stderr.splitlines() if line.strip()]
        assert f'rules: "decide" there, "{other}" now' in line
        assert "choose another folder" in line
    settings = {mode: bench.info(mode)["board"]["rows"][0]["setting"] for mode in MODES}
    assert len(set(settings.values())) == len(MODES)
    kind, folders = "truebench" if name == "run" else name, [str(bench.folder / mode) for mode in MODES]
    board = command_here(bench.capsys, "leaderboard", *folders, "--kind", kind)
    notes = [line for line in board.stdout.splitlines() if line.startswith("Note: Group")]
    assert [sum(f"rules {mode})" in line for line in notes) for mode in MODES] == [0, 1, 1]
    assert len(notes) == len(MODES), "each is alone, and its note says why"
    compared = command_here(bench.capsys, "compare", folders[0], str(bench.folder / "decide"))
    assert "rules off and decide" in compared.stdout.replace("rules:", "rules")


def test_the_official_protocol_knows_no_rules(bench: Bench) -> None:
    done = bench.run("out", "--protocol", "official", "--rules", "decide")
    assert (done.returncode, (bench.folder / "out").exists()) == (2, False)
    assert "--protocol official: its judge decides every criterion" in done.stderr
    for mode, code in (("decide", 2), ("evidence", 0)):
        assert bench.run(mode, "--rules", mode).returncode == 0
        told = command_here(bench.capsys, "study", "score", str(bench.folder / mode), "--protocol", "official")
        assert (told.returncode, "rules decided some of it" in told.stderr) == (code, code == 2)
    assert (
        RunOptions(data="mini", model="smollm2", judge=("smollm2",), out="x", protocol="official").settings.rules
        == "off"
    )


def test_a_file_alone_tells_that_rules_decided(bench: Bench) -> None:
    """A submitted file has no run.json: it is kept apart by what its verdicts say."""
    rows = {}
    for mode in ("off", "decide"):
        assert bench.run(mode, "--rules", mode).returncode == 0
        judgments = bench.folder / mode / "judgments.jsonl"
        stage_file(validate(judgments), bench.folder / f"staged-{mode}")
        (info,) = (bench.folder / f"staged-{mode}").glob("runs/*/run.json")
        (rows[mode],) = json.loads(info.read_text())["board"]["rows"]
    assert rows["off"]["setting"] != rows["decide"]["setting"]
    assert [row["facts"]["Judge"].endswith("(rules decide)") for row in rows.values()] == [False, True]
    with pytest.raises(UserError, match=r"rules decided some of it, of which run.json does not tell"):
        validate(bench.folder / "decide" / "judgments.jsonl", provenance={"model": "m", "judge": "j"})


# `--rules-model`: a model reads rules out of criteria that have none, once each


KIND = "It is kind to readers in exactly two words."  # of which no phrase knows all words
CALM = "It pleases the ear in exactly two words."  # likewise
TWO = {"kind": "count", "unit": "words", "min": 2, "max": 2}
UNREAD = [
    {"id": "a", "prompt": "Name a river.", "criteria": [KIND, "It names a river.", "At most 9 words."]},
    {"id": "b", "prompt": "Name a lake.", "criteria": [KIND]},
    {"id": "c", "prompt": "Name a pond.", "criteria": [{"text": CALM, "rule": TWO}]},
]


def said(*rules: dict[str, Any], complete: bool = False) -> dict[str, str]:
    return {"reply": f"I looked.\n```json\n{json.dumps({'rules': rules, 'complete': complete})}\n```"}


@pytest.fixture
def reading(bench: Bench) -> Bench:
    """Three instances to which the model answers in two words, and a reader of rules."""
    bench.data = write_jsonl(bench.folder / "data.jsonl", UNREAD)
    script(bench.folder / "model.json", [{"contains": "Name", "reply": "Great Water"}])
    rules = [{"contains": "names a river", **said()}, {"contains": "kind to readers", **said(TWO, complete=True)}]
    script(bench.folder / "reader.json", rules)
    return bench


def read_rules(bench: Bench, *more: str) -> Done:
    reader = ("--rules-model", f"scripted:{bench.folder / 'reader.json'}")
    return bench.run("out", *reader, "--rules-model-arg", f"record={bench.folder / 'reader.asked'}", *more)


def test_a_criterion_is_read_once_and_its_figures_stand_beside_it(reading: Bench) -> None:
    done = read_rules(reading)
    assert done.returncode == 0, done.stderr
    # Of four different criteria one has a rule, one is read by phrases; the first stands in two instances.
    assert len(reading.asked("reader").splitlines()) == 2
    assert "1 of 2 criteria that had none" in done.stdout.replace("\n", " ")
    assert "1 of 2 criteria that had none" in (reading.folder / "out" / "report.html").read_text()
    assert (
        reading.asked("out").count("exactly two words. (measured_") == 2
    )  # it says more than its rule, so that a judge decides
    rows = reading.lines("out", "judgments.jsonl")
    assert [row["passed"] for row in rows] == [True] * 3
    assert rows[0]["verdicts"][0][0]["criterion"] == KIND
    settings = reading.info("out")["settings"]
    assert settings["judging"]["rules_model"] == f"scripted:{reading.folder / 'reader.json'}"
    assert "find_rules" in settings["prompts"]


# `--judge none`: what can be counted is decided, the rest is open and counted


OPEN = "no judge: only what can be counted is decided"


@pytest.fixture
def nobody(bench: Bench) -> Bench:
    """The same data with an instance of which nothing can be counted, and nobody who judges."""
    pond = {"id": "c", "prompt": "Name a pond.", "criteria": ["names a pond"]}
    bench.data, bench.judge = write_jsonl(bench.folder / "data.jsonl", [*ROWS, pond]), "none"
    script(bench.folder / "model.json", [*ANSWERS, {"contains": "pond", "reply": "The pond."}])
    return bench


def check_counted(bench: Bench, done: Done, out: str) -> None:
    assert done.returncode == 0, done.stderr
    lines = bench.lines(out, "judgments.jsonl")
    assert [line["passed"] for line in lines] == [False, True, None]
    reasons = [verdict["reason"] for line in lines for verdict in line["verdicts"][0]]
    assert reasons == [OPEN, "measured: 4 words", "measured: 1 word", OPEN]
    assert "No judge: 2 of 4 criteria decided by counting, 2 left open." in done.stdout
    assert set(bench.info(out)["usage"]["total"]) <= {"model"}, "nobody was asked to judge"


def test_runs_and_answers_that_are_there_are_decided_by_what_can_be_counted(nobody: Bench) -> None:
    check_counted(nobody, nobody.run("out"), "out")
    texts = {"a": "The great river Rhine.", "b": "Garda.", "c": "The pond."}
    rows = [{"id": name, "response": text} for name, text in texts.items()]
    given = ("--responses", write_jsonl(nobody.folder / "answers.jsonl", rows), "--model-name", "m")
    check_counted(nobody, nobody.do("judge", "answered", "--data", nobody.data, *given), "answered")
    score = command_here(nobody.capsys, "study", "score", str(nobody.folder / "answered"))
    assert (score.returncode, "No judge: 2 of 4" in score.stdout) == (0, True)
    script(nobody.folder / "model.json", [{"contains": "pond", "error": "out of reach"}, *ANSWERS])
    assert nobody.run("failed").returncode == 3, "an answer that failed is not what was expected to be open"
    assert command_here(nobody.capsys, "study", "score", str(nobody.folder / "failed")).returncode == 3
    assert nobody.run("failed", "--allow-unscored").returncode == 0


def test_what_nobody_judged_is_never_ranked_with_a_judged_run_and_can_be_published(nobody: Bench) -> None:
    assert nobody.run("out").returncode == 0
    staged = stage_file(validate(nobody.folder / "out" / "judgments.jsonl"), nobody.folder / "staged")
    assert "none" in staged.rows[0]["judge"]
    nobody.judge = f"scripted:{nobody.folder / 'judge.json'}"
    assert nobody.run("judged").returncode == 0
    counted, judged = (nobody.info(out)["board"]["rows"][0] for out in ("out", "judged"))
    assert counted["facts"]["Judge"] == "none (rules decide)"
    assert counted["setting"] != judged["setting"]
    shown = command_here(nobody.capsys, "compare", *(str(nobody.folder / out) for out in ("out", "judged")))
    assert (shown.returncode, "Not comparable as models: judge: none and scripted:" in shown.stdout) == (0, True)


def test_what_asks_for_a_judge_beside_nobody_is_refused(nobody: Bench) -> None:
    for more, words in (
        ("--rules off", "--judge none: what can be counted"),
        ("--judge smollm2", "--judge none: what can be counted"),
        ("--protocol official", "its judge decides every criterion"),
        ("--judge-arg record=x", "are about --judge; name one"),
    ):
        done = nobody.run("out", *more.split())
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
    done = nobody.run("out", name="tick")
    assert (done.returncode, "unknown spec 'none'" in done.stderr) == (2, True), "another command wants its judge"
