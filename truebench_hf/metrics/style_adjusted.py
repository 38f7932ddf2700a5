"""Pass rates as if all models wrote in the average style: adjusted for length, headers, lists and bold.

A least-squares regression of pass (0 or 1) on the model and on how its answer to an instance looks beside the other
models' answers to the same instance, after the style control of Chatbot Arena (Li, Angelopoulos and Chiang 2024), which
uses the same four features. The adjusted pass rate is the prediction for a model at the average style of all (an adjusted
mean of the analysis of covariance). It shows what style goes along with, not what it causes: a longer answer may be
longer because it does more of what was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

from truebench_hf.metrics.comparison import MIN_PAIRS
from truebench_hf.metrics.intervals import wilson_at
from truebench_hf.types import Score

# Below this share of the instances as effective ones (an interval some three times as wide as the plain one) the style of a
# model is hardly seen apart from the model itself; nor is it where the estimate lies so far outside of 0 to 1.
_LEAST, _OUTSIDE = 0.1, 0.1
Style = tuple[float, float, float, float]  # of an answer: characters, headers, items of lists, bold passages


def style_adjusted(
    passed: Mapping[str, Mapping[str, float | None]], styles: Mapping[str, Mapping[str, Style]]
) -> dict[str, Score]:
    """The adjusted pass rate of each model; `passed` and `styles` are by model, then by instance.

    Instances count that every model has, with an outcome and an answer; {} below two models or `MIN_PAIRS` of them. A
    feature x of an answer counts as (x - m) / (x + m), m being its mean over the models: from -1 to 1. The interval is
    Wilson's at the n at which independent instances would have the variance that was found (sandwich estimate,
    clustered by instance). A model whose style differs from that of all others whatever is asked has no value: the
    regression would have to reach far beyond what was seen.
    """
    import numpy as np

    models = list(passed)
    ids = [i for i in (passed[models[0]] if models else ()) if all(
        passed[m].get(i) is not None and i in styles.get(m, {}) for m in models
    )]  # fmt: skip
    if len(models) < 2 or len(ids) < MIN_PAIRS:
        return {}
    y = np.array([[passed[m][i] for i in ids] for m in models], dtype=float)
    raw = np.array([[styles[m][i] for i in ids] for m in models], dtype=float)
    value, variance = _adjusted(y, relative(raw))
    quantile = NormalDist().inv_cdf(0.975)
    found = {}
    for model, share, spread, of in zip(models, value, variance, y.mean(axis=1), strict=True):
        kept = float(min(1.0, max(0.0, round(share, 12))))
        effective = of * (1 - of) / spread if spread > 0 and 0 < of < 1 else len(ids)
        ends = wilson_at(kept, min(effective, len(ids)), quantile)
        unseen = effective < _LEAST * len(ids) or abs(kept - share) > _OUTSIDE
        left = len(passed[model]) - len(ids)
        found[model] = Score(None, len(ids), left) if unseen else Score(kept, len(ids), left, ends)
    return found


def relative(raw: Any) -> Any:
    """Features (models, instances, features) beside their mean over the models: (x - m) / (x + m), 0 where nobody has any."""
    import numpy as np

    mean = raw.mean(axis=0, keepdims=True)
    total = raw + mean
    return np.divide(raw - mean, total, out=np.zeros_like(raw), where=total > 0)


def _adjusted(y: Any, x: Any) -> tuple[Any, Any]:
    """(pass rate at the average style, its variance) per model; y is (models, instances), x has features behind."""
    import numpy as np

    within, passed = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    bread = np.linalg.pinv(np.einsum("mif,mig->fg", within, within), hermitian=True)
    slope = bread @ np.einsum("mif,mi->f", within, passed)
    error = passed - within @ slope
    away = x.mean(axis=1) - x.mean(axis=(0, 1))  # of a model's style from the average
    # What each instance, a cluster of the answers of all models to it, adds to an estimate.
    pull = np.einsum("mif,mi->if", within, error) @ bread
    count = y.shape[1]
    share = error / count - away @ pull.T
    return y.mean(axis=1) - away @ slope, (share**2).sum(axis=1) * count / (count - 1)
