"""The responses of a comparison of criteria, to raters who see no criteria; their labels enter its results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.criteria_types import people
from truebench_hf.benchmarks.truebench.criteria_types.results import FILES, RATINGS, SCORES, outcome
from truebench_hf.benchmarks.truebench.criteria_types.scores import Row
from truebench_hf.benchmarks.truebench.criteria_types.ways import Rated
from truebench_hf.data import jsonl
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.study.labelling import LabelInOptions, Labelling, LabelOutOptions, Taken, with_history
from truebench_hf.study.outcome import write


class CriteriaLabels(Labelling):
    """Each response of a comparison of criteria, pass or fail."""

    annotators = ("first", "second", "third")  # as many as in the paper
    answers = people.OPTIONS
    keeps_others = True  # models may be added

    def questions(self, options: LabelOutOptions) -> list[Question]:
        return people.questions(people.read_answered(Path(self.place)))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the results of the study anew; `value` is the content of `scores.json`."""
        need("stats", "sklearn", what="comparing with raters")
        path = Path(self.place)
        if not (path / SCORES).is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        rows = list(_rows(path))
        settled = self.settle(new, decisions, path / labels.FILE, {row.id for row in rows})
        folder = RunFolder(self.place, {})
        try:
            folder.write_lines(labels.FILE, map(labels.line, settled.rows))
            scores = jsonl.parsed((path / SCORES).read_bytes(), str(path / SCORES))
            judge, usage = str(folder.info["settings"]["judge"]), folder.usage()["total"]
            result = with_history(folder, outcome(path, rows, scores["set"]["models"], judge, usage, scores["seed"]))
            write(folder, result)
        finally:
            folder.ledger.close()
        files = [path / name for name in (labels.FILE, *FILES, "report.html")]
        return Taken(
            result.value, labels.agreement(settled.annotations), result.sections, result.lead, result.notes, files
        )


def _rows(folder: Path) -> Iterator[Row]:
    """The responses of a finished study with what they got, as its files have them."""
    answered = people.read_answered(folder)
    lines = [line for _, line in jsonl.read(folder / RATINGS)]
    types = len(lines) // len(answered) if answered else 0
    for place, (instance, response) in enumerate(answered):
        own = lines[place * types : (place + 1) * types]
        yield Row(
            instance, response, people.response_id(instance, response), {line["type"]: _rated(line) for line in own}
        )


def _rated(line: Mapping[str, Any]) -> Rated:
    return Rated(line["value"], line["reason"], line["parts"], line["own_final"])
