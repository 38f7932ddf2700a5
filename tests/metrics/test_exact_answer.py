"""Exact answers: what is taken as the final answer, and what counts as the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.metrics.texts import exact_answer, final_answer, normalised


@pytest.mark.parametrize(
    ("response", "reference", "same", "why"),
    [
        ("Paris", "paris", True, "letter case"),
        ("  Paris.\n", "Paris", True, "blanks and a full stop"),
        ("It is Paris", "Paris", False, "nothing is searched for inside a longer answer"),
        ("not Paris", "Paris", False, "least of all where it is denied"),
        ("Step 1 ... so 7 pieces.\nAnswer: 4", "4", True, "the line that names the answer"),
        ("Answer: 3\nNo, wait.\n**Final answer:** 4", "4", True, "the last one"),
        ("The answer is: **four**", "four", True, "said in a sentence of its own"),
        ("First **7**, and then **4**.", "4", True, "the last bold text, as LiveBench asks"),
        ("First **4**, and then **7**.", "4", False, "not an earlier one"),
        ("So $\\boxed{\\frac{1}{2}}$, **done**", "\\frac{1}{2}", True, "a box before all else, braces within"),
        ("**Step** one.\n<solution>yes, no</solution>", "Yes, no", True, "tags, as LiveBench asks of puzzles"),
        ("<solution>3</solution> or rather <SOLUTION>\n4\n</SOLUTION>", "4", True, "the last ones, over lines"),
        ("The tag <solution> opens.\nAnswer: 4", "4", True, "a tag that is never closed holds nothing"),
        ("Answer:\n42", "42", True, "the line below"),
        ("Answer:\n\nNone of these.\n**42**", "42", True, "but not two below"),
        ("1,000.0", "1000", True, "numbers as numbers"),
        ("1,0", "10", False, "a comma that groups no thousands"),
        ("-4", "4", False, "a sign is part of a number"),
        ("0.50", ".5", True, "zeros"),
        (".5", "5", False, "a point in front is no full stop"),
        ("½", "1⁄2", True, "NFKC"),
        ("「東京」", "東京", False, "brackets of other scripts stay: they may mean something"),
        ("東京。", "東京", True, "a full stop of another script"),
        ("STRASSE", "straße", True, "case folding"),
        ("", "", False, "a blank answer is never right"),
        ("**", "**", False, "nor are signs alone"),
        ("1e400", "1e400", True, "numbers too large to write out are compared as texts"),
        ("nan", "NaN", True, "words that Python takes for numbers"),
    ],
)
def test_what_counts_as_the_same(response: str, reference: str, same: bool, why: str) -> None:
    assert exact_answer(response, reference) is same, why


@given(st.text(), st.text())
def test_no_text_breaks_it(response: str, reference: str) -> None:
    assert normalised(response) == normalised(f" {response} ")
    assert final_answer(response) in response
    exact_answer(response, reference)


@given(st.integers(-(10**15), 10**15))
def test_numbers_are_right_however_they_are_grouped(number: int) -> None:
    assert exact_answer(f"So it is.\nAnswer: {number:,}.", str(number))
