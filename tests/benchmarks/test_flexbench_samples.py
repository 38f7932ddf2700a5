"""The FlexBench samples: shape, references between the three files, and verdicts that respect the preconditions."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from importlib.resources import files
from typing import Any

from tests.support.corpus import table
from tests.support.faults import faults, listed


def read(name: str) -> list[dict[str, Any]]:
    text = (files("truebench_hf.benchmarks.flexbench") / "samples" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


INSTRUCTIONS, DIMENSIONS, CONVERSATIONS = read("instructions"), read("dimensions"), read("conversations")
INSTRUCTION_BY_ID = {row["id"]: row for row in INSTRUCTIONS}
CONVERSATION_BY_ID = {row["id"]: row for row in CONVERSATIONS}

KNOWN = table(__file__, "flexbench_samples")
EVIDENCE: dict[str, str] = KNOWN["evidence"]


def said(conversation: dict[str, Any], role: str) -> list[str]:
    return [message["content"] for message in conversation["messages"] if message["role"] == role]


def labels(conversation: dict[str, Any]) -> dict[str, str]:
    return {verdict["dimension_id"]: verdict["label"] for verdict in conversation["verdicts"]}


def own_dimensions(instruction_id: str) -> list[dict[str, Any]]:
    return [row for row in DIMENSIONS if row["instruction_id"] == instruction_id]


def met(dimension: dict[str, Any], conversation: dict[str, Any]) -> bool:
    """Whether the user's words, without the instruction they may repeat, meet the precondition."""
    if dimension["precondition"] is None:
        return True
    words = "\n".join(said(conversation, "user"))
    words = words.replace(INSTRUCTION_BY_ID[conversation["instruction_id"]]["instruction"], "")
    return re.search(EVIDENCE[dimension["id"]], words, re.I) is not None


def test_three_procedures_and_six_single_turn_instructions() -> None:
    assert Counter(row["kind"] for row in INSTRUCTIONS) == {"procedure": 3, "single_turn": 6}
    assert len({row["language"] for row in INSTRUCTIONS}) >= 4
    assert (len(INSTRUCTION_BY_ID), len(CONVERSATION_BY_ID)) == (9, 15), "ids are unique"
    assert set(EVIDENCE) == {row["id"] for row in DIMENSIONS if row["precondition"] is not None}


def instruction_lengths(row: dict[str, Any]) -> None:
    assert row["words"] == len(row["instruction"].split())
    if row["kind"] == "procedure":
        assert row["words"] >= 140, "the shortest in the paper's Table 5"
        assert sum(dimension["precondition"] is not None for dimension in own_dimensions(row["id"])) >= 4, "it branches"
    else:
        assert 20 <= row["words"] <= 70


def test_a_precondition_group_is_one_base_action_with_its_branches() -> None:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in DIMENSIONS:
        groups[row["instruction_id"], row["precondition_group"]].append(row)
    for name, rows in groups.items():
        assert [row["precondition"] is None for row in rows].count(True) == 1, name
        assert rows[0]["precondition"] is None, "the base action comes first"
    assert any(len(rows) >= 3 for rows in groups.values()), "a base action with several branches"


def every_instruction_has_dimensions_and_enough_conversations(row: dict[str, Any]) -> None:
    count = sum(conversation["instruction_id"] == row["id"] for conversation in CONVERSATIONS)
    assert count >= (2 if row["kind"] == "procedure" else 1)
    assert len(own_dimensions(row["id"])) >= (10 if row["kind"] == "procedure" else 4)


def messages_alternate_and_start_as_the_kind_prescribes(row: dict[str, Any]) -> None:
    instruction = INSTRUCTION_BY_ID[row["instruction_id"]]
    roles = [message["role"] for message in row["messages"]]
    assert not [m for m in row["messages"] if set(m) != {"role", "content"} or not m["content"].strip()]
    assert not [place for place, (left, right) in enumerate(itertools.pairwise(roles)) if left == right]
    if instruction["kind"] == "procedure":
        opening = re.search(r"[“\"„](.+?)[”\"“]", instruction["instruction"])
        assert opening
        assert row["messages"][0] == {"role": "assistant", "content": opening[1]}
    else:
        assert roles == ["user", "assistant"]
        assert row["messages"][0]["content"].startswith(instruction["instruction"] + "\n\n")


def labels_and_targets_follow_the_preconditions(row: dict[str, Any]) -> None:
    found = labels(row)
    for dimension in own_dimensions(row["instruction_id"]):
        name, applies = dimension["id"], met(dimension, row)
        assert (name in row["target_dimensions"]) == applies, name
        if not applies:
            assert found[name] == "unknown", name
        elif dimension["precondition"] is not None:
            assert found[name] != "unknown", f"{name}: the branch was entered, so it was taken rightly or wrongly"


def proves(proof: dict[str, Any], said: list[str]) -> bool:
    """Whether what the assistant said is as a proof has it."""
    text, most = proof.get("each", ("", 0))
    return (
        all(message.count(text) <= most for message in said if text)
        and any(re.search(proof.get("some", ""), message, re.S) for message in said)
        and not any(re.search(proof.get("none", r"(?!)"), message) for message in said)
        and bool(re.search(proof.get("last", ""), said[-1]))
        and len(said[0].split()) <= proof.get("words", 10_000)
        and proof.get("sentences") in (None, len(re.findall(r"[.!?](?:\s|$)", said[0])))
    )


def verdicts_that_a_program_can_prove(row: dict[str, Any]) -> None:
    own = [proof for proof in KNOWN["proofs"] if row["id"] in proof["conversations"]]
    held = {proof["dimension"]: proves(proof, said(row, "assistant")) for proof in own}
    assert not [name for name, holds in held.items() if labels(row)[name] != ("yes" if holds else "no")]


def test_every_row_is_sound() -> None:
    checks = (instruction_lengths, every_instruction_has_dimensions_and_enough_conversations)
    found = faults(INSTRUCTION_BY_ID, *checks)
    found += faults(
        CONVERSATION_BY_ID, messages_alternate_and_start_as_the_kind_prescribes,
        labels_and_targets_follow_the_preconditions, verdicts_that_a_program_can_prove,
    )  # fmt: skip
    assert not found, listed(found)
