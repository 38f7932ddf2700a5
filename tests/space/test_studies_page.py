"""Runs without a file of judged conversations in the explorer: pairs, races, versions of answers, diagnoses."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.golden.case import play
from tests.golden.cases import case_named
from tests.space.made import page, text_of
from tests.space.sample_runs import SCRIPT, pairs_run
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.tick.checklists import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.errors import UserError
from truebench_hf.results.folder import Results
from truebench_hf.space.board.explorer import Explorer
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.pages import Query


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    for case in map(case_named, ("refine", "best-of", "criteria")):
        (folder / case.name).mkdir()
        play(case, folder / case.name)
    pairs_run(folder / "pairs" / "tea")
    return folder


def opened(folder: Path, title: str, name: str = "", **query: str) -> tuple[SimpleNamespace, str]:
    """The page of the first run that holds this, and its text."""
    board = BoardStore([folder])
    runs = Explorer(roots=board.roots).page(board.snapshot, Query())["runs"]
    options = next(options for heading, options in runs if heading == title)
    key = next(key for key, text in options if name in text)
    markup = page(board, tab="explorer", run=key, **query)
    assert "<script" not in markup
    drawn = Explorer(roots=board.roots).page(board.snapshot, Query(run=key, **query))
    return SimpleNamespace(**drawn), text_of(markup)


def test_two_responses_stand_side_by_side_with_whom_people_and_judges_prefer(runs: Path) -> None:
    drawn, text = opened(runs, "Pairs", "pair_judge · tea", id="arabic")
    assert [(item.name, item.about, item.ended) for item, _ in drawn.lines] == [
        ("lift", "notices", "failed"), ("arabic", "tea", "failed"),
    ]  # fmt: skip
    assert drawn.words["no"] == "Wrong"
    assert drawn.conversation.item.drawn.beside
    assert [round.is_answer for round in drawn.conversation.rounds].count(True) == 2
    assert [round.title for round in drawn.conversation.rounds] == [
        "", "Response A", "Response B · preferred by people", "Who prefers which (people: B)",
    ]  # fmt: skip
    assert "pair_judge.json, preference: neither A first: A, B first: B" in text, "which is a tie of places"
    assert "pair_judge.json, direct: undecided score A 3.00; score B -; B: it has no JSON object" in text
    right = opened(runs, "Pairs", id="lift")[1]
    assert "Right" in right
    assert "direct: A score A 5.00; score B 3.00" in right
    assert SCRIPT in right, "as a text"
    sought = {text: len(opened(runs, "Pairs", failed=text)[0].lines) for text in ("direct", "preference")}
    assert sought == {"direct": 0, "preference": 2}, "by who missed it"


def test_answers_of_a_race_and_versions_of_one_answer_stand_in_a_row_with_their_checklists(runs: Path) -> None:
    drawn, text = opened(runs, "Best of N: answers", id="i-alfa")
    assert [round.title for round in drawn.conversation.rounds] == [
        "", "Answer 1 · stick 0.50, direct 3.00, outside 0.50",
        "Answer 2 · selected by stick, direct · stick 1.00, direct 4.00, outside 1.00",
        "Answer 3 · selected by stick, direct · stick 1.00, direct 4.00, outside 1.00", "Greedy answer · outside 0.50",
    ]  # fmt: skip
    assert text.count("Is it short?") == 3, "the checklist of each"
    drawn, text = opened(runs, "Refinement: versions", "out", id="i-alfa")
    assert [round.title for round in drawn.conversation.rounds] == [
        "", "Version 0 · first · 1 of 2 met", "Version 1 · rewritten · 2 of 2 met",
    ]  # fmt: skip
    assert "What led to it Plan: shorter." in text
    assert [item.ended for item, _ in drawn.lines] == ["failed", "unscored", "passed"]


def test_a_diagnosis_says_of_each_criterion_what_is_wrong_and_what_should_stand_there(runs: Path) -> None:
    drawn, text = opened(runs, "Diagnoses", "out", id="2")
    assert [(item.name, item.about, item.ended) for item, _ in drawn.lines] == [
        ("1", "English · Editing / Rewrite", "failed"), ("2", "English · Translation / Rewrite", "failed"),
        ("3", "English · Editing / Rewrite", "unscored"),
    ]  # fmt: skip
    assert "Fine It is a poem." in text
    assert "Defect It is long. Over-criticism (E2): Nobody asks for length. → remove" in text
    assert "Defect No criterion is missing Insufficient criteria (E3): German is asked for. → It is in German." in text
    assert "Unread It is fine." in opened(runs, "Diagnoses", "out", id="3")[1]
    assert "Fine The instruction is clear" in opened(runs, "Diagnoses", "prompts", outcome="passed")[1]


def test_checklists_that_were_written_can_be_looked_through(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [{"id": "tea", "prompt": "Say tea."}])
    writer = script(
        tmp_path / "w.json", [{"contains": "You prepare", "reply": "Analysis: short.\nQuestions:\nIs it tea?"}]
    )
    GenerateChecklists(GenerateChecklistOptions(data=data, model=writer, out=str(tmp_path / "runs" / "tea"))).run()
    drawn, text = opened(tmp_path / "runs", "Instructions and their checklists", "w · tea")
    assert [(item.name, item.ended) for item, _ in drawn.lines] == [("tea", "not judged")], "nothing was judged yet"
    assert "Is it tea?" in text
    assert drawn.more == ""


def test_what_was_changed_by_hand_is_said(tmp_path: Path) -> None:
    run = pairs_run(tmp_path / "run")
    (run / "report.jsonl").write_text("{}\n")
    drawn, text = opened(tmp_path, "Pairs")
    assert drawn.problem == "The judgments of this run cannot be read."
    assert drawn.problem in text
    with pytest.raises(UserError, match="is not as its study wrote it"):
        _ = Results.open(run).conversations
