"""What the studies of checklists refuse, one table per class of options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.tick.best_of import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.categories import Categories, CategoriesOptions
from truebench_hf.benchmarks.tick.checklists import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.benchmarks.tick.pairwise import Pairwise, PairwiseOptions
from truebench_hf.benchmarks.tick.refine import Refine, RefineOptions
from truebench_hf.benchmarks.tick.tick import ScoreChecklists, ScoreOptions, Tick, TickOptions
from truebench_hf.benchmarks.tick.validation import Validate, ValidateOptions
from truebench_hf.errors import UserError

JUDGE = "scripted:judge.json"
ALFA = {"id": "a", "prompt": "Say alfa.", "criteria": ["Is it a?"]}
ANSWERED = [ALFA | {"response": "x"}]
TALK = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello"},
    {"role": "user", "content": "Bye"},
]
SPOKEN = {"messages": TALK[:2], "criteria": ["Is it b?"], "response": "good"}
LOGS = {"data": None, "logs": "log.jsonl"}
DRFR = {"outside": "drfr", "outside_judge": JUDGE}
KIND_SHORT = [{"id": "a", "prompt": "p", "criteria": ["Is it kind?", "Is it short?"]}]

# By study: its options, what a plain call has, and cases: rows of data.jsonl (None: the usual one), options, the message.
Cases = list[tuple[Any, dict[str, Any], str]]
STUDIES: dict[str, tuple[Any, Any, dict[str, Any], Cases]] = {
    "tick": (Tick, TickOptions, {"model": (JUDGE,), "judge": JUDGE}, [
        (None, {"votes": 3}, "need a judge temperature"),
        (None, {"votes": 0}, "at least 1"),
        (None, {"judge_level": "checklist"}, "not for this command"),
        (None, {"judge_level": "decision", "votes": 3, "judge_temperature": 1.0}, "go with --judge-level rubric"),
        (None, {"judge_temperature": -1.0}, "at least 0"),
        (None, {"prompt": ("generate_checklist=nowhere.jinja",)}, "nowhere.jinja"),
        (None, {"instruction": "Say it."}, "either --data or --instruction"),
        (None, {"model": ()}, "at least one --model, or --logs"),
        (None, LOGS, "leave out --model$"),
        (None, LOGS | {"model": (), "samples": 2}, "--samples are answers of a --model"),
    ]),
    "score": (ScoreChecklists, ScoreOptions, {"judge": JUDGE}, [
        (None, {}, "no row has a response"),
        ([*ANSWERED, ALFA | {"prompt": "Say it.", "response": "x"}], {}, "id a stands twice"),
        ([ALFA | {"response": 7}], {}, "response"),
        ([ALFA | {"responses": [{"model": "m"}]}], {}, "text"),
        (None, {"responses": ("nowhere.jsonl",)}, "nowhere.jsonl"),
        ([{"id": "t", "turns": ["x", "y"]}], {}, "several turns"),
        ([SPOKEN], {}, "leave out the answer"),
        (None, {"data": None, "instruction": "Say it."}, "has no response"),
        (None, {"logs": "log.jsonl", "column": ("id=key",)}, "leave out --data and --column$"),
        (None, LOGS | {"instruction": "Say it."}, "leave out --instruction$"),
        (None, LOGS | {"responses": ("r.jsonl",)}, "leave out --responses$"),
    ]),
    "generate": (GenerateChecklists, GenerateChecklistOptions, {"model": JUDGE}, [
        (None, {"model": None}, "--model SPEC"),
        (None, {"generator": "smollm2"}, "--model SPEC"),
        (None, {"data": None}, "--data or --instruction"),
        (None, {"data": "nowhere.jsonl"}, "checklists_mini"),
        ([], {}, "holds no records"),
    ]),
    "best-of": (BestOf, BestOfOptions, {"model": JUDGE}, [
        (None, {"by": ("dice",)}, "unknown scoring function"),
        (None, {"reward": ("smollm2",)}, "a reward model is"),
        (None, {"temperature": 0.0}, "draws the same answer every time"),
        (None, {"n": 0}, "at least 1"),
        (None, {"outside": "rating"}, "needs an --outside-judge"),
    ]),
    "refine": (Refine, RefineOptions, {"model": JUDGE}, [
        (None, {"outside": "drfr"}, "needs an --outside-judge"),
        (None, {"outside": "accuracy"}, "unknown --outside"),
        (None, {"outside": "exact", "outside_judge": JUDGE}, "goes with --outside drfr or rating"),
        (None, {"outside_judge": JUDGE}, "goes with --outside drfr or rating"),
        (None, {"critique": "prose"}, "unknown --critique"),
        (None, {"keep": "first"}, "unknown --keep"),
        (None, {"critique": "free", "keep": "best"}, "leave out one"),
        (None, {"critique": "free", "generator": "smollm2"}, "uses no checklist"),
        (None, {"iterations": 0}, "at least 1"),
        ([{"id": "a", "prompt": "p"}], {"outside": "exact"}, "has reference"),
        ([{"id": "a", "prompt": "p"}], DRFR, "has criteria"),
        ([{"id": "b", "messages": TALK}], {}, "all rows are conversations"),
        # Some of the criteria that score outside are as telling as all.
        (KIND_SHORT, DRFR | {"checklists": "data.jsonl"}, "must not see it"),
        (KIND_SHORT, DRFR | {"checklists": "shouted.jsonl"}, "must not see it"),
        (KIND_SHORT, DRFR | {"checklists": "kind.jsonl"}, "must not see it"),
    ]),
    "validate": (Validate, ValidateOptions, {}, [
        (None, {}, "name a --generator"),
        (None, {"votes": 0}, "at least 1"),
        (None, {"judge_temperature": -1.0}, "at least 0"),
    ]),
    "categories": (Categories, CategoriesOptions, {}, [
        (None, {}, "name a --model"),
        *((None, {"model": "scripted:x", "scheme": name}, "or a JSON file") for name in (
            "none.json", "open.json", "twice.json", "list.json", "number.json", "blank.json")),
    ]),
    "pairwise": (Pairwise, PairwiseOptions, {"judge": (JUDGE,)}, [
        ([{"prompt": "Q", "response_a": "x", "response_b": "y", "label": "A"}], more, message) for more, message in (
            ({"protocol": ("ticks",)}, "unknown --protocol 'ticks'"),
            ({"column": ("label=gold",)}, "there is no column 'gold'"),
            ({"judge_level": "checklist"}, "is not for this command"),
        )]),
}  # fmt: skip
SCHEMES = {"open": "{", "twice": '{"a": "b", "A": "c"}', "list": '["a", "b"]', "number": '{"a": 1, "b": 2}',
           "blank": '{"a": " "}'}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "rows", "more", "message"),
    [(name, *case) for name, (_, _, _, cases) in STUDIES.items() for case in cases],
)
def test_it_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: Any, more: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    script(Path("judge.json"), [])
    write_jsonl(Path("data.jsonl"), [ALFA] if rows is None else rows or [" "])
    write_jsonl(Path("shouted.jsonl"), [KIND_SHORT[0] | {"criteria": ["Is it short?", "IS IT KIND"]}])
    write_jsonl(Path("kind.jsonl"), [KIND_SHORT[0] | {"criteria": ["Is it kind?"]}])
    for scheme, text in SCHEMES.items():
        Path(f"{scheme}.json").write_text(text, encoding="utf-8")
    study, options, plain, _ = STUDIES[name]
    with pytest.raises(UserError, match=message):
        study(options(**{"data": "data.jsonl", "out": "out"} | plain | more)).run()
    assert not Path("out").exists()


def test_a_reward_model_is_named_in_one_way_or_the_other() -> None:
    by, reward = (
        BestOfOptions(data="d", model="smollm2", out="o", **more)  # type: ignore[arg-type]
        for more in ({"by": ("stick", "reward:x")}, {"by": ("stick",), "reward": ("reward:x",)})
    )
    assert by == reward
    assert json.dumps([by.by, by.reward]) == '[["stick", "reward:x"], ["reward:x"]]'
