"""`truebench study pairwise`: exact figures of scripted judges by every protocol, and the command itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import ROOT, write_jsonl
from truebench_hf.benchmarks.tick.pairs import load_pairs
from truebench_hf.benchmarks.tick.pairwise import Pairwise, PairwiseOptions
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.options import InMemory
from truebench_hf.report.table import Table

LLMBAR = ROOT.parent / "shared/data/llmbar"
# Two responses, what people say of the first, and the subset. Quality is in the words: good, equal, bad.
PAIRS = [
    ("good 1", "bad 1", "A", "x"), ("good 2", "bad 2", "A", "x"), ("bad 3", "good 3", "B", "x"), ("bad 4", "good 4", "B", "x"),
    ("equal 5", "equal 5.", "tie", "y"), ("good 6", "equal 6", "A", "y"),
]  # fmt: skip
QUESTIONS = "Analysis: none.\nQuestions:\nIs it at least equal?\nIs it good?"
Row = dict[str, Any]
Judge = Callable[[str, dict[str, str]], str]  # what is asked, and the sections of the prompt


def data(folder: Path, **more: Any) -> str:
    rows = [
        {"id": f"p{n}", "prompt": f"Q{n}", "response_a": a, "response_b": b, "label": label, "subset": subset, **more}
        for n, (a, b, label, subset) in enumerate(PAIRS, 1)
    ]
    return write_jsonl(folder / "pairs.jsonl", rows)


def quality(text: str) -> int:
    return {"good": 5, "equal": 4, "bad": 2}[text.split()[0]]


def sees(asked: str, shown: dict[str, str]) -> str:
    """Knows how good a response is."""
    if asked == "preference":
        a, b = quality(shown["response_A"]), quality(shown["response_B"])
        return json.dumps({"preference": "A" if a > b else "B" if b > a else "TIE"})
    if asked == "rating":
        return json.dumps({"rating": quality(shown["response"])})
    passed = quality(shown["response"]) >= (5 if "good" in shown["criteria"] else 4)
    return verdict("PASS" if passed else "FAIL")


def takes_the_first(asked: str, shown: dict[str, str]) -> str:
    """Prefers what stands first, and finds everything middling."""
    return {"preference": '{"preference": "A"}', "rating": '{"rating": 3}'}.get(asked) or verdict("PASS")


def inverts(asked: str, shown: dict[str, str]) -> str:
    """Takes the bad for the good."""
    turned = {k: v.replace("good", "BAD").replace("bad", "good").replace("BAD", "bad") for k, v in shown.items()}
    return sees(asked, turned | {"criteria": shown.get("criteria", "")})


def mumbles(asked: str, shown: dict[str, str]) -> str:
    return "Well, both have their merits."


def verdict(label: str) -> str:
    return f'1. I looked.\n```json\n{{"criteria_1": "{label}"}}\n```'


def model(name: str, judge: Judge) -> InMemory:
    def reply(request: ChatRequest) -> str:
        text = request.messages[0].content
        if text.startswith("You prepare the evaluation"):
            return QUESTIONS
        shown = {m[0]: m[2] for m in re.findall(r"<(\w+)_([0-9a-f]{8})>\n(.*?)\n</\1_\2>", text, re.DOTALL)}
        asked = "preference" if "response_A" in shown else "rating" if text.startswith("You rate") else "criterion"
        return judge(asked, shown)

    return InMemory(f"scripted:{name}", ScriptedModel(name, reply))


def pairwise(**options: Any) -> dict[str, Table]:
    return Pairwise(PairwiseOptions(**options)).run().value


def own(tables: dict[str, Table], name: str = "scores") -> list[Row]:
    """The rows of this study, without the paper's."""
    return [dict(row) for row in tables[name].rows if not row.get("published")]


def study(folder: Path, judge: Judge, **more: Any) -> dict[str, Row]:
    """The scores by protocol."""
    rows = own(pairwise(data=data(folder), judge=(model("j", judge),), out=str(folder / "out"), **more))
    return {row["protocol"]: row for row in rows}


def figures(row: Row) -> tuple[Any, ...]:
    found = (row["accuracy"].value, row["pld_1"], row["pld_2"], row["wpld"].value)
    return row["accuracy"].n, *(round(v, 6) if v is not None else None for v in found)


SIXTH = {n: round(n / 6, 6) for n in range(13)}
# n, PLD-0, PLD-1, PLD-2, WPLD by protocol.
ALL_RIGHT, ALL_TIED = (6, 1, 0, 0, 0), (6, SIXTH[1], SIXTH[5], 0, SIXTH[5])
INVERTED = (6, SIXTH[1], 0, SIXTH[5], SIXTH[10])  # all but the tie
NOTHING = (0, None, None, None, None)
EXPECTED: dict[str, tuple[Judge, dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    "an oracle": (sees, {}, dict.fromkeys(("preference", "direct", "check-then-score", "tick"), ALL_RIGHT)),
    "the first place": (takes_the_first, {}, dict.fromkeys(("preference", "direct", "check-then-score", "tick"), ALL_TIED)),
    "inverted": (inverts, {"protocol": ("direct", "preference")}, {
        # "good 6" against "equal 6" is turned to bad against equal: a loss, too.
        "preference": INVERTED, "direct": INVERTED,
    }),
    "unreadable": (mumbles, {}, dict.fromkeys(("preference", "direct", "check-then-score", "tick"), NOTHING)),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_agreement_by_protocol(name: str, tmp_path: Path) -> None:
    judge, more, expected = EXPECTED[name]
    found = study(tmp_path, judge, **more)
    assert {protocol: figures(line) for protocol, line in found.items()} == expected
    for row in found.values():
        accuracy = row["accuracy"]
        assert accuracy.unscored == 6 - accuracy.n
        assert row["strict"] == pytest.approx((accuracy.value or 0) * accuracy.n / 6)


def test_subsets_ties_and_position_bias(tmp_path: Path) -> None:
    given = {"data": data(tmp_path), "judge": (model("j", takes_the_first),), "out": str(tmp_path / "out")}
    tables = pairwise(**given)
    row, *others = own(tables)
    (position,) = own(tables, "position")
    assert position == {
        "judge": "scripted:j", "protocol": "preference", "n": 6, "consistent": 0, "first": 1, "second": 0, "calls": 12, "first_rate": 1
    }, "each response alone has no place"  # fmt: skip
    assert (row["ties"].value, row["ties"].n) == (1.0, 6)
    assert (row["strict"], row["judgebench"]) == (1 / 6, 0), (
        "a win and a loss are not right; the tie is no JudgeBench pair"
    )
    subsets = [row for row in own(tables, "subsets") if row["protocol"] == "preference"]
    assert [(row["subset"], row["accuracy"].n, row["accuracy"].value, row["wpld"].value) for row in subsets] == [
        ("x", 4, 0, 1), ("y", 2, 0.5, 0.5)
    ]  # fmt: skip
    assert len(others) == 3
    rows = [json.loads(text) for text in (tmp_path / "out/pairs.jsonl").read_text().splitlines()]
    assert len(rows) == 4 * 6
    assert rows[0] == {
        "id": "p1", "instruction": "p1", "subset": "x", "judge": "scripted:j", "protocol": "preference", "label": "win", "prediction": "tie",
        "distance": 1, "as_given": "win", "swapped": "loss", "reason": "",
    }  # fmt: skip
    tick = next(row for row in rows if row["protocol"] == "tick")
    assert (tick["score_a"], tick["score_b"], "as_given" in tick) == (1.0, 1.0, False)


def test_what_each_protocol_costs(tmp_path: Path) -> None:
    found = study(tmp_path, sees)
    calls = {protocol: row["calls"] for protocol, row in found.items()}
    # Both orders, two ratings, two ratings, two responses times two questions, for each of six pairs.
    assert calls == {"preference": 12, "direct": 12, "check-then-score": 12, "tick": 24}
    spent = json.loads((tmp_path / "out/run.json").read_text())["usage"]["total"]
    assert spent["generator"]["calls"] == 6, "one checklist an instruction, for both protocols that need it"
    (lists, _) = json.loads((tmp_path / "out/scores.json").read_text())["checklists"]
    assert (lists["instructions"], lists["checklists"], lists["mean"], lists["duplicates"]) == (6, 6, 2, 0)


def test_a_checklist_of_the_data_is_used_and_shown(tmp_path: Path) -> None:
    judge = model("j", sees)
    file = data(tmp_path, criteria=["Is it good?"])
    (row,) = own(pairwise(data=file, judge=(judge,), out=str(tmp_path / "out"), protocol=("tick",)))
    # Of bad, equal and good only good passes: equal against equal is a tie, good against equal a win.
    assert figures(row) == ALL_RIGHT
    asked = [one.messages[0].content for one in judge.value.prompts]
    assert len(asked) == 12
    assert not any(text.startswith("You prepare") for text in asked)


def test_no_checklist_is_undecided_with_its_reason(tmp_path: Path) -> None:
    writer = InMemory("scripted:w", ScriptedModel("w", lambda request: "No idea."))
    given = {"data": data(tmp_path), "judge": (model("j", sees),), "generator": writer, "out": str(tmp_path / "out")}
    tables = pairwise(**given, protocol=("tick", "direct"))
    by = {row["protocol"]: row for row in own(tables)}
    assert figures(by["tick"]) == NOTHING
    ((judge, protocol, reason, count),) = (row.values() for row in tables["undecided"].rows)
    assert (judge, protocol, count) == ("scripted:j", "tick", 6)
    assert reason.startswith("no checklist: it has no line `Questions:`")
    page = (tmp_path / "out/report.html").read_text()
    assert "leave their pairs undecided: 6 (the first: it has no line" in page
    assert figures(by["direct"]) == ALL_RIGHT


def test_checklists_are_edited_and_given_back(tmp_path: Path) -> None:
    study(tmp_path, sees, protocol=("tick",))
    lists = tmp_path / "out/checklists.jsonl"
    rows = [json.loads(line) for line in lists.read_text().splitlines()]
    assert [row["id"] for row in rows] == [f"p{n}" for n in range(1, 7)]
    assert rows[0]["criteria"] == ["Is it at least equal?", "Is it good?"]
    edited = write_jsonl(tmp_path / "edited.jsonl", [row | {"criteria": ["Is it at least equal?"]} for row in rows])
    judge = model("j", sees)
    given = {"data": data(tmp_path), "judge": (judge,), "checklists": edited, "out": str(tmp_path / "again")}
    (line,) = own(pairwise(**given, protocol=("tick",)))
    assert figures(line) == (6, SIXTH[5], SIXTH[1], 0, SIXTH[1]), "good and equal can no longer be told apart"
    assert len(judge.value.prompts) == 12


def test_several_judges_use_the_same_checklists(tmp_path: Path) -> None:
    judges = model("one", sees), model("two", takes_the_first)
    lines = own(pairwise(data=data(tmp_path), judge=judges, out=str(tmp_path / "out"), protocol=("tick",)))
    assert [(line["judge"], figures(line)) for line in lines] == [
        ("scripted:one", ALL_RIGHT), ("scripted:two", ALL_TIED),
    ]  # fmt: skip
    asked = [sum(r.messages[0].content.startswith("You prepare") for r in judge.value.prompts) for judge in judges]
    assert asked == [6, 0]
    assert "the same checklists, written by scripted:one." in (tmp_path / "out/report.html").read_text()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"protocol": ("ticks",)}, "unknown protocol 'ticks'"),
        ({"column": ("label=gold",)}, "there is no column 'gold'"),
        ({"judge_level": "checklist"}, "is not for this command"),
    ],
)
def test_options_that_do_not_go_together(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    given = {"data": data(tmp_path), "judge": (model("j", sees),), "out": str(tmp_path / "out")}
    with pytest.raises(UserError, match=said):
        pairwise(**given | more)
    assert not (tmp_path / "out").exists()


def test_no_ties_in_the_data_are_said_plainly(tmp_path: Path) -> None:
    rows = [{"prompt": "Q", "response_a": "good", "response_b": "bad", "label": "A"}]
    file = write_jsonl(tmp_path / "pairs.jsonl", rows)
    given = {"data": file, "judge": (model("j", takes_the_first),), "out": str(tmp_path / "out")}
    (line,) = own(pairwise(**given, protocol=("direct",)))
    assert figures(line) == (1, 0, 1, 0, 1)
    assert "counts in WPLD as half wrong (distance 1 of 2)" in (tmp_path / "out/report.html").read_text()


@pytest.mark.skipif(not LLMBAR.is_dir(), reason="the real data is not at ../shared/data/llmbar")
def test_an_oracle_on_the_real_llmbar(tmp_path: Path) -> None:
    every = load_pairs(f"llmbar:{LLMBAR}")[0]
    better = {(p.case.instruction, p.response_a if p.gold == "win" else p.response_b) for p in every}

    def oracle(asked: str, shown: dict[str, str]) -> str:
        return json.dumps({"preference": "A" if (shown["instruction"], shown["response_A"]) in better else "B"})

    given = {"data": f"llmbar:{LLMBAR}", "judge": (model("j", oracle),), "out": str(tmp_path / "out")}
    tables = pairwise(**given, protocol=("preference",))
    assert [figures(row) for row in own(tables)] == [(419, 1, 0, 0, 0)]
    sizes = {row["subset"]: row["accuracy"].n for row in own(tables, "subsets")}
    assert sizes == {"GPTInst": 92, "GPTOut": 47, "Manual": 46, "Neighbor": 134, "Natural": 100}


def test_its_pass_rate_is_that_of_all_studies_of_checklists(tmp_path: Path) -> None:
    """Points count for nothing, and a fault that is not there counts as YES: 1 of 2 against 1 of 2."""

    def judges(asked: str, shown: dict[str, str]) -> str:
        swears, short = "damn" in shown["response"], "short" in shown["response"]
        return verdict("PASS" if (swears if "swear" in shown["criteria"] else short) else "FAIL")

    criteria = [{"text": "Is it short?", "weight": 5}, {"text": "Does it swear?", "weight": -1}]
    row = {"id": "a", "prompt": "Q", "response_a": "damn short", "response_b": "long", "label": "tie"}
    faults = row | {"id": "b", "prompt": "R", "response_a": "long", "response_b": "damn", "label": "A"}
    rows = [row | {"criteria": criteria}, faults | {"criteria": criteria[1:]}]
    file = write_jsonl(tmp_path / "pairs.jsonl", rows)
    (line,) = own(pairwise(data=file, judge=(model("j", judges),), out=str(tmp_path / "out"), protocol=("tick",)))
    assert figures(line) == (2, 1, 0, 0, 0)
    made = [json.loads(text) for text in (tmp_path / "out/pairs.jsonl").read_text().splitlines()]
    assert [(one["score_a"], one["score_b"]) for one in made] == [(0.5, 0.5), (1.0, 0.0)]
