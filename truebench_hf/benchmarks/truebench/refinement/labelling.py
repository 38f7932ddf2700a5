"""The responses of a refinement, to people who see no criteria; their labels are what the judge is held against."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from truebench_hf.benchmarks.truebench.criteria_types import people
from truebench_hf.data import jsonl
from truebench_hf.data.records import JUDGMENTS, Reader
from truebench_hf.errors import UserError
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question
from truebench_hf.study.labelling import SHEETS, LabelInOptions, Labelling, LabelOutOptions, Taken, open_notes

SCORES = "refinement.json"


class RefinementLabels(Labelling):
    """Each response as it stands after the last round, pass or fail."""

    answers = people.OPTIONS
    heeds = ("unlabelled",)
    keeps_others = True  # of an earlier prompt

    def folder(self, options: LabelOutOptions | LabelInOptions) -> Path:
        """After a round a folder of its own below the sheets: a revised prompt has new responses."""
        path = Path(self.place)
        scores = jsonl.parsed((path / SCORES).read_bytes(), str(path / SCORES))
        number = len(scores["rounds"]) - 1
        return path / SHEETS / f"round_{number}" if number else path / SHEETS

    def unnamed_sheets(self, options: LabelInOptions) -> list[Path]:
        own = Path(self.place) / SHEETS
        return sorted({file.parent for file in own.rglob("*") if file.suffix in (".csv", ".json")})

    def questions(self, options: LabelOutOptions) -> list[Question]:
        """All responses; with `unlabelled` those without a label."""
        before = labels.read_rows(Path(self.place) / labels.FILE, self.answers) if options.unlabelled else []
        done = {row["id"] for row in before if row["label"] is not None}
        asked = [question for question in self._questions() if question.id not in done]
        if not asked:
            raise UserError(
                f"{self.place}: every response has a label; leave out --unlabelled to ask about all of them"
            )
        return asked

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, which the study reads when it is repeated; `value` are its rows."""
        file = Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, {question.id for question in self._questions()})
        labels.write_rows(file, settled.rows)
        notes = [
            *open_notes(settled),
            "Repeat `truebench study refine-criteria` with the same options: its work list asks why people and judge differ.",
        ]
        among = labels.agreement(settled.annotations)
        sections = [labels.agreement_section(among, "responses")]
        return Taken(settled.rows, among, sections, notes=notes, files=[file])

    def _questions(self) -> list[Question]:
        reader, path = Reader(), Path(self.place)
        if not (path / SCORES).is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        judged = [reader.judged(row, where)[0] for where, row in jsonl.read(path / JUDGMENTS)]
        return people.questions([(item.instance, item.response) for item in judged])
