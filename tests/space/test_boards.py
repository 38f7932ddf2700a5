"""Boards of every kind, held against figures made by hand: places, words, papers' tables, and benchmarks unknown here."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.space.made import board_of, entry, page
from tests.space.sample_runs import SCRIPT, many_runs
from tests.support import facts
from tests.support.corpus import each_row
from truebench_hf.benchmarks.facts.run import FactsOptions, FactsRun
from truebench_hf.comparing import papers, table
from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import Kind
from truebench_hf.data.records import read_outcomes
from truebench_hf.metrics.intervals import wilson
from truebench_hf.report.table import paper_table
from truebench_hf.space.board import explorer
from truebench_hf.space.board.items import RecentItems
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.pages import Query
from truebench_hf.study import ranking as study
from truebench_hf.text import anonymous
from truebench_hf.types import Score

PUBLISHED = papers.PAPERS["truebench"].published()
(KIND,), PAPER = table.merged([PUBLISHED])


def test_published_models_are_the_papers() -> None:
    found = {entry.name: entry for entry in PAPER}
    assert len(found) == 32
    o1 = found["o1"]
    numbers = [o1.scores[name].n for name in ("category:Safety", "language:EN")]
    assert (o1.overall.value, o1.overall.n, numbers) == (0.6907, 1329, [79, 403])
    assert o1.overall.ci95 == pytest.approx((0.6654, 0.7150), abs=0.0001)  # Wilson for 918 of 1329
    assert found["Llama4-Maverick"].misprints == {"language:EN"}
    assert all({"Weights", "Licence"} <= entry.facts.keys() for entry in found.values())
    assert set(found) == {row["Model"] for row in paper_table("truebench", "truebench_table5_category")["rows"]}


def test_table_6_repeats_table_5() -> None:
    both = [{row["Model"]: row["Overall"] for row in paper_table("truebench", name)["rows"]} for name in (
        "truebench_table5_category", "truebench_table6_language")]  # fmt: skip
    assert both[0] == both[1]


@each_row(__file__, "cases", "specs")
def test_specs_are_shown_without_folders(spec: str, expected: str) -> None:
    assert anonymous.name(spec) == expected


def test_reasons_are_scrubbed_and_plain_ones_stay() -> None:
    secret = {
        "gave up: http://10.1.2.3:8000/v1 answered 500": "10.1.2.3", "no such file: /home/me/secret/model.bin": "secret",
        "key hf_abcdefghijklmnop refused": "hf_abc", "cannot reach 192.168.0.7:8000": "192.168", r"C:\Users\me\model": "Users",
    }  # fmt: skip
    assert [text for text, hidden in secret.items() if hidden in anonymous.text(text)] == []
    plain = "criteria_2 has no label; 3/4 of and/or 12/11/2025, see e.g. TCP/IP"
    assert anonymous.text(plain) == plain


_A = {str(i): i < 80 for i in range(100)}
_B = _A | {"0": False, "99": True}
_C = {str(i): i < 40 for i in range(100)}
_OPEN = replace(entry("B", 0.9), overall=Score(0.9, 80, 20, wilson(72, 80)))
_TWO = [entry("A", 1.0, n=2), entry("B", 0.0, n=2)]
# Entries, who passed what where it is known, the places, and why.
RANKS: list[tuple[list[BoardEntry], dict[str, Any], dict[str, tuple[int | None, int | None]], str]] = [
    ([entry("A", 0.8), entry("B", 0.8), entry("C", 0.4)], {"A": _A, "B": _B, "C": _C},
     {"A": (1, 2), "B": (1, 2), "C": (3, 3)}, "A and B differ on 1 of 100 each way; C fails 40 that A passes"),
    (_TWO, {}, {"A": (1, 2), "B": (1, 2)}, "few instances rank nobody"),
    (_TWO, {"A": {"1": True, "2": True}, "B": {"1": False, "2": False}}, {"A": (1, 2), "B": (1, 2)}, "nor in pairs"),
    ([entry("A", 0.8), entry("B", 0.79), entry("C", 0.2)], {}, {"A": (1, 2), "B": (1, 2), "C": (3, 3)}, "by shares alone"),
    ([entry("A", 0.9), entry("B", 0.1, setting="other"), entry("C", None)], {},
     {"A": (1, 1), "B": (1, 1), "C": (None, None)}, "other data is never ranked together"),
    ([entry("A", None), entry("B", 0.0)], {}, {"A": (None, None), "B": (1, 1)}, "no score takes no rank"),
    ([entry("A", 0.5), _OPEN, entry("C", 0.1)], {}, {"A": (1, 1), "B": (None, None), "C": (2, 2)}, "much was left open"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "outcomes", "places"), [row[:3] for row in RANKS], ids=[row[3] for row in RANKS])
def test_places(entries: list[BoardEntry], outcomes: dict[str, Any], places: dict[str, Any]) -> None:
    ranked = table.paired(entries, outcomes)
    assert {entry.key: (entry.rank, entry.last) for entry in ranked} == places
    if not outcomes:
        assert {entry.key: (entry.rank, entry.last) for entry in table.by_score(entries)} == places


def test_outcomes_are_read_from_the_head_of_a_line(tmp_path: Path) -> None:
    file = tmp_path / "judgments.jsonl"
    rows = [
        {"id": 'a"b', "model": 'x "passed": true,', "passed": None, "messages": []},
        {"id": "c", "model": "m", "passed": True, "messages": [{"content": '"passed": false,'}]},
        {"passed": False, "id": "d"},  # another order of fields: read whole
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    told = {'x "passed": true,': {'a"b': None}, "m": {"c": True}, "": {"d": False}}
    assert read_outcomes(file) == told


def test_order_keeps_together_what_was_ranked_together() -> None:
    found = [
        replace(entry(name, value, setting=setting), source=source)
        for name, value, setting, source in (
            ("alone", 0.9, "a", "measured"), ("second", 0.2, "b", "measured"), ("first", 0.3, "b", "measured"),
            ("paper", 0.99, "p", "paper"), ("sent", 0.95, "s", "submitted"), ("none", None, "b", "measured"),
        )
    ]  # fmt: skip
    ranked = table.by_score(found)
    # The larger group first, though another holds a better score; then what was submitted; the paper last.
    assert [e.key for e in table.by_rank(ranked)] == ["first", "second", "none", "alone", "sent", "paper"]


def test_csv_has_every_column_and_no_formulas() -> None:
    row = _row(KIND, entry("x", 0.5, facts={"Licence": "=1+1"}, rank=1, last=2))
    assert (row["Licence"], row["Overall"], row["Rank"], row["Last rank"]) == ("'=1+1", "50.0", "1", "2")
    assert set(KIND.scores) <= set(row)


def _written(folder: Path, board: study.Board, kind: str = "haiku", **more: Any) -> Path:
    """What the study of a small benchmark leaves behind."""
    folder.mkdir(parents=True)
    info = {"kind": kind, "format": 1, "settings": {}, "board": board.as_json(), **more}
    (folder / "run.json").write_text(json.dumps(info))
    return folder


def _haiku(errors: dict[str, float], **more: Any) -> study.Board:
    columns = (
        study.BoardColumn("errors", "Syllables off", percent=False),
        study.BoardColumn("season", "Season word"),
        study.BoardColumn("spring", "Spring", "Seasons"),
        study.BoardColumn("autumn", "Autumn", "Seasons"),
    )
    rows = tuple(
        study.BoardRow(
            model, "all", {"errors": Score(v, 40, 1, (v - 0.2, v + 0.2)), "spring": Score(v, 20)}, {"Poet": "me"}
        )
        for model, v in errors.items()
    )
    return study.Board("errors", columns, rows, "ascending", **more)


def _kind(board: BoardStore, name: str) -> Kind:
    (found,) = (kind for kind in board.snapshot.kinds if kind.name == name)
    return found


def _row(kind: Kind, entry: BoardEntry) -> dict[str, str]:
    """A line as its CSV has it."""
    (row,) = csv.DictReader(io.StringIO(table.to_csv(kind, [entry])))
    return row


def test_a_benchmark_nobody_here_knows_has_a_board(tmp_path: Path) -> None:
    _written(tmp_path / "haiku", _haiku({"m1": 2.0, "m2": 1.0, "m3": 1.1}))
    _written(tmp_path / "titled", _haiku({"m2": 1.0}, title=f"Haiku {SCRIPT}", unit="Syllables"), kind="other")
    board = board_of(tmp_path)
    assert [kind.name for kind in board.snapshot.kinds if kind.name != JUDGES] == [
        "truebench",
        "facts",
        "haiku",
        "other",
    ]
    kind, other = _kind(board, "haiku"), _kind(board, "other")
    assert (kind.title, kind.unit) == ("haiku", "Syllables off")
    assert (other.title, other.unit) == (f"Haiku {SCRIPT}", "Syllables")
    assert [column.title for column in kind.groups["Seasons"]] == ["Spring", "Autumn"]
    found = table.by_rank(board.snapshot.of(kind))
    assert [(e.name, e.rank, e.last) for e in found] == [("m2", 1, 2), ("m3", 1, 2), ("m1", 3, 3)], (
        "the fewest errors first"
    )
    assert table.to_csv(kind, found).splitlines()[:2] == [
        "Rank,Last rank,Model,Syllables off,Low 95,High 95,Results,n,Unscored,Poet,Season word,Spring,Autumn",
        "1,2,m2,1.0,0.8,1.2,measured,40,1,me,,100.0,",
    ]


def test_a_page_offers_the_boards_that_have_come_in(tmp_path: Path) -> None:
    many_runs(tmp_path / "runs", 1, 20)
    board = board_of(tmp_path)
    offered = [f'href="?tab=leaderboard&amp;board={name}"' for name in ("truebench", "facts", "metaeval", "haiku")]
    assert [address in page(board) for address in offered] == [True, True, True, False]
    _written(tmp_path / "runs" / "haiku", _haiku({"m1": 2.0, SCRIPT: 1.0}))
    board.refresh()
    assert offered[-1] in page(board)
    markup = page(board, board="haiku")
    assert markup.index("&lt;script&gt;window.broken = 1&lt;/script&gt;</a>") < markup.index(">m1</a>"), "fewest first"
    assert "Syllables off</button>" in markup


def test_runs_of_a_kind_share_a_table_and_a_row_of_any_of_them_is_found(tmp_path: Path) -> None:
    _written(tmp_path / "a", _haiku({"m1": 2.0}))
    more = study.Board("x", (study.BoardColumn("x", "X"), study.BoardColumn("errors", "Errors")), (
        study.BoardRow("m2", "all", {"errors": Score(1.0, 40, 0, (0.9, 1.1)), "x": Score(9.0, 1)}, {"Poet": "you", "Rank": "1"}),
    ))  # fmt: skip
    _written(tmp_path / "b", more)
    board = board_of(tmp_path)
    kind = _kind(board, "haiku")
    assert (kind.main, list(kind.scores)[-1]) == ("Syllables off", "X"), "the first run of a kind says what is ranked"
    assert kind.facts == ("Poet",), "no fact takes the place of a column of ours"
    ranks = {e.name: (e.overall.value, e.rank) for e in board.snapshot.of(kind)}
    assert ranks == {"m1": (2.0, 2), "m2": (1.0, 1)}


@pytest.mark.parametrize(
    ("titles", "headers"),
    [
        (("A", "A"), ["A", "A (G)"]),
        (("Rank", "Model"), ["Rank (score)", "Model (G)"]),
        (("n", "Poet"), ["n (score)", "Poet (G)"]),
    ],
)
def test_no_two_headers_read_the_same(titles: tuple[str, str], headers: list[str]) -> None:
    columns = (study.BoardColumn("a", titles[0]), study.BoardColumn("b", titles[1], "G"))
    assert list(Kind("k", columns, ("Poet",)).scores) == headers


def test_what_facts_run_writes_is_what_board_and_explorer_show(tmp_path: Path) -> None:
    judges = (facts.oracle(tmp_path / "one.json"), facts.oracle(tmp_path / "two.json", severe=False))
    answers = facts.log(tmp_path / "log.jsonl", ["ungrounded", "evasive"], model="openai:gpt-x")
    out = str(tmp_path / "runs" / "x")
    FactsRun(FactsOptions(data="facts_mini", answers=answers, judge=judges, template=("response",), out=out)).run()
    board = board_of(tmp_path / "runs")
    (line,) = (e for e in board.snapshot.entries if e.kind == "facts" and e.source == "measured")
    row = _row(_kind(board, "facts"), line)
    assert [row[name] for name in ("Rank", "Model", "Final", "n")] == ["1", "openai:gpt-x", "50.0", "24"]
    passed = explorer.select(RecentItems().of(line), Query(category="finance", outcome="passed"))
    assert [item.name for item in passed] == ["facts-mini-01#2", "facts-mini-02#2", "facts-mini-03#2"]
    markup = page(board, tab="explorer", run=line.key, outcome="failed")
    assert "<b>12 of 24</b>, failures first" in markup
    assert "Harlow Valley Credit Union" in markup, "the document is beside the answer"
    assert "grounded in its prompt (scripted:one.json, response)" in markup
    assert str(tmp_path) not in markup


def test_the_papers_judges_are_all_there_and_tell_no_more_than_the_paper() -> None:
    board = BoardStore()
    kind = _kind(board, papers.JUDGES)
    found = table.by_rank(board.snapshot.of(kind))
    by_table = {n: [e for e in found if f"Table {n}" in e.facts["Data"]] for n in (2, 3, 9, 4)}
    assert [len(entries) for entries in by_table.values()] == [22, 8, 16, 4]
    for line in found:
        assert [_row(kind, line)[name] for name in ("Rank", "Low 95", "High 95")] == ["", "", ""]
        assert (line.overall.value is None) == (line in by_table[4])
    gpt = next(e for e in by_table[3] if e.name == "GPT-4.1" and e.facts["Paradigm"] == "rubric, reasoning")
    row = _row(kind, gpt)
    printed = [row[name] for name in ("Overall", "Constrained", "Multi-turn", "n")]
    assert printed == ["82.17", "82.9", "83.5", ""]
    qwen = next(e for e in by_table[4] if e.name == "Qwen3-235B")
    assert [_row(kind, qwen)[name] for name in ("Accuracy", "Content", "Role Persona")] == ["", "76.9", "71.1"]
    values = [e.overall.value for e in by_table[2] if e.facts["Data"].endswith("hard")]
    assert values == sorted(values, key=lambda value: -(value or 0)), "best first"
    assert len(kind.groups["Rubric types"]) == 13


def test_the_papers_table_of_facts_is_there_and_marked_as_the_papers() -> None:
    board = BoardStore()
    kind = _kind(board, "facts")
    found = table.by_rank(board.snapshot.of(kind))
    assert [e.name for e in found][:2] == ["Gemini 2.0 Flash Experimental", "Gemini 1.5 Flash"]
    first = found[0]
    assert {e.source for e in found} == {"paper"}
    row = _row(kind, first)
    assert [float(row[name]) for name in ("Final", "Low 95", "High 95")] == pytest.approx([83.6, 81.8, 85.4])
    assert [row[name] for name in ("Unadjusted", "n", "GPT-4o, blind")] == ["85.6", "1719", "77.2"]
