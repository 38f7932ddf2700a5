"""Labelled answers with what every judge said of them, as columns of labels beside those of people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truebench_hf.benchmarks.facts.selecting.measures import Shares, shares
from truebench_hf.benchmarks.facts.selecting.rows import Labelled
from truebench_hf.judging.grounding.types import UNGROUNDED, Eligibility, Grounding
from truebench_hf.types import Label

Way = tuple[str, str]  # a judge by name, and a template or variant
Column = Sequence[Label | None]  # a label per answer
_ACCURATE: Mapping[bool | None, Label | None] = {True: "yes", False: "no", None: None}
_MAJOR: Mapping[str | None, Label | None] = {"major": "yes", "minor": "no", "no_issues": "no", None: None}
_FLIP: Mapping[str | None, Label | None] = {"yes": "no", "no": "yes", None: None}


@dataclass(frozen=True)
class Asked:
    """A labelled answer with what every judge said of it in every way; `shares` are the classifiers' P(supported)."""

    row: Labelled
    grounding: Mapping[Way, Grounding]
    ratings: Mapping[Way, Eligibility]
    shares: Mapping[str, float | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Its line in `rows.jsonl`."""
        return {
            "id": self.row.id, "accurate": self.row.accurate, "eligible": self.row.eligible,
            "grounding": [{"judge": judge, **asdict(one)} for (judge, _), one in self.grounding.items()],
            "ratings": [{"judge": judge, "variant": v, **asdict(one)} for (judge, v), one in self.ratings.items()],
            "shares": dict(self.shares),
        }  # fmt: skip


def accurate(done: Sequence[Asked], ways: Iterable[Way]) -> tuple[Column, dict[Way, Column]]:
    """(labels of people, labels by way): is it accurate (Table 2)?"""
    columns: dict[Way, Column] = {
        way: [_ACCURATE[one.grounding[way].accurate] if way in one.grounding else None for one in done] for way in ways
    }
    return [one.row.accurate for one in done], columns


def ineligible(done: Sequence[Asked], ways: Iterable[Way]) -> tuple[Column, dict[Way, Column]]:
    """(labels of people, labels by way): is it ineligible (Table 4)?"""
    columns: dict[Way, Column] = {
        way: [_MAJOR[one.ratings[way].rating] if way in one.ratings else None for one in done] for way in ways
    }
    return [_FLIP[one.row.eligible] if one.row.rated else None for one in done], columns


def sentences(done: Sequence[Asked], way: Way) -> Shares:
    """How a judge's labels of single sentences agree with people's; the positive class is ungrounded."""
    pairs = [
        (
            _FLIP[one.row.label(unit.start, unit.end)],
            None if unit.label is None else _ACCURATE[unit.label in UNGROUNDED],
        )
        for one in done
        if way in one.grounding
        for unit in one.grounding[way].units
    ]
    return shares([gold for gold, _ in pairs], [judged for _, judged in pairs])
