"""Scores of a run against tables worked out by hand, and the official tables cell by cell."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support import runs
from tests.support.corpus import each_row
from tests.support.runs import ROOT, command_here, write_jsonl
from truebench_hf.benchmarks.truebench import scores as official
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.results import from_official_row, read_run
from truebench_hf.benchmarks.truebench.scores import as_frames, score
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Reader, to_row
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import majority
from truebench_hf.report.sections import percent
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Turn, Usage, Verdict

Y, N, X = "yes", "no", None


def judged(number: int, language: str, category: str, task: str, turns: list[list[Label | None]]) -> Judged:
    """An instance whose turns got these labels."""
    criteria = tuple(tuple(Criterion(f"c{i}") for i in range(len(labels))) for labels in turns)
    asked = tuple(Turn(f"ask {i}", group) for i, group in enumerate(criteria))
    verdicts = tuple(
        tuple(Verdict(c, label, "" if label else f"open {number}") for c, label in zip(group, labels, strict=True))
        for group, labels in zip(criteria, turns, strict=True)
    )
    messages = tuple(m for t in asked for m in (Message("user", t.prompt), Message("assistant", "said")))
    instance = Instance(str(number), language, category, task, asked)
    response = Response(str(number), "model", messages, ("",) * len(turns))
    return Judged(instance, response, verdicts, {"model": Usage(10, 5, 2, 1), "judge": Usage(100, 50, 0, 1)})


ITEMS = [
    judged(1, "KO", "Editing", "Rewrite", [[Y, Y]]),  # passes
    judged(2, "KO", "Editing", "Rewrite", [[Y, N]]),  # fails
    judged(3, "EN", "Editing", "Tone", [[Y, X]]),  # unscored here, a pass by the official rule
    judged(4, "EN", "Translation", "Rewrite", [[X]]),  # unscored here, a fail by the official rule
    judged(5, "EN", "Multi-Turn", "Rewrite", [[Y], [Y, Y]]),  # passes
    judged(6, "DE", "Multi-Turn", "Rewrite", [[N], [X]]),  # fails, whatever the open one is
    judged(7, "DE", "Translation", "Rewrite", [[N]]),  # fails
]


def row_of(value: Score | dict[str, Any]) -> tuple[float | None, int, int]:
    """(value rounded, n, unscored)."""
    assert isinstance(value, Score)
    return None if value.value is None else round(value.value, 3), value.n, value.unscored


@each_row(__file__, "truebench_scores", "headlines")
def test_headline_scores(name: str, expected: list[Any]) -> None:
    found = score(ITEMS).scores[name]
    assert isinstance(found, Score)
    assert list(row_of(found)) == expected
    if name.startswith("soft") or name == "drfr":
        assert found.ci95 is None, "fewer than ten instances tell nothing of others"
        return
    assert found.ci95 is not None
    assert 0 <= found.ci95[0] <= (found.value or 0) <= found.ci95[1] <= 1


@each_row(__file__, "truebench_scores", "groups")
def test_groups(name: str, expected: dict[str, Any]) -> None:
    group = score(ITEMS).scores[name]
    assert isinstance(group, dict)
    assert {key: list(row_of(value)) for key, value in group.items()} == expected
    assert list(group) == list(expected), "official order first, then by alphabet"


def test_unscored_instances_are_listed_with_their_reasons() -> None:
    report = score(ITEMS)
    assert report.unscored == {"3": "open 3", "4": "open 4"}
    assert any("official pass rule gives 42.86 % where ours gives 40.00, +2.86 points" in note for note in report.notes)
    bounds = "Had all that is open been no, the pass rate would be 28.57 %; had it been yes, 57.14 %."
    assert bounds in report.notes, "of seven two pass, and two are open"
    assert score(ITEMS[:2]).notes == (), "nothing to say where both rules agree and nothing is open"
    undecided = [item for item in ITEMS if item.instance.id in report.unscored]
    (nothing,) = score(undecided).notes
    assert nothing.startswith("Nothing was scored: "), "neither bounds from 0 to 100 nor an official rate"


def cells(table: official.Cells) -> dict[str, Any]:
    header, (first, *_) = table[0], table[1:]
    return dict(zip(map(str, header), first, strict=True))


def tables(field: str, items: Sequence[Judged] = ITEMS) -> list[dict[str, Any]]:
    """The row of a model by column: ours, and the official one."""
    frames = [("m", as_frames(items))]
    return [cells(official.pass_rate_table(frames, field, by_official_rule)) for by_official_rule in (False, True)]


def test_both_tables_ours_and_official() -> None:
    ours, theirs = tables("category")
    singles = [name for name in CATEGORIES if name != "Multi-Turn"]
    assert list(theirs) == ["Model Name", "Overall", *singles, "Single-Turn", "Multi-Turn"]
    assert {name: (ours[name], theirs[name]) for name in ("Overall", "Editing", "Safety", "Single-Turn", "Multi-Turn")} == {
        "Overall": (40.0, 42.86), "Editing": (50.0, 66.67), "Single-Turn": (33.33, 40.0), "Multi-Turn": (50.0, 50.0),
        "Safety": ("", 0),  # blank where there is no row; officially 0
    }  # fmt: skip
    ours, theirs = tables("language")
    assert list(ours) == ["Model Name", "Overall", *LANGUAGES]
    assert [(table["EN"], table["VI"]) for table in (ours, theirs)] == [(100.0, ""), (66.67, 0)]


def test_unknown_names_neither_crash_nor_vanish() -> None:
    items = [*ITEMS, judged(8, "TLH", "Poetry", "Haiku", [[Y]])]
    ours, theirs = tables("category", items)
    assert list(ours).index("Poetry") > list(ours).index("Translation")
    assert (ours["Poetry"], tables("language", items)[0]["TLH"]) == (100.0, 100.0)
    assert "Poetry" not in theirs, "officially left out"
    by_language = score(items).scores["by_language"]
    assert isinstance(by_language, dict)
    assert list(by_language) == ["KO", "EN", "DE", "TLH"]
    called_overall = [*ITEMS, judged(8, "EN", "Overall", "Own", [[N]])]
    header, row = official.pass_rate_table([("m", as_frames(called_overall))], "category", False)
    assert [cell for name, cell in zip(header, row, strict=True) if name == "Overall"] == [33.33, 0.0]


@pytest.mark.parametrize(("passed", "total", "shown"), [(102, 320, "31.87"), (26, 320, "8.12"), (320, 320, "100.00")])
def test_tables_and_report_round_alike(passed: int, total: int, shown: str) -> None:
    items = [judged(i, "KO", "Editing", "x", [[Y if i < passed else N]]) for i in range(total)]
    assert f"{tables('category', items)[1]['Overall']:.2f}" == shown
    report = score(items)
    for name in ("overall", "official"):
        found = report.scores[name]
        assert isinstance(found, Score)
        assert percent(found.value) == shown


def test_usage_table_and_several_models() -> None:
    table = official.usage_table([("m", as_frames(ITEMS[:2])), ("n", as_frames(ITEMS[:1]))])
    assert table[1] == ["m", 20, 4, 6, 30, 200, 0, 100, 300, 330], "the answer's tokens exclude its thinking"
    assert [len(row) for row in table] == [10, 10, 10]


OFFICIAL: dict[str, Any] = {
    "index": 1, "language": "KO", "category": "Editing", "sub_category": "x", "turns": 1, "input": ["ask"],
    "criteria": [["a", "b"]], "response": ["said"], "judge_parsed": [{"result": True, "labels": [True, False]}],
    "inference_input_tokens": [3], "inference_think_tokens": [None], "inference_response_tokens": [4],
}  # fmt: skip


@each_row(__file__, "truebench_scores", "official")
def test_official_labels(parsed: list[Any], labels: list[Label | None], official_rule: bool, reason: str) -> None:
    """By position, and no label where their number fits no criteria; the official rule counts what stands there."""
    row = OFFICIAL | {"judge_parsed": parsed}
    item = from_official_row(row, "here", "m")
    assert [[verdict.label for verdict in turn] for turn in item.verdicts] == [labels]
    assert item.usage["model"] == Usage(3, 4, 0, 1)
    assert item.passed_officially is official_rule
    assert score([item]).unscored == ({"1": f"the official file {reason}"} if reason else {})
    for recorded in (True, False):
        assert from_official_row(row | {"pass": recorded}, "here", "m").passed_officially is recorded


@each_row(__file__, "truebench_scores", "malformed")
def test_a_malformed_official_row_is_named(change: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="here: "):
        from_official_row(OFFICIAL | change, "here", "m")


@each_row(__file__, "truebench_scores", "files")
def test_a_file_that_cannot_be_scored_is_named(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "judgments.jsonl"
    path.write_text(content, encoding="latin-1")
    for given in (path, tmp_path):
        with pytest.raises(UserError, match=words):
            read_run(given)
    with pytest.raises(UserError, match="cannot be read"):
        read_run(tmp_path / "nowhere")


@pytest.mark.parametrize("protocol", ["default", "official"])
def test_score_exits_like_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], protocol: str) -> None:
    for items, flags, code, reason in (
        (ITEMS, [], 3, "two instances are unscored, as after a run"),
        (ITEMS, ["--allow-unscored"], 0, "which may be allowed"),
        ([ITEMS[0], ITEMS[1], ITEMS[5]], [], 0, "a fail settles what is open beside it"),
    ):
        file = write_jsonl(tmp_path / "rows.jsonl", [to_row(item, "j") for item in items])
        done = command_here(capsys, "study", "score", file, "--protocol", protocol, *flags)
        assert done.returncode == code, reason
        assert "Editing" in done.stdout, "the tables are printed all the same"


def test_votes_have_a_flip_rate_and_a_share_each() -> None:
    once = judged(1, "EN", "Editing", "Rewrite", [[Y, Y, X]])
    assert not {"flip_rate", "vote_share"} & set(score([once]).scores)
    votes: list[list[Label | None]] = [[Y, Y, N], [Y, Y, Y], [X, X, X]]
    (criteria,) = [[verdict.criterion for verdict in turn] for turn in once.verdicts]
    verdicts = [majority([Verdict(c, label) for label in cast]) for c, cast in zip(criteria, votes, strict=True)]
    item = replace(once, verdicts=(tuple(verdicts),))
    assert score([item]).scores["flip_rate"] == Score(0.5, 2, 1)
    share = score([item]).scores["vote_share"]
    assert isinstance(share, Score)
    assert row_of(share) == (round((2 / 3 + 1) / 2, 3), 2, 1)
    row = to_row(item, "judge")
    assert [verdict["vote_share"] for verdict in row["verdicts"][0]] == [pytest.approx(2 / 3), 1.0, None]
    Reader().judged(row, "line 1")


# From the official evaluation rows


FOLDER = ROOT.parent / "shared" / "data" / "truebench" / "official_scores"
ROWS = FOLDER / "mock_TRUEBench-v0.6.1_eval_result.jsonl"

official_scores = pytest.mark.skipif(not ROWS.is_file(), reason="the official scores are not at ../shared/data")


def table(name: str) -> list[list[str]]:
    """A reference table."""
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@official_scores
def test_the_command_prints_exactly_these_tables(capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "study", "score", str(ROWS), "--protocol", "official", "--allow-unscored")
    assert done.returncode == 0, done.stderr
    names = ("stats_cat.csv", "stats_lang.csv", "usage.csv")
    expected = "\n".join((FOLDER / name).read_text(encoding="utf-8").replace("\r\n", "\n") for name in names)
    assert done.stdout == expected


def test_tokens_beyond_all_counting_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three such numbers the sum would have more digits than Python prints."""
    told = {"response": ["r"], "judge_parsed": [{"labels": [True]}], "inference_input_tokens": ["9" * 4300] * 3}
    file = write_jsonl(tmp_path / "m.jsonl", [runs.row(1, [("ask", ["is right"])]) | told])
    done = command_here(capsys, "study", "score", file, "--protocol", "official")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("line 1: not a row of an official evaluation file (more than 1e+15 tokens)\n")
