"""`truebench check --anchors`: a judge that no longer agrees with its labels is told apart from a worse application."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.finished import finished, numbered
from tests.support.runs import command_here, script
from truebench_hf.comparing.anchors import ALPHA
from truebench_hf.comparing.gate_statistics import score_loss

ANCHORS = 60


def judged(folder: Path, capsys: pytest.CaptureFixture[str], name: str, wrong: int, paradigm: str = "rubric") -> str:
    """A meta-evaluation of 60 answers that all meet their criterion; the judge is wrong on the first ones."""
    data = folder / "anchors.csv"
    rows = [f"Say {n}.,Answer <{n}>.,is right,1" for n in range(ANCHORS)]
    data.write_text("\n".join(["prompt,response,criterion,label", *rows]), encoding="utf-8")
    rules = [{"contains": f"<{n}>", "verdicts": {"is right": "FAIL"}} for n in range(wrong)]
    spec = script(folder / "judge.json", [*rules, {"contains": "", "verdicts": {}}])  # the same name, changed behind it
    out = str(folder / name / "out")
    done = command_here(
        capsys, "metaeval", "--data", str(data), "--judge", spec, "--paradigms", paradigm, "--no-cache", "--out", out
    )
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return finished(tmp_path_factory.mktemp("run"), "app", numbered([True] * 20))


@pytest.mark.parametrize(
    ("wrong", "code", "line"),
    [
        (6, 0, "The judge agrees with 90% of 60 labels, before with 90%."),
        (8, 0, "The judge agrees with 87% of 60 labels, before with 90%."),
        (15, 4, "The judge has drifted, and nothing is said of the application: it agrees with 75% of 60 labels"),
    ],
)
def test_a_judge_that_has_drifted_ends_with_4(
    run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: int, code: int, line: str
) -> None:
    before, now = judged(tmp_path, capsys, "before", 6), judged(tmp_path, capsys, "now", wrong)
    done = command_here(capsys, "check", run, "--against", run, "--anchors", now, "--anchors-before", before)
    assert done.returncode == code, done
    assert line in " ".join(done.stdout.split())


def test_what_cannot_be_held_together_is_a_line(run: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, other = judged(tmp_path, capsys, "a", 0), judged(tmp_path, capsys, "b", 0, "checklist")
    for arguments, text in (
        (("--anchors", before), "give both"),
        (("--anchors", before, "--anchors-before", other), "judge both in one way"),
        (("--anchors", run, "--anchors-before", before), "is no row of a meta-evaluation"),
    ):
        done = command_here(capsys, "check", run, "--against", run, *arguments)
        assert (done.returncode, text in done.stderr, done.stderr.count("\n")) == (2, True, 1), done


def test_a_fall_from_90_to_75_percent_is_caught_by_60_anchors_in_80_percent_of_runs() -> None:
    """Each anchor keeps how hard it is; judgments of different days are independent given that."""
    random = np.random.default_rng(1)
    runs, caught, suspected = 2000, 0, 0
    for _ in range(runs):
        days = random.random((3, ANCHORS))
        before, same, fallen = (days < np.array([[0.9], [0.9], [0.75]])).astype(float)
        caught += score_loss(before, fallen).bounds(ALPHA)[0] > 0  # type: ignore[index]
        suspected += score_loss(before, same).bounds(ALPHA)[0] > 0  # type: ignore[index]
    assert caught >= 0.8 * runs - 54, f"{caught} of {runs}; three standard errors are 54"
    assert suspected <= 0.1 * runs + 40, f"{suspected} of {runs}"
