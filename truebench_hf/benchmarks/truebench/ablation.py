"""The ablation over aspects (paper 000, section 5.2 and Table 3): edited criteria, scores of every subset, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict

from truebench_hf.benchmarks.truebench.validator import ASPECTS, MEANING, Kind, Validation
from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement, by_group
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.study.ranking import Ranking
from truebench_hf.types import Criterion, Instance, Score

if TYPE_CHECKING:
    from pandas import DataFrame

RELEASE = "v0.6.1"  # whose edits come with this package
# All subsets of the aspects, in the order of Table 3.
SUBSETS = tuple(subset for count in range(len(ASPECTS) + 1) for subset in combinations(ASPECTS, count))
EDITS: tuple[Kind, ...] = tuple(ASPECTS.values())
ALWAYS, _NONE, _FULL = "always FAIL", "none", ", ".join(ASPECTS)
_PAPER_BEST = 0.610


class Edit(Row):
    """A line of a file of edits: what is done to which criterion (from 1) of which turn (from 1) of an instance.

    E1 puts `now` in the place of `was`, which stands at the character `at` of the criterion; E2 inserts a criterion `text`
    before the criterion of that number; E3 removes one. `holds` is what a reader found: whether the edit is what it
    claims, of an unedited row whether it is faultless.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    keeps_blanks = ("was", "now", "text")

    id: str
    edit: Literal["unedited", "E1", "E2", "E3"]
    turn: int = 0
    criterion: int = 0
    at: int = 0
    was: str = ""
    now: str = ""
    text: str = ""
    what: str = ""
    holds: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class Edited:
    """An instance, and what was done to it. The number of an edit is the criterion's in the instance as it is now."""

    instance: Instance
    edit: Edit


@dataclass(frozen=True)
class Validated(Edited):
    """An instance, as it is or with a known edit, and what the validator says by the aspects it was told about."""

    by_aspects: dict[tuple[str, ...], Validation]

    @property
    def validation(self) -> Validation:
        """With all the aspects that there are."""
        return self.by_aspects[max(self.by_aspects, key=len)]


def read_edits(name: str) -> list[Edit]:
    """Return the edits that come with this package (`v0.6.1`), or those of a JSONL file. Raises UserError naming line and field."""
    file = Path(__file__).with_name("ablation.jsonl") if name == RELEASE else Path(name)
    rows = jsonl.read(file, f"give {RELEASE} or a JSONL file of edits")
    return [Record(f"--ablation {where}", row).read(Edit) for where, row in rows]


def edited_rows(instances: Sequence[Instance], edits: Iterable[Edit]) -> list[Edited]:
    """Return the edited instances among these, in their order. Raises UserError where an edit does not fit its instance."""
    by_id = {edit.id: edit for edit in edits}
    return [_edited(instance, by_id[instance.id]) for instance in instances if instance.id in by_id]


def _edited(instance: Instance, edit: Edit) -> Edited:
    if edit.edit == "unedited":
        return Edited(instance, edit)
    turns, place = list(instance.turns), edit.criterion - 1
    criteria = list(turns[edit.turn - 1].criteria) if 1 <= edit.turn <= len(turns) else []
    fits = 0 <= place < len(criteria) + (edit.edit == "E2")
    if fits and edit.edit == "E1":
        text, end = criteria[place].text, edit.at + len(edit.was)
        fits = bool(edit.was) and text[edit.at : end] == edit.was
        criteria[place] = replace(criteria[place], text=text[: edit.at] + edit.now + text[end:], rule=None)
    elif fits and edit.edit == "E2":
        fits = bool(edit.text.strip())
        criteria.insert(place, Criterion(edit.text))
    elif fits:
        del criteria[place]
    if not fits:
        raise UserError(
            f"--ablation: {edit.id}, turn {edit.turn}, criterion {edit.criterion}: {edit.edit} cannot be done there; give its "
            "own --data"
        )
    turns[edit.turn - 1] = replace(turns[edit.turn - 1], criteria=tuple(criteria))
    return Edited(replace(instance, turns=tuple(turns)), edit)


def ablation_frame(done: Sequence[Validated]) -> DataFrame:
    """Return a row per set of aspects and instance, and one for saying FAIL to everything.

    `gold` and `label` are "yes" for FAIL, a missing label is undecided; rows that are not edited count as faultless.
    `named` is whether a defect of the kind of the `edit` is found, `placed` whether also at the criterion that was edited
    (of E3 in its turn); None where nobody looked for it, or nothing could be read.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for row in done:
        edit = row.edit
        kind, where = edit.edit, (edit.turn, None if edit.edit == "E3" else edit.criterion)
        about = {"edit": kind, "gold": "no" if kind == "unedited" else "yes"}
        rows.append(about | {"aspects": ALWAYS, "label": "yes"})
        for aspects, validation in row.by_aspects.items():
            named = None if kind == "unedited" else validation.found(kind)
            placed = any(
                (finding.turn, finding.criterion) == where for finding in validation.findings if finding.kind == kind
            )
            label = {"FAIL": "yes", "PASS": "no", None: None}[validation.label]
            found = {"named": named, "placed": None if named is None else placed}
            rows.append(about | {"aspects": ", ".join(aspects) or _NONE, "label": label} | found)
    columns = ["aspects", "edit", "gold", "label", "named", "placed"]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    orders = {"aspects": [*(", ".join(subset) or _NONE for subset in SUBSETS), ALWAYS], "edit": [*EDITS, "unedited"]}
    return frame.assign(**{name: pd.Categorical(frame[name], order) for name, order in orders.items()})


def subset_scores(frame: DataFrame) -> list[dict[str, Any]]:
    """Return what a validator reaches that was told about some aspects: over the rows it decided, undecided ones beside.

    `f1_strict` counts an undecided row as wrong, so that nobody gains by saying nothing.
    """
    measures = ("f1_yes", "f1_yes_strict", "precision", "tpr", "balanced_accuracy")
    rows = agreement(frame, ["aspects"], measures=measures).to_dict("records")
    return [
        row | {"f1": replace(row["f1_yes"], n=row["n"], unscored=row["undecided"]), "recall": row["tpr"],
               "f1_strict": replace(row["f1_yes_strict"], n=row["n"] + row["undecided"], unscored=0)}
        for row in rows
    ]  # fmt: skip


def edit_rates(frame: DataFrame) -> list[dict[str, Any]]:
    """Return by aspects and edit how many rows are FAIL, for whatever defect, and in how many the edit is found."""

    def rates(part: DataFrame) -> dict[str, Any]:
        def share(values: Iterable[Any]) -> Score | None:
            known = list(values)
            return None if set(known) <= {None} else pass_rate(known)

        flagged = pass_rate([None if label is None else label == "yes" for label in part["label"]])
        return {"rows": len(part), "flagged": flagged, "named": share(part["named"]), "placed": share(part["placed"])}

    return by_group(frame[frame["aspects"] != ALWAYS], ["aspects", "edit"], rates).to_dict("records")  # type: ignore[no-any-return]


_NUMBER: Any = {"kind": "score", "unit": "", "digits": 3}
_SHARES = (
    Column("f1", "F1", about="Over decided rows; FAIL is the positive class.", parts=("value", "interval", "n", "unscored"), drawn=True, **_NUMBER),
    Column("f1_strict", "undecided as wrong", about="F1 with undecided rows as wrong.", minor=1, **_NUMBER),
    Column("precision", "precision", minor=2, **_NUMBER),
    Column("recall", "recall", minor=2, **_NUMBER),
    Column("balanced_accuracy", "balanced accuracy", minor=3, **_NUMBER),
)  # fmt: skip
_HITS = (
    Column("edit", "edit"), Column("rows", "rows", "count"),
    Column("flagged", "FAIL, %", "score", "The share that is FAIL, for whatever defect.", parts=("value", "interval")),
    Column("named", "the defect named, %", "score", "The share in which a defect of the kind is found.",
           parts=("value", "interval")),
    Column("placed", "and at its place, %", "score", "The share in which it is found where the edit is; for E3 in the turn "
           "that lost a criterion.", parts=("value", "interval")),
)  # fmt: skip


def ablation_tables(frame: DataFrame, release: bool) -> list[Table]:
    """Table 3 with the paper's rows beside, what saying FAIL to everything gives, and what becomes of each edit."""
    scores, edits = subset_scores(frame), edit_rates(frame)
    base = next(row["f1"] for row in scores if row["aspects"] == ALWAYS)
    tie = _PAPER_BEST / (2 - _PAPER_BEST)  # the share of FAIL at which always saying FAIL has this F1
    about_paper = (
        "The paper's truth is what its annotators changed, ours what an edit broke, so that its rows are no yardstick for "
        f"ours. Saying FAIL to everything has an F1 of {base.value:.3f} here. The paper does not tell how many of its "
        f"rows are FAIL: from a share of {tie:.2f} on its best F1, {_PAPER_BEST:.3f}, is no better than saying FAIL to everything."
    )
    paper = [
        {"aspects": ", ".join(name for name in ASPECTS if row[name.capitalize()]) or _NONE, "f1": Score(row["F1 score"], 0),
         PUBLISHED: True}
        for row in paper_rows("truebench", "truebench_table3")
    ]  # fmt: skip
    title = "Aspects in the validator's prompt (like the paper's Table 3)"
    full = [
        row | {"edit": f"{row['edit']}, {MEANING[row['edit']]}" if row["edit"] in EDITS else row["edit"]}
        for row in edits
        if row["aspects"] == _FULL
    ]
    note = (
        "With all three aspects. Unedited is not faultless. E1 and E3 need criteria that demand what the instruction states: "
        "summaries and translations have most of them, and fewer are left among the unedited."
    )
    if release:  # what reading 30 rows of each kind showed, see `holds` in ablation.jsonl
        note += (
            " Of 30 unedited rows that somebody read 7 have defects: a validator that finds every edit and these would have a "
            "precision of about 0.81 and an F1 of about 0.90."
        )
    aspects = Column("aspects", "aspects")
    return [
        Table("aspects", (aspects, *_SHARES), [*scores, *paper], title, about_paper),
        Table("", _HITS, full, "Known defects that are found", note),
        Table("edits", (aspects, *_HITS), edits, "Known defects by aspects", keys=2, printed=False),
    ]  # fmt: skip


def ranking(frame: DataFrame, provenance: Mapping[str, Any]) -> Ranking:
    """A validator among others that were asked, in the same words, about the same edited rows."""
    columns = [
        Column("validator", "Validator"), Column("data", "Data"), Column("f1_strict", "F1, undecided as wrong", "score"),
        Column("f1", "F1", "score"), Column("precision", "Precision", "score"), Column("recall", "Recall", "score"),
        Column("balanced_accuracy", "Balanced accuracy", "score"),
        *(Column(f"named:{kind}", f"{kind} named", "score", group="Known defects that are named") for kind in EDITS),
    ]  # fmt: skip
    row = next(row for row in subset_scores(frame) if row["aspects"] == _FULL)
    row |= {"validator": provenance["validator"], "data": provenance.get("data")}
    row |= {f"named:{rate['edit']}": rate["named"] for rate in edit_rates(frame) if rate["aspects"] == _FULL}
    alike = [provenance.get("data_sha256"), provenance.get("prompts")]
    return Ranking(
        Table("ranking", columns, [row]), "f1_strict", alike, title="Validators of criteria",
        unit="F1 in % (FAIL is positive)",
    )  # fmt: skip
