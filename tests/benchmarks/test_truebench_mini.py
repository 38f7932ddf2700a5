"""The 36 built-in TRUEBench instances: whoever changes one checks its languages and its computed answers again."""

from __future__ import annotations

import hashlib
from collections import Counter

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, load
from truebench_hf.data.catalogue import MINI

CHECKED = "8bc547847f9f6a651b361142306f04497d8a42aff8d1353485bb72d8f6cfbde4"  # of the file as it was when every figure in it was computed a second time


def test_the_file_is_the_one_that_was_checked() -> None:
    assert hashlib.sha256(MINI.read_bytes()).hexdigest() == CHECKED


def test_three_instances_of_every_language_in_all_categories() -> None:
    instances = load("mini")
    assert [instance.id for instance in instances] == [str(number) for number in range(1, 37)]
    assert Counter(instance.language for instance in instances) == dict.fromkeys(LANGUAGES, 3)
    assert {instance.category for instance in instances} == set(CATEGORIES)


def test_multi_turn_instances_keep_and_switch_context() -> None:
    many = [instance for instance in load("mini") if len(instance.turns) > 1]
    assert {instance.category for instance in many} == {"Multi-Turn"}
    kinds = Counter(instance.task for instance in many)
    assert min(kinds["Consistency"], kinds["Non-Consistency"]) >= 2


def test_every_turn_has_three_to_six_distinct_criteria() -> None:
    turns = [turn for instance in load("mini") for turn in instance.turns]
    assert all(3 <= len({criterion.text for criterion in turn.criteria}) == len(turn.criteria) <= 6 for turn in turns)
