"""What several samples of each instance tell, as a section of any report."""

from __future__ import annotations

from collections.abc import Mapping

from truebench_hf.report.sections import Scores
from truebench_hf.types import Score

_SIGNS = {"any": "@", "all": "^"}


def repeated(scores: Mapping[str, Score], title: str = "Repeated samples") -> Scores:
    """A section of what `metrics.repeated.summary` gives; k is how many samples are looked at."""
    note = (
        "The share that passes: n counts instances, and intervals are by instance. The mean leaves out undecided samples; any "
        "and all of k are over all choices of k samples, and unscored where undecided ones could change them or there are "
        "fewer than k."
    )
    return Scores(title, {_named(name): score for name, score in scores.items()}, note=note)


def _named(name: str) -> str:
    which, _, k = name.partition("_of_")
    return f"{which.capitalize()} of {k} (pass{_SIGNS[which]}{k})" if which in _SIGNS else "Mean over samples"
