"""Sentences in many languages, as spans that cover the text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from truebench_hf.judging.sentences import sentences, trimmed


def cut(text: str, language: str = "") -> list[str]:
    return [text[slice(*trimmed(text, *span))] for span in sentences(text, language)]


@pytest.mark.parametrize(
    ("language", "parts", "why"),
    [
        ("en", ["Dr. Smith paid $1.5 million.", '"Is it so?" he asked.', "Yes!", "(It was.)", "See fig. 3 here."], "English"),
        ("DE-at", ["Am 3. Mai 2024.", "Dr. Meier kommt z. B. mit.", "Gut."], "German, where the language is known"),
        ("", ["Der Termin ist am 3. Mai und nicht am 4. Mai.", "Die Karte kommt z. B. mit der Post."], "German, by its words"),
        ("", ["Le musée ouvre à 9 h.", "C’est fermé le lundi !", "Pourquoi ?"], "French, by the rules of its script"),
        ("", ["博物馆九点开门。", "周一闭馆！", "你知道吗？", "“是的。”", "他说。"], "Chinese: the closing mark stays with its sentence"),
        ("", ["博物館は9時に開く。", "月曜は休み！", "「本当か。」と彼は言った。"], "Japanese"),
        ("", ["박물관은 9시에 엽니다.", "월요일은 쉽니다!", "알고 있었나요?", "네."], "Korean"),
        ("", ["يفتح المتحف في الساعة 9.", "هل تعلم؟", "نعم!"], "Arabic"),
        ("", ["संग्रहालय 9 बजे खुलता है।", "सोमवार को बंद है।"], "Hindi"),
        ("", ["জাদুঘর ৯টায় খোলে।", "সোমবার বন্ধ।"], "Bengali, by the rules of Hindi"),
        ("", ["Музей открыт с девяти.", "По понедельникам закрыт.", "Почему?"], "Russian"),
        ("", ["พิพิธภัณฑ์เปิดทำการเวลาเก้านาฬิกาของทุกวัน", "ปิดวันจันทร์และวันหยุดนักขัตฤกษ์ตลอดทั้งปี"], "Thai: at blanks between clauses"),
        ("", ["Bảo tàng mở cửa lúc 9 giờ.", "Đóng cửa thứ Hai."], "Vietnamese"),
        ("xx", ["One.", "Two."], "a code that nobody knows"),
        ("zh", ["One.", "Two."], "a code of another script"),
    ],
)  # fmt: skip
def test_sentences_by_language(language: str, parts: list[str], why: str) -> None:
    blank = "" if any("\u3040" <= sign <= "\u9fff" for sign in parts[0]) else " "
    assert cut(blank.join(parts), language) == parts, why


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
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|", "| 1 | 2 |"], "a table"),
        ("Signs ∯ and ȸ. Next one.", ["Signs ∯ and ȸ.", "Next one."], "signs that the library uses itself"),
        ("A\u2028B", ["A", "B"], "other line breaks"),
        ("It opens at 9. 博物馆九点开门。", ["It opens at 9.", "博物馆九点开门。"], "two scripts in one line"),
    ],
)  # fmt: skip
def test_odd_texts(text: str, parts: list[str], why: str) -> None:
    assert cut(text) == parts, why


@given(st.text(), st.sampled_from(["", "en", "de", "ja"]))
@example("∯ȸ☉.\n“", "")
@example("a.b. \u200b.\r\n", "")
def test_spans_cover_every_text(text: str, language: str) -> None:
    spans = sentences(text, language)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(start < end for start, end in spans)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


@pytest.mark.parametrize("piece", ["This is a sentence. ", "(", "'a ", "1.", "A.", '"', "…", "ก ", "。"])
def test_long_lines_are_cut_in_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))  # the limit of a test is its assertion
    assert "".join(text[start:end] for start, end in sentences(text)) == text
