"""Runs of every kind in the explorer: checklists, procedures step by step, rubrics that a judge decided, and two runs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.space.made import page as drawn_page
from tests.space.made import text_of
from tests.space.sample_runs import SCRIPT
from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.tick.tick import Tick, TickOptions
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.space.board.boards import boards
from truebench_hf.space.board.explorer import Explorer
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.pages import Query


def _opened(folder: Path, name: str, beside: str = "", **query: str) -> tuple[SimpleNamespace, str]:
    """The page of the first run of this name, and its text."""
    board = BoardStore([folder])
    board.refresh()
    keys = {e.name: e.key for e in board.snapshot.entries if e.folder}
    query["run"] = next(key for text, key in keys.items() if name in text)
    if beside:
        query["beside"] = next(key for text, key in keys.items() if beside in text)
    markup = drawn_page(board, tab="explorer", **query)
    assert "<script" not in markup
    return SimpleNamespace(**Explorer().page(board.snapshot, Query(**query))), text_of(markup)


@pytest.fixture(scope="module")
def hotel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation of four messages along three steps: one right, one skipped, one that was not due."""
    folder = tmp_path_factory.mktemp("flex")
    steps = (
        Dimension("d1", "Does the assistant ask whether a hotel is needed?"),
        Dimension("d2", "Does the assistant name the limit?", base="d1", condition="A hotel is needed"),
        Dimension("d3", "Does the assistant say goodbye?"),
    )
    (folder / "hotel.yaml").write_text(as_yaml(Procedure("hotel", "Ask.", steps, title="Hotel desk")))
    talk = ["A hotel?", f"No {SCRIPT}.", "Fine.", "So be it."]
    roles = ("assistant", "user") * 2
    messages = [{"role": role, "content": text} for role, text in zip(roles, talk, strict=True)]
    rows = [{"id": "t1", "model": model, "messages": messages} for model in ("one", "two")]
    facts = {
        "whether": (1, "yes", "yes", "yes"),
        "limit": (None, "no", None, None),
        "goodbye": (None, "yes", "no", None),
    }

    def judge(asked: Any) -> str:
        turn, *answers = next(
            of for word, of in facts.items() if word in asked[0]["content"].partition("<requirement")[2]
        )
        return json.dumps({"turn": turn, **dict(zip(("applies", "attempted", "correct"), answers, strict=True))})

    options = FlexScoreOptions(
        folder=str(folder / "hotel.yaml"), conversations=write_jsonl(folder / "talks.jsonl", rows), judge=as_spec(judge),
        out=str(folder / "runs" / "hotel"),
    )  # fmt: skip
    FlexScore(options).run()
    return folder / "runs"


def test_a_procedure_stands_step_by_step_beside_its_conversation(hotel: Path) -> None:
    page, text = _opened(hotel, "one")
    drawn = page.conversation.item.drawn
    assert drawn.heads == ("Applies", "Attempted", "Right")
    assert [(check.state, check.gap, check.cells, check.message) for check in drawn.checks] == [
        ("yes", "", ("yes", "yes", "yes"), 1), ("", "Not due", ("no", "–", "–"), None),
        ("", "Skipped", ("yes", "no", "–"), None),
    ]  # fmt: skip
    assert [check.is_branch for check in drawn.checks] == [False, True, False]
    messages = [pair for turn in page.conversation.rounds for pair in (*turn.prompts, *turn.parts[0][0])]
    assert [number for _, number in messages] == [1, 2, 3, 4]
    assert "Message 1" in text
    assert SCRIPT in text, "as a text"


def test_two_models_are_held_against_each_other_step_by_step(hotel: Path) -> None:
    page, text = _opened(hotel, "one", beside="two")
    assert [(text[:20], [state for state, _ in cells]) for text, cells in page.conversation.both] == [
        ("Does the assistant a", ["yes", "yes"]), ("Does the assistant n", ["", ""]), ("Does the assistant s", ["", ""]),
    ]  # fmt: skip
    assert "Of 1 conversations both pass 1, both fail 0." in text


def test_the_board_of_an_instruction_names_its_requirements_and_what_is_counted(hotel: Path) -> None:
    board = BoardStore([hotel])
    board.refresh()
    text = text_of(drawn_page(board, view="Coverage by dimension"))
    assert boards(board.snapshot)[0].title == "Hotel desk"
    assert all(said in text for said in ("Ask whether a hotel is needed", "2 base actions"))
    assert "d1" not in text.replace("d1: Does", ""), "but for what explains the column"


def test_a_checklist_run_has_its_answers_and_questions(tmp_path: Path) -> None:
    rows = write_jsonl(
        tmp_path / "data.jsonl", [{"id": f"t{n}", "prompt": f"Say {n}.", "criteria": ["Is it kind?"]} for n in range(3)]
    )
    model = script(tmp_path / "model.json", [{"contains": "Say", "reply": f"Hello {SCRIPT}"}])
    unkind = {"contains": ["Is it kind", "Say 1."], "verdicts": {"kind": "FAIL"}}
    judge = script(tmp_path / "judge.json", [unkind, {"contains": "<criteria", "verdicts": {}}])
    Tick(TickOptions(data=rows, model=(model,), judge=judge, out=str(tmp_path / "runs" / "tick"))).run()
    page, text = _opened(tmp_path / "runs", "model")
    assert [item.ended for item, _ in page.lines] == ["failed", "passed", "passed"]
    assert "Is it kind?" in text
    board = BoardStore([tmp_path / "runs"])
    board.refresh()
    entry = next(e for e in board.snapshot.entries if e.folder)
    story = text_of(drawn_page(board, tab="model", model=entry.key))
    assert "without its conversations" not in story
    assert "Criteria: 1 of 3 missed" in story


def test_of_a_judge_the_rubrics_that_it_decided_wrongly_come_first(tmp_path: Path) -> None:
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    out = str(tmp_path / "runs" / "j")
    metaeval(MetaevalOptions(data="rubric_mini", judge=(judge,), paradigms="rubric", limit=2, out=out))
    page, text = _opened(tmp_path / "runs", "judge", outcome="failed")
    drawn = page.conversation.item.drawn
    assert (drawn.heads, drawn.checks[0].state, drawn.checks[0].cells) == (("People", "Judge"), "no", ("no", "yes"))
    assert page.conversation.rounds, "of built-in data the answer is at hand"
    assert "Wrong" in text


def test_two_runs_say_first_who_is_ahead_and_where(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [
        row(f"q{n}", [(f"Ask q{n}.", ["is right", "is kind"])], language="DE" if n % 2 else "EN", category="Safety" if n % 3 else "Editing")
        for n in range(24)
    ])  # fmt: skip
    judge = script(
        tmp_path / "judge.json",
        [{"contains": "wrong", "verdicts": {"right": "FAIL"}}, {"contains": "<criteria", "verdicts": {}}],
    )
    for name, wrong in (("alpha", range(12)), ("beta", (0, 20))):
        rules = [{"contains": f"q{n}.", "reply": "This is wrong."} for n in wrong]
        model = script(tmp_path / f"{name}.json", [*rules, {"contains": "Ask", "reply": "This is so."}])
        run(RunOptions(data=data, model=model, judge=(judge,), rules="off", out=str(tmp_path / "runs" / name)))
    page, text = _opened(tmp_path / "runs", "alpha", beside="beta")
    assert page.head["verdict"].startswith("beta is 41.7 points ahead (95 %: ")
    assert page.head["counts"] == (("only-second", "Only beta passes", 11), ("only-first", "Only alpha passes", 1))
    category, language = page.head["tables"]
    assert [(row["group"], row["n"]) for row in (*category.rows, *language.rows)] == [
        ("Editing", 8), ("Safety", 16), ("English", 12), ("German", 12),
    ]  # fmt: skip
    assert [round(row["gap"].value, 4) for row in category.rows] == [0.375, 0.4375]
    assert category.columns[1].axis == (-0.8, 0.8), "one axis for all, which holds every interval"
    ended = [(item.ended, other.ended) for item, other in page.lines[:13]]
    assert ended == [("failed", "passed")] * 11 + [("passed", "failed"), ("failed", "failed")]
    cells = page.conversation.rounds[0].both
    assert [[state for state, _ in row] for _, row in cells] == [["no", "yes"], ["yes", "yes"]]
    assert "Only beta passes: 11" in text
    page, _ = _opened(tmp_path / "runs", "alpha", beside="beta", outcome="only-first")
    assert [item.name for item, _ in page.lines] == ["q20"]
