"""The ablation over aspects (paper 000, section 5.2 and Table 3): edited criteria, scores of every subset, tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from truebench_hf.benchmarks.truebench.validator import ASPECTS, MEANING, Kind, Label, Validation, kinds
from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.intervals import resampled_ratio
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.report.sections import fixed
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.study.ranking import Ranking
from truebench_hf.types import Criterion, Instance, Score

EditKind = Literal["unedited", "E1", "E2", "E3"]
RELEASE = "v0.6.1"  # whose edits come with this package
# All subsets of the aspects, in the order of Table 3.
SUBSETS = tuple(subset for count in range(len(ASPECTS) + 1) for subset in combinations(ASPECTS, count))
EDITS: tuple[Kind, ...] = tuple(ASPECTS.values())
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


@dataclass(frozen=True)
class Validated:
    """An instance, as it is or with a known edit, and what the validator says by the aspects it was told about."""

    edited: Edited
    by_aspects: dict[tuple[str, ...], Validation]

    @property
    def validation(self) -> Validation:
        """With all the aspects that there are."""
        return self.by_aspects[max(self.by_aspects, key=len)]


def read_edits(name: str) -> list[Edit]:
    """The edits that come with this package (`v0.6.1`), or those of a JSONL file. Raises UserError naming line and field."""
    file = Path(__file__).with_name("ablation.jsonl") if name == RELEASE else Path(name)
    rows = jsonl.read(file, f"give {RELEASE} or a JSONL file of edits")
    return [Record(f"--ablation {where}", row).read(Edit) for where, row in rows]


def edited_rows(instances: Sequence[Instance], edits: Iterable[Edit]) -> list[Edited]:
    """The edited instances among these, in the order of the data. Raises UserError where an edit does not fit its instance."""
    by_id = {edit.id: edit for edit in edits}
    return [_edited(instance, by_id[instance.id]) for instance in instances if instance.id in by_id]


def _edited(instance: Instance, edit: Edit) -> Edited:
    if edit.edit == "unedited":
        return Edited(instance, edit.edit, holds=edit.holds, note=edit.note)
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
    changed = replace(instance, turns=tuple(turns))
    return Edited(changed, edit.edit, edit.turn, edit.criterion, what, edit.holds, edit.note)


Pair = tuple[Edited, Validation]


@dataclass(frozen=True)
class SubsetScores:
    """What a validator that was told about some aspects reaches: over the rows it decided, undecided ones beside.

    Scores are shares. `f1_strict` counts an undecided row as wrong, so that nobody gains by saying nothing. `flagged`
    says how many rows with each edit are FAIL, for whatever defect; `named` in how many a defect of its kind is found,
    `placed` in how many also at the criterion that was edited (of E3 in its turn).
    """

    aspects: tuple[str, ...]
    f1: Score
    f1_strict: Score
    precision: Score
    recall: Score
    balanced_accuracy: Score
    flagged: Mapping[str, Score]
    named: Mapping[str, Score]
    placed: Mapping[str, Score]


def subset_scores(aspects: tuple[str, ...], rows: Sequence[Pair]) -> SubsetScores:
    """The scores of one validator, told about these aspects. Rows that are not edited count as faultless."""
    truth: list[Label] = ["PASS" if edited.edit == "unedited" else "FAIL" for edited, _ in rows]
    labels = [validation.label for _, validation in rows]
    positive = {"FAIL": "yes", "PASS": "no", None: None}
    measures = ("f1_yes", "f1_yes_strict", "precision", "tpr", "balanced_accuracy")
    reached = label_agreement([positive[t] for t in truth], [positive[label] for label in labels], measures=measures)
    right = [t == label == "FAIL" for t, label in zip(truth, labels, strict=True)]
    wrong = [label is not None and t != label for t, label in zip(truth, labels, strict=True)]
    open_or_wrong = [t != label for t, label in zip(truth, labels, strict=True)]
    n, undecided = reached["n"], reached["undecided"]
    flagged, named, placed = dict[str, Score](), dict[str, Score](), dict[str, Score]()
    for kind in (*EDITS, "unedited"):
        own = [pair for pair in rows if pair[0].edit == kind]
        flagged[kind] = pass_rate([None if v.label is None else v.label == "FAIL" for _, v in own])
        if kind not in kinds(aspects):
            continue
        named[kind] = pass_rate([validation.found(kind) for _, validation in own])
        placed_in_row: list[bool | None] = []
        for edited, validation in own:
            where = (edited.turn, None if kind == "E3" else edited.criterion)
            hit = any((finding.turn, finding.criterion) == where for finding in validation.of(kind))
            placed_in_row.append(hit if validation.label else None)
        placed[kind] = pass_rate(placed_in_row)
    return SubsetScores(
        aspects,
        Score(reached["f1_yes"].value, n, undecided, _interval(right, wrong)),
        Score(reached["f1_yes_strict"].value, len(rows), 0, _interval(right, open_or_wrong)),
        Score(reached["precision"].value, reached["tp"] + reached["fp"]),
        Score(reached["tpr"].value, reached["tp"] + reached["fn"]),
        Score(reached["balanced_accuracy"].value, n, undecided),
        flagged,
        named,
        placed,
    )


def _interval(right: Sequence[bool], wrong: Sequence[bool]) -> tuple[float, float] | None:
    """The interval of an F1, by rows: found, and else wrong (missed, or flagged without need)."""
    return resampled_ratio([2 * r for r in right], [2 * r + w for r, w in zip(right, wrong, strict=True)])


def always_fail(rows: Sequence[Edited]) -> SubsetScores:
    """What saying FAIL to everything gives: the F1 to be beaten."""
    return subset_scores((), [(row, Validation("FAIL", ())) for row in rows])


_ALWAYS = "always FAIL"
_NUMBER: Any = {"kind": "score", "unit": "", "digits": 3}
_SHARES = (
    Column("f1", "F1", about="Over decided rows; FAIL is the positive class.", parts=("value", "interval", "n", "unscored"), drawn=True, **_NUMBER),
    Column("f1_strict", "undecided as wrong", about="F1 with undecided rows as wrong.", minor=1, **_NUMBER),
    Column("precision", "precision", minor=2, **_NUMBER),
    Column("recall", "recall", minor=2, **_NUMBER),
    Column("balanced_accuracy", "balanced accuracy", minor=3, **_NUMBER),
)  # fmt: skip
_HITS = (
    Column("flagged", "FAIL, %", "score", "The share that is FAIL, for whatever defect.", parts=("value", "interval")),
    Column("named", "the defect named, %", "score", "The share in which a defect of the kind is found.",
           parts=("value", "interval")),
    Column("placed", "and at its place, %", "score", "The share in which it is found where the edit is; for E3 in the turn "
           "that lost a criterion.", parts=("value", "interval")),
)  # fmt: skip


def ablation_tables(subsets: Sequence[SubsetScores], rows: Sequence[Edited]) -> list[Table]:
    """Table 3 with the paper's rows beside, what saying FAIL to everything gives, and what becomes of each edit."""
    base, counts = always_fail(rows), Counter[str](row.edit for row in rows)
    tie = _PAPER_BEST / (2 - _PAPER_BEST)  # the share of FAIL at which always saying FAIL has this F1
    about_paper = (
        "The paper's truth is what its annotators changed, ours what an edit broke, so that its rows are no yardstick for "
        f"ours. Saying FAIL to everything has an F1 of {fixed(base.f1.value, 3)} here. The paper does not tell how many of its "
        f"rows are FAIL: from a share of {tie:.2f} on its best F1, {_PAPER_BEST:.3f}, is no better than saying FAIL to everything."
    )
    aspects = [
        _marks("yes" if name in subset.aspects else "no" for name in ASPECTS) | vars(subset) for subset in subsets
    ]
    aspects.append(_marks((_ALWAYS, "", "")) | vars(base))
    aspects += [
        _marks("yes" if row[name.capitalize()] else "no" for name in ASPECTS)
        | {"f1": Score(row["F1 score"], 0), PUBLISHED: True}
        for row in paper_rows("truebench", "truebench_table3")
    ]
    columns = [Column(name, name.capitalize()) for name in ASPECTS]
    title = "Aspects in the validator's prompt (like the paper's Table 3)"
    edits = [
        {
            "aspects": ", ".join(subset.aspects) or "none", "edit": kind, "rows": counts[kind],
            "flagged": subset.flagged[kind], "named": subset.named.get(kind), "placed": subset.placed.get(kind),
        }
        for subset in subsets for kind in (*EDITS, "unedited")
    ]  # fmt: skip
    edit_columns = (Column("edit", "edit"), Column("rows", "rows", "count"), *_HITS)
    full = [
        row | {"edit": f"{row['edit']}, {MEANING[row['edit']]}" if row["edit"] in EDITS else row["edit"]}
        for row in edits[-len(EDITS) - 1 :]
    ]
    note = (
        "With all three aspects. Unedited is not faultless. E1 and E3 need criteria that demand what the instruction states: "
        "summaries and translations have most of them, and fewer are left among the unedited."
    )
    return [
        Table("aspects", (*columns, *_SHARES), aspects, title, about_paper, keys=3),
        Table("", edit_columns, full, "Known defects that are found", note),
        *_readings(rows),
        Table("edits", (Column("aspects", "aspects"), *edit_columns), edits, "Known defects by aspects", keys=2, printed=False),
    ]  # fmt: skip


def _marks(cells: Iterable[str]) -> dict[str, Any]:
    return dict(zip(ASPECTS, cells, strict=True))


def _readings(rows: Sequence[Edited]) -> list[Table]:
    """What a reader found in the rows that were read, and what that means for precision; nothing where none were."""
    lines = []
    for kind in (*EDITS, "unedited"):
        read = [row for row in rows if row.edit == kind and row.holds is not None]
        flaws = " ".join(f"{row.instance.id}: {row.note}" for row in read if not row.holds)
        good = sum(bool(row.holds) for row in read)
        lines += [{"edit": kind, "good": good, "read": len(read), "flaws": flaws}] if read else []
    columns = (
        Column("edit", "edit"), Column("good", "as claimed, or faultless", "count"), Column("read", "of", "count"),
        Column("flaws", "of the others", "prose"),
    )  # fmt: skip
    return [Table("reading", columns, lines, "What reading the rows showed", ceiling(rows))] if lines else []


def ceiling(rows: Sequence[Edited]) -> str:
    """What the reading of unedited rows means for precision, in a sentence; "" where none were read."""
    unedited = [row.holds for row in rows if row.edit == "unedited" and row.holds is not None]
    if not unedited:
        return ""
    edited = sum(row.edit != "unedited" for row in rows)
    flagged = edited + unedited.count(False) / len(unedited) * (len(rows) - edited)
    return (
        "Unedited rows count as faultless. A validator that finds every edit, and in unedited rows what the reader found, "
        f"would have a precision of about {edited / flagged:.2f} and an F1 of about {2 * edited / (edited + flagged):.2f}."
    )


def ranking(full: SubsetScores, provenance: Mapping[str, Any]) -> Ranking:
    """A validator among others that were asked, in the same words, about the same edited rows."""
    columns = [
        Column("validator", "Validator"), Column("data", "Data"), Column("f1_strict", "F1, undecided as wrong", "score"),
        Column("f1", "F1", "score"), Column("precision", "Precision", "score"), Column("recall", "Recall", "score"),
        Column("balanced_accuracy", "Balanced accuracy", "score"),
        *(Column(f"named:{kind}", f"{kind} named", "score", group="Known defects that are named") for kind in EDITS),
    ]  # fmt: skip
    row = {"validator": provenance["validator"], "data": provenance.get("data"), **vars(full)}
    row |= {f"named:{kind}": score for kind, score in full.named.items()}
    alike = [provenance.get("data_sha256"), provenance.get("prompts")]
    return Ranking(
        Table("ranking", columns, [row]), "f1_strict", alike, title="Validators of criteria",
        unit="F1 in % (FAIL is positive)",
    )  # fmt: skip
