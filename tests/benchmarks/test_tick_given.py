"""`truebench study checklist score`: whose responses are found where, and what their checklists say of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import command, script, write_jsonl
from truebench_hf.benchmarks.tick.tick import ScoreChecklists as Study
from truebench_hf.benchmarks.tick.tick import ScoreOptions, Tick, TickOptions
from truebench_hf.data import jsonl
from truebench_hf.data.checklist_rows import MINI
from truebench_hf.errors import UserError
from truebench_hf.types import Score

ALFA = {"id": "a", "prompt": "Say alfa.", "criteria": ["Is it a?", "Is it b?"]}
BRAVO = {"id": "b", "prompt": "Say bravo.", "criteria": ["Is it c?"]}


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """Answers NO to b where the response is `half`, and to all where it is `bad`."""
    rules = [
        {"contains": ["\nhalf\n", "1. Is it b?"], "verdicts": {"": "FAIL"}},
        {"contains": "\nbad\n", "verdicts": {"": "FAIL"}},
    ]
    return script(tmp_path / "judge.json", [*rules, {"contains": "<criteria", "verdicts": {}}])


def run(folder: Path, judge: str, rows: list[dict[str, Any]], **more: Any) -> Any:
    data = write_jsonl(folder / "data.jsonl", rows)
    return Study(ScoreOptions(data=data, judge=judge, out=str(folder / "out"), **more)).run()


def rates(outcome: Any, name: str = "pass_rate") -> dict[str, Score]:
    return dict(outcome.value.scores[name])


def test_rows_with_responses_of_several_models(tmp_path: Path, judge: str) -> None:
    rows = [
        ALFA | {"response": "half", "model": "one"}, ALFA | {"response": "good", "model": "two"},
        BRAVO | {"response": "good", "model": "one"}, BRAVO | {"response": "bad", "model": "two"},
    ]  # fmt: skip
    outcome = run(tmp_path, judge, rows)
    assert rates(outcome) == {"one": Score(0.75, 2), "two": Score(0.5, 2)}
    third = pytest.approx(2 / 3)
    assert rates(outcome, "drfr") == {"one": Score(third, 3), "two": Score(third, 3)}
    kept = [row for _, row in jsonl.read(tmp_path / "out" / "verdicts.jsonl")]
    assert [(row["id"], row["model"], row["passed"]) for row in kept] == [
        ("a", "one", False), ("a", "two", True), ("b", "one", True), ("b", "two", False)
    ]  # fmt: skip


def test_rows_without_ids_or_under_other_names_belong_to_their_own_instruction(tmp_path: Path, judge: str) -> None:
    rows = [
        {"question": "Say x.", "checks": "Is it b?", "completion": "half"},
        {"question": "Say x.", "checks": "Is it b?", "completion": "good", "model": "two"},
        {"question": "Say y.", "checks": "Is it b?", "completion": "good"},
    ]
    outcome = run(tmp_path, judge, rows, column=("prompt=question", "criteria=checks"))
    assert rates(outcome) == {"data": Score(0.5, 2), "two": Score(1.0, 1, 1)}
    assert outcome.value.unscored == {"fb31473e75d8 (two)": "no answer: no response in data.jsonl"}
    assert outcome.incomplete == 1


def test_a_conversation_may_end_with_the_response(tmp_path: Path, judge: str) -> None:
    said = [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": "half"}]
    row = {"messages": said, "criteria": ["Is it b?", "Is it c?"], "model": "m"}
    assert rates(run(tmp_path, judge, [row])) == {"m": Score(0.5, 1)}
    with pytest.raises(UserError, match="leave out the answer"):
        run(tmp_path, judge, [row | {"response": "good"}])


def test_responses_and_checklists_from_files(tmp_path: Path, judge: str) -> None:
    bare = [{"id": "a", "prompt": "Say alfa."}, {"id": "b", "prompt": "Say bravo."}, {"id": "c", "prompt": "Say c."}]
    one = write_jsonl(tmp_path / "one.jsonl", [{"id": row["id"], "response": "half"} for row in bare])
    two = write_jsonl(tmp_path / "more.jsonl", [{"prompt": "Say alfa.", "output": "bad", "model": "two"}])
    lists = write_jsonl(tmp_path / "lists.jsonl", [ALFA, BRAVO])
    outcome = run(tmp_path, judge, bare, responses=(one, two), checklists=lists)
    assert rates(outcome) == {"one": Score(0.75, 2, 1), "two": Score(0.0, 1, 2)}
    assert outcome.value.unscored == {
        "b (two)": "no answer: no response in more.jsonl",
        "c": "no checklist: there is none in the data or in --checklists, and no --generator",
    }


def test_two_responses_of_one_model_are_samples(tmp_path: Path, judge: str) -> None:
    rows = [ALFA | {"response": text} for text in ("half", "good")] + [BRAVO | {"response": "good"}] * 2
    outcome = run(tmp_path, judge, rows)
    assert rates(outcome)["data"].n == 2, "instructions, not samples"
    kept = [row for _, row in jsonl.read(tmp_path / "out" / "verdicts.jsonl")]
    assert [(row["id"], row["sample"], row["passed"]) for row in kept] == [
        ("a", 1, False), ("a", 2, True), ("b", 1, True), ("b", 2, True)
    ]  # fmt: skip


def test_a_generator_is_asked_only_where_it_is_named(tmp_path: Path, judge: str) -> None:
    writer = script(tmp_path / "writer.json", [], {"reply": "Questions:\nIs it b?"})
    outcome = run(tmp_path, judge, [{"prompt": "Say alfa.", "response": "half", "model": "m"}], generator=writer)
    assert rates(outcome) == {"m": Score(0.0, 1)}


def test_the_built_in_sample_has_all_it_takes(tmp_path: Path, judge: str) -> None:
    options = ScoreOptions(data=MINI, judge=judge, limit=3, out=str(tmp_path / "out"))
    outcome = Study(options).run()
    assert rates(outcome) == {"constructed": Score(1.0, 3), "constructed 2": Score(1.0, 3)}


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        ([ALFA, BRAVO], {}, "no row has a response"),
        ([ALFA | {"response": "x"}, ALFA | {"prompt": "Say it.", "response": "x"}], {}, "id a stands twice"),
        ([ALFA | {"response": 7}], {}, "response"),
        ([ALFA | {"responses": [{"model": "m"}]}], {}, "text"),
        ([ALFA], {"responses": ("nowhere.jsonl",)}, "nowhere.jsonl"),
        ([{"id": "t", "turns": ["x", "y"]}], {}, "several turns"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, judge: str, rows: list[dict[str, Any]], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        run(tmp_path, judge, rows, **more)


def test_an_instruction_alone_has_no_response(tmp_path: Path, judge: str) -> None:
    with pytest.raises(UserError, match="has no response"):
        ScoreOptions(instruction="Say it.", judge=judge, out="o")


def test_its_folder_is_its_own(tmp_path: Path, judge: str) -> None:
    """Of one kind with `tick`, whose board it shares; the responses tie a folder to one study all the same."""
    run(tmp_path, judge, [ALFA | {"response": "half", "model": "m"}])
    with pytest.raises(UserError, match="other options"):
        run(tmp_path, judge, [ALFA | {"response": "good", "model": "m"}])
    with pytest.raises(UserError, match="other options"):
        Tick(
            TickOptions(data=str(tmp_path / "data.jsonl"), model=(judge,), judge=judge, out=str(tmp_path / "out"))
        ).run()


def test_models_that_were_asked_and_that_were_given_are_ranked_together(tmp_path: Path, judge: str) -> None:
    model = script(tmp_path / "model.json", [], {"reply": "half"})
    data = write_jsonl(tmp_path / "bare.jsonl", [ALFA])
    asked = Tick(TickOptions(data=data, model=(model,), judge=judge, out=str(tmp_path / "asked"))).run()
    given = run(tmp_path, judge, [ALFA | {"response": "half", "model": "m"}])
    (one,), (two,) = asked.ranking.board().rows, given.ranking.board().rows
    assert (one.setting, one.scores) == (two.setting, two.scores)


@pytest.mark.parametrize("words", [("tick",), ("study", "checklist", "score")])
def test_logs_are_judged_by_checklists_written_once_for_each_instruction(
    words: tuple[str, ...], tmp_path: Path, judge: str
) -> None:
    """Two answers to one question are its samples: one checklist is for both; rows without an answer are left out."""
    writer = script(tmp_path / "writer.json", [], {"reply": "Questions:\nIs it a?\nIs it b?"})
    said = [{"role": "user", "content": "Say alfa."}]
    rows: list[dict[str, Any]] = [
        {"messages": [*said, {"role": "assistant", "content": text}], "model": "m"} for text in ("half", "good")
    ]
    rows += [{"input": "Say bravo.", "output": "good", "model": "m"}, {"messages": said}]
    log, out = write_jsonl(tmp_path / "log.jsonl", rows), tmp_path / "out"
    named = ("--logs", log, "--judge", judge, "--generator", writer, "--out", str(out))
    done = command(*words, *named, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "3 of 4 rows are conversations with an answer" in " ".join(done.stderr.split())
    kept = [row for _, row in jsonl.read(out / "verdicts.jsonl")]
    assert [(row["model"], row["sample"], row["passed"]) for row in kept] == [
        ("m", 1, False), ("m", 2, True), ("m", 1, True)
    ]  # fmt: skip
    assert len(list(jsonl.read(out / "checklists.jsonl"))) == 2
    again = ScoreOptions(logs=log, judge=judge, checklists=str(out / "checklists.jsonl"), out=str(tmp_path / "again"))
    assert Study(again).run().value.scores["pass_rate"] == {"m": Score(0.875, 2)}, "a judge that writes no checklist"


@pytest.mark.parametrize(
    ("kind", "more", "remedy"),
    [
        (ScoreOptions, {"data": "d.jsonl", "column": ("id=key",)}, "leave out --data and --column$"),
        (ScoreOptions, {"instruction": "Say it."}, "leave out --instruction$"),
        (ScoreOptions, {"responses": ("r.jsonl",)}, "leave out --responses$"),
        (TickOptions, {"model": ("smollm2",)}, "leave out --model$"),
        (TickOptions, {"samples": 2}, "--samples are answers of a --model"),
        (TickOptions, {"logs": None, "data": "d.jsonl"}, "at least one --model, or --logs"),
    ],
)
def test_what_does_not_go_with_logs(kind: type, more: dict[str, Any], remedy: str, judge: str) -> None:
    with pytest.raises(UserError, match=remedy):
        kind(**{"logs": "log.jsonl", "judge": judge, "out": "o", **more})


def test_responses_are_read_as_judge_reads_them(tmp_path: Path, judge: str) -> None:
    """Files of lm-eval, whose rows name no model: it is that of --model-name; and logs with their own criteria."""
    sampled = [
        {"doc": ALFA, "doc_id": 0, "arguments": [["Say alfa."]], "resps": [["half"]], "filtered_resps": ["half"]}
    ]
    file = write_jsonl(tmp_path / "samples_x.jsonl", sampled)
    assert rates(run(tmp_path, judge, [ALFA], responses=(file,), model_name="mine")) == {"mine": Score(0.5, 1)}
    spoken = [{"role": "user", "content": "Say alfa."}, {"role": "assistant", "content": "half"}]
    log = write_jsonl(
        tmp_path / "log.jsonl", [{"messages": spoken, "criteria": ["Is it b?", "Is it c?"], "model": "m"}]
    )
    logged = Study(ScoreOptions(logs=log, judge=judge, out=str(tmp_path / "logged"))).run()
    assert rates(logged) == {"m": Score(0.5, 1)}
