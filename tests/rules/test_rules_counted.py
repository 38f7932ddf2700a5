"""What is counted, in all 12 languages of TRUEBench: (fewest, usual, most), with the reason beside each case."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.judging.rules.measuring import characters, lines, sentences, words
from truebench_hf.judging.rules.measuring.answers import answer
from truebench_hf.judging.rules.measuring.ranges import CountRange

Counts = int | tuple[int, int, int]


def counts_of(found: CountRange) -> Counts:
    return found.usual if found.low == found.high else (found.low, found.usual, found.high)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", 0),
        ("The cat sat on the mat.", 6),
        ("Der Hund schläft, die Katze nicht.", 6),
        ("Le chat dort sur le canapé.", 6),
        ("El gato duerme; ¿y el perro?", 6),
        ("Il gatto dorme sul divano.", 5),
        ("O gato dorme no sofá.", 5),
        ("Kot śpi na kanapie.", 4),
        ("Кошка спит на диване.", 4),
        ("Con mèo ngủ trên ghế.", 5),  # syllables stand apart, and are counted
        ("고양이는 소파에서 잡니다.", 3),  # blanks, as judges are told
        ("猫在沙发上睡觉。", (2, 8, 8)),  # characters, with the stop; at least two words
        ("猫はソファで寝ています。", (3, 12, 12)),  # ソファ is one word
        ("A well-known brand", (3, 3, 4)),  # hyphen: one word or two
        ("don't", 1),  # nobody counts two
        ("l'eau", (1, 1, 2)),  # two in French schools
        ("and/or", (1, 1, 2)),
        ("It costs 20 euros", (3, 4, 4)),  # some leave numbers out
        ("one — two", (2, 2, 3)),  # a word processor counts the dash
        ("one—two", (1, 1, 2)),
        ("**bold** words", 2),  # marks are no words
        ("- item one\n- item two", 4),
        ("1. one\n2. two", (2, 4, 4)),  # the numbers of a list
        ("# A title\n\nAnd text", 4),
        ("| a | b |\n|---|---|\n| c | d |", 4),
        ("great 👍 work", (2, 2, 3)),  # an emoji
        ("2 + 2 = 4", (0, 3, 5)),  # signs between words
        ("[a link](https://example.org/x-y)", (2, 2, 6)),  # the address is not seen on a page
    ],
)
def test_words(text: str, counts: Counts) -> None:
    assert counts_of(words.words(text)) == counts


@pytest.mark.parametrize(
    ("text", "spaces", "counts"),
    [
        ("two words", None, 9),
        ("two words", False, 8),
        ("a\nb", True, (2, 2, 3)),  # whether a line break is a character
        ("안녕 하세요.", None, (6, 6, 7)),  # Hangul syllables and the stop; some count the blank
        ("안녕 하세요.", True, 7),
        ("你好，世界。", None, 6),
        ("👨‍👩‍👧", None, (1, 1, 5)),  # one to the eye, five to a program
        ("e\u0301te\u0301", None, 3),  # composed: three letters
        ("한국어", None, 3),  # decomposed syllables are syllables
        ("**x**", None, (1, 1, 5)),  # with marks or without
    ],
)
def test_characters(text: str, spaces: bool | None, counts: Counts) -> None:
    assert counts_of(characters.characters(answer(text).whole, spaces)) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", 0),
        ("One. Two! Three?", 3),
        ("Dr. Okafor measured 3.5 m in room 2.4. Ms. Tran left.", (1, 2, 2)),  # "2.4." may be a date
        ("He works for the U.S. Government. It is big.", (2, 2, 3)),
        ("We sell tea, coffee, etc. The shop is open.", 2),
        ("“Go!” he said. Then he left.", 2),  # the mark in quotation marks goes on in a small letter
        ("Das kostet ca. 5 Euro, z. B. im Markt. Gut.", 2),
        ("Wir kommen am 3. Mai. Bis dann.", 2),  # an ordinal before a month
        ("Nous partons à 8 h. Et vous ?", (1, 1, 2)),  # "h." may be short for something
        ("¿Vienes mañana? ¡Claro que sí!", 2),
        ("Il sig. Rossi parte alle 7.30. Arriva presto.", (2, 2, 3)),
        ("O Sr. Lima chega às 9. Ligue depois.", (1, 2, 3)),  # "9." may be an ordinal, "Sr." may end one
        ("Spotkanie jest o godz. 10. Proszę przyjść.", (1, 2, 2)),
        ("Это т. е. важно. Приходите в 5 ч. вечера.", 2),
        ("Trời đẹp. Chúng ta đi nhé!", 2),
        ("오늘은 3.5도입니다. 내일은 춥습니다.", 2),
        ("水壶在这里。你要吗？", 2),
        ("「はい。」と言った。次に行く。", 2),  # the stop within the brackets
        ("Wait... What?", (1, 2, 2)),
        ("A title\n\nA sentence.", (1, 2, 2)),  # a title has no end
        ("- buy milk\n- buy bread", (1, 2, 2)),
        ("Hello there", 1),
        ("J. K. Rowling wrote it. She left.", 2),  # initials
        ("He got an A. She got a B. They left.", (1, 1, 3)),  # these are none, and look the same
        ("Это было в 2020 г. Потом и т. д. Конец.", (1, 1, 3)),  # abbreviations that may end one
        ("Me llamo Ana (soy de Perú). Adiós.", 2),
        ('He said "Go. Now." and left.', (1, 2, 2)),  # within a sentence that goes on
        ("“Why? How?” he asked.", (1, 2, 2)),
        ('She said "Go. Now." He left.', (2, 3, 3)),
        ("“Who are you?” Arin asked.", (1, 2, 2)),
        ('The password is "Maple!". It is long.', 2),
        ("How to do it: 1) Wash it. 2) Dry it.", (2, 2, 3)),
        ("It was tested on Jan. 5 by Node.js vs. Deno.", (1, 1, 3)),  # a month before its day, "vs." before a name
        ("To jest Jan. 5 osób czeka.", (1, 1, 2)),  # a name, and a month elsewhere
        ("Add 2 tbsp. Butter comes last.", (1, 1, 2)),  # a unit, or an end
    ],
)
def test_sentences(text: str, counts: Counts) -> None:
    assert counts_of(sentences.sentences(text)) == counts


LETTER = "Dear Ann,\n\nThank you for the books. They came today.\n\nBest\nTom"


@pytest.mark.parametrize(
    ("count", "text", "counts"),
    [
        (lines.count_lines, "a\nb\n\nc\n", 3),  # blank lines are none
        (lines.count_lines, "a\n---\nb", (2, 2, 3)),  # a drawn line
        (lines.count_lines, "word " * 40, (1, 1, 4)),  # shown as several
        (lines.count_paragraphs, "One.\n\nTwo.\n\nThree.", 3),
        (lines.count_paragraphs, "One.\nTwo.", (1, 1, 2)),  # line breaks may part paragraphs
        (lines.count_paragraphs, "# Title\n\nOne.\n\nTwo.", 2),  # a heading is none
        (lines.count_paragraphs, LETTER, (1, 3, 4)),  # greeting and signature
        (lines.count_paragraphs, "One.\n\n- a\n- b", (1, 1, 2)),  # a list may count as one
        (lines.count_items, "- a\n- b\n- c", 3),
        (lines.count_items, "1. a\n2. b", 2),
        (lines.count_items, "1、春\n2、夏", 2),
        (lines.count_items, "- a\n  - b\n  - c\n- d", (2, 2, 4)),  # nested ones
        (lines.count_items, "- a\n- b\n\nand\n\n- c", (1, 3, 3)),  # two lists
        (lines.count_items, "apples, pears", (0, 0, 2)),  # a list without marks?
        (lines.count_items, "3.5 kg\n4.5 kg", (0, 0, 2)),  # no numbers of items
        (lines.count_items, "**bold** start\nsecond", (0, 0, 2)),  # a star is no mark without its blank
        (sentences.questions, "Who? What?", 2),
        (sentences.questions, "谁来？", 1),
        (sentences.questions, "He asked “Who?” again.", (0, 1, 1)),
        (characters.emoji, "👍🏽 and 👨‍👩‍👧", (2, 2, 5)),
        (characters.emoji, "fine :)", (0, 0, 1)),
        (characters.hashtags, "#one #zwei_2 a#b # heading #3", (2, 2, 3)),
    ],
)
def test_lines_and_the_rest(count: Callable[[str], CountRange], text: str, counts: Counts) -> None:
    assert counts_of(count(answer(text).whole)) == counts


TEXT = st.text(max_size=200) | st.lists(
    st.sampled_from([*"aZé한日カж. !?\n-*#`|>1,:", "\n\n", "```", "- ", "Dr. ", "👍"]), max_size=60
).map("".join)


@given(TEXT)
def test_what_is_usual_lies_between_the_ends(text: str) -> None:
    whole = answer(text).whole
    for count in (words.words, characters.characters, sentences.sentences, sentences.questions, lines.count_lines, lines.count_paragraphs,
                  lines.count_items, characters.emoji, characters.hashtags):  # fmt: skip
        tally = count(whole)
        assert 0 <= tally.low <= tally.usual <= tally.high


@given(st.lists(st.text("abcäжó ", min_size=1).filter(str.strip), min_size=1, max_size=6))
def test_words_of_joined_paragraphs_are_the_sum(parts: list[str]) -> None:
    assert words.words("\n\n".join(parts)).usual == sum(words.words(part).usual for part in parts)
    assert lines.count_lines("\n\n".join(parts)).usual == len(parts)


@given(st.integers(1, 9))
def test_plain_sentences_are_counted_exactly(number: int) -> None:
    for sentence in ("The cat sleeps. ", "Der Hund bellt. ", "Кошка спит. ", "고양이가 잡니다. ", "猫在睡觉。"):
        assert counts_of(sentences.sentences((sentence * number).strip())) == number
