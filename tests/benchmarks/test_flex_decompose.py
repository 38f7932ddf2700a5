"""`flex study decompose`: partners by hand-made vectors, a judge with a bias, what is read and what goes together."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.support.runs import ROOT, write_jsonl
from truebench_hf.api.judge import as_spec
from truebench_hf.benchmarks.flexbench import decompose
from truebench_hf.benchmarks.flexbench.build import FlexBuild, FlexBuildOptions
from truebench_hf.benchmarks.flexbench.decompose import (
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
    Dimension,
    Procedure,
    as_yaml,
    asking,
    built_in,
    decompositions,
    instructions,
    procedures_of,
)
from truebench_hf.cli.app import app
from truebench_hf.errors import UserError

STRUCTFLOW = ROOT.parent / "shared" / "data" / "structflowbench" / "StructFlowBench.json"
# A question's vector, by its first word: cosines 1, 0.8, 0.6 and 0.
VECTORS = {"north": (1, 0), "near": (0.8, 0.6), "far": (0.6, 0.8), "east": (0, 1)}


def by_hand(texts: Sequence[str]) -> Any:
    return np.array([VECTORS.get(text.split()[0], (1, 0)) for text in texts], dtype=np.float32)


def by_letters(texts: Sequence[str]) -> Any:
    """Unit vectors of how often letters occur: equal texts have equal ones."""
    counts = np.array([[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts])
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def pair(human: Sequence[str], ours: Sequence[str], name: str = "one") -> Pair:
    return asking(name, "Point.", human), asking(name, "Point.", ours)


# --- similarity ------------------------------------------------------------------------------------------------------


def test_partners_by_hand_made_vectors() -> None:
    one, two = pair(["north a", "near b"], ["north c", "east d", "far e"]), pair(["east f"], ["north g"], "two")
    first, second = with_partners([one, two], by_hand)
    # near to north 0.8, to far 0.8 * 0.6 + 0.6 * 0.8 = 0.96; so both alignments agree here.
    assert first.nearest == first.one_to_one == [(0, 0), (1, 2)]
    assert [first.likeness[pair]["cosine"] for pair in first.nearest] == pytest.approx([1.0, 0.96])
    assert first.cosine == pytest.approx(0.98)
    assert (first.row()["human_left_over"], first.row()["ours_left_over"]) == ([], ["east d"])
    assert second.cosine == pytest.approx(0.0)
    assert [row["rouge_l"] for row in first.partners(first.nearest)] == [0.5, 0.0], "north is all they share"


def test_one_of_ours_serves_two_and_one_to_one_it_does_not() -> None:
    (found,) = with_partners([pair(["north a", "near b"], ["north c", "east d"])], by_hand)
    assert (found.nearest, found.one_to_one) == ([(0, 0), (1, 0)], [(0, 0), (1, 1)])
    assert found.likeness[1, 1]["cosine"] == pytest.approx(0.6)
    assert found.row()["never_nearest"] == ["east d"]


def test_bertscore_is_asked_once_for_every_pair_of_both_alignments() -> None:
    asked: list[tuple[str, str]] = []

    def scores(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[float, float, float]]:
        asked.extend(zip(candidates, references, strict=True))
        return [(0.1 * n, 0.2, 0.3) for n in range(len(candidates))]

    (found,) = with_partners([pair(["north a", "near b"], ["north c", "east d"])], by_hand, scores)
    assert asked == [("north c", "north a"), ("north c", "near b"), ("east d", "near b")], "ours against the human one"
    assert [row["bertscore_p"] for row in found.partners(found.one_to_one)] == pytest.approx([0.0, 0.2])


@pytest.mark.parametrize(("cosine", "found"), [(0.8, True), (1.0, False), (0.0, True)])
def test_dissimilar_is_under_the_mark(cosine: float, found: bool) -> None:
    names = {1.0: "north", 0.8: "near", 0.0: "east"}
    (compared,) = with_partners([pair(["north"], [names[cosine]])], lambda texts: by_hand(texts).astype(float))
    assert compared.dissimilar is found


# --- preference ------------------------------------------------------------------------------------------------------

EQUAL: dict[str, str] = dict.fromkeys(CRITERIA, "TIE")


def answer(**said: str) -> str:
    return f"List A is short.\n```json\n{json.dumps(EQUAL | said)}\n```"


def said(label: str | None, back: str | None) -> Preferences:
    return Preferences(dict.fromkeys(CRITERIA, label), dict.fromkeys(CRITERIA, back))


def test_preferences_are_counted_by_hand() -> None:
    # Joined: win, tie (the first list both times), loss, undecided.
    found = tally([said("win", "win"), said("win", "loss"), said("loss", "loss"), said("win", None)])[0]
    assert (found["win"], found["tie"], found["loss"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    assert (found["difference"].n, found["difference"].unscored, found["difference"].value) == (3, 1, 0.0)
    assert found["consistent"] == pytest.approx(2 / 3)
    # Of seven choices: shown first, ours is chosen three times of four; shown second, the human list two times of three.
    assert found["first"] == pytest.approx((3 + 2) / 7)


# --- the study -------------------------------------------------------------------------------------------------------


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompose, "embed", by_letters)


def procedures(place: Path, *made: Procedure) -> str:
    for one in made:
        (place / "procedures" / one.id).mkdir(parents=True)
        (place / "procedures" / one.id / "procedure.yaml").write_text(as_yaml(one), encoding="utf-8")
    return str(place)


def ours(name: str, *questions: str, text: str = "Point.") -> Procedure:
    return Procedure(name, text, tuple(Dimension(f"d{n}", question) for n, question in enumerate(questions, 1)))


def compared(tmp_path: Path, human: list[dict[str, Any]], judge: Any = None, *made: Procedure, **more: Any) -> Any:
    place = tmp_path / "ours"
    folder = str(place) if place.exists() else procedures(place, *made)
    options = DecomposeOptions(
        folders=(folder,), human=write_jsonl(tmp_path / "human.jsonl", human), judge=judge and as_spec(judge),
        out=str(tmp_path / "out"), **more,
    )  # fmt: skip
    return FlexDecompose(options).run()


def judge_by(choice: Callable[[list[str], list[str]], dict[str, str]]) -> Callable[..., str]:
    """A judge that is shown both lists as they stand in the prompt, A first."""

    def reply(messages: Sequence[dict[str, str]]) -> str:
        prompt = messages[0]["content"]
        lists = [
            [line[2:] for line in prompt.partition(f"<list_{name}_")[2].partition("</list")[0].splitlines() if line[:2] == "- "]
            for name in "AB"
        ]  # fmt: skip
        return answer(**choice(*lists))

    return reply


ROW = {"id": "one", "instruction": "Point.", "questions": ["Does it point north?"]}


def rows_of(outcome: Any, name: str, **keys: str) -> list[dict[str, Any]]:
    """The rows of a table that have these keys, the paper's aside."""
    (table,) = [table for table in outcome.tables if table.name == name]
    return [row for row in table.rows if not row.get("published") and keys.items() <= row.items()]


@pytest.mark.usefixtures("letters")
def test_a_judge_that_likes_what_comes_first_prefers_nothing(tmp_path: Path) -> None:
    made = ours("one", "Does it point?", "Is it north?")
    outcome = compared(tmp_path, [ROW], judge_by(lambda a, b: dict.fromkeys(CRITERIA, "A")), made)
    (one,) = outcome.value
    assert set(one.preferences.as_given.values()) == {"win"}
    assert set(one.preferences.swapped.values()) == {"loss"}
    assert set(one.preferences.labels.values()) == {"tie"}
    first, *others = rows_of(outcome, "preferences", group="all")
    assert (first["criterion"], first["win"], first["tie"], first["loss"]) == ("Overall", 0.0, 1.0, 0.0)
    assert (first["difference"].value, first["difference"].n, first["consistent"], first["first"]) == (0.0, 1, 0.0, 1.0)
    paper = [
        row for table in outcome.tables if table.name == "preferences" for row in table.rows if row.get("published")
    ]
    assert (paper[0]["win"], paper[0]["loss"], paper[0]["difference"].value) == pytest.approx((0.621, 0.375, 0.246))
    assert [row["criterion"] for row in paper] == [row["criterion"] for row in (first, *others)]
    assert outcome.incomplete == 0


@pytest.mark.usefixtures("letters")
def test_a_judge_that_looks_at_the_lists_is_followed_in_either_order(tmp_path: Path) -> None:
    def longer(a: list[str], b: list[str]) -> dict[str, str]:
        assert {len(a), len(b)} == {1, 2}, "both lists are shown, a line each"
        return {"granularity": "A" if len(a) > len(b) else "B", "clarity": "B" if len(a) > len(b) else "A"}

    outcome = compared(tmp_path, [ROW], judge_by(longer), ours("one", "Does it\npoint?", "Is it north?"))
    labels = outcome.value[0].preferences.labels
    assert labels == dict.fromkeys(CRITERIA, "tie") | {"granularity": "win", "clarity": "loss"}
    (granularity,) = rows_of(outcome, "preferences", group="all", criterion="Granularity")
    (clarity,) = rows_of(outcome, "preferences", group="all", criterion="Clarity")
    assert (granularity["win"], clarity["difference"].value) == (1.0, -1.0)
    row = json.loads((tmp_path / "out" / "comparisons.jsonl").read_text())
    assert row["preferences"]["labels"] == labels
    assert row["preferences"]["reason"] == "as given: List A is short.; swapped: List A is short."


@pytest.mark.usefixtures("letters")
def test_an_order_that_cannot_be_read_leaves_the_pair_undecided(tmp_path: Path) -> None:
    asked: list[int] = []

    def reply(messages: Sequence[dict[str, str]]) -> str:
        asked.append(len(messages))
        first = messages[0]["content"].partition("<list_A_")[2].partition("</list")[0]
        return answer(overall="A") if "Does it point?" in first else "Both are fine."

    outcome = compared(tmp_path, [ROW], reply, ours("one", "Does it point?"))
    (one,) = outcome.value
    assert sorted(asked) == [1, 1, 3, 5], "asked again twice, and no more"
    assert one.preferences.as_given["overall"] == "win"
    assert one.preferences.labels == dict.fromkeys(CRITERIA)
    assert one.preferences.reason.startswith("swapped: it has no JSON object")
    assert outcome.incomplete == 1
    difference = rows_of(outcome, "preferences", group="all")[0]["difference"]
    assert (difference.value, difference.n, difference.unscored) == (None, 0, 1)


@pytest.mark.usefixtures("letters")
def test_dissimilar_instructions_have_tables_of_their_own(tmp_path: Path) -> None:
    rows = [ROW, {"id": "two", "instruction": "Hush.", "questions": ["zzzz"]}]
    made = ours("one", "Does it point north?"), ours("two", "aaaa", text="Hush.")
    outcome = compared(tmp_path, rows, judge_by(lambda a, b: {"overall": "A" if "aaaa" in a else "B"}), *made)
    assert [row["instruction"] for row in rows_of(outcome, "instructions", dissimilar="yes")] == ["two"]
    wins = {row["group"]: row["win"] for row in rows_of(outcome, "preferences", criterion="Overall")}
    assert wins == {"all": 0.5, "dissimilar": 1.0}, "of equal lists B twice: that is a tie"


@pytest.mark.usefixtures("letters")
def test_a_judge_may_come_later_and_not_go(tmp_path: Path) -> None:
    made = ours("one", "Does it point?")
    assert compared(tmp_path, [ROW], None, made).value[0].preferences is None
    spec = as_spec(judge_by(lambda a, b: {}))
    given = {"folders": (str(tmp_path / "ours"),), "human": str(tmp_path / "human.jsonl"), "out": str(tmp_path / "out")}
    assert FlexDecompose(DecomposeOptions(**given, judge=spec)).run().value[0].preferences is not None
    with pytest.raises(UserError, match="which would be dropped; name them again with --judge"):
        FlexDecompose(DecomposeOptions(**given)).run()


@pytest.mark.usefixtures("letters")
def test_counts_by_hand(tmp_path: Path) -> None:
    rows = [{"id": name, "instruction": name, "questions": ["q?"] * n} for name, n in (("a", 1), ("b", 2), ("c", 3))]
    made = [ours(name, *["d?"] * n, text=name) for name, n in (("a", 4), ("b", 2), ("c", 2))]
    outcome = compared(tmp_path, rows, None, *made)
    row = rows_of(outcome, "counts", side="ours less human")[0]
    assert (row["mean"], row["deviation"]) == pytest.approx((2 / 3, 2.0817), abs=1e-4)
    assert (row["least"], row["median"], row["most"]) == (-1, 0.0, 3), "of 3, 0 and -1"


def test_the_built_in_dimensions_are_like_themselves(letters: None, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["flex", "study", "decompose", "flexbench", "--human", "flexbench", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    content = json.loads((out / "scores.json").read_text())
    figures = [row for row in content["similarity"] if not row.get("published")]
    assert {(row["alignment"], row["measure"]) for row in figures} == {
        (way, name) for way in ("nearest", "one to one") for name in ("sentence cosine", "ROUGE-L")
    }
    for row in figures:
        assert (row["pairs"], row["mean"], row["deviation"]) == (72, pytest.approx(1), pytest.approx(0))
    (overview,) = content["decompositions"]
    assert (overview["instructions"], overview["human_questions"], overview["our_questions"]) == (9, 72, 72)
    assert overview["dissimilar"] == 0
    assert "ROUGE-L" in done.output
    rows = [json.loads(line) for line in (out / "comparisons.jsonl").read_text().splitlines()]
    assert all(row["nearest"] == row["one_to_one"] for row in rows), "each is its own partner"
    assert all(one["human"] == one["ours"] for row in rows for one in row["nearest"])


def forgetful(messages: Sequence[dict[str, str]]) -> str:
    """A builder that finds the built-in dimensions of every instruction, but for the first one."""
    prompt = messages[0]["content"]
    one = next(one for one in built_in().values() if one.instruction.strip() in prompt)
    lines = [line.strip() for line in one.instruction.splitlines() if line.strip()]
    if prompt.startswith("You take an"):
        return json.dumps({"opening": "", "segments": lines})
    if prompt.startswith("You verify"):
        return json.dumps({"missing": [], "duplicates": [], "invented": [], "unverifiable": []})
    if prompt.startswith("You find the"):
        return json.dumps({"groups": []})
    cited = [f"s{n}" for n in range(1, len(lines) + 1)]
    # A French instruction says "15 mars": another name would be one that it does not hold.
    asked = [
        {"question": d.question.replace("March", "mars"), "condition": "", "script": "", "segments": cited}
        for d in one.dimensions[1:]
    ]
    return json.dumps({"dimensions": asked})


def test_a_builders_output_against_the_72_built_in_dimensions(letters: None, tmp_path: Path) -> None:
    folder = str(tmp_path / "built")
    built = FlexBuild(FlexBuildOptions(instruction="flexbench", builder=as_spec(forgetful), out=folder)).run()
    complete = {one.procedure.id for one in built.value if one.complete}
    assert len(complete) == 9, built.notes
    found = FlexDecompose(DecomposeOptions(folders=(folder,), human="flexbench", out=str(tmp_path / "out"))).run()
    (overview,) = rows_of(found, "decompositions")
    assert (overview["instructions"], overview["human_questions"], overview["our_questions"]) == (9, 72, 63)
    pairs = {
        row["alignment"]: row["pairs"] for row in rows_of(found, "similarity", measure="sentence cosine", group="all")
    }
    assert pairs == {"nearest": 72, "one to one": 63}
    for one in found.value:
        own = [(human, ours) for human, ours in one.nearest if human]
        assert own == [(n, n - 1) for n in range(1, one.counts[0])], "all but the first find themselves"
        assert one.row()["human_left_over"] == one.human.questions[:1]
        assert one.row()["ours_left_over"] == []
    row = rows_of(found, "counts", side="ours less human")[0]
    assert (row["mean"], row["deviation"], row["least"], row["most"]) == (-1.0, 0.0, -1, -1)


def test_an_estimate_counts_two_calls_an_instruction_and_embeds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decompose, "embed", None)
    outcome = compared(tmp_path, [ROW], judge_by(lambda a, b: {}), ours("one", "Does it point?"), estimate=True)
    assert {part: usage.calls for part, usage in outcome.value.items()} == {"judge": 2}


def test_bertscore_without_its_package_is_told_before_anything_is_paid_for(
    letters: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "bert_score", None)
    with pytest.raises(UserError, match=r"pip install 'truebench-hf\[bertscore\]'"):
        compared(tmp_path, [ROW], None, ours("one", "Does it point?"), bertscore=True)
    assert not (tmp_path / "out").exists()


# --- data ------------------------------------------------------------------------------------------------------------

HARD = {"id": "7", "instruction": "Rank them.", "input": "a, b", "category": "x", "decomposed_questions": ["Ranked?"],
        "subset": "Hard_set", "question_label": [["Content"]]}  # fmt: skip
EASY = HARD | {"id": "8", "subset": "Easy_set"}


@pytest.mark.parametrize(
    ("row", "found", "why"),
    [
        (HARD, ("7", "Rank them.\n\na, b", ("Ranked?",)), "InFoBench's own columns"),
        (HARD | {"input": ""}, ("7", "Rank them.", ("Ranked?",)), "nothing beside it"),
        ({"instruction": "Hi.", "criteria": "- Is it?\n- Was it?"}, ("1", "Hi.", ("Is it?", "Was it?")), "a line each"),
        ({"id": 4, "prompt": "Hi.", "checklist": [{"question": "Is it?"}]}, ("4", "Hi.", ("Is it?",)), "objects"),
        ({"id": 4, "prompt": "Hi.", "questions": '["짧은가?"]'}, ("4", "Hi.", ("짧은가?",)), "JSON in a cell"),
        ({"index": 5, "input": ["Hi."], "criteria": [["Is it?"]]}, ("5", "Hi.", ("Is it?",)), "one turn of TRUEBench's"),
        ({"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}], "questions": ["Q?"]},
         ("1", "[system]\nS\n\n[user]\nU", ("Q?",)), "what came before"),
    ],
)  # fmt: skip
def test_rows_of_every_form(tmp_path: Path, row: dict[str, Any], found: tuple[Any, ...], why: str) -> None:
    assert decompositions(write_jsonl(tmp_path / "h.jsonl", [row])) == ([asking(*found)], []), why


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"id": "a", "instruction": "Hi."}], "line 1: has no questions"),
        ([{"id": "a", "instruction": "Hi.", "questions": []}], "line 1: has no questions"),
        ([{"id": "a", "instruction": "Hi.", "questions": ["", "x"]}], r"questions\[0\]|criteria\[0\]"),
        ([{"id": "a", "instruction": " ", "questions": ["x"]}], "line 1: has no prompt"),
        ([{"id": "a", "instruction": "Hi.", "criteria": ["x"], "questions": ["x"]}], "which means the same"),
        ([{"id": "a", "input": ["Hi.", "Ho."], "criteria": [["x"], ["y"]]}], "has 2 turns; give a row for each"),
        ([ROW, ROW], "instruction one stands twice"),
    ],
)
def test_rows_that_cannot_be_used_are_named(tmp_path: Path, rows: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(UserError, match=told):
        decompositions(write_jsonl(tmp_path / "h.jsonl", rows))


def test_of_infobench_the_hard_set_is_read_and_built(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "h.jsonl", [HARD, EASY])
    note = ["left out: 1 instructions that are not of Hard_set"]
    assert decompositions(file) == ([asking("7", "Rank them.\n\na, b", ("Ranked?",))], note)
    found = decompositions(f"infobench:{file}")
    assert found == ([asking("infobench-7", "Rank them.\n\na, b", ("Ranked?",))], note)
    built, told = instructions(f"infobench:{file}")
    assert ([(one.id, one.instruction) for one in built], told) == ([("infobench-7", "Rank them.\n\na, b")], note)
    raw, _ = instructions(file)
    assert raw[0].instruction == "Rank them.\n\na, b", "what it is about is no less part of it in rows"


def test_builds_and_comparisons_meet_by_id_or_text() -> None:
    human = [asking(*each, ["q?"]) for each in (("a b", "1"), ("c", "  two\nlines "), ("d", "3"), ("e", "4"))]
    mine = [asking(*each, ["q?"]) for each in (("a-b", "1"), ("x", "two lines"), ("d", "three"), ("y", "5"))]
    assert [(first.id, second.id) for first, second in match(human, mine)] == [("a b", "a-b"), ("c", "x"), ("d", "d")]


def test_nothing_in_common_says_what_builds_it(letters: None, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none of the 1 instructions .* `truebench flex build .*human.jsonl --out"):
        compared(tmp_path, [ROW], None, ours("other", "q?", text="Other."))


@pytest.mark.parametrize(("given", "count"), [("flexbench", 9), (next(iter(built_in())), 1)])
def test_what_ours_may_be(tmp_path: Path, given: str, count: int) -> None:
    assert len(procedures_of([given])) == count
    assert decompositions(given)[0] == procedures_of([given])
    with pytest.raises(UserError, match="stands twice"):
        procedures_of([given, given])
    with pytest.raises(UserError, match=r"holds no procedure\.yaml"):
        procedures_of([str(tmp_path)])


def test_structflowbench_as_published() -> None:
    if not STRUCTFLOW.exists():
        pytest.skip(f"no {STRUCTFLOW}")
    found, left_out = decompositions(f"structflowbench:{STRUCTFLOW}")
    assert (len(found), sum(len(one.questions) for one in found)) == (608, 1311)
    assert left_out == [
        "left out: 464 questions on how a turn follows from others, which no instruction tells",
        "left out: 35 instructions without any (other) question",
    ]
    assert found[0].instruction.startswith("Can you provide a succinct")
    assert found[1].instruction.startswith("[user]\nCan you provide a succinct"), "with what came before"


@pytest.mark.slow
def test_the_real_model_gives_the_same_for_the_same(tmp_path: Path) -> None:
    pytest.importorskip("bert_score")
    options = DecomposeOptions(folders=("flexbench",), human="flexbench", out=str(tmp_path / "a"), bertscore=True)
    found = [each.likeness[pair] for each in FlexDecompose(options).run().value for pair in each.nearest]
    assert len(found) == 72
    assert all(value == pytest.approx(1, abs=1e-4) for measures in found for value in measures.values())
    compared = with_partners(
        [pair(["Is the answer shorter than 150 words?", "Is it in Korean?"],
              ["Does the response stay under 150 words?", "Is the response written in the Korean language?", "?"])],
        decompose.embed, decompose.bert_scores,
    )[0]  # fmt: skip
    assert compared.nearest == [(0, 0), (1, 1)]
    for pair_ in compared.nearest:
        assert 0.5 < compared.likeness[pair_]["cosine"] < 1
        assert 0.3 < compared.likeness[pair_]["bertscore_f1"] < 1
