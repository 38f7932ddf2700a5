"""Estimators on columns, in whose scores what pandas and numpy do of themselves must not show; and folders of results."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.comparison import panel_worth
from truebench_hf.metrics.pass_rate import mean_share, pass_rate, pooled
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.votes import mean as mean_of
from truebench_hf.report.table import Column, Table
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


def test_a_folder_tells_what_ran_and_what_was_spent(tmp_path: Path) -> None:
    spent = {"model": {"input_tokens": 5, "output_tokens": 2, "reasoning_tokens": 0, "calls": 1, "unknown_calls": 0}}
    info = {"kind": "tick", "settings": {"model": "m"}, "usage": {"now": {}, "total": spent}}
    (tmp_path / "run.json").write_text(json.dumps(info))
    found = Results.open(tmp_path)
    assert (found.kind, found.settings, found.is_finished) == ("tick", {"model": "m"}, True)
    assert found.spent == {"model": Usage(5, 2, 0, 1)}


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


# What frames did wrong when results were first moved onto them


def verdicts(items: int, groups: int = 1) -> pd.DataFrame:
    """Three judges on items of which three are one cluster; each is right four times in five."""
    draw = random.Random(7)
    rows = []
    for number in range(items):
        gold = draw.choice(["yes", "no"])
        for judge in ("a", "b", "c"):
            label = gold if draw.random() < 0.8 else {"yes": "no", "no": "yes"}[gold]
            about = {"item": f"{number:03}", "cluster": f"{number // 3:03}", "group": f"{number % groups:03}"}
            rows.append({**about, "judge": judge, "gold": gold, "label": label, "probability": None})
    return pd.DataFrame(rows, dtype=object)


def test_a_pivot_that_sorts_its_ids_mixes_no_items() -> None:
    """Ids in the order of the data are 000, 001 ...; the same items under ids that sort the other way round."""
    frame = verdicts(90)
    turned = frame.assign(item=[f"{999 - int(name):03}" for name in frame["item"]])
    assert repr(panel_worth(turned)) == repr(panel_worth(frame))


def test_hundreds_of_groups_are_each_what_one_alone_is() -> None:
    frame = verdicts(900, groups=300)
    together = agreement(frame, ["group"], measures=("accuracy",)).to_dict("records")
    assert len(together) == 300
    for row in together[::50]:
        alone = agreement(frame[frame["group"] == row["group"]], measures=("accuracy",)).to_dict("records")[0]
        assert repr(row["accuracy"]) == repr(alone["accuracy"])


def test_a_judge_without_rows_in_a_split_is_no_row_of_another() -> None:
    frame = verdicts(40)
    frame["split"] = ["hard" if judge == "a" else "easy" for judge in frame["judge"]]
    rows = agreement(frame, ["split", "judge"], measures=("accuracy",)).to_dict("records")
    held = {(row["split"], row["judge"]): row["n"] for row in rows if row["n"]}
    assert held == {("hard", "a"): 40, ("easy", "b"): 40, ("easy", "c"): 40}


def test_equal_means_are_ties_whatever_their_last_digits() -> None:
    assert 0.1 + 0.2 != 0.3
    assert preference_from_scores(0.1 + 0.2, 0.3) == "tie"
    assert preference_from_scores(0.3 + 1e-9, 0.3) == "win"


def test_sums_are_those_of_python_where_a_tie_can_show() -> None:
    shares = [0.1] * 3 + [0.7, 0.2, 0.6060606060606061] * 40
    assert mean_share(np.array(shares)).value == sum(shares) / len(shares)


def test_a_name_of_the_data_may_be_that_of_a_column_of_ours() -> None:
    keys = ["Overall", "passed", "instance", "response"]
    assert list(group_scores(keys, np.ones(4), np.array(list("abcd")), pass_rate)) == sorted(keys)


@pytest.mark.parametrize("sessions", [[{"started": "now"}], [{"started": "now", "finished": None}], ["odd"]])
def test_one_that_was_broken_off_is_told(tmp_path: Path, sessions: list[object]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"sessions": sessions}))
    with pytest.raises(UserError, match="is not finished; repeat its command"):
        Results.open(tmp_path).check_finished()


def test_no_cell_is_a_number_that_json_has_not() -> None:
    columns = (Column("model", "Model"), Column("score", "%", "score"), Column("share", "share", "number"))
    rows = [{"model": "m", "score": Score(None, 0, 3), "share": float("nan")}, {"model": None, "score": None}]
    text = json.dumps(Table("scores", columns, rows).records(), allow_nan=False)
    assert json.loads(text)[0]["share"] is None
