"""Rules that ship for criteria of TRUEBench v0.6.1 and of the built-in sets (`judging/rules/known.jsonl`).

A row holds the SHA-256 of the criterion's text (NFC, white space folded to single spaces; `key` below) and the rule
that says all of it. They were made in three steps. Every distinct text was read, with a conversation that it is from
where its rule is not about language; languages were searched for turns that name a second language or ask for JSON or code:
1. what the reading of English decided before it was replaced (748 criteria of v0.6.1, 319 texts; 82 texts of the
   built-in sets). Dropped were 13 texts whose rule a reader could contest: an explanation asked for beside the JSON, a
   translation beside the summary, words counted in Chinese or Japanese, a subject line in or out of exactly 215 words,
   a limit with or without spaces, a word with Korean particles, emoticons that are no emoji.
2. the 184 texts that were measured and not decided, and the 3,115 not recognised, searched for digits, units, formats,
   languages, quotation marks and positions. Taken were those that a count, a string, a language or a pattern says
   wholly. Left out: "about", "only" of a language, "except for proper nouns", a part of the answer (each topic, the
   second response), the language of the prompt without its name, keys that contradict the prompt, names that are
   inflected (Polish, Russian), numbers of things that need no list, answers in the form of a given sentence.
3. held against `labels.jsonl` (no criterion labelled other than decidable is in it; no passing answer misses, no
   failing one meets its rule) and the certain labels of `rubric_mini` (none contradicted).
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.rules.decisions import RELEASE
from tests.support.corpus import each_row
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rubrics
from truebench_hf.data.rules import rule_of

PACKAGE = Path(__file__).parents[2] / "truebench_hf"
KNOWN = PACKAGE / "judging" / "rules" / "known.jsonl"
LABELS = Path(__file__).parent / "labels.jsonl"

needs_release = pytest.mark.skipif(not RELEASE.is_file(), reason="TRUEBench v0.6.1 is not at ../shared/data")


def key(criterion: str) -> str:
    folded = " ".join(unicodedata.normalize("NFC", criterion).split())
    return hashlib.sha256(folded.encode()).hexdigest()


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def known() -> dict[str, dict[str, Any]]:
    return {row["criterion"]: row["rule"] for row in read(KNOWN)}


@pytest.fixture(scope="module")
def release() -> list[tuple[str, str, str]]:
    """Every criterion of v0.6.1: its place, its language and its text."""
    return [
        (f"{row['index']}.{turn}.{place}", row["language"], text)
        for row in read(RELEASE)
        for turn, criteria in enumerate(row["criteria"])
        for place, text in enumerate(criteria)
    ]


def built_in() -> set[str]:
    texts = {row["rubric"] for split in ("easy", "hard") for row in rubrics(split=split)}
    for row in read(PACKAGE / "data" / "truebench_mini.jsonl"):
        texts |= {text for criteria in row["criteria"] for text in criteria}
    for row in read(PACKAGE / "data" / "checklists_mini.jsonl"):
        texts |= {text for checklist in row["checklists"] for text in checklist["questions"]}
    for row in read(PACKAGE / "benchmarks" / "flexbench" / "samples" / "dimensions.jsonl"):
        texts.add(row["question"])
    return texts


def test_the_file_is_sorted_small_and_keeps_to_the_vocabulary() -> None:
    rows = read(KNOWN)
    keys = [row["criterion"] for row in rows]
    assert keys == sorted(set(keys))
    assert all(len(text) == 64 and set(text) <= set("0123456789abcdef") for text in keys)
    assert KNOWN.stat().st_size < 400_000
    assert all(rule_of(row["rule"]) for row in rows)


@each_row(__file__, "known", "built_in")
def test_a_criterion_of_the_built_in_sets_has_its_rule(
    known: dict[str, dict[str, Any]], criterion: str, rule: dict[str, Any]
) -> None:
    assert criterion in built_in()
    assert known[key(criterion)] == rule
    assert known[key(unicodedata.normalize("NFD", f" {criterion}\n"))] == rule


@needs_release
@each_row(__file__, "known", "release")
def test_a_criterion_of_the_release_has_its_rule(
    known: dict[str, dict[str, Any]], release: list[tuple[str, str, str]], place: str, rule: dict[str, Any]
) -> None:
    texts = {name: text for name, _, text in release}
    assert known[key(texts[place])] == rule


@needs_release
def test_what_is_known_is_of_the_release_or_built_in_and_covers_every_language(
    known: dict[str, dict[str, Any]], release: list[tuple[str, str, str]]
) -> None:
    released = {key(text) for _, _, text in release}
    ours = {key(text) for text in built_in()}
    assert set(known) <= released | ours
    # 890 criteria (387 texts) of the release, 141 texts of the built-in sets; 748 were decided before
    counts = Counter(language for _, language, text in release if key(text) in known)
    assert counts.total() == 890
    assert (len(set(known) & released), len(set(known) & ours)) == (387, 141)
    assert len(counts) == 12
    assert min(counts.values()) >= 60, counts


@needs_release
def test_no_criterion_is_known_that_was_labelled_not_decidable(
    known: dict[str, dict[str, Any]], release: list[tuple[str, str, str]]
) -> None:
    texts = {name: text for name, _, text in release}
    labels = [(texts[f"{row['index']}.{row['turn']}.{row['criterion']}"], row["label"]) for row in read(LABELS)]
    assert [text for text, label in labels if label != "decidable" and key(text) in known] == []
    assert sum(key(text) in known for text, _ in labels) >= 40
