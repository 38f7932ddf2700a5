"""One ranked table of runs and published results: who is ranked with whom, by what, and how it is marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.finished import finished, golden, numbered
from tests.support.runs import command_here
from truebench_hf.comparing import leaderboard as shown
from truebench_hf.comparing.leaderboard import GROUP, RANKED_BY, SELF_JUDGED, leaderboard
from truebench_hf.comparing.table import score_table
from truebench_hf.errors import UserError

GOOD, FAIR, POOR = (numbered([number < share for number in range(30)]) for share in (28, 26, 6))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs judged alike, and one by another level."""
    folder = tmp_path_factory.mktemp("board")
    for name, passed in (("gpt-good", GOOD), ("Fair-7B", FAIR), ("Poor-1B", POOR)):
        finished(folder, name, passed, judge="gpt-judge")
    finished(folder, "Apart", GOOD, judge="gpt-judge", judge_level="rubric")
    return folder


def test_only_runs_judged_alike_are_ranked_together(folder: Path) -> None:
    found = leaderboard([str(folder / "runs")])
    ranks = {entry.name: (entry.facts[GROUP], entry.rank, entry.last) for entry in found.entries}
    assert ranks == {
        "scripted:gpt-good.json": ("A", 1, 2),  # two instances apart
        "scripted:Fair-7B.json": ("A", 1, 2),
        "scripted:Poor-1B.json": ("A", 3, 3),
        "scripted:Apart.json": ("B", 1, 1),
    }
    assert {entry.facts[RANKED_BY] for entry in found.entries} == {"instances in pairs"}
    assert found.groups["B"].endswith("judged by scripted:gpt-judge.json (rubric, rules decide)")
    own = {entry.name: entry.facts[SELF_JUDGED] for entry in found.entries}
    assert own["scripted:gpt-good.json"] == "yes"
    assert own["scripted:Fair-7B.json"] == "no"


def test_runs_by_the_official_rule_are_paired_by_it(tmp_path: Path) -> None:
    # The judge is down for the last two: passed by the official rule's own count, unscored by ours.
    for name, outcomes in (("one", [True] * 20 + [None] * 2), ("two", [False] * 20 + [None] * 2)):
        finished(tmp_path, name, numbered(outcomes), protocol="official")
    found = leaderboard([str(tmp_path / "runs")])
    assert [(entry.rank, entry.last, entry.approximate) for entry in found.entries] == [(1, 1, False), (2, 2, False)]


def test_runs_whose_judgments_are_gone_are_ranked_by_their_intervals(tmp_path: Path) -> None:
    for name, passed in (("one", GOOD), ("two", POOR)):
        folder = finished(tmp_path, name, passed)
    (Path(folder) / "judgments.jsonl").unlink()
    for _ in ("gone", "unreadable"):
        found = leaderboard([str(tmp_path / "runs")])
        assert [(entry.rank, entry.last, entry.approximate) for entry in found.entries] == [(1, 1, True), (2, 2, True)]
        (Path(folder) / "judgments.jsonl").write_text("{}\n")


@pytest.mark.parametrize(
    ("kind", "models"), [("tick", ["scripted:one.json", "scripted:two.json"]), ("facts", ["scripted:model.json"])]
)
def test_other_kinds_are_ranked_by_their_own_scores(tmp_path: Path, kind: str, models: list[str]) -> None:
    found = leaderboard([golden(kind, tmp_path / "run")], kind=kind)
    assert sorted(entry.name for entry in found.entries) == models
    assert not any(entry.approximate for entry in found.entries if entry.rank)


def test_what_is_left_out_is_said(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    info = json.loads((folder / "runs" / "Apart" / "run.json").read_text())
    (other / "run.json").write_text(json.dumps(info | {"kind": "tick"}))
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "run.json").write_text(json.dumps({key: value for key, value in info.items() if key != "board"}))
    found = leaderboard([str(folder / "runs" / "Apart"), str(tmp_path)])
    assert len(found.entries) == 1
    assert found.left_out[str(other)] == "of kind tick; --kind tick ranks it"
    assert "finish it" in found.left_out[str(unfinished)]
    assert sum(line.startswith("Left out: ") for line in shown.notes(found)) == 2


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


def test_published_results_alone_of_other_papers(capsys: pytest.CaptureFixture[str]) -> None:
    found = leaderboard([], published=True, kind="facts")
    own = {entry.name: entry.facts[SELF_JUDGED] for entry in found.entries}
    assert set(own.values()) == {"yes"}  # the paper had its models judged by models of just their families
    done = command_here(capsys, "leaderboard", "--with-published", "--kind", "facts")
    assert (done.returncode, "FACTS" in done.stdout or "Final" in done.stdout) == (0, True)


@pytest.mark.parametrize(("open_", "rank"), [(1, 1), (2, None)])
def test_why_a_run_has_no_rank_is_said(tmp_path: Path, open_: int, rank: int | None) -> None:
    """Of ten instances one may be left open; where more are there is no rank, and no reader should have to guess why."""
    run = finished(tmp_path, "ann", {f"q{number}": None if number < open_ else True for number in range(10)})
    found = leaderboard([run])
    assert [entry.rank for entry in found.entries] == [rank]
    assert any(note.startswith("No rank where more than a tenth") for note in shown.notes(found)) == (rank is None)


def test_judges_are_told_apart_by_their_paradigms_and_judge_no_family(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = golden("metaeval", tmp_path / "metaeval")
    board = json.loads((Path(folder) / "run.json").read_text())["board"]
    done = command_here(capsys, "leaderboard", folder, "--kind", "metaeval")
    lines = [line.split("│")[1:3] for line in done.stdout.splitlines() if line.startswith("│")]
    assert len(lines) == len({tuple(line) for line in lines}) == len(board["rows"]) > 2
    assert all(f"({row['facts']['Paradigm']})" in done.stdout for row in board["rows"])
    assert "self-judged" not in done.stdout


def test_a_finished_study_without_a_board_is_not_told_to_be_finished(folder: Path, tmp_path: Path) -> None:
    for name, finished_at in (("done", "2026-01-01T00:00:00Z"), ("half", None)):
        (tmp_path / name).mkdir()
        info = {"kind": "criteria-types", "format": 1, "sessions": [{"finished": finished_at}]}
        (tmp_path / name / "run.json").write_text(json.dumps(info))
    found = leaderboard([str(folder / "runs"), str(tmp_path)])
    done, half = (found.left_out[str(tmp_path / name)] for name in ("done", "half"))
    assert "criteria-types" in done
    assert "repeating" not in done
    assert "repeating its command" in half


def test_judgments_that_are_cut_short_rank_nobody_in_pairs(tmp_path: Path) -> None:
    """Also where their mean is that of the whole by chance."""
    runs = [finished(tmp_path, name, numbered([True] * 20)) for name in ("one", "two")]
    assert {entry.facts[RANKED_BY] for entry in leaderboard(runs).entries} == {"instances in pairs"}
    file = Path(runs[0]) / "judgments.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
    assert {entry.facts[RANKED_BY] for entry in leaderboard(runs).entries} == {"intervals of totals (approximate)"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"judge": 1.5}, "settings.judge"),
        ({"judging": None}, "settings.judging"),
        ({"judging": {"rules": "decide", "votes": {}}}, "settings.judging.votes"),
        ({"samples": "2"}, "settings.samples"),
    ],
)  # fmt: skip
def test_a_folder_whose_settings_are_none_of_ours_is_named_by_every_command_that_reads_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], named: str
) -> None:
    one = finished(tmp_path, "one", numbered([True, False]))
    two = finished(tmp_path, "two", numbered([False, True]))
    file = Path(two) / "run.json"
    info = json.loads(file.read_text())
    file.write_text(json.dumps(info | {"settings": info["settings"] | change}))
    said = f"cannot be read: not as we write it: {named}; move it and the results beside it away, and "
    for command in (["study", "score", two], ["compare", one, two]):
        done = command_here(capsys, *command)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), command
        assert done.stderr.startswith(f"truebench: {file}: {said}"), command
    found = leaderboard([one, two])
    assert ([entry.name for entry in found.entries], list(found.left_out)) == (["scripted:one.json"], [two])
    assert said in found.left_out[two]


def test_the_overview_of_a_table_is_where_the_main_score_stands(tmp_path: Path) -> None:
    """FlexBench has its scores in a group of their own."""
    found = score_table([golden("flex", tmp_path / "run", "scored")])
    assert [column.title for column in found.columns][1:3] == ["Coverage", "Achievement"]
    assert found == score_table([str(tmp_path / "run")], "scores")
    with pytest.raises(UserError, match=r"unknown group of scores 'categories': choose from .*overview"):
        score_table([str(tmp_path / "run")], "categories")


@pytest.mark.parametrize(("kind", "apart"), [("metaeval", "paradigm"), ("pairwise", "protocol")])
def test_rows_of_one_judge_are_told_apart_in_a_table(tmp_path: Path, kind: str, apart: str) -> None:
    found = score_table([golden(kind, tmp_path / "run")])
    assert found.columns[1].name == apart
    assert len({(row["name"], row[apart]) for row in found.rows}) == len(found.rows) > 2


def test_a_study_that_ranks_nothing_names_its_tables(tmp_path: Path) -> None:
    folder = golden("metaeval", tmp_path / "run")
    info = json.loads((Path(folder) / "run.json").read_text())
    (Path(folder) / "run.json").write_text(json.dumps({key: value for key, value in info.items() if key != "board"}))
    (Path(folder) / "tables").mkdir(exist_ok=True)
    with pytest.raises(UserError, match=r"no scores of models or judges there; what was found lies in .*run.tables$"):
        score_table([folder])
