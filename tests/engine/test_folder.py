"""The run folder: it belongs to one run, and its files are whole or absent."""

from __future__ import annotations

import errno
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.cli.studies import _COMMANDS, load
from truebench_hf.engine.folder import RunFolder, read_info
from truebench_hf.errors import UserError
from truebench_hf.types import Usage

SETTINGS: dict[str, Any] = {"data": "mini", "model": "openai:m", "limit": None, "language": ("DE",)}
SETTINGS |= {"sampling": {"top_p": 1.0, "max_tokens": 9}, "models": {"model": {"seed": 1}}}


def opened(
    path: Path, settings: dict[str, Any] = SETTINGS, free: tuple[str, ...] = (), *, paid: bool = True
) -> dict[str, Any]:
    """Open a folder, have a completion committed where `paid`, and close it; returns its info."""
    folder = RunFolder(str(path), settings, free)
    if paid:
        folder.ledger.put("key", "model", "{}", {}, Usage())
    folder.ledger.close()
    return folder.info


def test_the_same_run_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "run"
    opened(out)
    info = opened(out)
    assert len(info["sessions"]) == 2
    assert info["settings"]["language"] == ["DE"]
    assert info["versions"]["python"]
    assert read_info(out) == info


def test_the_texts_behind_prompt_hashes_stay_unless_a_session_says_otherwise(tmp_path: Path) -> None:
    mine = {"rubric": {"path": "mine.jinja", "text": "Is it met?"}}
    for given, kept in ((mine, mine), (None, mine), ({}, {})):
        RunFolder(str(tmp_path), SETTINGS, (), given).ledger.close()
        assert read_info(tmp_path)["replaced_prompts"] == kept, "None is a session that fills no prompt"


@pytest.mark.parametrize(
    ("change", "words", "reason"),
    [
        ({"model": "openai:n"}, r'\(model: "openai:m" there, "openai:n" now\)', "another model, and only what differs"),
        ({"limit": 3, "language": ()}, r'\(limit: null there, 3 now; language: \["DE"\] there, \[\] now\)', "two options"),
        ({"data": "x" * 200}, "x… now", "long values are cut"),
        ({"sampling": {"top_p": 1.0, "max_tokens": 7}}, r"\(sampling.max_tokens: 9 there, 7 now\)", "inside an object"),
        ({"models": {"model": {"seed": 1, "top_k": 2}}}, r"\(models.model.top_k: null there, 2 now\)", "was not given"),
        ({"models": {"model": {}}}, r"\(models.model.seed: 1 there, null now\)", "an option that is gone"),
    ],
)  # fmt: skip
def test_other_options_are_refused_by_name(tmp_path: Path, change: dict[str, Any], words: str, reason: str) -> None:
    opened(tmp_path)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(UserError, match=f"other options .*{words}"):
        RunFolder(str(tmp_path), SETTINGS | change)
    assert (tmp_path / "run.json").read_bytes() == before, "nothing is lost"
    assert len(opened(tmp_path)["sessions"]) == 2, "the refused run does not keep the folder locked"


def test_another_entry_of_an_object_may_join_and_stays(tmp_path: Path) -> None:
    opened(tmp_path)
    for joining in ({"judge a": {"seed": 2}}, {"judge b": {"seed": 3}}):
        opened(tmp_path, SETTINGS | {"models": joining})
    with pytest.raises(UserError, match=r"models\.judge a\.seed: 2 there, 4 now"):
        RunFolder(str(tmp_path), SETTINGS | {"models": {"judge a": {"seed": 4}}})
    joined = {"model": {"seed": 1}, "judge a": {"seed": 2}, "judge b": {"seed": 3}}
    assert read_info(tmp_path)["settings"]["models"] == joined


def test_what_is_free_may_change_and_leaves_nothing_behind(tmp_path: Path) -> None:
    opened(tmp_path, SETTINGS | {"judge": "j", "cascade_judge": "k"}, ("judge", "cascade_judge"))
    settings = opened(tmp_path, SETTINGS | {"judge": "other"}, ("judge", "cascade_judge"))["settings"]
    assert (settings["judge"], settings.get("cascade_judge")) == ("other", None)


def test_an_unwritable_folder_is_the_users_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="cannot write there"):
            RunFolder(str(out), SETTINGS)

    def denied(*given: Any, **more: Any) -> Any:  # by the system's word: whoever runs as root may write anywhere
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    with pytest.raises(UserError, match=r"cannot write there: .*Permission denied; choose another folder"):
        RunFolder(str(tmp_path), SETTINGS)


STUDIES: list[Any] = [load(name)[1] for name in _COMMANDS]


def test_files_of_somebody_else_are_not_overwritten(tmp_path: Path) -> None:
    for name in {"run.json"}.union(*(study.files for study in STUDIES)):
        files = next((study.files for study in STUDIES if name in study.files), ())
        folder = tmp_path / f"a {name}"
        theirs = folder / name / "mine.txt" if name == "labels" else folder / name  # the one that is a folder
        theirs.parent.mkdir(parents=True)
        theirs.write_text("{}")
        with pytest.raises(UserError, match=f"holds {name}, which no run of ours left there; choose another folder"):
            RunFolder(str(folder), SETTINGS, files=files)
        assert [path.name for path in folder.iterdir()] == [name], "nothing is added"
        assert theirs.read_text() == "{}"


def test_a_folder_of_another_kind_or_format_is_not_continued(tmp_path: Path) -> None:
    RunFolder(str(tmp_path), SETTINGS, kind="truebench").ledger.close()
    assert {name: read_info(tmp_path)[name] for name in ("kind", "format")} == {"kind": "truebench", "format": 1}
    with pytest.raises(UserError, match="holds a study of kind truebench, not contrast; choose another folder"):
        RunFolder(str(tmp_path), SETTINGS, kind="contrast")
    RunFolder(str(tmp_path), SETTINGS).ledger.close()  # whatever it is
    info = read_info(tmp_path)
    assert info["kind"] == "truebench"
    (tmp_path / "run.json").write_text(json.dumps(info | {"format": 0}))
    for kind in ("", "truebench"):
        with pytest.raises(UserError, match="was made by another version"):
            RunFolder(str(tmp_path), SETTINGS, kind=kind)


def test_what_no_run_overwrites_and_what_is_empty_may_be_there(tmp_path: Path) -> None:
    (tmp_path / "judgments.jsonl").touch()
    for name in ("data.jsonl", "labels.jsonl", "notes.txt"):
        (tmp_path / name).write_text("mine")
    for content in ("from the run", "from a later one"):
        RunFolder(str(tmp_path), SETTINGS, files=("judgments.jsonl", "labels")).ledger.close()
        (tmp_path / "judgments.jsonl").write_text(content)
    assert len(read_info(tmp_path)["sessions"]) == 2, "what the run wrote is its own"


def test_files_are_whole_or_absent(tmp_path: Path) -> None:
    folder = RunFolder(str(tmp_path), SETTINGS)
    folder.write_lines("a.txt", ["old"])

    def parts() -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write_lines("a.txt", parts())
    assert (tmp_path / "a.txt").read_text() == "old"
    folder.ledger.close()


FILES = ("scores.json", "judgments.jsonl")


def finished(path: Path, settings: dict[str, Any] = SETTINGS) -> RunFolder:
    """A session that has a completion committed, writes results and ends."""
    folder = RunFolder(str(path), settings, kind="truebench", files=FILES)
    folder.ledger.put("key", "model", "{}", {}, Usage(calls=1))
    for name in FILES:
        folder.write_lines(name, ["{}"])
    folder.finish(judges=["j"])
    folder.ledger.close()
    return folder


@pytest.mark.parametrize("content", [b"", b'{"settings": {"data"', b"[" * 100_000, b'{"settings": 3}', b"\xff\xfe"])
def test_a_torn_run_json_is_made_again_from_the_ledger_once_it_is_moved_away(tmp_path: Path, content: bytes) -> None:
    finished(tmp_path)
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(UserError, match=r"run\.json: cannot be read: .*move it and the results beside it away"):
        finished(tmp_path)
    for name in ("run.json", *FILES):
        (tmp_path / name).unlink()
    folder = RunFolder(str(tmp_path), SETTINGS, kind="truebench", files=FILES)
    assert folder.ledger.get("key") == {}, "nothing is asked twice"
    folder.ledger.close()


def test_a_run_json_that_was_edited_stays_readable(tmp_path: Path) -> None:
    info = finished(tmp_path).info
    text = json.dumps(info | {"comment": "the good one"})
    (tmp_path / "run.json").write_text(text, encoding="utf-8-sig")  # with a byte order mark
    again = finished(tmp_path).info
    assert (again["comment"], again["settings"], again["judges"]) == ("the good one", info["settings"], ["j"])


@pytest.mark.parametrize("wrong", [None, 3, ["x"], {"total": {"model": {"calls": "x"}}}])
def test_no_value_in_a_run_json_leads_to_a_traceback(tmp_path: Path, wrong: Any) -> None:
    info = finished(tmp_path).info
    for name in info:
        (tmp_path / "run.json").write_text(json.dumps(info | {name: wrong}))
        with suppress(UserError):
            finished(tmp_path)
        (tmp_path / "run.json").write_text(json.dumps(info))


def test_results_whose_ledger_is_gone_are_named_before_anything_is_asked(tmp_path: Path) -> None:
    finished(tmp_path)
    before = {name: (tmp_path / name).read_bytes() for name in ("run.json", *FILES)}
    lost = r"lost its ledger.*scores\.json, judgments\.jsonl replaced.*move these files"
    (tmp_path / "ledger.sqlite").unlink()
    for _ in range(2):  # an empty ledger is as good as none
        with pytest.raises(UserError, match=lost):
            finished(tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    for name in FILES:
        (tmp_path / name).unlink()
    assert finished(tmp_path, SETTINGS | {"model": "openai:n"}).info["settings"]["model"] == "openai:n", "begun anew"


def test_what_asks_nothing_goes_on_without_a_ledger_and_leaves_what_it_cost(tmp_path: Path) -> None:
    """Labels are read into a run that was fetched."""
    spent = finished(tmp_path).info["usage"]["total"]
    (tmp_path / "ledger.sqlite").unlink()
    folder = RunFolder(str(tmp_path), {})
    folder.finish()
    folder.ledger.close()
    assert read_info(tmp_path)["usage"]["total"] == spent


def test_a_run_that_paid_for_nothing_needs_no_ledger(tmp_path: Path) -> None:
    for _ in range(2):
        folder = RunFolder(str(tmp_path), SETTINGS, kind="truebench", files=FILES)
        folder.write_lines("scores.json", ["{}"])
        folder.finish()
        folder.ledger.close()
        (tmp_path / "ledger.sqlite").unlink()
    assert [bool(session["finished"]) for session in read_info(tmp_path)["sessions"]] == [True, True]


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "scratch")
    with pytest.raises(UserError, match=r"out is a link to .*scratch, which is not there; make that folder first"):
        finished(tmp_path / "out")
    (tmp_path / "scratch").mkdir()
    finished(tmp_path / "out")
    finished(tmp_path / "scratch")
    assert len(read_info(tmp_path / "out")["sessions"]) == 2
    assert (tmp_path / "out").is_symlink()
    held = RunFolder(str(tmp_path / "out"), SETTINGS, kind="truebench", files=FILES)
    with pytest.raises(UserError, match="in use by another run"):
        finished(tmp_path / "scratch")
    held.ledger.close()


def test_a_folder_that_was_moved_or_copied_goes_on(tmp_path: Path) -> None:
    finished(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "moved")
    assert len(finished(tmp_path / "moved").info["sessions"]) == 2
    folder = RunFolder(str(tmp_path / "moved"), SETTINGS, kind="truebench", files=FILES)
    folder.ledger.put("other", "model", "{}", {}, Usage())
    shutil.copytree(tmp_path / "moved", tmp_path / "copy")  # while it runs
    folder.ledger.close()
    copy = RunFolder(str(tmp_path / "copy"), SETTINGS, kind="truebench", files=FILES)
    assert copy.ledger.usage()["total"]["model"].calls == 2
    copy.ledger.close()


def test_links_that_are_planted_later_are_replaced(tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    mine.write_text("mine")
    folder = RunFolder(str(out), SETTINGS)
    for name in ("a.txt", "a.txt.part"):
        for plant in (Path.symlink_to, Path.hardlink_to):
            (out / name).unlink(missing_ok=True)
            plant(out / name, mine)
            folder.write_lines("a.txt", ["ours"])
            assert (out / "a.txt").read_text() == "ours"
            assert not (out / "a.txt").is_symlink()
            assert mine.read_text() == "mine"
    folder.ledger.close()
