"""Texts held against each other: exact answers, overlap of checklists, and partners by likeness."""

from __future__ import annotations

from dataclasses import astuple
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truebench_hf.metrics.texts import (
    Overlap,
    Spread,
    exact_answer,
    final_answer,
    mean_overlap,
    nearest,
    normalised,
    one_to_one,
    overlap,
    rouge_l,
    spaced,
    spread,
    words,
)

ASCII = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1, max_size=60)
# An ASCII text has a word for rouge-score where it has a letter or a digit; only such references are compared.
WITH_WORD = ASCII.map(lambda text: f"Is {text}?")
EXAMPLE = (
    ["Is the response a list of projects?", "Are the projects creative?"],
    ["Is the text a list?", "Are the projects in the list creative?", "Can they be built at home?"],
)


@given(st.lists(ASCII, min_size=1, max_size=4), st.lists(WITH_WORD, min_size=1, max_size=4))
def test_on_ascii_it_is_what_the_libraries_give(made: list[str], right: list[str]) -> None:
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    found, texts = overlap(made, right), ("\n".join(made), "\n".join(right))
    rouge = RougeScorer(["rouge1", "rouge2", "rougeL"]).score(texts[1], texts[0])
    assert found.bleu == pytest.approx(sacrebleu.sentence_bleu(texts[0], [texts[1]]).score / 100)
    assert [found.rouge_1, found.rouge_2, found.rouge_l] == pytest.approx([score.fmeasure for score in rouge.values()])
    assert found.count == abs(len(made) - len(right))
    assert all(0 <= value <= 1 for value in astuple(found)[:4])


def test_an_example_by_hand() -> None:
    """12 words against 19; 8 are common (is, the, a, list, are, the, projects, creative), 3 pairs, in order 8."""
    found = overlap(*EXAMPLE)
    made, right = (spaced("\n".join(one)) for one in EXAMPLE)
    assert (len(words(made)), len(words(right))) == (11, 18)
    assert found.rouge_1 == pytest.approx(2 * 8 / 29)
    assert found.count == 1


@pytest.mark.parametrize(
    ("made", "right", "expected", "why"),
    [
        (["Is it short?"], ["Is it short?"], (1, 1, 1, 1, 0), "alike"),
        (["Is it short?"], ["Gefällt es dir nicht"], (0, 0, 0, 0, 0), "nothing in common"),
        ([], ["Is it short?"], (0, 0, 0, 0, 1), "no questions"),
        (["Is it short?"], [], (0, 0, 0, 0, 1), "nothing to hold it against"),
        ([], [], (0, 0, 0, 0, 0), "nothing at all"),
        (["?"], ["?"], (0, 0, 0, 0, 0), "no word in either"),
        (["Ответ короткий?"], ["Ответ короткий?"], (1, 1, 1, 1, 0), "Cyrillic, of which rouge-score keeps no letter"),
        (["क्या उत्तर हिन्दी में है?"], ["क्या उत्तर हिन्दी में है?"], (1, 1, 1, 1, 0), "Devanagari with its marks"),
        (["是否只有一句话？"], ["是否只有一句话？"], (1, 1, 1, 1, 0), "Chinese"),
        (["Is caf\u00e9 named?"], ["Is cafe\u0301 named?"], (1, 1, 1, 1, 0), "one letter, written in two ways"),
    ],
)
def test_overlap(made: list[str], right: list[str], expected: tuple[float, ...], why: str) -> None:
    assert astuple(overlap(made, right)) == pytest.approx(expected), why


def test_scripts_without_blanks_go_sign_by_sign() -> None:
    assert words(spaced("是否不超过20个字？")) == ["是", "否", "不", "超", "过", "20", "个", "字"]
    assert words(spaced("リストですか？")) == list("リストですか")
    assert words(spaced("ที่นี่")) == ["ที่", "นี่"], "marks stay with their sign"
    assert words(spaced("한국어로 썼나요?")) == ["한국어로", "썼나요"], "Korean has blanks"
    assert words(spaced("snake_case Élan")) == ["snake", "case", "élan"]
    close = overlap(["是否不超过二十个字？"], ["字数是否不超过二十个字？"])
    assert close.rouge_1 == pytest.approx(2 * 9 / 20), "one text of one word to the libraries, which see nothing alike"
    assert close.bleu > 0.5


def test_the_mean() -> None:
    assert mean_overlap([]) is None
    found = mean_overlap([Overlap(1, 1, 0, 0.5, 2), Overlap(0, 0.5, 0, 0.5, 1)])
    assert found == Overlap(0.5, 0.75, 0, 0.5, 1.5)


@pytest.mark.parametrize(
    ("likeness", "near", "alone", "why"),
    [
        ([[0.9, 0.1], [0.8, 0.2]], [(0, 0), (1, 0)], [(0, 0), (1, 1)], "one column is nearest to both; 0.9 + 0.2 > 0.8 + 0.1"),
        ([[0.9, 0.8], [0.85, 0.1]], [(0, 0), (1, 0)], [(0, 1), (1, 0)], "the greatest total leaves the greatest pair"),
        ([[0.5], [0.7]], [(0, 0), (1, 0)], [(1, 0)], "more rows: the less alike one is left over"),
        ([[0.1, 0.5, 0.3]], [(0, 1)], [(0, 1)], "more columns"),
        ([[0.4, 0.4]], [(0, 0)], [(0, 0)], "of equals the first"),
        ([[-0.2]], [(0, 0)], [(0, 0)], "opposite, and still the only one"),
    ],
)  # fmt: skip
def test_by_hand(
    likeness: list[list[float]], near: list[tuple[int, int]], alone: list[tuple[int, int]], why: str
) -> None:
    assert nearest(np.array(likeness)) == near, why
    assert one_to_one(np.array(likeness)) == alone, why


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (2, 0)])
def test_nothing_has_no_partner(shape: tuple[int, int]) -> None:
    assert nearest(np.zeros(shape)) == []
    assert one_to_one(np.zeros(shape)) == []


@given(arrays(float, st.tuples(st.integers(1, 4), st.integers(4, 5)), elements=st.floats(-1, 1)))
def test_no_other_assignment_is_better(likeness: np.ndarray) -> None:
    rows, columns = likeness.shape
    found = one_to_one(likeness)
    assert len({row for row, _ in found}) == len({column for _, column in found}) == rows
    best = max(
        sum(likeness[row, column] for row, column in enumerate(each)) for each in permutations(range(columns), rows)
    )
    assert sum(likeness[pair] for pair in found) == pytest.approx(best)
    assert sum(likeness[pair] for pair in nearest(likeness)) >= best - 1e-9


@pytest.mark.parametrize(
    ("values", "found"),
    [([], Spread(0, None, None)), ([0.4], Spread(1, 0.4, None)), ([0.5, 0.5], Spread(2, 0.5, 0.0)), ([0.0, 1.0], Spread(2, 0.5, 0.5**0.5))],
)  # fmt: skip
def test_mean_and_deviation(values: list[float], found: Spread) -> None:
    assert spread(values) == found


@pytest.mark.parametrize(
    ("candidate", "reference", "value", "why"),
    [
        ("Is it short?", "Is it short?", 1.0, "equal"),
        ("Is it very short?", "Is it short?", 6 / 7, "3 of 4 and 3 of 3"),
        ("short it is", "is it short", 1 / 3, "one word in the same order"),
        ("요약은 짧은가?", "요약은 짧은가?", 1.0, "Hangul has words"),
        ("回答简短吗", "回答很短吗", 0.8, "signs stand apart: 4 of 5"),
        ("?", "?", 0.0, "no word"),
        ("", "Is it?", 0.0, "nothing"),
    ],
)
def test_rouge_l_alone(candidate: str, reference: str, value: float, why: str) -> None:
    assert rouge_l(candidate, reference) == pytest.approx(value), why
    assert rouge_l(candidate, reference) == overlap([candidate], [reference]).rouge_l


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
