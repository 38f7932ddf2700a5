"""What rewording moves: planted flips are found again, beside those of asking anew; nothing is dropped or asked twice."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.runs import script, write_jsonl
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval.comparisons import AGAIN, OTHERS
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.scores import MetaEvaluation
from truebench_hf.cli.app import app
from truebench_hf.data.judged import Case
from truebench_hf.errors import UserError
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Criterion

SECOND = "you are to find out whether the reply meets one requirement"  # words of the second wording alone
INSTRUCTIONS, EACH = 25, 4


def data(folder: Path) -> str:
    """25 instructions of four rubrics each, half of them met."""
    rows = [
        {"instruction_id": f"i{i}", "response_id": f"r{i}", "instruction_category": "constrained", "language": "EN",
         "messages": [{"role": "user", "content": f"Do {i}."}], "response": f"Done {i}.",
         "checklist": [f"rubric {i}-{j} holds" for j in range(EACH)], "rubric_index": j,
         "rubric": f"rubric {i}-{j} holds", "label": ("yes", "no")[j % 2], "rubric_type": "style_tone"}
        for i in range(INSTRUCTIONS)
        for j in range(EACH)
    ]  # fmt: skip
    return write_jsonl(folder / "data.jsonl", rows)


def judge(folder: Path, turned: Mapping[str, str], silent: tuple[str, ...] = ()) -> str:
    """Right about every rubric, but by the second wording, where it says of some what `turned` has."""
    right = {f"rubric {i}-{j} holds": ("PASS", "FAIL")[j % 2] for i in range(INSTRUCTIONS) for j in range(EACH)}
    rules: list[dict[str, Any]] = [{"contains": [SECOND, text], "reply": "Hm."} for text in silent]
    rules += [{"contains": [SECOND, text], "verdicts": {text: label}} for text, label in turned.items()]
    return script(folder / "judge.json", [*rules, {"contains": "", "verdicts": right}])


def nine() -> dict[str, str]:
    """Nine of the hundred rubrics, one of each of nine instructions, all of them met: 9 % flip, and nine are missed."""
    return {f"rubric {i}-0 holds": "FAIL" for i in range(9)}


def run(folder: Path, spec: str, **more: Any) -> MetaEvaluation:
    options = MetaevalOptions(
        data=str(folder / "data.jsonl"), judge=(spec,), paradigms="rubric", reworded=True, out=str(folder / "out"), **more
    )  # fmt: skip
    return metaeval(options)


def by_wording(study: MetaEvaluation, what: str) -> dict[str, Any]:
    """The flips or the balanced accuracy of every wording and draw."""
    return {row["asked"]: row.get(what) for row in study.tables["wordings"].rows}


def test_nine_per_cent_that_one_wording_turns_are_found(tmp_path: Path) -> None:
    data(tmp_path)
    study = run(tmp_path, judge(tmp_path, nine()))
    (found,), flipped = study.tables["rewording"].rows, by_wording(study, "flips")
    assert (flipped["second"].value, flipped["third"].value) == (0.09, 0.0)
    assert (found["by_wording"].value, found["by_wording"].n) == (0.045, 200), "two other wordings of 100 verdicts"
    assert (found["by_asking_again"].value, found["by_asking_again"].n) == (0.0, 200)
    # Of 50 met rubrics 41 are found by the second wording, of 50 unmet ones all: (82 + 100) / 2.
    scores = by_wording(study, "balanced_accuracy")
    assert [scores[name].value for name in ("first", *OTHERS)] == pytest.approx([1.0, 0.91, 1.0])
    assert found["moves"] == pytest.approx(0.09)
    assert found["decides"] == "no", "25 instructions tell no more than 85 to 100 %"
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Does the wording decide?" in text
    assert "temperature is 0" in text
    run_json = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert {row["facts"]["Wording"] for row in run_json["board"]["rows"]} == {
        "9.0 points between wordings, within its interval"
    }
    lines = [json.loads(line) for line in (tmp_path / "out" / "reworded.jsonl").read_text().splitlines()]
    assert len(lines) == 100 * len((*OTHERS, *AGAIN))
    assert sum(line["asked"] == "second" and line["label"] != line["gold"] for line in lines) == 9


def test_a_wording_that_leads_out_of_the_interval_is_marked(tmp_path: Path) -> None:
    data(tmp_path)
    study = run(tmp_path, judge(tmp_path, {f"rubric {i}-{j} holds": "FAIL" for i in range(20) for j in (0, 2)}))
    # 10 of 50 met rubrics found, all unmet ones.
    assert by_wording(study, "balanced_accuracy")["second"].value == pytest.approx(0.6)
    assert study.tables["rewording"].rows[0]["decides"] == "yes"
    board = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["board"]
    assert {row["facts"]["Wording"] for row in board["rows"]} == {"40.0 points between wordings, out of its interval"}


def test_a_steady_judge_is_not_marked_and_silence_is_counted(tmp_path: Path) -> None:
    data(tmp_path)
    study = run(tmp_path, judge(tmp_path, {}, silent=("rubric 3-1 holds",)))
    flipped = by_wording(study, "flips")["second"]
    assert (flipped.value, flipped.n, flipped.unscored) == (0.0, 99, 1)
    assert row_of(study.tables["rewording"], decides="no")["by_wording"].unscored == 1


def test_fresh_answers_are_calls_of_their_own_and_a_repeat_makes_none(tmp_path: Path) -> None:
    data(tmp_path)
    spec = judge(tmp_path, {})
    plain = MetaevalOptions(
        data=str(tmp_path / "data.jsonl"), judge=(spec,), paradigms="rubric", out=str(tmp_path / "out")
    )
    metaeval(plain)  # without first: rewording may join
    run(tmp_path, spec)
    run(tmp_path, spec)
    with closing(sqlite3.connect(tmp_path / "out" / "ledger.sqlite")) as db:
        calls = dict(db.execute("SELECT role, COUNT(*) FROM calls GROUP BY role"))
    assert calls == {f"{spec} rubric": 100, f"{spec} rubric reworded": 200, f"{spec} rubric again": 200}
    with pytest.raises(UserError, match="would be dropped"):
        metaeval(plain)


def test_votes_are_drawn_anew_too(tmp_path: Path) -> None:
    data(tmp_path)
    run(tmp_path, judge(tmp_path, {}), votes=3, judge_temperature=0.7, limit=2)
    with closing(sqlite3.connect(tmp_path / "out" / "ledger.sqlite")) as db:
        requests = [json.loads(text) for (text,) in db.execute("SELECT request FROM calls WHERE role LIKE '%again'")]
    assert {one["ask"]["sample"] for one in requests} == {3, 4, 5, 6, 7, 8}, "behind the three of the first"
    assert "temperature is 0" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_all_levels_at_once_by_command(tmp_path: Path) -> None:
    data(tmp_path)
    spec = judge(tmp_path, nine())
    line = f"metaeval --data {tmp_path / 'data.jsonl'} --judge {spec} --reworded --out {tmp_path / 'out'}"
    done = CliRunner().invoke(app, f"{line} --paradigms checklist,rubric,decision --limit 12".split())
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out" / "scores.json").read_text(encoding="utf-8"))["rewording"]
    assert [one["paradigm"] for one in found] == ["checklist", "rubric", "decision"]
    assert all(one["by_wording"]["n"] == 2 * 12 * EACH for one in found)


@pytest.mark.parametrize("name", ["checklist", "rubric", "decision", "decision_question"])
def test_wordings_differ_and_branch_alike(name: str) -> None:
    """A rule that a benchmark, a category, a reference or a condition brings is in every wording, or in none."""
    base = Case("Sum up.", "Done.", (Criterion("is short"),))
    reasons = itertools.product(
        ("truebench", "tick", ""), (None, "compositional", "multi_turn", "system"), (None, "Forty-two."), (None, "if it rains")
    )  # fmt: skip
    sizes: dict[str, list[int]] = {}
    chosen = {wording: Prompts({name: wording} if wording else {}) for wording in ("", *OTHERS)}
    for benchmark, category, reference, condition in reasons:
        criteria = (Criterion("is short", None, condition),)
        case = Case(
            base.instruction, base.response, criteria, category=category, benchmark=benchmark, reference=reference
        )
        for wording in ("", *OTHERS):
            text = chosen[wording].render(
                name, **sections(case), structured=False, reasoning=True, criterion="is short"
            )
            sizes.setdefault(wording, []).append(text.count("\n- ") if name != "decision" else text.count(". "))
    assert sizes[""] == sizes["second"] == sizes["third"] or name == "decision"
    for one, other in itertools.combinations(sizes, 2):  # a branch adds to all wordings, or to none
        steps = [[b > a for a, b in itertools.pairwise(sizes[way])] for way in (one, other)]
        assert steps[0] == steps[1]
    texts = {Prompts({name: wording} if wording else {}).source(name) for wording in ("", *OTHERS)}
    assert len(texts) == 3
