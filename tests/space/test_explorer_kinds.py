"""Runs of every kind in the explorer: checklists, procedures, rubrics, pairs, races, versions, diagnoses, and two runs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.golden.case import play
from tests.golden.cases import case_named
from tests.space.made import board_of, page, text_of
from tests.space.sample_runs import SCRIPT, pairs_run
from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.tick.checklists import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.benchmarks.tick.tick import Tick, TickOptions
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.errors import UserError
from truebench_hf.results.folder import Results
from truebench_hf.space.board.boards import boards
from truebench_hf.space.board.explorer import Explorer
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.pages import Query

PASSING = {"contains": "<criteria", "verdicts": {}}


def opened(folder: Path, name: str = "", beside: str = "", **query: str) -> tuple[SimpleNamespace, str]:
    """The page of the first run whose heading and name match a pattern, and its text."""
    board = board_of(folder)
    explorer = Explorer(roots=board.roots)
    runs = explorer.page(board.snapshot, Query())["runs"]
    keys = {f"{heading} | {text}": key for heading, options in runs for key, text in options}
    query["run"] = next(key for text, key in keys.items() if re.search(name, text))
    if beside:
        query["beside"] = next(key for text, key in keys.items() if re.search(beside, text))
    markup = page(board, tab="explorer", **query)
    assert "<script" not in markup
    return SimpleNamespace(**explorer.page(board.snapshot, Query(**query))), text_of(markup)


def ended(drawn: SimpleNamespace) -> Sequence[tuple[str, str, str]]:
    """Name, what it is about, and how each conversation of the list ended."""
    return [(item.name, item.about, item.ended) for item, _ in drawn.lines]


def titles(drawn: SimpleNamespace) -> Sequence[str]:
    """What stands above the parts of the conversation that is shown."""
    return [round.title for round in drawn.conversation.rounds]


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
    rows = [{"id": "t1", "model": model, "messages": messages} for model in ("first", "second")]
    facts = {
        "whether": (1, "yes", "yes", "yes"),
        "limit": (None, "no", None, None),
        "goodbye": (None, "yes", "no", None),
    }

    def judge(asked: Any) -> str:
        requirement = asked[0]["content"].partition("<requirement")[2]
        answers = next(answers for word, answers in facts.items() if word in requirement)
        return json.dumps(dict(zip(("turn", "applies", "attempted", "correct"), answers, strict=True)))

    options = FlexScoreOptions(
        folder=str(folder / "hotel.yaml"), conversations=write_jsonl(folder / "talks.jsonl", rows), judge=as_spec(judge),
        out=str(folder / "runs" / "hotel"),
    )  # fmt: skip
    FlexScore(options).run()
    return folder / "runs"


def test_a_procedure_stands_step_by_step_beside_its_conversation(hotel: Path) -> None:
    drawn, text = opened(hotel, "first")
    checked = drawn.conversation.item.drawn
    assert checked.heads == ("Applies", "Attempted", "Right")
    assert [(check.state, check.gap, check.cells, check.message, check.is_branch) for check in checked.checks] == [
        ("yes", "", ("yes", "yes", "yes"), 1, False), ("", "Not due", ("no", "–", "–"), None, True),
        ("", "Skipped", ("yes", "no", "–"), None, False),
    ]  # fmt: skip
    messages = [pair for turn in drawn.conversation.rounds for pair in (*turn.prompts, *turn.parts[0][0])]
    assert [number for _, number in messages] == [1, 2, 3, 4]
    assert "Message 1" in text
    assert SCRIPT in text, "as a text"
    drawn, text = opened(hotel, "first", beside="second")
    assert [(text[:20], [state for state, _ in cells]) for text, cells in drawn.conversation.both] == [
        ("Does the assistant a", ["yes", "yes"]), ("Does the assistant n", ["", ""]), ("Does the assistant s", ["", ""]),
    ]  # fmt: skip
    assert "Of 1 conversations both pass 1, both fail 0." in text


def test_the_board_of_an_instruction_names_its_requirements_and_what_is_counted(hotel: Path) -> None:
    board = board_of(hotel)
    text = text_of(page(board, view="Coverage by dimension"))
    assert boards(board.snapshot)[0].title == "Hotel desk"
    assert all(words in text for words in ("Ask whether a hotel is needed", "2 base actions"))
    assert "d1" not in text.replace("d1: Does", ""), "but for what explains the column"


def test_a_checklist_run_has_its_answers_and_questions(tmp_path: Path) -> None:
    rows = [{"id": f"t{n}", "prompt": f"Say {n}.", "criteria": ["Is it kind?"]} for n in range(3)]
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    model = script(tmp_path / "model.json", [{"contains": "Say", "reply": f"Hello {SCRIPT}"}])
    unkind = {"contains": ["Is it kind", "Say 1."], "verdicts": {"kind": "FAIL"}}
    judge = script(tmp_path / "judge.json", [unkind, PASSING])
    Tick(TickOptions(data=data, model=(model,), judge=judge, out=str(tmp_path / "runs" / "tick"))).run()
    drawn, text = opened(tmp_path / "runs", "model")
    assert [state for *_, state in ended(drawn)] == ["failed", "passed", "passed"]
    assert "Is it kind?" in text
    board = BoardStore([tmp_path / "runs"])
    story = text_of(page(board, tab="model", model=next(e.key for e in board.snapshot.entries if e.folder)))
    assert "Criteria: 1 of 3 missed" in story


def test_of_a_judge_the_rubrics_that_it_decided_wrongly_come_first(tmp_path: Path) -> None:
    judge = script(tmp_path / "judge.json", [PASSING])
    out = str(tmp_path / "runs" / "j")
    metaeval(MetaevalOptions(data="rubric_mini", judge=(judge,), paradigms="rubric", limit=2, out=out))
    drawn, text = opened(tmp_path / "runs", "judge", outcome="failed")
    checked = drawn.conversation.item.drawn
    assert (checked.heads, checked.checks[0].state, checked.checks[0].cells) == (
        ("People", "Judge"),
        "no",
        ("no", "yes"),
    )
    assert drawn.conversation.rounds, "of built-in data the answer is at hand"
    assert "Wrong" in text


def test_two_runs_say_first_who_is_ahead_and_where(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [
        row(f"q{n}", [(f"Ask q{n}.", ["is right", "is kind"])], language="DE" if n % 2 else "EN", category="Safety" if n % 3 else "Editing")
        for n in range(24)
    ])  # fmt: skip
    judge = script(tmp_path / "judge.json", [{"contains": "wrong", "verdicts": {"right": "FAIL"}}, PASSING])
    for name, wrong in (("alpha", range(12)), ("beta", (0, 20))):
        rules = [{"contains": f"q{n}.", "reply": "This is wrong."} for n in wrong]
        model = script(tmp_path / f"{name}.json", [*rules, {"contains": "Ask", "reply": "This is so."}])
        run(RunOptions(data=data, model=model, judge=(judge,), rules="off", out=str(tmp_path / "runs" / name)))
    drawn, text = opened(tmp_path / "runs", "alpha", beside="beta")
    assert drawn.head["verdict"].startswith("beta is 41.7 points ahead (95 %: ")
    assert drawn.head["counts"] == (("only-second", "Only beta passes", 11), ("only-first", "Only alpha passes", 1))
    category, language = drawn.head["tables"]
    assert [(row["group"], row["n"]) for row in (*category.rows, *language.rows)] == [
        ("Editing", 8), ("Safety", 16), ("English", 12), ("German", 12),
    ]  # fmt: skip
    assert [round(row["gap"].value, 4) for row in category.rows] == [0.375, 0.4375]
    assert category.columns[1].axis == (-0.8, 0.8), "one axis for all, which holds every interval"
    pairs = [(item.ended, other.ended) for item, other in drawn.lines[:13]]
    assert pairs == [("failed", "passed")] * 11 + [("passed", "failed"), ("failed", "failed")]
    cells = drawn.conversation.rounds[0].both
    assert [[state for state, _ in row] for _, row in cells] == [["no", "yes"], ["yes", "yes"]]
    assert "Only beta passes: 11" in text
    drawn, _ = opened(tmp_path / "runs", "alpha", beside="beta", outcome="only-first")
    assert [name for name, *_ in ended(drawn)] == ["q20"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs without a file of judged conversations."""
    folder = tmp_path_factory.mktemp("studies")
    for case in map(case_named, ("refine", "best-of", "criteria")):
        (folder / case.name).mkdir()
        play(case, folder / case.name)
    pairs_run(folder / "pairs" / "tea")
    return folder


def test_two_responses_stand_side_by_side_with_whom_people_and_judges_prefer(runs: Path) -> None:
    drawn, text = opened(runs, "Pairs.*pair_judge · tea", id="arabic")
    assert ended(drawn) == [("lift", "notices", "failed"), ("arabic", "tea", "failed")]
    assert (drawn.words["no"], drawn.conversation.item.drawn.beside) == ("Wrong", True)
    assert [round.is_answer for round in drawn.conversation.rounds].count(True) == 2
    assert titles(drawn) == ["", "Response A", "Response B · preferred by people", "Who prefers which (people: B)"]
    assert "pair_judge.json, preference: neither A first: A, B first: B" in text, "which is a tie of places"
    assert "pair_judge.json, direct: undecided score A 3.00; score B -; B: it has no JSON object" in text
    right = opened(runs, "Pairs", id="lift")[1]
    assert all(words in right for words in ("Right", "direct: A score A 5.00; score B 3.00", SCRIPT)), "as a text"
    missed_by = {text: len(opened(runs, "Pairs", failed=text)[0].lines) for text in ("direct", "preference")}
    assert missed_by == {"direct": 0, "preference": 2}


def test_answers_of_a_race_and_versions_of_one_answer_stand_in_a_row_with_their_checklists(runs: Path) -> None:
    drawn, text = opened(runs, "Best of N: answers", id="i-alfa")
    assert titles(drawn) == [
        "", "Answer 1 · stick 0.50, direct 3.00, outside 0.50",
        "Answer 2 · selected by stick, direct · stick 1.00, direct 4.00, outside 1.00",
        "Answer 3 · selected by stick, direct · stick 1.00, direct 4.00, outside 1.00", "Greedy answer · outside 0.50",
    ]  # fmt: skip
    assert text.count("Is it short?") == 3, "the checklist of each"
    drawn, text = opened(runs, "Refinement: versions.*out", id="i-alfa")
    assert titles(drawn) == ["", "Version 0 · first · 1 of 2 met", "Version 1 · rewritten · 2 of 2 met"]
    assert "What led to it Plan: shorter." in text
    assert [state for *_, state in ended(drawn)] == ["failed", "unscored", "passed"]


def test_a_diagnosis_says_of_each_criterion_what_is_wrong_and_what_should_stand_there(runs: Path) -> None:
    drawn, text = opened(runs, "Diagnoses.*out", id="2")
    assert ended(drawn) == [
        ("1", "English · Editing / Rewrite", "failed"), ("2", "English · Translation / Rewrite", "failed"),
        ("3", "English · Editing / Rewrite", "unscored"),
    ]  # fmt: skip
    assert "Fine It is a poem." in text
    assert "Defect It is long. Over-criticism (E2): Nobody asks for length. → remove" in text
    assert "Defect No criterion is missing Insufficient criteria (E3): German is asked for. → It is in German." in text
    assert "Unread It is fine." in opened(runs, "Diagnoses.*out", id="3")[1]
    assert "Fine The instruction is clear" in opened(runs, "Diagnoses.*prompts", outcome="passed")[1]


def test_checklists_that_were_written_can_be_looked_through(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [{"id": "tea", "prompt": "Say tea."}])
    reply = "Analysis: short.\nQuestions:\nIs it tea?"
    writer = script(tmp_path / "w.json", [{"contains": "You prepare", "reply": reply}])
    GenerateChecklists(GenerateChecklistOptions(data=data, model=writer, out=str(tmp_path / "runs" / "tea"))).run()
    drawn, text = opened(tmp_path / "runs", "Instructions and their checklists.*w · tea")
    assert ended(drawn) == [("tea", "", "not judged")], "nothing was judged yet"
    assert "Is it tea?" in text
    assert drawn.more == ""


def test_what_was_changed_by_hand_is_said(tmp_path: Path) -> None:
    (pairs_run(tmp_path / "run") / "report.jsonl").write_text("{}\n")
    drawn, text = opened(tmp_path, "Pairs")
    assert drawn.problem == "The judgments of this run cannot be read."
    assert drawn.problem in text
    with pytest.raises(UserError, match="is not as its study wrote it; repeat the command"):
        _ = Results.open(tmp_path / "run").conversations
