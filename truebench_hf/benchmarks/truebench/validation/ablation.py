"""The ablation over aspects (paper 000, section 5.2 and Table 3), and what a board shows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.truebench.validation.edits import Edited
from truebench_hf.benchmarks.truebench.validation.findings import ASPECTS, MEANING
from truebench_hf.benchmarks.truebench.validation.output import Validated
from truebench_hf.benchmarks.truebench.validation.reading import ceiling, told
from truebench_hf.benchmarks.truebench.validation.scores import EDITS, SUBSETS, SubsetScores, always_fail, subset_scores
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Cells, Grid, Section, fixed, interval, value
from truebench_hf.study.board import Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Score

_PAPER_BEST = 0.610
_ALWAYS = "always FAIL"


def ablation(done: Sequence[Validated]) -> list[SubsetScores]:
    """The scores of every subset of the aspects, in the order of Table 3."""
    return [subset_scores(some, [(one.edited, one.by_aspects[some]) for one in done]) for some in SUBSETS]


def ablation_sections(found: Sequence[SubsetScores], rows: Sequence[Edited]) -> list[Section]:
    """Table 3 with the paper's rows beside, what saying FAIL to everything gives, and what becomes of each edit."""
    base = always_fail(rows)
    table = [_cells(_marks(one.aspects), one) for one in found] + [_cells((_ALWAYS, "", ""), base)]
    paper = tuple(
        (*("yes" if row[name.capitalize()] else "no" for name in ASPECTS), fixed(row["F1 score"], 3))
        + ("",) * (len(_HEADER) - 4)
        for row in paper_rows("truebench", "truebench_table3")
    )
    read, read_note = told(rows), ceiling(rows)
    return [
        Grid("Aspects in the validator's prompt (like the paper's Table 3)", _HEADER, tuple(table), paper, _note(base)),
        _by_edit(found[-1], rows),
        *([Grid("What reading the rows showed", (), read, note=read_note, prose=(1,))] if read else []),
        Grid("FAIL by edit and aspects, in %", ("aspects", *EDITS, "unedited"), tuple(map(_flagged, found))),
    ]


_HEADER = (
    *(name.capitalize() for name in ASPECTS), "F1", "95 % interval", "undecided as wrong", "precision", "recall", "balanced accuracy", "n",
    "undecided",
)  # fmt: skip


def _marks(aspects: Sequence[str]) -> tuple[str, ...]:
    return tuple("yes" if name in aspects else "no" for name in ASPECTS)


def _share(score: Score) -> str:
    """0 to 1 with three digits, as the paper prints them."""
    return fixed(score.value, 3)


def _cells(marks: tuple[str, ...], one: SubsetScores) -> Cells:
    ends = "" if one.f1.ci95 is None else f"{one.f1.ci95[0]:.3f} to {one.f1.ci95[1]:.3f}"
    shares = (_share(one.f1_strict), _share(one.precision), _share(one.recall), _share(one.balanced_accuracy))
    return (*marks, _share(one.f1), ends, *shares, one.f1.n, one.undecided)


def _note(base: SubsetScores) -> str:
    tie = _PAPER_BEST / (2 - _PAPER_BEST)  # the share of FAIL at which always saying FAIL has this F1
    return (
        "FAIL, criteria that need change, is the positive class; shares are of decided rows. The paper's truth is what "
        "its annotators changed, ours what an edit broke, so that its rows are no yardstick for ours. Saying FAIL to "
        f"everything has an F1 of {_share(base.f1)} here. The paper does not tell how many of its rows are FAIL: "
        f"from a share of {tie:.2f} on its best F1, {_PAPER_BEST:.3f}, is no better than saying FAIL to everything."
    )


def _by_edit(full: SubsetScores, rows: Sequence[Edited]) -> Grid:
    shown: list[Cells] = []
    for kind in EDITS:
        scores = (full.flagged[kind], full.named[kind], full.placed[kind])
        count = sum(row.edit == kind for row in rows)
        shown.append((f"{kind}, {MEANING[kind]}", count, *(_with_interval(score) for score in scores)))
    count = sum(row.edit == "unedited" for row in rows)
    shown.append(("unedited", count, _with_interval(full.flagged["unedited"]), "", ""))
    note = (
        "With all three aspects. At the place: for E3 in the turn that lost a criterion. Unedited is not faultless. E1 and "
        "E3 need criteria that demand what the instruction states: summaries and translations have most of them, and fewer "
        "are left among the unedited."
    )
    header = ("edit", "rows", "FAIL, %", "the defect named, %", "and at its place, %")
    return Grid("Known defects that are found", header, tuple(shown), note=note)


def _with_interval(score: Score) -> str:
    return f"{value(score)} ({interval(score)})" if score.ci95 else value(score)


def _flagged(one: SubsetScores) -> Cells:
    return (", ".join(one.aspects) or "none", *(value(one.flagged[kind]) for kind in (*EDITS, "unedited")))


def as_json(found: Sequence[SubsetScores], rows: Sequence[Edited]) -> dict[str, Any]:
    """What `validation.json` holds of an ablation."""
    counts = {kind: sum(row.edit == kind for row in rows) for kind in (*EDITS, "unedited")}
    base = asdict(always_fail(rows))
    return {"rows": counts, "subsets": [asdict(one) for one in found], "always_fail": base}


def board(full: SubsetScores, made: Mapping[str, Any]) -> Board:
    """A validator among others that were asked, in the same words, about the same edited rows."""
    columns = {
        "f1_strict": "F1, undecided as wrong",
        "f1": "F1",
        "precision": "Precision",
        "recall": "Recall",
        "balanced_accuracy": "Balanced accuracy",
    }
    scores: dict[str, Score] = {name: getattr(full, name) for name in columns}
    scores |= {f"named:{kind}": full.named[kind] for kind in EDITS}
    setting = digest(canonical([made.get("data_sha256"), made.get("prompts"), made.get("analysis_language")]))
    row = Row(anonymous.name(str(made["validator"])), setting, scores, {"Data": anonymous.name(str(made.get("data")))})
    shown = [Column(name, title) for name, title in columns.items()]
    shown += [Column(f"named:{kind}", f"{kind} named", "Known defects that are named") for kind in EDITS]
    return Board("f1_strict", tuple(shown), (row,), title="Validators of criteria", unit="F1 in % (FAIL is positive)")
