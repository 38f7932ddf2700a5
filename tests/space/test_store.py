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

from tests.space.sample_runs import many_runs, patchy_run
from tests.support.runs import ROOT
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_file, stage_run
from truebench_hf.hub.submission import validate
from truebench_hf.space.board import columns, conversation, explorer, judges, runs, table
from truebench_hf.space.board.entries import Entry
from truebench_hf.space.board.explorer import Shelf
from truebench_hf.space.board.store import Board


def _shown(*roots: Path) -> list[Entry]:
    """The entries that are not the paper's, after everything was looked at."""
    board = Board(roots)
    board.refresh()
    return [entry for entry in board.snapshot.entries if entry.source != "paper"]


def _change(file: Path, edit: Callable[[Any], None]) -> None:
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))


def _one(folder: Path, model: str) -> Path:
    """A made-up run of a model."""
    run = many_runs(folder, 1, 30) / "run000"
    _change(run / "run.json", lambda info: info["settings"].update(model=model))
    return run


def test_a_run_is_read_and_changes_are_seen(tmp_path: Path) -> None:
    root = many_runs(tmp_path, 2, 40)
    board = Board([root])
    assert not board.snapshot.ties_known
    board.refresh()
    first = board.snapshot
    assert first.ties_known
    board.refresh()
    assert board.snapshot.entries is first.entries, "nothing changed, nothing is worked out again"
    assert board.snapshot.version == first.version
    assert board.snapshot.read_at > first.read_at, "but it was looked at"
    _one(tmp_path / "late", "hf:org/Late-9B")
    board.refresh()
    assert {e.model for e in board.snapshot.entries} - {e.model for e in first.entries} == {"hf:org/Late-9B"}
    assert board.snapshot.version > first.version


def test_a_version_grows_when_ties_become_known(tmp_path: Path) -> None:
    board = Board([many_runs(tmp_path, 2, 40)])
    plain = board.snapshot
    board.refresh()
    assert (plain.ties_known, board.snapshot.ties_known) == (False, True)
    assert board.snapshot.version > plain.version


@pytest.mark.parametrize(
    ("scores", "info", "why"),
    [
        ("{", '{"settings": {"model": "m"}}', "torn"),
        ("[]", '{"settings": {"model": "m"}}', "a list"),
        ('{"by_category": 3}', '{"settings": {"model": "m"}}', "scores of another form"),
        ('{"judges": []}', '{"settings": "model"}', "settings of another form"),
        ("[" * 100_000, '{"settings": {"model": "m"}}', "nested beyond what can be read"),
    ],
)
def test_a_bad_folder_hides_no_other(tmp_path: Path, scores: str, info: str, why: str) -> None:
    root = many_runs(tmp_path, 1, 20)
    (root / "bad").mkdir()
    (root / "bad" / "scores.json").write_text(scores)
    (root / "bad" / "run.json").write_text(info)
    board = Board([root])
    assert [e.source for e in board.snapshot.entries if e.source != "paper"] == ["measured"], why
    assert judges.overview(board.snapshot.judges)[1], "the Judges tab reads what is left"


def _overall(**change: Any) -> Callable[[Any], None]:
    return lambda scores: scores["overall"].update(change)


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (_overall(value="55"), "a text cannot be ranked among numbers"),
        (_overall(value=True), "nor can a flag"),
        (_overall(value=float("nan")), "nothing is greater or less than NaN"),
        (_overall(value=float("inf")), "no page can carry it"),
        (_overall(value=10**400), "beyond what a float holds"),
        (_overall(n="20"), "a text is no count"),
        (_overall(n=-1), "nor is less than nothing"),
        (_overall(n=2**70), "beyond what JSON writers take"),
        (_overall(unscored=None), "a count that is none"),
        (_overall(ci95=[None, None]), "an interval without ends"),
        (_overall(ci95=[1.0]), "an interval with one end"),
        (_overall(ci95="ab"), "an interval that is a text"),
        (_overall(ci95=["1", "2"]), "ends that are texts"),
        (_overall(ci95=[float("nan"), 2.0]), "an end that is no number"),
        (lambda scores: scores["by_category"].update(Safety={"value": "x", "n": 1}), "a category that is no number"),
        (lambda scores: scores["by_language"].update(EN=[1, 2]), "a language of another form"),
    ],
)
def test_scores_that_cannot_be_drawn_hide_no_other_run(tmp_path: Path, edit: Callable[[Any], None], why: str) -> None:
    many_runs(tmp_path, 2, 20)
    _change(tmp_path / "run000" / "scores.json", edit)
    found = _shown(tmp_path)
    assert [entry.folder for entry in found] == [tmp_path / "run001"], why
    assert "Model-001" in table.to_csv(found)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("[" * 100_000, "nested beyond what can be read"),
        ('{"passed": "x", "id": "q0"}', "an outcome of another kind"),
        ("{", "torn"),
    ],
)
def test_judgments_that_cannot_be_read_leave_the_others_their_ties(tmp_path: Path, line: str, why: str) -> None:
    many_runs(tmp_path, 3, 20)
    (tmp_path / "run000" / "judgments.jsonl").write_text(line + "\n")
    board = Board([tmp_path])
    board.refresh()
    assert board.snapshot.ties_known, why
    bad = next(entry for entry in board.snapshot.entries if entry.folder == tmp_path / "run000")
    with pytest.raises(UserError, match="cannot be read"):
        Shelf().rows(bad)


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
                    (locked / "inner" / "scores.json").stat()
                found = [folder.name for folder in runs.folders([Path(made), Path(made, "x" * 300)])]
                read = [entry.source for entry in Board([Path(made)]).snapshot.entries if entry.source != "paper"]
        finally:
            locked.chmod(0o755)
    assert (found, read) == (["run000"], ["measured"]), why


def test_a_folder_that_is_gone_when_it_is_read_is_nothing(tmp_path: Path) -> None:
    assert runs.stamp(tmp_path / "gone") == ()
    assert runs.read(tmp_path / "gone") is None


def test_half_a_character_is_shown_as_a_question_mark(tmp_path: Path) -> None:
    patchy_run(tmp_path / "rules", tmp_path / "runs" / "patchy")
    run = _one(tmp_path / "runs" / "more", "hf:org/x\ud83c")
    # One more row, as short as the list of instances can draw it.
    whole = json.loads((run / "judgments.jsonl").read_text().splitlines()[0])
    row = {"id": "\ud83c", "language": "DE\udfff", "category": "", "passed": None, "verdicts": [], "messages": []}
    with (run / "judgments.jsonl").open("a") as lines:
        lines.write(json.dumps(whole | row) + "\n")
    found = _shown(tmp_path / "runs")
    assert {entry.model for entry in found} == {"scripted:Patchy-3B.json", "hf:org/x?"}
    assert b"hf:org/x?" in _sent(table.framed(found, columns.COLUMNS))
    patchy, named = sorted(found, key=lambda entry: entry.model, reverse=True)
    assert b'["?", "DE?"' in _sent(explorer.listing(list(Shelf().rows(named).values())))
    answered = Shelf().rows(patchy)
    assert b"Half of ?." in b"".join(_sent(conversation.render(row)) for row in answered.values())


def _sent(value: Any) -> bytes:
    """As it goes to a page: in UTF-8, which raises UnicodeEncodeError on half a character."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8")


def test_two_runs_of_the_same_settings_are_two_lines(tmp_path: Path) -> None:
    first = many_runs(tmp_path, 1, 30) / "run000"
    again = Path(shutil.copytree(first, tmp_path / "again"))
    lines = (again / "judgments.jsonl").read_text()
    (again / "judgments.jsonl").write_text(lines.replace("Answer", "Another answer"))
    assert len(_shown(tmp_path)) == 2, "answers differ, settings and scores do not"


def test_judgments_scored_by_another_protocol_are_two_lines(tmp_path: Path) -> None:
    first = many_runs(tmp_path, 1, 30) / "run000"
    shutil.copytree(first, tmp_path / "official")
    _change(tmp_path / "official" / "run.json", lambda info: info["settings"].update(protocol="official"))
    assert [entry.rank for entry in _shown(tmp_path)] == [1, 1], "and each is ranked among its own kind"


def test_a_copy_of_a_run_is_the_same_line(tmp_path: Path) -> None:
    first = many_runs(tmp_path / "here", 1, 30) / "run000"
    shutil.copytree(first, tmp_path / "there" / "copy")
    before, after = _shown(tmp_path / "there"), _shown(tmp_path / "here", tmp_path / "there")
    assert [entry.key for entry in after] == [entry.key for entry in before], "links stay, wherever the folder lies"
    assert after[0].folder == first, "the first folder named is the one that is read"


def test_a_copied_study_of_judges_is_the_same_line(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text('{"settings": {"data": "rubric_mini"}}')
        (tmp_path / name / "scores.json").write_text('{"judges": []}')
    assert len(Board([tmp_path]).snapshot.judges) == 1


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One run as it lies here, as it is published, and as somebody submits it."""
    folder = tmp_path_factory.mktemp("kinds")
    here = patchy_run(folder / "rules", folder / "here" / "patchy")
    stage_run(here, folder / "published")
    judgments = here / "judgments.jsonl"
    stage_file(judgments, validate(judgments), folder / "submitted")
    return {name: folder / name for name in ("here", "published", "submitted")}


def test_a_published_run_has_the_line_and_link_of_the_run_here(kinds: dict[str, Path]) -> None:
    here, published = (_shown(kinds[name]) for name in ("here", "published"))
    assert [entry.key for entry in here] == [entry.key for entry in published]
    both = _shown(kinds["here"], kinds["published"])
    assert [entry.folder for entry in both] == [kinds["here"] / "patchy"]
    assert here[0].setting == published[0].setting, "it may be ranked with what was measured here"


def test_a_submission_is_told_from_a_measured_run(kinds: dict[str, Path]) -> None:
    (entry,) = _shown(kinds["submitted"])
    assert (entry.source, entry.data, entry.model) == ("submitted", "mini", "scripted:Patchy-3B.json")


def test_a_submission_of_a_measured_run_adds_no_line(kinds: dict[str, Path]) -> None:
    for measured in ("here", "published"):
        (entry,) = _shown(kinds["submitted"], kinds[measured])
        assert entry.source == "measured", "wherever it is named first"


def test_a_submission_is_never_ranked_with_measured_runs(kinds: dict[str, Path], tmp_path: Path) -> None:
    # Another model's submission over the same data, by a judge of the same name.
    shutil.copytree(kinds["submitted"], tmp_path / "other")
    for file in (tmp_path / "other").rglob("run.json"):
        _change(file, lambda info: info["settings"].update(model="hf:org/Other-3B"))
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
    models = sorted(e.model.rpartition("/")[2] for e in now.entries if e.source == "measured")
    seen.append([models, now.stale, now.version])


with HubStub() as hub:
    os.environ.update(hub.env)
    from huggingface_hub import HfApi
    from truebench_hf.space.board.store import Board

    api = HfApi()
    api.create_repo("org/results", repo_type="dataset")
    api.upload_folder(repo_id="org/results", repo_type="dataset", folder_path=hub_run, path_in_repo="runs/hub")
    board = Board([local], "org/results")
    down = "GET", "/api/datasets/org/results", 503
    hub.fail_next(*down, times=2)
    look(board)
    late.rename(local / "late")
    look(board)
    look(board)  # the Hub answers
    look(board)
    hub.fail_next(*down)
    look(board)
look(Board([], "org/results"))  # a start without the Hub
print(json.dumps(seen))
"""


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
