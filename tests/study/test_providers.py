"""What a study notes, tells and shows of who ran its models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.models.providers import OPEN
from truebench_hf.study import notes


def answered(text: str, provider: str) -> dict[str, Any]:
    """An answer as a router hands it on: the head names the provider."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    body = {"model": "tea/small", "system_fingerprint": "fp_1", "choices": [choice]}
    return {"match": {}, "status": 200, "headers": {"x-inference-provider": provider}, "body": body}


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    rows = [{"id": name, "prompt": f"Name {name}.", "criteria": ["is right"]} for name in ("one", "two")]
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    data = write_jsonl(tmp_path / "data.jsonl", rows)
    return ["run", "--data", data, "--model", "openai:tea/small", "--judge", judge, "--out", str(tmp_path / "out")]


def test_a_run_notes_who_answered_and_tells_of_several(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with OpenAIServer() as server:
        server.add_faults([answered("A.", "together"), answered("B.", "novita")])
        done = command_here(capsys, *arguments, "--model-base-url", server.url)
        assert done.returncode == 0, done.stderr
        assert "Several providers ran openai:tea/small: novita + together." in " ".join(done.stdout.split())
        again = command_here(capsys, *arguments, "--model-base-url", server.url)  # asks nothing
    assert again.returncode == 0, again.stderr
    info = json.loads((tmp_path / "out" / "run.json").read_text())
    assert info["served"] == {
        "openai:tea/small": {
            "provider": {"together": 1, "novita": 1},
            "model": {"tea/small": 2},
            "system_fingerprint": {"fp_1": 2},
        }
    }


ROUTED = {"provider": "huggingface:together", "model": "q/m:together"}


@pytest.mark.parametrize(
    ("identity", "told", "expected", "reason"),
    [
        (ROUTED, {}, {"openai:q/m:together": "together"}, "pinned, and nothing was told"),
        ({"provider": OPEN, "model": "q/m"}, {}, {"openai:q/m": "not pinned"}, "nobody knows who it was"),
        (
            {"provider": OPEN, "model": "q/m"}, {"provider": {"novita": 2, "together": 1}},
            {"openai:q/m": "novita + together, not pinned"}, "told by the answers",
        ),
        ({"provider": "openai", "model": "gpt"}, {}, {}, "nobody stands between"),
        ({"provider": "openai", "model": "gpt"}, {"provider": {"azure": 1}}, {"openai:gpt": "azure"}, "told, not asked"),
        ({"provider": OPEN, "model": "q/m"}, {"provider": "x"}, {"openai:q/m": "not pinned"}, "not as we write it"),
        ({"provider": OPEN, "model": "q/m"}, ["x"], {"openai:q/m": "not pinned"}, "nor this"),
    ],
)  # fmt: skip
def test_the_providers_of_a_run(identity: dict[str, Any], told: Any, expected: dict[str, str], reason: str) -> None:
    settings = {"model": f"openai:{identity['model']}", "models": {"model": identity}}
    assert notes.providers(settings, {f"openai:{identity['model']}": told}) == expected, reason


def test_who_answered_is_told_of_every_model_behind_a_router() -> None:
    settings = {"models": {"model openai:q/m": {"provider": OPEN, "model": "q/m"}}, "judge_models": ["odd"]}
    (note,) = notes.provider_notes(settings, {})
    assert "pin one as openai:q/m:PROVIDER" in note
