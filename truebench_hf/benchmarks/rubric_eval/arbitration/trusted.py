"""Trusted labels to measure judges by, matched to the responses they were given for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration.subjects import Subject
from truebench_hf.errors import UserError
from truebench_hf.rows import Record
from truebench_hf.types import Label


@dataclass(frozen=True)
class Trusted:
    """Labels by the name of the judgment; beside each the response it was given for, None where the file has none."""

    labels: Mapping[str, tuple[Label, str | None]]

    def label(self, subject: Subject, index: int) -> Label | None:
        """The trusted label of a rubric; None where there is none, or where it was given for another response."""
        label, response = self.labels.get(subject.ids[index], (None, None))
        return None if response is not None and response != subject.response else label


def read_trusted(data: str) -> Trusted:
    """Labels from rows (`rubric_mini`, JSONL, ...) with `id`, `label` (see `Record.label`) and, better, `response`.

    Rows whose label is empty are not labelled and left out. Raises UserError naming the row that cannot be used, and
    both rows where two label the same id.
    """
    labels: dict[str, tuple[Label, str | None]] = {}
    seen: dict[str, int] = {}
    for number, row in enumerate(rubric_rows.load(data, "--reference"), 1):
        record = Record(f"--reference {data}, row {number}", row)
        name = record.id("id")
        if "label" not in row:
            raise record.wrong("label", "is needed, empty where there is none")
        if (label := record.label("label")) is None:
            continue
        if (before := seen.setdefault(name, number)) != number:
            raise UserError(f"{record.where}: id {name!r} is that of row {before} too; keep one")
        labels[name] = (label, row.get("response"))
    if not labels:
        raise UserError(f"--reference {data}: holds no labels")
    return Trusted(labels)
