"""Texts held against each other: exact answers, overlap of checklists, and partners by likeness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.worked import check, worked
from truebench_hf.metrics.texts import (
    Overlap,
    Spread,
    edit_size,
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
PROJECTS = ["Is the response a list of projects?", "Are the projects creative?"]
BUILT = ["Is the text a list?", "Are the projects in the list creative?", "Can they be built at home?"]


def measured(candidate: list[str], reference: list[str]) -> tuple[float, ...]:
    return astuple(overlap(candidate, reference))


def split(text: str) -> list[str]:
    return words(spaced(text))


def rouge(candidate: str, reference: str) -> float:
    assert rouge_l(candidate, reference) == overlap([candidate], [reference]).rouge_l
    return rouge_l(candidate, reference)


def partners(*likeness: list[float]) -> tuple[Any, Any]:
    """The nearest of each row, and the assignment in which each has one of its own."""
    return nearest(np.array(likeness)), one_to_one(np.array(likeness))


@worked(
    # 11 words against 18; 8 are common (is, the, a, list, are, the, projects, creative).
    (overlap, (PROJECTS, BUILT), {"rouge_1": 2 * 8 / 29, "count": 1}, "an example"),
    (measured, (["Is it short?"], ["Gefällt es dir nicht"]), (0, 0, 0, 0, 0), "nothing in common"),
    (measured, ([], ["Is it short?"]), (0, 0, 0, 0, 1), "no questions"),
    (measured, (["Is it short?"], []), (0, 0, 0, 0, 1), "nothing to hold it against"),
    (measured, (["?"], ["?"]), (0, 0, 0, 0, 0), "no word in either"),
    (measured, (["Ответ короткий?"], ["Ответ короткий?"]), (1, 1, 1, 1, 0), "Cyrillic, which rouge-score drops"),
    (measured, (["क्या उत्तर हिन्दी में है?"], ["क्या उत्तर हिन्दी में है?"]), (1, 1, 1, 1, 0), "Devanagari with its marks"),
    (measured, (["Is caf\u00e9 named?"], ["Is cafe\u0301 named?"]), (1, 1, 1, 1, 0), "one letter, written in two ways"),
    (overlap, (["是否不超过二十个字？"], ["字数是否不超过二十个字？"]), {"rouge_1": 2 * 9 / 20}, "sign by sign"),
    (split, ("是否不超过20个字？",), ["是", "否", "不", "超", "过", "20", "个", "字"], "scripts without blanks"),
    (split, ("ที่นี่",), ["ที่", "นี่"], "marks stay with their sign"),
    (split, ("snake_case Élan",), ["snake", "case", "élan"], "underscores divide"),
    (mean_overlap, ([Overlap(1, 1, 0, 0.5, 2), Overlap(0, 0.5, 0, 0.5, 1)],), Overlap(0.5, 0.75, 0, 0.5, 1.5), "two"),
    (partners, ([0.9, 0.1], [0.8, 0.2]), ([(0, 0), (1, 0)], [(0, 0), (1, 1)]), "0.9 + 0.2 > 0.8 + 0.1"),
    (partners, ([0.9, 0.8], [0.85, 0.1]), ([(0, 0), (1, 0)], [(0, 1), (1, 0)]), "the greatest total, not pair"),
    (partners, ([0.5], [0.7]), ([(0, 0), (1, 0)], [(1, 0)]), "more rows: the less alike one is left over"),
    (partners, ([-0.2],), ([(0, 0)], [(0, 0)]), "opposite, and still the only one"),
    *((call, (np.zeros(shape),), [], f"nothing has no partner {shape}")
      for call in (nearest, one_to_one) for shape in ((0, 0), (0, 2), (2, 0))),
    (spread, ([0.4],), Spread(1, 0.4, None), "one value"),
    (rouge, ("Is it short?", "Is it short?"), 1.0, "equal"),
    (rouge, ("Is it very short?", "Is it short?"), 6 / 7, "3 of 4 and 3 of 3"),
    (rouge, ("요약은 짧은가?", "요약은 짧은가?"), 1.0, "Hangul has words"),
    (rouge, ("回答简短吗", "回答很短吗"), 0.8, "signs stand apart: 4 of 5"),
    (rouge, ("?", "?"), 0.0, "no word"),
    (rouge, ("", "Is it?"), 0.0, "nothing"),
    (edit_size, ("a b c", "a b c"), 0.0, "nothing"),
    (edit_size, ("a b c", "a x c"), 0.2, "one part of five"),
    (edit_size, ("今日は雨", "今日は雪"), 0.25, "sign by sign where there are no blanks"),
    (edit_size, ("une forêt", "une rivière"), 1 / 3, "words with accents are whole"),
    (exact_answer, ("  Paris.\n", "Paris"), True, "blanks and a full stop"),
    (exact_answer, ("It is Paris", "Paris"), False, "nothing is searched for inside a longer answer"),
    (exact_answer, ("Step 1 ... so 7 pieces.\nAnswer: 4", "4"), True, "the line that names the answer"),
    (exact_answer, ("Answer: 3\nNo, wait.\n**Final answer:** 4", "4"), True, "the last one"),
    (exact_answer, ("The answer is: **four**", "four"), True, "in a sentence of its own"),
    (exact_answer, ("First **7**, and then **4**.", "4"), True, "the last bold text, as LiveBench asks"),
    (exact_answer, ("So $\\boxed{\\frac{1}{2}}$, **done**", "\\frac{1}{2}"), True, "a box before all else, with braces"),
    (exact_answer, ("**Step** one.\n<solution>yes, no</solution>", "Yes, no"), True, "tags, as LiveBench asks of puzzles"),
    (exact_answer, ("<solution>3</solution> or rather <SOLUTION>\n4\n</SOLUTION>", "4"), True, "the last ones, over lines"),
    (exact_answer, ("The tag <solution> opens.\nAnswer: 4", "4"), True, "a tag that is never closed holds nothing"),
    (exact_answer, ("Answer:\n\nNone of these.\n**42**", "42"), True, "but not two below"),
    (exact_answer, ("1,000.0", "1000"), True, "numbers as numbers"),
    (exact_answer, ("1,0", "10"), False, "a comma that groups no thousands"),
    (exact_answer, ("-4", "4"), False, "a sign is part of a number"),
    (exact_answer, (".5", "5"), False, "a point in front is no full stop"),
    (exact_answer, ("½", "1⁄2"), True, "NFKC"),
    (exact_answer, ("「東京」", "東京"), False, "brackets of other scripts stay: they may mean something"),
    (exact_answer, ("", ""), False, "a blank answer is never right"),
    (exact_answer, ("1e400", "1e400"), True, "numbers too large to write out are compared as texts"),
    (exact_answer, ("nan", "NaN"), True, "words that Python takes for numbers"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


def test_bleu_of_scripts_without_blanks() -> None:
    assert overlap(["是否不超过二十个字？"], ["字数是否不超过二十个字？"]).bleu > 0.5, (
        "one text of one word to the libraries"
    )


@given(st.lists(ASCII, min_size=1, max_size=4), st.lists(WITH_WORD, min_size=1, max_size=4))
def test_on_ascii_it_is_what_the_libraries_give(candidate: list[str], reference: list[str]) -> None:
    import sacrebleu
    from rouge_score.rouge_scorer import RougeScorer

    result, texts = overlap(candidate, reference), ("\n".join(candidate), "\n".join(reference))
    scores = RougeScorer(["rouge1", "rouge2", "rougeL"]).score(texts[1], texts[0])
    assert result.bleu == pytest.approx(sacrebleu.sentence_bleu(texts[0], [texts[1]]).score / 100)
    assert astuple(result)[1:4] == pytest.approx([score.fmeasure for score in scores.values()])
    assert result.count == abs(len(candidate) - len(reference))
    assert all(0 <= value <= 1 for value in astuple(result)[:4])


@given(arrays(float, st.tuples(st.integers(1, 4), st.integers(4, 5)), elements=st.floats(-1, 1)))
def test_no_other_assignment_is_better(likeness: np.ndarray) -> None:
    rows, columns = likeness.shape
    pairs = one_to_one(likeness)
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == rows
    best = max(sum(likeness[row, column] for row, column in enumerate(p)) for p in permutations(range(columns), rows))
    assert sum(likeness[pair] for pair in pairs) == pytest.approx(best)
    assert sum(likeness[pair] for pair in nearest(likeness)) >= best - 1e-9


@given(st.text(), st.text())
def test_no_text_breaks_it(response: str, reference: str) -> None:
    assert normalised(response) == normalised(f" {response} ")
    assert final_answer(response) in response
    exact_answer(response, reference)


@given(st.integers(-(10**15), 10**15))
def test_numbers_are_right_however_they_are_grouped(number: int) -> None:
    assert exact_answer(f"So it is.\nAnswer: {number:,}.", str(number))
