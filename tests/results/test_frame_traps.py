"""What frames did wrong when results were first moved onto them; other traps are held where their functions are tested."""

from __future__ import annotations

import json
import random

import pandas as pd

from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.comparison import panel_worth
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.report.table import Column, Table
from truebench_hf.types import Score


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


def test_no_cell_is_a_number_that_json_has_not() -> None:
    columns = (Column("model", "Model"), Column("score", "%", "score"), Column("share", "share", "number"))
    rows = [{"model": "m", "score": Score(None, 0, 3), "share": float("nan")}, {"model": None, "score": None}]
    text = json.dumps(Table("scores", columns, rows).records(), allow_nan=False)
    assert json.loads(text)[0]["share"] is None
