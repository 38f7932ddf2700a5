"""Sentences in many languages, as spans that cover the text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.corpus import each_row, table
from truebench_hf.judging.sentences import claims_nothing, sentences, trimmed

CORPUS = table(__file__, "sentences")


def cut(text: str) -> list[str]:
    return [text[slice(*trimmed(text, *span))] for span in sentences(text)]


def starts_by_hand(marked: str) -> tuple[str, set[int]]:
    """The text without its marks, and where its sentences begin."""
    text, starts = "", set()
    for part in marked.split("‖"):
        if part.strip():
            starts.add(len(text) + len(part) - len(part.lstrip()))
        text += part
    return text, starts


@pytest.mark.parametrize("language", list(CORPUS))
def test_boundaries_of_sentences_cut_by_hand(language: str) -> None:
    """F1 of where sentences begin; 97 percent is the least that may be, in every language."""
    right = by_hand = found = 0
    for marked in CORPUS[language]:
        text, starts = starts_by_hand(marked)
        own = {trimmed(text, *span)[0] for span in sentences(text)}
        right, by_hand, found = right + len(own & starts), by_hand + len(starts), found + len(own)
    assert 2 * right / (by_hand + found) >= 0.97


def test_the_corpus_is_large_enough() -> None:
    assert len(CORPUS) == 12
    assert sum(len(starts_by_hand(marked)[1]) for texts in CORPUS.values() for marked in texts) > 450


@each_row(__file__, "texts", "scripts")
def test_other_scripts(parts: list[str]) -> None:
    assert cut(" ".join(parts)) == parts


@each_row(__file__, "texts", "odd")
def test_odd_texts(text: str, parts: list[str]) -> None:
    assert cut(text) == parts


@given(st.text())
@example("a.b. \u200b.\r\n“")
def test_spans_cover_every_text(text: str) -> None:
    spans = sentences(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


@pytest.mark.parametrize("piece", ["This is a sentence. ", "(", "'a ", "1.", "A.", '"', "…", "ก ", "。"])
def test_long_lines_are_cut_in_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))  # the limit of a test is its assertion
    assert "".join(text[start:end] for start, end in sentences(text)) == text


CLAIMS = table(__file__, "claims")


@pytest.mark.parametrize("language", list(CORPUS))
def test_what_claims_nothing(language: str) -> None:
    """Headings, announcements, questions and courtesies claim nothing; one claim taken for these would go unjudged."""
    assert [text for text in CLAIMS[language]["claims"] if claims_nothing(text)] == []
    assert [text for text in CLAIMS[language]["nothing"] if not claims_nothing(text)] == []
