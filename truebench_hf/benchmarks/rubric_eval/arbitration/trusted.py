"""Trusted labels to measure judges by, matched to the responses they were given for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration.subjects import Subject
from truebench_hf.errors import UserError
from truebench_hf.types import Label

_LABELS: dict[object, Label] = {"yes": "yes", "no": "no", 1: "yes", 0: "no"}


@dataclass(frozen=True)
class Trusted:
    """Labels by the name of the judgment; beside each the response it was given for, None where the file has none."""

    labels: Mapping[str, tuple[Label, str | None]]

    def label(self, subject: Subject, index: int) -> Label | None:
        """The trusted label of a rubric; None where there is none, or where it was given for another response."""
        label, response = self.labels.get(subject.ids[index], (None, None))
        return None if response is not None and response != subject.response else label


def read_trusted(data: str) -> Trusted:
    """Labels from rows (`rubric_mini`, JSONL, ...) with `id`, `label` (yes/no or 1/0) and, better, `response`.

    Rows whose label is null are not labelled and left out. Raises UserError naming the row that cannot be used, and
    both rows where two label the same id.
    """
    try:
        found = rubric_rows.load(data)
    except UserError as error:
        raise UserError(str(error).replace("--data", "--reference")) from error
    labels: dict[str, tuple[Label, str | None]] = {}
    seen: dict[str, int] = {}
    for number, row in enumerate(found, 1):
        value = row.get("label")
        usable = value is None or (isinstance(value, str | int) and value in _LABELS)
        if "id" not in row or "label" not in row or not usable:
            raise UserError(f"--reference {data}, row {number}: needs an id and a label yes or no, has {value!r}")
        if value is None:
            continue
        name = str(row["id"])
        if (before := seen.setdefault(name, number)) != number:
            raise UserError(f"--reference {data}, row {number}: id {name!r} is that of row {before} too; keep one")
        labels[name] = (_LABELS[value], row.get("response"))
    if not labels:
        raise UserError(f"--reference {data}: holds no labels")
    return Trusted(labels)
