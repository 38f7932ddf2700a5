"""From verdicts on answers to the scores of a run (paper 002, section 3), and the form in which they are kept.

`scores.json` of a run folder; every CELL is about the answers of one split or group, "all" about all of them:

    {"model": "openai:gpt-4.1",                 whose answers these are
     "judges": {"openai:o3": {                  by name: the spec, numbered where one is named twice
        "template": "json", "eligibility": "request",    how it is asked
        "identity": {...}, "prompts": {NAME: SHA-256}, "max_tokens": 8192}, ...},
     "baseline": {"name": "openai:gpt-4.1"},    what answers are compared with; of a model with "sha256", its identity
     "data": {"name": "open", "sha256": ..., "splits": {"open": SHA-256, ...}},   hashes over documents, requests and
                                                the baseline answers that came with them, by split
     "scores": {"all": CELL},
     "splits": {"open": CELL, "blind": CELL},   {} where the data names no split
     "by": {"domain": {"finance": CELL, ...}, "task": {...}, "length": {...}},   only what the data has columns for
     "undecided": {"grounding": {JUDGE: 2, ...}, "eligibility": {...}, "answers": {ID: REASON, ...}},
     "repeated_samples": {"mean": SCORE, "any_of_2": SCORE, "all_of_2": SCORE, ...},   with --samples alone
     "failed": 1}                               answers that could not be generated, undecided for every judge

    CELL  = {"answers": 860, "ineligible": 12, "judges": {JUDGE: BOTH}, "mean": BOTH}
    BOTH  = {"unadjusted": SCORE, "final": SCORE}
    SCORE = {"value": share or null, "n": decided items, "unscored": undecided, "ci95": [low, high] or null}

Two runs may be joined where judges, baseline and the hash of a split are equal. `verdicts.jsonl` beside it has a line
per answer: {"id", "document", "split", "ineligible", "grounded": {JUDGE: label}, "eligible": {JUDGE: label}} and more,
labels being "yes", "no" or null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.intervals import clustered_mean
from truebench_hf.metrics.pass_rate import clustered_rate, disqualified
from truebench_hf.metrics.repeated import mean, over_values
from truebench_hf.types import Label, Score

KIND = "facts"


@dataclass(frozen=True, slots=True)
class Decided:
    """What each judge said of one answer to a document: is it grounded, and eligible ("no": major issues)?

    `groups` are the values of the data's columns by which scores are told apart: {"domain": "finance"}. Answers of one
    `item` are samples, whose mean counts as one answer ("": it has no others).
    """

    document: str
    grounded: tuple[Label | None, ...]
    eligible: tuple[Label | None, ...]
    split: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    item: str = ""

    @property
    def ineligible(self) -> bool:
        """Whether all judges see major issues."""
        return disqualified(self.eligible)


@dataclass(frozen=True, slots=True)
class Both:
    """The share of accurate answers; `final` counts ineligible ones as inaccurate."""

    unadjusted: Score
    final: Score

    @property
    def effect(self) -> float | None:
        """What disqualification changes the share by; None where a score is undefined."""
        unadjusted, final = self.unadjusted.value, self.final.value
        return None if unadjusted is None or final is None else final - unadjusted


@dataclass(frozen=True, slots=True)
class Cell:
    """The scores of some answers, by judge and on average over the judges."""

    answers: int
    ineligible: int
    judges: Mapping[str, Both]
    mean: Both


@dataclass(frozen=True, slots=True)
class GroundingScores:
    """The scores of all answers, of those of each split, and of each group by the name of its column."""

    all: Cell
    splits: Mapping[str, Cell]
    by: Mapping[str, Mapping[str, Cell]]

    def as_json(self) -> dict[str, Any]:
        """As it stands in `scores.json`."""
        content = asdict(self)
        return {"scores": {"all": content.pop("all")}, **content}


def score(decided: Sequence[Decided], judges: Sequence[str]) -> GroundingScores:
    """The scores of answers on which each of `judges`, in this order, has decided or not."""
    columns = dict.fromkeys(name for answer in decided for name in answer.groups)
    by = {column: _cells(decided, [answer.groups.get(column, "") for answer in decided], judges) for column in columns}
    return GroundingScores(cell(decided, judges), _cells(decided, [answer.split for answer in decided], judges), by)


def cell(decided: Sequence[Decided], judges: Sequence[str]) -> Cell:
    """The scores of some answers.

    A judge's undecided answers are left out of its share, unless they are ineligible: then they are inaccurate. The
    mean is that of the judges' shares, undefined where one of them is; in its `unscored` no judge decided.
    """
    items: dict[Any, list[Decided]] = {}
    for place, answer in enumerate(decided):
        items.setdefault(answer.item or place, []).append(answer)
    plain = [
        _over_samples([[_truth(label) for label in answer.grounded] for answer in samples])
        for samples in items.values()
    ]
    final = [_over_samples([_final(answer) for answer in samples]) for samples in items.values()]
    clusters = [samples[0].document for samples in items.values()]
    shares = {
        name: Both(*(_share([row[place] for row in rows], clusters) for rows in (plain, final)))
        for place, name in enumerate(judges)
    }
    means = (
        _mean(rows, clusters, [getattr(both, name) for both in shares.values()])
        for rows, name in ((plain, "unadjusted"), (final, "final"))
    )
    return Cell(len(decided), sum(answer.ineligible for answer in decided), shares, Both(*means))


def _final(answer: Decided) -> list[bool | None]:
    """What each judge's verdict counts in the end."""
    return [False if answer.ineligible else _truth(label) for label in answer.grounded]


def _over_samples(rows: Sequence[Sequence[bool | None]]) -> list[float | None]:
    """Per judge the mean over the samples of an item."""
    return [mean(column) for column in zip(*rows, strict=True)]


def _cells(decided: Iterable[Decided], column: Sequence[str], judges: Sequence[str]) -> dict[str, Cell]:
    """The scores by the value of a column; what has none is in no group."""
    groups: dict[str, list[Decided]] = {}
    for answer, name in zip(decided, column, strict=True):
        if name:
            groups.setdefault(name, []).append(answer)
    return {name: cell(some, judges) for name, some in groups.items()}


def _truth(label: Label | None) -> bool | None:
    return {"yes": True, "no": False}.get(label or "")


def _share(values: Sequence[float | None], clusters: Sequence[str]) -> Score:
    """A judge's share: with Wilson's interval, or one over documents where some have several answers."""
    return over_values(values) if len(set(clusters)) == len(clusters) else clustered_rate(values, clusters)


def _mean(rows: Sequence[Sequence[float | None]], clusters: Sequence[str], shares: Sequence[Score]) -> Score:
    """The mean of the judges' shares. Its interval comes from how documents differ: more judges are no more answers."""
    import numpy as np

    if len(shares) == 1:
        return shares[0]
    n = sum(any(value is not None for value in row) for row in rows)
    value = mean_of(*(share.value for share in shares))
    if value is None:
        return Score(None, n, len(rows) - n)
    numbers = {document: number for number, document in enumerate(dict.fromkeys(clusters))}
    places, values = [numbers[document] for document in clusters], np.array(rows, dtype=float)
    tops, bottoms = np.zeros((2, len(numbers), len(shares)))  # per document and judge how many are yes, and decided
    np.add.at(tops, places, np.nan_to_num(values))
    np.add.at(bottoms, places, ~np.isnan(values))
    return Score(value, n, len(rows) - n, clustered_mean(tops[:, None, :], bottoms[:, None, :]))
