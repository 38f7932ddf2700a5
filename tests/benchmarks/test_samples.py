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
from importlib.resources import files
from typing import Any

import pytest

from tests.support.corpus import each_row, table
from tests.support.faults import faults, listed
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
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
    made = json.dumps(mini_rows(**options), ensure_ascii=False)
    assert hashlib.sha256(made.encode()).hexdigest() == sha256


# FACTS: grounded answers, and the same with one or two sentences that the document does not bear out

FACTS = rows("benchmarks/facts", "mini")


def sentences(text: str) -> list[str]:
    """Text cut after sentence marks and at line ends, but not inside a German date such as "10. und 31. Juli"."""
    return [part for part in re.split(r"(?<=[.!?])\s+(?!(?<=\d\. )(?:und|bis|Ju[ln]i|August)\b)|\n+", text) if part]


def the_edit_is_minimal(row: Row) -> None:
    """Every sentence that is not listed comes from the grounded answer, and each listed one replaces one of its own."""
    grounded, ungrounded = sentences(row["grounded_response"]), sentences(row["ungrounded_response"])
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


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


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
    "json": is_json,
    "last part of 75 minutes": lambda text: clock(text)[3][1] - clock(text)[3][0] == 75,
    "parts that follow each other": lambda text: all(a[1] == b[0] for a, b in itertools.pairwise(clock(text))),
    "from 9 to 12": lambda text: (clock(text)[0][0], clock(text)[-1][1]) == (540, 720),
    "at most 25 words without signs": lambda text: len(re.findall(r"\w+", text)) <= 25,
    "first three lines in order": lambda text: lines(text)[:3] == sorted(lines(text)[:3]),
    "reasons of at most five words": lambda text: all(len(why.split()) <= 5 for why in re.findall(r"\((.+)\)", text)),
    "names and phones alone": lambda text: all(set(item) == {"name", "phone"} for item in items(text)),
    "right phones": lambda text: {item["name"]: item["phone"] for item in items(text)} == PHONES,
    "two ends of sentences": lambda text: len(re.findall(r"[.!?](?:\s|$)", text)) == 2,
}
COUNTS: dict[str, Callable[[str], int]] = {
    "lines": lambda text: len(lines(text)), "words": lambda text: len(text.split()), "signs": len,
    "sentences": lambda text: len(re.findall(r"[.!?。！？]", text)),
}  # fmt: skip


def holds(kind: str, what: Any, text: str) -> bool:
    """Whether a response is as a line of the proofs says."""
    if kind in COUNTS:
        least, _, most = str(what).partition("-")
        return int(least) <= COUNTS[kind](text) <= int(most or least)
    if kind == "finds":
        return [word.lower() for word in re.findall(what[0], text)] == what[1:]
    checks: dict[str, Callable[[], bool]] = {
        "is": lambda: KNOWN[what](text),
        "has": lambda: all(re.search(pattern, text) for pattern in what),
        "lacks": lambda: not any(re.search(pattern, text) for pattern in what),
        "each": lambda: all(re.match(what, line) for line in lines(text)),
    }
    return checks[kind]()


def answers_that_a_program_can_prove(row: Row) -> None:
    proofs = table(__file__, "checklists_mini_proofs")[row["id"]]
    wrong = [
        f"{response['id']}, question {place + 1}"
        for response, answers in zip(row["responses"], settled(row), strict=True)
        for place, rules in proofs.items()
        if all(holds(kind, what, response["text"]) for kind, what in rules.items()) != (answers[place] == "yes")
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
    found = labels(row)
    own = [each for each in FLEX["dimensions"].values() if each["instruction_id"] == row["instruction_id"]]
    for dimension in own:
        name, applies = dimension["id"], met(dimension, row)
        assert (name in row["target_dimensions"]) == applies, name
        if not applies:
            assert found[name] == "unknown", name
        elif dimension["precondition"] is not None:
            assert found[name] != "unknown", f"{name}: the branch was entered, so it was taken rightly or wrongly"


def proves(proof: Row, texts: list[str]) -> bool:
    """Whether what the assistant said is as a proof has it."""
    text, most = proof.get("each", ("", 0))
    return (
        all(message.count(text) <= most for message in texts if text)
        and any(re.search(proof.get("some", ""), message, re.S) for message in texts)
        and not any(re.search(proof.get("none", r"(?!)"), message) for message in texts)
        and bool(re.search(proof.get("last", ""), texts[-1]))
        and len(texts[0].split()) <= proof.get("words", 10_000)
        and proof.get("sentences") in (None, len(re.findall(r"[.!?](?:\s|$)", texts[0])))
    )


def verdicts_that_a_program_can_prove(row: Row) -> None:
    own = [proof for proof in FLEX_PROOFS["proofs"] if row["id"] in proof["conversations"]]
    held = {proof["dimension"]: proves(proof, said(row, "assistant")) for proof in own}
    assert not [name for name, holds in held.items() if labels(row)[name] != ("yes" if holds else "no")]


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
