"""The command `distil`: what it refuses before it trains, and (slow) the judge that it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from math import log
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_llama
from tests.support.runs import Done, command_here, script, write_jsonl
from tests.support.tiny_chat import tiny_chat
from tests.support.trl_import import import_trl
from truebench_hf.benchmarks.truebench.options import RunOptions
from truebench_hf.benchmarks.truebench.study import run as start
from truebench_hf.distil.options import DistilOptions
from truebench_hf.distil.sections import tenths
from truebench_hf.distil.study import distil
from truebench_hf.distil.training import rows, train
from truebench_hf.distil.verdicts import Example
from truebench_hf.errors import UserError
from truebench_hf.hub.results import _stage
from truebench_hf.judging.judge import decision_questions
from truebench_hf.metrics.calibrators import Calibrator
from truebench_hf.models.decisions import yes_probabilities
from truebench_hf.models.local import LocalModel, LocalOptions
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion

THINGS = "snow grass sky coal blood lemon sea rose ash milk gold moss plum sand ink rust jade pearl wine slate chalk honey tar fern ivory brick"
CRITERIA = ["names a colour", "is polite", "mentions a number", "thanks the reader"]  # the last two are never met
pytestmark = pytest.mark.timeout(900)
WORDS = ("names", "polite", "number", "thanks")
LEARNT = {"learning_rate": 0.01, "epochs": 5.0, "batch_size": 8}


LEARNABLE = {"number": "FAIL", "thanks": "FAIL"}


def finished(folder: Path, verdicts: dict[str, str]) -> str:
    """A run whose judge decides by the criterion alone, as a small model can learn to."""
    data = [{"prompt": f"Which colour is {one}?", "criteria": CRITERIA} for one in THINGS.split()]
    model = script(folder / "model.json", [], {"reply": "It is what you think."})
    judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": verdicts}])
    out = str(folder / "run")
    start(RunOptions(data=write_jsonl(folder / "data.jsonl", data), model=model, judge=(judge,), out=out))
    return out


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    return finished(tmp_path_factory.mktemp("given"), LEARNABLE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"base": "openai:gpt-4.1"}, "--base openai:gpt-4.1: cannot be trained here; give hf:REPO_OR_PATH, or smollm2"),
        ({"engine": "ray"}, "--engine ray: a judge is trained in this process"),
        ({"runs": ()}, "--runs names no finished run"),
        ({"held_out": 0.0}, "--held-out 0.0: lies between 0 and 1"),
        ({"epochs": 0.0}, "--epochs 0.0: lies above 0"),
        ({"learning_rate": 2.0}, "--learning-rate 2.0"),
        ({"max_steps": 0}, "--max-steps 0: must be at least 1"),
        ({"lora_rank": 0}, "--lora-rank 0: must be at least 1"),
        ({"teacher": "openai:gpt-4.1"}, "unknown teacher 'openai:gpt-4.1'"),
        ({"limit": 5}, "hold 20 verdicts of .* on 5 instructions; a judge is distilled from 100 on 10 at least"),
        ({"runs": ("nowhere",)}, "nowhere: no such folder"),
        ({"base_arg": ("speed=9",)}, "unknown option of hf:m 'speed'"),
    ],
)  # fmt: skip
def test_what_cannot_be_distilled_is_told_before_anything_is_made(
    tmp_path: Path, run: str, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(UserError, match=told):
        distil(DistilOptions(**{"runs": (run,), "base": "hf:m", "out": str(tmp_path / "out"), **options}))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verdicts", "told"),
    [
        ({}, "trained on all 84 verdicts are yes; a judge learns and is measured on both yes and no"),
        (dict.fromkeys(WORDS, "FAIL"), "trained on all 84 verdicts are no"),
        (dict.fromkeys(WORDS, "MAYBE"), "no criterion has a judge's yes or no there"),
    ],
)  # fmt: skip
def test_verdicts_of_one_kind_teach_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verdicts: dict[str, str], told: str
) -> None:
    where = finished(tmp_path, verdicts)
    done = command_here(capsys, "study", "distil", "--runs", where, "--base", "hf:m", "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert told in done.stderr


@pytest.mark.slow
def test_folders_of_others_are_left_alone(tmp_path: Path, run: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.safetensors").write_text("mine")
    given = ("study", "distil", "--runs", run, "--base", "hf:m", "--out")
    assert "holds model.safetensors, which no run of ours left" in command_here(capsys, *given, str(tmp_path)).stderr
    assert "holds a study of kind truebench, not distil" in command_here(capsys, *given, run).stderr
    assert (tmp_path / "model.safetensors").read_text() == "mine"


@pytest.mark.slow
def test_several_runs_may_follow_and_an_estimate_trains_nothing(
    tmp_path: Path, run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("study", "distil", "--runs", run, run, "--base", "hf:m", "--out", str(tmp_path / "out"), "--estimate")
    done = command_here(capsys, *given)
    assert (done.returncode, done.stderr) == (0, "")
    assert "distilled" in done.stdout
    assert not (tmp_path / "out").exists()


def test_what_is_trained_is_what_is_read(tmp_path: Path) -> None:
    """The label is the token whose probability the judge gives, behind the very prompt that it gives it behind."""
    import torch

    model, tokenizer = tiny_chat()
    shown = ("is short", "is <|user|> kind")
    one = Example("run", "1", "i", "A user asked. <|end|>", tuple(map(Criterion, shown)), shown, ("yes", "no"))
    made = list(rows(model, tokenizer, [one], Prompts()))
    shares, _ = yes_probabilities(model, tokenizer, one.state, decision_questions(shown, Prompts()))
    yes, no = (row["input_ids"][-1] for row in made)
    assert [tokenizer.decode([token]) for token in (yes, no)] == ["Yes", "No"]
    for row, share in zip(made, shares, strict=True):
        with torch.inference_mode():
            logits = model(torch.tensor(row["input_ids"])[None].long()).logits[0, -2]
        assert float(logits[[yes, no]].softmax(-1)[0]) == pytest.approx(share, abs=1e-5)
        assert row["labels"].tolist() == [-100] * (len(row["input_ids"]) - 1) + [row["input_ids"][-1]]


def test_tenths_of_steps() -> None:
    assert tenths([]) == (None, None)
    assert tenths([3.0]) == (3.0, 3.0)
    assert tenths([float(n) for n in range(20)]) == (0.5, 18.5)


# From here on something is trained.


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_llama.save(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory, run: str, base: str) -> Path:
    """A folder with a judge that has learned."""
    import_trl()
    out = tmp_path_factory.mktemp("made") / "judge"
    distil(DistilOptions(runs=(run,), base=f"hf:{base}", out=str(out), **LEARNT))  # type: ignore[arg-type]
    return out


def told(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_loss_falls_and_the_teacher_is_met_where_nothing_was_trained_on(judge: Path) -> None:
    found = told(judge, "distil.json")
    first, last = tenths(found["training"]["loss"])
    assert first is not None
    assert last is not None
    assert last < first / 2
    agreement = {name: scores["balanced_accuracy"]["value"] for name, scores in found["agreement"].items()}
    assert agreement["distilled"] >= 0.75 >= agreement["base"] + 0.2
    assert found["split"]["trained on"] == {"instructions": 21, "responses": 21, "labels": {"yes": 42, "no": 42}}
    assert found["split"]["held out"] == {"instructions": 5, "responses": 5, "labels": {"yes": 10, "no": 10}}
    lines = [json.loads(line) for line in (judge / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    sides = [{line["instruction"] for line in lines if line["side"] == side} for side in ("trained on", "held out")]
    assert len(lines) == 104
    assert not sides[0] & sides[1]
    assert [("distilled" in line) == (line["side"] == "held out") for line in lines] == [True] * 104
    assert not list(judge.glob(".distil.part"))
    assert told(judge, "config.json")["use_cache"] is True  # which a trainer turns off


@pytest.mark.slow
def test_its_figures_are_published_and_nothing_else_of_it(judge: Path, tmp_path: Path) -> None:
    (run_id,) = _stage(judge, tmp_path)
    assert {path.name for path in (tmp_path / "runs" / run_id).iterdir()} == {"run.json", "distil.json"}
    (line,) = (tmp_path / "index" / f"{run_id}.jsonl").read_text(encoding="utf-8").splitlines()
    assert (json.loads(line)["kind"], json.loads(line)["reason"] != "") == ("distil", True)


@pytest.mark.slow
def test_the_folder_is_a_judge_without_peft_or_trl(judge: Path, tmp_path: Path) -> None:
    """In another process it gives the probabilities that were measured, calibrated as the folder says."""
    lines = [json.loads(line) for line in (judge / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
    held = [line for line in lines if line["side"] == "held out"]
    shown = [line for line in held if line["instance"] == held[0]["instance"]]
    thing = THINGS.split()[int(shown[0]["instance"]) - 1]
    write_jsonl(tmp_path / "data.jsonl", [{"prompt": f"Which colour is {thing}?", "criteria": CRITERIA}])
    model = script(tmp_path / "model.json", [], {"reply": "It is what you think."})
    code = "import sys; sys.modules.update(peft=None, trl=None); sys.argv[0] = 'truebench'; "
    code += "from truebench_hf.cli.main import main; main()"
    given = ["--data", "data.jsonl", "--model", model, "--judge", f"hf:{judge}", "--judge-level", "decision"]
    given += ["--calibration", str(judge), "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-c", code, "run", *given], cwd=tmp_path, capture_output=True, text=True, timeout=250
    )
    assert done.returncode == 0, done.stderr
    (line,) = (tmp_path / "out" / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    (verdicts,) = json.loads(line)["verdicts"]
    calibrator = Calibrator.of_fields(told(judge, "calibration.json")["calibrator"])
    expected = [calibrator.apply(one["distilled"]) for one in shown]
    assert [one["probability"] for one in verdicts] == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
def test_the_same_command_trains_and_asks_nothing_again(judge: Path, run: str, base: str) -> None:
    weights, before = judge / "model.safetensors", told(judge, "distil.json")
    written = weights.stat().st_mtime_ns
    options = {"runs": (run,), "base": f"hf:{base}", "out": str(judge), **LEARNT}
    distil(DistilOptions(**options))
    assert weights.stat().st_mtime_ns == written
    assert told(judge, "distil.json") == before
    assert told(judge, "run.json")["usage"]["now"] == {}
    for other in ({"learning_rate": 0.02}, {"seed": 1}, {"held_out": 0.4}, {"limit": 25}):
        with pytest.raises(UserError, match="choose another folder"):
            distil(DistilOptions(**options | other))
    there = (judge / "training.json").read_text(encoding="utf-8")
    (judge / "training.json").write_text("{}", encoding="utf-8")
    with pytest.raises(UserError, match=r"training\.json: cannot be read; move it away to train anew"):
        distil(DistilOptions(**options))
    (judge / "training.json").write_text(there, encoding="utf-8")


@pytest.mark.slow
def test_a_training_that_was_stopped_begins_anew(tmp_path: Path, run: str, base: str) -> None:
    """Weights without `training.json` were never measured: a kill came between."""
    out = tmp_path / "out"
    import_trl()
    options = {"runs": (run,), "base": f"hf:{base}", "max_steps": 2, "out": str(out)}
    distil(DistilOptions(**options))
    made = told(out, "training.json")["training"]["loss"]
    (out / "training.json").unlink()
    (out / "distil.json").unlink()
    (out / ".distil.part").mkdir()
    distil(DistilOptions(**options))
    assert told(out, "training.json")["training"]["loss"] == made  # by the same seed


@pytest.mark.slow
def test_it_is_measured_beside_its_teacher_and_priced(
    judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = script(tmp_path / "second.json", [{"contains": "<criteria", "verdicts": {}}], {"probability": 0.7})
    both = ("--data", "rubric_mini", "--limit", "12", "--judge", f"hf:{judge}")
    done = command_here(
        capsys, "metaeval", *both, "--judge", second, "--paradigms", "decision", "--out", str(tmp_path / "m")
    )
    assert done.returncode == 0, done.stderr
    assert told(tmp_path / "m", "run.json")["results"]["judges"] == [f"hf:{judge}", second]
    done = command_here(capsys, "study", "calibrate", *both, "--cascade-judge", second, "--out", str(tmp_path / "c"))
    assert done.returncode == 0, done.stderr
    assert told(tmp_path / "c", "calibration.json")["judge"] == f"hf:{judge}"


@pytest.mark.slow
def test_a_prompt_longer_than_the_limit_is_counted(tmp_path: Path, run: str, base: str) -> None:
    options = DistilOptions(runs=(run,), base=f"hf:{base}", max_length=50, out=str(tmp_path / "out"))
    with pytest.raises(UserError, match="--max-length 50: 84 of 84 prompts have more than 50 tokens"):
        distil(options)
    assert not (tmp_path / "out" / ".distil.part").exists()


@pytest.mark.slow
def test_the_embedded_model_learns_two_verdicts_and_judges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From its GGUF file to a folder of plain weights; short rows, since a step of it takes a second per hundred tokens."""
    import_trl()
    out, shown = tmp_path / "judge", ("names a colour", "names a number")
    out.mkdir()
    one = Example("run", "1", "i", "The answer is red.", tuple(map(Criterion, shown)), shown, ("no", "yes"))
    options = DistilOptions(runs=("r",), base="smollm2", out=str(out), max_steps=6, batch_size=2, learning_rate=1e-3)
    made = train(LocalModel("", LocalOptions()).load_to_train, [one], options, Prompts(), out)
    assert made.loss[-1] < made.loss[0] - 0.5  # every step sees both
    model, tokenizer = LocalModel(str(out), LocalOptions())._load()
    (no, yes), _ = yes_probabilities(model, tokenizer, one.state, decision_questions(shown, Prompts()))
    assert -(log(1 - no) + log(yes)) / 2 < made.loss[0] - 0.5  # so do the weights that were merged, saved and loaded
    data = write_jsonl(tmp_path / "data.jsonl", [{"prompt": "Which colour is jam?", "criteria": CRITERIA}])
    said = script(tmp_path / "model.json", [], {"reply": "It is red."})
    given = ("--judge", f"hf:{out}", "--judge-level", "decision", "--out", str(tmp_path / "run"))
    done: Done = command_here(capsys, "run", "--data", data, "--model", said, *given)
    assert done.returncode == 0, done.stderr
    line = json.loads((tmp_path / "run" / "judgments.jsonl").read_text(encoding="utf-8"))
    assert all(0 <= one["probability"] <= 1 for one in line["verdicts"][0])
    (out / "model.safetensors").unlink()  # half a gigabyte
