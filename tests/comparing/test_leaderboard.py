"""One ranked table of runs and published results, and the scores of models against other scores of theirs (made up)."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.finished import finished, golden, numbered, table
from tests.support.runs import command_here, write_jsonl
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.comparing import correlate as shown
from truebench_hf.comparing import leaderboard as sections_of
from truebench_hf.comparing.compare import compare
from truebench_hf.comparing.correlate import FAR, correlate, read_scores
from truebench_hf.comparing.leaderboard import GROUP, RANKED_BY, SELF_JUDGED, Leaderboard, leaderboard
from truebench_hf.comparing.table import score_table
from truebench_hf.errors import UserError
from truebench_hf.report.table import paper_rows

OURS = [{"model": f"org/M{n}", "score": 10.0 * n} for n in range(1, 13)]
THEIRS = [{"Model": f"openai:M{n}", "MMLU": 5.0 * n + (n % 2), "Arena": 1300 - n} for n in range(1, 13)]


def test_every_column_against_every_other(tmp_path: Path) -> None:
    ours, theirs = table(tmp_path / "ours.json", OURS), table(tmp_path / "theirs.json", THEIRS)
    correlated = correlate([ours], [theirs])
    assert [(p.column, p.other, len(p.points)) for p in correlated.pairings] == [
        ("score", "MMLU", 12), ("score", "Arena", 12),
    ]  # fmt: skip
    up, down = correlated.pairings
    assert up.agreement["spearman"].value == pytest.approx(1.0)
    assert (down.agreement["kendall"].value, down.line.slope, down.line.r2) == pytest.approx((-1.0, -10.0, 1.0))
    assert up.only == ((), ())
    strangers = correlate([ours], [table(tmp_path / "c.json", [{"model": "stranger", "s": 1}])])
    only = [note for note in shown.notes(strangers) if note.startswith("Only in ")]
    assert (" and 2 more; " in only[0], "c.json: stranger; names are" in only[1]) == (True, True), only


def test_by_hand(tmp_path: Path) -> None:
    # Ranks 1 2 3 4 against 2 1 3 4: rho 1 - 6 x 2 / 60, tau (5 - 1) / 6; line through (1, 2), (2, 1), (3, 3), (4, 4).
    ours = table(tmp_path / "a.json", [{"model": m, "s": y} for m, y in zip("abcd", (2, 1, 3, 4), strict=True)])
    theirs = table(tmp_path / "b.json", [{"model": m, "t": x} for m, x in zip("abcde", (1, 2, 3, 4, 5), strict=True)])
    (one,) = correlate([ours], [theirs]).pairings
    assert (one.agreement["spearman"].value, one.agreement["kendall"].value) == pytest.approx((0.8, 2 / 3))
    assert (one.line.slope, one.line.intercept, one.line.r2) == pytest.approx((0.8, 0.5, 0.64))
    assert list(one.points[["rank_x", "rank_y"]].itertuples(name=None)) == [
        ("d", 1, 1),
        ("c", 2, 2),
        ("a", 4, 3),
        ("b", 3, 4),
    ]
    assert one.only == ((), ("e",))
    assert (one.agreement["spearman"].ci95, one.agreement["kendall"].ci95) == (None, None)
    assert any("fewer than 10 models" in note for note in shown.notes(correlate([ours], [theirs])))


def test_the_published_scores_against_others_and_who_is_far_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = {row["Model"]: row["Overall"] for row in paper_rows("truebench", "truebench_table5")}
    made = [
        {"model": name, "made up": round(score * 1.2 + 5 + 2 * (place % 3) + (25 if name == "Phi-4" else 0), 1)}
        for place, (name, score) in enumerate(printed.items())
        if name != "o1"
    ]
    others = table(tmp_path / "b.json", [*made, {"model": "O1", "made up": 90}])
    done = command_here(capsys, "study", "correlate", "published", "--with", others, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "out" / "correlate.json").read_text())
    told, only = content["coefficients"][0], content["only"][0]
    assert (told["n"], only["scores"], only["others"]) == (31, ["o1"], ["O1"])
    assert [model["model"] for model in content["models"] if model["p_value"] < FAR] == ["Phi-4"]
    low, high = told["spearman"]["interval"]
    assert low < told["spearman"]["value"] < high <= 1
    assert "Only in TRUEBench as published: o1; names are compared exactly" in " ".join(done.stdout.split())
    assert "paper: MMLU-pro" in done.stdout
    page = (tmp_path / "out" / "report.html").read_text()
    assert "least squares" in page
    assert "far off the line: Phi-4" in page
    rows = list(csv.DictReader((tmp_path / "out" / "models.csv").open()))
    assert len(rows) == 31


def test_runs_have_hard_and_soft_scores(tmp_path: Path) -> None:
    shares = (3, 6, 9)
    for share in shares:
        finished(tmp_path, f"M{share}", numbered([n < share for n in range(10)]))
    others = table(tmp_path / "b.json", [{"model": f"M{share}.json", "their score": share**2} for share in shares])
    found = correlate([str(tmp_path / "runs")], [others])
    assert [one.column for one in found.pairings] == ["hard", "soft (criterion)", "soft (turn)"]
    assert found.pairings[0].points["y"].tolist() == pytest.approx([0.9, 0.6, 0.3])
    outcome = shown.outcome(found)
    grid, plot = outcome.tables[0], outcome.charts[0]
    # Data on the one scale, what people read in percent: the line, too.
    assert grid.texts[0][-1] == f"{100 * found.pairings[0].line.slope:.3f}"  # type: ignore[union-attr]
    assert [y for _, y, *_ in plot.series[0].points] == pytest.approx([90, 60, 30])  # type: ignore[union-attr]
    told = outcome.items["correlate.json"]["models"]
    assert [point["y"] for point in told if point["column"] == "hard"] == pytest.approx([0.9, 0.6, 0.3])
    published = read_scores(["published"], (), "SCORES", "--column").frame["Overall"]
    assert published["o1"] == pytest.approx(0.6907)
    assert any(row["with"] == "Chatbot Arena" for row in grid.rows)  # type: ignore[union-attr]
    chosen = correlate([str(tmp_path / "runs")], [others], column=["soft (turn)"])
    assert [one.column for one in chosen.pairings] == ["soft (turn)"]


def test_runs_judged_otherwise_are_marked_and_two_of_one_model_refused(tmp_path: Path) -> None:
    for place, name in enumerate(("one", "two")):
        finished(tmp_path / str(place), name, {f"q{place}": True})
    assert "not all judged alike" in read_scores([str(tmp_path)], (), "SCORES", "--column").notes[0]
    finished(tmp_path / "2", "one", {"q0": True})
    with pytest.raises(UserError, match=r"one\.json stands in .* and in .*; name one run of each model"):
        read_scores([str(tmp_path)], (), "SCORES", "--column")


@each_row(__file__, "leaderboard", "tables_are_read")
def test_tables_are_read(
    tmp_path: Path, name: str, text: str, columns: dict[str, Any], wanted: tuple[str, ...]
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    scores = read_scores([str(tmp_path / name)], wanted, "SCORES", "--column").frame
    assert scores.astype(object).where(scores.notna(), None).to_dict() == columns


@each_row(__file__, "leaderboard", "tables_that_cannot_be_used")
def test_tables_that_cannot_be_used(tmp_path: Path, text: str, wanted: tuple[str, ...], match: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(UserError, match=match):
        read_scores([str(tmp_path / "a.csv")], wanted, "SCORES", "--column")


@pytest.mark.parametrize(
    ("sources", "match"),
    [
        (lambda p: [], "SCORES: give a table"),
        (lambda p: [str(p / "nothing.csv")], "no such file"),
        (lambda p: [str(p)], "no run folder at or below it"),
        (lambda p: [table(p / "a.json", OURS), table(p / "b.json", OURS)], "of tables give one"),
    ],
)
def test_sources_that_cannot_be_used(tmp_path: Path, sources: Callable[[Path], list[str]], match: str) -> None:
    with pytest.raises(UserError, match=match):
        read_scores(sources(tmp_path), (), "SCORES", "--column")


GOOD, FAIR, POOR = (numbered([number < share for number in range(30)]) for share in (28, 26, 6))
PAIRED, TOTALS = "instances in pairs", "intervals of totals (approximate)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs judged alike, and one by another level."""
    folder = tmp_path_factory.mktemp("board")
    for name, passed in (("gpt-good", GOOD), ("Fair-7B", FAIR), ("Poor-1B", POOR)):
        finished(folder, name, passed, judge="gpt-judge")
    finished(folder, "Apart", GOOD, judge="gpt-judge", judge_level="rubric")
    return folder


def ranks(board: Leaderboard) -> list[tuple[int | None, int | None, str | None]]:
    return [(entry.rank, entry.last, entry.facts.get(RANKED_BY)) for entry in board.entries]


def test_only_runs_judged_alike_are_ranked_together(folder: Path) -> None:
    board = leaderboard([str(folder / "runs")])
    assert {entry.name: (entry.facts[GROUP], entry.rank, entry.last) for entry in board.entries} == {
        "scripted:gpt-good.json": ("A", 1, 2),  # two instances apart
        "scripted:Fair-7B.json": ("A", 1, 2),
        "scripted:Poor-1B.json": ("A", 3, 3),
        "scripted:Apart.json": ("B", 1, 1),
    }
    assert {entry.facts[RANKED_BY] for entry in board.entries} == {PAIRED}
    assert board.groups["B"].endswith("judged by scripted:gpt-judge.json (rubric, rules decide)")
    own = {entry.name: entry.facts[SELF_JUDGED] for entry in board.entries}
    assert (own["scripted:gpt-good.json"], own["scripted:Fair-7B.json"]) == ("yes", "no")


def test_runs_by_the_official_rule_are_paired_by_it(tmp_path: Path) -> None:
    # The judge is down for the last two: passed by the official rule's own count, unscored by ours.
    for name, outcomes in (("one", [True] * 20 + [None] * 2), ("two", [False] * 20 + [None] * 2)):
        finished(tmp_path, name, numbered(outcomes), protocol="official")
    assert ranks(leaderboard([str(tmp_path / "runs")])) == [(1, 1, PAIRED), (2, 2, PAIRED)]


def test_runs_without_all_of_their_judgments_are_ranked_by_their_intervals(tmp_path: Path) -> None:
    """Also where the mean of what is left is that of the whole by chance."""
    runs = [finished(tmp_path, name, numbered([True] * 20)) for name in ("one", "two")]
    assert ranks(leaderboard(runs)) == [(1, 2, PAIRED)] * 2
    file = Path(runs[0]) / "judgments.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
    assert ranks(leaderboard(runs)) == [(1, 2, TOTALS)] * 2
    file.write_text("{}\n")
    assert ranks(leaderboard(runs)) == [(1, 2, TOTALS)] * 2
    file.unlink()
    assert ranks(leaderboard(runs)) == [(1, 2, TOTALS)] * 2


@pytest.mark.parametrize(
    ("kind", "models"), [("tick", ["scripted:one.json", "scripted:two.json"]), ("facts", ["scripted:model.json"])]
)
def test_other_kinds_are_ranked_by_their_own_scores(tmp_path: Path, kind: str, models: list[str]) -> None:
    board = leaderboard([golden(kind, tmp_path / "run")], kind=kind)
    assert sorted(entry.name for entry in board.entries) == models
    assert not any(entry.approximate for entry in board.entries if entry.rank)


def test_what_is_left_out_is_said(folder: Path, tmp_path: Path) -> None:
    info = json.loads((folder / "runs" / "Apart" / "run.json").read_text())
    without_board = {key: value for key, value in info.items() if key != "board"}
    study = {"kind": "criteria-types", "format": 1}
    twice = info["board"] | {"columns": [*info["board"]["columns"], info["board"]["columns"][0]]}
    infos = {
        "a column twice": (info | {"board": twice}, "no results that a leaderboard"),
        "other kind": (info | {"kind": "tick"}, "of kind tick; --kind tick ranks it"),
        "unfinished": (without_board, "finish it by repeating its command"),
        "no board": (study | {"sessions": [{"finished": "2026-01-01T00:00:00Z"}]}, "kind criteria-types like this one"),
        "half a study": (study | {"sessions": [{"finished": None}]}, "finish it by repeating its command"),
    }
    for name, (content, _) in infos.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(content))
    board = leaderboard([str(folder / "runs" / "Apart"), str(tmp_path)])
    assert len(board.entries) == 1
    assert all(why in board.left_out[str(tmp_path / name)] for name, (_, why) in infos.items()), board.left_out
    assert sum(line.startswith("Left out: ") for line in sections_of.notes(board)) == 5


@pytest.mark.parametrize(
    ("runs", "more", "match"),
    [
        ([], {}, "no finished run of kind truebench there; name run folders"),
        (["nowhere"], {}, "nowhere: no run folder"),
        ([], {"published": True, "kind": "tick"}, "kind with published results 'tick'"),
    ],
)
def test_nothing_to_show(runs: list[str], more: dict[str, object], match: str) -> None:
    with pytest.raises(UserError, match=match):
        leaderboard(runs, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("open_", "rank"), [(1, 1), (2, None)])
def test_why_a_run_has_no_rank_is_said(tmp_path: Path, open_: int, rank: int | None) -> None:
    """Of ten instances one may be left open; where more are there is no rank, and no reader should have to guess why."""
    board = leaderboard([finished(tmp_path, "ann", numbered([None] * open_ + [True] * (10 - open_)))])
    assert [entry.rank for entry in board.entries] == [rank]
    notes = sections_of.notes(board)
    assert any(note.startswith("No rank where more than a tenth") for note in notes) == (rank is None)


def test_a_folder_whose_settings_are_none_of_ours_is_named_by_every_command_that_reads_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = finished(tmp_path, "one", numbered([True, False]))
    two = finished(tmp_path, "two", numbered([False, True]))
    file = Path(two) / "run.json"
    info = json.loads(file.read_text())
    changes: list[tuple[dict[str, object], str]] = [
        ({"judge": 1.5}, "settings.judge"), ({"judging": None}, "settings.judging"),
        ({"judging": {"rules": "decide", "votes": {}}}, "settings.judging.votes"), ({"samples": "2"}, "settings.samples"),
    ]  # fmt: skip
    for change, field in changes:
        file.write_text(json.dumps(info | {"settings": info["settings"] | change}))
        why = f"cannot be read: not as we write it: {field}; move it and the results beside it away, and "
        for command in (["study", "score", two], ["compare", one, two]):
            done = command_here(capsys, *command)
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), command
            assert done.stderr.startswith(f"truebench: {file}: {why}"), command
        board = leaderboard([one, two])
        capsys.readouterr()  # which it warned of
        assert ([entry.name for entry in board.entries], list(board.left_out)) == (["scripted:one.json"], [two])
        assert why in board.left_out[two]


def test_answers_that_were_given_are_ranked_with_those_that_were_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are over the same data whoever gave them; and other answers do not go on in the folder of the first."""
    finished(tmp_path, "Cid", numbered([n < 10 for n in range(20)]))

    def judge(model: str, passed: int, order: int = 1) -> tuple[int, str]:
        answers = [{"id": f"q{n}", "response": f"is {'right' if n < passed else 'wrong'} on q{n}"} for n in range(20)]
        done = command_here(
            capsys, "judge", "--data", str(tmp_path / "data.jsonl"), "--model-name", model,
            "--responses", write_jsonl(tmp_path / f"{model}.jsonl", answers[::order]),
            "--judge", f"scripted:{tmp_path / 'judge.json'}", "--out", str(tmp_path / "runs" / model),
        )  # fmt: skip
        return done.returncode, done.stderr

    assert judge("Ada", 16) == judge("Ben", 4, -1) == (0, "")
    ada, ben, cid = (str(tmp_path / "runs" / name) for name in ("Ada", "Ben", "Cid"))
    comparison = compare(ada, ben)
    assert (comparison.differs, comparison.overall.difference.ahead, len(comparison.flips)) == ((), -1, 12)
    assert compare(ada, cid).differs == ()
    entries = leaderboard([str(tmp_path / "runs")]).entries
    assert len({entry.setting for entry in entries}) == 1
    assert [(entry.name, entry.rank) for entry in entries] == [("Ada", 1), ("scripted:Cid.json", 2), ("Ben", 3)]
    code, problem = judge("Ada", 0)
    assert (code, "the data changed in 16 of 20 rows" in problem) == (2, True), problem


@pytest.mark.parametrize(("kind", "fact"), [("metaeval", "paradigm"), ("pairwise", "protocol")])
def test_rows_of_one_judge_are_told_apart_in_a_table(tmp_path: Path, kind: str, fact: str) -> None:
    table = score_table([golden(kind, tmp_path / "run")])
    assert table.columns[1].name == fact
    assert len({(row["name"], row[fact]) for row in table.rows}) == len(table.rows) > 2


# The shipped tables of the paper


COUNTS = {row["Category"]: row for row in paper_rows("truebench", "truebench_table4")}
BY_CATEGORY = paper_rows("truebench", "truebench_table5")
BY_LANGUAGE = paper_rows("truebench", "truebench_table6")


def weighted(row: dict[str, Any], sizes: dict[str, int]) -> float:
    return sum(row[name] * size for name, size in sizes.items()) / sum(sizes.values())


def gaps(rows: list[dict[str, Any]], sizes: dict[str, int]) -> dict[str, float]:
    return {row["Model"]: abs(weighted(row, sizes) - row["Overall"]) for row in rows}


def test_overall_follows_from_the_categories() -> None:
    found = gaps(BY_CATEGORY, {name: COUNTS[name]["Total Count"] for name in CATEGORIES})
    assert (len(found), sum(COUNTS[name]["Total Count"] for name in CATEGORIES)) == (32, 1329)
    assert max(found.values()) == pytest.approx(0.0072, abs=0.00005)


def test_overall_follows_from_the_languages_but_for_one_misprint() -> None:
    sizes = {name: COUNTS["Total"][name] for name in LANGUAGES}
    found = gaps(BY_LANGUAGE, sizes)
    assert {name for name, gap in found.items() if gap > 0.006} == {"Llama4-Maverick"}
    row = next(row for row in BY_LANGUAGE if row["Model"] == "Llama4-Maverick")
    assert (round(weighted(row, sizes), 2), row["Overall"]) == (55.44, 52.45)


def test_published_results_are_ranked_by_their_totals_alone() -> None:
    found = leaderboard([], published=True)
    ranks = {entry.name: (entry.rank, entry.last) for entry in found.entries}
    assert (len(ranks), ranks["o1"], ranks["Gemma-3-1B-it"]) == (32, (1, 1), (32, 32))
    # 59.44 and 59.22 of 1,329: Newcombe's interval of their difference is -3.5 to 3.9.
    assert ranks["Claude-3.5-Sonnet (2024-10-22)"] == ranks["Claude-3.7-Sonnet-Thinking"] == (2, 7)
    assert all(entry.approximate for entry in found.entries)
    assert {entry.name for entry in found.entries if entry.facts["Self-judged"] == "yes"} == {"o1", "GPT-4o-2024-08-06"}


def test_judges_are_told_apart_by_their_paradigms_and_judge_no_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = golden("metaeval", tmp_path / "metaeval")
    rows = json.loads((Path(folder) / "run.json").read_text())["board"]["rows"]
    done = command_here(capsys, "leaderboard", folder, "--kind", "metaeval")
    lines = [line.split("│")[1:3] for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(lines) == len({tuple(line) for line in lines}) == len(rows) > 2
    assert all(f"({row['facts']['Paradigm']})" in done.stdout for row in rows)
    note = "Overall: The unweighted mean of the four instruction categories."
    assert note in command_here(capsys, "table", folder).stdout, "a mean over categories is not one over rows"
    assert "self-judged" not in done.stdout
