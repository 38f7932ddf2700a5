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
from truebench_hf.engine.sample import sample
from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.study.labelling import Draw, LabelInOptions, Labelling, LabelOutOptions, Taken
from truebench_hf.study.outcome import write


class CriteriaLabels(Labelling):
    """Each response of a comparison of criteria, pass or fail."""

    annotators = ("first", "second", "third")  # as many as in the paper

    def draw(self, options: LabelOutOptions) -> Draw:
        """All responses, or `n` of them."""
        asked = people.questions(people.read_answered(Path(self.place)))
        return Draw(sample(asked, options.n, lambda question: question.id, lambda _: (), options.seed))

    def take(self, given: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the results of the study anew; `value` is the content of `scores.json`.

        Labels of responses that are not compared here stay, and count once they are.
        """
        need("stats", "sklearn", what="comparing with raters")
        path = Path(self.place)
        rows = list(_rows(path))
        before = labels.read_rows(path / labels.FILE)
        annotations = labels.joined(before, given, people.OPTIONS)
        if not {row.id for row in rows} & set(annotations.labels):
            raise UserError(
                f"{self.place}: no label in a sheet is about a response that is compared here (the first: "
                f"{next(iter(annotations.labels), 'none')}); give the sheets made for these responses"
            )
        settled = labels.adjudicate(annotations, labels.decided(before) | dict(decisions))
        folder = RunFolder(self.place, {})
        try:
            folder.write_lines(labels.FILE, map(labels.line, labels.label_rows(annotations, settled)))
            scores = jsonl.parsed((path / SCORES).read_bytes(), str(path / SCORES))
            judge, usage = str(folder.info["settings"]["judge"]), folder.usage()["total"]
            found = outcome(path, rows, scores["set"]["models"], judge, usage, scores["seed"])
            write(folder, found)
        finally:
            folder.ledger.close()
        files = [path / name for name in (labels.FILE, *FILES, "report.html")]
        return Taken(found.value, labels.agreement(annotations), found.sections, found.lead, found.notes, files)


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
