"""Means of several samples that are equal as fractions are a tie, whatever the last digits of their floats say."""

from fractions import Fraction
from itertools import combinations_with_replacement

from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.votes import mean


def test_equal_means_are_ties() -> None:
    """Three samples with checklists of up to seven questions: every tie of fractions, and no other, is found."""
    shares = sorted({Fraction(yes, of) for of in (3, 6, 7) for yes in range(of + 1)})
    sampled = list(combinations_with_replacement(shares, 3))[::5]
    means = [(sum(of) / 3, mean([float(share) for share in of])) for of in sampled]
    pairs = [(a, b) for i, a in enumerate(means) for b in means[:i]]
    by_floats = [a[1] == b[1] for a, b in pairs]
    exact = [a[0] == b[0] for a, b in pairs]
    assert sum(by_floats) < sum(exact), "floats alone miss some"
    assert [preference_from_scores(a[1], b[1]) == "tie" for a, b in pairs] == exact
