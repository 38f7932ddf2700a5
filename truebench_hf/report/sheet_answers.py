"""From the answers of several annotators to one label an item, and how far the annotators agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.kappa import Reliability, cohen_kappa, fleiss_kappa, krippendorff_alpha
from truebench_hf.metrics.votes import majority
from truebench_hf.report.sheet_files import Answer, read_answers

LabelSource = Literal["human", "constructed", "model"]
How = Literal["unanimous", "single", "majority", "decided", "tie", "unanswered"]


@dataclass(frozen=True)
class Annotations:
    """Answers by item and annotator, items in order of their ids; None is asked but not answered.

    An annotator who was not asked about an item is absent there. `doubled` answers were handed in twice, alike.
    `notes` is by (item, annotator).
    """

    labels: Mapping[str, Mapping[str, str | None]]
    options: Mapping[str, tuple[str, ...]]
    notes: Mapping[tuple[str, str], str]
    label_source: LabelSource = "human"
    doubled: int = 0

    @property
    def annotators(self) -> tuple[str, ...]:
        """All annotators, by name."""
        return tuple(sorted({name for given in self.labels.values() for name in given}))

    @property
    def missing(self) -> dict[str, tuple[str, ...]]:
        """Per annotator the items that were asked and not answered."""
        return {
            name: tuple(item for item, given in self.labels.items() if name in given and given[name] is None)
            for name in self.annotators
        }

    def of(self, annotator: str) -> dict[str, str]:
        """The answers one annotator gave: fit as `decisions` where that is the adjudicator."""
        found = ((item, given.get(annotator)) for item, given in self.labels.items())
        return {item: label for item, label in found if label is not None}


@dataclass(frozen=True)
class Adjudicated:
    """One label per item, None where it is open, and how it came about."""

    labels: Mapping[str, str | None]
    how: Mapping[str, How]

    @property
    def open(self) -> tuple[str, ...]:
        """The items that need adjudication: ties, and those nobody answered."""
        return tuple(item for item, label in self.labels.items() if label is None)


@dataclass(frozen=True)
class SheetAgreement:
    """`raw` (0..1) is the share of `pairs` of answers to the same item that are alike; None without a pair."""

    items: int
    annotators: tuple[str, ...]
    missing: Mapping[str, int]
    raw: float | None
    pairs: int
    cohen: Mapping[tuple[str, str], Reliability]
    fleiss: Reliability
    alpha: Reliability


def read_back(
    paths: str | Path | Iterable[str | Path], label_source: LabelSource = "human", *, written: bool = False
) -> Annotations:
    """The answers in any number of CSV and JSON files, or folders of them; see `read_answers` for `written`.

    An answer handed in twice counts once; a blank never overrides an answer. Raises UserError on a malformed file, and
    where one annotator gives two different answers to one item, naming both places.
    """
    table: dict[str, dict[str, Answer]] = {}
    doubled = 0
    for path in _files([paths] if isinstance(paths, str | Path) else paths):
        for answer in read_answers(path, written):
            known = table.setdefault(answer.item, {})
            first = next(iter(known.values()), answer)
            if first.options != answer.options:
                raise UserError(f"{answer.where}: item {answer.item!r} has other options than at {first.where}")
            before = known.get(answer.annotator)
            if before is None or before.answer is None:
                known[answer.annotator] = answer
            elif answer.answer is not None and answer.answer != before.answer:
                raise UserError(
                    f"{answer.where}: {answer.annotator} answers item {answer.item!r} with {answer.answer!r}, "
                    f"and with {before.answer!r} at {before.where}; remove one"
                )
            else:
                doubled += answer.answer is not None
    return _annotations(table, label_source, doubled)


def adjudicate(annotations: Annotations, decisions: Mapping[str, str] | None = None) -> Adjudicated:
    """One label per item: the adjudicator's decision, else the answer most annotators gave; a tie stays open.

    Raises UserError on a decision about an unknown item or with a label that is none of its options.
    """
    decided = decisions or {}
    for item, label in decided.items():
        if item not in annotations.labels:
            raise UserError(f"decision on item {item!r}: no annotator was asked about it")
        if label not in annotations.options[item]:
            raise UserError(f"decision on item {item!r}: {label!r} is none of {', '.join(annotations.options[item])}")
    settled = {
        item: (decided[item], "decided") if item in decided else _settled(list(given.values()))
        for item, given in annotations.labels.items()
    }
    return Adjudicated(
        {item: label for item, (label, _) in settled.items()},
        {item: how for item, (_, how) in settled.items()},
    )


def agreement(annotations: Annotations, level: Literal["nominal", "ordinal"] = "nominal") -> SheetAgreement:
    """Raw agreement, Cohen's kappa per pair of annotators, Fleiss' kappa and Krippendorff's alpha.

    At the ordinal level (ratings) alpha takes the options as ordered from lowest to highest; all items must share them.
    """
    names = annotations.annotators
    table = [[given.get(name) for name in names] for given in annotations.labels.values()]
    pairs = [pair for row in table for pair in combinations([label for label in row if label is not None], 2)]
    order = None
    if level == "ordinal":
        if len(set(annotations.options.values())) != 1:
            raise UserError("agreement at the ordinal level needs items that share one scale of options")
        order = next(iter(annotations.options.values()))
    columns = {name: [row[place] for row in table] for place, name in enumerate(names)}
    return SheetAgreement(
        items=len(table),
        annotators=names,
        missing={name: len(items) for name, items in annotations.missing.items()},
        raw=ratio(sum(first == second for first, second in pairs), len(pairs)),
        pairs=len(pairs),
        cohen={pair: cohen_kappa(columns[pair[0]], columns[pair[1]]) for pair in combinations(names, 2)},
        fleiss=fleiss_kappa(table),
        alpha=krippendorff_alpha(table, level, order=order),
    )


def label_rows(annotations: Annotations, adjudicated: Adjudicated) -> list[dict[str, Any]]:
    """Plain rows, one per item: id, label, how, label_source, annotations (in the columns of `rubric_eval`)."""
    return [
        {
            "id": item,
            "label": adjudicated.labels[item],
            "how": adjudicated.how[item],
            "label_source": annotations.label_source,
            "annotations": [{"annotator": name, "label": label} for name, label in sorted(given.items())],
        }
        for item, given in annotations.labels.items()
    ]


def _settled(answers: list[str | None]) -> tuple[str | None, How]:
    given = [answer for answer in answers if answer is not None]
    if not given:
        return None, "unanswered"
    if len(set(given)) == 1:
        return given[0], "unanimous" if len(given) > 1 else "single"
    label = majority(given).label
    return label, "tie" if label is None else "majority"


def _annotations(table: Mapping[str, Mapping[str, Answer]], source: LabelSource, doubled: int) -> Annotations:
    if not table:
        raise UserError("the files hold no items; give the sheets that annotators filled in")
    items = sorted(table)
    notes = {(item, name): answer.note for item in items for name, answer in table[item].items() if answer.note}
    return Annotations(
        labels={item: {name: answer.answer for name, answer in table[item].items()} for item in items},
        options={item: next(iter(table[item].values())).options for item in items},
        notes=notes,
        label_source=source,
        doubled=doubled,
    )


def _files(paths: Iterable[str | Path]) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, paths):
        inside = (
            sorted(file for file in path.iterdir() if file.suffix in (".csv", ".json")) if path.is_dir() else [path]
        )
        if not inside:
            raise UserError(f"{path}: holds no .csv or .json files")
        found += inside
    return found
