"""Models in local folders: what makes two of them the same, and whose answers are used again."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import ROOT, command_here, held, script, write_jsonl
from truebench_hf.errors import UserError
from truebench_hf.models.loading import WHOLE, fingerprint
from truebench_hf.models.local import LocalModel
from truebench_hf.models.protocol import ChatRequest, Completion, Identity
from truebench_hf.models.spec import open_model

FILES = {
    "config.json": b'{"model_type": "llama"}',
    "tokenizer.json": b"{}",
    "chat_template.jinja": b"{{ messages }}",
    "model-00001-of-00002.safetensors": b"one" * 9,
    "model-00002-of-00002.safetensors": b"two" * 9,
}
HF = ("hf:", "reward:", "hf-classifier:")


def folder(place: Path) -> Path:
    """A folder that looks like a checkpoint; nothing in it can be loaded."""
    place.mkdir(parents=True)
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    return place


def written(name: str, content: bytes) -> Callable[[Path], object]:
    def write(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(content)

    return write


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (written("model-00002-of-00002.safetensors", b"twO" * 9), True),  # of the same size
        (written("config.json", b'{"model_type": "qwen2"}'), True),
        (written("chat_template.jinja", b"{{ messages[-1] }}"), True),
        (written("tokenizer_config.json", b"{}"), True),  # a file more
        (written("decision.json", b"{}"), True),  # how probabilities are asked for
        (written("pytorch_model.bin", b"a"), True),
        (written("additional_chat_templates/tool_use.jinja", b"a"), True),
        (written("1_Pooling/config.json", b"{}"), True),  # of a subfolder
        (written("original/consolidated.safetensors", b"a"), True),
        (lambda place: (place / "tokenizer.json").unlink(), True),
        (lambda place: (place / "tokenizer.json").rename(place / "vocab.json"), True),
        (lambda place: (place / "model-00001-of-00002.safetensors").touch(), False),
        (lambda place: os.utime(place / "config.json", (1, 1)), False),  # small files are read: their times say nothing
        (written("optimizer.pt", b"of a checkpoint"), False),
        (written("training_args.bin", b"of a checkpoint"), False),
        (written("notes/README.md", b"A model."), False),
        (lambda place: (place / "vocab.json").symlink_to("nowhere"), False),
    ],
)
def test_what_shapes_answers_makes_another_model(
    tmp_path: Path, change: Callable[[Path], object], counts: bool
) -> None:
    place = folder(tmp_path / "m")
    before = fingerprint(str(place))
    assert re.fullmatch("files-[0-9a-f]{16}", before)
    change(place)
    assert (fingerprint(str(place)) != before) is counts


def test_what_runs_write_into_a_folder_of_a_model_does_not_count(tmp_path: Path) -> None:
    """A run may be put into the folder of a judge that was trained for it; every session writes its files anew."""
    text = (ROOT / "docs" / "run_folder.md").read_text(encoding="utf-8")
    names = re.findall(r"`([\w-]+\.\w+)`", "".join(line for line in text.splitlines() if line.startswith("|")))
    assert {"scores.json", "calibration.json"} <= set(names)
    place = folder(tmp_path / "m")
    before = fingerprint(str(place))
    for name in names:
        (place / name).write_bytes(b"of a run")
    assert fingerprint(str(place)) == before


def test_a_copy_under_another_name_is_the_same_model(tmp_path: Path) -> None:
    place = folder(tmp_path / "m")
    copied = shutil.copytree(place, tmp_path / "elsewhere" / "n", copy_function=shutil.copyfile)
    (tmp_path / "link").symlink_to(place)
    for kind in HF:
        one, *others = (open_model(f"{kind}{where}").identity for where in (place, copied, tmp_path / "link"))
        assert one.revision == fingerprint(str(place))
        assert others == [one, one]
        assert open_model(f"{kind}org/m", {"revision": "v1"}).identity.revision == "v1"  # of the Hub: as it is named


def test_folders_without_a_model_and_files(tmp_path: Path) -> None:
    assert fingerprint("org/name") == fingerprint(str(tmp_path)) == ""
    assert open_model(f"hf:{tmp_path}").identity == Identity(
        "transformers", str(tmp_path), "", {"dtype": "auto", "chat_template_kwargs": {}}
    )
    file = tmp_path / "m.gguf"  # as vLLM takes them
    file.write_bytes(b"one")
    before = fingerprint(str(file))
    file.write_bytes(b"two")
    assert fingerprint(str(file)) != before != ""


def test_a_folder_called_as_the_embedded_model_is_not_taken_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = folder(tmp_path / "smollm2")
    model = open_model("hf:smollm2")
    assert (model.spec, model.identity.revision) == ("hf:smollm2", fingerprint(str(place)))
    assert open_model("smollm2").spec == "smollm2"


@pytest.mark.parametrize("kind", HF)
def test_files_that_change_in_use_end_it(tmp_path: Path, kind: str) -> None:
    """Else answers of the new weights would be kept as those of the old ones."""
    place = folder(tmp_path / "m")
    model: Any = open_model(f"{kind}{place}")
    assert model.identity.revision
    (place / "model-00001-of-00002.safetensors").write_bytes(b"another")
    with pytest.raises(UserError, match=f"{kind}{place}: its files were changed while it was in use"):
        model._load()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What models in folders are asked for; they find every criterion met."""
    found: list[str] = []

    def answer(model: LocalModel, requests: Sequence[ChatRequest]) -> list[Completion]:
        found.extend(model.identity.revision for _ in requests)
        return [Completion('{"criteria_1": "PASS"}')] * len(requests)

    monkeypatch.setattr(LocalModel, "_generate", answer)
    return found


def test_a_run_folder_is_tied_to_the_weights(
    tmp_path: Path, asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    place, out = folder(tmp_path / "m"), tmp_path / "out"
    data = write_jsonl(tmp_path / "data.jsonl", [{"prompt": "Say hi.", "criteria": ["greets"]}])
    model = script(tmp_path / "model.json", [], {"reply": "Hi."})
    given = ("run", "--data", data, "--model", model, "--judge", f"hf:{place}", "--out", str(out))
    assert [command_here(capsys, *given).returncode for _ in range(2)] == [0, 0]
    known = held(out / "run.json")["settings"]["judge_models"][f"judge hf:{place}"]
    before = fingerprint(str(place))
    assert (known["model"], known["revision"]) == ("a local folder", before)
    (place / "model-00001-of-00002.safetensors").write_bytes(b"trained again")
    done = command_here(capsys, *given)
    assert (done.returncode, done.stderr.count("\n"), len(asked)) == (2, 1, 1)
    told = f'judge_models.judge hf:{place}.revision: "{before}" there, "{fingerprint(str(place))}" now'
    assert f"belongs to a run with other options ({told}); choose another folder" in done.stderr


def test_large_weights_are_known_by_size_and_time(tmp_path: Path) -> None:
    """Of copies those with their times are the same model; what was written into them is seen by its time."""
    place = folder(tmp_path / "m")
    file = place / "model-00001-of-00002.safetensors"
    with file.open("wb") as opened:
        opened.truncate(WHOLE + 1)
    os.utime(file, (1_000_000_000, 1_000_000_000))
    before = fingerprint(str(place))
    assert fingerprint(str(shutil.copytree(place, tmp_path / "kept"))) == before
    anew = shutil.copytree(place, tmp_path / "anew", copy_function=shutil.copyfile)
    assert fingerprint(str(anew)) != before, "nobody has read that it is the same"
    os.utime(anew / file.name, (1_000_000_000, 1_000_000_000))
    assert fingerprint(str(anew)) == before
    with (anew / file.name).open("r+b") as opened:
        opened.write(b"1")
    assert fingerprint(str(anew)) != before


def test_a_cache_knows_a_model_by_its_content(tmp_path: Path, asked: list[str]) -> None:
    place = folder(tmp_path / "m")

    def judged(where: Path) -> int:
        asked.clear()
        said = truebench_hf.judge("Say hi.", "Hi.", ["greets"], f"hf:{where}", cache=tmp_path / "cache.sqlite")
        assert said.passed is True
        return len(asked)

    assert [judged(place), judged(place), judged(shutil.copytree(place, tmp_path / "moved"))] == [1, 0, 0]
    (place / "model-00001-of-00002.safetensors").write_bytes(b"trained again")
    assert [judged(place), judged(tmp_path / "moved")] == [1, 0], "the moved one is still the old one"
