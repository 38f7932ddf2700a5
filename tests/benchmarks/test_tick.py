"""`truebench tick`: what is asked and in which order, what comes of it by hand, and whose checklists stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.tick.checklists import ListedChecklist
from truebench_hf.benchmarks.tick.scoring import GradedResponse, response_frame, score_tables
from truebench_hf.benchmarks.tick.tick import Tick, TickOptions
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Criterion, Instance, Response, Score, Turn, Verdict

# By instruction: its questions, and by model whether each is met (?: the judge cannot be read on it).
TABLE: dict[str, tuple[list[str], dict[str, str]]] = {
    "alfa": (["Is it a?", "Is it b?"], {"A": "yy", "B": "yn"}),  # 1 and 1/2: a win of A
    "bravo": (["Is it c?", "Is it d?", "Is it e?", "Is it f?"], {"A": "nynn", "B": "ynny"}),  # 1/4 and 1/2: a loss
    "한글": (["¿Es g?", "是 h 吗？"], {"A": "yn", "B": "ny"}),  # 1/2 and 1/2: a tie
    "delta": (["Is it i?", "Is it j?"], {"A": "y?", "B": "yy"}),  # open and 1: neither
}
CATEGORIES = {"alfa": "One", "bravo": "One", "한글": "Two", "delta": ""}
VERDICT = {"y": {"verdicts": {"": "PASS"}}, "n": {"verdicts": {"": "FAIL"}}, "?": {"reply": "Who knows."}}


def checklist(questions: list[str]) -> str:
    return "\n".join(["Analysis: clear.", "Questions:", *questions])


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Tick]:
    """A study of the table; every request is written down in the file `asked`, by who was asked."""
    rows = [{"id": f"i-{word}", "prompt": f"Say {word}.", "category": CATEGORIES[word]} for word in TABLE]
    write_jsonl(tmp_path / "data.jsonl", [*rows, {"id": "talk", "turns": ["One?", "Two?"]}])
    rules: list[dict[str, Any]] = []
    for word, (questions, met) in TABLE.items():
        # A generator's prompt ends in the instruction, a judge's does not.
        rules.append({"contains": ["You prepare", f"\nSay {word}.\n</instruction"], "reply": checklist(questions)})
        for model, letters in met.items():
            for question, letter in zip(questions, letters, strict=True):
                rules.append({"contains": [f"\n1. {question}", f"\n{model} on {word}\n"], **VERDICT[letter]})
    script(tmp_path / "judge.json", rules, {"reply": "Who knows."})
    for model in "ABC":
        said = [{"contains": f"Say {word}.", "reply": f"{'A' if model == 'C' else model} on {word}"} for word in TABLE]
        script(tmp_path / f"{model}.json", said, {"error": "nobody asks this"})

    def make(models: str = "AB", **more: Any) -> Tick:
        options: dict[str, Any] = {
            "data": f"{tmp_path}/data.jsonl", "out": f"{tmp_path}/out", "judge": f"scripted:{tmp_path}/judge.json",
            "model": tuple(f"scripted:{tmp_path}/{name}.json" for name in models),
            **{f"{role}_arg": (f"record={tmp_path}/asked-{role}",) for role in ("model", "judge")},
        }  # fmt: skip
        return Tick(TickOptions(**options | more))

    return make


def asked(folder: Path, role: str) -> list[str]:
    file = folder / f"asked-{role}"
    return ["\n".join(texts) for _, texts in jsonl.read(file)] if file.exists() else []


def by_name(outcome: Outcome[Any], name: str) -> dict[str, Score]:
    """A score by the short name of its model."""
    return {Path(model).stem: score for model, score in outcome.value.scores[name].items()}


def rows(folder: Path, name: str = "checklists.jsonl") -> list[Any]:
    return [row for _, row in jsonl.read(folder / name)]


def scores(folder: Path) -> Any:
    return json.loads((folder / "out" / "scores.json").read_text("utf-8"))


def edit(file: Path, **more: Any) -> None:
    first, *rest = rows(file.parent)
    write_jsonl(file, [first | more, *rest])


def test_scores_by_hand(study: Callable[..., Tick], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome, third = study().run(), pytest.approx(1 / 3)
    assert by_name(outcome, "pass_rate") == {"A": Score(pytest.approx(1.75 / 3), 3, 1), "B": Score(0.625, 4)}
    assert by_name(outcome, "drfr") == {"A": Score(pytest.approx(5 / 9), 9, 1), "B": Score(0.6, 10)}
    met = {name: (score.value, score.n, score.unscored) for name, score in by_name(outcome, "all_met").items()}
    assert met == {"A": (third, 3, 1), "B": (0.25, 4, 0)}
    assert by_name(outcome, "pass_rate:One") == {"A": Score(0.625, 2), "B": Score(0.5, 2)}
    assert "pass_rate:" not in outcome.value.scores
    held = scores(tmp_path)
    (pair,) = held["pairs"]
    shares = [(pair[name]["value"], pair[name]["n"], pair[name]["unscored"]) for name in ("win", "tie", "loss")]
    assert shares == [(third, 3, 1)] * 3
    assert pair["difference"] == {"value": pytest.approx((0.5 - 0.25) / 3), "interval": None, "n": 3, "unscored": 1}
    assert {row["questions"]: row["checklists"] for row in held["lengths"]} == {2: 3, 4: 1}
    assert "Rows of the data left out: 1 (the first: talk: 2 turns to be answered)." in held["notes"]
    (undecided,) = held["unscored"]
    assert (undecided["id"], Path(undecided["model"]).stem, outcome.incomplete) == ("i-delta", "A", 1)
    assert "no JSON object" in undecided["reason"]

    done = command_here(capsys, "judge", "--judge", f"scripted:{tmp_path}/judge.json", "--out", str(tmp_path / "out"))
    assert (done.returncode, "is a study of kind tick" in done.stderr) == (2, True), "its folder is no run to judge"


def test_checklists_are_written_first_and_see_nothing(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    judged = asked(tmp_path, "judge")
    writing = [text for text in judged if "You prepare" in text]
    assert len(writing) == 4, "one checklist an instruction, whatever the number of models"
    assert not any(f"{model} on" in text for text in writing for model in "AB")
    answering = [text for text in judged if "You prepare" not in text and "A on alfa" in text]
    assert [("Is it a?" in text) + ("Is it b?" in text) for text in answering] == [1, 1], "one question a call"
    for word in TABLE:
        places = [number for number, text in enumerate(judged) if f"\nSay {word}.\n" in text or f" on {word}\n" in text]
        assert "You prepare" in judged[min(places)]


def test_a_model_joins_a_folder_and_pays_for_itself_alone(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    before = len(asked(tmp_path, "model"))
    outcome = study(models="ABC").run()
    assert len(asked(tmp_path, "model")) == before + 4
    assert by_name(outcome, "pass_rate")["C"] == by_name(outcome, "pass_rate")["A"]
    assert len(scores(tmp_path)["pairs"]) == 3
    with pytest.raises(UserError, match=r"has results of scripted:.*C.json too"):
        study().run()


def test_a_generator_that_writes_no_question(study: Callable[..., Tick], tmp_path: Path) -> None:
    writer = script(tmp_path / "writer.json", [], {"reply": "I would rather not."})
    outcome = study(generator=writer).run()
    assert outcome.incomplete == 4
    assert outcome.value.unscored["i-alfa"] == "no checklist: it has no line `Questions:`"
    assert by_name(outcome, "pass_rate") == dict.fromkeys("AB", Score(None, 0, 4))
    assert asked(tmp_path, "model") == [], "without a checklist nothing is answered"
    assert [row["criteria"] for row in rows(tmp_path / "out")] == [[]] * 4
    file = tmp_path / "out" / "checklists.jsonl"
    edit(file, criteria=["Is it a?"])  # a person writes one: the rest stays open
    mended = study(generator=writer, checklists=str(file)).run()
    assert (mended.incomplete, by_name(mended, "pass_rate")["A"]) == (3, Score(1.0, 1, 3))


def test_silent_judges_and_failed_and_cut_answers(study: Callable[..., Tick], tmp_path: Path) -> None:
    judge = script(tmp_path / "silent.json", [], {"error": "the line is dead"})
    outcome = study(judge=judge, judge_arg=(), generator=f"scripted:{tmp_path}/judge.json").run()
    assert by_name(outcome, "pass_rate") == dict.fromkeys("AB", Score(None, 0, 4))
    assert (by_name(outcome, "drfr"), outcome.incomplete) == (dict.fromkeys("AB", Score(None, 0, 10)), 8)
    assert all("the line is dead" in why for why in outcome.value.unscored.values())
    assert rows(tmp_path / "out")[0]["generator"].endswith("judge.json")
    cut = {"contains": "Say alfa", "reply": {"text": "A on alfa", "truncated": True}}
    broken = script(tmp_path / "broken.json", [cut], {"error": "out of paper"})
    outcome = study(model=(broken,), model_arg=(), out=str(tmp_path / "two")).run()
    assert by_name(outcome, "pass_rate") == {"broken": Score(1.0, 1, 3)}
    assert any(note.startswith("Responses cut off") and note.endswith(": 1.") for note in outcome.notes)
    assert "out of paper" in next(iter(outcome.value.unscored.values()))


def test_votes_are_the_majority_of_several_draws(study: Callable[..., Tick], tmp_path: Path) -> None:
    said = [f'```json\n{{"criteria_1": "{label}"}}\n```' for label in ("PASS", "FAIL", "PASS")]
    written = {"contains": "You prepare", "reply": checklist(["Is it a?"])}
    judge = script(tmp_path / "wavering.json", [written, {"contains": "Is it a?", "reply": said}])
    voting = study(data=None, instruction="Say alfa.", models="A", judge=judge, votes=3, judge_temperature=1.0)
    (judged,) = voting.run().value.judged
    assert (judged.verdicts[0][0].votes, judged.passed) == (("yes", "no", "yes"), True)


# Several answers to every instruction: by instruction and model, answer by answer.
SAMPLED = {
    "alfa": {"A": ["yy", "yn"], "B": ["yn", "yn"]},  # 3/4 and 1/2: a win of A
    "bravo": {"A": ["nn", "yn"], "B": ["yy", "ny"]},  # 1/4 and 3/4: a loss
    "carl": {"A": ["yy", "y?"], "B": ["yy", "yy"]},  # 1 (of what is decided) and 1: a tie
}


def flags(folder: Path, samples: int) -> list[str]:
    """A command whose judge knows every answer by its name, `A alfa 1`."""
    lists = [{"id": word, "prompt": f"Say {word}.", "criteria": ["first", "second"]} for word in SAMPLED]
    rules = [
        {"contains": [f"\n1. {question}", f"{model} {word} {number}"], **VERDICT[letter]}
        for word, models in SAMPLED.items() for model, answers in models.items()
        for number, letters in enumerate(answers, 1)
        for question, letter in zip(("first", "second"), letters, strict=True)
    ]  # fmt: skip
    specs = []
    for model in "AB":  # the next answer each session
        replies = [{"contains": word, "reply": f"{model} {word} {samples}"} for word in SAMPLED]
        specs += ["--model", script(folder / f"{model}.json", replies)]
    return [
        "tick", "--data", write_jsonl(folder / "data.jsonl", lists), *specs, "--out", str(folder / "out"),
        "--judge", script(folder / "judge.json", rules), "--samples", str(samples), "--temperature", "1",
        "--model-arg", f"record={folder / 'asked-model'}",
    ]  # fmt: skip


def test_models_of_several_samples_are_compared_by_instruction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = command_here(capsys, *flags(tmp_path, 1))
    assert (done.returncode, "Repeated" in done.stdout) == (0, False), done.stderr
    done = command_here(capsys, *flags(tmp_path, 2))
    assert done.returncode == 3, "one response has an open question"
    assert len(asked(tmp_path, "model")) == 12, "the first answers are not asked for again"
    held = scores(tmp_path)
    a, b = ([(row[name]["value"], row[name]["n"], row[name]["unscored"]) for name in ("pass_rate", "all_met")]
            for row in held["scores"])  # fmt: skip
    assert a == [(pytest.approx((3 / 4 + 1 / 4 + 1) / 3), 3, 0), (0.5, 3, 0)], "all met: 1/2, 0, and 1 of 1"
    assert b[0] == (0.75, 3, 0)
    (pair,) = held["pairs"]
    assert [round(pair[name]["value"], 3) for name in ("win", "tie", "loss")] == [0.333, 0.333, 0.333]
    assert (pair["win"]["n"], pair["difference"]["n"]) == (3, 3), "instructions, not answers"
    repeated = [(row["name"], *list(row["score"].values())[:1], row["score"]["n"]) for row in held["repeated_samples"]]
    assert repeated[:3] == [("mean", 0.5, 3), ("any_of_2", pytest.approx(2 / 3), 3), ("all_of_2", 0.0, 2)]
    assert repeated[4][:2] == ("any_of_2", pytest.approx(2 / 3))
    assert [row["id"] for row in held["unscored"]] == ["carl (sample 2)"]
    kept = rows(tmp_path / "out", "verdicts.jsonl")
    assert [(row["id"], row["sample"]) for row in kept[:4]] == [("alfa", 1), ("alfa", 2)] * 2
    assert "sample 2" in (tmp_path / "out" / "report.html").read_text()
    board = json.loads((tmp_path / "out" / "run.json").read_text())["board"]["rows"]
    assert [(row["scores"]["pass_rate"]["n"], row["facts"]["Samples"]) for row in board] == [(3, "2"), (3, "2")]


# Tables of what is rare


def graded(number: int, *answers: str, models: str = "ab", category: str = "") -> GradedResponse:
    """An instruction and per model its answers as letters: y, n, or ? for an open question."""
    criteria = tuple(Criterion(f"Is it {i}?") for i in range(len(answers[0])))
    instance = Instance(str(number), "", category, "", (Turn("Say it.", criteria),))
    judged = {}
    for model, letters in zip(models, answers, strict=False):
        labels: Any = [{"y": "yes", "n": "no"}.get(letter) for letter in letters]
        verdicts = tuple(Verdict(c, label, "why") for c, label in zip(criteria, labels, strict=True))
        judged[model] = [Judged(instance, Response(str(number), model, ()), (verdicts,))]
    return GradedResponse(ListedChecklist(instance, "data"), judged)


def tables(graded_: list[GradedResponse], models: str = "ab") -> dict[str, list[Any]]:
    return {table.name: table.rows for table in score_tables(response_frame(graded_, tuple(models)))}


def test_tables_of_nothing_of_ties_and_of_odd_names() -> None:
    assert not any(tables([]).values())
    (pair,) = tables([graded(n, "yn", "ny") for n in range(12)])["pairs"]
    assert (pair["win"].value, pair["tie"].value, pair["loss"].value, pair["difference"].value) == (0.0, 1.0, 0.0, 0.0)
    assert pair["difference"].ci95[0] < 0 < pair["difference"].ci95[1]
    named = tables([graded(n, "y", "n", models="zb", category="model") for n in range(3)], "zb")["categories"]
    assert [(row["category"], row["model"], row["pass_rate"].value) for row in named] == [
        ("model", "z", 1.0), ("model", "b", 0.0)
    ]  # fmt: skip


def test_intervals_are_those_of_the_metrics() -> None:
    """Of twelve instructions, by instruction: checklists of unequal length weigh alike in one and not in the other."""
    letters = [("y" * (n % 3 + 1) + "n" * (n % 2), "y" + "n" * (n % 3 + n % 2)) for n in range(12)]
    found = tables([graded(n, *answers) for n, answers in enumerate(letters)])
    shares = [[of.count("y") / len(of) for of in side] for side in zip(*letters, strict=True)]
    a, (pair,) = found["scores"][0], found["pairs"]
    assert a["drfr"] == drfr([["yes" if letter == "y" else "no" for letter in first] for first, _ in letters])
    assert a["pass_rate"].value == pytest.approx(sum(shares[0]) / 12)
    assert pair["difference"] == paired_difference(*shares)
