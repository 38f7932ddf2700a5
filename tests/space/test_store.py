"""What the board reads and how it renews itself: run folders, the results data set, submissions, copies of runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.space.sample_runs import changed, many_runs, patchy_run
from tests.support.runs import ROOT
from truebench_hf.comparing import runs, table
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_file, stage_run
from truebench_hf.hub.submission import validate
from truebench_hf.space.board import explorer
from truebench_hf.space.board.items import RecentItems
from truebench_hf.space.board.store import BoardStore


def _shown(*roots: Path) -> list[BoardEntry]:
    """The entries that are not the paper's, after everything was looked at."""
    board = BoardStore(roots)
    board.refresh()
    return [entry for entry in board.snapshot.entries if entry.source != "paper"]


def _change(file: Path, edit: Callable[[Any], None]) -> None:
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))


def _one(folder: Path, model: str) -> Path:
    """A made-up run of a model."""
    return changed(many_runs(folder, 1, 30) / "run000", name=model)


def test_a_run_is_read_and_changes_are_seen(tmp_path: Path) -> None:
    root = many_runs(tmp_path, 2, 40)
    board = BoardStore([root])
    assert {entry.approximate for entry in board.snapshot.entries if entry.rank} == {True}, "models are compared later"
    board.refresh()
    first = board.snapshot
    board.refresh()
    assert board.snapshot.entries is first.entries, "nothing changed, nothing is worked out again"
    assert board.snapshot.version == first.version
    assert board.snapshot.read_at > first.read_at, "but it was looked at"
    _one(tmp_path / "late", "hf:org/Late-9B")
    board.refresh()
    assert {e.name for e in board.snapshot.entries} - {e.name for e in first.entries} == {"hf:org/Late-9B"}
    assert board.snapshot.version > first.version


def test_an_unfinished_run_is_passed_over_in_silence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = many_runs(tmp_path, 2, 20) / "run000"
    (run / "run.json").write_text('{"settings": {}}')
    assert len(_shown(tmp_path)) == 1
    assert capsys.readouterr().err == ""


MANY = [{"name": f"c{number}", "title": "t", "group": ""} for number in range(251)]
# What is not as it should be: of the main score, of the board, of its row, of run.json itself.
BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("score", {"value": "55"}, "a text cannot be ranked among numbers"),
    ("score", {"value": float("nan")}, "nothing is greater or less than NaN"),
    ("score", {"n": -1}, "less than nothing is no count"),
    ("score", {"unscored": None}, "a count that is none"),
    ("score", {"ci95": [1.0]}, "an interval with one end"),
    ("board", {"main": "absent"}, "ranked by a column that is not there"),
    ("board", {"columns": MANY, "main": "c1"}, "more columns than a page can hold"),
    ("board", {"columns": [*MANY[:2], MANY[0]], "main": "c1"}, "two columns of one name"),
    ("board", {"columns": [{"name": "c", "title": "x" * 501}], "main": "c"}, "a title as long as a paragraph"),
    ("row", {"name": ""}, "a nameless model"),
    ("row", {"facts": {"Judge": 3}}, "a fact that is no text"),
    ("row", {"scores": {"absent": {"value": 1.0, "n": 1}}}, "a score without a column"),
    ("info", {"kind": "../up"}, "a kind that is no name"),
    ("info", {"format": 2}, "another format"),
    ("info", {"submitted": "no"}, "a flag that is a text"),
]
FILES = {"torn": b"{", "nested": b"[" * 100_000, "no board": b'{"board": 3}', "no text": b"\xff\xfe"}


@pytest.mark.parametrize(
    ("part", "change"),
    [*(row[:2] for row in BROKEN), *(("file", content) for content in FILES.values())],
    ids=[*(row[2] for row in BROKEN), *FILES],
)
def test_a_board_that_cannot_be_drawn_hides_no_other_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str, change: Any
) -> None:
    file = many_runs(tmp_path, 2, 20) / "run000" / "run.json"

    def broken(info: Any) -> None:
        row = info["board"]["rows"][0]
        {"score": row["scores"]["overall"], "board": info["board"], "row": row, "info": info}[part].update(change)

    if part == "file":
        file.write_bytes(change)
    else:
        _change(file, broken)
    shown = _shown(tmp_path)
    assert [entry.folder for entry in shown] == [tmp_path / "run001"], "and no other run is hidden"
    assert "Model-001" in table.to_csv(BoardStore().snapshot.kinds[0], shown)
    log = capsys.readouterr().err
    assert log.startswith("board: run000 is left out: run.json")
    assert log.count("\n") == 1, "once, not whenever the board looks"


@pytest.mark.parametrize(
    "line", ["[" * 100_000, '{"passed": "x", "id": "q0"}', "{"], ids=["nested", "no outcome", "torn"]
)
def test_judgments_that_cannot_be_read_leave_the_others_their_ties(tmp_path: Path, line: str) -> None:
    many_runs(tmp_path, 3, 20)
    (tmp_path / "run000" / "judgments.jsonl").write_text(line + "\n")
    entries = {entry.folder: entry for entry in _shown(tmp_path)}
    assert entries[tmp_path / "run001"].rank
    with pytest.raises(UserError, match="cannot be read"):
        RecentItems().of(entries[tmp_path / "run000"])


@contextmanager
def _no_superuser() -> Iterator[None]:
    """A superuser may read everything: for a while this process is somebody else."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(("mode", "why"), [(0o000, "nothing may be read"), (0o444, "the names, but nothing in it")])
def test_a_folder_that_may_not_be_looked_into_hides_no_other(mode: int, why: str) -> None:
    # Not in tmp_path, whose folders only their owner may enter.
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        many_runs(Path(made), 1, 20)
        locked = Path(made) / "locked"
        (locked / "inner").mkdir(parents=True)
        locked.chmod(mode)
        try:
            with _no_superuser():
                with pytest.raises(PermissionError):
                    (locked / "inner" / "run.json").stat()
                found = [folder.name for folder in runs.folders([Path(made), Path(made, "x" * 300)])]
                read = [entry.source for entry in _shown(Path(made))]
        finally:
            locked.chmod(0o755)
    assert (found, read) == (["run000"], ["measured"]), why


def test_a_folder_that_is_gone_when_it_is_read_is_nothing(tmp_path: Path) -> None:
    assert runs.stamp(tmp_path / "gone") == runs.stamp(tmp_path / "nowhere")
    assert runs.read_board(tmp_path / "gone") is None


def test_half_a_character_is_shown_as_a_question_mark(tmp_path: Path) -> None:
    patchy_run(tmp_path / "rules", tmp_path / "runs" / "patchy")
    run = _one(tmp_path / "runs" / "more", "hf:org/x\ud83c")
    # One more row, as short as the list of instances can draw it.
    whole = json.loads((run / "judgments.jsonl").read_text().splitlines()[0])
    row = {"id": "\ud83c", "language": "DE\udfff", "category": "", "passed": None, "verdicts": [], "messages": []}
    with (run / "judgments.jsonl").open("a") as lines:
        lines.write(json.dumps(whole | row) + "\n")
    found = _shown(tmp_path / "runs")
    assert {entry.name for entry in found} == {"scripted:Patchy-3B.json", "hf:org/x?"}
    kind = BoardStore().snapshot.kinds[0]
    assert b"hf:org/x?" in _sent(table.to_csv(kind, found))
    patchy, named = sorted(found, key=lambda entry: entry.name, reverse=True)
    odd = RecentItems().of(named)["?"]
    assert _sent([odd.name, odd.language]) == b'["?", "DE?"]'
    page = explorer.shown(list(RecentItems().of(patchy).values())[1])
    assert b"Half of ?." in _sent(page.rounds[0].parts[0][0][0][0].content)


def _sent(value: Any) -> bytes:
    """As it goes to a page: in UTF-8, which raises UnicodeEncodeError on half a character."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def test_copies_are_one_line_and_other_answers_or_settings_are_not(tmp_path: Path) -> None:
    first = many_runs(tmp_path / "here", 1, 30) / "run000"
    shutil.copytree(first, tmp_path / "there" / "copy")
    before, after = _shown(tmp_path / "there"), _shown(tmp_path / "here", tmp_path / "there")
    assert [entry.key for entry in after] == [entry.key for entry in before], "links stay, wherever the folder lies"
    assert after[0].folder == first, "the first folder named is the one that is read"
    again = Path(shutil.copytree(first, tmp_path / "here" / "again"))
    _change(again / "run.json", lambda info: info.update(content="other answers"))
    assert len(_shown(tmp_path / "here")) == 2, "answers differ, settings and scores do not"
    changed(Path(shutil.copytree(first, tmp_path / "official")), setting="by the official rule")
    assert [entry.rank for entry in _shown(first, tmp_path / "official")] == [1, 1], "each is ranked among its own kind"


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One run as it lies here, as it is published, and as somebody submits it."""
    folder = tmp_path_factory.mktemp("kinds")
    here = patchy_run(folder / "rules", folder / "here" / "patchy")
    stage_run(here, folder / "published")
    judgments = here / "judgments.jsonl"
    stage_file(validate(judgments), folder / "submitted")
    return {name: folder / name for name in ("here", "published", "submitted")}


def test_a_published_run_is_the_run_here_and_a_submission_of_it_adds_no_line(kinds: dict[str, Path]) -> None:
    (here,), (published,), (sent,) = (_shown(kinds[name]) for name in ("here", "published", "submitted"))
    assert (here.key, here.setting) == (published.key, published.setting), (
        "it may be ranked with what was measured here"
    )
    assert [entry.folder for entry in _shown(kinds["here"], kinds["published"])] == [kinds["here"] / "patchy"]
    assert (sent.source, sent.facts["Data"], sent.name) == ("submitted", "mini", "scripted:Patchy-3B.json")
    for measured in ("here", "published"):
        (entry,) = _shown(kinds["submitted"], kinds[measured])
        assert entry.source == "measured", "wherever it is named first"


def test_a_submission_is_never_ranked_with_measured_runs(kinds: dict[str, Path], tmp_path: Path) -> None:
    # Another model's submission over the same data, by a judge of the same name.
    shutil.copytree(kinds["submitted"], tmp_path / "other")
    for file in (tmp_path / "other").rglob("run.json"):
        changed(file.parent, name="hf:org/Other-3B")
    found = _shown(kinds["here"], tmp_path / "other")
    assert {(entry.source, entry.rank, entry.last) for entry in found} == {
        ("measured", 1, 1),
        ("submitted", 1, 1),
    }
    assert len({entry.setting for entry in found}) == 2
    alike = _shown(kinds["submitted"], tmp_path / "other")
    assert [(entry.rank, entry.last) for entry in alike] == [(1, 2), (1, 2)], "among submissions, they are"


OUTAGES = """
import json, os, sys
from pathlib import Path
from tests.support.hub_stub import HubStub

local, hub_run, late = map(Path, sys.argv[1:])
seen = []


def look(board):
    board.refresh()
    now = board.snapshot
    models = sorted(e.name.rpartition("/")[2] for e in now.entries if e.source == "measured")
    seen.append([models, now.stale, now.version])


with HubStub() as hub:
    os.environ.update(hub.env)
    from huggingface_hub import HfApi
    from truebench_hf.space.board.store import BoardStore

    api = HfApi()
    api.create_repo("org/results", repo_type="dataset")
    api.upload_folder(repo_id="org/results", repo_type="dataset", folder_path=hub_run, path_in_repo="runs/hub")
    board = BoardStore([local], "org/results")
    down = "GET", "/api/datasets/org/results", 503
    hub.fail_next(*down, times=2)
    look(board)
    late.rename(local / "late")
    look(board)
    look(board)  # the Hub answers
    look(board)
    hub.fail_next(*down)
    look(board)
look(BoardStore([], "org/results"))  # a start without the Hub
print(json.dumps(seen))
"""


@pytest.mark.slow
def test_a_hub_out_of_reach_stops_nothing_else(tmp_path: Path) -> None:
    _one(tmp_path / "local", "hf:org/Local-1B")
    hub_run, late = _one(tmp_path / "hub", "hf:org/Hub-2B"), _one(tmp_path / "late", "hf:org/Late-3B")
    done = subprocess.run(
        [sys.executable, "-c", OUTAGES, str(tmp_path / "local"), str(hub_run), str(late)],
        cwd=ROOT, env={**os.environ, "HF_HOME": str(tmp_path / "home")}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    down, found, back, idle, down_again, cold = json.loads(done.stdout.splitlines()[-1])
    assert down[0] == ["Local-1B"]
    assert down[1].startswith("The results data set could not be reached since ")
    assert "UTC" in down[1]
    assert found[:2] == [["Late-3B", "Local-1B"], down[1]], "local runs come in, and the hour stays that of the first"
    assert found[2] > down[2]
    assert back[:2] == [["Hub-2B", "Late-3B", "Local-1B"], ""]
    assert idle == back
    assert down_again[0] == back[0], "what was read stays"
    assert down_again[1]
    assert down_again[2] > idle[2], "visitors are told"
    assert cold[0] == ["Hub-2B"], "a copy from before is better than nothing"
    assert cold[1]
    told = [line for line in done.stderr.splitlines() if line.startswith("board:")]
    assert len(told) == 3, f"once per outage, not once per look: {told}"
    assert all(line.startswith("board: results org/results: ") for line in told)
