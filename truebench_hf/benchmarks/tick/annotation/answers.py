"""Filled-in sheets back into rows of the `checklists` form: written lists, preferences, answers and scores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick.annotation.questions import Target, every
from truebench_hf.data.checklist_rows import Entry, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import Checklist, read_checklist
from truebench_hf.report.labels import Annotations
from truebench_hf.text.whole_files import write_whole

Row = dict[str, Any]


@dataclass
class Returned:
    """The rows with all answers, and what came of the sheets: `counts` by what they are, `notes` on what did not fit."""

    rows: list[Row]
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def count(self, what: str) -> None:
        """One more of these."""
        self.counts[what] = self.counts.get(what, 0) + 1


def joined(entries: Sequence[Entry], new: Annotations) -> Returned:
    """The rows with the answers of sheets that were made of them; a newer answer replaces an older one, a blank none.

    Raises UserError on sheets that were made of other rows.
    """
    targets = every(entries)
    if strange := [name for name in new.labels if name not in targets]:
        raise UserError(
            f"{strange[0]}: is in a sheet, but asks about no row of the data as it is now; give the data that the sheets "
            "were made of"
        )
    found = Returned([dict(entry.row) for entry in entries])
    by_id = dict(zip((entry.id for entry in entries), found.rows, strict=True))
    lists = {(entry.id, one.id): one.questions for entry in entries for one in entry.checklists}
    for annotator in new.annotators:
        said = new.of(annotator)
        for target, label in ((target, said[item]) for item, target in targets.items() if item in said):
            _PARTS[target.part](by_id[target.entry], target, annotator, label, lists, found)
    read_rows(found.rows)  # what we write can be read
    return found


def read_rows(rows: Sequence[Row]) -> list[Entry]:
    """The entries of rows in memory. Raises UserError."""
    return [read(Record(f"row {row['id']}", row)) for row in rows]


def write(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as JSONL, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, (json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _listed(row: Row, name: str) -> list[Row]:
    """A list of a row that may be changed: the rows of the data stay as they are."""
    row[name] = [dict(one) for one in row.get(name) or []]
    return row[name]  # type: ignore[no-any-return]


def _entry(row: Row, name: str, key: Row, found: Returned, what: str) -> Row:
    """The entry of a list with this key; a new one, where there is none."""
    listed = _listed(row, name)
    for one in listed:
        if all(one.get(field) == value for field, value in key.items()):
            return one
    listed.append(dict(key))
    found.count(what)
    return listed[-1]


def _doubt(row: Row, target: Target, annotator: str, label: str, lists: Any, found: Returned) -> None:
    if label == "no":
        why = "all right to ask for" if target.part == "safe" else "one that makes sense"
        found.notes.append(f"{row['id']}: {annotator} finds the instruction not {why}")


def _questions(row: Row, target: Target, annotator: str, label: str, lists: Any, found: Returned) -> None:
    """A list that somebody wrote, as another run of theirs unless they wrote the same before."""
    made = read_checklist(f"Questions:\n{label}")
    if not isinstance(made, Checklist):
        found.notes.append(f"{row['id']}: what {annotator} wrote has no question: each ends with a question mark")
        return
    if dropped := made.duplicates + made.others:
        found.notes.append(f"{row['id']}: of the lines of {annotator} {dropped} were no questions, or stood twice")
    listed = _listed(row, "checklists")
    own = [one for one in listed if one.get("author") == annotator]
    if list(made.questions) in [list(one["questions"]) for one in own]:
        return
    run = 1 + max((int(one.get("run", 1)) for one in own), default=0)
    name, taken = f"{annotator}, run {run}", {one.get("id") for one in listed}
    while name in taken:
        name += "'"
    facts = {"author": annotator, "source": "human", "run": run, "chosen": False}
    listed.append({"id": name, **facts, "questions": list(made.questions)})
    found.count("checklists")


def _preference(row: Row, target: Target, annotator: str, label: str, lists: Any, found: Returned) -> None:
    """A rating, told in the order in which the data has the two responses."""
    order = [response["id"] for response in row["responses"]]
    a, b = target.responses
    rating = int(label)
    if order.index(a) > order.index(b):
        a, b, rating = b, a, 6 - rating
    before = [one for one in _listed(row, "preferences") if one["annotator"] == annotator]
    turned = next((one for one in before if (one["response_a"], one["response_b"]) == (b, a)), None)
    if turned is not None:
        turned["rating"] = 6 - rating
        return
    key = {"annotator": annotator, "response_a": a, "response_b": b}
    _entry(row, "preferences", key, found, "preferences")["rating"] = rating


def _answer(
    row: Row, target: Target, annotator: str, label: str, lists: Mapping[Any, Sequence[str]], found: Returned
) -> None:
    key = {"response_id": target.responses[0], "checklist_id": target.checklist, "annotator": annotator}
    one = _entry(row, "answers", key, found, "answered checklists")
    questions = lists[row["id"], target.checklist]
    one["answers"] = list(one.get("answers") or [None] * len(questions))
    one["answers"][target.place] = label


def _score(row: Row, target: Target, annotator: str, label: str, lists: Any, found: Returned) -> None:
    one = _scored(row, target, annotator, found)
    one |= {"score": int(label), "checklist_id": target.checklist or None, "effect": one.get("effect")}


def _effect(row: Row, target: Target, annotator: str, label: str, lists: Any, found: Returned) -> None:
    scored = [one for one in _listed(row, "ratings") if _is(one, target, annotator)]
    if scored:
        scored[0]["effect"] = label
    else:
        found.notes.append(f"{row['id']}: {annotator} told what the checklist did, but gave no score")


def _scored(row: Row, target: Target, annotator: str, found: Returned) -> Row:
    key = {"response_id": target.responses[0], "annotator": annotator, "protocol": target.protocol}
    return _entry(row, "ratings", key, found, "scores")


def _is(one: Row, target: Target, annotator: str) -> bool:
    its = (one["response_id"], one["annotator"], one["protocol"])
    return its == (target.responses[0], annotator, target.protocol)


_PARTS = {
    "safe": _doubt,
    "sense": _doubt,
    "questions": _questions,
    "preference": _preference,
    "answer": _answer,
    "score": _score,
    "effect": _effect,
}
