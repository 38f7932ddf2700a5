"""rubric_mini: an independent check of the labels, from rubric, instruction and answer alone.

`PROOFS` decide rubrics that are mechanical: a count, an order, a named word, a sum, a format, a number to be stated.
`MARKS` look for wording that stands for a meaning (an apology, a role, an off-topic subject). They would catch a
passage in the wrong place, but rest on how our answers are worded, so they are not counted as proofs.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from lingua import Language, LanguageDetectorBuilder

from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows
from truebench_hf.benchmarks.rubric_eval.data import templates

Row = dict[str, Any]
Check = Callable[[Row], bool]
ROWS = rows()
SEEDS = (0, 7)


def text(row: Row) -> str:
    return str(row["response"])


def prompt(row: Row) -> str:
    return str(row["messages"][-1]["content"])


def bullets(row: Row) -> list[str]:
    return [line[2:] for line in text(row).splitlines() if line.startswith("- ")]


def sentences(passage: str) -> int:
    """Sentence ends; the point of an ordinal (7. August) or inside a number (200.000) ends none."""
    return len(re.findall(r"(?<!\s\d)(?<!\s\d\d)[.!?](?=\s|$)", passage))


def quotes(row: Row) -> list[str]:
    return re.findall(r'"([^"]+)"', row["rubric"])


def numbers(passages: list[str]) -> list[int]:
    """The first number of each passage."""
    return [int(re.findall(r"\d+", passage)[0]) for passage in passages]


def rises(values: list[Any]) -> bool:
    return all(a < b for a, b in itertools.pairwise(values))


def in_order(row: Row, words: list[str]) -> bool:
    places = [text(row).find(word) for word in words]
    return -1 not in places and rises(places)


def bare_json(row: Row) -> bool:
    try:
        return isinstance(json.loads(text(row)), dict)
    except ValueError:
        return False


def inner_json(row: Row) -> dict[str, Any]:
    found = re.search(r"\{.*\}", text(row), re.DOTALL)
    assert found
    return dict(json.loads(found.group()))


@functools.cache
def detector() -> Any:
    names = "ENGLISH KOREAN JAPANESE CHINESE POLISH GERMAN PORTUGUESE SPANISH FRENCH ITALIAN RUSSIAN VIETNAMESE"
    return LanguageDetectorBuilder.from_languages(*(getattr(Language, name) for name in names.split())).build()


def language(passage: str) -> str:
    """ISO code in capitals, or "" when undecided."""
    found = detector().detect_language_of(passage)
    return found.iso_code_639_1.name if found else ""


def contains_quotes(row: Row) -> bool:
    return all(quote.casefold() in text(row).casefold() for quote in quotes(row))


def lacks_quotes(row: Row) -> bool:
    return not any(quote.casefold() in text(row).casefold() for quote in quotes(row))


def first_not_second(row: Row) -> bool:
    wanted, unwanted = quotes(row)
    return wanted in text(row) and unwanted not in text(row)


def claim_total(row: Row) -> int:
    return sum(int(n) for n in re.findall(r"(\d+) EUR", prompt(row).split("Add")[0]))


def right_booking_date(row: Row) -> bool:
    spoken = re.search(r"six on (\d+ \w+ \d{4})", prompt(row))
    assert spoken
    return bool(inner_json(row)["date"] == datetime.strptime(spoken.group(1), "%d %B %Y").date().isoformat())


def right_decision(row: Row) -> bool:
    return f"Decision: {'Needs approval' if claim_total(row) > 150 else 'Approved'}" in text(row)


def right_staff_day_total(row: Row) -> bool:
    total = sum(int(n) for n in re.findall(r"(?:Room|lunch|bus) (\d+)", prompt(row)))
    return re.search(rf"\b{total}\b", text(row)) is not None


def promised_door_code(row: Row) -> bool:
    code = re.search(r"porta (\d{4})", prompt(row))
    assert code
    return code.group(1) in text(row)


def user_name(row: Row) -> bool:
    name = re.search(r"My name is (\w+)", row["messages"][0]["content"])
    assert name
    return name.group(1) in text(row)


def named_fact(pattern: str) -> Check:
    """The fact that `pattern` captures in the rubric stands in the answer."""

    def check(row: Row) -> bool:
        fact = re.search(pattern, row["rubric"])
        assert fact
        return fact.group(1) in text(row)

    return check


def sorted_lines(row: Row) -> bool:
    lines = text(row).split("\n\n")[0].splitlines()
    return len(lines) == 3 and lines == sorted(lines)


# rubric -> check; the first pattern that matches the rubric is used


def mark(has: list[str] | None = None, lacks: list[str] | None = None) -> Check:
    """Whether an answer has all of these patterns, and none of those."""
    wanted, unwanted = ([re.compile(p, re.IGNORECASE | re.MULTILINE) for p in of or []] for of in (has, lacks))
    return lambda row: all(p.search(text(row)) for p in wanted) and not any(p.search(text(row)) for p in unwanted)


WRITTEN = yaml.safe_load(Path(__file__).with_name("rubric_mini_marks.yaml").read_text(encoding="utf-8"))
MARKS: list[tuple[str, Check]] = [(rubric, mark(**patterns)) for rubric, patterns in WRITTEN["marks"].items()]
PROOFS: list[tuple[str, Check]] = [
    *((rubric, mark(**patterns)) for rubric, patterns in WRITTEN["proofs"].items()),
    # counts
    (r"exactly three bullet", lambda r: len(bullets(r)) == 3),
    (r"exactly two bullet", lambda r: len(bullets(r)) == 2),
    (r"exactly four bullet", lambda r: len(bullets(r)) == 4),
    (r"exactly two paragraphs", lambda r: len(text(r).split("\n\n")) == 2),
    (r"exactly three sentences\.$", lambda r: sentences(text(r)) == 3),
    (r"exactly three sentences after the first line", lambda r: sentences(text(r).split("\n\n", 1)[1]) == 3),
    (r"at most four sentences after the greeting", lambda r: sentences(text(r).split("\n\n", 1)[1]) <= 4),
    (r"exactly one sentence after the list", lambda r: sentences(text(r).split("\n\n")[-1]) == 1),
    (r"exactly three numbered", lambda r: len(re.findall(r"^\d+\. ", text(r), re.MULTILINE)) == 3),
    # order
    (r"in this order: \"", lambda r: in_order(r, quotes(r))),
    (
        r"bullet items are in alphabetical",
        lambda r: [b.lower() for b in bullets(r)] == sorted(map(str.lower, bullets(r))),
    ),
    (r"three lines are in alphabetical", sorted_lines),
    (r"order photo, collection, refund", lambda r: in_order(r, ["zdjęcie", "kurier odbierze", "zwrócimy"])),
    (r"cheapest to the dearest", lambda r: rises(numbers(bullets(r)))),
    (r"dearest to the cheapest", lambda r: rises(numbers(bullets(r))[::-1])),
    (r"refund before the new invoice", lambda r: in_order(r, ["Refund one payment", "Send a new invoice"])),
    (r"by deadline, the nearest first", lambda r: rises(numbers(bullets(r)))),
    (r"order of their times", lambda r: rises(numbers(bullets(r)))),
    # format
    (r"one bare JSON object", bare_json),
    (r"Ends with a line .* begins with Time", lambda r: text(r).splitlines()[-1].startswith("Time:")),
    (r'^Opens with "', lambda r: text(r).startswith(quotes(r)[0])),
    # language
    (r'"\w+", not "\w+"', first_not_second),
    (r"bullet item is in lower case", lambda r: all(b == b.lower() for b in bullets(r))),
    (r"bullet point ends in the formal", lambda r: all(b.rstrip(".").endswith("니다") for b in bullets(r))),
    (r"message to the person in charge is in the polite", lambda r: bool(re.search("(です|ます)。$", text(r)))),
    (r"last sentence is in Vietnamese", lambda r: language(text(r).rstrip(".").rsplit(". ", 1)[-1]) == "VI"),
    # branches whose outcome is a prescribed text
    (r"opens with the billing queue", lambda r: text(r).startswith("Queue: Billing\n")),
    (r"decision that follows", right_decision),
    (r"opens with a warning line", lambda r: text(r).startswith("Warning")),
    (r"gives the door code", promised_door_code),
    (r"contains cheese with \(C\)", lambda r: all(b.endswith("(C)") == ("cheese" in b) for b in bullets(r))),
    (r"Marks the mail as urgent", lambda r: inner_json(r)["urgent"] is True),
    # jobs with a right result
    (r"Adds the three amounts", lambda r: f"Total: {claim_total(r)} EUR" in text(r)),
    (r"Replaces every \"client\"", lambda r: "client" not in text(r).lower() and quotes(r)[1] in text(r)),
    (r"agenda with at least two points", lambda r: len(bullets(r)) >= 2),
    (r"English translation .* last line", lambda r: language(text(r).splitlines()[-1]) == "EN"),
    (r"right total of 60", lambda r: f"合計：{12 + 40 + 8}個" in text(r)),
    (r"right total of 175", lambda r: f"total da estadia é de {2 * 80 + 15} euros" in text(r)),
    (r"right total, 160", lambda r: f"total est de {40 + 2 * 60} euros" in text(r)),
    # facts stated right
    (r"Gets the date right", right_booking_date),
    (r"The total is right: 1450", right_staff_day_total),
    (r"when the meeting ends, at 13", lambda r: f"fino alle {11 + 2}" in text(r)),
    (r"start of the rule accurately", named_fact(r"as (\w+)\.$")),
    (r"shelf mark of the catalogue", named_fact(r": (\S+)\.$")),
    # kept from earlier turns
    (r"currency agreed in turn 1", lambda r: "CHF" in text(r) and "EUR" not in text(r)),
    (r"new step has the number 4", lambda r: text(r).startswith("4. ")),
    (r"name given in turn 1", user_name),
    (r"고객님", lambda r: "고객님" in text(r) and "손님" not in text(r)),
    # named words absent or present: last, since they match widely
    (r"^(Does not|Leaves out|Gives no|Names no|Promises no|Suggests nothing).*\"", lacks_quotes),
    (r"^(Gives|Names|States|Mentions|Spells|Delivers|Puts|Asks politely|Ends politely|Greets).*\"", contains_quotes),
]


def check_for(row: Row, table: list[tuple[str, Check]]) -> Check | None:
    return next((check for pattern, check in table if re.search(pattern, row["rubric"])), None)


# labels


@pytest.mark.parametrize("seed", SEEDS)
def test_labels_agree_with_independent_checks(seed: int) -> None:
    wrong = []
    for row in rows(seed):
        check = check_for(row, PROOFS) or check_for(row, MARKS)
        if check is not None and check(row) != (row["label"] == "yes"):
            wrong.append((row["id"], row["rubric"], row["label"], row["response"]))
    assert wrong == []


def test_no_check_stands_idle() -> None:
    """A pattern that no rubric reaches would be a proof that proves nothing."""
    used = {id(check_for(row, PROOFS) or check_for(row, MARKS)) for row in ROWS}
    assert [pattern for pattern, check in PROOFS + MARKS if id(check) not in used] == []


# languages


def test_instructions_are_written_in_their_language() -> None:
    for row in {row["instruction_id"]: row for row in ROWS}.values():
        assert language(prompt(row)) == row["language"], row["instruction_id"]


# What a program can count of the split hard

_ABBREVIATED = re.compile(r"\b(Dr|Ms|Mr|Sra|approx|z|B|np|tj|godz|т|е|руб|3(?=\. Mai))\.")


def hard_sentences(text: str) -> int:
    """Ends of sentences; points of abbreviations and decimals end none."""
    return len(re.findall(r"[.!?](?=\s|$)|[。！？]", _ABBREVIATED.sub(r"\1", text)))


def line(text: str, number: str) -> str:
    return text.splitlines()[int(number) - 1]


MEASURES: dict[str, Callable[[str, str], bool]] = {
    r"words = (\d+)": lambda text, n: len(text.split()) == int(n),
    r"sentences = (\d+)": lambda text, n: hard_sentences(text) == int(n),
    r"items = (\d+)": lambda text, n: len(re.findall("^- ", text, re.M)) == int(n),
    r"numbered = (\d+)": lambda text, n: len(re.findall(r"^\d\. ", text, re.M)) == int(n),
    r"longest line <= (\d+)": lambda text, n: max(map(len, text.splitlines())) <= int(n),
    r"columns = (\d+)": lambda text, n: all(x.count(",") == int(n) - 1 for x in text.splitlines()),
    r"digits = (\d+)": lambda text, n: sum(map(str.isdigit, text)) == int(n),
    r"sorted (\d+)": lambda text, n: text.splitlines()[: int(n)] == sorted(text.splitlines()[: int(n)]),
    r"lacks (.+)": lambda text, what: what not in text,
    r"language 2 = (\w+)": lambda text, code: language(line(text, "2")) == code,
    r"(json)": lambda text, _: bare_json({"response": text}),
    r"(lower)": lambda text, _: text == text.lower(),
}


def measured(measure: str, text: str) -> bool:
    (found,) = [(check, hit[1]) for form, check in MEASURES.items() if (hit := re.fullmatch(form, measure))]
    return found[0](text, found[1])


def test_what_can_be_counted_is_labelled_as_counted() -> None:
    slots = ((template.id, slot) for template in templates("hard") for slot in template.slots)
    by_rubric = {(name, slot.rubric): slot.measure for name, slot in slots if slot.measure}
    wrong = [
        row["id"]
        for row in rows(split="hard")
        if row["measurable"]
        and measured(by_rubric[row["instruction_id"], row["rubric"]], row["response"]) != (row["label"] == "yes")
    ]
    assert len(by_rubric) >= 30
    assert not wrong
