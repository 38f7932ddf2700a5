"""Arbitrated labels against people: a stratified sample out as blind sheets, and back (paper 003, section 3.4)."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.arbitration.validation import human_section
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, AnnotatorAgreement, Settled
from truebench_hf.report.sheets import Question, material
from truebench_hf.study.labelling import Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message

DEFAULT_N = 160  # as in the paper
LABELS, SCORES = "human.jsonl", "human.json"
Row = Mapping[str, Any]
T = TypeVar("T")


class ArbitrationLabels(Labelling):
    """The labels of an arbitration, to people who see neither them nor what judges said."""

    annotators = ("first", "second")

    def labels_file(self, options: LabelInOptions) -> Path:
        return Path(self.place) / LABELS

    def draw(self, options: LabelAskOptions) -> Draw:
        """`n` labelled rows, stratified by split and instruction category."""
        chosen = stratified(_labelled(self.place), options.n or DEFAULT_N, _stratum, options.seed)
        strata = Counter(map(_stratum, chosen))
        return Draw([_question(row) for row in chosen], [f"{count:5} {name}" for name, count in strata.items()])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `human.json`, how far people agree with the labels and with each other, and `human.jsonl`, their labels
        for `--reference`; `value` is the content of `human.json`.
        """
        rows = {str(row["id"]): row for row in _labelled(self.place)}
        file = self.labels_file(options)
        settled = self.settle(new, decisions, file, rows)
        among = labels.agreement(settled.annotations)
        scores = compare(list(rows.values()), settled, among)
        labels.write_rows(file, (label | {"response": rows[label["id"]]["response"]} for label in settled.rows))
        write_whole(file.with_name(SCORES), [json.dumps(scores, ensure_ascii=False, indent=1) + "\n"])
        until = ["Until an adjudicator settles what is open (--decisions), accuracy and kappa are upper estimates."]
        notes = [*open_notes(settled), *(until if settled.open else [])]
        return Taken(scores, among, [human_section(scores)], notes=notes, files=[file, file.with_name(SCORES)])


def compare(rows: Sequence[Row], settled: Settled, among: AnnotatorAgreement) -> dict[str, Any]:
    """How far people agree with the labels of an arbitration, and with each other.

    Rows that stay open are left out of `accuracy` and `kappa`: since they are the difficult ones, both are upper
    estimates as long as there are any (`upper_estimate`). `accuracy_open_wrong` counts them as wrong.
    """
    judged = [row for row in rows if str(row["id"]) in settled.labels]
    groups = {name: [row for row in judged if _stratum(row) == name] for name in sorted(map(_stratum, rows))}
    return {
        **_against(judged, settled.labels),
        "open": list(settled.open),
        "by_stratum": {name: _against(group, settled.labels) for name, group in groups.items()},
        "annotators": {
            "names": list(among.annotators),
            "raw": among.raw,
            "fleiss_kappa": among.fleiss.value,
            "krippendorff_alpha": among.alpha.value,
            "missing": dict(among.missing),
        },
    }


def _labelled(folder: str) -> list[Row]:
    place = Path(folder) / "labels"
    if not place.is_dir():
        raise UserError(f"{folder}: holds no labels; give the folder of a finished `truebench study arbitrate`")
    if not any(file.stat().st_size for file in place.glob("*.jsonl")):
        raise UserError(f"{folder}: the judges left no rubric with a label, so there is nothing to hold people against")
    return list(data.load(str(place)))


def _stratum(row: Row) -> str:
    return f"{row['split']} {row['instruction_category']}"


def _question(row: Row) -> Question:
    """A row as an annotator sees it: neither the label nor what judges said."""
    *before, last = (Message(message["role"], message["content"]) for message in row["messages"])
    beside = {"Context": row.get("context"), "Reference answer": row.get("reference")}
    text = f"Does the response meet this requirement in full (partly met is no)? {row['rubric'].strip()}"
    return Question(str(row["id"]), text, material(before, last.content, row["response"], **beside), blind=row)


def _against(rows: Sequence[Row], people: Mapping[str, str | None]) -> dict[str, Any]:
    """Accuracy (0..1) and Cohen's kappa of the arbitrated labels, people's being right; `n` rows are settled."""
    human, ours = [people.get(str(row["id"])) for row in rows], [row["label"] for row in rows]
    agreement = label_agreement(human, ours, measures=("accuracy", "kappa"))
    kappa = agreement["kappa"].value
    return {
        "n": agreement["n"] + agreement["undecided"],
        "n_open": agreement["unlabelled"],
        "upper_estimate": agreement["unlabelled"] > 0,
        "accuracy": agreement["accuracy"].value,
        "accuracy_open_wrong": (agreement["tp"] + agreement["tn"]) / len(rows) if rows else None,
        "kappa": kappa,
        "kappa_band": None if kappa is None else verbal_band(kappa),
    }


def stratified(rows: Sequence[T], n: int, group: Callable[[T], Hashable], seed: int) -> list[T]:
    """`n` rows (all, where there are fewer), drawn by `seed` from each group in proportion, in the order of `rows`.

    Shares are rounded by the largest remainder, but no group goes empty while there is room for all of them.
    """
    groups: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(group(row), []).append(place)
    n = min(n, len(rows))
    least = 1 if n >= len(groups) else 0
    exact = {name: n * len(places) / len(rows) for name, places in groups.items()}
    taken = {name: max(least, int(share)) for name, share in exact.items()}
    while sum(taken.values()) < n:
        taken[max((g for g in groups if taken[g] < len(groups[g])), key=lambda g: exact[g] - taken[g])] += 1
    while sum(taken.values()) > n:  # the guaranteed ones may overshoot
        taken[min((g for g in groups if taken[g] > least), key=lambda g: exact[g] - taken[g])] -= 1
    draw = random.Random(seed)
    return [rows[i] for i in sorted(i for name, places in groups.items() for i in draw.sample(places, taken[name]))]
