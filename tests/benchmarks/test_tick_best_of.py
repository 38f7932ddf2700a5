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
from truebench_hf.data import jsonl
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
ROWS: list[dict[str, Any]] = [
    {"id": name, "prompt": name, "criteria": ["Is it red?", "Is it blue?"], "reference": drawn[1]}
    for name, drawn in DRAWN.items()
]


def said(request: ChatRequest) -> str:
    """The answer that a judge's prompt shows."""
    match = re.search(r"<response_(\w{8})>\n(.*?)\n</response_\1>", request.messages[-1].content, re.DOTALL)
    return match.group(2) if match else ""


def met(prompt: str, count: str, first: str, second: str) -> Answer:
    """Verdicts on two questions, of which so many are met."""
    return verdicts(prompt, {first: "PASS" if int(count) > 0 else "FAIL", second: "PASS" if int(count) > 1 else "FAIL"})


def reply(request: ChatRequest) -> Answer:
    """The model: it answers, writes a checklist of two questions, answers these, and rates."""
    prompt = request.messages[-1].content
    if "You prepare the evaluation" in prompt:
        return "Analysis: x\nQuestions:\nIs it short?\nIs it kind?"
    if "<criteria_" in prompt:
        count = said(request)[1]
        return "hard to say" if count == "?" else met(prompt, count, "short", "kind")
    if "You rate" in prompt:
        value = said(request)[4]
        return "no idea" if value == "?" else f'Well.\n```json\n{{"rating": {value}}}\n```'
    return GREEDY if request.sampling.temperature == 0 else DRAWN[prompt][request.sample]


def outsider(request: ChatRequest) -> Answer:
    """The outside judge: of the two criteria as many are met as the answer says."""
    prompt, count = request.messages[-1].content, said(request)[7]
    if "You rate" in prompt:
        return f'Well.\n```json\n{{"rating": {1 + 3 * int(count)}}}\n```'
    return met(prompt, count, "red", "blue")


def in_memory(model: ScriptedModel) -> InMemory:
    return InMemory(model.spec, model)


def best_of(
    folder: Path, answering: Callable[[ChatRequest], Answer] = reply, *, judged: bool = True, **more: Any
) -> tuple[dict[str, Table], dict[str, Any], list[dict[str, Any]], ScriptedModel]:
    """(the tables, the lines of this study by the way to choose, answers.jsonl, the model)."""
    model = ScriptedModel("m", answering)
    outside = {"outside": "drfr", "outside_judge": in_memory(ScriptedModel("o", outsider))} if judged else {}
    data = write_jsonl(folder / "d.jsonl", more.pop("rows", ROWS))
    options = {"data": data, "model": in_memory(model), "n": 3, "out": str(folder / "out")} | outside | more
    value = BestOf(BestOfOptions(**options)).run().value
    ways = {row["by"].partition(" ")[0]: row for row in value["lines"].rows if not row.get("published")}
    return value, ways, [row for _, row in jsonl.read(folder / "out" / "answers.jsonl")], model


def test_every_way_to_choose_equals_the_table_by_hand(tmp_path: Path) -> None:
    result, ways, rows, model = best_of(tmp_path, by=("stick", "direct"))
    assert {row["id"]: [answer["selected_by"] for answer in row["answers"]] for row in rows} == {
        "a": [["stick"], ["direct"], ["stick"]],  # two share the top pass rate, one the top rating
        "b": [[], ["direct"], ["stick", "direct"]],
        "c": [[], ["stick"], []],  # an undecided pass rate is never top; no rating at all selects nothing
    }
    by_hand: dict[str, tuple[float | None, float | None]] = {
        "greedy": (0.5, None),  # o1 of 2, everywhere
        "random": ((0.5 + 1 + 2 / 3) / 3, (1 / 3 + 1 + 1 / 3) / 3),
        "stick": ((0.25 + 1 + 0.5) / 3, (0 + 1 + 0) / 3),
        "direct": ((1 + 1) / 2, (1 + 1) / 2),  # of two instructions: c has no rating
        "best": (1.0, 1.0),
    }
    for name, (score, precision) in by_hand.items():
        assert ways[name]["outside"].value == pytest.approx(score), name
        assert getattr(ways[name]["precision"], "value", None) == (precision and pytest.approx(precision)), name
    assert (ways["direct"]["outside"].n, ways["direct"]["outside"].unscored) == (2, 1)
    assert ways["stick"]["difference"].value == pytest.approx((-0.25 + 0.5 + 0) / 3)
    ties = {name: (row["tied"], row["unselected"]) for name, row in ways.items() if row["tied"]}
    assert ties == {"stick": (pytest.approx(4 / 3), 0), "direct": (1.5, 1)}
    assert [row["id"] for row in result["undecided"].rows] == ["c"]
    requests = [request for request in model.prompts if isinstance(request, ChatRequest)]
    texts = [request.messages[-1].content for request in requests]
    assert not [text for text in texts if "Is it red?" in text], "the criteria of the data are for the outside judge"
    assert sum("You prepare the evaluation" in text for text in texts) == len(DRAWN), "one checklist an instruction"
    greedy = [
        request for request in requests if "<criteria_" in request.messages[-1].content and said(request) == GREEDY
    ]
    assert not greedy, "nothing selects the greedy answer, so nobody scores it from inside"


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("rating", {"greedy": 0.4, "best": 0.7}),
        ("exact", {"greedy": 0.0, "best": 1.0, "random": 1 / 3, "stick": (0 + 0 + 1) / 3}),
    ],
)
def test_other_outside_scores(tmp_path: Path, kind: str, wanted: dict[str, float]) -> None:
    # Without an outside judge who needs them the criteria of the data would be the model's checklist.
    rows = [{key: row[key] for key in ("id", "prompt", "reference" if kind == "exact" else "criteria")} for row in ROWS]
    _, ways, _, _ = best_of(tmp_path, judged=kind != "exact", outside=kind, rows=rows)
    assert {name: ways[name]["outside"].value for name in wanted} == pytest.approx(wanted)


def test_a_failed_answer_is_counted_with_its_reason_and_never_a_zero(tmp_path: Path) -> None:
    def failing(request: ChatRequest) -> Answer:
        drawn = request.messages[-1].content == "a" and request.sample == 1 and request.sampling.temperature
        return {"error": "the server burned down"} if drawn else reply(request)

    result, ways, rows, _ = best_of(tmp_path, failing)
    why = "the model gave no answer: the server burned down"
    assert rows[0]["answers"][1] == {
        "text": None, "problem": why, "selected_by": [], "outside": {"score": None, "labels": [None, None], "reason": why},
    }  # fmt: skip
    assert ways["stick"]["outside"].value == pytest.approx((0.25 + 1 + 0.5) / 3), "what is selected has its score"
    assert (ways["stick"]["precision"].n, ways["stick"]["precision"].unscored) == (2, 1), "which is best is open"
    assert (ways["best"]["outside"].n, ways["random"]["outside"].unscored) == (2, 1)
    assert "burned down" in result["undecided"].rows[0]["reason"]


def test_without_an_outside_score_the_selection_is_there_all_the_same(tmp_path: Path) -> None:
    _, ways, rows, _ = best_of(tmp_path, judged=False, rows=[{"id": name, "prompt": name} for name in DRAWN])
    assert "outside" not in ways["stick"]
    assert [answer["selected_by"] for answer in rows[0]["answers"]] == [["stick"], [], ["stick"]]
    assert {way: row["tied"] for way, row in ways.items()} == {"stick": pytest.approx(4 / 3)}


def test_ways_to_select_may_be_added_and_none_is_dropped(tmp_path: Path) -> None:
    best_of(tmp_path)
    _, ways, _, model = best_of(tmp_path, by=("stick", "direct"))
    texts = [request.messages[0].content for request in model.prompts if isinstance(request, ChatRequest)]
    assert all("You rate" in text for text in texts), "the answers, checklists and verdicts were there"
    assert set(ways) == {"greedy", "random", "stick", "direct", "best"}
    with pytest.raises(UserError, match="would be dropped"):
        best_of(tmp_path, by=("direct",))


@pytest.mark.slow  # about 6 s, most of them for importing torch
def test_a_reward_model_selects(tmp_path: Path) -> None:
    spec = f"reward:{tiny_reward.save(tmp_path / 'reward')}"
    _, ways, rows, _ = best_of(tmp_path, by=("stick", spec), reward_arg=("batch_size=2",))
    assert set(ways) == {"greedy", "random", "stick", spec, "best"}
    for row in rows:
        rewards = [answer["scores"][spec]["score"] for answer in row["answers"]]
        assert len(set(rewards)) == len({answer["text"] for answer in row["answers"]})
        assert [spec in answer["selected_by"] for answer in row["answers"]] == [r == max(rewards) for r in rewards]
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["usage"]["total"]["reward"]["calls"] == 9
    assert "transformers reward" in {model["provider"] for model in run["settings"]["judge_models"].values()}


def test_a_reward_model_is_named_in_one_way_or_the_other() -> None:
    by, reward = (
        BestOfOptions(data="d", model="smollm2", out="o", **more)  # type: ignore[arg-type]
        for more in ({"by": ("stick", "reward:x")}, {"by": ("stick",), "reward": ("reward:x",)})
    )
    assert by == reward
    assert (by.by, by.reward) == (("stick", "reward:x"), ("reward:x",))
