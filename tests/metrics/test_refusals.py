"""What the metrics refuse: columns that are not parallel, labels and numbers that mean nothing, calibrators nobody fitted."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import differences, label_agreement, set_scores
from truebench_hf.metrics.calibration import Calibrator, calibration, fit
from truebench_hf.metrics.choosing import choose, halved_kappa
from truebench_hf.metrics.comparison import clustered_difference, paired_difference
from truebench_hf.metrics.double_sampling import double_sampling
from truebench_hf.metrics.intervals import resampled_ratio
from truebench_hf.metrics.kappa import cohen_kappa, krippendorff_alpha
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.preference import pairwise_agreement, preference_from_ratings
from truebench_hf.metrics.ranks import correlation, fused_rank, rank_agreement
from truebench_hf.metrics.votes import majority_of, transitions

JUDGED = pd.DataFrame(
    [(f"judge {j}", f"r{i}", f"i{i}", "no" if i % 2 else "yes", "yes") for j in range(3) for i in range(20)],
    columns=["judge", "item", "cluster", "gold", "label"],
)
TWICE = pd.concat([JUDGED, JUDGED.iloc[27:28]])


def calibrator(text: str) -> Calibrator:
    return Calibrator.of_fields(json.loads(text))


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (label_agreement, (["yes", "no"], ["yes"]), "gold has 2, label has 1"),
        (label_agreement, (["yes"], ["Yes"]), "'Yes' is neither 'yes' nor 'no'"),
        (differences, (TWICE,), "'judge 1' has item 'r7' twice"),
        (set_scores, ([{"a"}], []), "parallel"),
        (calibration, ([0.5, 1.2], ["yes", "no"]), r"probability 1.2 in row 1 is outside 0\.\.1"),
        (calibration, ([0.5], []), "probabilities has 1, labels has 0"),
        (fit, ("beta", [0.5], ["yes"]), "unknown calibrator 'beta'"),
        (Calibrator("platt").apply, (1.5,), r"outside 0\.\.1"),
        (calibrator, ("[1]",), "not a calibrator"),
        (calibrator, ("{}",), "not a calibrator"),  # no kind
        (calibrator, ('{"kind": "platt", "slop": 2}',), "slop"),
        (calibrator, ('{"kind": "plat"}',), "did you mean platt"),
        (calibrator, ('{"kind": "platt", "slope": NaN}',), "no fit gives"),
        (calibrator, ('{"kind": "platt", "slope": "2"}',), "not a calibrator"),
        (calibrator, ('{"kind": "isotonic"}',), "must have knots"),
        (calibrator, ('{"kind": "isotonic", "knots": [[0.5, 0.1], [0.2, 0.4]]}',), "ascend"),
        (calibrator, ('{"kind": "isotonic", "knots": [[0.2, 0.4], [0.5, 1.4]]}',), "ascend within"),
        (choose, (["yes"], {"a": ["yes", "no"]}, [0]), "parallel"),
        (halved_kappa, ([1, 2], ["yes"], ["a", "b"], {"a"}), "parallel"),
        (paired_difference, ([True], []), "first has 1, second has 0"),
        (clustered_difference, ([True], [True, False], ["a", "b"]), "first"),
        (double_sampling, (["pass"], ["yes", "no"]), "verdicts has 1, gold has 2"),
        (double_sampling, (["pass"], ["ja"]), "'ja' is neither"),
        (resampled_ratio, ([1.0], [1.0, 1.0]), "parallel"),
        (cohen_kappa, (["a"], []), "first has 1, second has 0"),
        (krippendorff_alpha, ([["low", "high"]], "ordinal"), "has no order of its own"),
        (drfr, ([["YES"]],), "'YES' is neither"),
        (pairwise_agreement, (["win"], ["draw"]), "'draw' is not one of win, tie, loss"),
        (pairwise_agreement, (["win"], []), "gold has 1, predicted has 0"),
        (preference_from_ratings, ([0, 3],), "0 is off the scale"),
        (correlation, ([1], [1, 2], "spearman"), "x has 1, y has 2"),
        (rank_agreement, ([1.0], [1.0, 2.0]), "x has 1, y has 2"),
        (fused_rank, ({"A": [1.0], "B": [1.0, 2.0]},), "one score per ranking"),
        (transitions, (["YES"], ["yes"]), "neither"),
    ],
)
def test_it_is_refused(call: Callable[..., Any], arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        call(*arguments)


@pytest.mark.parametrize("k", [0, 4])
def test_a_majority_of_votes_that_there_are_not_is_a_mistake_of_the_caller(k: int) -> None:
    with pytest.raises(ValueError, match="there are 3 votes"):
        majority_of(["yes", "no", None], "yes", k)
