"""Rules held against responses: (rule, response, whether it is met), with the reason beside each case."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.rules.test_rule_schema import RULES
from tests.rules.test_rules_counted import TEXT
from truebench_hf.judging.rules.measuring import detection
from truebench_hf.judging.rules.measuring.answers import answer
from truebench_hf.judging.rules.measuring.measure import measure
from truebench_hf.rules import rule_of

NINE = "One two three four five six seven eight nine."


def count(unit: str, low: int | None = None, high: int | None = None, per: str = "whole") -> dict[str, Any]:
    bounds = {"min": low, "max": high}
    return {"kind": "count", "unit": unit, "per": per} | {k: v for k, v in bounds.items() if v is not None}


TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
CASES: list[tuple[dict[str, Any], str, bool | None]] = [
    # what counts as the answer
    (count("words", 9, 9), NINE, True),
    (count("words", 9, 9), f"Sure! Here is the sentence:\n\n{NINE}", None),  # with the lead-in there are more
    (count("words", None, 20), f"Sure! Here is the sentence:\n\n{NINE}", True),  # few enough either way
    (count("words", None, 8), f"Sure! Here is the sentence:\n\n{NINE}", False),  # too many either way
    (count("words", None, 14), f"{NINE}\n\nLet me know if you need more.", None),  # a closing remark
    (count("words", None, 14), f"{NINE}\n\n---\n\n**Note:** I kept it short and simple, as you wished.", None),
    (count("words", None, 12), f"Option 1: {NINE}\n\nOption 2: {NINE}", None),  # each version may be meant
    (count("words", None, 10), f"Voici la phrase :\n\n{NINE}", None),
    (count("words", None, 10), f"다음은 문장입니다:\n\n{NINE}", None),
    (count("sentences", 1, 1), f"Zusammenfassung: {NINE}", True),  # a label is no sentence
    (count("sentences", 2, 2), f"Gerne! {NINE}", None),  # "Gerne!" may count or not
    (count("words", 9, 9), f"```\n{NINE}\n```", True),  # a fence around all of it
    (count("words", None, 0), "", True),
    (
        count("words", None, 7),
        "A Short Day in Paris\n\nThis title is short, and it tells readers at once what to expect of it.",
        None,
    ),
    (
        count("words", None, 3),
        "1. A Day in Paris\n2. Paris\n3. A Long Way to Paris",
        None,
    ),  # one of the proposals will do
    (count("words", None, 9), "Fresh bread.\n\nIt is here.\n\nThese nine words are not more than a remark.", None),
    # parts
    (count("words", None, 2, "line"), "a b\nc d", True),
    (count("words", None, 2, "line"), "a b\nc d e", False),
    (count("words", None, 2, "line"), "A long title here\n\na b.\nc d.", None),  # the title may not count
    (count("sentences", 1, 1, "paragraph"), "One is here.\n\nTwo is here.", True),
    (count("sentences", 1, 1, "paragraph"), "One.\nTwo.", None),  # one paragraph of two, or two of one
    (count("sentences", 1, 1, "item"), "- One is.\n- Two is. Three is.", False),
    (count("characters", None, 3, "item"), "no list", None),
    (count("list_items", None, 0), "A plain paragraph.\n\nAnother one.", True),  # no marks, no list
    (count("list_items", None, 0), "- one", False),
    # JSON
    ({"kind": "json"}, '{"a": 1}', True),
    ({"kind": "json"}, '```json\n{"a": 1}\n```', True),  # a fence around all of it is dress
    ({"kind": "json"}, 'Here it is:\n```json\n{"a": 1}\n```', None),  # is the comment part of it?
    ({"kind": "json"}, '{"a": 1,}', False),
    ({"kind": "json"}, "{'a': 1}", False),
    ({"kind": "json"}, '{"a": NaN}', None),  # Python reads it, the standard does not
    ({"kind": "json"}, '{"a": 1}\n{"a": 2}', None),  # JSON Lines
    ({"kind": "json"}, "42", None),
    ({"kind": "json"}, "[" * 3000, False),
    ({"kind": "json"}, "a: 1", False),
    ({"kind": "json", "keys": ["a"]}, '{"a": 1}', True),
    ({"kind": "json", "keys": ["b"]}, '{"a": 1}', False),
    ({"kind": "json", "keys": ["b"]}, '{"a": {"b": 1}}', None),  # it is there, further down
    ({"kind": "json", "keys": ["b"]}, '[{"b": 1}, {"b": 2}]', True),
    # CSV and tables
    ({"kind": "csv", "min_columns": 3, "max_columns": 3}, "a,b,c\n1,2,3", True),
    ({"kind": "csv", "min_columns": 3, "max_columns": 3}, 'a,b,c\n1,"2,5",3', True),  # a comma within quotation marks
    ({"kind": "csv", "min_columns": 3, "max_columns": 3}, "a,b,c\n1,2", False),
    ({"kind": "csv", "min_rows": 2, "max_rows": 2}, "a,b\n1,2", None),  # with the header two, without it one
    ({"kind": "csv"}, "a;b\n1;2", None),  # another sign
    ({"kind": "csv"}, "Nothing of the kind", False),
    ({"kind": "table"}, TABLE, True),
    ({"kind": "table", "min_columns": 3}, TABLE, False),
    ({"kind": "table", "min_rows": 3, "max_rows": 3}, TABLE, None),  # with the header or without
    ({"kind": "table", "min_rows": 2}, f"Here:\n\n{TABLE}", True),
    ({"kind": "table"}, "a\tb\n1\t2", None),  # tabs make a table to some
    ({"kind": "table"}, "A sentence.", False),
    ({"kind": "table", "header": ["A"]}, TABLE, None),  # in another case
    # code
    ({"kind": "code_block"}, "```\nx\n```", True),
    ({"kind": "code_block"}, "```\nx", None),  # not closed
    ({"kind": "code_block"}, "A sentence.", False),
    ({"kind": "code_block"}, "Run `x`.", None),  # code, but no block
    ({"kind": "code_block", "language": "Python"}, "```py\nx\n```", True),
    ({"kind": "code_block", "language": "python"}, "```\nx\n```", None),
    ({"kind": "code_block", "language": "python"}, "```java\nx\n```", False),
    # wording
    ({"kind": "starts_with", "value": "Dear"}, "Dear Ann", True),
    ({"kind": "starts_with", "value": "Dear"}, "dear Ann", None),  # another case
    ({"kind": "starts_with", "value": "Dear"}, "Sure:\n\nDear Ann", None),
    ({"kind": "starts_with", "value": "The"}, "There it is", None),  # within a word
    ({"kind": "starts_with", "value": "Dear"}, "Hello Ann", False),
    ({"kind": "ends_with", "value": "?"}, "Who?", True),
    ({"kind": "ends_with", "value": "?"}, "谁？", True),  # full width
    ({"kind": "ends_with", "value": "?"}, "“Who?”", None),
    ({"kind": "ends_with", "value": "?"}, "Who? I ask.", False),
    ({"kind": "ends_with", "value": "Thanks"}, "It is done.", False),
    ({"kind": "contains", "values": ["SDBot"]}, "저는 SDBot입니다.", True),  # a particle behind it
    ({"kind": "contains", "values": ["blue"]}, "A **blue** bird", True),
    ({"kind": "contains", "values": ["blue"]}, "A BLUE bird", None),
    ({"kind": "contains", "values": ["blue"]}, "A bluebird", None),
    ({"kind": "contains", "values": ["blue"]}, "A red bird", False),
    ({"kind": "contains", "values": ["кошка"]}, "Вижу кошку.", None),  # inflected
    ({"kind": "contains", "values": ["42"]}, "It is forty-two.", None),  # a value is never found absent
    ({"kind": "contains", "values": ["a b", "c"], "any": True}, "it is c", True),
    ({"kind": "contains", "values": ["tea"], "min": 2, "max": 2}, "tea and tea", True),
    ({"kind": "excludes", "values": ["proud"]}, "We are glad.", True),
    ({"kind": "excludes", "values": ["proud"]}, "We are proud.", False),
    ({"kind": "excludes", "values": ["proud"]}, "We are Proudly here.", None),
    ({"kind": "excludes", "values": ["proud"]}, "We are glad.\n\nNote: I left out the word proud.", None),
    ({"kind": "excludes", "values": ["삼성"]}, "삼성전자는 성장했습니다.", False),  # a brand within a longer name
    # characters
    ({"kind": "case", "form": "upper"}, "ALL OF IT", True),
    ({"kind": "case", "form": "lower"}, "not All of it", False),
    ({"kind": "case", "form": "upper"}, "Here you go:\n\nALL OF IT", None),
    ({"kind": "case", "form": "upper"}, "모두", None),  # no case in Korean
    ({"kind": "case", "form": "title"}, "The Old Man and the Sea", None),  # small words may be small
    ({"kind": "case", "form": "title"}, "Every Word Counts", True),
    ({"kind": "case", "form": "title"}, "every single letter small", False),
    ({"kind": "forbidden", "classes": ["digits"]}, "No number.", True),
    ({"kind": "forbidden", "classes": ["digits"]}, "The 3 cats", False),
    ({"kind": "forbidden", "classes": ["digits"]}, "1. one\n2. two", None),  # the numbers of a list
    ({"kind": "forbidden", "classes": ["commas"]}, "1,000 cats", None),  # a comma within a number
    ({"kind": "forbidden", "characters": "!"}, "Go！", None),  # full width
    ({"kind": "forbidden", "characters": "!"}, "Go!", False),
    ({"kind": "forbidden", "classes": ["emoji"]}, "Fine :)", None),
    ({"kind": "forbidden", "classes": ["emoji"]}, "Fine 👍", False),
    ({"kind": "forbidden", "classes": ["markdown"]}, "A **bold** word", False),
    ({"kind": "forbidden", "classes": ["markdown"]}, "- an item", None),  # a dash is plain text to some
    # order
    ({"kind": "sorted"}, "- apple\n- Banana\n- cherry", True),
    ({"kind": "sorted"}, "- cherry\n- apple", False),
    ({"kind": "sorted"}, "- The Cat\n- Bird", False),
    ({"kind": "sorted"}, "- The Ant\n- Bird", None),  # by its article or without
    ({"kind": "sorted"}, "- 苹果\n- 香蕉", None),  # by sound or by strokes
    ({"kind": "sorted", "by": "numeric", "reverse": True}, "- a 30\n- b 20\n- c 3", True),
    # what once was decided and cannot be
    ({"kind": "count", "unit": "list_items", "min": 2, "mark": "bullet"}, "1. a\n2. b", None),  # numbers are no bullets
    ({"kind": "count", "unit": "list_items", "min": 2, "mark": "number"}, "1. a\n2. b", True),
    (count("sentences", 3, 3), "Hello 🙂 How are you? Fine 🙂", None),  # a face may end a sentence
    (count("sentences", 1, 1), "The iPhone. iPads too.", None),  # a sentence may begin with a small letter
    (count("sentences", 2, 2), "TP. HCM rất đông. Tôi thích.", True),
    (count("questions", None, 0), "いかがでしょうか。", None),  # a question without its mark
    (count("questions", None, 0), "What is it", None),
    (count("questions", None, 0), "It is fine.", True),
    (count("lines", 3, 3), "An old pond / A frog jumps / Splash", None),  # verses set apart by strokes
    (count("lines", 3, 3), "**Autumn**\n\nLeaves fall\nWind blows\nNight comes\n\n— Basho", None),
    (count("words", 5, 5, "line"), "Title\n\none two three four five\none two three four five", None),
    (count("sentences", 1, 1, "item"), "- It is here.\n  More of it.\n- Two is.", None),  # an item goes on
    (count("words", None, 8, "sentence"), "The cost is 5.Then we all go home now.", None),
    (count("hashtags", 3, 3), "#fun#sun#run", None),
    ({"kind": "csv"}, "I'm sorry, I can't do that.", None),  # commas of a sentence
    ({"kind": "csv"}, "Sure, no problem\nYou, too", None),
    ({"kind": "json"}, 'Order 1:\n{"a": 1}\n\nOrder 2:\n{"a": 2}', None),
    (
        {"kind": "listed", "mark": "bullet"},
        f"🔹 {'A point. ' * 20}\n🔹 {'A point. ' * 20}",
        None,
    ),  # any sign may be a bullet
    ({"kind": "sorted"}, "- Item 10\n- Item 2", None),  # by value or by digits
    ({"kind": "sorted"}, "- Lublin\n- Łódź\n- Poznań", None),  # each language has its order
    ({"kind": "sorted"}, "- Bernd Abel\n- Anna Zimmer", None),  # by surname
    ({"kind": "excludes", "values": ["사과"]}, "의사과정을 봅니다", None),  # across two words
    ({"kind": "excludes", "values": ["中国"]}, "在其中国人很多", None),
    (
        {"kind": "excludes", "values": ["Samsung"]},
        "The firm grew fast in the year.\n\n*I replaced Samsung with the firm.*",
        None,
    ),
    (
        {"kind": "excludes", "values": ["client"]},
        "**Revised:**\nThe customer is king.\n\n**Original:**\nThe client is king.",
        None,
    ),
    ({"kind": "forbidden", "characters": "eE"}, "é", None),
    (
        {"kind": "starts_with", "value": "Hello"},
        "Hello! Here is the email:\n\nDear Ann, ...",
        None,
    ),  # of the email, or of all
    ({"kind": "starts_with", "value": "Dear"}, "Dear Ann:\n\nwe miss you.", True),
    ({"kind": "ends_with", "value": "?"}, "Come by.\n\nWould you like me to change the tone?", None),  # the same
    ({"kind": "ends_with", "value": "?"}, "Would you come by?", True),
    ({"kind": "ends_with", "value": "."}, "Come by...", None),  # dots are another mark to some
    ({"kind": "ends_with", "value": "."}, "Come by…", None),
    ({"kind": "excludes", "values": ["free"]}, "It is gluten-free.", None),  # one word, or two
    ({"kind": "contains", "values": ["Paris"], "min": 2, "max": 2}, "Paris, and a Paris-based firm", None),
    ({"kind": "excludes", "values": ["example"]}, "See https://example.com there.", None),  # an address
    ({"kind": "contains", "values": ["https://a.org"]}, "See https://a.org there.", True),
    ({"kind": "contains", "values": ["may"]}, "In May it rains.", None),  # a name
    ({"kind": "contains", "values": ["may"]}, "It is so. May I go?", True),
    ({"kind": "contains", "values": ["stay safe"]}, "please stay\nsafe", True),
    (count("words", None, 10), "One two three four five six seven eight nine ten. (10 words)", None),  # a note on it
    (count("words", None, 10), "One two three four five six seven eight nine ten (more or less).", False),
    ({"kind": "listed", "mark": "bullet"}, "- a\n- b\n\nIn short: drinks.", None),  # part of it, or a remark
    ({"kind": "listed", "mark": "bullet"}, "Here is the list:\n\n- a\n- b\n\nLet me know!", True),
    ({"kind": "case", "form": "title"}, "EVERY WORD COUNTS", None),  # capitals throughout are another case
    ({"kind": "case", "form": "title"}, "The Lord Of The Rings", None),  # small words must be small to some
    ({"kind": "forbidden", "characters": "!"}, "Great❗", None),  # a picture of it
    (
        count("words", None, 6, "sentence"),
        "We left at 5 p.m. Monday was calm and quiet then.",
        None,
    ),  # two sentences, or one
    (count("words", 3, None, "sentence"), "We all went. They were Mr. J. Smith of Ohio.", None),  # where does it end?
    (count("words", None, 4, "sentence"), "We all went home. They stayed there.", True),
    (count("list_items", 3, 3), "• a • b • c", None),  # in one line
    (count("list_items", 3, 3), "1. a 2. b 3. c", None),
    ({"kind": "sorted"}, "**B**\n- bee\n- bug\n\n**A**\n- ant\n- ape", None),  # each list for itself
    ({"kind": "code_block"}, "<pre>print(1)</pre>", None),
    ({"kind": "sorted", "by": "numeric"}, "- 1.500\n- 2", None),  # a thousand and a half, or one and a half
]


@pytest.mark.parametrize(("rule", "response", "met"), CASES)
def test_a_rule_is_met_only_where_every_reading_says_so(rule: dict[str, Any], response: str, met: bool | None) -> None:
    got = measure(rule_of(rule), response)
    assert got.met is met, got.facts
    assert got.facts
    assert "\n" not in got.facts


def test_facts_state_what_was_measured() -> None:
    assert measure(rule_of(count("words", 9, 9)), NINE).facts == "9 words"
    assert measure(rule_of(count("words", 9, 9)), "A well-known cat").facts == "3 to 4 words"
    assert measure(rule_of(count("words", 1, 2, "line")), "a\nb c").facts == "words per line: 1, 2"
    assert measure(rule_of({"kind": "table"}), TABLE).facts == "a table of 2 rows below the header and 2 columns"
    assert measure(rule_of({"kind": "excludes", "values": ["x"]}), "x y").facts == "'x' once"


# --- languages ------------------------------------------------------------------------------------------------------

TEXTS = {
    "en": "The kettle is descaled on Mondays, and the coffee machine follows on Thursdays. Please do not use them then.",
    "de": "Der Wasserkocher wird montags entkalkt, die Kaffeemaschine folgt donnerstags. Bitte dann nicht benutzen.",
    "fr": "La bouilloire est détartrée le lundi, et la machine à café le jeudi. Merci de ne pas les utiliser ces jours-là.",
    "es": "El hervidor se descalcifica los lunes, y la cafetera le sigue los jueves. Por favor, no los usen entonces.",
    "it": "Il bollitore si decalcifica il lunedì, e la macchina del caffè il giovedì. Si prega di non usarli in quei giorni.",
    "pt": "A chaleira é descalcificada às segundas, e a máquina de café às quintas. Por favor, não as usem nesses dias.",
    "pl": "Czajnik odkamieniamy w poniedziałki, a ekspres do kawy w czwartki. Prosimy ich wtedy nie używać.",
    "ru": "Чайник чистят по понедельникам, а кофемашину по четвергам. Пожалуйста, не пользуйтесь ими в эти дни.",
    "vi": "Ấm đun nước được tẩy cặn vào thứ Hai, còn máy pha cà phê vào thứ Năm. Xin đừng dùng chúng vào lúc đó.",
    "ko": "주전자는 월요일에, 커피 머신은 목요일에 청소합니다. 그때는 사용하지 말아 주세요.",
    "ja": "やかんは月曜日に、コーヒーメーカーは木曜日に掃除します。その日は使わないでください。",
    "zh": "水壶每周一除垢，咖啡机每周四除垢。请不要在那两天使用它们，谢谢大家的配合。",
}
NEAR = ({"es", "pt", "it"}, {"zh", "ja"})


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_in_one_language_is_of_no_other(code: str) -> None:
    for other in TEXTS:
        got = measure(rule_of({"kind": "language", "codes": [other]}), TEXTS[code]).met
        near = any({code, other} <= group for group in NEAR)
        assert got is (True if other == code else None if near else False), (code, other)


@pytest.mark.parametrize(
    ("codes", "text", "met"),
    [
        (["en"], "Yes.", None),  # too short
        (["en"], "", None),
        (["en"], f"{TEXTS['en']}\n\n{TEXTS['de']}", None),  # mixed
        (
            ["ru"],
            "Privet, kak dela? Ya ochen rad tebya videt, potomu chto pogoda khoroshaya.",
            None,
        ),  # in Latin letters
        (["ja"], "Furuike ya kawazu tobikomu mizu no oto natsukusa ya tsuwamonodomo ga yume no ato", None),  # the same
        (["en"], "Barack Obama, Angela Merkel, Emmanuel Macron, Pedro Sánchez, Mateusz Morawiecki", None),  # names
        (["en"], f"A Short and Simple Guide to Clean Kettles for Your Office\n\n{TEXTS['en']}", True),  # a title
        (
            ["de"],
            "Votre fille paie sa place.\nWir freuen uns auf Ihren Besuch bei uns.",
            None,
        ),  # short lines of two languages
        (["en", "de"], f"{TEXTS['en']}\n\n{TEXTS['de']}", True),
        (
            ["ko"],
            f"Here is the translation:\n\n{TEXTS['ko']}",
            None,
        ),  # a lead-in in another language is a fault to some
        (["ko"], f"{TEXTS['ko']}\n\n{TEXTS['en']}", None),
        (
            ["de"],
            f"{TEXTS['de']}\n\n```python\nfor number in range(10): print(number, end=' ')  # a comment here\n```",
            True,
        ),
        (
            ["en"],
            "```python\nfor number in range(10): print(number, end=' ')  # a comment here\n```",
            None,
        ),  # code only
        (["de"], f"# Übersicht\n\n{TEXTS['de']}\n\n- Montag\n- Donnerstag", True),  # short lines go with the rest
        (["en"], f"{TEXTS['en']} https://example.org/ein-deutscher-pfad-der-nicht-zaehlt", True),
        (["ko"], f"Sure! Here is the summary:\n\n{TEXTS['ko'] * 8}", None),  # a lead-in, however long the rest is
        (["de"], f"{TEXTS['de'] * 8}\n\nI hope this helps!", None),
        (["en"], f"네, 요약은 다음과 같습니다:\n\n{TEXTS['en'] * 8}", None),
        (["ja"], f"{TEXTS['ja']}\n\n{TEXTS['zh']}", None),  # Chinese beside Japanese
        (
            ["zh"],
            "会議議事録\n\n日時: 十月三日\n場所: 第一会議室\n参加者: 佐藤、鈴木、高橋\n議題: 予算案承認",
            None,
        ),  # or Japanese
        (["en"], f"{TEXTS['en']} He added: „{TEXTS['de']}“", None),  # a quotation within a line
        (
            ["nb"],
            "Vannkokeren avkalkes på mandager, og kaffemaskinen på torsdager. Vennligst ikke bruk dem da.",
            None,
        ),  # or Danish
    ],
)
def test_languages_of_texts_that_are_not_simple(codes: list[str], text: str, met: bool | None) -> None:
    assert measure(rule_of({"kind": "language", "codes": codes}), text).met is met


def test_shares_are_stated() -> None:
    rule = rule_of({"kind": "language", "codes": ["de"]})
    assert measure(rule, TEXTS["de"]).facts == "German 100% of the letters"
    assert measure(rule, f"{TEXTS['de']}\n\n{TEXTS['ru']}").facts.startswith("German 52%, Russian 48%")


def test_without_lingua_no_language_is_measured_and_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    got = measure(rule_of({"kind": "language", "codes": ["de"]}), TEXTS["de"])
    assert (got.facts, got.met) == ("", None)
    assert "pip install lingua-language-detector" in got.problem


# --- whatever the text ----------------------------------------------------------------------------------------------

EVERY = [rule_of(row) for row in RULES] + [
    rule_of(count(unit, 1, 2, per))
    for unit, per in [
        ("words", "paragraph"), ("words", "item"), ("words", "sentence"), ("sentences", "whole"), ("paragraphs", "whole"),
        ("characters", "whole"), ("characters_no_spaces", "line"), ("list_items", "whole"), ("questions", "whole"),
        ("emoji", "whole"), ("hashtags", "whole"), ("lines", "paragraph"), ("characters_with_spaces", "whole"),
    ]
] + [rule_of({"kind": "forbidden", "classes": ["emoji", "markdown", "punctuation", "letters"]})]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(TEXT | st.text(st.characters(), max_size=300))
@example("A\ud800")
def test_no_text_breaks_a_rule(text: str) -> None:
    for rule in EVERY:
        got = measure(rule, text)
        assert got.met in (True, False, None)
    made = answer(text)
    assert len(made.core) <= len(made.whole) + 1


def test_a_response_of_a_megabyte_is_not_read() -> None:
    start = time.process_time()
    for rule in EVERY:
        got = measure(rule, "a\n\n" * 350_000)
        assert (got.facts, got.met) == ("more than 100,000 characters, which are not measured", None)
    assert time.process_time() - start < 0.5


HOSTILE = [
    "*", "`", "a", ". ", "[", "|", "{", "**a", "<a ", "```\n", "_a ", "A. ", '{"a":', '"', "1.", " ", "\t|", "e\u0301", "- ", "# ",
    ">", "http://a", "a: ", "<!--", "\\a", "x_", "$", "option 1\n", "Dr. A! ", "\u200b", "(", "a@", "猫。", "한 ", "\n\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_20000_characters_take_a_moment(piece: str) -> None:
    """Each rule took 10 ms or less of most, and 70 of the worst, on one core; the bound leaves room for a busy machine."""
    text = (piece * 20_000)[:20_000]
    answer.cache_clear()
    detection.shares.cache_clear()
    start = time.process_time()
    answer(text)
    once = time.process_time() - start  # what all rules share
    for rule in EVERY:
        start = time.process_time()
        measure(rule, text)
        assert once + time.process_time() - start < 0.5, rule.text
