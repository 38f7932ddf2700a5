"""Which runs may be ranked together by the way they were judged, and what the board says of that way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.benchmarks.truebench.judges import judge_settings, judging_models
from truebench_hf.benchmarks.truebench.options import JudgeOptions
from truebench_hf.hub.public import public
from truebench_hf.space.board import entries
from truebench_hf.space.board.entries import Entry


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked, but the judges of these runs are opened as for a run."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, "any")


def _settings(**options: Any) -> dict[str, Any]:
    """The settings of a run judged with these options, as `run.json` keeps them."""
    asked = JudgeOptions(out="unused", judge="openai:j", **options)
    given = judge_settings(asked, judging_models(asked))
    about = {"model": "openai:m", "data": "mini", "data_sha256": "d" * 64}
    return json.loads(json.dumps(about | given))  # type: ignore[no-any-return]


def _entry(folder: Path, settings: dict[str, Any]) -> Entry:
    score = {"value": 50.0, "n": 2, "unscored": 0, "ci95": None}
    scores = {"overall": score, "official": score, "by_category": {}, "by_language": {}}
    return entries.measured(folder, {"settings": settings}, scores)


OTHERWISE: list[tuple[dict[str, Any], str]] = [
    ({"protocol": "official"}, "checklist, official rule"),
    ({"judge_level": "rubric"}, "rubric"),
    ({"reasoning": False}, "checklist, no reasoning"),
    ({"structured": "off"}, "checklist, structured off"),
    ({"prompt": ("checklist=plain",)}, "checklist, checklist prompt plain"),
    ({"judge_max_tokens": 512}, "checklist, up to 512 tokens"),
    ({"votes": 5, "judge_temperature": 0.7}, "checklist, 5 votes, temperature 0.7"),
    ({"votes": 3, "judge_temperature": 0.7}, "checklist, 3 votes, temperature 0.7"),
    ({"judge_arg": ("reasoning_effort=low",)}, "checklist, reasoning_effort=low"),
    ({"judge_level": "decision"}, "decision"),
    ({"judge_level": "decision", "threshold": 0.7}, "decision, threshold 0.7"),
    ({"judge_level": "decision", "abstain_band": "0.4,0.6"}, "decision, band 0.4 to 0.6"),
    ({"judge_level": "cascade"}, "cascade"),
    ({"judge_level": "cascade", "abstain_band": "0.4,0.6"}, "cascade, band 0.4 to 0.6"),
    ({"judge_level": "cascade", "cascade_level": "rubric"}, "cascade, then rubric"),
    ({"judge_level": "cascade", "cascade_judge": "openai:k"}, "cascade, then openai:k"),
    (
        {"judge_level": "cascade", "cascade_judge": "openai:k", "cascade_arg": ("reasoning_effort=high",)},
        "cascade, then openai:k, then reasoning_effort=high",
    ),
]


def test_every_way_of_judging_is_ranked_apart_and_says_so(tmp_path: Path) -> None:
    usual = _entry(tmp_path, _settings())
    others = [_entry(tmp_path, _settings(**options)) for options, _ in OTHERWISE]
    assert usual.judge == "openai:j (checklist)"
    assert [entry.judge for entry in others] == [f"openai:j ({words})" for _, words in OTHERWISE]
    assert len({entry.setting for entry in (usual, *others)}) == 1 + len(OTHERWISE)


def test_a_panel_is_told_by_who_settles_its_ties(tmp_path: Path) -> None:
    panel = {"panel_judge": ("openai:k",), "panel": "majority"}
    found = [_entry(tmp_path, _settings(**panel, tie_breaker=breaker)) for breaker in ("openai:x", "openai:y")]
    assert found[0].judge == "openai:j + openai:k (majority) (checklist, ties to openai:x)"
    assert found[0].setting != found[1].setting
    marked = [_entry(tmp_path, _settings(**panel, judge_arg=(f"2.{name}",), tie_breaker="openai:x")) for name in (
        "timeout=9", "reasoning_effort=low")]  # fmt: skip
    assert [entry.setting == found[0].setting for entry in marked] == [True, False], "options of one judge of several"


def test_another_prompt_is_another_way(tmp_path: Path) -> None:
    found = []
    for name in ("one", "two"):
        file = tmp_path / f"{name}.jinja"
        file.write_text(f"{name}: {{{{ instruction }}}} {{{{ response }}}} {{{{ criteria }}}}")
        found.append(_entry(tmp_path, _settings(prompt=(f"checklist={file}",))))
    assert all(entry.judge.startswith("openai:j (checklist, checklist prompt ") for entry in found)
    assert len({entry.judge for entry in found}) == 2, "the cell tells them apart"
    assert len({entry.setting for entry in (*found, _entry(tmp_path, _settings()))}) == 3


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"judge_base_url": "http://10.0.0.4:8000/v1"}, "where a server stands shapes no verdict"),
        ({"judge_arg": ("timeout=9.0", "attempts=3")}, "neither does how long it is waited for"),
        ({"judge_arg": ("api_key_env=MY_KEY",)}, "nor who pays"),
    ],
)
def test_what_shapes_no_verdict_parts_no_runs(tmp_path: Path, options: dict[str, Any], why: str) -> None:
    usual, other = _entry(tmp_path, _settings()), _entry(tmp_path, _settings(**options))
    assert (other.setting, other.judge) == (usual.setting, usual.judge), why


def test_how_a_local_judge_is_run_shapes_no_verdict_but_its_weights_do(tmp_path: Path) -> None:
    usual, spread, halved = (
        _entry(tmp_path, _settings() | {"judge_arg": said})
        for said in ([], ["batch_size=4", "device=cpu", "tensor_parallel_size=2"], ["dtype=bfloat16"])
    )
    assert usual.setting == spread.setting != halved.setting
    assert halved.judge == "openai:j (checklist, dtype=bfloat16)"


@pytest.mark.parametrize("options", [options for options, _ in OTHERWISE] + [{"judge_arg": ("api_key_env=MY_KEY",)}])
def test_a_published_copy_was_judged_in_the_same_way(tmp_path: Path, options: dict[str, Any]) -> None:
    settings = _settings(**options)
    here, there = (_entry(tmp_path, s) for s in (settings, public({"settings": settings})["settings"]))
    assert (here.setting, here.judge, here.key) == (there.setting, there.judge, there.key)


def test_a_run_from_before_an_option_was_there_is_judged_without_it(tmp_path: Path) -> None:
    old = _settings()
    for name in ("calibrator", "cascade_level"):
        del old["judging"][name]
    assert _entry(tmp_path, old).setting == _entry(tmp_path, _settings()).setting


@pytest.mark.parametrize("part", ["judging", "prompts", "judge_arg", "protocol"])
def test_what_is_not_told_equals_nothing_that_is(tmp_path: Path, part: str) -> None:
    less = _settings()
    del less[part]
    unknown = _entry(tmp_path, less)
    assert unknown.setting != _entry(tmp_path, _settings()).setting
    assert unknown.setting == _entry(tmp_path, dict(less)).setting, "two of which the same is known stay together"
    assert ("prompts unknown" in unknown.judge) == (part == "prompts")


def test_a_way_tells_no_address_path_or_key(tmp_path: Path) -> None:
    arguments = ['extra_body={"via": "http://10.0.0.4:8000/v1"}', "user=hf_abcdefghijklmnop", "revision=/home/me/judge"]
    shown = _entry(tmp_path, _settings() | {"judge_arg": arguments}).judge
    assert "revision=judge" in shown
    assert not any(hidden in shown for hidden in ("10.0.0.4", "hf_abc", "/home"))
