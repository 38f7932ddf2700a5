"""Sentences in many languages, as spans that cover the text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from truebench_hf.judging.sentences import claims_nothing, sentences, trimmed

CORPUS = yaml.safe_load(Path(__file__).with_name("sentences.yaml").read_text(encoding="utf-8"))


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


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        (["يفتح المتحف في الساعة 9.", "هل تعلم؟", "نعم!"], "Arabic"),
        (["संग्रहालय 9 बजे खुलता है।", "सोमवार को बंद है।"], "Hindi"),
        (["জাদুঘর ৯টায় খোলে।", "সোমবার বন্ধ।"], "Bengali"),
        (["พิพิธภัณฑ์เปิดทำการเวลาเก้านาฬิกาของทุกวัน", "ปิดวันจันทร์และวันหยุดนักขัตฤกษ์ตลอดทั้งปี"], "Thai: at blanks between clauses"),
    ],
)  # fmt: skip
def test_other_scripts(parts: list[str], why: str) -> None:
    assert cut(" ".join(parts)) == parts, why


@pytest.mark.parametrize(
    ("text", "parts", "why"),
    [
        ("", [], "nothing"),
        (" \n ", [""], "blanks alone"),
        ("42", ["42"], "a number"),
        ("no end", ["no end"], "no full stop"),
        ("1. First.\n2) Second. More.\n- third\n\n---\n\n## Head\nEnd", ["1. First.", "2) Second.", "More.", "- third\n\n---", "## Head", "End"], "markers of lists"),
        (
            "The gate of the garden closes at nine in the evening\nof every day. Then\nall go.",
            ["The gate of the garden closes at nine in the evening\nof every day.", "Then", "all go."],
            "a long line that is wrapped, and a short one that is an item",
        ),
        (
            "These are the rules of the garden for all the visitors\na) no dogs\nb) no fires",
            ["These are the rules of the garden for all the visitors", "a) no dogs", "b) no fires"],
            "and items with small letters",
        ),
        ("1.\nFirst.", ["1.\nFirst."], "a marker on a line of its own"),
        ("**Note:** at 9. *See below.*", ["**Note:** at 9.", "*See below.*"], "emphasis"),
        ("##\n\nText.\n-\n", ["##\n\nText.\n-"], "marks that stand alone"),
        ("```sh\ncd x. Y\nls\n```\nDone.", ["```sh\ncd x. Y\nls\n```", "Done."], "a fenced block"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|", "| 1 | 2 |"], "a table"),
        ("A\u2028B", ["A", "B"], "other line breaks"),
        ("It opens at 9. 博物馆九点开门。", ["It opens at 9.", "博物馆九点开门。"], "two scripts in one line"),
    ],
)  # fmt: skip
def test_odd_texts(text: str, parts: list[str], why: str) -> None:
    assert cut(text) == parts, why


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


CLAIMS = yaml.safe_load(Path(__file__).with_name("claims.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("language", list(CORPUS))
def test_what_claims_nothing(language: str) -> None:
    """Headings, announcements, questions and courtesies claim nothing; one claim taken for these would go unjudged."""
    assert [text for text in CLAIMS[language]["claims"] if claims_nothing(text)] == []
    assert [text for text in CLAIMS[language]["nothing"] if not claims_nothing(text)] == []
