"""Options of `truebench refine-criteria`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truebench_hf.benchmarks.truebench.options import InstanceOptions, JudgeOptions
from truebench_hf.errors import UserError
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.study.options import WritingOptions, numbered


@dataclass(frozen=True, kw_only=True)
class RefineCriteriaOptions(JudgeOptions, InstanceOptions, WritingOptions):
    """Which responses are judged by which criteria, what people say of them, and how the criteria are to change."""

    OTHER_PROMPTS: ClassVar[tuple[str, ...]] = ("validate_criteria",)

    responses: tuple[str, ...] = option(
        (), panel="Data", help="Responses to the data: a run folder, or a file as for `truebench judge`; may be repeated, e.g. "
        "one a model. Where rows do not say whose they are the file's name does."
    )  # fmt: skip
    model: tuple[str, ...] = role(
        (), help="Model whose responses are made here: a spec; may be repeated.",
        binds=Binds("model", lambda options: list(map(str, numbered(options.model))), grows=True),
    )  # fmt: skip
    validator: str = role(help="Who validates what was changed: a model spec.")
    human: tuple[str, ...] = option(
        (), panel="Data", help="Filled-in annotation sheets, pass or fail for each response, or folders of them; may be "
        "repeated. The first run writes them into OUT/sheets."
    )  # fmt: skip
    revisions: str | None = option(
        None, panel="Data", help="The filled-in work list: OUT/worklist.csv, or a copy of it."
    )
    annotators: str = option(
        "first", panel="Data", help="Names of the annotators, separated by commas; each gets a sheet of all responses."
    )
    rounds: int = option(5, panel="Method", help="How many work lists are taken in at most.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "rounds", "max_tokens")
        if not self.responses and not self.model:
            raise UserError("give --responses (a file or a run folder), or name a --model that makes them")
        if self.revisions and not self.human:
            raise UserError("--revisions goes with --human: the sheets that the work list came from")

    @property
    def names(self) -> list[str]:
        """The annotators."""
        return [name.strip() for name in self.annotators.split(",") if name.strip()]
