"""What checklists look like as a whole: how many questions, what was dropped, and where there is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.judging.checklists import USUAL
from truebench_hf.models.asking import CUT_OFF
from truebench_hf.report.sections import Bars, Grid, Section, fixed

_SOURCES = {"generator": "written by the generator", "data": "from the data", "file": "from --checklists"}
_REASONS = 5


def summary(listed: Sequence[Listed]) -> dict[str, Any]:
    """Counts over checklists; `questions` maps a number of questions to how many checklists have it.

    `outside_usual` is the share (0..1) with fewer or more questions than usual (2 to 8, paper 004, appendix G.1): they are
    counted, never cut. It and `mean` are None without a checklist.
    """
    sizes = [len(one.criteria) for one in listed if one.criteria]
    outside = sum(not USUAL[0] <= size <= USUAL[1] for size in sizes)
    return {
        "instructions": len({one.instance.id for one in listed}),
        "checklists": len(sizes),
        "by_source": dict(Counter(one.source for one in listed if one.criteria)),
        "questions": {str(size): count for size, count in sorted(Counter(sizes).items())},
        "mean": sum(sizes) / len(sizes) if sizes else None,
        "usual": list(USUAL),
        "outside_usual": outside / len(sizes) if sizes else None,
        "duplicates_dropped": sum(one.duplicates for one in listed),
        "others_dropped": sum(one.others for one in listed),
        "without": {one.instance.id: one.problem for one in listed if not one.criteria},
    }


def sections(found: Mapping[str, Any]) -> list[Section]:
    """The counts, how many questions checklists have, and why some instructions have none."""
    low, high = found["usual"]
    share = "-" if found["outside_usual"] is None else f"{100 * found['outside_usual']:.1f}%"
    rows: list[tuple[str | int, ...]] = [
        ("instructions", found["instructions"]),
        *((f"checklists {_SOURCES.get(source, source)}", count) for source, count in found["by_source"].items()),
        ("without a checklist", len(found["without"])),
        ("questions a checklist, mean", fixed(found["mean"])),
        (f"checklists outside {low} to {high} questions", share),
        ("duplicate questions dropped", found["duplicates_dropped"]),
        ("lines dropped that were no questions", found["others_dropped"]),
    ]
    shown: list[Section] = [Grid("Checklists", (), tuple(rows))]
    if found["questions"]:
        counts = ((f"{size} questions", count, str(count)) for size, count in found["questions"].items())
        shown.append(Bars("Questions a checklist", tuple(counts)))
    if found["without"]:
        first = tuple(found["without"].items())[:_REASONS]
        more = len(found["without"]) - len(first)
        note = f"And {more} more, in checklists.jsonl. " if more else ""
        note += "Write their criteria into checklists.jsonl, and give it by --checklists."
        if CUT_OFF in found["without"].values():
            note += " Where an answer was cut off, the option max_tokens of its model (--generator-arg, --model-arg) allows more, in a folder of its own."
        shown.append(Grid("Instructions without a checklist", ("id", "why"), first, note=note, prose=(1,)))
    return shown
