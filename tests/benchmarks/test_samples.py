"""The built-in samples are those that were checked, and what a program can prove of their labels is as they say.

Of a sample that changes, shape and counts are looked at again before its hash is renewed (columns, languages, balance of
labels, pairs, references between files).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from importlib.resources import files
from typing import Any

import pytest

from tests.support.corpus import each_row, table
from tests.support.faults import faults, listed
from tests.support.proofs import bullets, holds, json_of, language, sentences
from truebench_hf.benchmarks.rubric_eval.data import mini_rows, templates
from truebench_hf.data.checklist_rows import read
from truebench_hf.data.rows import Record
from truebench_hf.metrics.preference import preference_from_ratings

Row = dict[str, Any]


def rows(package: str, name: str) -> dict[str, Row]:
    """The rows of a file of the package, by id."""
    text = files("truebench_hf").joinpath(*package.split("/"), f"{name}.jsonl").read_text(encoding="utf-8")
    return {row["id"]: row for row in map(json.loads, text.splitlines())}


@each_row(__file__, "samples", "files")
def test_a_file_is_the_one_that_was_checked(file: str, sha256: str) -> None:
    content = files("truebench_hf").joinpath(*file.split("/")).read_bytes()
    assert hashlib.sha256(content).hexdigest() == sha256


@each_row(__file__, "samples", "rubric_mini")
def test_rubric_mini_is_written_from_its_templates_as_it_was_checked(options: dict[str, Any], sha256: str) -> None:
    text = json.dumps(mini_rows(**options), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest() == sha256


# FACTS: grounded answers, and the same with one or two sentences that the document does not bear out

FACTS = rows("benchmarks/facts", "mini")


def cut(text: str) -> list[str]:
    """Text cut after sentence marks and at line ends, but not inside a German date such as "10. und 31. Juli"."""
    return [part for part in re.split(r"(?<=[.!?])\s+(?!(?<=\d\. )(?:und|bis|Ju[ln]i|August)\b)|\n+", text) if part]


def the_edit_is_minimal(row: Row) -> None:
    """Every sentence that is not listed comes from the grounded answer, and each listed one replaces one of its own."""
    grounded, ungrounded = cut(row["grounded_response"]), cut(row["ungrounded_response"])
    made_up = [entry["sentence"] for entry in row["ungrounded_sentences"]]
    assert sorted(sentence for sentence in ungrounded if sentence not in grounded) == sorted(made_up)
    assert len(ungrounded) == len(grounded)
    assert not [sentence for sentence in made_up if sentence in row["context_document"]]


def figures_come_from_the_prompt(row: Row) -> None:
    """No number that neither the document nor the request gives."""
    numbers = set(re.findall(r"\d+(?:[.,:]\d+)*", row["grounded_response"]))
    derived = {"facts-mini-01": {"1"}}  # "1 July": first day of the month after June, which the notice prescribes
    known = set(re.findall(r"\d+(?:[.,:]\d+)*", row["full_prompt"])) | derived.get(row["id"], set())
    assert numbers <= known, numbers - known
    assert set(re.findall(r"\d+", row["evasive_response"])) <= set(re.findall(r"\d+", row["full_prompt"]))


# Checklists: preferences, and answers to their questions

CHECKLISTS = rows("data", "checklists_mini")


def settled(row: Row) -> list[list[str]]:
    """What most annotators answer to the chosen checklist, on response A and on response B."""
    entry = read(Record(row["id"], row))
    assert entry.chosen
    return [[str(label) for label in entry.people(response, entry.chosen) or ()] for response in entry.responses]


def the_preference_follows_the_pass_rates(row: Row) -> None:
    """Exactly where it is constructed; where people rated, on the same side."""
    first, second = (Counter(answers)["yes"] / len(answers) for answers in settled(row))
    gap, ratings = second - first, [preference["rating"] for preference in row["preferences"]]
    expected = 3 if gap == 0 else 3 + (2 if abs(gap) >= 0.5 else 1) * (1 if gap > 0 else -1)
    if len(row["checklists"]) == 1:
        assert ratings == [expected]
    else:
        assert preference_from_ratings(ratings) == ("win" if gap < 0 else "loss")


def items(text: str) -> list[dict[str, str]]:
    """The JSON list inside a text, whatever stands around it."""
    inside: list[dict[str, str]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    return inside


def clock(text: str) -> list[tuple[int, int]]:
    """Start and end of every line of a schedule, in minutes."""
    spans = re.findall(r"^(\d+):(\d+)-(\d+):(\d+)", text, re.M)
    return [(int(a) * 60 + int(b), int(c) * 60 + int(d)) for a, b, c, d in spans]


PHONES = {"王芳": "3102", "李强": "3188", "陈静": "3155"}
KNOWN: dict[str, Callable[[str], bool]] = {
    "last part of 75 minutes": lambda text: clock(text)[3][1] - clock(text)[3][0] == 75,
    "parts that follow each other": lambda text: all(a[1] == b[0] for a, b in itertools.pairwise(clock(text))),
    "from 9 to 12": lambda text: (clock(text)[0][0], clock(text)[-1][1]) == (540, 720),
    "names and phones alone": lambda text: all(set(item) == {"name", "phone"} for item in items(text)),
    "right phones": lambda text: {item["name"]: item["phone"] for item in items(text)} == PHONES,
}


def answers_that_a_program_can_prove(row: Row) -> None:
    proofs = table(__file__, "checklists_mini_proofs")[row["id"]]
    wrong = [
        f"{response['id']}, question {place + 1}"
        for response, answers in zip(row["responses"], settled(row), strict=True)
        for place, rules in proofs.items()
        if (KNOWN[rules["is"]](response["text"]) if "is" in rules else holds(rules, response["text"]))
        != (answers[place] == "yes")
    ]
    assert not wrong


# FlexBench: verdicts on conversations that respect the preconditions

FLEX = {name: rows("benchmarks/flexbench/samples", name) for name in ("instructions", "dimensions", "conversations")}
FLEX_PROOFS = table(__file__, "flexbench_samples")


def said(conversation: Row, role: str) -> list[str]:
    return [message["content"] for message in conversation["messages"] if message["role"] == role]


def labels(conversation: Row) -> dict[str, str]:
    return {verdict["dimension_id"]: verdict["label"] for verdict in conversation["verdicts"]}


def met(dimension: Row, conversation: Row) -> bool:
    """Whether the user's words, without the instruction they may repeat, meet the precondition."""
    if dimension["precondition"] is None:
        return True
    instruction = FLEX["instructions"][conversation["instruction_id"]]["instruction"]
    words = "\n".join(said(conversation, "user")).replace(instruction, "")
    return re.search(FLEX_PROOFS["evidence"][dimension["id"]], words, re.I) is not None


def labels_and_targets_follow_the_preconditions(row: Row) -> None:
    own = [each for each in FLEX["dimensions"].values() if each["instruction_id"] == row["instruction_id"]]
    for dimension in own:
        name, applies, label = dimension["id"], met(dimension, row), labels(row)[dimension["id"]]
        assert (name in row["target_dimensions"]) == applies, name
        if not applies:
            assert label == "unknown", name
        elif dimension["precondition"] is not None:
            assert label != "unknown", f"{name}: the branch was entered, so it was taken rightly or wrongly"


def verdicts_that_a_program_can_prove(row: Row) -> None:
    own = [proof for proof in FLEX_PROOFS["proofs"] if row["id"] in proof["conversations"]]
    held = {proof["dimension"]: proves(proof, said(row, "assistant")) for proof in own}
    assert not [name for name, proven in held.items() if labels(row)[name] != ("yes" if proven else "no")]


def proves(proof: Row, texts: list[str]) -> bool:
    """Whether what the assistant said is as a proof has it."""
    text, most = proof.get("each", ("", 0))
    return (
        all(message.count(text) <= most for message in texts if text)
        and any(re.search(proof.get("some", ""), message, re.S) for message in texts)
        and not any(re.search(proof.get("none", r"(?!)"), message) for message in texts)
        and bool(re.search(proof.get("last", ""), texts[-1]))
        and len(texts[0].split()) <= proof.get("words", 10_000)
        and proof.get("sentences") in (None, sentences(texts[0]))
    )


CHECKS: dict[str, tuple[dict[str, Row], tuple[Callable[[Row], None], ...]]] = {
    "facts": (FACTS, (the_edit_is_minimal, figures_come_from_the_prompt)),
    "checklists": (CHECKLISTS, (the_preference_follows_the_pass_rates, answers_that_a_program_can_prove)),
    "flexbench": (
        FLEX["conversations"],
        (labels_and_targets_follow_the_preconditions, verdicts_that_a_program_can_prove),
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_every_row_is_sound(name: str) -> None:
    sample, checks = CHECKS[name]
    found = faults(sample, *checks)
    assert not found, listed(found)


# rubric_mini: an independent check of the labels, from rubric, instruction and answer alone

MARKS: dict[str, dict[str, Any]] = {
    pattern: rules for part in table(__file__, "rubric_mini_marks").values() for pattern, rules in part.items()
}


def prompt(row: Row) -> str:
    return str(row["messages"][-1]["content"])


def claim(row: Row) -> int:
    """The sum that is asked for."""
    return sum(int(amount) for amount in re.findall(r"(\d+) EUR", prompt(row).split("Add")[0]))


def booking_date(row: Row) -> str:
    spoken = re.findall(r"six on (\d+ \w+ \d{4})", prompt(row))[0]
    return f'"date": "{datetime.strptime(spoken, "%d %B %Y").date().isoformat()}"'


def staff_day(row: Row) -> int:
    return sum(int(cost) for cost in re.findall(r"(?:Room|lunch|bus) (\d+)", prompt(row)))


COMPUTED: dict[str, Callable[[Row, str], bool]] = {
    "claim": lambda row, text: f"Total: {claim(row)} EUR" in text,
    "decision": lambda row, text: f"Decision: {'Needs approval' if claim(row) > 150 else 'Approved'}" in text,
    "booking date": lambda row, text: booking_date(row) in text,
    "staff day": lambda row, text: str(staff_day(row)) in re.findall(r"\d+", text),
    "cheese": lambda row, text: all(item.endswith("(C)") == ("cheese" in item) for item in bullets(text)),
    "lower bullets": lambda row, text: all(item == item.lower() for item in bullets(text)),
    "formal bullets": lambda row, text: all(item.rstrip(".").endswith("니다") for item in bullets(text)),
}
QUOTED: dict[str, Callable[[list[str], str], bool]] = {
    "all": lambda words, text: all(word.casefold() in text.casefold() for word in words),
    "none": lambda words, text: not any(word.casefold() in text.casefold() for word in words),
    "first alone": lambda words, text: words[0] in text and words[1] not in text,
    "second": lambda words, text: words[1] in text,
    "opens": lambda words, text: text.startswith(words[0]),
    "order": lambda words, text: holds({"order": words}, text),
}


def is_met(rules: dict[str, Any], row: Row) -> bool:
    """Whether the answer of a row is as a rule of `rubric_mini_marks.yaml` says."""
    text, plain = row["response"], dict(rules)
    if "quoted" in plain and not QUOTED[plain.pop("quoted")](re.findall(r'"([^"]+)"', row["rubric"]), text):
        return False
    if "computed" in plain and not COMPUTED[plain.pop("computed")](row, text):
        return False
    told = "\n".join(message["content"] for message in row["messages"])
    for source, place in (("fact", row["rubric"]), ("told", told)):
        if source in plain and re.findall(plain.pop(source), place)[0] not in text:
            return False
    return holds(plain, text)


def rule_for(rubric: str) -> str | None:
    return next((pattern for pattern in MARKS if re.search(pattern, rubric)), None)


@pytest.mark.parametrize("seed", [0, 7])
def test_labels_agree_with_independent_checks(seed: int) -> None:
    every = mini_rows(seed)
    rules = {row["rubric"]: rule_for(row["rubric"]) for row in every}
    assert set(rules.values()) >= set(MARKS), "a pattern that no rubric reaches proves nothing"
    wrong = [
        (row["id"], row["rubric"], row["label"], row["response"])
        for row in every
        if (rule := rules[row["rubric"]]) and is_met(MARKS[rule], row) != (row["label"] == "yes")
    ]
    assert wrong == []


def test_instructions_are_written_in_their_language() -> None:
    for row in {row["instruction_id"]: row for row in mini_rows()}.values():
        told = "\n".join(message["content"] for message in row["messages"])
        assert language(told) == row["language"], row["instruction_id"]


MEASURES: dict[str, Callable[[str, str], bool]] = {  # how templates of the split hard state what can be counted
    r"((?:words|sentences|items|numbered|digits) = \d+)": lambda text, what: holds(
        {what.split()[0].replace("items", "bullets"): what.split()[2]}, text
    ),
    r"longest line <= (\d+)": lambda text, n: max(map(len, text.splitlines())) <= int(n),
    r"columns = (\d+)": lambda text, n: all(line.count(",") == int(n) - 1 for line in text.splitlines()),
    r"sorted (\d+)": lambda text, n: text.splitlines()[: int(n)] == sorted(text.splitlines()[: int(n)]),
    r"lacks (.+)": lambda text, what: what not in text,
    r"language 2 = (\w+)": lambda text, code: language(text.splitlines()[1]) == code,
    r"(json)": lambda text, _: isinstance(json_of(text), dict),
    r"(lower)": lambda text, _: text == text.lower(),
}


def test_what_can_be_counted_is_labelled_as_counted() -> None:
    slots = ((template.id, slot) for template in templates("hard") for slot in template.slots)
    measures = {(name, slot.rubric): slot.measure for name, slot in slots if slot.measure}
    wrong = []
    for row in filter(lambda row: row["measurable"], mini_rows(split="hard")):
        measure = measures[row["instruction_id"], row["rubric"]]
        (proven,) = [
            check(row["response"], hit[1]) for form, check in MEASURES.items() if (hit := re.fullmatch(form, measure))
        ]
        if proven != (row["label"] == "yes"):
            wrong.append((row["id"], measure))
    assert len(measures) >= 30
    assert not wrong
