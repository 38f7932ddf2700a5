"""Best of N: selections by checklist, rating and reward model against the outside score, item by item."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_reward
from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.tick.best_of import BestOf, BestOfOptions
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import Answer, ScriptedModel, verdicts
from truebench_hf.options import InMemory
from truebench_hf.report.table import Table

# Answers say themselves how they are judged: by the checklist (YES of two questions), by rating, and from outside.
DRAWN = {
    "a": ["c2 r3 o1", "c1 r5 o2", "c2 r3 o0"],
    "b": ["c0 r1 o2", "c0 r4 o2", "c1 r4 o2"],
    "c": ["c? r? o1", "c1 r? o1", "c0 r? o2"],
}
GREEDY = "c1 r2 o1"


def said(request: ChatRequest) -> str:
    """The answer that a judge's prompt shows."""
    found = re.search(r"<response_(\w{8})>\n(.*?)\n</response_\1>", request.messages[-1].content, re.DOTALL)
    return found.group(2) if found else ""


def reply(request: ChatRequest) -> Answer:
    """The model: it answers, writes a checklist of two questions, answers these, and rates."""
    prompt = request.messages[-1].content
    if "You prepare the evaluation" in prompt:
        return "Analysis: x\nQuestions:\nIs it short?\nIs it kind?"
    if "<criteria_" in prompt:
        count = said(request)[1]
        if count == "?":
            return "hard to say"
        return verdicts(
            prompt, {"short": "PASS" if int(count) > 0 else "FAIL", "kind": "PASS" if int(count) > 1 else "FAIL"}
        )
    if "You rate" in prompt:
        value = said(request)[4]
        return "no idea" if value == "?" else f'Well.\n```json\n{{"rating": {value}}}\n```'
    if request.sampling.temperature == 0:
        return GREEDY
    return DRAWN[prompt][request.sample]


def outsider(request: ChatRequest) -> Answer:
    """The outside judge: of the two criteria as many are met as the answer says."""
    if "You rate" in request.messages[-1].content:
        return f'Well.\n```json\n{{"rating": {1 + 3 * int(said(request)[7])}}}\n```'
    met = int(said(request)[7])
    return verdicts(
        request.messages[-1].content, {"red": "PASS" if met > 0 else "FAIL", "blue": "PASS" if met > 1 else "FAIL"}
    )


ROWS: list[dict[str, Any]] = [
    {"id": name, "prompt": name, "criteria": ["Is it red?", "Is it blue?"], "reference": DRAWN[name][1]}
    for name in DRAWN
]


def in_memory(model: ScriptedModel) -> InMemory:
    return InMemory(model.spec, model)


def best_of(
    folder: Path, made: Callable[[ChatRequest], Answer] = reply, **more: Any
) -> tuple[dict[str, Table], list[dict[str, Any]], ScriptedModel]:
    """(the tables, answers.jsonl, the model)."""
    model = ScriptedModel("m", made)
    data = write_jsonl(folder / "d.jsonl", more.pop("rows", ROWS))
    given = {"data": data, "model": in_memory(model), "n": 3, "out": str(folder / "out")} | more
    value = BestOf(BestOfOptions(**given)).run().value
    lines = (folder / "out" / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return value, [json.loads(line) for line in lines], model


def by_way(result: dict[str, Table]) -> dict[str, Any]:
    """The lines of this study by the way to choose: its spec, or the first word of how it is called."""
    return {row["by"].partition(" ")[0]: row for row in result["lines"].rows if not row.get("published")}


def outside_judge() -> dict[str, Any]:
    return {"outside": "drfr", "outside_judge": in_memory(ScriptedModel("o", outsider))}


def test_every_way_to_choose_equals_the_table_by_hand(tmp_path: Path) -> None:
    result, rows, model = best_of(tmp_path, by=("stick", "direct"), **outside_judge())
    selected = {row["id"]: [one["selected_by"] for one in row["answers"]] for row in rows}
    assert selected == {
        "a": [["stick"], ["direct"], ["stick"]],  # two share the top pass rate, one the top rating
        "b": [[], ["direct"], ["stick", "direct"]],
        "c": [[], ["stick"], []],  # an undecided pass rate is never top; no rating at all selects nothing
    }
    found = by_way(result)
    by_hand: dict[str, tuple[float | None, float | None]] = {
        "greedy": (0.5, None),  # o1 of 2, everywhere
        "random": ((0.5 + 1 + 2 / 3) / 3, (1 / 3 + 1 + 1 / 3) / 3),
        "stick": ((0.25 + 1 + 0.5) / 3, (0 + 1 + 0) / 3),
        "direct": ((1 + 1) / 2, (1 + 1) / 2),  # of two instructions: c has no rating
        "best": (1.0, 1.0),
    }
    for name, (score, precision) in by_hand.items():
        line = found[name]
        assert line["outside"].value == pytest.approx(score), name
        assert (line["precision"] and line["precision"].value) == (precision and pytest.approx(precision)), name
    assert (found["direct"]["outside"].n, found["direct"]["outside"].unscored) == (2, 1)
    assert found["stick"]["difference"].value == pytest.approx((-0.25 + 0.5 + 0) / 3)
    ties = {name: (row["tied"], row["unselected"]) for name, row in found.items() if row["tied"]}
    assert ties == {"stick": (pytest.approx(4 / 3), 0), "direct": (1.5, 1)}
    assert [row["id"] for row in result["undecided"].rows] == ["c"]
    sent = [one for one in model.prompts if isinstance(one, ChatRequest)]
    shown = "".join(message.content for one in sent for message in one.messages)
    assert "Is it red?" not in shown, "the criteria of the data are for the outside judge"
    lists = [one for one in sent if "You prepare the evaluation" in one.messages[0].content]
    assert len(lists) == len(DRAWN), "one checklist an instruction"
    greedy_judged = [one for one in sent if "<criteria_" in one.messages[-1].content and said(one) == GREEDY]
    assert not greedy_judged, "nothing selects the greedy answer, so nobody scores it from inside"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("rating", {"greedy": 0.4, "best": 0.7}),
        ("exact", {"greedy": 0.0, "best": 1.0, "random": 1 / 3, "stick": (0 + 0 + 1) / 3}),
    ],
)
def test_other_outside_scores(tmp_path: Path, kind: str, wanted: dict[str, float]) -> None:
    judge = {} if kind == "exact" else outside_judge()
    # Without an outside judge who needs them the criteria of the data would be the model's checklist.
    rows = [{key: row[key] for key in ("id", "prompt", "reference" if kind == "exact" else "criteria")} for row in ROWS]
    result, _, _ = best_of(tmp_path, **(judge | {"outside": kind, "rows": rows}))
    found = {way: line["outside"].value for way, line in by_way(result).items()}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_a_failed_answer_is_counted_with_its_reason_and_never_a_zero(tmp_path: Path) -> None:
    def failing(request: ChatRequest) -> Answer:
        if request.messages[-1].content == "a" and request.sample == 1 and request.sampling.temperature:
            return {"error": "the server burned down"}
        return reply(request)

    result, rows, _ = best_of(tmp_path, failing, **outside_judge())
    assert rows[0]["answers"][1] == {
        "text": None, "problem": "the model gave no answer: the server burned down", "selected_by": [],
        "outside": {"score": None, "labels": [None, None], "reason": "the model gave no answer: the server burned down"},
    }  # fmt: skip
    found = by_way(result)
    assert found["stick"]["outside"].value == pytest.approx((0.25 + 1 + 0.5) / 3), "what is selected has its score"
    assert (found["stick"]["precision"].n, found["stick"]["precision"].unscored) == (2, 1), "which is best is open"
    assert (found["best"]["outside"].n, found["random"]["outside"].unscored) == (2, 1)
    assert "burned down" in result["undecided"].rows[0]["reason"]


def test_without_an_outside_score_the_selection_is_there_all_the_same(tmp_path: Path) -> None:
    result, rows, _ = best_of(tmp_path, rows=[{"id": name, "prompt": name} for name in DRAWN])
    assert "outside" not in result["lines"].rows[0]
    assert [one["selected_by"] for one in rows[0]["answers"]] == [["stick"], [], ["stick"]]
    assert [(row["by"], row["tied"]) for row in result["lines"].rows] == [("stick", pytest.approx(4 / 3))]


def test_ways_to_select_may_be_added_and_none_is_dropped(tmp_path: Path) -> None:
    judge = outside_judge()
    best_of(tmp_path, **judge)
    result, _, model = best_of(tmp_path, by=("stick", "direct"), **judge)
    sent = [one.messages[0].content for one in model.prompts if isinstance(one, ChatRequest)]
    assert all("You rate" in prompt for prompt in sent), "the answers, checklists and verdicts were there"
    assert set(by_way(result)) == {"greedy", "random", "stick", "direct", "best"}
    with pytest.raises(UserError, match="would be dropped"):
        best_of(tmp_path, by=("direct",), **judge)


@pytest.mark.slow  # about 6 s, most of them for importing torch
def test_a_reward_model_selects(tmp_path: Path) -> None:
    spec = f"reward:{tiny_reward.save(tmp_path / 'reward')}"
    result, rows, _ = best_of(tmp_path, by=("stick", spec), reward_arg=("batch_size=2",), **outside_judge())
    assert set(by_way(result)) == {"greedy", "random", "stick", spec, "best"}
    for row in rows:
        rewards = [one["scores"][spec]["score"] for one in row["answers"]]
        assert len(set(rewards)) == len({one["text"] for one in row["answers"]})
        assert [spec in one["selected_by"] for one in row["answers"]] == [reward == max(rewards) for reward in rewards]
    made = json.loads((tmp_path / "out" / "run.json").read_text())
    assert made["usage"]["total"]["reward"]["calls"] == 9
    models = made["settings"]["judge_models"]
    assert "transformers reward" in {model["provider"] for model in models.values()}, models


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"by": ("dice",)}, "unknown scoring function"),
        ({"reward": ("smollm2",)}, "a reward model is"),
        ({"temperature": 0.0}, "draws the same answer every time"),
        ({"n": 0}, "at least 1"),
        ({"outside": "rating"}, "needs an --outside-judge"),
    ],
)
def test_options_that_do_not_go_together(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        BestOfOptions(**({"data": "d.jsonl", "model": "smollm2", "out": "out"} | more))


def test_options_name_a_reward_model_in_one_way_or_the_other() -> None:
    one, other = (
        BestOfOptions(data="d", model="smollm2", out="o", **more)  # type: ignore[arg-type]
        for more in ({"by": ("stick", "reward:x")}, {"by": ("stick",), "reward": ("reward:x",)})
    )
    assert one == other
    assert (one.by, one.reward) == (("stick", "reward:x"), ("reward:x",))
