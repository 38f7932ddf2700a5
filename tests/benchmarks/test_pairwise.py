"""`truebench study pairwise`: labelled pairs of every form, and exact figures of scripted judges by every protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import held, write_jsonl
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.tick.pairs import Pair, load_pairs
from truebench_hf.benchmarks.tick.pairwise import Pairwise, PairwiseOptions
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.options import InMemory
from truebench_hf.report.table import Table
from truebench_hf.types import Message

A = {"prompt": "Q", "response_a": "one", "response_b": "two"}
LABELLED = A | {"label": "A"}
JUDGEBENCH = {
    "pair_id": "p1", "original_id": 7, "source": "mmlu-pro-law", "question": "Q", "response_model": "m",
    "response_A": "one", "response_B": "two", "label": "B>A",
}  # fmt: skip


def load(folder: Path, *rows: dict[str, Any], columns: dict[str, str] | None = None) -> list[Pair]:
    return load_pairs(write_jsonl(folder / "pairs.jsonl", rows), columns or {})[0]


@each_row(__file__, "pairwise", "preferred")
def test_what_is_preferred(row: dict[str, Any], gold: str, tmp_path: Path) -> None:
    (pair,) = load(tmp_path, row)
    assert (pair.gold, pair.case.instruction, pair.case.response, pair.response_b) == (gold, "Q", "one", "two")


TALK = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Q"}]
CHOSEN = {side: [*TALK, {"role": "assistant", "content": side}] for side in ("chosen", "rejected")}


@each_row(__file__, "pairwise", "unreadable")
def test_pairs_that_cannot_be_read_are_refused(tmp_path: Path, rows: Any, columns: Any, message: str) -> None:
    with pytest.raises(UserError) as refusal:
        load_pairs(rows, columns or {}) if isinstance(rows, str) else load(tmp_path, *rows, columns=columns)
    assert message in str(refusal.value)
    assert columns or len(rows) != 1 or rows == [A] or "pairs.jsonl, line 1" in str(refusal.value)


def test_which_pairs_are_there_and_what_they_are_called(tmp_path: Path) -> None:
    labelled, notes = load_pairs(
        write_jsonl(tmp_path / "some.jsonl", [LABELLED, A, A | {"label": ""}, A | {"ratings": []}])
    )
    assert ([pair.id for pair in labelled], notes) == (["1"], ["Left out for want of a label: 3 of 4 pairs."])
    folder = tmp_path / "both"
    folder.mkdir()
    for split in ("claude", "gpt"):
        write_jsonl(folder / f"{split}.jsonl", [LABELLED, JUDGEBENCH | {"pair_id": split}])
    assert [(pair.id, pair.subset) for pair in load_pairs(str(folder))[0]] == [
        ("claude/1", "claude"), ("claude", "mmlu-pro-law"), ("gpt/1", "gpt"), ("gpt", "mmlu-pro-law"),
    ]  # fmt: skip
    columns = {"prompt": "q", "response_a": "x", "response_b": "y", "label": "gold"}
    row = {"q": "Q", "x": "one", "y": "two", "label": "junk", "best": "x", "gold": "B"}
    (pair,) = load(tmp_path, row, columns=columns)
    assert (pair.case.instruction, pair.response_a, pair.gold) == ("Q", "one", "loss")
    three = load(tmp_path, LABELLED, A | {"response_b": "three", "label": "B"}, LABELLED | {"prompt": "Q2"})
    assert [pair.instance.id for pair in three] == ["1", "1", "3"], "pairs of one instruction share its instance"
    lists = [LABELLED | {"criteria": [text]} for text in ("Is it short?", "Is it long?", "Is it short?")]
    assert [pair.instance.id for pair in load(tmp_path, *lists)] == ["1", "2", "1"], "but two checklists stay apart"


def test_preference_data_for_training_stand_in_both_places(tmp_path: Path) -> None:
    rows = [{"id": n, "prompt": "Q", "chosen": "good", "rejected": "bad", "subset": "s"} for n in range(40)]
    pairs = load(tmp_path, *rows)
    assert {(p.response_a if p.gold == "win" else p.response_b) for p in pairs} == {"good"}
    assert 10 < sum(p.gold == "win" for p in pairs) < 30, "no judge is right by always taking the first"
    assert pairs == load(tmp_path, *rows)
    (pair,) = load(tmp_path, CHOSEN)
    assert {pair.response_a, pair.response_b} == {"chosen", "rejected"}
    assert (pair.case.instruction, pair.case.history) == ("Q", (Message("system", "Be kind."),))
    (pair,) = load(tmp_path, CHOSEN | {"prompt": "only the last message", "rating": 4.5, "turns": 2})
    assert pair.case.history, "the conversation says more than a column of prompts"


def test_what_came_before_a_checklist_and_ratings_the_other_way_round(tmp_path: Path) -> None:
    talk = [{"role": r, "content": c} for r, c in (("user", "Hi"), ("assistant", "Hello"), ("user", "Q"))]
    row = {"messages": talk, "response_a": "", "response_b": "two", "label": "B", "criteria": ["Is it short?"]}
    (pair,) = load(tmp_path, row | {"category": "chat", "subset": "hard"})
    assert (pair.subset, pair.response_a, len(pair.case.history)) == ("hard", "", 2)
    assert pair.case.criteria == (), "compared without the checklist"
    assert [criterion.text for criterion in pair.instance.turns[0].criteria] == ["Is it short?"]
    said = [("ada", "x", "y", 1), ("bo", "y", "x", 4), ("cy", "x", "y", 3), ("ada", "x", "z", 5)]
    keys = ("annotator", "response_a", "response_b", "rating")
    row = {
        "id": "r", "messages": talk[2:], "category": "c", "checklists": [],
        "responses": [{"id": i, "text": f"text {i}"} for i in "xyz"],
        "preferences": [dict(zip(keys, values, strict=True)) for values in said],
    }  # fmt: skip
    # x against y: 1, 6 - 4 = 2 and 3, mean 2, a win; x against z: 5, a loss.
    assert [(p.id, p.response_a, p.response_b, p.gold) for p in load(tmp_path, row)] == [
        ("r-1", "text x", "text y", "win"), ("r-2", "text x", "text z", "loss"),
    ]  # fmt: skip
    mini = load_pairs("checklists_mini")[0]
    assert len(mini) >= 24
    assert {pair.gold for pair in mini} == {"win", "tie", "loss"}
    assert (mini[0].gold, mini[0].response_a[:8], len(mini[0].instance.turns[0].criteria)) == ("win", '{"order"', 4)


# The study. Two responses, what people say of the first, and the subset. Quality is in the words: good, equal, bad.
PAIRS = [
    ("good 1", "bad 1", "A", "x"), ("good 2", "bad 2", "A", "x"), ("bad 3", "good 3", "B", "x"), ("bad 4", "good 4", "B", "x"),
    ("equal 5", "equal 5.", "tie", "y"), ("good 6", "equal 6", "A", "y"),
]  # fmt: skip
QUESTIONS = "Analysis: none.\nQuestions:\nIs it at least equal?\nIs it good?"
Judge = Callable[[str, dict[str, str]], str]  # what is asked, and the sections of the prompt


def data(folder: Path, **more: Any) -> str:
    rows = [
        {"id": f"p{n}", "prompt": f"Q{n}", "response_a": a, "response_b": b, "label": label, "subset": subset, **more}
        for n, (a, b, label, subset) in enumerate(PAIRS, 1)
    ]
    return write_jsonl(folder / "pairs.jsonl", rows)


def quality(text: str) -> int:
    return {"good": 5, "equal": 4, "bad": 2}[text.split()[0]]


def verdict(label: str) -> str:
    return f'1. I looked.\n```json\n{{"criteria_1": "{label}"}}\n```'


def sees(asked: str, shown: dict[str, str]) -> str:
    """Knows how good a response is."""
    if asked == "preference":
        a, b = quality(shown["response_A"]), quality(shown["response_B"])
        return json.dumps({"preference": "A" if a > b else "B" if b > a else "TIE"})
    if asked == "rating":
        return json.dumps({"rating": quality(shown["response"])})
    return verdict("PASS" if quality(shown["response"]) >= (5 if "good" in shown["criteria"] else 4) else "FAIL")


def takes_the_first(asked: str, shown: dict[str, str]) -> str:
    """Prefers what stands first, and finds everything middling."""
    return {"preference": '{"preference": "A"}', "rating": '{"rating": 3}'}.get(asked) or verdict("PASS")


def inverts(asked: str, shown: dict[str, str]) -> str:
    """Takes the bad for the good."""
    turned = {k: v.replace("good", "BAD").replace("bad", "good").replace("BAD", "bad") for k, v in shown.items()}
    return sees(asked, turned | {"criteria": shown.get("criteria", "")})


def mumbles(asked: str, shown: dict[str, str]) -> str:
    return "Well, both have their merits."


def model(name: str, judge: Judge) -> InMemory:
    def reply(request: ChatRequest) -> str:
        text = request.messages[0].content
        if text.startswith("You prepare the evaluation"):
            return QUESTIONS
        shown = {m[0]: m[2] for m in re.findall(r"<(\w+)_([0-9a-f]{8})>\n(.*?)\n</\1_\2>", text, re.DOTALL)}
        asked = "preference" if "response_A" in shown else "rating" if text.startswith("You rate") else "criterion"
        return judge(asked, shown)

    return InMemory(f"scripted:{name}", ScriptedModel(name, reply))


def own(tables: dict[str, Table], name: str = "scores") -> list[dict[str, Any]]:
    """The rows of this study, without the paper's."""
    return [dict(row) for row in tables[name].rows if not row.get("published")]


def study(folder: Path, *judges: InMemory, **more: Any) -> dict[str, Table]:
    options = {"judge": judges, "out": str(folder / "out")} | ({} if "data" in more else {"data": data(folder)}) | more
    return Pairwise(PairwiseOptions(**options)).run().value


def figures(row: dict[str, Any]) -> tuple[Any, ...]:
    """n, PLD-0, PLD-1, PLD-2, WPLD."""
    values = (row["accuracy"].value, row["pld_1"], row["pld_2"], row["wpld"].value)
    return row["accuracy"].n, *(value and pytest.approx(value) for value in values)


def prompts(judge: InMemory) -> list[str]:
    return [request.messages[0].content for request in judge.value.prompts]


ALL_RIGHT, ALL_TIED = (6, 1, 0, 0, 0), (6, 1 / 6, 5 / 6, 0, 5 / 6)
INVERTED = (6, 1 / 6, 0, 5 / 6, 10 / 6)  # all but the tie: "good 6" against "equal 6" is turned to a loss, too
NOTHING = (0, None, None, None, None)
EVERY = ("preference", "direct", "check-then-score", "tick")


@pytest.mark.parametrize(
    ("judge", "protocols", "wanted"),
    [(sees, EVERY, ALL_RIGHT), (takes_the_first, EVERY, ALL_TIED), (inverts, ("preference", "direct"), INVERTED),
     (mumbles, EVERY, NOTHING)],
)  # fmt: skip
def test_agreement_by_protocol(judge: Judge, protocols: tuple[str, ...], wanted: Any, tmp_path: Path) -> None:
    rows = own(study(tmp_path, model("j", judge), protocol=protocols))
    assert {row["protocol"]: figures(row) for row in rows} == dict.fromkeys(protocols, wanted)
    for row in rows:
        assert row["accuracy"].unscored == 6 - row["accuracy"].n
        assert row["strict"] == pytest.approx((row["accuracy"].value or 0) * row["accuracy"].n / 6)
    if judge is sees:
        # Both orders, two ratings, two ratings, two responses times two questions, for each of six pairs.
        assert [row["calls"] for row in rows] == [12, 12, 12, 24]
        spent = json.loads((tmp_path / "out/run.json").read_text())["usage"]["total"]
        assert spent["generator"]["calls"] == 6, "one checklist an instruction, for both protocols that need it"
        (lists, _) = json.loads((tmp_path / "out/scores.json").read_text())["checklists"]
        assert (lists["instructions"], lists["checklists"], lists["mean"], lists["duplicates"]) == (6, 6, 2, 0)


def test_whose_checklists_are_used(tmp_path: Path) -> None:
    judge = model("j", sees)
    (row,) = own(study(tmp_path, judge, data=data(tmp_path, criteria=["Is it good?"]), protocol=("tick",)))
    # Of bad, equal and good only good passes: equal against equal is a tie, good against equal a win.
    assert figures(row) == ALL_RIGHT
    assert len(prompts(judge)) == 12
    assert not any(text.startswith("You prepare") for text in prompts(judge)), "a checklist of the data is used"
    judges = model("one", sees), model("two", takes_the_first)
    rows = own(study(tmp_path, *judges, protocol=("tick",), out=f"{tmp_path}/two"))
    assert [(row["judge"], figures(row)) for row in rows] == [("scripted:one", ALL_RIGHT), ("scripted:two", ALL_TIED)]
    assert [sum(text.startswith("You prepare") for text in prompts(judge)) for judge in judges] == [6, 0]
    assert "the same checklists, written by scripted:one." in (tmp_path / "two/report.html").read_text()
    lists = held(tmp_path / "two/checklists.jsonl")
    edited = write_jsonl(tmp_path / "edited.jsonl", [row | {"criteria": ["Is it at least equal?"]} for row in lists])
    judge = model("j", sees)
    (row,) = own(study(tmp_path, judge, checklists=edited, protocol=("tick",), out=f"{tmp_path}/again"))
    assert figures(row) == (6, 5 / 6, 1 / 6, 0, 1 / 6), "good and equal can no longer be told apart"
    assert len(prompts(judge)) == 12


@scenarios(__file__, "pairwise")
def test_commands(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def test_no_checklist_is_undecided_with_its_reason(tmp_path: Path) -> None:
    writer = InMemory("scripted:w", ScriptedModel("w", lambda request: "No idea."))
    tables = study(tmp_path, model("j", sees), generator=writer, protocol=("tick", "direct"))
    assert {row["protocol"]: figures(row) for row in own(tables)} == {"tick": NOTHING, "direct": ALL_RIGHT}
    ((judge, protocol, reason, count),) = (row.values() for row in tables["undecided"].rows)
    assert (judge, protocol, count) == ("scripted:j", "tick", 6)
    assert reason.startswith("no checklist: it has no line `Questions:`")
    assert "leave their pairs undecided: 6 (the first: it has no line" in (tmp_path / "out/report.html").read_text()
