"""A run folder through its life: what may change later, files left over from another run, rows on their own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.people import sample
from tests.support.runs import Done, command_here, row, script, write_jsonl
from tests.support.stages import generate, judge, run
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.results import read_run
from truebench_hf.errors import UserError


class Folder:
    """A run folder, two models and a judge by script."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "out"
        self.data = write_jsonl(folder / "data.jsonl", [row(n, [(f"Say {n}.", [f"says {n}"])]) for n in (1, 2)])
        self.old = script(folder / "old.json", [{"contains": "Say", "reply": "as you wish"}])
        self.new = script(folder / "new.json", [{"contains": "Say", "reply": "no"}])
        self.judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])

    def generate(self, model: str, **more: Any) -> None:
        generate(GenerateOptions(data=self.data, model=(model,), out=str(self.out), **more))

    def judged(self, **more: Any) -> Any:
        given = {"judge": self.judge, "out": str(self.out)} | more
        return judge(JudgeGivenOptions(**given | {"judge": (given["judge"],)}))

    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "run.json").read_text(encoding="utf-8"))["settings"]
        return found

    def set(self, **settings: Any) -> None:
        """Change settings in `run.json`; `...` takes one out."""
        info = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        changed = {key: value for key, value in (info["settings"] | settings).items() if value is not ...}
        (self.out / "run.json").write_text(json.dumps(info | {"settings": changed}), encoding="utf-8")

    def without_ledger(self) -> None:
        """The ledger moved away, so that nothing binds any more."""
        (self.out / "ledger.sqlite").rename(self.folder / "ledger.old")
        info = json.loads((self.out / "run.json").read_text(encoding="utf-8"))
        (self.out / "run.json").write_text(json.dumps(info | {"results": {}}), encoding="utf-8")
        for name in ("responses.jsonl", "report.html", "scores.json"):  # moved away, as the command asks for
            (self.out / name).unlink(missing_ok=True)
        shutil.rmtree(self.out / "tables", ignore_errors=True)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


# --- what may change once there are results -------------------------------------------------------------------------


def test_a_judge_that_timed_out_is_mended_in_its_folder_and_may_move(folder: Folder) -> None:
    folder.generate(folder.old)
    with OpenAIServer() as server:
        server.add_faults([{"match": {"contains": "Say 2"}, "hang": 1.0}])
        one = {"judge": "openai:j", "judge_base_url": server.url}
        short = ("timeout=0.3", "deadline=0.3")
        assert list(folder.judged(**one, judge_arg=short).unscored) == ["2"]
        assert folder.judged(**one, judge_arg=("timeout=30",)).unscored == {}
        moved = server.url.replace("127.0.0.1", "localhost").replace("http://", "http://me:hushed@")
        calls = server.stats()["by_kind"]["judge"]
        assert folder.judged(judge="openai:j", judge_base_url=moved).usage["now"] == {}
        assert folder.judged(judge="openai:j", judge_arg=(f"base_url={moved}",)).usage["now"] == {}
        assert server.stats()["by_kind"]["judge"] == calls, "nothing is asked twice"
    text = (folder.out / "run.json").read_text(encoding="utf-8")
    assert "base_url=http://localhost" in text, "what was said is noted"
    assert "hushed" not in text


def test_what_shapes_verdicts_stays_bound(folder: Folder) -> None:
    folder.generate(folder.old)
    with OpenAIServer() as server:
        one = {"judge": "openai:j", "judge_base_url": server.url, "judge_level": "cascade"}
        one |= {"cascade_judge": "openai:c", "cascade_judge_base_url": server.url}
        folder.judged(**one, cascade_judge_arg=("timeout=20",))
        folder.judged(**one, cascade_judge_arg=("timeout=30",))
        changes: list[tuple[dict[str, Any], str]] = [
            ({"judge": "openai:other"}, "judge: "),
            ({"judge_arg": ("reasoning_effort=low",)}, r"judge_models\.judge openai:j\.options\.reasoning_effort"),
            ({"cascade_judge_arg": ("omit=temperature",)}, r"judge_models\.cascade_judge\.options\.omit"),
        ]
        for more, bound in changes:
            with pytest.raises(UserError, match=bound):
                folder.judged(**one | more)


# --- files left over from another run -------------------------------------------------------------------------------


def test_files_of_another_run_are_not_taken_for_those_of_the_new_one(folder: Folder) -> None:
    folder.generate(folder.old)
    folder.judged()
    responses = folder.out / "responses.jsonl"
    stale = responses.read_bytes()
    folder.without_ledger()
    folder.generate(folder.new)
    other = r"of .* judged by .* run\.json tells, or this file, but not both"
    for read in (read_run, lambda out: read_run(out / "judgments.jsonl"), lambda out: sample(str(out), 1, ["ann"])):
        with pytest.raises(UserError, match=other):
            read(folder.out)
    fresh = responses.read_text(encoding="utf-8")
    responses.write_bytes(stale)  # as if generating had been stopped before its end
    with pytest.raises(UserError, match=r"holds answers of .*old\.json, run\.json there is about .*new\.json; finish"):
        folder.judged()
    first, second = fresh.splitlines(keepends=True)
    for part in (first, first + second + first):
        responses.write_text(part, encoding="utf-8")
        with pytest.raises(UserError, match="does not hold the answers"):
            folder.judged()
    responses.write_text(fresh, encoding="utf-8")
    folder.judged()


def test_answers_that_cannot_be_read_are_one_line(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.generate(folder.old)
    for content, said in (
        (b"", "holds no answers"),
        (b'{"id": "\xff"}\n', "line 1: not JSON"),
        (b"{}\n", "line 1: not a line of responses.jsonl: missing field 'id'; the file has none"),
    ):
        (folder.out / "responses.jsonl").write_bytes(content)
        done = command_here(capsys, "judge", "--judge", folder.judge, "--out", str(folder.out))
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
        assert said in done.stderr


# --- rows on their own ----------------------------------------------------------------------------------------------


def score(capsys: pytest.CaptureFixture[str], path: Path) -> Done:
    capsys.readouterr()
    done = command_here(capsys, "study", "score", str(path))
    return Done(done.returncode, " ".join(done.stdout.split()), done.stderr)


def test_judgments_alone_are_scored_like_their_folder(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    run(RunOptions(data=folder.data, model=folder.old, judge=(folder.old,), out=str(folder.out), allow_unscored=True))
    whole, alone = score(capsys, folder.out), score(capsys, folder.out / "judgments.jsonl")
    assert ", checklist" in whole.stdout
    assert "Self-judged" in whole.stdout
    assert (alone.returncode, alone.stdout) == (whole.returncode, whole.stdout)


@pytest.fixture
def lines(folder: Folder) -> list[dict[str, Any]]:
    """Two rows of judgments, whose folder is gone."""
    run(RunOptions(data=folder.data, model=folder.old, judge=(folder.judge,), out=str(folder.out)))
    text = (folder.out / "judgments.jsonl").read_text(encoding="utf-8")
    shutil.rmtree(folder.out)
    return [json.loads(line) for line in text.splitlines()]


def test_rows_without_their_folder_keep_its_warnings(
    lines: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model, judges, notes in (
        ("openai:qwen3-8b", "hf:Qwen/Qwen2.5-7B", ["Self-judged"]),
        ("openai:gpt-5", "hf:org/a + openai:gpt-4.1 (majority)", ["Self-judged"]),
        ("openai:gpt-5", "hf:org/a + smollm2 + hf:org/c (weighted 2,1,1)", ["SmolLM2"]),
        ("openai:gpt-5", "hf:Qwen/Qwen2.5-7B", []),
    ):
        file = write_jsonl(tmp_path / "judgments.jsonl", [lines[0] | {"model": model, "judge": judges}])
        done = score(capsys, Path(file))
        assert done.returncode == 0, done.stderr
        assert [note for note in ("Self-judged", "SmolLM2") if note in done.stdout] == notes


@pytest.mark.parametrize("other", [{"model": "openai:b"}, {"judge": "openai:k"}], ids=["models", "judges"])
def test_rows_of_two_models_or_judges_are_scored_apart(
    lines: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str], other: dict[str, str]
) -> None:
    first = {"model": "openai:a", "judge": "openai:j"}
    rows = [lines[0] | first, lines[1] | first | other]

    def scored(*rows: dict[str, Any]) -> Done:
        return score(capsys, Path(write_jsonl(tmp_path / "judgments.jsonl", rows)))

    both, alone = scored(*rows), [scored(row).stdout for row in rows]
    assert (both.returncode, both.stderr) == (0, "")
    assert both.stdout == " ".join(alone), "one report after the other, as from a file each"
    ((field, name),) = other.items()
    assert (first[field] in alone[0], name in alone[1]) == (True, True)
    assert scored(*rows, *rows).stdout.count("1 rows stand twice") == 2, "a row of another model is no double"
