"""What becomes of an attempted contrast pair: kept only where every doubt is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from truebench_hf.benchmarks.rubric_eval.data import Item, Rubric
from truebench_hf.types import Verdict

Fate = Literal[
    "kept", "original_undecided", "original_not_confirmed", "writer_failed", "unchanged", "too_large",
    "rewritten_undecided", "not_flipped", "others_undecided", "others_changed",
]  # fmt: skip
FATES: dict[Fate, str] = {
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
Doubt = tuple[Fate, str]


@dataclass(frozen=True)
class Attempt:
    """One rubric of one response, and how far its pair came. Verdicts are on the whole checklist, in order.

    `size` is the share of the text changed, 0 to 1, None without a rewritten text.
    """

    item: Item
    rubric: Rubric
    fate: Fate
    detail: str = ""
    rewritten: str | None = None
    size: float | None = None
    before: tuple[Verdict, ...] = ()
    after: tuple[Verdict, ...] = ()

    @property
    def breaking(self) -> bool:
        """Whether the rubric is met at first and to be broken (right-to-wrong), rather than the reverse."""
        return self.rubric.label == "yes"


def doubt_original(rubric: Rubric, before: Sequence[Verdict]) -> Doubt | None:
    """Whether the judge confirms the given label on the original."""
    verdict = before[rubric.index]
    if verdict.label is None:
        return "original_undecided", verdict.reason
    return None if verdict.label == rubric.label else ("original_not_confirmed", verdict.reason)


def doubt_edit(original: str, rewritten: str, size: float, max_edit: float | None) -> Doubt | None:
    """Whether there is an edit, and a small enough one."""
    if rewritten.strip() == original.strip():
        return "unchanged", ""
    return ("too_large", f"{size:.2f} of the text") if max_edit is not None and size > max_edit else None


def doubt_flip(rubric: Rubric, before: Sequence[Verdict], after: Sequence[Verdict]) -> Doubt | None:
    """Whether the judge sees the rubric turned over, and every other one as it was."""
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
