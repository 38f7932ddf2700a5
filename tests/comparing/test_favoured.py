"""Judges and models of two families: who favours whom, told from instance to instance and marked where it shows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.finished import finished, numbered
from truebench_hf.comparing import leaderboard as shown
from truebench_hf.comparing.leaderboard import leaderboard
from truebench_hf.comparing.table import FACT, preferences
from truebench_hf.metrics.ranks import Results
from truebench_hf.space.board.store import BoardStore


def passing(share: int, of: int = 30) -> dict[str, bool | None]:
    return numbered([number < share for number in range(of)])


def results(share: int, of: int = 30) -> Results:
    return {name: float(bool(passed)) for name, passed in passing(share, of).items()}


def test_boards_mark_what_a_judge_gives_its_family(tmp_path: Path) -> None:
    """gpt-judge passes 6 of 30 more of gpt-model than claude-judge does, and as many of qwen-model: +20 points."""
    for judge, own, other in (("gpt-judge", 21, 15), ("claude-judge", 15, 15)):
        finished(tmp_path / judge, "gpt-model", passing(own), judge=judge)
        finished(tmp_path / judge, "qwen-model", passing(other), judge=judge)
    found = leaderboard([str(tmp_path)])
    (one,) = found.preferences
    assert (one.own, one.others) == (("scripted:gpt-model.json",), ("scripted:qwen-model.json",))
    assert one.found.preference == pytest.approx(0.2)
    assert one.found.ci95 is not None
    assert 0.03 < one.found.ci95[0] < 0.1  # 6 of 30 turned
    marked = {(e.name, e.facts["Judge"]): e.facts[FACT] for e in found.entries if FACT in e.facts}
    assert list(marked) == [("scripted:gpt-model.json", one.judge)]
    assert marked[next(iter(marked))].startswith("+20.0 points (+")
    assert "Self-preference of judges" in [section.title for section in shown.sections(found)]
    board = BoardStore([tmp_path])
    board.refresh()
    assert {e.facts[FACT] for e in board.snapshot.entries if FACT in e.facts} == set(marked.values())
    assert FACT in board.snapshot.kinds[0].facts
    version = board.snapshot.version
    board.refresh()
    assert board.snapshot.version == version, "nothing new, nothing shown anew"


@pytest.mark.parametrize(
    ("asks", "told", "why"),
    [
        ({}, 2, "two data sets, each judged by both"),
        ({"q0": "Another question."}, 0, "files of one name and with the same ids, but not the same data"),
    ],
)
def test_judges_are_held_against_each_other_on_the_same_data_alone(
    tmp_path: Path, asks: dict[str, str], told: int, why: str
) -> None:
    for part in ("one", "two") if told else ("one",):
        for judge, own in (("gpt-judge", 21), ("claude-judge", 15)):
            differs = {"asks": asks if judge == "gpt-judge" else {}}
            more = {"categories": {"q0": part}}
            finished(tmp_path / part / judge, "gpt-model", passing(own), judge=judge, **differs, **more)
            finished(tmp_path / part / judge, "qwen-model", passing(15), judge=judge, **differs, **more)
    found = leaderboard([str(tmp_path)])
    assert len(found.preferences) == told, why
    if told:  # one judge on two sets of data
        table = shown.preferred(found.preferences)
        assert table.header[:3] == ("Judge", "data", "models of its family")
        assert {row["data"] for row in table.rows} == {one.data for one in found.preferences}
        assert all(one.data for one in found.preferences)
    assert sum(FACT in entry.facts for entry in found.entries) == told, why


A, B, C = "openai:gpt-4o (rubric)", "openai:claude-4 (rubric)", "openai:gpt-5 (rubric)"


@pytest.mark.parametrize(
    ("given", "told", "why"),
    [
        ({"gpt-x": {A: results(20)}, "qwen": {A: results(10)}}, {}, "one judge alone"),
        ({"gpt-x": {A: results(20), C: results(9)}, "qwen": {A: results(9), C: results(9)}}, {}, "both of one family"),
        ({"llama": {A: results(20), B: results(9)}, "qwen": {A: results(9), B: results(9)}}, {}, "no model of a judge's family"),
        ({"gpt-x": {A: results(20), B: results(9)}}, {}, "no other model"),
        ({"gpt-x": {A: results(20), B: results(9)}, "qwen": {A: results(9)}}, {}, "nobody else judged the other model"),
        ({"gpt-x": {A: results(20), B: results(14)}, "qwen": {A: results(9), B: results(9)}}, {A: 0.2}, "+6 of 30"),
        (
            {"gpt-x": {A: results(20), B: results(14), "mistral": results(2)}, "qwen": {A: results(9), B: results(9)}},
            {A: 0.2}, "a judge of one model alone has no say",
        ),
        (
            {"gpt-x": {A: results(20), "gpt-4o + claude-4 (majority)": results(14)},
             "qwen": {A: results(9), "gpt-4o + claude-4 (majority)": results(9)}},
            {}, "a panel with a judge of the family is no peer",
        ),
    ],
)  # fmt: skip
def test_who_is_told_of(given: Mapping[str, Mapping[str, Results]], told: dict[str, float], why: str) -> None:
    assert {one.judge: pytest.approx(one.found.preference) for one in preferences(given)} == told, why
