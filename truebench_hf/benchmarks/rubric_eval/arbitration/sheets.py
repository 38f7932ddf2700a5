"""Arbitrated labels against people: a stratified sample out as blind sheets, and back (paper 003, section 3.4)."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.kappa import cohen_kappa, verbal_band
from truebench_hf.report import sheet_answers, sheets
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Message

Row = Mapping[str, Any]
T = TypeVar("T")


def export(folder: str, n: int, annotators: Sequence[str], out: str, seed: int) -> tuple[list[Path], dict[str, int]]:
    """Write the sheets of `n` labelled rows of an arbitration, stratified by split and instruction category.

    Returns the files, and how many rows stand for each `split category`. Raises UserError where the folder holds no
    labels.
    """
    if n < 1:
        raise UserError(f"--n {n}: must be at least 1")
    chosen = stratified(_labelled(folder), n, _stratum, seed)
    files = sheets.export((_question(row) for row in chosen), out, annotators, seed)
    return files, dict(Counter(map(_stratum, chosen)))


def compare(folder: str, answers: Iterable[str], decisions: Iterable[str] = ()) -> dict[str, Any]:
    """How far people agree with the labels of an arbitration, and with each other.

    `answers` are the sheets of the annotators, `decisions` those of an adjudicator, which settle ties. Items that stay
    open are left out of `accuracy` and `kappa`: since they are the difficult ones, both are upper estimates as long as
    there are any (`upper_estimate`). `accuracy_open_wrong` counts them as wrong. Writes `human.json`, and `human.jsonl` with the labels for `--reference`, into the
    folder. Raises UserError on sheets that do not belong to it.
    """
    given = sheet_answers.read_back(list(answers))
    settled = sheet_answers.adjudicate(given, _decisions(list(decisions)))
    rows = {str(row["id"]): row for row in _labelled(folder)}
    if strange := [name for name in given.labels if name not in rows]:
        raise UserError(
            f"{strange[0]}: is in a sheet, but not among the labels of {folder}; give the sheets made for it"
        )
    among = sheet_answers.agreement(given)
    judged = [rows[name] for name in given.labels]
    groups = {name: [row for row in judged if _stratum(row) == name] for name in sorted(map(_stratum, rows.values()))}
    found = {
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
    labels = sheet_answers.label_rows(given, settled)
    labels = [label | {"response": rows[label["id"]]["response"]} for label in labels]
    write_whole(Path(folder) / "human.jsonl", (json.dumps(label, ensure_ascii=False) + "\n" for label in labels))
    write_whole(Path(folder) / "human.json", [json.dumps(found, ensure_ascii=False, indent=1) + "\n"])
    return found


def _labelled(folder: str) -> list[Row]:
    labels = Path(folder) / "labels"
    if not labels.is_dir():
        raise UserError(f"{folder}: holds no labels; give the folder of a finished `truebench study arbitrate`")
    if not any(file.stat().st_size for file in labels.glob("*.jsonl")):
        raise UserError(f"{folder}: the judges left no rubric with a label, so there is nothing to hold people against")
    return list(data.load(str(labels)))


def _stratum(row: Row) -> str:
    return f"{row['split']} {row['instruction_category']}"


def _question(row: Row) -> dict[str, Any]:
    """A row as an annotator sees it: neither the label nor what judges said."""
    *before, last = (Message(message["role"], message["content"]) for message in row["messages"])
    beside = {"Context": row.get("context"), "Reference answer": row.get("reference")}
    return {
        "id": str(row["id"]),
        "sections": sheets.material(before, last.content, row["response"], **beside),
        "question": f"Does the response meet this requirement in full (partly met is no)? {row['rubric'].strip()}",
    }


def _against(rows: Sequence[Row], people: Mapping[str, str | None]) -> dict[str, Any]:
    """Accuracy (0..1) and Cohen's kappa of the arbitrated labels, people's being right; `n` rows are settled."""
    human, ours = [people.get(str(row["id"])) for row in rows], [row["label"] for row in rows]
    found = agreement(human, ours)
    kappa = cohen_kappa(human, ours).value
    return {
        "n": found.n,
        "n_open": found.unlabelled,
        "upper_estimate": found.unlabelled > 0,
        "accuracy": found.accuracy,
        "accuracy_open_wrong": (found.tp + found.tn) / len(rows) if rows else None,
        "kappa": kappa,
        "kappa_band": None if kappa is None else verbal_band(kappa),
    }


def _decisions(paths: Sequence[str]) -> dict[str, str]:
    if not paths:
        return {}
    given = sheet_answers.read_back(list(paths))
    return {item: label for name in given.annotators for item, label in given.of(name).items()}


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
