"""Excerpts looked up in the source: what is found, where and how well, and what is not."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import product
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.corpus import each_row
from tests.support.facts import mini
from truebench_hf.judging.grounding.places import looked_up
from truebench_hf.judging.grounding.types import Passage, Source
from truebench_hf.judging.sentences import sentences

DOCUMENT = (
    "The museum on the hill opens at 9.30 on weekdays, and at 10 on Sundays.\nIt is not open on Mondays. "
    "Admission is 12 euros; children under “seven” pay nothing.\n\nThe café — on the second floor — serves lunch."
)
SOURCE = Source("I come with two children. When does it open?", DOCUMENT, "Use the document alone.")


@each_row(__file__, "lookup", "exactly")
def test_what_is_found_exactly(quote: str, places: list[str]) -> None:
    found = looked_up(SOURCE, [quote])
    assert [(one.found, one.ratio, one.place) for one in found] == [(True, 1.0, place) for place in places]
    texts = dict(SOURCE.parts())
    for one in found:
        held = texts[one.place][one.start : one.end]
        assert len(held) <= len(one.text) + 6, "the place is no longer than the piece, but for blanks"
        assert held[0].casefold() == re.sub(r"\A\W+", "", one.text)[0].casefold(), held


@each_row(__file__, "lookup", "alike")
def test_what_is_found_by_likeness(quote: str) -> None:
    (found,) = looked_up(SOURCE, [quote])
    assert found.found, found
    assert 0.9 <= found.ratio < 1
    assert found.place == "document"


@each_row(__file__, "lookup", "nowhere")
def test_what_is_not_found(quote: str) -> None:
    found = looked_up(SOURCE, [quote])
    assert not all(one.found for one in found), found
    assert all(not one.place for one in found if not one.found), "no place is claimed"


def test_passages_are_places_of_their_own_and_nothing_quotes_nothing() -> None:
    source = Source("Q?", passages=(Passage("7", "One thing."), Passage("a b", "Another thing.")))
    assert [one.place for one in looked_up(source, ["Another thing.", "One thing"])] == ["passage a b", "passage 7"]
    assert looked_up(SOURCE, ["", " ... ", "“”", "---"]) == ()
    assert looked_up(Source(""), ["It opens."])[0].found is False


@each_row(__file__, "lookup", "scripts")
def test_other_scripts(document: str, quote: str) -> None:
    (found,) = looked_up(Source("", document), [quote])
    assert (found.found, found.ratio) == (True, 1.0), found


ROWS = mini()
SOURCES = [Source(row["user_request"], row["context_document"], row["system_instruction"]) for row in ROWS]
PARTS = [
    [row["context_document"][start:end].strip() for start, end in sentences(row["context_document"])
     if end - start > 25]
    for row in ROWS
]  # fmt: skip
DICE = random.Random(0)


def changed(text: str) -> str:
    """The text with other blanks, quotation marks and dashes."""
    text = re.sub(r"\s+", lambda match: DICE.choice([" ", "  ", "\n", "\t", "\u00a0"]), text)
    left, right = DICE.choice(["“”", "«»", "''", '""', "„“"])
    return left + text.replace('"', "”").replace("'", "’").replace("-", "–") + right


WAYS: dict[str, Callable[[list[str]], str]] = {
    "verbatim": lambda parts: DICE.choice(parts),
    "changed": lambda parts: changed(DICE.choice(parts)),
    "joined by an ellipsis": lambda parts: DICE.choice([" ... ", " […] ", "…"]).join(DICE.sample(parts, 3)),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_99_of_100_excerpts_are_found(way: str) -> None:
    found = []
    for i in range(100):
        at = i % len(SOURCES)
        excerpts = looked_up(SOURCES[at], [WAYS[way](PARTS[at])])
        found.append(bool(excerpts) and all(one.found for one in excerpts))
    assert mean(found) >= 0.99


def test_sentences_of_another_document_are_not_found() -> None:
    for at, other in DICE.sample([pair for pair in product(range(12), range(12)) if pair[0] != pair[1]], 50):
        part = DICE.choice(PARTS[other])
        if part not in SOURCES[at].document:
            assert not all(one.found for one in looked_up(SOURCES[at], [part])), part


def test_long_documents_and_quotations_are_looked_up_in_time() -> None:
    words = ["".join(DICE.choices("etaoinshrdlu", k=DICE.randint(2, 9))) for _ in range(3000)]
    document = ". ".join(" ".join(DICE.choices(words, k=12)) for _ in range(2200))  # 30,000 tokens and more
    source = Source("", document)
    quotes = [" ".join(document[i : i + 300].split()[1:-1]) for i in range(1000, 150_000, 15_000)]
    assert [one.found for one in looked_up(source, quotes)] == [True] * 10
    assert not any(one.found for one in looked_up(source, [" ".join(DICE.choices(words, k=60)) for _ in range(4)]))
    assert not any(one.found for one in looked_up(source, [" ".join(DICE.choices(words, k=300))]))


@given(st.text(max_size=80), st.text(max_size=40) | st.text(alphabet="ab1 .,…\"'\n-", max_size=40))
def test_no_text_breaks_the_lookup(document: str, quote: str) -> None:
    source = Source("", document)
    for one in looked_up(source, [quote, document]):
        assert one.found == bool(one.place)
        assert not one.found or document[one.start : one.end]
