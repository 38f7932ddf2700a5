"""Estimators on columns, in whose scores what pandas and numpy do of themselves must not show; and folders of results."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import mean_share, pass_rate, pooled
from truebench_hf.metrics.votes import mean as mean_of
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import group_scores, ordered, unit_means
from truebench_hf.types import Score, Usage

NAN = math.nan


def listed(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


@pytest.mark.parametrize("size", [0, 1, 2, 9, 10, 11, 500])
def test_scores_are_those_of_the_metrics_on_plain_values(size: int) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        passes = np.array([chance.choice((0.0, 1.0, 1.0, NAN)) for _ in range(size)])
        shares = np.array([chance.choice((0.0, 0.1, 0.3, 1.0, NAN)) for _ in range(size)])
        labels = [None if value is None else bool(value) for value in listed(passes)]
        assert pass_rate(passes) == pass_rate(labels)
        assert pass_rate(shares) == pass_rate(listed(shares)), "no share of units, but their mean"
        assert mean_share(shares) == mean_share(listed(shares))


def test_units_keep_the_order_of_their_first_rows_and_their_undecided_samples_count_for_nothing() -> None:
    values = np.array([1.0, NAN, 0.0, 1.0, NAN, 0.1])
    units = np.array(["q9", "q10", "q9", "a", "q10", "a"])
    found = unit_means(values, units)
    assert listed(found) == [0.5, None, mean_of([1.0, 0.1])], "ids are neither sorted nor numbers"
    assert listed(unit_means(np.array([]), np.array([]))) == []


def test_groups_are_in_the_order_given_and_missing_ones_make_none() -> None:
    keys = ["zebra", "KO", None, "EN", "apple", "KO"]
    found = group_scores(
        keys, np.array([1.0, 1.0, 0.0, NAN, 0.0, 0.0]), np.array(list("abcdef")), pass_rate, ("EN", "DE", "KO")
    )
    assert list(found) == ["EN", "KO", "apple", "zebra"] == ordered(["zebra", "apple", "KO", "EN"], ("EN", "DE", "KO"))
    assert (found["EN"], found["KO"].value) == (Score(None, 0, 1), 0.5)
    assert group_scores([], np.array([]), np.array([]), pass_rate) == {}


def test_a_pooled_share_has_no_interval_below_ten_units() -> None:
    assert pooled(np.array([1, 2]), np.array([2, 2]), 3) == Score(0.75, 4, 3)
    assert pooled(np.array([]), np.array([]), 0) == Score(None, 0)
    assert pooled(np.array([1, 0] * 6), np.array([2] * 12), 0).ci95 is not None


def test_sums_are_those_of_python_where_a_tie_can_show() -> None:
    shares = [0.1] * 3 + [0.7, 0.2, 0.6060606060606061] * 40
    assert mean_share(np.array(shares)).value == sum(shares) / len(shares)


def test_a_name_of_the_data_may_be_that_of_a_column_of_ours() -> None:
    keys = ["Overall", "passed", "instance", "response"]
    assert list(group_scores(keys, np.ones(4), np.array(list("abcd")), pass_rate)) == sorted(keys)


def test_a_folder_tells_what_ran_and_what_was_spent(tmp_path: Path) -> None:
    spent = {"model": {"input_tokens": 5, "output_tokens": 2, "reasoning_tokens": 0, "calls": 1, "unknown_calls": 0}}
    info = {"kind": "tick", "settings": {"model": "m"}, "usage": {"now": {}, "total": spent}}
    (tmp_path / "run.json").write_text(json.dumps(info))
    found = Results.open(tmp_path)
    assert (found.kind, found.settings, found.is_finished) == ("tick", {"model": "m"}, True)
    assert found.spent == {"model": Usage(5, 2, 0, 1)}


@pytest.mark.parametrize("sessions", [[{"started": "now"}], [{"started": "now", "finished": None}], ["odd"]])
def test_one_that_was_broken_off_is_told(tmp_path: Path, sessions: list[object]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"sessions": sessions}))
    with pytest.raises(UserError, match="is not finished; repeat its command"):
        Results.open(tmp_path).check_finished()


def test_what_is_no_folder_of_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no run folder"):
        Results.open(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        Results.open(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("files", "found", "why"),
    [
        ({}, None, "nothing was judged"),
        ({"judgments.jsonl": "{}", "verdicts.jsonl": '{"messages": []}'}, "judgments.jsonl", "it goes first"),
        ({"verdicts.jsonl": '{"messages": []}'}, "verdicts.jsonl", "conversations of checklists and procedures"),
        ({"verdicts.jsonl": '{"label": "yes"}'}, None, "bare labels are no conversations"),
    ],
)
def test_the_file_of_judged_conversations(tmp_path: Path, files: dict[str, str], found: str | None, why: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content + "\n")
    file = Results(tmp_path, {}).judged_file
    assert (file and file.name) == found, why
