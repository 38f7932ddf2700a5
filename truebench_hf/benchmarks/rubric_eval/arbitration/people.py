"""Arbitrated labels against people: a stratified sample out as blind sheets, and back (paper 003, section 3.4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sheets import Question, material
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.study.items import sample
from truebench_hf.study.labelling import Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.outcome import scores_json
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message, Score

DEFAULT_N = 160  # as in the paper
PAPER = (0.85, 0.702)  # section 3.4: accuracy and kappa of 160 final labels against two annotators
LABELS, SCORES = "human.jsonl", "human.json"
Row = Mapping[str, Any]


class ArbitrationLabels(Labelling):
    """The labels of an arbitration, to people who see neither them nor what judges said."""

    annotators = ("first", "second")

    def labels_file(self, options: LabelInOptions) -> Path:
        return Path(self.place) / LABELS

    def draw(self, options: LabelAskOptions) -> Draw:
        """`n` labelled rows, stratified by split and instruction category."""
        rows = _labelled(self.place)
        chosen = sample(
            rows, options.n or DEFAULT_N, lambda row: str(row["id"]), lambda row: (_stratum(row),), options.seed
        )
        strata = Counter(map(_stratum, chosen))
        return Draw([question(row) for row in chosen], [f"{count:5} {name}" for name, count in strata.items()])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `human.json`, how far people agree with the labels and with each other, and `human.jsonl`, their labels
        for `--reference`; `value` are the tables of `human.json`, by name.
        """
        rows = {str(row["id"]): row for row in _labelled(self.place)}
        file = self.labels_file(options)
        settled = self.settle(new, decisions, file, rows)
        among = labels.agreement(settled.annotations)
        tables = [compare(list(rows.values()), settled.labels), labels.agreement_table(among, "labels")]
        until = ["Until an adjudicator settles what is open (--decisions), accuracy and kappa are upper estimates."]
        notes = [*open_notes(settled), *(until if settled.open else [])]
        labels.write_rows(file, (label | {"response": rows[label["id"]]["response"]} for label in settled.rows))
        scores = json.dumps(scores_json(tables, notes), ensure_ascii=False, indent=1)
        write_whole(file.with_name(SCORES), [f"{scores}\n"])
        files = [file, file.with_name(SCORES)]
        return Taken({table.name: table for table in tables}, among, tables, notes=notes, files=files)


def compare(rows: Sequence[Row], people: Mapping[str, str | None]) -> Table:
    """Return how far people agree with the labels of an arbitration: all rows, and those of each split and category.

    Rows that stay open are left out of `accuracy` and `kappa`: since they are the difficult ones, both are upper
    estimates as long as there are any. `open_wrong` counts them as wrong. The paper's annotators settled all their
    disagreements; its figure compares with ours once nothing is open.
    """
    compared: list[Row] = []
    for name in ("all", *sorted(set(map(_stratum, rows)))):
        group = [row for row in rows if str(row["id"]) in people and name in ("all", _stratum(row))]
        # Which of the two is held against the other is the same.
        agreement = label_agreement(
            [row["label"] for row in group], [people[str(row["id"])] for row in group],
            [row["instruction_id"] for row in group], measures=("accuracy", "accuracy_strict", "kappa"),
        )  # fmt: skip
        kappa = agreement["kappa"]
        compared.append({
            "rows": name, "settled": agreement["n"], "open": agreement["undecided"], "accuracy": agreement["accuracy"],
            "open_wrong": agreement["accuracy_strict"], "kappa": kappa,
            "band": "" if kappa.value is None else verbal_band(kappa.value),
        })  # fmt: skip
    accuracy, published = PAPER
    compared.append(
        {"rows": "section 3.4", "settled": 160, "open": 0, "accuracy": Score(accuracy, 0), "open_wrong": Score(accuracy, 0),
         "kappa": Score(published, 0), "band": verbal_band(published), PUBLISHED: True}
    )  # fmt: skip
    columns = (
        Column("rows", "rows"), Column("settled", "settled", "count"), Column("open", "open", "count"),
        Column("accuracy", "accuracy", "score", "Of settled rows; people are right.", digits=1, parts=("value", "interval"), drawn=True),
        Column("open_wrong", "open=wrong", "score", "Accuracy with open rows as wrong.", digits=1),
        Column("kappa", "kappa", "score", "Cohen's kappa of settled rows.", "", digits=3), Column("band", "band"),
    )  # fmt: skip
    return Table("against_people", columns, compared, "Arbitrated labels against people")


def _labelled(folder: str) -> list[Row]:
    place = Path(folder) / "labels"
    if not place.is_dir():
        raise UserError(f"{folder}: holds no labels; give the folder of a finished `truebench study arbitrate`")
    if not any(file.stat().st_size for file in place.glob("*.jsonl")):
        raise UserError(f"{folder}: the judges left no rubric with a label, so there is nothing to hold people against")
    return list(data.load(str(place)))


def _stratum(row: Row) -> str:
    return f"{row['split']} {row['instruction_category']}"


def question(row: Row) -> Question:
    """A row as an annotator sees it: neither the label nor what judges said."""
    *before, last = (Message(message["role"], message["content"]) for message in row["messages"])
    beside = {"Context": row.get("context"), "Reference answer": row.get("reference")}
    text = f"Does the response meet this requirement in full (partly met is no)? {row['rubric'].strip()}"
    return Question(str(row["id"]), text, material(before, last.content, row["response"], **beside), blind=row)
