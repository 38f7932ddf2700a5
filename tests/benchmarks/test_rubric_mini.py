"""rubric_mini: schema, counts, balance, contrast pairs and seeds. The labels are checked in test_rubric_mini_labels."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from truebench_hf.benchmarks.rubric_eval.data import COLUMNS, fill, templates
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES

Row = dict[str, Any]
ROWS = rows()
SEEDS = (0, 1, 2, 7)


# Schema


def by_response() -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = defaultdict(list)
    for row in ROWS:
        grouped[row["response_id"]].append(row)
    return grouped


def test_columns_and_fixed_values() -> None:
    shapes = {"constrained": "u", "compositional": "u", "system": "su", "multi_turn": "u(au)+"}
    fixed = {"response_model": "constructed", "source_benchmark": "rubric_mini", "label_source": "constructed"}
    for row in ROWS:
        assert tuple(row) == COLUMNS
        assert row | fixed == row
        assert row["rubric"] == row["checklist"][row["rubric_index"]]
        assert row["dimension"] == RUBRIC_TYPES[row["rubric_type"]].dimension in DIMENSIONS
        assert row["label"] in ("yes", "no")
        assert row["annotations"] == [{"annotator": "construction", "label": row["label"]}]
        assert [set(r) for r in row["rationales"]] == [{"judge", "rationale"}]
        assert re.fullmatch("[A-Z]{2}", row["language"])
        roles = "".join(message["role"][0] for message in row["messages"])
        assert re.fullmatch(shapes[row["instruction_category"]], roles), row["id"]
        assert not re.search(r"\[\[|\]\]", json.dumps(row)), "no gap is left open"
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_every_rubric_of_every_response_is_labelled_and_rows_stand_together() -> None:
    for group in by_response().values():
        assert [row["rubric_index"] for row in group] == list(range(len(group[0]["checklist"])))
        assert 4 <= len(group) <= 8
        assert len({row["response"] for row in group}) == 1
    runs = [name for name, _ in itertools.groupby(row["response_id"] for row in ROWS)]
    assert len(runs) == len(set(runs))
    texts = [(group[0]["instruction_id"], group[0]["response"]) for group in by_response().values()]
    assert len(texts) == len(set(texts)), "responses of an instruction differ"


# Counts and balance


def test_size_languages_and_categories() -> None:
    assert len(ROWS) >= 520
    assert len(by_response()) >= 80
    assert len({row["messages"][-1]["content"] for row in ROWS}) >= 40
    assert len({row["language"] for row in ROWS}) >= 8
    shares = Counter(row["instruction_category"] for row in ROWS)
    assert set(shares) == set(INSTRUCTION_CATEGORIES)
    assert min(shares.values()) / len(ROWS) >= 0.15


@pytest.mark.parametrize("seed", SEEDS)
def test_each_type_has_pairs_enough_and_balanced_labels(seed: int) -> None:
    made = rows(seed)
    for kind in RUBRIC_TYPES:
        of_kind = [row for row in made if row["rubric_type"] == kind]
        assert len(of_kind) >= 40, kind
        assert len({row["pair_id"] for row in of_kind if row["pair_id"]}) >= 20, kind
        labels = Counter(row["label"] for row in of_kind)
        assert abs(labels["yes"] - labels["no"]) / len(of_kind) <= 0.10, kind


def test_the_text_of_a_rubric_gives_nothing_away() -> None:
    """Each rubric is met in exactly half of the responses of its instruction."""
    labels: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in ROWS:
        labels[row["instruction_id"], row["rubric"]][row["label"]] += 1
    assert all(count["yes"] == count["no"] for count in labels.values())


def test_neighbouring_rubrics_often_carry_opposite_labels() -> None:
    steps = [(a["label"], b["label"]) for g in by_response().values() for a, b in itertools.pairwise(g)]
    assert sum(a != b for a, b in steps) / len(steps) > 0.4


def test_pairs_turn_one_rubric_over_by_a_small_edit() -> None:
    groups = by_response()
    pairs: dict[str, list[Row]] = defaultdict(list)
    for row in ROWS:
        if row["pair_id"]:
            pairs[row["pair_id"]].append(row)
    for name, pair in pairs.items():
        assert len(pair) == 2, name
        one, other = pair
        assert {one["label"], other["label"]} == {"yes", "no"}
        assert one["rubric"] == other["rubric"]
        assert one["messages"] == other["messages"]
        changed = [
            a["rubric_index"]
            for a, b in zip(groups[one["response_id"]], groups[other["response_id"]], strict=True)
            if a["label"] != b["label"]
        ]
        assert changed == [one["rubric_index"]], name
        # Two blocks that change places are one small edit to a reader but a long one to difflib: compare the words.
        words_one, words_other = (Counter(re.findall(r"\w+", row["response"])) for row in pair)
        by_words = (words_one & words_other).total() / max(words_one.total(), words_other.total())
        by_text = difflib.SequenceMatcher(None, one["response"], other["response"], autojunk=False).ratio()
        assert max(by_words, by_text) > 0.55, (name, one["response"], other["response"])


# Seeds


def content_hash(data: list[Row]) -> str:
    return hashlib.sha256(json.dumps(data, ensure_ascii=False).encode()).hexdigest()


def test_same_seed_same_rows_and_other_seed_other_order() -> None:
    assert content_hash(rows(3)) == content_hash(rows(3))
    assert content_hash(rows(3)) != content_hash(rows(4))
    assert [r["instruction_id"] for r in rows(3)] != [r["instruction_id"] for r in rows(4)]


def test_seeds_change_order_and_prepared_fillings_only() -> None:
    """Every text of any seed is one of the template's texts under one of its prepared fillings."""
    allowed: dict[str, list[tuple[list[str], list[str], set[str]]]] = {}
    for template in templates("easy"):
        for values in template.fillings:
            answers = set()
            for bits in range(2 ** len(template.slots)):
                chosen = {str(i + 1): s.yes if bits >> i & 1 else s.no for i, s in enumerate(template.slots)}
                answers.add(fill(template.answer, {**values, **chosen}))
            texts = [fill(content, values) for _, content in template.messages]
            checklist = sorted(fill(slot.rubric, values) for slot in template.slots)
            allowed.setdefault(template.id, []).append((texts, checklist, answers))
    shape = Counter((row["instruction_id"], row["rubric_type"], row["label"]) for row in ROWS)
    for seed in SEEDS:
        data = rows(seed)
        assert Counter((row["instruction_id"], row["rubric_type"], row["label"]) for row in data) == shape
        for row in data:
            texts = [message["content"] for message in row["messages"]]
            assert any(
                texts == t and sorted(row["checklist"]) == c and row["response"] in a
                for t, c, a in allowed[row["instruction_id"]]
            ), row["id"]


def test_rationales_tell_the_two_sides_of_a_rubric_apart() -> None:
    for row in ROWS:
        if row["pair_id"]:
            here, other = row["rationales"][0]["rationale"].split("; ", 1)
            assert here.removeprefix("Certain by construction: the deciding passage is ") not in other, row["id"]
