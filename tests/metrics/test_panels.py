"""What a panel of judges is worth: planted effective votes, the gain over its best judge, and whom to leave out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import panel_worth as worth_of_panel
from truebench_hf.types import Score


def judged(errors: Any, gold: Any, clusters: Any = None) -> pd.DataFrame:
    """A frame of judges (columns of `errors`: 1 wrong, 0 right, NaN undecided) on rubrics with these labels."""
    wrong = np.asarray(errors, dtype=float)
    truth = np.asarray(gold, dtype=bool)
    places = np.arange(len(truth)) if clusters is None else np.asarray(clusters)
    rows = []
    for judge, column in enumerate(wrong.T):
        for item, error in enumerate(column):
            label = None if np.isnan(error) else "yes" if truth[item] != bool(error) else "no"
            gold_label = "yes" if truth[item] else "no"
            rows.append((f"judge {judge}", f"r{item}", f"i{places[item]}", gold_label, label))
    return pd.DataFrame(rows, columns=["judge", "item", "cluster", "gold", "label"], dtype=object)


def panel_worth(frame: pd.DataFrame) -> Any:
    worth = worth_of_panel(frame)
    return worth and SimpleNamespace(**worth[0], members=worth[1])


def ahead(gain: Score) -> int:
    low, high = gain.ci95 or (0, 0)
    return (low > 0) - (high < 0)


def planted(rows: int, rates: tuple[float, ...], shared: float, seed: int = 0) -> pd.DataFrame:
    """Judges that err at these rates; with the chance `shared` each takes the one draw that all have in common."""
    random = np.random.default_rng(seed)
    common = random.random(rows)
    errors = [
        np.where(random.random(rows) < shared, common, random.random(rows)) < rate for rate in rates
    ]  # two judges share a draw with the chance shared ** 2: that is the correlation of equally good ones
    return judged(np.array(errors).T, random.random(rows) < 0.5)


@pytest.mark.parametrize(
    ("judges", "shared", "why"),
    [
        (3, 0.0, "independent judges are worth as many votes as there are"),
        (5, 0.5, "some errors in common"),
        (4, 1.0, "one judge four times"),
    ],
)
def test_the_planted_number_of_votes_is_found(judges: int, shared: float, why: str) -> None:
    truth = judges / (1 + (judges - 1) * shared**2)
    worth = panel_worth(planted(2000, (0.25,) * judges, shared))
    assert worth.votes.value == pytest.approx(truth, abs=0.3), why
    assert worth.votes.ci95 is not None
    assert worth.votes.ci95[0] - 1e-9 <= truth <= worth.votes.ci95[1] + 1e-9, why


def test_a_weakness_of_all_for_one_label_is_no_correlation() -> None:
    random = np.random.default_rng(3)
    gold = random.random(1500) < 0.5
    errors = random.random((1500, 3)) < np.where(gold, 0.05, 0.4)[:, None]
    worth = panel_worth(judged(errors, gold))
    assert worth.votes.value == pytest.approx(3, abs=0.2)


def test_independent_judges_beat_the_best_of_them_and_copies_do_not() -> None:
    worth, same = panel_worth(planted(800, (0.25,) * 5, 0.0)), panel_worth(planted(800, (0.25,) * 5, 1.0))
    assert worth is not None
    assert same is not None
    assert ahead(worth.gain) == 1
    assert worth.balanced_accuracy > max(member["balanced_accuracy"] for member in worth.members)
    assert (same.gain.value, ahead(same.gain)) == (0.0, 0)
    assert same.gain.ci95 is not None
    assert same.gain.ci95[0] < 0 < same.gain.ci95[1], "judges that never differed here may differ elsewhere"


def test_a_judge_that_guesses_is_the_one_to_leave_out() -> None:
    random = np.random.default_rng(1)
    gold = random.random(900) < 0.5
    errors = random.random((900, 5)) < np.array([0.1, 0.15, 0.15, 0.95, 0.9])
    worth = panel_worth(judged(errors, gold))
    assert worth.best == "judge 0"
    assert ahead(worth.gain) == -1, "a good judge among bad ones is better alone"
    assert worth.leave_out == "judge 3"


@pytest.mark.parametrize(
    ("errors", "gold", "balanced", "n", "why"),
    [
        ([[0, 0, 1], [1, 1, 0]], [1, 0], 0.5, 2, "two of three right, two of three wrong"),
        ([[0, 1, None], [0, 0, 0]], [1, 0], 0.75, 2, "a tie of the votes cast is half right"),
        ([[None, None, None], [0, 0, 0]], [1, 0], 0.5, 2, "nobody votes: wrong"),
    ],
)
def test_majorities_by_hand(errors: Any, gold: Any, balanced: float, n: int, why: str) -> None:
    worth = panel_worth(judged(np.array(errors, dtype=float), gold))
    assert worth.balanced_accuracy == balanced, why
    assert (worth.n, worth.gain.ci95, worth.votes.ci95) == (n, None, None), "two clusters give no interval"


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (judged(np.zeros((20, 2)), [1, 0] * 10), "two judges have no majority"),
        (judged(np.zeros((20, 3)), [1] * 20), "one label only"),
        (judged(np.zeros((0, 3)), []), "no rubrics"),
    ],
)
def test_there_is_no_panel(frame: pd.DataFrame, why: str) -> None:
    assert panel_worth(frame) is None, why


def test_judges_that_never_err_together_have_no_number_of_votes() -> None:
    errors = np.zeros((40, 3))
    errors[0, 0] = 1
    worth = panel_worth(judged(errors, [1, 0] * 20))
    assert (worth.votes.value, worth.votes.n) == (None, 40)


def test_where_no_rubric_is_decided_by_all_there_is_a_majority_but_no_number_of_votes() -> None:
    frame = planted(30, (0.2, 0.3, 0.3), 0.3)
    frame["label"] = frame["label"].astype(object)
    frame.loc[frame["judge"] == "judge 1", "label"] = None
    worth = panel_worth(frame)
    assert worth is not None
    assert (worth.votes.value, worth.votes.n, worth.votes.unscored, worth.n) == (None, 0, 30, 30)


def test_rubrics_that_a_judge_lacks_or_nobody_labelled_are_left_out() -> None:
    frame = planted(60, (0.2, 0.3, 0.3), 0.3)
    frame.loc[frame["item"] == "r5", "gold"] = None
    lacking = frame.drop(frame[(frame["item"] == "r3") & (frame["judge"] == "judge 1")].index)
    worth = panel_worth(lacking)
    assert worth.n == 58
    with pytest.raises(UserError, match="judge 1' has item 'r7' twice"):
        panel_worth(pd.concat([frame, frame[(frame["judge"] == "judge 1") & (frame["item"] == "r7")]]))


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size"), [(12, 6), (40, 4)])
def test_simulated_intervals_cover_the_gain_and_the_votes(clusters: int, size: int) -> None:
    def draw(count: int, seed: int) -> Any:
        random = np.random.default_rng(seed)
        place = np.repeat(np.arange(count), size)
        common = np.where(random.random(len(place)) < 0.4, random.random(count)[place], random.random(len(place)))
        errors = [
            np.where(random.random(len(place)) < 0.6, common, random.random(len(place))) < rate
            for rate in (0.2, 0.25, 0.3)
        ]
        return panel_worth(judged(np.array(errors).T, random.random(len(place)) < 0.5, place))

    truth = draw(4000, 0)
    worths = [draw(clusters, seed) for seed in range(1, 201)]
    gains = [worth.gain.ci95[0] <= truth.gain.value <= worth.gain.ci95[1] for worth in worths]
    votes = [worth.votes.ci95[0] <= truth.votes.value <= worth.votes.ci95[1] for worth in worths]
    assert sum(gains) / len(gains) > 0.93
    assert sum(votes) / len(votes) > 0.87
    assert sum(ahead(worth.gain) > 0 for worth in worths) / len(worths) < 0.04, "the best judge is better here"
