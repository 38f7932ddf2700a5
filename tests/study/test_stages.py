"""What a review found in the life of studies: stages in one folder, roles with one spec twice, what binds, what stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.openai_server import OpenAIServer
from tests.support.runs import held, script, write_jsonl
from tests.support.stages import generate, judge, run
from truebench_hf import UserError
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.run import Run
from truebench_hf.options import facts
from truebench_hf.space.board.store import BoardStore

ROWS = [{"prompt": f"Say {n}.", "criteria": [f"is {n}"]} for n in range(6)]


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Any]:
    """Options of a run of six rows with scripted models."""
    model = script(tmp_path / "m.json", [])
    judges = script(tmp_path / "j.json", [{"contains": "<criteria", "verdicts": {}}])
    data = write_jsonl(tmp_path / "d.jsonl", ROWS)
    return {"data": data, "model": model, "judge": (judges,), "out": str(tmp_path / "out")}


def _answers(made: dict[str, Any], **more: Any) -> None:
    generate(GenerateOptions(**{name: made[name] for name in ("data", "model", "out")}, **more))


def test_the_judging_stage_keeps_what_was_noted_of_the_data(made: dict[str, Any]) -> None:
    _answers(made, limit=4, seed=3)
    judge(JudgeGivenOptions(judge=made["judge"], out=made["out"]))
    info = held(Path(made["out"], "run.json"))
    kept = {name: info["settings"].get(name) for name in ("data", "limit", "seed", "items")}
    assert kept == {"data": made["data"], "limit": 4, "seed": 3, "items": 4}
    assert info["board"]["rows"][0]["facts"]["Data"] == "d.jsonl, sample of 4"


def test_answers_asked_for_again_leave_the_run_on_the_board(made: dict[str, Any]) -> None:
    run(RunOptions(**made))
    _answers(made)
    assert [entry.source for entry in BoardStore([Path(made["out"])]).snapshot.entries if entry.folder] == ["measured"]


def test_options_of_the_data_need_responses() -> None:
    words, several = dict.fromkeys(("criteria", "model_name"), "x"), dict.fromkeys(("language", "category"), ("x",))
    for name, value in {"seed": 9, "limit": 1, "column": ("prompt=q",), **words, **several}.items():
        with pytest.raises(UserError, match=rf"--{name.replace('_', '-')} goes with --responses"):
            JudgeGivenOptions(judge=("smollm2",), out="o", **{name: value})


def test_fewer_items_are_told_of(made: dict[str, Any]) -> None:
    run(RunOptions(**made))
    notes = Run(RunOptions(**made, limit=2)).run().notes
    assert "There were results of 6 items here, now of 2; --limit 6 brings them back without a call." in notes


def test_labels_are_read_before_anything_is_paid(made: dict[str, Any]) -> None:
    Path(made["out"]).mkdir()
    (Path(made["out"]) / "labels.jsonl").write_text("not JSON\n")
    with pytest.raises(UserError, match=r"labels\.jsonl, line 1"):
        run(RunOptions(**made))
    assert not (Path(made["out"]) / "ledger.sqlite").exists()


def test_two_models_of_one_spec_are_both_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told apart by their arguments alone: each has a part of its own in the ledger."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with OpenAIServer(record=1000) as server:
        options = ArbitrateOptions(
            data="rubric_mini", limit=2, out=str(tmp_path / "out"), judge=("openai:x", "openai:x"),
            judge_base_url=server.url, judge_arg=("1.extra_body={\"top_k\":1}", "2.extra_body={\"top_k\":2}"),
            meta_judge=("openai:x", "openai:y"), meta_judge_base_url=server.url,
        )  # fmt: skip
        arbitrate(options)
        asked = {body.get("top_k") for body in server.stats()["bodies"]}
    assert {1, 2} <= asked
    assert {"coarse openai:x#1", "coarse openai:x#2"} <= set(held(tmp_path / "out" / "run.json")["usage"]["total"])


@pytest.mark.parametrize(
    ("level", "threshold", "noted"),
    [
        (None, 0.3, ({"openai:j": "rubric"}, None)),
        ("rubric", 0.5, ({"openai:j": "rubric"}, None)),
        ("decision", 0.3, ({"openai:j": "decision"}, 0.3)),
    ],
    ids=["a threshold nobody uses", "the level by its name", "a threshold that decides"],
)
def test_what_shapes_nothing_binds_nothing(level: str | None, threshold: float, noted: tuple[Any, Any]) -> None:
    given = ContrastOptions(
        data="d", writer="openai:w", judge="openai:j", out="o", judge_level=level, threshold=threshold
    )
    fields = [ContrastOptions.model_fields[name] for name in ("judge_level", "threshold")]
    values: list[Any] = [facts(field).binds for field in fields]
    assert tuple(binds.value(given) for binds in values) == noted


def test_a_threshold_needs_the_paradigm_it_is_about() -> None:
    with pytest.raises(UserError, match="are about the decision paradigm"):
        MetaevalOptions(data="d", judge=("smollm2",), out="o", paradigms="rubric", threshold=0.3)


def test_rows_of_parquet_and_pandas_are_rows(tmp_path: Path) -> None:
    import pandas

    rows = [{"id": n, "prompt": "p", "criteria": ["good"]} for n in (1, 2)] + [{"prompt": "q", "criteria": ["fine"]}]
    pandas.DataFrame(rows).to_parquet(tmp_path / "x.parquet")
    report = truebench_hf.run(
        data=pandas.read_parquet(tmp_path / "x.parquet"), responses=["a", "b", "c"],
        judge=lambda messages: '{"criteria_1": "PASS"}',
    )  # fmt: skip
    assert [item.instance.id for item in report.judged][:2] == ["1", "2"], "a gap makes floats of whole numbers"
