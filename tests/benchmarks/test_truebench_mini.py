"""The 36 built-in TRUEBench instances: every rule of the set counted, and every computed answer computed again."""

from __future__ import annotations

import functools
import json
import math
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from lingua import Language, LanguageDetector, LanguageDetectorBuilder

from tests.support.faults import broken, faults, listed
from truebench_hf.data.catalogue import MINI

RAW = MINI.read_bytes()
ROWS: list[dict[str, Any]] = [json.loads(line) for line in RAW.decode("utf-8").splitlines()]
BY_INDEX = {row["index"]: row for row in ROWS}
RELEASE = Path(__file__).parents[3] / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"

COLUMNS = {
    "index": int, "language": str, "category": str, "sub_category": str, "turns": int, "input": list, "criteria": list,
}  # fmt: skip
LANGUAGES = {
    "KO": Language.KOREAN, "EN": Language.ENGLISH, "JA": Language.JAPANESE, "ZH": Language.CHINESE,
    "PL": Language.POLISH, "DE": Language.GERMAN, "PT": Language.PORTUGUESE, "ES": Language.SPANISH,
    "FR": Language.FRENCH, "IT": Language.ITALIAN, "RU": Language.RUSSIAN, "VI": Language.VIETNAMESE,
}  # fmt: skip
# The names the public release v0.6.1 uses, all 46 pairs.
SUB_CATEGORIES = {
    "Content Generation": {
        "Abbreviation", "Conditional", "Email", "Free-topic", "Prompt", "Report drafting", "Thesis/Patent draft",
    },
    "Data Analysis": {
        "Classification", "Date", "DocumentQA", "JSON Formatted", "NER(Named Entity Recognition)",
        "Position Bias Error", "Table Query",
    },
    "Editing": {"Conditional", "Document revision", "Query Rephrase", "Spelling", "Style Rephrase"},
    "Hallucination": {
        "False queries", "False queries with context", "Insufficient context", "Sparse Knowledge", "Sycophancy",
    },
    "Multi-Turn": {"Consistency", "Non-Consistency", "Role Play"},
    "Reasoning": {"Code Correction", "Logical Reasoning", "MCQA", "Mathematical Reasoning", "Round Up Error"},
    "Repetition": {"Listing"},
    "Safety": {"Illegal", "Prejudice", "Profanity", "Specific attacks"},
    "Summarization": {"Bullet points", "Conditional", "N-line summary", "Target language"},
    "Translation": {"Conditional", "Document", "Format", "Line-by-Line", "Unit"},
}  # fmt: skip
# (index, turn) -> (source language, answer language); the instruction's is the row's own. In these turns the three are
# not all the same. The reason stands beside each.
MIXED = {
    (1, 0): ("DE", "EN"),  # German release notes, asked for in Korean, wanted in English
    (3, 2): ("KO", "EN"),  # the model's own Korean reply is the source; English asked for in Korean
    (5, 0): ("ES", "FR"),  # Spanish complaint, asked for in English, wanted in French
    (9, 0): ("EN", "ZH"),  # English minutes, asked for in Japanese, wanted in Chinese
    (12, 0): ("KO", "EN"),  # Korean table, asked for in Chinese, wanted in English
    (18, 0): ("PL", "EN"),  # Polish notice, asked for in German, wanted in English
    (20, 0): ("ES", "EN"),  # Spanish notes, asked for in Portuguese, wanted in English
    (23, 0): ("EN", "EN"),  # English message to be kept in English, asked for in Spanish
    (24, 0): ("PT", "EN"),  # Portuguese notice, asked for in Spanish, wanted in English
    (26, 0): ("EN", "DE"),  # English product sheet, asked for in French, wanted in German
    (31, 0): ("ZH", "EN"),  # Chinese message, asked for in Russian, wanted in English
    (34, 0): ("EN", "VI"),  # English tickets, asked for and answered in Vietnamese
    (36, 0): ("JA", "EN"),  # Japanese mail, asked for in Vietnamese, wanted in English
}
CONDITIONAL = re.compile(r"(If|When|Only if) ")
NOTHING_ADDED = re.compile(r"not add|added to or lost|(may|must) be added|not contain anything|add no |nor add")


@functools.cache
def detector() -> LanguageDetector:
    return LanguageDetectorBuilder.from_languages(*LANGUAGES.values()).build()


def prompt(index: int, turn: int = 0) -> str:
    return str(BY_INDEX[index]["input"][turn])


def criteria(index: int, turn: int = 0) -> str:
    return "\n".join(BY_INDEX[index]["criteria"][turn])


def numbers(text: str) -> list[Decimal]:
    """Every plain number of a text, in order; a comma between digits is a decimal comma."""
    return [Decimal(found.replace(",", ".")) for found in re.findall(r"\d+(?:[.,]\d+)?", text)]


# ---------------------------------------------------------------- the shape of the set


def test_the_file_is_36_plain_utf8_lines_without_escapes() -> None:
    lines = RAW.decode("utf-8").split("\n")
    assert lines.pop() == ""
    assert lines == [json.dumps(row, ensure_ascii=False) for row in ROWS]
    assert len(lines) == 36


def columns_types_and_turn_counts(row: dict[str, Any]) -> None:
    assert list(row) == list(COLUMNS)
    assert {name: type(value) for name, value in row.items()} == COLUMNS
    assert row["turns"] == len(row["input"]) == len(row["criteria"]) >= 1
    texts = [*row["input"], *(text for turn in row["criteria"] for text in turn)]
    assert not [text for text in texts if type(text) is not str or text != text.strip() or not text]
    assert not [text for text in texts if not unicodedata.is_normalized("NFC", text)]
    assert not [char for char in "".join(texts) if unicodedata.category(char) in ("Cc", "Cf", "Co") and char != "\n"]


def test_indices_are_stable_and_three_rows_per_language() -> None:
    assert [row["index"] for row in ROWS] == list(range(1, 37))
    assert Counter(row["language"] for row in ROWS) == dict.fromkeys(LANGUAGES, 3)


def test_all_categories_with_names_of_the_release() -> None:
    assert {row["category"] for row in ROWS} == set(SUB_CATEGORIES)
    assert all(row["sub_category"] in SUB_CATEGORIES[row["category"]] for row in ROWS)
    hallucination = {row["sub_category"] for row in ROWS if row["category"] == "Hallucination"}
    assert hallucination >= {"False queries", "Sparse Knowledge", "Sycophancy"}


def test_multi_turn_rows_keep_and_switch_context() -> None:
    several = [row for row in ROWS if row["turns"] > 1]
    assert len(several) >= 8
    assert {row["category"] for row in several} == {"Multi-Turn"}
    assert all(row["turns"] > 1 for row in ROWS if row["category"] == "Multi-Turn")
    kinds = Counter(row["sub_category"] for row in several)
    assert kinds["Consistency"] >= 2
    assert kinds["Non-Consistency"] >= 2


def lengths_and_three_to_six_distinct_criteria_per_turn(row: dict[str, Any]) -> None:
    assert not [text for text in row["input"] if not 40 <= len(text) <= 1200]
    for turn in row["criteria"]:
        assert 3 <= len(turn) <= 6
        assert len(set(turn)) == len(turn)
        assert not [text for text in turn if not text.endswith((".", ".)"))]


def test_inputs_are_mostly_short_and_all_different() -> None:
    inputs = [text for row in ROWS for text in row["input"]]
    assert sum(len(text) < 700 for text in inputs) >= 0.9 * len(inputs)  # the embedded model is slow
    assert len({" ".join(text.casefold().split()) for text in inputs}) == len(inputs)


def test_conditional_and_nothing_added_criteria_are_frequent() -> None:
    def rows_with(pattern: re.Pattern[str]) -> int:
        return sum(any(pattern.search(text) for turn in row["criteria"] for text in turn) for row in ROWS)

    assert rows_with(re.compile(rf"^{CONDITIONAL.pattern}")) >= 8
    assert rows_with(NOTHING_ADDED) >= 8


def test_release_shares_no_run_of_text_with_ours() -> None:
    """Own words only: no run of 40 characters (18 in Korean, Japanese, Chinese) stands in the public release."""
    if not RELEASE.exists():
        pytest.skip(f"{RELEASE.name} is not in ../shared/data/truebench beside the checkout")
    release = [json.loads(line) for line in RELEASE.read_text(encoding="utf-8").splitlines()]
    theirs = [text for row in release for text in [*row["input"], *(text for turn in row["criteria"] for text in turn)]]
    for size, own in ((18, {"KO", "JA", "ZH"}), (40, set(LANGUAGES) - {"KO", "JA", "ZH"})):
        texts = [text for row in ROWS if row["language"] in own for text in row["input"]]
        ours = {text[at : at + size] for text in texts for at in range(len(text) - size + 1)}
        assert ours, "nothing compared"
        # Only texts that share a block of half the size, laid end to end, can share such a run: few.
        half = size // 2
        blocks = {text[at : at + half] for text in texts for at in range(len(text) - half + 1)}
        near = [text for text in theirs if any(text[at : at + half] in blocks for at in range(0, len(text), half))]
        shared = {text[at : at + size] for text in near for at in range(len(text) - size + 1)} & ours
        assert not shared
    assert not {text for row in ROWS for turn in row["criteria"] for text in turn} & set(theirs)


# ---------------------------------------------------------------- languages


def instruction_source_and_answer_language(row: dict[str, Any]) -> None:
    wrong = []
    for turn, (text, wanted) in enumerate(zip(row["input"], row["criteria"], strict=True)):
        key, source = (row["index"], turn), None
        answer, instruction, material = row["language"], text, ""
        if key in MIXED:
            source, answer = MIXED[key]
            instruction, _, material = text.partition("\n\n")
        # In (3, 2) the source is the conversation itself.
        if source and key != (3, 2) and detector().detect_language_of(material) != LANGUAGES[source]:
            wrong.append(f"turn {turn + 1}: source not {source}")
        if detector().detect_language_of(instruction) != LANGUAGES[row["language"]]:
            wrong.append(f"turn {turn + 1}: instruction not {row['language']}")
        name = LANGUAGES[answer].name.title()
        said = rf"(language of the \w+ must be|written in) (Simplified )?{name}\b"
        if not re.search(said, "\n".join(wanted)):
            wrong.append(f"turn {turn + 1}: criteria do not ask for {answer}")
    assert not wrong


# Each check, and changes of the first row that it must find.
CHECKS: list[tuple[Callable[[dict[str, Any]], None], list[Callable[[dict[str, Any]], object]]]] = [
    (columns_types_and_turn_counts, [lambda row: row.update(turns=2), lambda row: row["input"].append(" text")]),
    (
        lengths_and_three_to_six_distinct_criteria_per_turn,
        [lambda row: row.update(input=["too short"]), lambda row: row["criteria"][0].append(row["criteria"][0][0])],
    ),
    (
        instruction_source_and_answer_language,
        [
            lambda row: row.update(language="PL"),  # the instruction is Korean
            lambda row: row.update(input=[row["input"][0].partition("\n\n")[0] + "\n\nThis is English text."]),
            lambda row: row.update(criteria=[["Must be short."]]),
        ],
    ),
]


def test_every_row_is_sound() -> None:
    found = faults({f"{row['index']} {row['language']}": row for row in ROWS}, *(check for check, _ in CHECKS))
    assert not found, listed(found)


def test_every_check_finds_a_broken_row() -> None:
    for check, changes in CHECKS:
        for change in changes:
            assert faults({"broken": broken(ROWS[0], change)}, check), check.__name__


def test_languages_differ_in_at_least_ten_rows() -> None:
    for (index, _), languages in MIXED.items():
        assert len({BY_INDEX[index]["language"], *languages}) >= 2
    assert len({index for index, _ in MIXED}) >= 10
    all_three = [key for key, languages in MIXED.items() if len({BY_INDEX[key[0]]["language"], *languages}) == 3]
    assert len(all_three) >= 8


# ---------------------------------------------------------------- computed answers


def test_json_extraction_values_agree_with_the_mail() -> None:
    assert "2026년 9월 3일 목요일 오후 2시 30분" in prompt(2)
    assert "한 시간 반" in prompt(2)
    assert date(2026, 9, 3).strftime("%A") == "Thursday"  # 목요일
    start, minutes = time(2 + 12, 30).strftime("%H:%M"), int(1.5 * 60)
    assert f'start must be "{start}"' in criteria(2)
    assert f"integer {minutes}" in criteria(2)


def test_the_median_function_has_the_faults_named() -> None:
    code = re.search(r"```python\n(.*?)```", prompt(4), re.DOTALL)
    assert code is not None
    space: dict[str, Any] = {}
    exec(code[1], space)
    values = [4, 1, 3, 2]
    assert statistics.median(values) == 2.5
    assert space["median"](values) != 2.5
    assert "2.5 for [4, 1, 3, 2]" in criteria(4)
    assert values == [1, 2, 3, 4]  # the caller's list was sorted
    assert space["median"]([5, 1, 3]) == 3  # odd lengths were right
    with pytest.raises(IndexError):  # not the ValueError asked for
        space["median"]([])


def test_lamp_total() -> None:
    lamps, price, percent, delivery = numbers(prompt(5, 1))
    before = lamps * price
    after = before * (100 - percent) / 100
    for amount in (before, after, after + delivery):
        assert f"${amount:.2f}" in criteria(5, 1)


def test_london_is_an_hour_ahead_of_utc_in_july() -> None:
    start = datetime(2026, 7, 9, 14, tzinfo=UTC).astimezone(ZoneInfo("Europe/London"))
    assert "14:00 UTC on 9 July 2026" in prompt(6)
    assert f"{start:%H:%M} in London" in criteria(6)
    assert start.utcoffset() == timedelta(hours=1)


def test_printing_costs() -> None:
    plate, first_copy, second_copy, threshold, _, reduced, copies = numbers(prompt(10))
    assert second_copy == 11
    assert copies >= threshold
    first, second = plate + first_copy * copies, reduced * copies
    assert second < first
    assert f"{first:,.0f} yuan for 甲 and {second:,.0f} yuan for 乙" in criteria(10)
    assert f"{first - second:.0f} yuan." in criteria(10)


def test_sales_per_employee() -> None:
    rows = re.findall(r"\| (\w+) \| ([\d ]+) \| (\d+) \|", prompt(14))
    shares = {name: int(sales.replace(" ", "")) / int(staff) for name, sales, staff in rows}
    assert len(shares) == 4
    assert max(shares, key=shares.__getitem__) == "Kielce"
    assert f"{max(shares.values()) - min(shares.values()):,.0f} zł" in criteria(14)
    assert all(f"{name} {share:,.0f} zł" in criteria(14) for name, share in shares.items())


def test_the_six_spelling_errors_are_in_the_mail() -> None:
    wrong = ["Hallo Frau Wiegand\n", "für ihre ", ", den die", "schiken", "Mitwoch", "Grüsen"]
    assert [prompt(16).count(text) for text in wrong] == [1] * 6


def test_telephone_duty_has_one_solution() -> None:
    def fits(day: dict[str, int]) -> bool:
        return (
            day["Bilal"] > day["Cora"]
            and day["Deniz"] not in (0, 3)
            and day["Anke"] == day["Deniz"] + 1
            and abs(day["Bilal"] - day["Cora"]) != 1
        )

    people = ("Anke", "Bilal", "Cora", "Deniz")
    solutions = [day for order in permutations(range(4)) if fits(day := dict(zip(people, order, strict=True)))]
    assert solutions == [{"Cora": 0, "Deniz": 1, "Anke": 2, "Bilal": 3}]
    assert "Cora on Monday, Deniz on Tuesday, Anke on Wednesday, Bilal on Thursday" in criteria(17)


@pytest.mark.parametrize(
    ("index", "day", "weekday", "phrase"),
    [
        (20, date(2026, 3, 16), 0, "lunes 16"),
        (22, date(2026, 4, 7), 1, "martes 7 de abril de 2026"),
        (22, date(2026, 4, 24), 4, "viernes 24 de abril"),
        (24, date(2026, 6, 6), 5, "sábado, 6 de junho"),
        (24, date(2026, 6, 8), 0, "segunda-feira, 8 de junho"),
    ],
)
def test_weekdays_named_in_inputs_are_right(index: int, day: date, weekday: int, phrase: str) -> None:
    assert day.weekday() == weekday
    assert phrase in prompt(index)


def test_fifteen_working_days() -> None:
    day, left = date(2026, 4, 7), 15
    assert "15 días hábiles" in prompt(22)
    while left:
        day += timedelta(days=1)
        left -= day.weekday() < 5 and day != date(2026, 4, 24)
    assert f"{day.day} April 2026" in criteria(22)
    assert f"{day:%A} (miércoles)" in criteria(22)


def test_overlapping_meetings() -> None:
    found = re.findall(r"(\w+) (\d+) h(?: (\d+))? – (\d+) h(?: (\d+))?", prompt(25, 1))
    plan = [(name, int(a) * 60 + int(b or 0), int(c) * 60 + int(d or 0)) for name, a, b, c, d in found]
    clashes = [(one[0], two[0], one[2] - two[1]) for one, two in pairwise(plan) if one[2] > two[1]]
    assert len(plan) == 4
    assert clashes == [("recrutement", "sécurité", 15)]
    assert "recrutement and sécurité" in criteria(25, 1)
    assert "15 minutes" in criteria(25, 1)


@pytest.mark.parametrize(
    ("label", "factor", "unit"),
    [
        ("Height", "2.54", "cm"),
        ("Width", "2.54", "cm"),
        ("Weight", "0.45359237", "kg"),
        ("Maximum load", "0.45359237", "kg"),
    ],
)
def test_metric_units(label: str, factor: str, unit: str) -> None:
    value = re.search(rf"^{label}: (\d+) (?:inches|pounds)$", prompt(26), re.MULTILINE)
    assert value is not None
    metric = (Decimal(value[1]) * Decimal(factor)).quantize(Decimal("0.1"), ROUND_HALF_UP)
    assert f"{metric} {unit}" in criteria(26)


def test_boxes_and_parcels_round_up() -> None:
    catalogues, per_box, per_parcel, price = numbers(prompt(28))
    boxes = math.ceil(catalogues / per_box)
    parcels = math.ceil(boxes / per_parcel)
    assert f"give {boxes} boxes" in criteria(28)
    assert f"give {parcels} parcels" in criteria(28)
    assert f"{parcels * price:.2f} euros" in criteria(28)
    assert f"{catalogues / per_box:.2f} boxes and {boxes / per_parcel:.2f} parcels" in criteria(28)


def test_june_has_no_31st() -> None:
    assert "31 giugno 2027" in prompt(29)
    with pytest.raises(ValueError, match="day"):
        date(2027, 6, 31)
    assert [date(2027, 6, 30).strftime("%A"), date(2027, 7, 1).strftime("%A")] == ["Wednesday", "Thursday"]
    assert "Wednesday and Thursday respectively" in criteria(29)


def test_fans_add_up() -> None:
    ordered, loose, _, rest = map(int, re.findall(r"(\d+)台", prompt(31)))
    assert ordered - loose == rest
    assert f"{loose} of the {ordered} fans" in criteria(31)
    assert f"{rest} can ship" in criteria(31)


def test_task_list_grows_to_six_and_ends_in_a_tie() -> None:
    tasks = [pair for turn in (0, 1) for pair in re.findall(r"([\w ]+) — (\w+)", prompt(33, turn))]
    assert len(tasks) == 6  # over the limit of five, which turn 2 must notice
    left = Counter(person for task, person in tasks if task.strip() != "отчёт за июль")
    assert left == {"Глеб": 2, "Лена": 2, "Вера": 1}
    assert "Глеб and Лена both have the most tasks, two each" in criteria(33, 2)


def test_ticket_counts() -> None:
    sorted_into = {"Thanh toán": {1, 5, 7}, "Đăng nhập": {2, 6}, "Giao hàng": {3}, "Khác": {4}}
    tickets = {int(number) for number in re.findall(r"^T(\d):", prompt(34), re.MULTILINE)}
    assert tickets == set().union(*sorted_into.values())
    assert all(f"{name} {len(members)}" in criteria(34) for name, members in sorted_into.items())


def test_free_seats() -> None:
    rows, seats, empty, guests = numbers(prompt(36, 1))
    usable = (rows - empty) * seats
    assert f"must be {usable}." in criteria(36, 1)
    assert f"give {usable - guests} free seats" in criteria(36, 1)
