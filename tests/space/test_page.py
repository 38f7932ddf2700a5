"""What a board shows of results: boards and groups, words, cells, models told of, charts; held against figures made by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.space.sample_runs import SCRIPT, real_runs
from truebench_hf.comparing import papers, table
from truebench_hf.comparing.runs import BoardEntry, BoardRun
from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import wilson
from truebench_hf.space import serving
from truebench_hf.space.board import boards, items, opened, page, words
from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.items import RecentItems
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.tabs import LeaderboardTab
from truebench_hf.study.ranking import BoardColumn
from truebench_hf.types import Score

COLUMNS = (BoardColumn("overall", "Overall"), BoardColumn("category:Safety", "Safety", "Categories"))


def _entry(name: str, value: float | None, **more: Any) -> BoardEntry:
    facts = {"Judge": "openai:gpt-4.1 (checklist)", "Data": "/x/TRUEBench-v0.6.1.jsonl"} | more.pop("facts", {})
    n, left = more.pop("n", 100), more.pop("left", 0)
    score = Score(value, n, left, None if value is None else wilson(round(value * n), n))
    scores = {"overall": score, "category:Safety": more.pop("safety", Score(0.5, 12, 0, wilson(6, 12)))}
    made = BoardEntry(
        name, "truebench", name, more.pop("source", "measured"), more.pop("setting", "s"), score, scores, facts
    )
    return replace(made, **more)


def _snapshot(*entries: BoardEntry) -> Snapshot:
    runs = [BoardRun("truebench", "overall", False, COLUMNS, tuple(entries)), papers.PAPERS["metaeval"].published()]
    kinds, found = table.merged(runs)
    return Snapshot(table.by_score(found), kinds, True, 0.0)


@pytest.mark.parametrize(
    ("said", "reads", "how"),
    [
        ("openai:gpt-4o", "gpt-4o", words.model),
        ("vllm:Qwen/Qwen3-8B", "Qwen3-8B", words.model),
        ("scripted:rules.json", "rules", words.model),
        ("Claude-3.5-Sonnet (2024-10-22)", "Claude-3.5-Sonnet (2024-10-22)", words.model),
        (SCRIPT, SCRIPT, words.model),
        ("", "", words.model),
        ("openai:o3 (checklist, 5 votes)", "o3", words.judge),
        ("openai:o3 (response) + hf:a/b (json)", "o3 + b", words.judge),
        ("TRUEBench-v0.6.1.jsonl", "v0.6.1", words.data),
        ("truebench, KO, sample of 20", "v0.6.1, Korean, sample of 20", words.data),
        ("mini", "built-in sample", words.data),
        ("1", "1 task", lambda said: words.counted(int(said), "task")),
        ("2485", "2,485 tasks", lambda said: words.counted(int(said), "task")),
        ("my tasks.csv", "my tasks", words.data),
        ("TRUEBench paper, 1,329 instances", "TRUEBench paper, 1,329 instances", words.data),
        ("KO", "Korean", words.column),
        ("Safety", "Safety", words.column),
    ],
)
def test_words(said: str, reads: str, how: Any) -> None:
    assert how(said) == reads


def test_boards_and_groups_in_the_order_of_the_page() -> None:
    sample = {"Data": "truebench, sample of 20"}
    now = _snapshot(
        _entry("a", 0.5), _entry("b", 0.9), _entry("alone", 0.9, setting="t"), _entry("sent", 0.9, source="submitted"),
        _entry("part", 0.9, setting="p", facts=sample), _entry("scripted:x.json", 0.9, setting="d"),
        _entry("mini", 0.9, setting="m", facts={"Data": "mini"}), _entry("mine", 0.9, setting="o", facts={"Data": "own.csv"}),
        _entry("X", 0.9, setting="i", facts={"Instruction": "Refunds"}), _entry("o1", 0.6, source="paper", setting="q"),
    )  # fmt: skip
    found = {one.title: one for one in boards.boards(now)}
    assert list(found) == ["Own data", "TRUEBench", "Refunds", "Judges"]
    groups = [(g.what, [e.name for e in g.entries]) for g in found["TRUEBench"].groups]
    assert groups == [
        ("measured", ["b", "a"]), ("measured", ["alone"]), ("partial", ["part"]), ("submitted", ["sent"]),
        ("demonstration", ["scripted:x.json"]), ("demonstration", ["mini"]), ("paper", ["o1"]),
    ]  # fmt: skip
    first = found["TRUEBench"].groups[0]
    assert boards.heading(first) == "v0.6.1 · judge gpt-4.1 (checklist) · 100 tasks"
    trust = boards.judge_trust(now, first)
    assert trust is not None
    assert (trust.score.value, trust.where) == (0.5903, "RubricEval paper, Table 9, hard")
    assert found["TRUEBench"].group("no such group") is first
    assert boards.judge_trust(now, found["Judges"].groups[0]) is None


LEADS = [
    # the spans of places of four models, the sentence, why
    ((1, 1), (2, 3), (2, 3), (4, 4), "A leads; B and C cannot be told apart behind.", "one surely first"),
    ((1, 2), (1, 2), (3, 4), (3, 4), "A and B cannot be told apart at the top.", "two could be first"),
    ((1, 1), (2, 2), (3, 3), (4, 4), "A leads.", "all are told apart"),
    ((1, 4), (1, 4), (1, 4), (1, 4), "A, B, C and D cannot be told apart at the top.", "none is told apart"),
    (None, None, None, None, "", "nothing is ranked"),
]


@pytest.mark.parametrize(("spans", "sentence"), [(row[:4], row[4]) for row in LEADS], ids=[row[5] for row in LEADS])
def test_one_sentence_says_who_leads(spans: Sequence[tuple[int, int] | None], sentence: str) -> None:
    entries = [
        replace(_entry(name, 0.5), rank=span and span[0], last=span and span[1])
        for name, span in zip("ABCD", spans, strict=True)
    ]
    assert boards.lead(boards.BoardGroup("id", "measured", tuple(entries))) == sentence


def _judge(score: float, paradigm: str) -> BoardEntry:
    entry = _entry("gpt-4.1", score, setting=paradigm, facts={"Paradigm": paradigm, "Data": "labels"})
    return replace(entry, kind="metaeval")


def test_trust_in_the_judge_is_of_the_way_it_was_asked() -> None:
    judges = _judge(0.9, "checklist, no reasoning"), _judge(0.52, "checklist, reasoning")
    now = _snapshot(_entry("a", 0.5), *judges)
    group = boards.boards(now)[0].groups[0]
    trust = boards.judge_trust(now, group)
    assert trust is not None
    assert (trust.score.value, trust.how, trust.same_way) == (0.52, "checklist, reasoning", True)
    assert trust.is_chance, "the interval holds 50 %"
    shown = page.page(now, Asked())
    (fact,) = (fact for fact in shown.facts if fact.trust)
    assert (fact.number, fact.warns) == ("52.0 %", True)
    assert fact.after == (
        "(42.3 to 61.5) on 100 rubrics of labels, asked by checklist, reasoning: no better than guessing, which gets 50"
    )


def test_a_sample_is_ranked_among_its_own_and_the_title_names_it() -> None:
    sample = {"Data": "support.jsonl, sample of 600"}
    now = _snapshot(*(_entry(name, score, setting="s", facts=sample) for name, score in (("a", 0.9), ("b", 0.3))))
    shown = page.page(now, Asked())
    assert [(row.name, row.rank) for row in shown.table.rows] == [("a", "1"), ("b", "2")]
    assert boards.title(now) == "2 models on support, sample of 600"


def test_an_opened_model_is_held_against_the_field() -> None:
    """Four models of one overall score: what departs in Safety (50, 50, 50 and 90 %) is 40 points, in percent."""
    safety = {name: Score(0.9 if name == "d" else 0.5, 40) for name in "abcd"}
    now = _snapshot(*(_entry(name, 0.5, safety=score) for name, score in safety.items()))
    _, board, group = page.found(now, Asked())
    assert group is not None
    entry = next(e for e in group.entries if e.name == "d")
    told = opened.opened(board.kind, group, entry, None)
    assert told.against == (("Better than its score suggests", (("Safety", "90 % (+40)"),)),)


def test_results_as_json() -> None:
    now = _snapshot(_entry("a", 0.9), _entry("b", 0.3), _entry("o1", 0.6, source="paper", setting="q"))
    content = serving.board_json(now, Asked())
    assert json.dumps(content, allow_nan=False)
    assert [(row["name"], row["rank"]) for row in content["rows"]] == [("a", 1), ("b", 2)]
    assert content["lead"] == "a leads."
    address = content["boards"][-1]["address"].removeprefix("?")
    query = dict(pair.split("=") for pair in address.split("&"))
    assert serving.board_json(now, Asked.of(query))["board"] == content["boards"][-1]["board"]


def _cells(*entries: BoardEntry, view: str = "") -> list[page.PageRow]:
    return list(page.page(_snapshot(*entries), Asked(view=view)).table.rows)


def test_cells_say_what_stands_behind_them() -> None:
    rows = {row.key: row for row in _cells(
        _entry("whole", 0.8), _entry("few", 0.5, safety=Score(None, 0, 4)), _entry("open", 0.9, n=60, left=40),
    )}  # fmt: skip
    assert rows["whole"].cells[0] == page.Cell(
        "50", 50.0, "Safety: 50.0, 12 decided, 95 %: 25.4 to 74.6, +0.0 points against the mean of the column", 0, True
    )
    assert rows["few"].cells[0] == page.Cell("–", None, "4 left open, none decided")
    assert rows["open"].cells[1] == page.Cell("60 %", 0.6, "40 left open")
    assert (rows["open"].rank, rows["open"].rank_why) == ("–", "not ranked: 40 % of it was left open")
    assert list(rows) == ["whole", "few", "open"], "what has no rank comes last"
    bar = rows["whole"].bar
    assert (bar.text, bar.width, bar.low, bar.high) == ("80.0", 66.7, 51.9, 77.8), "on an axis from 40 to 100"
    (part,) = _cells(_entry("part", 0.5, facts={"Data": "truebench, sample of 9"}))
    assert (part.rank, part.rank_why) == ("–", "the only result of its kind: nothing to rank it among")
    _, paper = _cells(_entry("o1", 0.6, source="paper"), _entry("o2", 0.5, source="paper", safety=Score(None, 0)))
    assert paper.cells[0].why == "not published"


def test_two_lines_of_one_name_are_told_apart() -> None:
    rows = _cells(_entry("openai:m", 0.5), _entry("hf:org/m", 0.4), _entry("n", 0.3))
    assert [(row.name, row.also) for row in rows] == [("m", "openai:m"), ("m", "hf:org/m"), ("n", "")]


def test_figures_that_are_no_shares_fill_the_scale_that_they_need() -> None:
    columns = (BoardColumn("errors", "Errors", percent=False),)
    lines = [
        BoardEntry(n, "haiku", n, "measured", "s", s, {"errors": s}, ascending=True)
        for n, s in (("a", Score(1.0, 40, 0, (0.5, 1.5))), ("b", Score(3.0, 40, 0, (2.0, 4.0))))
    ]
    kinds, found = table.merged([BoardRun("haiku", "errors", True, columns, tuple(lines))])
    rows = page.page(Snapshot(table.by_score(found), kinds, True, 0.0), Asked()).table.rows
    assert [(row.name, row.rank, row.bar.width) for row in rows] == [("a", "1", 25.0), ("b", "2", 75.0)]


def test_a_story_is_what_the_judgments_say(tmp_path: Path) -> None:
    file = tmp_path / "judgments.jsonl"
    texts = [
        ("1", "EN", "A", ["no", "yes"]),
        ("2", "KO", "A", ["no", "no"]),
        ("3", "DE", "B", ["no", None]),
        ("4", "DE", "A", ["no", "yes"]),
    ]
    undecided = {"probability": None, "votes": [], "conflicting": False}
    rows = [
        {
            "id": i, "language": language, "category": category, "task": "", "model": "m", "judge": "j", "error": None,
            "truncated": [], "reasoning": [""], "usage": {}, "passed": None,
            "messages": [{"role": "user", "content": f"ask {i}"}, {"role": "assistant", "content": "# T\n- **a**\n- b"}],
            "verdicts": [[
                {"criterion": f"c{n}", "kind": "Format", "label": label, "reason": SCRIPT, **undecided}
                for n, label in enumerate(labels)
            ]],
        }
        for i, language, category, labels in texts
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, rows)))
    entry = BoardEntry("k", "truebench", "m", "measured", "s", Score(None, 0), folder=tmp_path)
    found = items.story(RecentItems().of(entry))
    assert (found.decided, found.missed) == ({"Format": 7}, {"Format": 5})
    assert found.most == {"Format": (("c0", 4), ("c1", 1))}
    assert [(e.name, e.category) for e in found.examples] == [("1", "A"), ("2", "A"), ("3", "B")]
    for broken in ("[]", '{"id": 1}', "3", "{", '{"messages": [3], "verdicts": 1}'):
        file.write_text(broken)
        with pytest.raises(UserError, match="cannot be read"):
            RecentItems().of(entry)


def test_models_of_real_runs_are_told_of_and_hostile_texts_stay_texts(tmp_path: Path) -> None:
    board = BoardStore([real_runs(tmp_path)])
    board.refresh()
    ours = LeaderboardTab(board)
    (group,) = (g for g in boards.boards(board.snapshot)[0].groups if g.what == "demonstration")
    asked = Asked(group=group.id)
    alpha = next(e for e in group.entries if "Alpha" in e.name)
    html = ours.model(asked, alpha.key)
    assert "Pass rate in %: 75.0 over 36 tasks" in html
    assert "3 examples" in html
    assert "<script" not in html
    assert str(tmp_path) not in html + ours.html(asked) + ours.csv(asked)
    assert "not on the board" in ours.model(asked, "no-such-key")
    paper = next(e for e in board.snapshot.entries if e.name == "o1")
    published = boards.boards(board.snapshot)[0].published[0]
    assert "are not published" in ours.model(Asked(group=published.id), paper.key)


def test_charts_are_of_one_group_and_names_stay_texts() -> None:
    hostile = f"m {SCRIPT}"
    now = _snapshot(
        _entry(hostile, 0.5, facts={"Size (B)": "7"}), _entry("b", 0.6, facts={"Size (B)": "70"}, safety=Score(0.9, 100)),
        _entry("other", 0.9, setting="t", facts={"Size (B)": "1"}),
    )  # fmt: skip
    (board, *_) = boards.boards(now)
    sizes, spread = page.charts(board.kind, board.groups[0].entries, ["Categories"])
    assert [row.name for row in sizes.groups[0].rows] == [hostile, "b"], "the smallest first"
    (safety,) = spread.groups[0].rows
    assert [(point.name, point.place, point.few) for point in safety.cells[0]] == [  # type: ignore[union-attr]
        ("b", 90.0, False), (hostile, 50.0, True),
    ]  # fmt: skip
    assert safety.cells[1].text == "b 90"  # type: ignore[union-attr]
    (alone,) = page.charts(board.kind, board.groups[0].entries[:1], ["Categories"])
    assert alone.title.startswith("Categories"), "one size is no chart"
    shown = BoardStore()
    shown.snapshot = now
    html = LeaderboardTab(shown).html(Asked(view=page.CHART))
    assert "Score and size" in html
    assert "<script" not in html


def test_of_several_that_are_best_none_is_named_alone() -> None:
    now = _snapshot(*(_entry(name, 0.5, safety=Score(0.9, 100)) for name in "abc"))
    (board, *_) = boards.boards(now)
    (spread,) = page.charts(board.kind, board.groups[0].entries, ["Categories"])
    assert spread.groups[0].rows[0].cells[1].text == "a and 2 more 90"  # type: ignore[union-attr]


def test_no_results_at_all() -> None:
    kinds, _ = table.merged([BoardRun("truebench", "overall", False, COLUMNS, ())])
    assert boards.boards(Snapshot((), kinds, True, 0.0)) == ()
