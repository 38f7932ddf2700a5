"""The models of a study by their roles: opened once, told apart, and reached as the options say."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script
from truebench_hf.errors import UserError
from truebench_hf.options import role, roles
from truebench_hf.study.options import FolderOptions
from truebench_hf.study.roles import Roles

HERE = "base_url=http://127.0.0.1:9/v1"


class Three(FolderOptions):
    """A writer, judges, and somebody who may be there."""

    writer: str = role(help="Writes.")
    judge: tuple[str, ...] = role(help="Judges.")
    helper: str | None = role(None, help="Helps.")


def opened(**more: Any) -> Roles:
    return Roles(Three(**{"out": "-", "writer": "openai:a", "writer_arg": (HERE,), "judge": ()} | more))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")


def test_equal_specs_with_equal_arguments_share_one_model() -> None:
    found = opened(judge=("openai:a", "openai:b"), judge_arg=(HERE,), helper="openai:a", helper_arg=(HERE, "timeout=9"))
    assert found["writer"][0] is found["judge"][0]
    assert found["helper"][0] is not found["writer"][0], "it is reached in another way"
    assert roles(found.options) == {"writer": ("openai:a",), "judge": ("openai:a", "openai:b"), "helper": ("openai:a",)}
    assert opened()["helper"] == []


def test_all_are_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from truebench_hf.models.scripted import ScriptedModel

    one, two = (script(tmp_path / f"{name}.json", []) for name in ("one", "two"))
    found, closed = opened(writer=one, writer_arg=(), judge=(one, two)), list[str]()

    async def close(model: ScriptedModel) -> None:
        closed.append(model.spec)

    monkeypatch.setattr(ScriptedModel, "close", close)
    asyncio.run(found.close())
    assert sorted(closed) == sorted([one, two])


def test_arguments_go_to_all_of_a_role_or_to_the_nth() -> None:
    given = (HERE, "reasoning_effort=low", "2.reasoning_effort=high", "2.timeout=9")
    found = opened(judge=("openai:b", "openai:c"), judge_arg=given)
    assert [model.identity.options["reasoning_effort"] for model in found["judge"]] == ["low", "high"]
    same = opened(judge=("openai:m", "openai:m"), judge_arg=given)
    assert list(same.named("judge")) == ["openai:m#1", "openai:m#2"]
    assert list(same.identities("judge")) == ["judge openai:m#1", "judge openai:m#2"]
    assert list(same.identities("writer")) == ["writer"]


@pytest.mark.parametrize(
    ("more", "said", "reason"),
    [
        ({"judge": ("openai:b", "openai:b")}, "--judge openai:b stands twice.*--judge-arg N.k=v", "one voice, two votes"),
        (
            {"judge": ("openai:b", "openai:b"), "judge_arg": (HERE, "2.timeout=9")}, "stands twice",
            "how it is reached makes it nobody else",
        ),
        ({"judge": ("openai:b",), "judge_arg": (HERE, "2.omit=seed")}, "--judge-arg 2.omit: there is no number 2; there is 1", ""),
        ({"judge": ("openai:b",), "judge_arg": (HERE, "b.omit=seed")}, "there is no number b", "no number"),
        ({"judge": ("openai:b", "openai:c"), "judge_arg": ("0.omit=seed",)}, "no number 0; there are 2", "they count from 1"),
        ({"judge_arg": ("seed",)}, "--judge-arg seed: write it as name=value", "no pair"),
        ({"helper_arg": ("omit=seed",)}, "--helper-arg and --helper-base-url are about --helper; name one", "nobody's"),
        ({"helper_base_url": "http://h/v1"}, "are about --helper; name one", "nobody's"),
        ({"helper_concurrency": 0}, "--helper-concurrency 0: must be at least 1", "never asked"),
        ({"writer": "opeanai:a"}, "unknown spec", "a slip of the pen"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_names_the_flag(more: dict[str, Any], said: str, reason: str) -> None:
    with pytest.raises(UserError, match=said):
        opened(**{"judge_arg": (HERE,) if more.get("judge") else (), **more})


def test_slots_count_every_model_once() -> None:
    found = opened(judge=("openai:a", "openai:b"), judge_arg=(HERE,), judge_concurrency=5, writer_concurrency=7)
    assert found.slots == 7 + 5, "who writes and judges has the larger share"
    assert found.concurrency("judge") == 5
