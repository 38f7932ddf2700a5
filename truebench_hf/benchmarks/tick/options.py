"""The options that every study of checklists has: which instructions, and where the checklist of each comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar

from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JUDGE_SAMPLING, JudgeSettings
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.study.options import DataOptions, JudgingOptions, PromptOptions


@dataclass(frozen=True, kw_only=True)
class InstructionOptions(DataOptions):
    """Which instructions: those of some data, or a single one."""

    PANEL: ClassVar[str] = "Data"

    data: str | None = option(  # type: ignore[assignment]
        None, help="Instructions: checklists_mini, a path (JSONL, JSON, CSV, XLSX, Parquet, or a folder of them), or a "
        "Hub data set id; rows with prompt or messages."
    )  # fmt: skip
    instruction: str | None = option(None, help="One instruction, as a text, in place of --data.")
    column: tuple[str, ...] = option(
        (), help="OURS=THEIRS, e.g. prompt=question: another name of a column; may be repeated. Several of criteria are "
        "joined."
    )  # fmt: skip
    criteria_separator: str = option(
        "", help="What parts the criteria in a cell beside line breaks, e.g. ';'. Lists and JSON are left as they are."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.data is None) == (self.instruction is None):
            raise UserError("give either --data or --instruction")
        if self.instruction is not None and not self.instruction.strip():
            raise UserError("--instruction is blank; give a text")
        if (self.column or self.criteria_separator) and self.data is None:
            raise UserError("--column and --criteria-separator are about --data, and there is none")


@dataclass(frozen=True, kw_only=True)
class ChecklistOptions(PromptOptions):
    """Where checklists come from: a file, the data, or a model that writes them.

    `WRITER` is the role that writes them where no `--generator` is named. `OWN`: criteria that the data has are the
    checklist of their instruction; else they are kept apart, and say nothing to whoever writes one.
    """

    PANEL: ClassVar[str] = "Checklists"
    WRITER: ClassVar[str] = "judge"
    OWN: ClassVar[bool] = True

    generator: str | None = role(None, help="Who writes checklists where there are none; whoever judges if not given.")
    checklists: str | None = option(
        None, help="File of checklists for instructions of the data, matched by id: rows as in checklists.jsonl, edited "
        "or not. What it lacks is taken from the data, or written."
    )  # fmt: skip

    @property
    def writer(self) -> str:
        """The role of who writes checklists."""
        return "generator" if self.generator else self.WRITER


@dataclass(frozen=True, kw_only=True)
class QuestionJudgeOptions(JudgingOptions):
    """Who answers the questions of checklists, each in a call of its own (paper 004, section 3.1.2)."""

    PANEL: ClassVar[str] = "Judging"

    judge: str = role(help="Judge: answers every question on every response.", binds=Binds(late=True))
    votes: int = option(
        1, binds=Binds(late=True), help="Votes per question (majority, maj@k); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, binds=Binds(late=True), help="Sampling temperature of the judge.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "votes")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")
        if self.decides(self.judge) and (self.votes > 1 or self.judge_temperature):
            raise UserError(
                "--votes and --judge-temperature go with --judge-level rubric: a probability does not change from vote to "
                "vote"
            )

    @property
    def usual_rules(self) -> str:
        """Rules answer the questions that they can."""
        return "decide"

    @property
    def settings(self) -> JudgeSettings:
        """How the judge decides. Raises UserError on several votes without a temperature."""
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(self.judging(self.judge, "rubric"), votes=self.votes, sampling=sampling)
