"""Instances with one known defect each: what validators are measured on.

The paper's truth is what its annotators changed (section 5.2), which is not published. Here it is what an edit broke:

    E1  a number, a language or a keyword that the instruction states, altered in the criterion that demands it
    E2  a demand on the form of the response added, of which the instruction says nothing
    E3  the criterion removed that demands a stated number, language or keyword, where no other might cover it

Beside these stand instances as they are, which nobody has proved faultless. `ablation.jsonl` holds the edits of 300 items
of v0.6.1, none of its texts, and for 120 of them whether a reader found the row to be what it claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance

EditKind = Literal["unedited", "E1", "E2", "E3"]
RELEASE = "v0.6.1"  # whose edits come with this package


class Edit(Row):
    """A line of a file of edits: what is done to which criterion (from 1) of which turn (from 1) of an instance.

    E1 puts `now` in the place of `was`, which stands at the character `at` of the criterion; E2 inserts a criterion `text`
    before the criterion of that number; E3 removes one. `holds` is what a reader found: whether the edit is what it
    claims, of an unedited row whether it is faultless.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    keeps_blanks = ("was", "now", "text")

    id: str
    edit: EditKind
    turn: int = Field(0, ge=0)
    criterion: int = Field(0, ge=0)
    at: int = Field(0, ge=0)
    was: str = ""
    now: str = ""
    text: str = ""
    what: str = ""
    holds: bool | None = None
    note: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {
            "E1": ("turn", "criterion", "was", "now"),
            "E2": ("turn", "criterion", "text"),
            "E3": ("turn", "criterion"),
        }
        if missing := [name for name in needed.get(self.edit, ()) if not getattr(self, name)]:
            raise ValueError(f"{self.edit} needs {', '.join(missing)}")
        return self


@dataclass(frozen=True, slots=True)
class Edited:
    """An instance and what was done to it: to which criterion of which turn (from 1), and how, in words.

    The number is the criterion's in the instance as it is now; of E3 the one it had before it was removed. `holds` is
    whether a reader found it to be so, None where nobody read it, and `note` is the reader's.
    """

    instance: Instance
    edit: EditKind
    turn: int | None = None
    criterion: int | None = None
    what: str = ""
    holds: bool | None = None
    note: str = ""


def read_edits(name: str) -> list[Edit]:
    """The edits that come with this package (`v0.6.1`), or those of a JSONL file. Raises UserError naming line and field."""
    file = Path(__file__).with_name("ablation.jsonl") if name == RELEASE else Path(name)
    rows = jsonl.read(file, f"give {RELEASE} or a JSONL file of edits")
    return [Record(f"--ablation {where}", row).read(Edit) for where, row in rows]


def edited_rows(instances: Sequence[Instance], edits: Iterable[Edit]) -> list[Edited]:
    """The edited instances among these, in the order of the data. Raises UserError where an edit does not fit its instance."""
    by_id = {edit.id: edit for edit in edits}
    return [_applied(instance, by_id[instance.id]) for instance in instances if instance.id in by_id]


def _applied(instance: Instance, edit: Edit) -> Edited:
    read = (edit.holds, edit.note)
    if edit.edit == "unedited":
        return Edited(instance, edit.edit, None, None, "", *read)
    turns, last = list(instance.turns), edit.criterion - (edit.edit == "E2")
    if edit.turn > len(turns) or last > len(turns[edit.turn - 1].criteria):
        raise UserError(
            f"--ablation: {edit.id} has no criterion {edit.criterion} in turn {edit.turn}; give its own --data"
        )
    criteria, place = list(turns[edit.turn - 1].criteria), edit.criterion - 1
    what = edit.what
    if edit.edit == "E1":
        text, end = criteria[place].text, edit.at + len(edit.was)
        if text[edit.at : end] != edit.was:
            raise UserError(
                f"--ablation: {edit.id}, criterion {edit.criterion} has no {edit.was!r} at {edit.at}; give its own --data"
            )
        criteria[place] = replace(criteria[place], text=text[: edit.at] + edit.now + text[end:], rule=None)
        what = what or f"{edit.was} is now {edit.now}"
    elif edit.edit == "E2":
        criteria.insert(place, Criterion(edit.text))
        what = what or f"added: {edit.text}"
    else:
        del criteria[place]
    turns[edit.turn - 1] = replace(turns[edit.turn - 1], criteria=tuple(criteria))
    return Edited(replace(instance, turns=tuple(turns)), edit.edit, edit.turn, edit.criterion, what, *read)
