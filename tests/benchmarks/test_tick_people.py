"""Rows of the checklists form, and sheets for annotators and back: every protocol, and how far annotators agree."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from tests.support.corpus import each_row
from tests.support.people import fill, rows_of
from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.tick.annotation import PROTOCOLS, annotator_tables
from truebench_hf.cli.app import app
from truebench_hf.data import jsonl
from truebench_hf.data.checklist_rows import ChecklistRow, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Score

RICH = json.loads((files("truebench_hf.data") / "checklists_mini.jsonl").read_text(encoding="utf-8").splitlines()[0])
QUESTIONS = ["Is it polite?", "Is it short?"]
DO = [{"role": "user", "content": "Do."}]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


# Rows


def places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a row."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def sound(row: Any) -> bool:
    """Whether a row is read, or refused with its place."""
    try:
        return isinstance(read(Record("line 1", row)), ChecklistRow)
    except UserError as error:
        return str(error).startswith("line 1")


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), JUNK, st.dictionaries(st.sampled_from([*RICH, "other"]), JUNK))
def test_a_row_with_anything_in_it_is_read_or_refused(seed: int, junk: Any, odd: dict[str, Any]) -> None:
    row = copy.deepcopy(RICH)
    container, key = random.Random(seed).choice(places(row))
    container[key] = junk
    assert sound(row)
    assert sound(odd)


def test_what_may_be_absent_and_people_are_their_majority() -> None:
    entry = read(Record("x", {"id": 7, "messages": DO, "checklists": [{"author": "a", "questions": ["Is it done?"]}]}))
    assert (entry.id, entry.language, entry.responses, entry.chosen) == ("7", "", (), None)
    assert (entry.checklists[0].id, entry.checklists[0].source, entry.checklists[0].run) == ("c1", "human", 1)
    said = {"u": ["yes", "no", "yes", None], "v": ["yes", "yes", None, None], "w": ["no", None, None, None]}
    about = {"response_id": "tick-mini-01-a", "checklist_id": "c1"}
    answers = [{**about, "annotator": name, "answers": labels} for name, labels in said.items()]
    entry = read(Record("x", RICH | {"answers": answers}))
    first, second = entry.responses
    assert entry.people(first, entry.chosen) == ("yes", None, "yes", None), "most, a tie, one alone, nobody"
    assert entry.people(second, entry.chosen) is None


@each_row(__file__, "tick_people", "doubled")
def test_what_stands_twice_is_named(part: str, entry: int, change: dict[str, Any], names: str) -> None:
    double = RICH[part][entry] | change
    with pytest.raises(UserError, match=f"^line 1: field '{part}' has more than one of {names}"):
        read(Record("line 1", RICH | {part: [*RICH[part], double]}))


# Sheets


def data(n: int = 3) -> list[dict[str, Any]]:
    return [
        {
            "id": f"i{number}", "language": "EN",
            "messages": [
                {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"},
                {"role": "user", "content": f"=Greet {number} guests."},
            ],
            "responses": [
                {"id": "r1", "model": "SECRET-one", "text": f"Welcome, all {number} of you."},
                {"id": "r2", "model": "SECRET-two", "text": ""},
            ],
            "checklists": [
                {"id": "c1", "author": "SECRET-author", "chosen": True, "questions": QUESTIONS},
                {"id": "g1", "author": "gen", "source": "model", "questions": ["Is it good?"]},
            ],
            "ratings": [{"response_id": "r1", "annotator": "old", "protocol": "direct", "score": 2}],
        }
        for number in range(n)
    ]  # fmt: skip


def label(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["label", *map(str, arguments)])


class Round:
    """Sheets of a protocol, filled in and read back."""

    def __init__(self, folder: Path, protocol: str, rows: list[dict[str, Any]], *more: str) -> None:
        self.source, self.out = write_jsonl(folder / "rows.jsonl", rows), folder / "out.jsonl"
        self.sheets = folder / "sheets"
        run = label("out", self.source, "--ask", protocol, "--out", self.sheets, *more)
        assert run.exit_code == 0, run.output
        self.printed = run.output

    def back(self, answer: Callable[[dict[str, str]], str] | None, name: str = "A") -> tuple[str, list[Any]]:
        """What is printed, and the rows; without `answer` the sheets are read once more."""
        if answer:
            fill(self.sheets / f"{name}.csv", answer)
        run = label("in", self.out if self.out.exists() else self.source, self.sheets, "--out", self.out)
        assert run.exit_code == 0, run.output
        return run.output, [row for _, row in jsonl.read(self.out)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sheets_are_blind(tmp_path: Path, protocol: str) -> None:
    sheets = Round(tmp_path, protocol, data(), "--annotators", "eva, jon").sheets
    assert sorted(file.name for file in sheets.iterdir()) == ["eva.csv", "eva.html", "jon.csv", "jon.html"]
    for file in sheets.iterdir():
        text = file.read_text(encoding="utf-8-sig")
        assert ("SECRET" in text, "Hello!" in text) == (False, True), "the conversation alone is shown"
    rows = rows_of(sheets / "eva.csv")
    assert len(rows) == 3 * {"write": 3, "preference": 1, "direct": 2, "check-then-score": 2 * (2 + 2)}[protocol]
    assert len({row["id"] for row in rows}) == len(rows)


def test_the_checklist_of_another_author(tmp_path: Path) -> None:
    rows = data()
    rows[2]["checklists"].pop()
    asked = Round(tmp_path, "check_then_score", rows, "--author", "gen", "--n", "2")
    assert "12 questions about 2 instructions" in asked.printed, "drawn of those that have one"
    assert {row["question"] for row in rows_of(asked.sheets / "A.csv")} >= {"Is it good?"}


def test_preferences_are_told_in_the_order_of_the_data(tmp_path: Path) -> None:
    """Whichever side a response was shown on."""
    asked = Round(tmp_path, "preference", data(12))
    assert {bool(row["Response A"]) for row in rows_of(asked.sheets / "A.csv")} == {True, False}, "by lot"
    _, rows = asked.back(lambda row: "2" if row["Response A"] else "4")  # the response with a text is better
    expected = {"annotator": "A", "response_a": "r1", "response_b": "r2", "rating": 2}
    assert [row["preferences"] for row in rows] == [[expected]] * 12
    # A newer answer counts, a blank replaces none.
    printed, rows = asked.back(lambda row: "1" if row["Response A"] else "")
    assert "New: nothing." in printed
    assert sorted({preference["rating"] for row in rows for preference in row["preferences"]}) == [1, 2]


def test_written_checklists(tmp_path: Path) -> None:
    written = "1. Is it polite?\n- =Is it short?\nSome thought.\nIs it polite?\n"

    def answer(row: dict[str, str]) -> str:
        if row["options"]:
            return "no" if row["question"].startswith("Does") and "=Greet 2" in row["Instruction"] else "yes"
        return {"0": written, "1": "Nothing to ask."}.get(row["Instruction"][len("'=Greet ") :][:1], "")

    asked = Round(tmp_path, "write", data(), "--annotators", "eva,jon")
    printed, (first, second, third) = asked.back(answer, "eva")  # jon's is blank
    assert first["checklists"][2] == {
        "id": "eva, run 1", "author": "eva", "source": "human", "run": 1, "chosen": False,
        "questions": ["Is it polite?", "=Is it short?"],
    }  # fmt: skip
    assert [len(row["checklists"]) for row in (first, second, third)] == [3, 2, 2]
    for line in (
        "i0: of the lines of eva 2 were no questions, or stood twice",
        "i1: what eva wrote has no question",
        "i2: eva finds the instruction not one that makes sense",
    ):
        assert line in printed
    assert "New: nothing." in asked.back(None)[0], "the same list read again is no second one"


@pytest.mark.parametrize(
    ("lists", "asked"),
    [
        ({}, "check-then-score: 24 questions"),  # two responses, each by a checklist of two questions
        ({"checklists": []}, "preference: 3 questions"),
        ({"checklists": [], "responses": data()[0]["responses"][:1]}, "direct: 3 questions"),
        ({"checklists": [], "responses": []}, "write: 9 questions"),
    ],
)
def test_what_is_asked_follows_from_the_rows(tmp_path: Path, lists: dict[str, Any], asked: str) -> None:
    run = label("out", write_jsonl(tmp_path / "mine.jsonl", [row | {"ratings": []} | lists for row in data()]))
    assert f"{asked} about 3 instructions" in run.output
    assert (tmp_path / "mine-sheets" / "A.html").exists(), "beside the file"


@each_row(__file__, "tick_people", "unfit")
def test_sheets_that_do_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, message: str
) -> None:
    Round(tmp_path, "direct", data())
    changed = data()
    changed[0]["responses"][0]["text"] = "Changed since."
    write_jsonl(tmp_path / "other.jsonl", changed)
    monkeypatch.chdir(tmp_path)
    run = label(*arguments.split())
    assert run.exit_code != 0
    assert message in str(run.exception)
    assert not Path("new.jsonl").exists()


# Agreement


def rated(number: int, protocol: str, *scores: int, effect: str | None = None) -> dict[str, Any]:
    ratings = [
        {"response_id": "r1", "annotator": f"a{place}", "protocol": protocol, "score": score, "effect": effect}
        for place, score in enumerate(scores)
    ]
    return data()[0] | {"id": f"i{number}", "ratings": ratings}


def tables(*rows: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of the tables on annotators, without the paper's."""
    entries = [read(Record(row["id"], row)) for row in rows]
    return {
        table.name: [dict(row) for row in table.rows if not row.get("published")] for table in annotator_tables(entries)
    }


def test_agreement_by_hand() -> None:
    """Scores 1 1, 5 5, 3 4 and a single one: alpha of the krippendorff package, mean of all seven."""
    rows = rated(0, "direct", 1, 1), rated(1, "direct", 5, 5), rated(2, "direct", 3, 4), rated(3, "direct", 2)
    # Scores 1, 3, 4, 5 occur 2, 1, 1, 2 times. Observed: one pair at the ordinal distance (2 - 1)^2, in 6 ratings.
    # Expected: 2 (2 * 2.25 + 2 * 6.25 + 4 * 16 + 1 * 1 + 2 * 6.25 + 2 * 2.25) / 30.
    alpha = pytest.approx(1 - (2 / 6) / (2 * 99 / 30))
    wanted = {"what": "direct scoring", "ratings": 7, "alpha": Score(alpha, 3, 1), "mean": pytest.approx(3)}
    assert tables(*rows)["agreement"] == [wanted]
    many = [rated(number, "direct", number % 5 + 1, (number * 2) % 5 + 1, 3) for number in range(12)]
    few, all_ = (tables(*rows)["agreement"][0]["alpha"] for rows in (many[:9], many))
    assert few.ci95 is None, "intervals need ten instructions"
    assert all_.ci95[0] < all_.value < all_.ci95[1]
    effects = [rated(n, "check_then_score", 3, 4, effect=e) for n, e in enumerate(["easier", "easier", "no effect"])]
    (_, table_of_effects) = tables(*effects).values()
    counts = {row["effect"]: row["answers"] for row in table_of_effects}
    assert counts == {"easier": 4, "harder": 0, "no effect": 2}
    assert tables(data()[0] | {"ratings": []}) == {}
