"""No decision on real texts is opposite to what rules decided before they were rewritten."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.rules import decisions

pytestmark = pytest.mark.skipif(not decisions.RELEASE.is_file(), reason="TRUEBench v0.6.1 is not at ../shared/data")


@pytest.mark.parametrize("every", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_no_decision_is_opposite_to_the_one_before(every: int) -> None:
    outcomes: Counter[str] = Counter()
    opposite = []
    for criterion, recipe, before, today in decisions.replayed(decisions.release(decisions.RELEASE), every):
        outcomes["open" if not today else "same" if today == before else "opposite"] += 1
        if today and today != before:
            opposite.append((before, today, recipe, criterion))
    assert opposite == []
    assert outcomes["same"] >= 0.85 * outcomes.total(), outcomes


def test_every_stored_pair_can_be_built_and_stands_once() -> None:
    rows = decisions.release(decisions.RELEASE)
    stored = [json.loads(line) for line in decisions.STORED.read_text(encoding="utf-8").splitlines()]
    pairs = [(row["criterion"], recipe) for row in stored for label in ("yes", "no") for recipe in row[label]]
    assert len(pairs) == len(set(pairs)) > 15_000
    assert all(decisions.criterion_text(row["criterion"], rows) for row in stored)
    languages = Counter(rows[int(recipe.split(".")[0])]["language"] for _, recipe in pairs)
    assert len(languages) == 12
    assert min(languages.values()) > 500, languages


def test_texts_are_cut_where_their_names_say() -> None:
    # by hand, on a text of our own: words, characters, sentences, lines, and the forms of lines
    rows = {7: {"input": ["One two. Three!\n\nFour five six?"], "criteria": [["Short."]]}}
    expected = {
        "7.0:w3": "One two. Three!",
        "7.0:c5": "One t",
        "7.0:s1": "One two.",
        "7.0:s3": "One two. Three!\n\nFour five six?",
        "7.0:l1:b": "- One two. Three!",
        "7.0:n": "1. One two. Three!\n2. Four five six?",
        "7.0:l1:t": "| Nr. | Text |\n|---|---|\n| 1 | One two. Three! |",
        "7.0:w1:f": "```\nOne\n```",
        "7.0:w1:j": '{"text": "One"}',
        "7.0:w1+7.0:w2": "One\n\nOne two.",
    }
    assert {recipe: decisions.build_text(recipe, rows) for recipe in expected} == expected
    assert decisions.criterion_text("7.0.0", rows) == "Short."
    assert decisions.criterion_text("Ends with 7.0.", rows) == "Ends with 7.0."
