"""Calibrator and threshold of a classifier by labelled answers, and its labels on answers they were not fitted on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from truebench_hf.judging.grounding.classifier import Cut
from truebench_hf.metrics.calibration import best_threshold, cross_fit, cross_threshold, fit
from truebench_hf.types import Label


@dataclass(frozen=True)
class Fitted:
    """The cut fitted on all answers; `labels` are those of cuts that had not seen the answer's document."""

    cut: Cut
    labels: tuple[Label | None, ...]


def fitted(
    kind: str,
    shares: Sequence[float | None],
    gold: Sequence[Label | None],
    groups: Sequence[Hashable],
    *,
    folds: int,
    seed: int,
) -> Fitted | None:
    """Fit as `truebench study calibrate` does; None where labels and probabilities do not allow it."""
    calibrator = fit(kind, shares, gold)
    fair = cross_fit(kind, shares, gold, groups, folds=folds, seed=seed)
    best = best_threshold(fair, gold)
    if calibrator is None or best is None:
        return None
    cuts = cross_threshold(kind, shares, gold, groups, folds=folds, seed=seed)
    labels: list[Label | None] = [
        None if share is None or cut is None else "yes" if share >= cut else "no"
        for share, cut in zip(fair, cuts, strict=True)
    ]
    return Fitted(Cut(best.value, calibrator), tuple(labels))
