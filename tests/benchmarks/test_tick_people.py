"""Rows of the checklists form, and sheets for annotators and back: every protocol, and how far annotators agree."""

from __future__ import annotations

import copy
import json
import random
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.corpus import each_row
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.tick.annotation import annotator_tables
from truebench_hf.data.checklist_rows import ChecklistRow, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Score

RICH = json.loads((files("truebench_hf.data") / "checklists_mini.jsonl").read_text(encoding="utf-8").splitlines()[0])
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


@scenarios(__file__, "tick_people")
def test_sheets(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


# Agreement


def rated(number: int, protocol: str, *scores: int, effect: str | None = None) -> dict[str, Any]:
    ratings = [
        {"response_id": "r1", "annotator": f"a{place}", "protocol": protocol, "score": score, "effect": effect}
        for place, score in enumerate(scores)
    ]
    responses = [{"id": "r1", "model": "m", "text": "Welcome."}]
    return {"id": f"i{number}", "messages": DO, "responses": responses, "ratings": ratings}


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
    assert tables(rated(0, "direct")) == {}
