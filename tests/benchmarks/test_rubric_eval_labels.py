"""A researcher's own labels: prompt, response, criterion, label and nothing else, from a file and from Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import truebench_hf
from tests.support.runs import command, script
from truebench_hf.errors import UserError
from truebench_hf.types import Score

ROW = {"prompt": "Name a fruit", "response": "Plum", "criterion": "names a fruit", "label": 1}


def rows(count: int = 12) -> list[dict[str, Any]]:
    """Two criteria a prompt: the first is met, the second is not."""
    met = [{"prompt": f"Prompt {n}", "response": "Yes.", "criterion": "is short", "label": 1} for n in range(count)]
    unmet = [{"prompt": f"Prompt {n}", "response": "Yes.", "criterion": "is long", "label": 0} for n in range(count)]
    return [row for pair in zip(met, unmet, strict=True) for row in pair]


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """Right about all but the prompts 0 and 1, whose second criterion it takes to be met."""
    lenient = [{"contains": ["<criteria", f"Prompt {n}<"], "verdicts": {}} for n in (0, 1)]
    lenient += [{"contains": ["<criteria", f"Prompt {n}\n"], "verdicts": {}} for n in (0, 1)]
    return script(tmp_path / "judge.json", [*lenient, {"contains": "<criteria", "verdicts": {"is long": "FAIL"}}])


def test_a_file_of_four_columns_ends_in_a_table_for_a_screen(tmp_path: Path, judge: str) -> None:
    pd.DataFrame(rows()).to_csv(tmp_path / "labels.csv", index=False)
    out, source = tmp_path / "out", str(tmp_path / "labels.csv")
    done = command("metaeval", "--data", source, "--judge", judge, "--paradigms", "checklist,rubric", "--out", str(out))
    assert done.returncode == 0, done.stderr
    table = [line for line in done.stdout.splitlines() if "│" in line or "┃" in line]
    paradigms = [cells[2].strip() for cells in (line.split("│") for line in table[1:]) if cells[2].strip()]
    assert paradigms == ["checklist", "rubric"], "a row a judge and paradigm, and nothing beside; long names are broken"
    assert max(map(len, table)) <= 100
    names = [cell.strip() for cell in table[0].strip("┃").split("┃")]
    assert names == ["Judge", "Paradigm", "BAcc", "95 % interval", "macro F1", "kappa", "decided"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Paper rows" not in page
    assert "by category" not in page, "no categories, so no table by category"
    (found, _) = json.loads((out / "scores.json").read_text(encoding="utf-8"))["judges"]
    assert found["balanced_accuracy"]["value"] == pytest.approx((1 + 10 / 12) / 2)
    assert found["kappa"]["value"] == pytest.approx(10 / 12)
    assert found["kappa"]["interval"][0] < 10 / 12 <= found["kappa"]["interval"][1] <= 1
    assert found["mean"]["value"] is None


def test_categories_of_ones_own_have_a_table_and_break_no_leaderboard(tmp_path: Path, judge: str) -> None:
    given = [row | {"category": ("judge", "Multi-turn")[n % 2]} for n, row in enumerate(rows())]
    for name, kept in (("mixed", given), ("own", given[::2])):
        pd.DataFrame([*kept, ROW | {"label": 0, "category": "judge"}]).to_csv(tmp_path / f"{name}.csv", index=False)
        out = tmp_path / name
        line = f"metaeval --data {tmp_path / name}.csv --judge {judge} --paradigms rubric --out {out}"
        done = command(*line.split())
        assert done.returncode == 0, done.stderr
        page = (out / "report.html").read_text(encoding="utf-8")
        assert "Balanced accuracy by category" in page
        listed = command("leaderboard", str(out), "--kind", "metaeval")
        assert listed.returncode == 0, listed.stderr
        assert "left out" not in listed.stdout + listed.stderr
        assert "Balanced accuracy ┃" in listed.stdout, "of all rows, where the paper's four categories are not there"
        assert ("50.00" if name == "own" else "88.46") in listed.stdout


def test_two_judges_are_held_against_each_other(tmp_path: Path, judge: str) -> None:
    pd.DataFrame(rows()).to_csv(tmp_path / "labels.csv", index=False)
    lax, out = script(tmp_path / "lax.json", [{"contains": "<criteria", "verdicts": {}}]), tmp_path / "out"
    judges = ("--judge", judge, "--judge", lax, "--paradigms", "rubric", "--out", str(out))
    done = command("metaeval", "--data", str(tmp_path / "labels.csv"), *judges)
    assert done.returncode == 0, done.stderr
    assert "Judges against each other" in done.stdout
    (gap,) = json.loads((out / "scores.json").read_text(encoding="utf-8"))["differences"]
    assert (gap["first"], gap["second"], gap["paradigm"], gap["ahead"]) == (judge, lax, "rubric", "first")
    difference = gap["difference"]
    assert difference["value"] == pytest.approx(10 / 12 / 2)
    assert 0 < difference["interval"][0] < difference["value"] < difference["interval"][1]


@pytest.mark.parametrize("form", ["frame", "dicts", "file", "gaps"])
def test_judge_agreement_in_python(tmp_path: Path, judge: str, form: str) -> None:
    given: Any = rows()
    unlabelled = 0
    if form == "frame":
        given = pd.DataFrame(given).set_index(pd.Index([0] * len(given)))
    elif form == "file":
        pd.DataFrame(given).to_parquet(tmp_path / "labels.parquet")
        given = tmp_path / "labels.parquet"
    elif form == "gaps":  # a missing label makes floats of the others
        given, unlabelled = pd.DataFrame([*given, ROW | {"label": None}]), 1
    found = truebench_hf.judge_agreement(given, judge=judge, paradigms="rubric")
    (row,) = found.to_dict("records")
    assert (row["judge"], row["paradigm"]) == (judge, "rubric")
    counts = [row[name] for name in ("n", "undecided", "unlabelled", "tp", "tn", "fp", "fn")]
    assert counts == [24, 0, unlabelled, 12, 10, 2, 0]
    assert isinstance(row["balanced_accuracy"], Score)
    assert row["accuracy"].value == pytest.approx(22 / 24)
    assert row["accuracy"].ci95 is not None


def test_judge_agreement_by_group_and_of_several_judges(tmp_path: Path, judge: str) -> None:
    data_ = pd.DataFrame(
        [row | {"language": "de" if n < 8 else "en", "category": "gold"} for n, row in enumerate(rows())]
    )
    lax = script(tmp_path / "lax.json", [{"contains": "<criteria", "verdicts": {}}])
    found = truebench_hf.judge_agreement(
        data_, judge=[judge, lax], by=["language", "category"], paradigms="rubric", out=tmp_path / "kept"
    )
    assert list(found[["judge", "language"]].itertuples(index=False, name=None)) == [
        (name, language) for name in (judge, lax) for language in ("de", "en")
    ]
    assert set(found["category"]) == {"gold"}  # groups have the name that they were asked by
    assert list(found.loc[found["judge"] == judge, "fp"]) == [2, 0]
    assert (tmp_path / "kept" / "scores.json").exists()


def test_judge_agreement_refuses_what_is_wrong(judge: str) -> None:
    with pytest.raises(UserError, match="by='mood': the groups are category, language"):
        truebench_hf.judge_agreement(rows(1), judge=judge, by=["mood"], paradigms="rubric")
    with pytest.raises(UserError, match="no row has a label"):
        truebench_hf.judge_agreement([ROW | {"label": None}], judge=judge)
    with pytest.raises(UserError, match="holds no rows"):
        truebench_hf.judge_agreement([], judge=judge)
