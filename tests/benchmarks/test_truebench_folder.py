"""A run folder through its life: what may change later, files left over from another run, rows on their own, several models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import row, script, write_jsonl
from tests.support.scenarios import Scenario, scenarios
from tests.support.stages import generate, judge
from truebench_hf.benchmarks.truebench.data import GenerateOptions, JudgeGivenOptions
from truebench_hf.errors import UserError


@scenarios(__file__, "truebench_folder")
def test_folders(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


# What may change once there are results


class Folder:
    """A folder with answers, and how a judge at a server is asked about them."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        data = write_jsonl(folder / "data.jsonl", [row(n, [(f"Say {n}.", [f"says {n}"])]) for n in (1, 2)])
        model = script(folder / "old.json", [{"contains": "Say", "reply": "as you wish"}])
        generate(GenerateOptions(data=data, model=(model,), out=str(self.out)))

    def judged(self, judge_: str = "openai:j", **more: Any) -> Any:
        return judge(JudgeGivenOptions(judge=(judge_,), out=str(self.out), **more))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_a_judge_that_timed_out_is_mended_in_its_folder_and_may_move(folder: Folder) -> None:
    with OpenAIServer() as server:
        server.add_faults([{"match": {"contains": "Say 2"}, "hang": 1.0}])
        one = {"judge_base_url": server.url}
        short = ("timeout=0.3", "deadline=0.3")
        assert list(folder.judged(**one, judge_arg=short).unscored) == ["2"]
        assert folder.judged(**one, judge_arg=("timeout=30",)).unscored == {}
        moved = server.url.replace("127.0.0.1", "localhost").replace("http://", "http://me:hushed@")
        calls = server.stats()["by_kind"]["judge"]
        assert folder.judged(judge_base_url=moved).usage["now"] == {}
        assert folder.judged(judge_arg=(f"base_url={moved}",)).usage["now"] == {}
        assert server.stats()["by_kind"]["judge"] == calls, "nothing is asked twice"
    text = (folder.out / "run.json").read_text(encoding="utf-8")
    assert "base_url=http://localhost" in text, "what was said is noted"
    assert "hushed" not in text


def test_what_shapes_verdicts_stays_bound(folder: Folder) -> None:
    with OpenAIServer() as server:
        one = {"judge_base_url": server.url, "judge_level": "cascade"}
        one |= {"cascade_judge": "openai:c", "cascade_judge_base_url": server.url}
        folder.judged(**one, cascade_judge_arg=("timeout=20",))
        folder.judged(**one, cascade_judge_arg=("timeout=30",))
        changes: list[tuple[dict[str, Any], str]] = [
            ({"judge_": "openai:other"}, "judge: "),
            ({"judge_arg": ("reasoning_effort=low",)}, r"judge_models\.judge openai:j\.options\.reasoning_effort"),
            ({"cascade_judge_arg": ("omit=temperature",)}, r"judge_models\.cascade_judge\.options\.omit"),
        ]
        for more, bound in changes:
            with pytest.raises(UserError, match=bound):
                folder.judged(**one | more)
