"""What was found of each criterion, as rows, counts and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from truebench_hf.judging.rules.reading.criteria import Found
from truebench_hf.report.sections import Grid
from truebench_hf.rules import stored_text
from truebench_hf.types import Criterion, Instance

Sort = Literal["decidable", "measurable", "neither"]
SORTS: dict[Sort, str] = {
    "decidable": "says nothing but what is measured",
    "measurable": "says more, or may: it is measured for judges",
    "neither": "nothing of it can be measured",
}
SOURCES = {"data": "stored in the data", "patterns": "read by patterns", "judge": "read by the judge"}


@dataclass(frozen=True, slots=True)
class Ruled:
    """A criterion with its rules, who found them (see `SOURCES`), and why a model found none."""

    criterion: Criterion
    rules: Found | None
    source: str = ""
    problem: str = ""

    @property
    def sort(self) -> Sort:
        """What a program can do with it. Under a condition nothing is decided."""
        if self.rules is None or not self.rules.rules:
            return "neither"
        return "decidable" if self.rules.complete and not self.criterion.condition else "measurable"

    @property
    def text(self) -> str | None:
        """What stands in its field `rule`."""
        if self.source == "data" or self.rules is None or not self.rules.rules:
            return self.criterion.rule
        return stored_text(self.rules.rules, self.rules.complete)


def with_rules(instance: Instance, turns: Sequence[Sequence[Ruled]]) -> Instance:
    """The instance, whose criteria carry their rules."""
    made = [
        replace(turn, criteria=tuple(replace(one.criterion, rule=one.text) for one in found))
        for turn, found in zip(instance.turns, turns, strict=True)
    ]
    return replace(instance, turns=tuple(made))


def rows(instance: Instance, turns: Sequence[Sequence[Ruled]]) -> Iterator[dict[str, Any]]:
    """Its lines of `criteria.jsonl`."""
    for turn, found in enumerate(turns, 1):
        for number, one in enumerate(found, 1):
            place = {"id": instance.id, "turn": turn, "number": number, "criterion": one.criterion.text}
            yield place | {"sort": one.sort, "rule": one.text, "by": one.source, "problem": one.problem}


def summary(every: Sequence[Ruled]) -> dict[str, Any]:
    """How many criteria are of each sort, in all and by who found their rules, and the kinds of these rules."""
    by_kind: dict[Sort, Counter[str]] = {"decidable": Counter(), "measurable": Counter()}
    for one in every:
        if one.rules is not None and one.sort != "neither":
            by_kind[one.sort].update(rule.kind for rule in one.rules.rules)
    by_source = {name: Counter(one.sort for one in every if one.source == name) for name in SOURCES}
    return {
        "criteria": len(every), **{sort: sum(one.sort == sort for one in every) for sort in SORTS},
        "by_source": {name: dict(found) for name, found in by_source.items()},
        "by_kind": {sort: dict(found.most_common()) for sort, found in by_kind.items()},
        "unread": sum(bool(one.problem) for one in every),
    }  # fmt: skip


def sections(result: Mapping[str, Any]) -> list[Grid]:
    """The report."""
    total = result["criteria"] or 1
    rows = [
        (
            sort,
            result[sort],
            f"{100 * result[sort] / total:.1f}",
            *(of.get(sort, 0) for of in result["by_source"].values()),
            why,
        )
        for sort, why in SORTS.items()
    ]
    shown = [
        Grid("What programs can do", ("", "criteria", "%", *SOURCES.values(), "which means"), tuple(rows), prose=(6,))
    ]
    kinds = list(dict.fromkeys(kind for of in result["by_kind"].values() for kind in of))
    by = [(kind, *(of.get(kind, 0) for of in result["by_kind"].values())) for kind in kinds]
    return [*shown, *([Grid("Rules by kind", ("Kind", *result["by_kind"]), tuple(by))] if by else [])]
