"""What a validator finds in an instance: defects of its criteria or instructions, each with a proposed change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["E1", "E2", "E3", "composite", "domain", "task", "clarity"]
Label = Literal["PASS", "FAIL"]
# The aspects of paper 000, section 3.4, with the kind of defect that each looks for (Listing 1).
ASPECTS: Mapping[str, Kind] = {"correctness": "E1", "minimality": "E2", "sufficiency": "E3"}
# What reviewers of instructions look at, before there are criteria (appendix F).
PROMPT_KINDS: tuple[Kind, ...] = ("domain", "task", "clarity")
MEANING: Mapping[Kind, str] = {
    "E1": "error within criteria",
    "E2": "over-criticism",
    "E3": "insufficient criteria",
    "composite": "several conditions in one criterion",
    "domain": "not of the productivity domain",
    "task": "does not match its task",
    "clarity": "unclear",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect. `criterion` is its number within the `turn`, both from 1; None where it is about none that is there.

    `proposal` are the criteria that should stand there instead: none removes the criterion, several split it. Of E3
    it is the one to be added, of defects of an instruction the text of the turn as it should be.
    """

    kind: Kind
    turn: int
    criterion: int | None
    reason: str
    proposal: tuple[str, ...]

    @property
    def change(self) -> str:
        """What is proposed, in a word: add, remove, reword or split."""
        return "add" if self.kind == "E3" else ("remove", "reword", "split")[min(len(self.proposal), 2)]


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validator says of one instance. FAIL: it needs change, for any defect but a composite criterion.

    `looked` are the kinds of defects that it was told to look for. `label` None: it gave nothing that can be read, and
    `problem` says why.
    """

    label: Label | None
    looked: tuple[Kind, ...]
    findings: tuple[Finding, ...] = ()
    analysis: str = ""
    problem: str = ""

    def of(self, kind: Kind) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(one for one in self.findings if one.kind == kind)

    def found(self, kind: Kind) -> bool | None:
        """Whether there is a defect of this kind; None where nobody looked, or nothing could be read."""
        return bool(self.of(kind)) if kind in self.looked and self.label else None


def kinds(aspects: Sequence[str]) -> tuple[Kind, ...]:
    """What a validator of criteria looks for that is told about these aspects: composites it always looks for."""
    return (*(kind for aspect, kind in ASPECTS.items() if aspect in aspects), "composite")
