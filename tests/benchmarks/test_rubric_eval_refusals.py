"""What the studies of rubrics refuse before a folder is opened, one table per class of options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.arbitration import panel_specs, table_rows
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, calibrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions, contrast
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.taxonomy import TaxonomyOptions, taxonomy
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.errors import UserError

ANN, BOB, MIA, MAX = (f"scripted:{name}.json" for name in ("ann", "bob", "mia", "max"))
ANSWER = "'answer' is undefined; values on offer"
Cases = list[tuple[dict[str, Any], str]]
# By study: its call, its options, what a plain call has, and cases: options, and the message.
STUDIES: dict[str, tuple[Any, Any, dict[str, Any], Cases]] = {
    "metaeval": (metaeval, MetaevalOptions, {"judge": (ANN,), "paradigms": "rubric"}, [
        ({"paradigms": "rubrics"}, "unknown paradigm 'rubrics': did you mean rubric"),
        ({"paradigms": ","}, "names none"),
        ({"panel": "majority"}, "at least two judges"),
        ({"limit": 0}, "--limit 0"),
        ({"data": "absent.jsonl"}, "no such file"),
        ({"data": "unlabelled.jsonl"}, "no row has a label"),
        ({"judge_arg": ("2.record=x",)}, "there is no number 2; there is 1"),
        ({"votes": 3}, "temperature above 0"),
        ({"threshold": 0.0, "paradigms": "decision"}, "lies between 0 and 1"),
        ({"judge_temperature": -1.0}, "must be at least 0"),
        ({"judge_temperature": float("nan")}, "must be a finite number"),
        ({"judge": (ANN, ANN)}, "stands twice"),
        ({"judge": (ANN, ANN), "judge_arg": ("2.record=x",)}, "stands twice"),  # where an answer is noted shapes none
        ({"prompt": ("rubric=always.jinja",)}, ANSWER),
        ({"prompt": ("checklist=branch.jinja",), "paradigms": "checklist"}, ANSWER),  # in one branch only
        ({"prompt": ("checklist=structured.jinja",), "paradigms": "checklist-reasoning"}, ANSWER),
        ({"prompt": ("repair=plain.jinja",)}, ANSWER),  # asked for after a bad answer alone
        ({"prompt": ("decision_question=plain.jinja",), "paradigms": "decision"}, ANSWER),
        ({"attacks_each": 1}, "--attacks-each 1: is about --attacks"),
        ({"attacks_each": 0, "attacks": True}, "--attacks-each 0: must be at least 1"),
        ({"reworded": True, "prompt": ("rubric=plain",)}, "--reworded compares our wordings of rubric; leave out --prompt"),
    ]),
    "arbitrate": (arbitrate, ArbitrateOptions, {"judge": (ANN, BOB), "meta_judge": (MIA, MAX)}, [
        ({"judge": (ANN,)}, "at least two"),
        ({"meta_judge": (MIA,)}, "at least two"),
        ({"judge_level": "text"}, "unknown judge level"),
        ({"judge_level": "rubric"}, "is not for this command; checklist or decision"),
        ({"threshold": 1.0}, "--threshold 1.0: must be below 1"),
        ({"max_tokens": 0}, "must be at least 1"),
        ({"judge": (ANN, ANN)}, "--judge .* stands twice"),
        ({"meta_judge": (MIA, MIA)}, "--meta-judge .* stands twice"),
        ({"judge_concurrency": 0}, "--judge-concurrency 0: must be at least 1"),
        ({"responder_arg": ("seed=1",)}, "are about --responder; name one"),
        ({"data": "rubric_eval:bare.jsonl"}, "name a --responder"),
        ({"meta_judge": (MIA, "scripted:torn.json")}, "not a usable script"),
    ]),
    "calibrate": (calibrate, CalibrateOptions, {"judge": ANN}, [
        ({"kind": "plat"}, "did you mean platt"),
        ({"folds": 1}, "--folds 1: must be at least 2"),
    ]),
    "contrast": (contrast, ContrastOptions, {"writer": ANN, "judge": BOB}, [
        ({"max_edit": 1.5}, "--max-edit 1.5: must be below 1"),
        ({"data": "unlabelled.jsonl"}, "no row has a label"),
    ]),
    "taxonomy": (taxonomy, TaxonomyOptions, {"tsne": False}, [
        ({"limit": 0}, "--limit 0"),
        ({"data": "absent"}, "no such file"),
        ({"data": "nobench:x"}, "unknown source"),
    ]),
    "judge": (lambda options: options.settings, JudgeGivenOptions, {"data": None, "judge": (ANN,), "judge_level": "decision"}, [
        ({"calibration": "x"}, "truebench study calibrate"),  # no such file
    ]),
}  # fmt: skip
TEMPLATES = {
    "always": "{{ criteria }} {{ answer }}",
    "plain": "{{ answer }}",
    "branch": "{% if category == 'system' %}{{ answer }}{% endif %}",
    "structured": "{% if structured %}{{ answer }}{% endif %}",
}


@pytest.mark.parametrize(
    ("name", "more", "message"), [(name, *case) for name, (_, _, _, cases) in STUDIES.items() for case in cases]
)
def test_it_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, more: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    panel_specs(Path())
    script(Path("bob.json"), [])
    Path("torn.json").write_text("not a script")
    mini = mini_rows()[:8]
    write_jsonl(Path("data.jsonl"), mini)
    write_jsonl(Path("unlabelled.jsonl"), [row | {"label": None} for row in mini])
    write_jsonl(Path("bare.jsonl"), [row | {"response": None} for row in table_rows()])
    for file, text in TEMPLATES.items():
        Path(f"{file}.jinja").write_text(text)
    call, options, plain, _ = STUDIES[name]
    given = {"data": "data.jsonl", "out": "out"} | plain | more
    with pytest.raises(UserError, match=message):
        call(options(**{key: value for key, value in given.items() if value is not None}))
    assert not Path("out").exists(), "the right command may use the folder"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": None}, "no row has a label"),  # nothing to fit on
        ({"label": "yes"}, "some that are not"),  # one class tells nothing
        ({"instruction_id": "same"}, "several instructions"),  # nothing unseen to measure on
    ],
)
def test_data_that_cannot_be_calibrated_on_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    rows = json.loads(json.dumps(mini_rows()[:40]))
    judge = script(tmp_path / "judge.json", [], {"probability": 0.5})
    data = write_jsonl(tmp_path / "bad.jsonl", [row | change for row in rows])
    with pytest.raises(UserError, match=message):
        calibrate(CalibrateOptions(data=data, judge=judge, out=str(tmp_path / "out")))
