"""What cannot be trained, or not be written, in a line each; and a study whose training is a copy, which takes no time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.runs import command_here, script, write_jsonl
from tests.support.tiny_chat import tiny_chat
from truebench_hf.distil import study
from truebench_hf.distil.options import DistilOptions
from truebench_hf.distil.training import MODEL_FILES, Training, _pad, _run, _save, rows, train
from truebench_hf.distil.verdicts import Example
from truebench_hf.errors import UserError
from truebench_hf.judging.calibrated import read_calibration
from truebench_hf.models import loading
from truebench_hf.models.fingerprint import fingerprint
from truebench_hf.models.local import LocalModel
from truebench_hf.models.protocol import Decision, DecisionRequest
from truebench_hf.models.spec import open_model
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Usage

OPTIONS = DistilOptions(runs=("r",), base="hf:m", out="o")
ONE = Example("run", "1", "i", "state", (Criterion("a"),), ("a",), ("yes",))


@pytest.mark.slow
def test_a_base_without_chat_template_is_refused(tmp_path: Path) -> None:
    model, tokenizer = tiny_chat()
    tokenizer.chat_template = None
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    base: Any = open_model(f"hf:{tmp_path}")
    with pytest.raises(UserError, match=f"hf:{tmp_path}: has no chat template; choose an instruction-tuned model"):
        base.load_to_train()


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"hf_quantizer": object()}, "hf:m: its weights are quantised; choose the checkpoint that was not"),
        ({"_hf_peft_config_loaded": True}, "hf:m: is an adapter; merge it into its base"),
    ],
)
def test_a_base_that_nothing_can_be_merged_into_is_refused(
    monkeypatch: pytest.MonkeyPatch, model: dict[str, Any], told: str
) -> None:
    monkeypatch.setattr(loading, "_loaded", lambda *_: (SimpleNamespace(**model), None))
    base: Any = open_model("hf:m")
    with pytest.raises(UserError, match=told):
        base.load_to_train()


def test_a_folder_without_a_model_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    for spec in (f"hf:{tmp_path}", f"reward:{tmp_path}", f"hf-classifier:{tmp_path}"):
        model: Any = open_model(spec)
        with pytest.raises(UserError, match=f"{spec}: that folder holds no model; check the path"):
            model._load()


@pytest.mark.parametrize("labels", [(), ("Yes",)])
def test_a_tokenizer_without_the_words_is_refused(labels: tuple[str, ...]) -> None:
    """Else several tokens would have to be learned, of which a decision judge reads one."""
    model, tokenizer = tiny_chat(labels=labels)
    with pytest.raises(UserError, match=r"--base: gives no yes or no: The labels .* this model; choose another model"):
        list(rows(model, tokenizer, [ONE], Prompts()))
    assert len(list(rows(*tiny_chat(), [ONE], Prompts()))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("losses", "step"), [((1.0, float("nan"), 2.0), 2), ((float("inf"),), 1)])
def test_a_lost_loss_leaves_no_judge(losses: Sequence[float], step: int) -> None:
    log = [{"loss": loss} for loss in losses] + [{"train_runtime": 1.0}]
    trainer = SimpleNamespace(add_callback=lambda _: None, train=lambda: None, state=SimpleNamespace(log_history=log))
    with pytest.raises(
        UserError, match=f"--learning-rate 0.0002: at step {step} the loss is no number any more; lower it"
    ):
        _run(trainer, OPTIONS)
    log[:] = [{"loss": 2.0}, {"loss": 1.0}, {"train_runtime": 1.0}]
    assert _run(trainer, OPTIONS) == (2.0, 1.0)


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    def full(folder: Path) -> None:
        folder.mkdir()
        raise OSError(28, "No space left on device")

    (tmp_path / ".part").mkdir()  # of somebody else
    with pytest.raises(UserError, match=r"the trained judge cannot be written: .*No space left on device; make room"):
        train(lambda: (None, SimpleNamespace(save_pretrained=full)), [ONE], OPTIONS, Prompts(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".part"]


def test_the_weights_can_be_read_by_whom_the_rest_can(tmp_path: Path) -> None:
    """Libraries write them for their owner alone, and a judge is for others, too."""
    part = tmp_path / "part"
    part.mkdir()

    def save(folder: Path, **_: Any) -> None:
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"w")
        (folder / "model.safetensors").chmod(0o600)

    _save(SimpleNamespace(save_pretrained=save, name_or_path=""), part, tmp_path)
    assert (tmp_path / "model.safetensors").stat().st_mode == (tmp_path / "config.json").stat().st_mode


def test_a_tokenizer_that_names_no_padding_gets_some() -> None:
    _, tokenizer = tiny_chat()
    assert _pad(tokenizer) is None
    tokenizer.pad_token = None
    assert _pad(tokenizer) is None  # trl takes the end of a text then
    tokenizer.eos_token = None
    assert _pad(tokenizer) in tokenizer.get_vocab()


THINGS = [f"thing {number}" for number in range(30)]
CRITERIA = ["names a colour", "is polite", "mentions a number", "thanks the reader"]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which model was asked or unloaded, in order; nothing is trained or loaded: what is "trained" is one file."""
    found: list[str] = []

    def made(load: Any, examples: Sequence[Example], options: DistilOptions, prompts: Prompts, out: Path) -> Training:
        found.append("trained")
        (out / MODEL_FILES[0]).write_bytes(f"weights {found.count('trained')}".encode())
        return Training(sum(len(one.labels) for one in examples), 0, 1.0, (2.0, 1.0), {})

    def decide(model: LocalModel, requests: Sequence[DecisionRequest]) -> list[Decision]:
        found.extend("base" if model.spec == "hf:org/m" else "pupil" for _ in requests)
        shares = (0.9, 0.8, 0.2, 0.1) if model.spec != "hf:org/m" else (0.6, 0.4, 0.6, 0.4)
        return [Decision(shares[: len(one.questions)], Usage(1, 0, 0, 1)) for one in requests]

    monkeypatch.setattr(study, "train", made)
    monkeypatch.setattr(LocalModel, "_decide", decide)
    monkeypatch.setattr(LocalModel, "unload", lambda model: found.append(f"unloaded {model.spec}"))
    return found


def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    data = write_jsonl(tmp_path / "data.jsonl", [{"prompt": f"Say {one}.", "criteria": CRITERIA} for one in THINGS])
    model = script(tmp_path / "model.json", [], {"reply": "It is what you think."})
    judge = script(
        tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {"number": "FAIL", "thanks": "FAIL"}}]
    )
    where = str(tmp_path / "run")
    assert (
        command_here(capsys, "run", "--data", data, "--model", model, "--judge", judge, "--out", where).returncode == 0
    )
    return where


@pytest.mark.slow
def test_the_base_is_asked_first_and_only_what_is_held_out(
    tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two models at once may not fit the memory that trained one."""
    out = tmp_path / "judge"
    given = ("study", "distil", run(tmp_path, capsys), "--base", "hf:org/m", "--held-out", "0.4", "--out", str(out))
    done = command_here(capsys, *given)
    assert done.returncode == 0, done.stderr
    assert asked == ["trained", *["base"] * 12, "unloaded hf:org/m", *["pupil"] * 12]  # 12 of 30 instructions
    told = json.loads((out / "distil.json").read_text(encoding="utf-8"))
    accuracy = {name: scores["accuracy"] for name, scores in told["agreement"].items()}
    assert {name: (score["value"], score["n"]) for name, score in accuracy.items()} == {
        "base": (0.5, 48), "distilled": (1.0, 48), "usual": (0.5, 48),
    }  # fmt: skip
    assert accuracy["distilled"]["ci95"] is not None
    assert "intervals are told from" not in done.stdout

    asked.clear()  # the same command asks nothing
    assert command_here(capsys, *given).returncode == 0
    assert asked == ["unloaded hf:org/m"]

    (out / MODEL_FILES[0]).write_bytes(b"other weights")  # what was measured is no longer there
    done = command_here(capsys, *given)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (
        "the judge there is not as it was trained (its files were changed, or are gone); put them back, or move "
        in done.stderr
    )

    asked.clear()  # trained anew, the pupil is asked anew, the base is not
    (out / "training.json").unlink()
    asked.append("trained")  # so that the weights differ
    assert command_here(capsys, *given).returncode == 0
    assert asked == ["trained", "trained", "unloaded hf:org/m", *["pupil"] * 12]


@pytest.mark.slow
def test_few_held_out_instructions_are_told_to_have_no_interval(
    tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("study", "distil", run(tmp_path, capsys), "--base", "hf:org/m", "--out", str(tmp_path / "judge"))
    done = command_here(capsys, *given)
    assert "Held out are 6 instructions; intervals are told from 10 on" in " ".join(done.stdout.split())
    told = json.loads((tmp_path / "judge" / "distil.json").read_text(encoding="utf-8"))
    assert told["agreement"]["distilled"]["accuracy"]["ci95"] is None


@pytest.mark.slow
def test_a_judge_is_calibrated_wherever_it_is_copied_and_no_longer_once_it_changes(
    tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out, copied = tmp_path / "judge", tmp_path / "elsewhere" / "copy"
    given = ("study", "distil", run(tmp_path, capsys), "--base", "hf:org/m", "--out", str(out))
    assert command_here(capsys, *given).returncode == 0
    shutil.copytree(out, copied)
    there = read_calibration(str(out), f"hf:{out}", Prompts(), "decide")
    assert read_calibration(str(copied), f"hf:{copied}", Prompts(), "decide") == there
    assert fingerprint(str(copied)) == fingerprint(str(out))
    with pytest.raises(UserError, match=f"was fitted for the judge hf:{out}, not for vllm:{copied}; calibrate it"):
        read_calibration(str(copied), f"vllm:{copied}", Prompts(), "decide")  # which computes otherwise
    for folder in (out, copied):
        (folder / MODEL_FILES[0]).write_bytes(b"other weights")
    with pytest.raises(UserError, match=f"was fitted before the files of hf:{out} were changed, or written anew; "):
        read_calibration(str(out), f"hf:{out}", Prompts(), "decide")
    with pytest.raises(UserError, match=f"was fitted for the judge hf:{out}, not for hf:{copied}; calibrate it"):
        read_calibration(str(copied), f"hf:{copied}", Prompts(), "decide")
