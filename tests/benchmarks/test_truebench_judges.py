"""Who judges a run, and what it says of that on leaderboards: with which it may be ranked, how it was judged, what copies share."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row, options_of, table
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.benchmarks.truebench.results import content, model_facts, ranking
from truebench_hf.benchmarks.truebench.run import JudgeAnswers
from truebench_hf.data.judged import Judged
from truebench_hf.prompts import Prompts
from truebench_hf.results.report import Report
from truebench_hf.study.ranking import BoardRow
from truebench_hf.study.roles import Roles
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Message, Response, Score, Turn, Verdict


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked, but the judges of these runs are opened as for a run."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for name in ("OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, "any")


def _settings(**options: Any) -> dict[str, Any]:
    """The settings of a run judged with these options, as `run.json` keeps them."""
    with tempfile.TemporaryDirectory() as out:
        judged = {"judge": "openai:j", "rules": "off", "out": out}
        study = JudgeAnswers(JudgeGivenOptions(**(judged | options)), answers=[])
        study.roles, study.all, study.chosen = Roles(study.options), study.items(), []
        settings = study._bind(list(study.judge_settings()))
    about = {"model": "openai:m", "data": "mini", "data_sha256": "d" * 64}
    return json.loads(json.dumps(settings | about))  # type: ignore[no-any-return]


def _row(settings: dict[str, Any]) -> BoardRow:
    scores = {"overall": Score(50.0, 2), "by_category": {"Safety": Score(50.0, 2)}, "by_language": {}}
    board = ranking({settings["model"]: Report(scores, provenance=settings)}).board()
    assert board is not None
    return board.rows[0]


PLAIN = Prompts({"checklist": "plain"}).hash("checklist")
OTHERWISE = [
    (options_of(row["options"]), row["says"].replace("PLAIN", PLAIN[:4]))
    for row in table(__file__, "truebench_board")["otherwise"]
]


def test_every_way_of_judging_is_ranked_apart_and_says_so() -> None:
    usual = _row(_settings())
    others = [_row(_settings(**options)) for options, _ in OTHERWISE]
    assert usual.facts["Judge"] == "openai:j (checklist)"
    assert [row.facts["Judge"] for row in others] == [f"openai:j ({words})" for _, words in OTHERWISE]
    assert len({row.setting for row in (usual, *others)}) == 1 + len(OTHERWISE)


def test_a_panel_is_told_by_its_rule_and_the_options_of_its_judges() -> None:
    judges = {"judge": ("openai:j", "openai:k")}
    found = [_row(_settings(**judges, panel=panel)) for panel in ("majority", "weighted:2,1")]
    assert [row.facts["Judge"] for row in found] == [
        "openai:j + openai:k (majority) (checklist)", "openai:j + openai:k (weighted 2,1) (checklist)"
    ]  # fmt: skip
    assert found[0].setting != found[1].setting
    marked = [_row(_settings(**judges, panel="majority", judge_arg=(f"2.{name}",))) for name in (
        "timeout=9", "reasoning_effort=low")]  # fmt: skip
    assert [row.setting == found[0].setting for row in marked] == [True, False], "options of one judge of several"
    assert marked[1].facts["Judge"].endswith("(checklist, 2.reasoning_effort=low)")


@each_row(__file__, "truebench_board", "alike")
def test_what_shapes_no_verdict_parts_no_runs(options: dict[str, Any]) -> None:
    usual, other = _row(_settings()), _row(_settings(**options_of(options)))
    assert (other.setting, other.facts) == (usual.setting, usual.facts)


@pytest.mark.parametrize("options", [options for options, _ in OTHERWISE] + [{"judge_arg": ("api_key_env=MY_KEY",)}])
def test_a_published_copy_has_the_same_row(options: dict[str, Any]) -> None:
    settings = _settings(**options)
    assert _row(anonymous.settings(settings)) == _row(settings)


def test_a_row_tells_no_address_path_or_key() -> None:
    arguments = ['extra_body={"via": "http://10.0.0.4:8000/v1"}', "user=hf_abcdefghijklmnop", "revision=/home/me/judge"]
    options = {"judge": {"options": {"extra_body": {}, "user": ""}}}
    told = _settings() | {"judge_arg": arguments, "judge_options": options, "model": "hf:/home/me/Model-7B"}
    row = _row(told)
    assert row.name == "hf:Model-7B"
    assert "revision=judge" in row.facts["Judge"]
    assert not any(hidden in str(row.facts) for hidden in ("10.0.0.4", "hf_abc", "/home"))


@each_row(__file__, "truebench_board", "parts")
def test_a_run_over_a_part_says_so(options: dict[str, Any], shown_as: str) -> None:
    assert _row({"model": "openai:m", "judge": "openai:j", "data": "mini", **options}).facts["Data"] == shown_as


@each_row(__file__, "truebench_board", "names")
def test_what_a_name_tells(spec: str, expected: list[str | None]) -> None:
    assert [model_facts(spec).get(name) for name in ("Size (B)", "Weights", "Licence")] == expected


def _judged(answer: str = "A", label: Any = "yes", reason: str = "r", model: str = "hf:/here/M") -> Judged:
    turn = Turn("P", (Criterion("c"),))
    response = Response("1", model, (Message("user", "P"), Message("assistant", answer)))
    return Judged(Instance("1", "DE", "Safety", "t", (turn,)), response, ((Verdict(Criterion("c"), label, reason),),))


def test_copies_of_a_run_have_one_content() -> None:
    own = content([_judged("half \ud83c", None, "http://10.0.0.4 is down")], "scripted:/here/j.json")
    copy = content([_judged("half ?", None, "(address) is down", "hf:M")], "scripted:j.json")
    assert own == copy, "without folder, address and half characters"
    kinds = [{}, {"answer": "B"}, {"label": "no"}, {"reason": "other"}, {"model": "hf:/here/N"}, {"label": None}]
    assert len({content([_judged(**kind)], "j") for kind in kinds}) == len(kinds)
    assert content([], "j")


# A panel, or one judge with the options of its levels


@scenarios(__file__, "truebench_judges")
def test_panels(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


# One judge at its levels: what a level has no use for simply has no effect.


def options(**more: Any) -> JudgeGivenOptions:
    given = {"judge": "openai:j", "out": "-"} | more
    return JudgeGivenOptions(**given | {"judge": (given["judge"],)})


@each_row(__file__, "truebench_judges", "levels")
def test_options_of_every_level_go_together(more: dict[str, Any], level: str) -> None:
    assert options(**options_of(more)).settings.level == level
