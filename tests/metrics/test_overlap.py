"""Overlap of checklists: what the libraries give on ASCII, and words in every script."""

from __future__ import annotations

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.metrics.texts import Overlap, mean_overlap, overlap, spaced, words

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
