"""What a validation leaves in its folder: a line per instance, and a work list for a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.validation.edits import Edited
from truebench_hf.benchmarks.truebench.validation.findings import MEANING, Finding, Validation
from truebench_hf.report.csv_cells import guard

COLUMNS = (
    "id", "language", "category", "task", "turn", "criterion", "defect", "meaning", "reason", "change", "now",
    "proposal", "decision", "note",
)  # fmt: skip


WORK_LIST = "worklist.csv"


@dataclass(frozen=True)
class Validated:
    """An instance, as it is or with a known edit, and what the validator says by the aspects it was told about."""

    edited: Edited
    by_aspects: dict[tuple[str, ...], Validation]

    @property
    def found(self) -> Validation:
        """With all the aspects that there are."""
        return self.by_aspects[max(self.by_aspects, key=len)]


def lines(done: Sequence[Validated], known: bool) -> Iterator[dict[str, Any]]:
    """The lines of `validations.jsonl`: one per instance and set of aspects. `known`: the edits are told, too."""
    for one in done:
        instance, edited = one.edited.instance, asdict(one.edited)
        del edited["instance"]
        named = {name: getattr(instance, name) for name in ("id", "language", "category", "task")}
        for aspects, found in one.by_aspects.items():
            told: dict[str, Any] = {"label": found.label, "found": {kind: found.found(kind) for kind in found.looked}}
            findings = [asdict(f) | {"change": f.change, "proposal": list(f.proposal)} for f in found.findings]
            told |= {"findings": findings, "analysis": found.analysis, "problem": found.problem or None}
            yield named | {"aspects": list(aspects)} | ({"edit": edited} if known else {}) | told


def work_list(done: Sequence[Validated]) -> str:
    """`worklist.csv`: a row per proposed change, and per instance that nothing could be read about.

    `decision` and `note` are for whoever works it off. The mark at its beginning tells spreadsheet programs that it is
    UTF-8.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for one in done:
        rows = [_row(one, finding) for finding in one.found.findings]
        if one.found.label is None:
            rows = [(*_named(one), "", "", "undecided", "nothing could be read", one.found.problem, "", "", "", "", "")]
        writer.writerows([guard(cell) for cell in row] for row in rows)
    return "\ufeff" + out.getvalue().encode("utf-8", "replace").decode("utf-8")


def now(one: Validated, finding: Finding) -> str:
    """The text that a finding is about: a criterion, an instruction, or none, where one is missing."""
    turn = one.edited.instance.turns[finding.turn - 1]
    if finding.criterion is not None:
        return turn.criteria[finding.criterion - 1].text
    return "" if finding.kind == "E3" else turn.prompt


def _row(one: Validated, finding: Finding) -> tuple[str | int, ...]:
    where = (finding.turn, "" if finding.criterion is None else finding.criterion)
    what = (finding.kind, MEANING[finding.kind], finding.reason, finding.change)
    return (*_named(one), *where, *what, now(one, finding), "\n".join(finding.proposal), "", "")


def _named(one: Validated) -> tuple[str, ...]:
    instance = one.edited.instance
    return instance.id, instance.language, instance.category, instance.task
