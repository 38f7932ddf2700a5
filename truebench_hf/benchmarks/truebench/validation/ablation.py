"""The ablation over aspects (paper 000, section 5.2 and Table 3): edited criteria, scores of every subset, tables, board."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from truebench_hf.benchmarks.truebench.validation.validator import ASPECTS, MEANING, Kind, Label, Validation
from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record
from truebench_hf.data.rows import Row as DataRow
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.intervals import resampled_ratio
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import (
    Cells,
    Grid,
    Section,
    fixed,
    interval,
    value,
)
from truebench_hf.study.outcome import Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Score

_PAPER_BEST = 0.610
_ALWAYS = "always FAIL"


def ablation(done: Sequence[Validated]) -> list[SubsetScores]:
    """The scores of every subset of the aspects, in the order of Table 3."""
    return [subset_scores(some, [(one.edited, one.by_aspects[some]) for one in done]) for some in SUBSETS]


def ablation_sections(found: Sequence[SubsetScores], rows: Sequence[Edited]) -> list[Section]:
    """Table 3 with the paper's rows beside, what saying FAIL to everything gives, and what becomes of each edit."""
    base = always_fail(rows)
    table = [_cells(["yes" if name in one.aspects else "no" for name in ASPECTS], one) for one in found]
    table.append(_cells((_ALWAYS, "", ""), base))
    flagged = [
        (", ".join(one.aspects) or "none", *(value(one.flagged[kind]) for kind in (*EDITS, "unedited")))
        for one in found
    ]
    paper = tuple(
        (*("yes" if row[name.capitalize()] else "no" for name in ASPECTS), fixed(row["F1 score"], 3))
        + ("",) * (len(_HEADER) - 4)
        for row in paper_rows("truebench", "truebench_table3")
    )
    return [
        Grid("Aspects in the validator's prompt (like the paper's Table 3)", _HEADER, tuple(table), paper, _note(base)),
        _by_edit(found[-1], rows),
        *_reading(rows),
        Grid("FAIL by edit and aspects, in %", ("aspects", *EDITS, "unedited"), tuple(flagged)),
    ]


_HEADER = (
    *(name.capitalize() for name in ASPECTS), "F1", "95 % interval", "undecided as wrong", "precision", "recall", "balanced accuracy", "n",
    "undecided",
)  # fmt: skip


def _cells(marks: Sequence[str], one: SubsetScores) -> Cells:
    """Shares are 0 to 1 with three digits, as the paper prints them."""
    ends = "" if one.f1.ci95 is None else f"{one.f1.ci95[0]:.3f} to {one.f1.ci95[1]:.3f}"
    beside = (one.f1_strict, one.precision, one.recall, one.balanced_accuracy)
    shares = (fixed(score.value, 3) for score in beside)
    return (*marks, fixed(one.f1.value, 3), ends, *shares, one.f1.n, one.undecided)


def _note(base: SubsetScores) -> str:
    tie = _PAPER_BEST / (2 - _PAPER_BEST)  # the share of FAIL at which always saying FAIL has this F1
    return (
        "FAIL, criteria that need change, is the positive class; shares are of decided rows. The paper's truth is what "
        "its annotators changed, ours what an edit broke, so that its rows are no yardstick for ours. Saying FAIL to "
        f"everything has an F1 of {fixed(base.f1.value, 3)} here. The paper does not tell how many of its rows are FAIL: "
        f"from a share of {tie:.2f} on its best F1, {_PAPER_BEST:.3f}, is no better than saying FAIL to everything."
    )


def _by_edit(full: SubsetScores, rows: Sequence[Edited]) -> Grid:
    counts: Counter[str] = Counter(row.edit for row in rows)
    shown: list[Cells] = []
    for kind in EDITS:
        scores = (full.flagged[kind], full.named[kind], full.placed[kind])
        shown.append((f"{kind}, {MEANING[kind]}", counts[kind], *map(_with_interval, scores)))
    shown.append(("unedited", counts["unedited"], _with_interval(full.flagged["unedited"]), "", ""))
    note = (
        "With all three aspects. At the place: for E3 in the turn that lost a criterion. Unedited is not faultless. E1 and "
        "E3 need criteria that demand what the instruction states: summaries and translations have most of them, and fewer "
        "are left among the unedited."
    )
    header = ("edit", "rows", "FAIL, %", "the defect named, %", "and at its place, %")
    return Grid("Known defects that are found", header, tuple(shown), note=note)


def _reading(rows: Sequence[Edited]) -> list[Section]:
    """What a reader found in the rows that were read, and what that means for precision; nothing where none were."""
    cells: list[Cells] = []
    for kind in (*EDITS, "unedited"):
        read = [row for row in rows if row.edit == kind and row.holds is not None]
        what = "faultless" if kind == "unedited" else "edited as claimed"
        flaws = [f"{row.instance.id}: {row.note}" for row in read if not row.holds]
        good = sum(bool(row.holds) for row in read)
        if read:
            cells.append((kind, f"{good} of {len(read)} read are {what}. {' '.join(flaws)}".strip()))
    note = ceiling(rows)
    return [Grid("What reading the rows showed", (), tuple(cells), note=note, prose=(1,))] if cells else []


def ceiling(rows: Sequence[Edited]) -> str:
    """What the reading of unedited rows means for precision, in a sentence; "" where none were read."""
    unedited = [row.holds for row in rows if row.edit == "unedited" and row.holds is not None]
    if not unedited:
        return ""
    edited = sum(row.edit != "unedited" for row in rows)
    found = edited + unedited.count(False) / len(unedited) * (len(rows) - edited)
    return (
        "Unedited rows count as faultless. A validator that finds every edit, and in unedited rows what the reader found, "
        f"would have a precision of about {edited / found:.2f} and an F1 of about {2 * edited / (edited + found):.2f}."
    )


def _with_interval(score: Score) -> str:
    return f"{value(score)} ({interval(score)})" if score.ci95 else value(score)


def as_json(found: Sequence[SubsetScores], rows: Sequence[Edited]) -> dict[str, Any]:
    """What `validation.json` holds of an ablation."""
    counts: Counter[str] = Counter(row.edit for row in rows)
    return {
        "rows": {kind: counts[kind] for kind in (*EDITS, "unedited")},
        "subsets": [asdict(one) for one in found],
        "always_fail": asdict(always_fail(rows)),
    }


def board(full: SubsetScores, made: Mapping[str, Any]) -> Board:
    """A validator among others that were asked, in the same words, about the same edited rows."""
    shown = (
        Column("f1_strict", "F1, undecided as wrong"),
        Column("f1", "F1"),
        Column("precision", "Precision"),
        Column("recall", "Recall"),
        Column("balanced_accuracy", "Balanced accuracy"),
    )
    kinds = [Column(f"named:{kind}", f"{kind} named", "Known defects that are named") for kind in EDITS]
    scores: dict[str, Score] = {column.name: getattr(full, column.name) for column in shown}
    scores |= {f"named:{kind}": full.named[kind] for kind in EDITS}
    setting = digest(canonical([made.get("data_sha256"), made.get("prompts")]))
    row = Row(anonymous.name(str(made["validator"])), setting, scores, {"Data": anonymous.name(str(made.get("data")))})
    return Board(
        "f1_strict", (*shown, *kinds), (row,), title="Validators of criteria", unit="F1 in % (FAIL is positive)"
    )


EditKind = Literal["unedited", "E1", "E2", "E3"]
RELEASE = "v0.6.1"  # whose edits come with this package


class Edit(DataRow):
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


# All subsets of the aspects, in the order of Table 3.
SUBSETS = tuple(some for count in range(len(ASPECTS) + 1) for some in combinations(ASPECTS, count))
EDITS: tuple[Kind, ...] = tuple(ASPECTS.values())
Pair = tuple[Edited, Validation]


@dataclass(frozen=True)
class SubsetScores:
    """What a validator that was told about some aspects reaches: over the rows it decided, with `undecided` beside.

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
    undecided: int
    flagged: Mapping[str, Score]
    named: Mapping[str, Score]
    placed: Mapping[str, Score]


def truth(row: Edited) -> Label:
    """What a validator should say: rows that are not edited count as faultless."""
    return "PASS" if row.edit == "unedited" else "FAIL"


def subset_scores(aspects: tuple[str, ...], rows: Sequence[Pair]) -> SubsetScores:
    """The scores of one validator, told about these aspects."""
    gold, said = [truth(edited) for edited, _ in rows], [found.label for _, found in rows]
    positive = {"FAIL": "yes", "PASS": "no", None: None}
    shown = ("f1_yes", "f1_yes_strict", "precision", "tpr", "balanced_accuracy")
    counts = label_agreement([positive[g] for g in gold], [positive[s] for s in said], measures=shown)
    right = [g == s == "FAIL" for g, s in zip(gold, said, strict=True)]
    wrong = [s is not None and g != s for g, s in zip(gold, said, strict=True)]
    f1 = Score(counts["f1_yes"].value, counts["n"], counts["undecided"], _interval(right, wrong))
    open_or_wrong = [g != s for g, s in zip(gold, said, strict=True)]
    strict = Score(counts["f1_yes_strict"].value, len(rows), 0, _interval(right, open_or_wrong))
    flagged = {
        kind: _share(rows, kind, lambda row: None if row[1].label is None else row[1].label == "FAIL")
        for kind in (*EDITS, "unedited")
    }
    looked = [kind for aspect, kind in ASPECTS.items() if aspect in aspects]
    return SubsetScores(
        aspects, f1, strict, Score(counts["precision"].value, counts["tp"] + counts["fp"]),
        Score(counts["tpr"].value, counts["tp"] + counts["fn"]),
        Score(counts["balanced_accuracy"].value, counts["n"], counts["undecided"]), counts["undecided"], flagged,
        {kind: _share(rows, kind, lambda row: named(*row)) for kind in looked},
        {kind: _share(rows, kind, lambda row: placed(*row)) for kind in looked},
    )  # fmt: skip


def _interval(right: Sequence[bool], wrong: Sequence[bool]) -> tuple[float, float] | None:
    """The interval of an F1, by rows: found, and else wrong (missed, or flagged without need)."""
    return resampled_ratio([2 * r for r in right], [2 * r + w for r, w in zip(right, wrong, strict=True)])


def named(edited: Edited, found: Validation) -> bool | None:
    """Whether a defect of the kind of the edit is found; None where nothing could be read."""
    return None if edited.edit == "unedited" else found.found(edited.edit)


def placed(edited: Edited, found: Validation) -> bool | None:
    """Whether a finding of the kind of the edit is where the edit is; None where nothing could be read."""
    if found.label is None or edited.edit == "unedited":
        return None
    where = (edited.turn, None if edited.edit == "E3" else edited.criterion)
    return any((one.turn, one.criterion) == where for one in found.of(edited.edit))


def _share(rows: Sequence[Pair], kind: str, hit: Callable[[Pair], bool | None]) -> Score:
    """The share of the rows with this edit on which the validator hits."""
    return pass_rate([hit(row) for row in rows if row[0].edit == kind])


def always_fail(rows: Sequence[Edited]) -> SubsetScores:
    """What saying FAIL to everything gives: the F1 to be beaten."""
    return subset_scores((), [(row, Validation("FAIL", ())) for row in rows])


@dataclass(frozen=True)
class Validated:
    """An instance, as it is or with a known edit, and what the validator says by the aspects it was told about."""

    edited: Edited
    by_aspects: dict[tuple[str, ...], Validation]

    @property
    def found(self) -> Validation:
        """With all the aspects that there are."""
        return self.by_aspects[max(self.by_aspects, key=len)]
