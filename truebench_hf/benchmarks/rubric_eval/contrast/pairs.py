"""What becomes of an attempted contrast pair: kept only where the judge settles every question about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from truebench_hf.benchmarks.rubric_eval.data import Item, Rubric, named
from truebench_hf.types import Verdict

Status = Literal[
    "kept", "original_undecided", "original_not_confirmed", "writer_failed", "unchanged", "too_large",
    "rewritten_undecided", "not_flipped", "others_undecided", "others_changed",
]  # fmt: skip
MEANING: dict[Status, str] = {
    "kept": "confirmed on both texts",
    "original_undecided": "the judge does not decide the rubric on the original",
    "original_not_confirmed": "the judge does not see the given label on the original",
    "writer_failed": "the writer gave no rewritten response",
    "unchanged": "the rewritten response is the original",
    "too_large": "the edit is larger than --max-edit",
    "rewritten_undecided": "the judge does not decide the rubric on the rewritten response",
    "not_flipped": "the judge sees the rubric unchanged",
    "others_undecided": "the judge leaves another rubric open on one of the texts",
    "others_changed": "the judge sees another rubric changed too",
}
Objection = tuple[Status, str]  # why a pair is not kept, and the detail


@dataclass(frozen=True)
class Attempt:
    """One rubric of one response, and how far its pair came. Verdicts are on the whole checklist, in order.

    `size` is the share of the text changed, 0 to 1, None without a rewritten text.
    """

    item: Item
    rubric: Rubric
    status: Status = "kept"
    detail: str = ""
    rewritten: str | None = None
    size: float | None = None
    before: tuple[Verdict, ...] = ()
    after: tuple[Verdict, ...] = ()

    @property
    def breaking(self) -> bool:
        """Whether the rubric is met at first and to be broken, rather than the reverse."""
        return self.rubric.label == "yes"

    @property
    def direction(self) -> str:
        """The paper's name for which way the rubric is turned."""
        return "right_to_wrong" if self.breaking else "wrong_to_right"


def object_to_original(rubric: Rubric, before: Sequence[Verdict]) -> Objection | None:
    """Unless the judge confirms the given label on the original."""
    verdict = before[rubric.index]
    if verdict.label is None:
        return "original_undecided", verdict.reason
    return None if verdict.label == rubric.label else ("original_not_confirmed", verdict.reason)


def object_to_edit(original: str, rewritten: str, size: float, max_edit: float | None) -> Objection | None:
    """Unless there is an edit, and a small enough one."""
    if rewritten.strip() == original.strip():
        return "unchanged", ""
    return ("too_large", f"{size:.2f} of the text") if max_edit is not None and size > max_edit else None


def object_to_flip(rubric: Rubric, before: Sequence[Verdict], after: Sequence[Verdict]) -> Objection | None:
    """Unless the judge sees the rubric turned over, and every other one as it was."""
    target = after[rubric.index]
    if target.label is None:
        return "rewritten_undecided", target.reason
    if target.label == rubric.label:
        return "not_flipped", target.reason
    others = [(was, now) for i, (was, now) in enumerate(zip(before, after, strict=True)) if i != rubric.index]
    if left := [was.criterion.text for was, now in others if was.label is None or now.label is None]:
        return "others_undecided", "; ".join(left)
    changed = [was.criterion.text for was, now in others if was.label != now.label]
    return ("others_changed", "; ".join(changed)) if changed else None


def pair_rows(attempt: Attempt, writer: str) -> list[dict[str, Any]]:
    """The two rows of a kept pair in rubric_eval columns, original first. The label of the edit is a model's."""
    item, rubric, place = attempt.item, attempt.rubric, attempt.rubric.index
    pair = f"{rubric.id}-{attempt.direction}"
    # easy and hard tell how arbitration went, which nobody ran on the edit
    shared = {**named(rubric.row), "split": "test", "instruction_id": item.instruction_id, "rubric_index": place}
    shared |= {"pair_id": pair, "edit_size": attempt.size, "dimension": rubric.dimension}
    shared |= {"checklist": [criterion.text for criterion in item.case.criteria]}
    first = shared | {"id": rubric.id, "response_id": item.id, **_judged(attempt.before[place])}
    second = shared | {"id": f"{pair}-c", "response_id": f"{pair}-r", **_judged(attempt.after[place])}
    second |= {"response": attempt.rewritten, "response_model": writer, "label_source": "model"}
    return [first, second | {"label": "no" if rubric.label == "yes" else "yes"}]


def _judged(verdict: Verdict) -> dict[str, Any]:
    return {
        "annotations": [{"annotator": verdict.judge, "label": verdict.label}],
        "rationales": [{"judge": verdict.judge, "rationale": verdict.reason}],
    }


def rejected_row(attempt: Attempt) -> dict[str, Any]:
    """An attempt that is no pair, and why."""
    rubric = attempt.rubric
    said = {"id": rubric.id, "direction": attempt.direction, "rubric": rubric.text, "rubric_type": rubric.kind}
    told = {name: getattr(attempt, name) for name in ("status", "detail", "rewritten")}
    return said | told | {"edit_size": attempt.size}
