"""What a board shows of results: boards and groups, words, cells, charts and models; held against figures made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.space.made import COLUMNS, board_of, entry, page, snapshot, text_of
from tests.space.sample_runs import SCRIPT, real_runs
from tests.support.corpus import each_row
from truebench_hf.comparing import table
from truebench_hf.comparing.runs import BoardEntry, BoardRun
from truebench_hf.data.judged import Judged
from truebench_hf.space import site
from truebench_hf.space.board import boards, items, leaderboard, words
from truebench_hf.space.board.items import ExplorerItem
from truebench_hf.space.board.leaderboard import Cell, PageRow
from truebench_hf.space.board.store import Snapshot
from truebench_hf.space.pages import Query
from truebench_hf.study.ranking import Board, BoardColumn
from truebench_hf.types import Criterion, Instance, Message, Response, Score, Turn, Verdict


@each_row(__file__, "cases", "words")
def test_words(fact: str, reads: str, how: str) -> None:
    assert getattr(words, how)(fact) == reads


def test_boards_and_groups_in_the_order_of_the_page() -> None:
    sample = {"Data": "truebench, sample of 20"}
    now = snapshot(
        entry("a", 0.5), entry("b", 0.9), entry("alone", 0.9, setting="t"), entry("sent", 0.9, source="submitted"),
        entry("part", 0.9, setting="p", facts=sample), entry("scripted:x.json", 0.9, setting="d"),
        entry("mini", 0.9, setting="m", facts={"Data": "mini"}), entry("mine", 0.9, setting="o", facts={"Data": "own.csv"}),
        entry("X", 0.9, setting="i", facts={"Instruction": "Refunds"}), entry("o1", 0.6, source="paper", setting="q"),
    )  # fmt: skip
    by_title = {board.title: board for board in boards.boards(now)}
    assert list(by_title) == ["Own data", "TRUEBench", "Refunds", "Judges"]
    groups = [(g.what, [e.name for e in g.entries]) for g in by_title["TRUEBench"].groups]
    assert groups == [
        ("measured", ["b", "a"]), ("measured", ["alone"]), ("partial", ["part"]), ("submitted", ["sent"]),
        ("demonstration", ["scripted:x.json"]), ("demonstration", ["mini"]), ("paper", ["o1"]),
    ]  # fmt: skip
    first = by_title["TRUEBench"].groups[0]
    assert boards.heading(first) == "TRUEBench v0.6.1 · judged by gpt-4.1 (checklist) · 100 tasks"
    trust = boards.judge_trust(now, first)
    assert trust.percent == "59.0"
    assert trust.text.startswith("(no interval) of RubricEval paper, Table 9, hard")
    assert by_title["TRUEBench"].group("no such group") is first
    assert boards.judge_trust(now, by_title["Judges"].groups[0]) is None
    text = text_of(page(now, board="truebench"))
    assert "Yours Published" in text
    assert "Demonstrations: made-up models, tiny judges or the built-in sample (2)" in text
    assert "answers and judge are their word" in page(now, board="truebench", group=by_title["TRUEBench"].groups[3].id)


@each_row(__file__, "cases", "leads")
def test_one_sentence_says_who_leads(spans: Sequence[tuple[int, int] | None], sentence: str) -> None:
    entries = [
        replace(entry(name, 0.5), rank=span and span[0], last=span and span[1])
        for name, span in zip("ABCDE", spans, strict=False)
    ]
    assert boards.lead(boards.BoardGroup("id", "measured", tuple(entries))) == sentence


@each_row(__file__, "cases", "brackets")
def test_brackets_join_models_that_cannot_be_told_apart(
    spans: Sequence[tuple[int, int] | None], lanes: list[str]
) -> None:
    entries = [
        replace(entry(name, 0.5), rank=span and span[0], last=span and span[1])
        for name, span in zip("ABCDEFGHIJK", spans, strict=False)
    ]
    drawn = leaderboard.brackets(entries)
    assert len(drawn) == len(spans)
    assert ["".join((part or " ")[0] for part in lane) for lane in zip(*drawn, strict=True)] == lanes


def test_trust_in_the_judge_is_of_the_way_it_was_asked() -> None:
    judges = [
        replace(entry("gpt-4.1", score, setting=how, facts={"Paradigm": how, "Data": "labels"}), kind="metaeval", key=how)
        for score, how in ((0.9, "checklist, no reasoning"), (0.52, "checklist, reasoning"))
    ]  # fmt: skip
    trusted = (
        "judge: balanced accuracy 52.0 % (42.3 to 61.5) on 100 rubrics of labels, asked at checklist level with reasons: no better "
        "than guessing, which gets 50"
    )
    markup = page(snapshot(entry("a", 0.5), *judges))
    assert trusted in text_of(markup)
    assert 'class="trust warns"' in markup, "the interval holds 50 %"
    own = entry("a", 0.5, facts={"Judge": "openai:own (checklist)"}), replace(judges[0], name="own")
    markup = page(snapshot(*own))
    how = "on 100 rubrics of labels, asked at checklist level without reasons, unlike here"
    assert f"90.0 % (82.6 to 94.5) {how}" in text_of(markup)
    assert "warns" not in markup
    unknown = page(snapshot(entry("a", 0.5, facts={"Judge": "nobody"})))
    assert "how often the judge is right was not measured here" in unknown


def test_a_sample_is_ranked_among_its_own_and_the_title_names_it() -> None:
    sample = {"Data": "support.jsonl, sample of 600"}
    now = snapshot(*(entry(name, score, facts=sample) for name, score in (("a", 0.9), ("b", 0.3))))
    assert [(row.name, row.rank.text) for row in _rows(now)] == [("a", "1"), ("b", "2")]
    board, *_ = boards.boards(now)
    assert boards.title(board, board.groups[0]) == "2 models on support, sample of 600"
    asked = (entry("j", score, key=str(score), facts={"Poet": how}) for score, how in ((0.9, "me"), (0.88, "you")))
    board, *_ = boards.boards(snapshot(*asked))
    assert boards.lead(board.groups[0]) == "j (me) and j (you) share the top: they cannot be told apart."
    assert boards.counted(board, board.groups[0]) == "1 model"


@pytest.mark.parametrize(
    ("values", "ends"),
    [([1.0], (90, 100)), ([0.0], (0, 10)), ([2 / 3, 2 / 3], (60, 70)), ([0.5, 0.52], (50, 52)), ([0.1, 0.9], (10, 90))],
)
def test_the_axis_of_the_main_score_holds_every_value_and_no_share_beyond_100(
    values: list[float], ends: tuple[float, float]
) -> None:
    kind = snapshot(entry("a", 0.5)).kinds[0]
    lines = [replace(entry("a", value), overall=Score(value, 2)) for value in values]
    assert leaderboard.score_axis(kind, lines) == ends


def test_results_as_json() -> None:
    now = snapshot(entry("a", 0.9), entry("b", 0.3), entry("o1", 0.6, source="paper", setting="q"))
    content = site.results_json(now, Query())
    assert json.dumps(content, allow_nan=False)
    assert [(row["name"], row["rank"], row["address"]) for row in content["rows"]] == [
        ("a", 1, "?tab=model&model=a"), ("b", 2, "?tab=model&model=b"),
    ]  # fmt: skip
    assert content["lead"] == "a leads."
    query = dict(pair.split("=") for pair in content["boards"][-1]["address"].removeprefix("?").split("&"))
    assert site.results_json(now, Query.of(query))["board"] == content["boards"][-1]["board"]


def _rows(now: Snapshot, view: str = "") -> tuple[PageRow, ...]:
    return leaderboard.page(now, Query(view=view))["table"]["rows"]


def test_cells_say_what_stands_behind_them() -> None:
    now = snapshot(entry("all", 0.8), entry("few", 0.5, safety=Score(None, 0, 4)), entry("open", 0.9, n=60, left=40))
    rows = {row.name: row for row in _rows(now)}
    assert rows["all"].cells[0] == Cell(
        "50", 50.0, "Safety: 50.0, 12 decided, 95 %: 25.4 to 74.6, +0.0 points against the mean of the column", 0, True
    )
    assert rows["few"].cells[0] == Cell("–", None, "4 left open, none decided")
    assert rows["open"].cells[1] == Cell("60 %", 0.6, "40 left open")
    assert rows["open"].rank == Cell("–", None, "not ranked: 40 % of it was left open")
    assert list(rows) == ["all", "few", "open"], "what has no rank comes last"
    assert rows["all"].score == Cell("80.0", 80.0, "95 %: 71.1 to 86.7, 100 tasks")
    assert 'cx="66.7"' in page(now), "80 on an axis from 40 to 100"
    parted = snapshot(replace(entry("a", None), overall=Score(None, 7, 1)))
    assert "a part of what it is made of was not measured" in page(parted, tab="model", model="a")
    (part,) = _rows(snapshot(entry("part", 0.5, facts={"Data": "truebench, sample of 9"})))
    assert part.rank == Cell("–", None, "the only result of its kind: nothing to rank it among")
    printed = snapshot(
        entry("o1", 0.6, source="paper", misprints=frozenset(["category:Safety"])),
        entry("o2", 0.5, source="paper", safety=Score(None, 0)), entry("none", None, source="paper", n=0),
    )  # fmt: skip
    first, second, last = _rows(printed)
    assert (first.cells[0].text, second.cells[0].why) == ("50 (!)", "not published")
    assert (last.rank.why, last.score) == ("not ranked: nothing was decided", Cell("–", None, "nothing was decided"))
    details = leaderboard.page(now, Query(view=leaderboard.DETAILS))["table"]
    assert [column.name for column in details["columns"][:2]] == ["coverage", "n"], "as they differ"
    details = leaderboard.page(printed, Query(view=leaderboard.DETAILS))["table"]
    assert "coverage" not in [column.name for column in details["columns"]], "all of it was decided"


def test_two_lines_of_one_name_are_told_apart() -> None:
    rows = _rows(snapshot(entry("openai:m", 0.5), entry("hf:org/m", 0.4), entry("n", 0.3)))
    assert [(row.name, row.also) for row in rows] == [("m", "openai:m"), ("m", "hf:org/m"), ("n", "")]
    same = entry("m", 0.5, key="1", facts={"Poet": "me"}), entry("m", 0.4, key="2", facts={"Poet": "you"})
    assert [row.also for row in _rows(snapshot(*same))] == ["me", "you"]


def test_figures_that_are_no_shares_fill_the_scale_that_they_need() -> None:
    columns = (BoardColumn("errors", "Errors", percent=False),)
    lines = [
        BoardEntry(n, "haiku", n, "measured", "s", s, {"errors": s}, ascending=True)
        for n, s in (("a", Score(1.0, 40, 0, (0.5, 1.5))), ("b", Score(3.0, 40, 0, (2.0, 4.0))))
    ]
    kinds, found = table.merged([BoardRun("haiku", Board("errors", columns, (), "ascending"), tuple(lines))])
    now = Snapshot(table.by_score(found), kinds)
    assert [(row.name, row.rank.text, row.score.text) for row in _rows(now)] == [("a", "1", "1.0"), ("b", "2", "3.0")]
    assert 'cx="25.0"' in page(now)
    assert 'cx="75.0"' in page(now)


def test_charts_are_of_one_group_and_names_stay_texts() -> None:
    hostile, cost = f"m {SCRIPT}", BoardColumn("cost", "Calls per verdict", "Cost", percent=False)
    sized = [
        entry(name, score, facts={"Size (B)": size}, scores={"overall": Score(score, 100), "cost": Score(calls, 9)}, data="d")
        for name, score, size, calls in ((hostile, 0.5, "7", 1.0), ("b", 0.6, "70", 3.0), ("c", 0.4, "30", 2.0))
    ]  # fmt: skip
    other = entry("b", 0.3, setting="t", facts={"Size (B)": "1", "Judge": "openai:o3"}, data="d", key="again")
    alone = entry(hostile, 0.2, setting="t", facts={"Judge": "openai:o3"}, data="d", key="more")
    now = snapshot(*sized, other, alone, columns=(*COLUMNS, cost))
    sizes, calls, judges = leaderboard.page(now, Query(view=leaderboard.CHARTS))["plots"]
    assert sizes.title == "Overall and size (B)"
    assert [(line.name, [point[:2] for point in line.points]) for line in sizes.series] == [
        ("Models", [(7.0, 50.0), (30.0, 40.0), (70.0, 60.0)]), ("Pareto front", [(7.0, 50.0), (70.0, 60.0)]),
    ]  # fmt: skip
    assert [point[3] for point in sizes.series[-1].points] == [hostile, "b"], "their names stand beside them"
    assert (sizes.x and sizes.x.log, calls.x and calls.x.log) == (False, False), "70 is ten times 7, and no more"
    assert calls.title == "Overall and calls per verdict"
    assert {point[:2] for point in judges.series[0].points} == {(50.0, 20.0), (60.0, 30.0)}, "one model, two judges"
    assert (judges.x and judges.x.label, judges.y and judges.y.label) == ("gpt-4.1 (checklist)", "o3")
    markup = page(now, view=leaderboard.CHARTS)
    assert "Overall and size (B)" in markup
    assert "<script" not in markup
    brought_out = leaderboard.page(now, Query(view=leaderboard.CHARTS, model=sized[1].key))["plots"]
    assert [[line.name for line in plot.series if line.brought_out] for plot in brought_out] == [["b"]] * 3
    many = snapshot(*(entry(f"m{n}", 0.5, facts={"Size (B)": str(n + 1)}) for n in range(13)))
    (crowd,) = leaderboard.page(many, Query(view=leaderboard.CHARTS))["plots"]
    assert [(line.name, len(line.points)) for line in crowd.series] == [("Models", 13)]
    assert crowd.x.log, "13 is more than ten times 1"
    chosen = many.entries[3]
    (crowd,) = leaderboard.page(many, Query(view=leaderboard.CHARTS, model=chosen.key))["plots"]
    assert [(line.name, len(line.points)) for line in crowd.series] == [("Models", 12), (chosen.name, 1)]
    assert leaderboard.CHARTS not in leaderboard.page(snapshot(sized[0]), Query())["views"], "one size is no chart"


def test_no_results_at_all() -> None:
    kinds, _ = table.merged([BoardRun("truebench", Board("overall", COLUMNS, ()), ())])
    assert boards.boards(Snapshot((), kinds)) == ()


def test_a_model_is_held_against_the_field_and_has_a_page_of_its_own() -> None:
    """Four models of one overall score: what departs in Safety (50, 50, 50 and 90 %) is 40 points, in percent."""
    safety = {name: Score({"a": 0.1, "d": 0.9}.get(name, 0.5), 40) for name in "abcd"}
    elsewhere = entry("d", 0.25, setting="t", facts={"Judge": "openai:o3"}, key="other")
    now = snapshot(*(entry(name, 0.5, safety=score) for name, score in safety.items()), elsewhere)
    text = text_of(page(now, tab="model", model="d"))
    assert "Pass rate in %: 50.0 (40.4 to 59.6) over 100 tasks, rank 1–4 of 4" in text
    assert "Better than its score suggests Safety 90 % (+53)" in text
    assert "Worse than its score suggests Safety 10 % (-53)" in text_of(page(now, tab="model", model="a"))
    assert "Its other results TRUEBench v0.6.1 · judged by o3 · 100 tasks 25.0" in text
    assert "This result came without verdicts on single criteria." in text
    assert "Its judge has a balanced accuracy of 59.0 % (no interval) of RubricEval paper, Table 9, hard" in text
    few = snapshot(*(entry(name, 0.5) for name in "abcd"))
    assert "no column that stands on 30 tasks or more" in page(few, tab="model", model="d")
    two = snapshot(*(entry(name, 0.5) for name in "ab"))
    assert "compared with others where there are at least 3" in page(two, tab="model", model="a")
    assert "On the Hub" in page(snapshot(entry("hf:org/m", 0.5)), tab="model", model="hf:org/m")
    assert "1 task left open" in page(snapshot(entry("m", 0.5, left=1)), tab="model", model="m")


def test_models_of_real_runs_and_hostile_texts_stay_texts(tmp_path: Path) -> None:
    board = board_of(real_runs(tmp_path))
    (group,) = (g for g in boards.boards(board.snapshot)[0].groups if g.what == "demonstration")
    alpha = next(e for e in group.entries if "Alpha" in e.name)
    markup = page(board, tab="model", model=alpha.key)
    assert "<script" not in markup
    pages = site.Pages(board)
    assert ">75.0 %</text>" in pages.badge({"model": alpha.key})
    assert "no result" in pages.badge({"model": "no-such-key"})
    assert str(tmp_path) not in markup + page(board, group=group.id) + pages.csv({"group": group.id})
    assert "not on the board" in page(board, tab="model", model="no-such-key")
    paper = next(e for e in board.snapshot.entries if e.name == "o1")
    assert "are not published" in page(board, tab="model", model=paper.key)


def test_a_story_is_what_the_judgments_say() -> None:
    texts = [("1", "A", ["no", "yes"]), ("2", "A", ["no", "no"]), ("3", "B", ["no", None]), ("4", "A", ["no", "yes"])]
    run = {}
    for name, category, labels in texts:
        verdicts = tuple(Verdict(Criterion(f"c{n}", "Format"), label, "r", "j") for n, label in enumerate(labels))
        instance = Instance(name, "EN", category, "", (Turn("ask", tuple(v.criterion for v in verdicts)),))
        response = Response(name, "m", (Message("user", "ask"), Message("assistant", "answer")))
        run[name] = ExplorerItem.of(Judged(instance, response, (verdicts,)))
    story = items.story(run)
    assert (story.decided, story.missed) == ({"Format": 7}, {"Format": 5})
    assert story.most == {"Format": (("c0", 4), ("c1", 1))}
    assert [item.name for item, *_ in story.examples] == ["1", "3", "2"], "of each category first"
