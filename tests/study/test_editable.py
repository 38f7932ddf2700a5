"""Files that people edit are never written over: lived by the colours, whose answers may be edited and given back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.study.colours import ColourOptions, Colours, Row
from tests.support.runs import script, write_jsonl
from truebench_hf.data import jsonl
from truebench_hf.engine.folder import RunFolder, read_info
from truebench_hf.errors import UserError
from truebench_hf.options import option
from truebench_hf.study.outcome import Outcome


class GivenOptions(ColourOptions):
    """With answers that somebody has edited."""

    answers: str | None = option(None, help="File of answers.")


class Edited(Colours):
    """Uses given answers; writes a plan, too, and one per thing, which no option takes back."""

    files = ("answers.jsonl", "plan.yaml", "plans")
    editable = {"answers.jsonl": "answers", "plan.yaml": ""}  # noqa: RUF012

    async def work(self, row: Row) -> Row:
        given = getattr(self.options, "answers", None)
        known = {row["thing"]: row for _, row in jsonl.read(given)} if given else {}
        return known.get(row["thing"]) or await super().work(row)

    def score(self, done: Sequence[Row]) -> Outcome[float | None]:
        outcome = super().score(done)
        plans = {f"plans/{row['thing']}/plan.yaml": f"of: {row['thing']}\n" for row in done}
        return replace(outcome, items={**outcome.items, "plan.yaml": "a: 1\nb: half \ud83d\n", **plans})


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    rows = [{"thing": "snow", "colour": "white"}, {"thing": "coal", "colour": "black"}]
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    model = script(tmp_path / "model.json", [{"contains": "colour", "reply": "It is white."}])

    def again(**more: Any) -> float | None:
        return Edited(GivenOptions(data=data, model=model, out=str(tmp_path / "out"), **more)).run().value

    return again


def test_what_was_edited_is_used_or_left_alone(run: Callable[..., Any], tmp_path: Path) -> None:
    assert run() == run() == 0.5
    file, mine = tmp_path / "out" / "answers.jsonl", tmp_path / "mine.jsonl"
    text = file.read_text().replace('"It is white.", "right": false', '"It is black.", "right": true')
    file.write_text(text)
    for estimate in (False, True):
        told = rf"answers\.jsonl was edited since it was written; add --answers {file} to use it \(finished"
        with pytest.raises(UserError, match=told):
            run(estimate=estimate)
    assert file.read_text() == text
    assert run(answers=str(file)) == run(answers=str(file)) == 1.0
    with pytest.raises(UserError, match="was edited since it was written"):
        run()
    assert file.read_text().count("black") == 2, "what people wrote stays theirs"
    file.rename(mine)
    assert [run(), run(answers=str(mine)), run()] == [0.5, 1.0, 0.5], "moved away, or a copy, it is written anew"


@pytest.mark.parametrize("name", ["plan.yaml", "plans/snow/plan.yaml"])
def test_what_no_option_takes_back_is_left_alone(run: Callable[..., Any], tmp_path: Path, name: str) -> None:
    run()
    file = tmp_path / "out" / name
    for content in (b"a: 2\n", b"", "a: 1\nb: 2\n".encode("utf-16")):
        file.write_bytes(content)
        with pytest.raises(UserError, match=rf"{name} was edited since it was written; use another --out, or move it"):
            run()
        assert file.read_bytes() == content


def test_a_file_that_somebody_put_there_is_an_edit(run: Callable[..., Any], tmp_path: Path) -> None:
    run()
    out = tmp_path / "out"
    (out / "plans" / "coal" / "plan.yaml").unlink()
    run()
    info = read_info(out)
    folder = RunFolder(str(out), {})
    folder.note(written={name: hashes for name, hashes in info["written"].items() if "coal" not in name})
    folder.ledger.close()
    with pytest.raises(UserError, match=r"coal/plan\.yaml was edited"):
        run()


def test_killed_between_two_files_nothing_counts_as_edited(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = RunFolder.write_lines
    for last in ("scores.json", "answers.jsonl", "plan.yaml", "plans/snow/plan.yaml"):

        def killed(self: RunFolder, name: str, parts: Any, last: str = last) -> Path:
            made = write(self, name, parts)
            if name == last:
                raise KeyboardInterrupt
            return made

        with monkeypatch.context() as patched:
            patched.setattr(RunFolder, "write_lines", killed)
            with pytest.raises(KeyboardInterrupt):
                run()
    assert run() == 0.5


def test_edits_while_the_study_runs_are_not_lost(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    file = tmp_path / "out" / "answers.jsonl"
    for given in ({}, {"answers": str(file)}):

        def edited(self: Edited) -> None:
            rows = [row for _, row in jsonl.read(file)]
            write_jsonl(file, [row | {"mine": len(row)} for row in rows])

        with monkeypatch.context() as patched:
            patched.setattr(Edited, "setup", edited)
            with pytest.raises(UserError, match="was edited since"):
                run(**given)
        assert all("mine" in row for _, row in jsonl.read(file))
