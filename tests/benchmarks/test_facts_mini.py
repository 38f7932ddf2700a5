"""The 12 constructed grounding rows: what they are by construction, held by checks that find a broken row."""

from __future__ import annotations

import json
import re
from collections import Counter
from difflib import SequenceMatcher
from importlib.resources import files
from typing import Any

from tests.support.faults import faults, listed

TEXT = (files("truebench_hf.benchmarks.facts") / "mini.jsonl").read_text(encoding="utf-8")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TEXT.splitlines()]
SCRIPTS = {"KO": re.compile(r"[가-힣]"), "DE": re.compile(r"[äöüß]"), "EN": re.compile(r"\b(?:the|and|of)\b")}


def sentences(text: str) -> list[str]:
    """Text cut after sentence marks and at line ends, but not inside a German date such as "10. und 31. Juli"."""
    return [part for part in re.split(r"(?<=[.!?])\s+(?!(?<=\d\. )(?:und|bis|Ju[ln]i|August)\b)|\n+", text) if part]


def test_the_set_is_twelve_rows_over_five_domains_and_three_tasks() -> None:
    assert [row["id"] for row in ROWS] == [f"facts-mini-{number:02}" for number in range(1, 13)]
    domains = Counter(row["domain"] for row in ROWS)
    assert set(domains) == {"finance", "technology", "retail", "medical", "legal"}
    assert min(domains.values()) >= 2
    tasks = Counter(row["task"] for row in ROWS)
    assert set(tasks) == {"question answering", "summary", "rewriting"}
    assert min(tasks.values()) >= 3
    languages = Counter(row["language"] for row in ROWS)
    assert languages["EN"] <= 10
    assert languages.total() - languages["EN"] >= 2
    assert len({row["context_document"] for row in ROWS}) == 12


def document_length_and_token_rule(row: dict[str, Any]) -> None:
    words = len(row["context_document"].split())
    assert 300 <= words <= 1500
    assert row["context_tokens"] == round(words * 4 / 3)


def full_prompt_holds_its_three_parts_in_order(row: dict[str, Any]) -> None:
    parts = [row["system_instruction"], row["context_document"], row["user_request"]]
    places = [row["full_prompt"].index(part) for part in parts]
    assert places == sorted(places)
    assert not [name for name in row if name.endswith("_response") and row[name] in row["full_prompt"]]


def every_text_is_in_the_language_of_the_row(row: dict[str, Any]) -> None:
    for name in ("user_request", "context_document", "grounded_response", "ungrounded_response", "evasive_response"):
        assert SCRIPTS[row["language"]].search(row[name]), name
        assert row["language"] == "KO" or not SCRIPTS["KO"].search(row[name]), name


def ungrounded_sentences_stand_in_the_ungrounded_answer_only(row: dict[str, Any]) -> None:
    assert 1 <= len(row["ungrounded_sentences"]) <= 2
    for entry in row["ungrounded_sentences"]:
        assert set(entry) == {"sentence", "why"}
        assert len(entry["why"].split()) >= 5
        assert row["ungrounded_response"].count(entry["sentence"]) == 1
        assert entry["sentence"] not in row["grounded_response"]
        assert entry["sentence"] not in row["context_document"]
        assert len(sentences(entry["sentence"])) == 1, "one entry is one sentence"


def the_edit_is_minimal(row: dict[str, Any]) -> None:
    """Every sentence that is not listed comes from the grounded answer, and each listed one replaces one of its own."""
    grounded = sentences(row["grounded_response"])
    listed = [entry["sentence"] for entry in row["ungrounded_sentences"]]
    ungrounded = sentences(row["ungrounded_response"])
    changed = [sentence for sentence in ungrounded if sentence not in grounded]
    assert sorted(changed) == sorted(listed)
    assert len(ungrounded) == len(grounded)
    assert SequenceMatcher(None, grounded, ungrounded).ratio() > 0.75


def figures_of_the_grounded_answer_come_from_the_prompt(row: dict[str, Any]) -> None:
    """A cheap, mechanical part of groundedness: no number that neither the document nor the request gives."""
    numbers = set(re.findall(r"\d+(?:[.,:]\d+)*", row["grounded_response"]))
    derived = {"facts-mini-01": {"1"}}  # "1 July": first day of the month after June, which the notice prescribes
    known = set(re.findall(r"\d+(?:[.,:]\d+)*", row["full_prompt"])) | derived.get(row["id"], set())
    assert numbers <= known, numbers - known


def the_evasive_answer_is_short_and_new_figures_are_absent(row: dict[str, Any]) -> None:
    assert len(row["evasive_response"]) < 0.5 * len(row["grounded_response"])
    assert set(re.findall(r"\d+", row["evasive_response"])) <= set(re.findall(r"\d+", row["full_prompt"]))


def test_every_row_is_sound() -> None:
    found = faults(
        {row["id"]: row for row in ROWS},
        document_length_and_token_rule, full_prompt_holds_its_three_parts_in_order,
        every_text_is_in_the_language_of_the_row, ungrounded_sentences_stand_in_the_ungrounded_answer_only,
        the_edit_is_minimal, figures_of_the_grounded_answer_come_from_the_prompt,
        the_evasive_answer_is_short_and_new_figures_are_absent,
    )  # fmt: skip
    assert not found, listed(found)
