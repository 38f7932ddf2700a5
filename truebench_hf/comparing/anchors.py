"""Whether a judge still agrees with the labels of its anchors: some labelled rows that it judges anew beside a run.

Anchors are judged by `truebench metaeval --no-cache`; the folder of today is held against those of earlier days.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.comparing.gate_statistics import Loss, score_loss
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import MIN_PAIRS
from truebench_hf.results.folder import Results
from truebench_hf.text.terminal import how_many

JUDGMENTS = "judgments.jsonl"
ALPHA = 0.1  # a false alarm stops a release for an hour, a judge that has drifted misleads all of them


@dataclass(frozen=True)
class Anchors:
    """The share of anchors (0 to 1) on which the judge gives their label, before and now, and the loss over the pairs."""

    before: float
    now: float
    loss: Loss

    @property
    def drifted(self) -> bool:
        """Whether it is shown, one-sided at 90 %, that the judge agrees less than before."""
        bounds = self.loss.bounds(ALPHA)
        return bounds is not None and bounds[0] > 0

    @property
    def sentence(self) -> str:
        """What the anchors say of the judge."""
        agreement = f"with {self.now:.0%} of {how_many(self.loss.n, 'label')}, before with {self.before:.0%}"
        if self.drifted:
            return f"The judge has drifted, and nothing is said of the application: it agrees {agreement}."
        return f"The judge agrees {agreement}."


def watch(now: str, before: Sequence[str]) -> Anchors:
    """Hold the anchors judged today against those of earlier days, by their ids.

    An anchor that is left open counts as one whose label is missed. Raises UserError where a folder is no
    meta-evaluation of one judge in one way, where they are of different judges or ways, or share fewer than ten anchors.
    """
    import numpy as np

    judge, right_now = _read(now)
    records = [_read(where) for where in before]
    for where, (other, _) in zip(before, records, strict=True):
        if other != judge:
            raise UserError(f"{where} is of {' by '.join(other)}, {now} of {' by '.join(judge)}; judge both in one way")
    shared = [name for name in right_now if all(name in right for _, right in records)]
    if len(shared) < MIN_PAIRS:
        raise UserError(
            f"{now}: shares {how_many(len(shared), 'anchor')} with earlier days; it takes {MIN_PAIRS} at least"
        )
    old = np.mean([[right[name] for name in shared] for _, right in records], axis=0)
    new = np.array([right_now[name] for name in shared], dtype=float)
    return Anchors(float(old.mean()), float(new.mean()), score_loss(old, new))


def _read(where: str) -> tuple[tuple[str, str], dict[str, bool]]:
    """((judge, way of judging), whether its label is given by the id of each labelled row)."""
    results = Results.open(where)
    results.check_finished()
    file = Path(where) / JUDGMENTS
    if not file.is_file():
        raise UserError(f"{where}: is no meta-evaluation; judge the anchors by `truebench metaeval --no-cache`")
    ways: dict[tuple[str, str], None] = {}
    right: dict[str, bool] = {}
    for line, row in jsonl.read(file, "repeat the command of its folder"):
        try:
            ways[row["judge"], row["paradigm"]] = None
            if row["gold"] in ("yes", "no"):
                right[row["id"]] = row["label"] == row["gold"]
        except (TypeError, KeyError) as error:
            raise UserError(f"{line}: is no row of a meta-evaluation ({error})") from error
    if len(ways) != 1:
        raise UserError(
            f"{where}: holds {how_many(len(ways), 'way')} of judging; name one --judge and one of --paradigms"
        )
    return next(iter(ways)), right
