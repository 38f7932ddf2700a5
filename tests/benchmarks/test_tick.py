"""`truebench tick` by hand: what is asked and in which order, what comes of it, and whose checklists stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import command, script, write_jsonl
from truebench_hf.benchmarks.tick.tick import Tick, TickOptions
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.space.board.store import BoardStore
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Score

# By instruction: its questions, and by model whether each is met (None: the judge cannot be read on it).
TABLE: dict[str, tuple[list[str], dict[str, list[bool | None]]]] = {
    "alfa": (["Is it a?", "Is it b?"], {"A": [True, True], "B": [True, False]}),  # 1 and 1/2: a win of A
    "bravo": (["Is it c?", "Is it d?", "Is it e?", "Is it f?"],
              {"A": [False, True, False, False], "B": [True, False, False, True]}),  # 1/4 and 1/2: a loss
    "한글": (["¿Es g?", "是 h 吗？"], {"A": [True, False], "B": [False, True]}),  # 1/2 and 1/2: a tie
    "delta": (["Is it i?", "Is it j?"], {"A": [True, None], "B": [True, True]}),  # open and 1: neither
}  # fmt: skip
CATEGORIES = {"alfa": "One", "bravo": "One", "한글": "Two", "delta": ""}


def asks(prompt: str) -> str:
    """What a generator prompt ends in and a judge prompt does not hold."""
    return f"\n{prompt}\n</instruction"


def checklist(questions: list[str]) -> str:
    return "\n".join(["Analysis: clear.", "Questions:", *questions])


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Tick]:
    """A study of the table; every request is written down in the file `asked`, by who was asked."""
    rows = [{"id": f"i-{word}", "prompt": f"Say {word}.", "category": CATEGORIES[word]} for word in TABLE]
    rows.append({"id": "talk", "turns": ["One?", "Two?"]})
    write_jsonl(tmp_path / "data.jsonl", rows)
    rules: list[dict[str, Any]] = []
    for word, (questions, met) in TABLE.items():
        rules.append({"contains": ["You prepare", asks(f"Say {word}.")], "reply": checklist(questions)})
        for model, answers in met.items():
            for question, yes in zip(questions, answers, strict=True):
                found = {"verdicts": {"": "PASS" if yes else "FAIL"}} if yes is not None else {"reply": "Who knows."}
                rules.append({"contains": [f"\n1. {question}", f"\n{model} on {word}\n"], **found})
    script(tmp_path / "judge.json", rules, {"reply": "Who knows."})
    for model in "ABC":
        said = [{"contains": f"Say {word}.", "reply": f"{'A' if model == 'C' else model} on {word}"} for word in TABLE]
        script(tmp_path / f"{model}.json", said, {"error": "nobody asks this"})

    def make(**more: Any) -> Tick:
        given: dict[str, Any] = {"data": str(tmp_path / "data.jsonl"), "out": str(tmp_path / "out")}
        given |= {"model": tuple(f"scripted:{tmp_path}/{name}.json" for name in more.pop("models", "AB"))}
        given |= {"judge": f"scripted:{tmp_path}/judge.json"}
        given |= {f"{role}_arg": (f"record={tmp_path}/asked-{role}",) for role in ("model", "judge")}
        return Tick(TickOptions(**given | more))

    return make


def asked(folder: Path, role: str) -> list[str]:
    file = folder / f"asked-{role}"
    return ["\n".join(texts) for _, texts in jsonl.read(file)] if file.exists() else []


def by_name(outcome: Outcome[Any], name: str) -> dict[str, Score]:
    """A score by the short name of its model."""
    return {Path(model).stem: score for model, score in outcome.value.scores[name].items()}


def rows(folder: Path, name: str = "checklists.jsonl") -> list[Any]:
    return [row for _, row in jsonl.read(folder / name)]


def test_scores_by_hand(study: Callable[..., Tick], tmp_path: Path) -> None:
    outcome = study().run()
    third = 1 / 3
    assert by_name(outcome, "pass_rate") == {
        "A": Score(pytest.approx((1 + 0.25 + 0.5) / 3), 3, 1), "B": Score(pytest.approx((0.5 + 0.5 + 0.5 + 1) / 4), 4, 0)
    }  # fmt: skip
    assert by_name(outcome, "drfr") == {"A": Score(pytest.approx(5 / 9), 9, 1), "B": Score(0.6, 10, 0)}
    whole = {name: (score.value, score.n, score.unscored) for name, score in by_name(outcome, "all_met").items()}
    assert whole == {"A": (pytest.approx(third), 3, 1), "B": (0.25, 4, 0)}
    assert by_name(outcome, "pass_rate:One") == {"A": Score(0.625, 2), "B": Score(0.5, 2)}
    assert "pass_rate:" not in outcome.value.scores
    told = json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))
    (pair,) = told["pairs"]
    shares = {name: (pair[name]["value"], pair[name]["n"], pair[name]["unscored"]) for name in ("win", "tie", "loss")}
    assert shares == dict.fromkeys(("win", "tie", "loss"), (pytest.approx(third), 3, 1))
    assert pair["difference"] == {"value": pytest.approx((0.5 - 0.25) / 3), "interval": None, "n": 3, "unscored": 1}
    assert {row["questions"]: row["checklists"] for row in told["lengths"]} == {2: 3, 4: 1}
    assert "Rows of the data left out: 1 (the first: talk: 2 turns to be answered)." in told["notes"]
    (open_,) = told["unscored"]
    assert (open_["id"], Path(open_["model"]).stem) == ("i-delta", "A")
    assert "no JSON object" in open_["reason"]
    assert outcome.incomplete == 1


def test_checklists_are_written_first_and_see_nothing(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    judged = asked(tmp_path, "judge")
    writing = [text for text in judged if "You prepare" in text]
    assert len(writing) == 4, "one checklist an instruction, whatever the number of models"
    assert not any(f"{model} on" in text for text in writing for model in "AB")
    answering = [text for text in judged if "You prepare" not in text and "A on alfa" in text]
    assert len(answering) == 2, "one question a call"
    assert all(("Is it a?" in text) != ("Is it b?" in text) for text in answering)
    first = {text: number for number, text in enumerate(judged)}
    for word in TABLE:
        written = next(
            number for text, number in first.items() if "You prepare" in text and asks(f"Say {word}.") in text
        )
        assert written < min(number for text, number in first.items() if f" on {word}\n" in text)


def test_a_repeated_study_asks_nothing_and_gives_the_same(study: Callable[..., Tick], tmp_path: Path) -> None:
    one = study().run()
    before = [asked(tmp_path, role) for role in ("model", "judge")]
    two = study().run()
    assert [asked(tmp_path, role) for role in ("model", "judge")] == before
    assert by_name(one, "pass_rate") == by_name(two, "pass_rate")


def test_a_model_joins_a_folder_and_pays_for_itself_alone(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    before = len(asked(tmp_path, "model"))
    outcome = study(models="ABC").run()
    assert len(asked(tmp_path, "model")) == before + 4
    assert by_name(outcome, "pass_rate")["C"] == by_name(outcome, "pass_rate")["A"]
    assert len(json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))["pairs"]) == 3
    with pytest.raises(UserError, match=r"has results of scripted:.*C.json too"):
        study().run()


def edit(file: Path, **more: Any) -> None:
    first, *rest = rows(file.parent)
    write_jsonl(file, [first | more, *rest])


def test_edited_checklists_are_used_or_left_alone(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    file, answers = tmp_path / "out" / "checklists.jsonl", len(asked(tmp_path, "model"))
    edit(file, criteria=["Is it a?"])
    kept = file.read_bytes()
    with pytest.raises(UserError, match=r"was edited since.*add --checklists"):
        study().run()
    assert file.read_bytes() == kept
    outcome = study(checklists=str(file)).run()
    assert by_name(outcome, "drfr")["B"] == Score(pytest.approx(6 / 9), 9, 0), "B met one question of two, now of one"
    assert len(asked(tmp_path, "model")) == answers, "no response is asked for again"
    assert rows(file.parent)[0]["criteria"] == ["Is it a?"]
    assert rows(file.parent)[0]["source"] == "file"
    with pytest.raises(UserError, match="what was given by --checklists"):
        study().run()  # would bring back what was edited away
    assert study(checklists=str(file)).run().value.scores == outcome.value.scores
    file.rename(tmp_path / "mine.jsonl")
    assert by_name(study().run(), "drfr")["B"] == Score(0.6, 10, 0)


def test_a_smaller_sample_takes_no_edited_checklist_away(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    file = tmp_path / "out" / "checklists.jsonl"
    edit(file, criteria=["Is it a?"])
    kept = [row["criteria"] for row in rows(file.parent)]
    outcome = study(checklists=str(file), limit=2).run()
    assert by_name(outcome, "all_met")["B"].n == 2
    assert [row["criteria"] for row in rows(file.parent)] == kept
    study(checklists=str(file)).run()
    assert [row["criteria"] for row in rows(file.parent)] == kept
    study(data=str(file)).run()  # as data, they are given as well
    with pytest.raises(UserError, match="what was given by --checklists"):
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
    assert mended.incomplete == 3
    assert by_name(mended, "pass_rate")["A"] == Score(1.0, 1, 3)


def test_a_judge_that_is_silent(study: Callable[..., Tick], tmp_path: Path) -> None:
    judge = script(tmp_path / "silent.json", [], {"error": "the line is dead"})
    outcome = study(judge=judge, judge_arg=(), generator=f"scripted:{tmp_path}/judge.json").run()
    assert by_name(outcome, "pass_rate") == dict.fromkeys("AB", Score(None, 0, 4))
    assert by_name(outcome, "drfr") == dict.fromkeys("AB", Score(None, 0, 10))
    assert outcome.incomplete == 8
    assert all("the line is dead" in why for why in outcome.value.unscored.values())
    assert rows(tmp_path / "out")[0]["generator"].endswith("judge.json")


def test_failed_and_cut_answers(study: Callable[..., Tick], tmp_path: Path) -> None:
    cut = {"contains": "Say alfa", "reply": {"text": "A on alfa", "truncated": True}}
    broken = script(tmp_path / "broken.json", [cut], {"error": "out of paper"})
    outcome = study(model=(broken,), model_arg=()).run()
    assert by_name(outcome, "pass_rate") == {"broken": Score(1.0, 1, 3)}
    assert any(note.startswith("Responses cut off") and note.endswith(": 1.") for note in outcome.notes)
    assert "out of paper" in next(iter(outcome.value.unscored.values()))


def test_criteria_of_the_data_are_the_checklist_and_cost_no_generator(
    study: Callable[..., Tick], tmp_path: Path
) -> None:
    own = [{"id": "x", "prompt": "Say alfa.", "criteria": ["Is it a?", {"text": "Is it b?", "weight": -1}]}]
    data = write_jsonl(tmp_path / "own.jsonl", own)
    outcome = study(data=data, generator=script(tmp_path / "never.json", [], {"error": "never"})).run()
    # b is a fault: A has it, which counts against it, and B has it not.
    assert by_name(outcome, "pass_rate") == {"A": Score(0.5, 1), "B": Score(1.0, 1)}
    assert rows(tmp_path / "out")[0]["criteria"] == ["Is it a?", {"text": "Is it b?", "weight": -1.0}]
    study(data=data).run()  # who would have written them does not matter


def test_its_checklists_are_data_of_a_run_and_its_board_is_read(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    model, judge = f"scripted:{tmp_path}/B.json", f"scripted:{tmp_path}/judge.json"
    given = str(tmp_path / "out" / "checklists.jsonl")
    ran = truebench_hf.run(data=given, model=model, judge=judge, judge_level="rubric")
    assert ran.scores["drfr"] == Score(0.6, 10, 0)
    board = BoardStore([tmp_path / "out"])
    kind = next(kind for kind in board.snapshot.kinds if kind.name == "tick")
    lines = board.snapshot.of(kind)
    found = {entry.name: entry.overall.value for entry in lines}
    assert found == {"scripted:A.json": pytest.approx(1.75 / 3), "scripted:B.json": 0.625}
    assert kind.main == "Pass rate"
    assert list(kind.groups) == ["Categories"]
    assert lines[0].setting == lines[1].setting


def test_other_checklists_are_another_setting(study: Callable[..., Tick], tmp_path: Path) -> None:
    one = study().run()
    edited = rows(tmp_path / "out")
    edited[0]["criteria"] = ["Is it a?"]
    two = study(out=str(tmp_path / "two"), checklists=write_jsonl(tmp_path / "c.jsonl", edited)).run()
    three = study(out=str(tmp_path / "three"), models="BA").run()
    settings = [outcome.ranking.board().rows[0].setting for outcome in (one, two, three)]
    assert settings[0] != settings[1]
    assert settings[0] == settings[2]


def test_an_estimate_asks_nothing(study: Callable[..., Tick], tmp_path: Path) -> None:
    spent = study(estimate=True).run().value
    assert [asked(tmp_path, role) for role in ("model", "judge")] == [[], []]
    assert not (tmp_path / "out").exists()
    calls = {part.partition(" ")[0]: usage.calls for part, usage in spent.items()}
    assert calls == {"generator": 4, "model": 4, "judge": 4 * 2 * 5}, "five questions a checklist"


def test_its_folder_is_no_run_to_judge(study: Callable[..., Tick], tmp_path: Path) -> None:
    study().run()
    done = command("judge", "--judge", f"scripted:{tmp_path}/judge.json", "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "is a study of kind tick" in done.stderr


def test_models_in_memory_that_share_a_name_are_told_apart() -> None:
    def answering(text: str) -> Callable[[Any], str]:
        def model(messages: Any) -> str:
            return text

        return model

    def judge(messages: Any) -> str:
        text = messages[-1]["content"]
        label = "PASS" if "Hello!" in text else "FAIL"
        return checklist(["Is it kind?"]) if "You prepare" in text else f'```json\n{{"criteria_1": "{label}"}}\n```'

    report = truebench_hf.tick(instruction="Greet me.", model=[answering("Hello!"), answering("Bye!")], judge=judge)
    assert [score.value for score in report.scores["pass_rate"].values()] == [1.0, 0.0]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"votes": 3}, "need a judge temperature"),
        ({"votes": 0}, "at least 1"),
        ({"judge_level": "checklist"}, "not for this command"),
        ({"judge_level": "decision", "votes": 3, "judge_temperature": 1.0}, "go with --judge-level rubric"),
        ({"judge_temperature": -1.0}, "at least 0"),
        ({"prompt": ("generate_checklist=nowhere.jinja",)}, "nowhere.jinja"),
    ],
)
def test_what_makes_no_sense_is_refused(study: Callable[..., Tick], given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        study(**given).run()


def test_votes_are_the_majority_of_several_draws(study: Callable[..., Tick], tmp_path: Path) -> None:
    said = [f'```json\n{{"criteria_1": "{label}"}}\n```' for label in ("PASS", "FAIL", "PASS")]
    written = {"contains": "You prepare", "reply": checklist(["Is it a?"])}
    judge = script(tmp_path / "wavering.json", [written, {"contains": "Is it a?", "reply": said}])
    made = study(data=None, instruction="Say alfa.", models="A", judge=judge, votes=3, judge_temperature=1.0)
    (judged,) = made.run().value.judged
    assert judged.verdicts[0][0].votes == ("yes", "no", "yes")
    assert judged.passed


@pytest.mark.slow
def test_with_the_embedded_model(tmp_path: Path) -> None:
    """SmolLM2 answers a real prompt and judges it by probability; no score is expected of it."""
    options = TickOptions(
        data="checklists_mini", limit=1, model=("smollm2",), judge="smollm2", max_tokens=16, out=str(tmp_path / "o")
    )
    outcome = Tick(options).run()
    score = next(iter(by_name(outcome, "drfr").values()))
    assert (score.unscored, outcome.incomplete) == (0, 0)
    assert score.n == sum(len(row["criteria"]) for row in rows(tmp_path / "o"))
    assert Tick(replace(options)).run().value.scores == outcome.value.scores
