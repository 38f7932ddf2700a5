"""The responses of a refinement, to people who see no criteria; their labels are what the judge is held against."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truebench_hf.benchmarks.truebench.criteria_types import people
from truebench_hf.data import jsonl
from truebench_hf.data.records import JUDGMENTS, Reader
from truebench_hf.engine.sample import sample
from truebench_hf.errors import UserError
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.study.labelling import SHEETS, Draw, LabelInOptions, Labelling, LabelOutOptions, Taken


class RefinementLabels(Labelling):
    """Each response as it stands after the last round, pass or fail."""

    heeds = ("unlabelled",)

    def folder(self, options: LabelOutOptions | LabelInOptions) -> Path:
        """After a round a folder of its own below the sheets: a revised prompt has new responses."""
        path = Path(self.place)
        found = jsonl.parsed((path / "refinement.json").read_bytes(), "refinement.json")
        number = len(found["rounds"]) - 1
        return path / SHEETS / f"round_{number}" if number else path / SHEETS

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        own = Path(self.place) / SHEETS
        return sorted({file.parent for file in own.rglob("*.csv")} | {file.parent for file in own.rglob("*.json")})

    def draw(self, options: LabelOutOptions) -> Draw:
        """All responses, or `n` of them; with `unlabelled` those without a label."""
        before = labels.read_rows(Path(self.place) / labels.FILE) if options.unlabelled else []
        done = {row["id"] for row in before if row["label"] is not None}
        asked = [question for question in self._questions() if question.id not in done]
        if not asked:
            raise UserError(
                f"{self.place}: every response has a label; leave out --unlabelled to ask about all of them"
            )
        return Draw(sample(asked, options.n, lambda question: question.id, lambda _: (), options.seed))

    def take(self, given: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, which the study reads when it is repeated; `value` are its rows.

        Labels of other responses stay: an earlier prompt's, or those of models that are yet to come.
        """
        file = Path(self.place) / labels.FILE
        before = labels.read_rows(file)
        annotations = labels.joined(before, given, people.OPTIONS)
        known = {question.id for question in self._questions()}
        if not known & set(annotations.labels):
            raise UserError(
                f"{self.place}: no label in a sheet is about these responses; give the sheets made for them"
            )
        settled = labels.adjudicate(annotations, labels.decided(before) | dict(decisions))
        rows = labels.label_rows(annotations, settled)
        labels.write_rows(file, rows)
        notes = [
            "Repeat `truebench study refine-criteria` with the same options: its work list asks why people and judge differ."
        ]
        among = labels.agreement(annotations)
        return Taken(rows, among, [labels.agreement_section(among, "responses")], notes=notes, files=[file])

    def _questions(self) -> list[Question]:
        reader, file = Reader(), Path(self.place) / JUDGMENTS
        if not file.is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        judged = [reader.judged(row, where)[0] for where, row in jsonl.read(file)]
        return people.questions([(item.instance, item.response) for item in judged])
