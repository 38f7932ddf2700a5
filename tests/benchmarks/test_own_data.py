"""`run` on data of one's own: a few rows in any form, with nothing but prompts and criteria."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import command_here, row, run_scores, script, write_jsonl
from tests.test_rows import write
from truebench_hf.benchmarks.truebench import data
from truebench_hf.errors import UserError
from truebench_hf.results.report import Report
from truebench_hf.types import Score

ROWS = [
    {"prompt": "Name a colour.", "criteria": ["names a colour", "is one word"]},
    {"prompt": "Name a river.", "criteria": ["names a river"]},
]
FORMS: list[tuple[str, list[dict[str, Any]]]] = [
    ("rows.jsonl", ROWS),
    ("rows.csv", [r | {"criteria": "\n".join(r["criteria"])} for r in ROWS]),
]


@pytest.fixture
def models(tmp_path: Path) -> dict[str, Any]:
    """A model, and a judge who fails `is one word`; what the judge is asked is recorded."""
    fails = [{"contains": "<criteria", "verdicts": {"is one word": "FAIL", "slip": "FAIL"}}]
    return {
        "model": script(
            tmp_path / "model.json", [{"contains": "river", "reply": "The Rhine."}], {"reply": "Dark red."}
        ),
        "judge": script(tmp_path / "judge.json", fails),
        "judge_arg": {"record": str(tmp_path / "asked.jsonl")},
        "model_arg": {"record": str(tmp_path / "said.jsonl")},
        "out": str(tmp_path / "out"),
    }


def asked(tmp_path: Path, name: str = "asked") -> list[str]:
    return [json.loads(line)[-1] for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()]


def score(report: Report, name: str) -> tuple[float | None, int]:
    found = report.scores[name]
    assert isinstance(found, Score)
    return found.value, found.n


@pytest.mark.parametrize(("name", "rows"), FORMS, ids=[name for name, _ in FORMS])
def test_two_rows_run_end_to_end(
    tmp_path: Path, models: dict[str, Any], capsys: pytest.CaptureFixture[str], name: str, rows: list[dict[str, Any]]
) -> None:
    write(tmp_path / name, rows)
    arguments = [f"--model={models['model']}", f"--judge={models['judge']}", f"--out={models['out']}"]
    done = command_here(capsys, "run", f"--data={tmp_path / name}", *arguments)
    assert done.returncode == 0, done.stderr
    scores = run_scores(tmp_path / "out")
    assert (scores["overall"]["value"], scores["overall"]["n"]) == (0.5, 2)
    lines = [json.loads(line) for line in (tmp_path / "out" / "judgments.jsonl").read_text().splitlines()]
    assert [line["passed"] for line in lines] == [False, True]
    assert not {"by_category", "by_language", "by_task", "weighted"} & set(scores), "no groups, no weights"
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert not {"scores_category.csv", "scores_language.csv"} & files
    page = (tmp_path / "out" / "report.html").read_text()
    for word in ("Category", "Language", "By task", " · ·", " · </summary>"):
        assert word not in done.stdout + page.split("<script>")[0], "no empty groups are shown"
    printed = command_here(capsys, "study", "score", models["out"])
    assert printed.returncode == 0
    assert "50.00" in printed.stdout


def test_weights_and_faults(tmp_path: Path, models: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    worth = [
        {"text": "names a colour", "weight": 3},
        {"text": "is one word", "points": 1},
        {"text": "has a slip", "points": -2},
    ]
    rows = [
        {"prompt": "Name a colour.", "criteria": worth},  # met, not met, no fault: 3 of 4
        {
            "prompt": "Name a river.",
            "criteria": [{"text": "names a river"}, {"text": "names a lake", "weight": -5}],
        },  # 0
        {"prompt": "Name a lake.", "criteria": [{"text": "one"}, {"text": "a slip", "weight": -1}]},  # 1 of 1
    ]
    report = truebench_hf.run(data=write_jsonl(tmp_path / "rows.jsonl", rows), **models)
    assert score(report, "overall") == (pytest.approx(1 / 3), 3), "positive criteria met, negative ones not"
    assert score(report, "official") == score(report, "overall")
    assert score(report, "weighted") == (pytest.approx((0.75 + 0 + 1) / 3), 3)
    assert score(report, "soft_criterion") == (pytest.approx((2 / 3 + 1 / 2 + 1) / 3), 3)
    assert score(report, "drfr") == (pytest.approx(5 / 7), 7)
    assert sum("(This names a fault" in prompt for prompt in asked(tmp_path)) == 3
    lines = [json.loads(line) for line in (tmp_path / "out" / "judgments.jsonl").read_text().splitlines()]
    weights = [verdict.get("weight") for line in lines for verdict in line["verdicts"][0]]
    assert weights == [3, None, -2, None, -5, None, -1]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "(-5 points)" in page
    printed = command_here(capsys, "study", "score", models["out"]).stdout
    assert "Weighted share of points" in printed
    sampled = command_here(capsys, "label", "out", models["out"])
    assert (sampled.returncode, "criteria with negative points cannot be labelled" in sampled.stderr) == (2, True)
    for word, text in (("FAIL", "names a lake (-5 points)"), ("PASS", "has a slip (-2 points)")):
        assert re.search(rf">{word}</b>\s*<[^>]*>{re.escape(text)}", page, re.IGNORECASE), text


def test_turns_without_criteria_are_answered_and_not_judged(tmp_path: Path, models: dict[str, Any]) -> None:
    turns = [{"prompt": "Hello"}, {"prompt": "Name a colour.", "criteria": ["names a colour"]}, {"prompt": "Thanks"}]
    report = truebench_hf.run(data=write_jsonl(tmp_path / "rows.jsonl", [{"turns": turns}]), **models)
    assert len(asked(tmp_path)) == 1
    assert len(asked(tmp_path, "said")) == 3
    assert [score(report, name) for name in ("overall", "official", "soft_turn", "multi_turn")] == [(1.0, 1)] * 4
    assert report.usage["total"]["judge"]["calls"] == 1


def test_all_that_a_row_tells_is_used(tmp_path: Path, models: dict[str, Any]) -> None:
    messages = [
        {"role": "system", "content": "Speak as a painter."}, {"role": "user", "content": "I like warm ones."},
        {"role": "assistant", "content": "So do I."}, {"role": "user", "content": "Name a colour."},
    ]  # fmt: skip
    one = {"messages": messages, "context": "Ochre is an earth.", "reference": "Ochre.", "criteria": ["names a colour"]}
    report = truebench_hf.run(data=write_jsonl(tmp_path / "rows.jsonl", [one]), **models)
    assert score(report, "overall") == (1.0, 1)
    (said,) = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    assert said == ["Speak as a painter.", "Ochre is an earth.\n\nI like warm ones.", "So do I.", "Name a colour."]
    (prompt,) = asked(tmp_path)
    for text in ("Speak as a painter.", "I like warm ones.", "So do I.", "Ochre is an earth.", "Ochre.", "Dark red."):
        assert text in prompt, text


def test_answers_first_and_verdicts_later_keep_it_all(tmp_path: Path, models: dict[str, Any]) -> None:
    one = {"prompt": "Name a colour.", "system": "s", "context": "Ochre is an earth.", "reference": "Ochre.",
           "history": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi there"}],
           "criteria": [{"text": "a slip", "weight": -2, "condition": "it is said", "kind": "k"}, "names a colour"]}  # fmt: skip
    path = write_jsonl(tmp_path / "rows.jsonl", [one])
    from tests.support.stages import generate, judge
    from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions

    generate(GenerateOptions(data=path, model=models["model"], out=models["out"]))
    (line,) = (tmp_path / "out" / "responses.jsonl").read_text().splitlines()
    assert line.count("Ochre is an earth.") == 1, "a document stands there once"
    report = judge(
        JudgeGivenOptions(judge=models["judge"], judge_arg=(f"record={tmp_path / 'asked.jsonl'}",), out=models["out"])
    )
    assert (score(report, "overall"), score(report, "weighted")) == ((1.0, 1), (1.0, 1))
    (prompt,) = asked(tmp_path)
    for text in ("Hi there", "Ochre is an earth.", "Ochre.", "(It rests on this: it is said) (This names a fault"):
        assert text in prompt, text


def test_only_answers_need_no_criteria(
    tmp_path: Path, models: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [{"prompt": "Name a colour."}])
    chosen = [f"--data={path}", f"--model={models['model']}", f"--out={models['out']}"]
    refused = command_here(capsys, "run", *chosen, f"--judge={models['judge']}")
    assert refused.returncode == 2
    assert "line 1: has no criteria, and the file has prompt; " in refused.stderr
    assert command_here(capsys, "study", "generate", *chosen).returncode == 0
    rules = tmp_path / "rules.txt"
    rules.write_text("- names a colour\n- is one word\n")
    named = [f"--data={path}", f"--model={models['model']}", f"--criteria={rules}", f"--out={tmp_path / 'other'}"]
    done = command_here(capsys, "run", *named, f"--judge={models['judge']}")
    assert (done.returncode, "0.00" in done.stdout) == (0, True)


def test_columns_and_groups(tmp_path: Path, models: dict[str, Any]) -> None:
    rows = [
        {"question": r["prompt"], "checks": r["criteria"], "language": x} for r, x in zip(ROWS, ("DE", ""), strict=True)
    ]
    columns = {"prompt": "question", "criteria": "checks"}
    path = write_jsonl(tmp_path / "rows.jsonl", rows)
    report = truebench_hf.run(data=path, column=columns, **models)
    assert set(report.scores["by_language"]) == {"DE"}, "who tells no language is in no group"  # type: ignore[arg-type]
    assert "by_category" not in report.scores
    assert (tmp_path / "out" / "scores_language.csv").read_text().splitlines()[0].startswith("Model Name,Overall,KO,EN")
    with pytest.raises(UserError, match="--category Facts: the data names no category; leave it out"):
        data.select(data.load(path, ("prompt=question", "criteria=checks")), [], ["Facts"])


def test_the_hash_knows_all_that_shapes_calls_or_scores(tmp_path: Path) -> None:
    base = {"id": "1", "prompt": "p", "criteria": [{"text": "c"}]}
    changes: list[dict[str, Any]] = [
        {}, {"id": "2"}, {"prompt": "q"}, {"criteria": ["d"]}, {"criteria": [{"text": "c", "weight": 2}]},
        {"criteria": [{"text": "c", "weight": -1}]}, {"criteria": [{"text": "c", "condition": "x"}]},
        {"criteria": [{"text": "c", "kind": "x"}]}, {"system": "x"}, {"context": "x"}, {"reference": "x"},
        {"history": [{"role": "user", "content": "x"}]}, {"language": "x"}, {"category": "x"}, {"task": "x"},
        {"criteria": ["c", "c"]},
    ]  # fmt: skip
    hashes = [data.data_hash(data.load(write_jsonl(tmp_path / "r.jsonl", [base | change]))) for change in changes]
    assert len(set(hashes)) == len(changes)
    same = [base | {"note": "mine"}, {"id": "1", "prompt": "p", "rubric": "c"}, row("1", [("p", ["c"])], language="", category="", sub_category="")]  # fmt: skip
    for one in same:
        assert data.data_hash(data.load(write_jsonl(tmp_path / "r.jsonl", [one]))) == hashes[0], "of the content alone"
