"""`flex study decompose`: partners by hand-made vectors, a judge with a bias, what is read and what goes together."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.corpus import each_row
from tests.support.runs import write_jsonl
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench import decomposition
from truebench_hf.benchmarks.flexbench.decomposition import (
    CRITERIA,
    DecomposeOptions,
    FlexDecompose,
    Pair,
    Preferences,
    match,
    tally,
    with_partners,
)
from truebench_hf.benchmarks.flexbench.procedure import (
    Procedure,
    as_yaml,
    from_questions,
    read_decompositions,
    read_instructions,
)
from truebench_hf.errors import UserError

# A question's vector, by its first word: cosines 1, 0.8, 0.6 and 0.
VECTORS = {"north": (1, 0), "near": (0.8, 0.6), "far": (0.6, 0.8), "east": (0, 1)}


def by_hand(texts: Sequence[str]) -> Any:
    return np.array([VECTORS.get(text.split()[0], (1, 0)) for text in texts])


def by_letters(texts: Sequence[str]) -> Any:
    """Unit vectors of how often letters occur: equal texts have equal ones."""
    counts = np.array([[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def pair(human: Sequence[str], ours: Sequence[str], name: str = "one") -> Pair:
    return from_questions(name, "Point.", human), from_questions(name, "Point.", ours)


def test_partners_by_hand_made_vectors() -> None:
    asked: list[tuple[str, str]] = []

    def bert(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[float, float, float]]:
        asked.extend(zip(candidates, references, strict=True))
        return [(0.1 * n, 0.2, 0.3) for n in range(len(candidates))]

    pairs = [pair(["north a", "near b"], ["north c", "east d", "far e"]), pair(["east f"], ["north g"], "two")]
    first, second = with_partners(pairs, by_hand)
    # near to north 0.8, to far 0.8 * 0.6 + 0.6 * 0.8 = 0.96; so both alignments agree here.
    assert first.nearest == first.one_to_one == [(0, 0), (1, 2)]
    assert [first.likeness[pair]["cosine"] for pair in first.nearest] == pytest.approx([1.0, 0.96])
    assert (first.row()["human_left_over"], first.row()["ours_left_over"]) == ([], ["east d"])
    assert (first.cosine, second.cosine) == pytest.approx((0.98, 0.0))
    assert [row["rouge_l"] for row in first.partners(first.nearest)] == [0.5, 0.0], "north is all they share"
    # One of ours serves two, and one to one it does not.
    (shared,) = with_partners([pair(["north a", "near b"], ["north c", "east d"])], by_hand, bert)
    assert (shared.nearest, shared.one_to_one) == ([(0, 0), (1, 0)], [(0, 0), (1, 1)])
    assert shared.likeness[1, 1]["cosine"] == pytest.approx(0.6)
    assert shared.row()["never_nearest"] == ["east d"]
    assert asked == [("north c", "north a"), ("north c", "near b"), ("east d", "near b")], "ours against the human one"
    assert [row["bertscore_p"] for row in shared.partners(shared.one_to_one)] == pytest.approx([0.0, 0.2])
    dissimilar = [with_partners([pair(["north"], [name])], by_hand)[0].dissimilar for name in ("near", "north", "east")]
    assert dissimilar == [True, False, True]


def test_preferences_are_counted_by_hand() -> None:
    # Joined: win, tie (the first list both times), loss, undecided.
    orders = (("win", "win"), ("win", "loss"), ("loss", "loss"), ("win", None))
    counted = tally([Preferences(dict.fromkeys(CRITERIA, a), dict.fromkeys(CRITERIA, b)) for a, b in orders])[0]
    assert (counted["win"], counted["tie"], counted["loss"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    difference = counted["difference"]
    assert (difference.n, difference.unscored, difference.value) == (3, 1, 0.0)
    assert counted["consistent"] == pytest.approx(2 / 3)
    # Of seven choices: shown first, ours is chosen three times of four; shown second, the human list two times of three.
    assert counted["first"] == pytest.approx((3 + 2) / 7)


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decomposition, "embed", by_letters)


def answer(**labels: str) -> str:
    return f"List A is short.\n```json\n{json.dumps(dict.fromkeys(CRITERIA, 'TIE') | labels)}\n```"


def judge_by(choice: Callable[[list[str], list[str]], dict[str, str]]) -> Callable[..., str]:
    """A judge that is shown both lists as they stand in the prompt, A first."""

    def reply(messages: Sequence[dict[str, str]]) -> str:
        parts = [messages[0]["content"].partition(f"<list_{name}_")[2].partition("</list")[0] for name in "AB"]
        return answer(**choice(*([line[2:] for line in part.splitlines() if line[:2] == "- "] for part in parts)))

    return reply


def ours(name: str, *questions: str, text: str = "Point.") -> Procedure:
    return from_questions(name, text, questions)


def compared(
    tmp_path: Path, human: list[dict[str, Any]], judge: Any = None, *procedures: Procedure, **more: Any
) -> Any:
    for procedure in procedures:
        place = tmp_path / "ours" / "procedures" / procedure.id
        place.mkdir(parents=True)
        (place / "procedure.yaml").write_text(as_yaml(procedure), encoding="utf-8")
    options = DecomposeOptions(
        folders=(str(tmp_path / "ours"),), human=write_jsonl(tmp_path / "human.jsonl", human),
        judge=judge and as_spec(judge), out=str(tmp_path / "out"), **more,
    )  # fmt: skip
    return FlexDecompose(options).run()


ROW = {"id": "one", "instruction": "Point.", "questions": ["Does it point north?"]}


def rows_of(outcome: Any, name: str, **keys: str) -> list[dict[str, Any]]:
    """The rows of a table that have these keys, the paper's aside."""
    (table,) = [table for table in outcome.tables if table.name == name]
    return [row for row in table.rows if not row.get("published") and keys.items() <= row.items()]


@pytest.mark.usefixtures("letters")
def test_a_judge_that_looks_at_the_lists_is_followed_in_either_order(tmp_path: Path) -> None:
    def longer(a: list[str], b: list[str]) -> dict[str, str]:
        assert {len(a), len(b)} == {1, 2}, "both lists are shown, a line each"
        return {"granularity": "A" if len(a) > len(b) else "B", "clarity": "B" if len(a) > len(b) else "A"}

    outcome = compared(tmp_path, [ROW], judge_by(longer), ours("one", "Does it\npoint?", "Is it north?"))
    labels = outcome.value[0].preferences.labels
    assert labels == dict.fromkeys(CRITERIA, "tie") | {"granularity": "win", "clarity": "loss"}
    (clarity,) = rows_of(outcome, "preferences", group="all", criterion="Clarity")
    assert clarity["difference"].value == -1.0
    row = json.loads((tmp_path / "out" / "comparisons.jsonl").read_text())["preferences"]
    assert (row["labels"], row["reason"]) == (labels, "as given: List A is short.; swapped: List A is short.")


@pytest.mark.usefixtures("letters")
def test_an_order_that_cannot_be_read_leaves_the_pair_undecided(tmp_path: Path) -> None:
    asked: list[int] = []

    def reply(messages: Sequence[dict[str, str]]) -> str:
        asked.append(len(messages))
        first = messages[0]["content"].partition("<list_A_")[2].partition("</list")[0]
        return answer(overall="A") if "Does it point?" in first else "Both are fine."

    outcome = compared(tmp_path, [ROW], reply, ours("one", "Does it point?"))
    preferences = outcome.value[0].preferences
    assert sorted(asked) == [1, 1, 3, 5], "asked again twice, and no more"
    assert (preferences.as_given["overall"], set(preferences.labels.values())) == ("win", {None})
    assert preferences.reason.startswith("swapped: it has no JSON object")
    difference = rows_of(outcome, "preferences", group="all")[0]["difference"]
    assert (outcome.incomplete, difference.value, difference.n, difference.unscored) == (1, None, 0, 1)


@pytest.mark.usefixtures("letters")
def test_dissimilar_instructions_stand_apart_and_counts_by_hand(tmp_path: Path) -> None:
    rows = [
        ROW,
        {"id": "two", "instruction": "Hush.", "questions": ["zzzz"]},
        ROW | {"id": "three", "questions": ["q?"] * 3},
    ]
    procedures = (
        ours("one", "Does it point north?"),
        ours("two", *["aaaa"] * 4, text="Hush."),
        ours("three", "q?", "q?"),
    )
    favourite = judge_by(lambda a, b: {"overall": "A" if "aaaa" in a else "B"})
    outcome = compared(tmp_path, rows, favourite, *procedures)
    assert [row["instruction"] for row in rows_of(outcome, "instructions", dissimilar="yes")] == ["two"]
    wins = {row["group"]: row["win"] for row in rows_of(outcome, "preferences", criterion="Overall")}
    assert wins == {"all": 1 / 3, "dissimilar": 1.0}, "of equal lists B twice: that is a tie"
    (row,) = rows_of(outcome, "counts", side="ours less human")
    assert (row["mean"], row["deviation"]) == pytest.approx((2 / 3, 2.0817), abs=1e-4)
    assert (row["least"], row["median"], row["most"]) == (-1, 0.0, 3), "of 0, 3 and -1"
    plot = outcome.charts[0]
    assert [point[:2] for point in plot.series[1].points] == [(1.0, 1.0), (2.0, 1.0), (3.0, 0.0), (4.0, 1.0)]


@pytest.mark.usefixtures("letters")
def test_a_judge_may_come_later_and_not_go(tmp_path: Path) -> None:
    assert compared(tmp_path, [ROW], None, ours("one", "Does it point?")).value[0].preferences is None
    assert compared(tmp_path, [ROW], judge_by(lambda a, b: {})).value[0].preferences is not None
    with pytest.raises(UserError, match="which would be dropped; name them again with --judge"):
        compared(tmp_path, [ROW])


def test_what_can_be_told_before_anything_is_paid_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: None
) -> None:
    with pytest.raises(UserError, match=r"none of the 1 instructions .* `truebench flex build .*human.jsonl --out"):
        compared(tmp_path, [ROW], None, ours("other", "q?", text="Other."))
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(UserError, match=r"pip install 'truebench-hf\[bertscore\]'"):
        compared(tmp_path, [ROW], None, ours("one", "Does it point?"), bertscore=True)
    assert not (tmp_path / "out").exists()
    monkeypatch.setattr(decomposition, "embed", None)
    outcome = compared(tmp_path, [ROW], judge_by(lambda a, b: {}), estimate=True)
    assert {part: usage.calls for part, usage in outcome.value.items()} == {"judge": 2}, "two calls, nothing embedded"


HARD = {"id": "7", "instruction": "Rank them.", "input": "a, b", "category": "x", "decomposed_questions": ["Ranked?"],
        "subset": "Hard_set", "question_label": [["Content"]]}  # fmt: skip


@each_row(__file__, "flex_decompose", "forms")
def test_rows_of_every_form(tmp_path: Path, row: dict[str, Any], procedure: tuple[Any, ...]) -> None:
    assert read_decompositions(write_jsonl(tmp_path / "h.jsonl", [row])) == ([from_questions(*procedure)], [])


@each_row(__file__, "flex_decompose", "unusable")
def test_rows_that_cannot_be_used_are_named(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        read_decompositions(write_jsonl(tmp_path / "h.jsonl", [row, row]))


def test_of_infobench_the_hard_set_is_read_and_built(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "h.jsonl", [HARD, HARD | {"id": "8", "subset": "Easy_set"}])
    note = ["left out: 1 instructions that are not of Hard_set"]
    for source, name in ((file, "7"), (f"infobench:{file}", "infobench-7")):
        assert read_decompositions(source) == ([from_questions(name, "Rank them.\n\na, b", ("Ranked?",))], note)
        assert read_instructions(source) == ([Procedure(name, "Rank them.\n\na, b")], note)
    plain = {"id": "a b", "instruction": "Hi.", "title": "T", "opening": "O"}
    assert read_instructions(write_jsonl(tmp_path / "i.jsonl", [plain]))[0] == [
        Procedure("a-b", "Hi.", title="T", opening="O")
    ]


def test_builds_and_comparisons_meet_by_id_or_text() -> None:
    human = [from_questions(*each, ["q?"]) for each in (("a b", "1"), ("c", "  two\nlines "), ("d", "3"), ("e", "4"))]
    mine = [from_questions(*each, ["q?"]) for each in (("a-b", "1"), ("x", "two lines"), ("d", "three"), ("y", "5"))]
    assert [(first.id, second.id) for first, second in match(human, mine)] == [("a b", "a-b"), ("c", "x"), ("d", "d")]
