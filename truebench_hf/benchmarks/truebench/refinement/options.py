"""Options of `truebench study refine-criteria`."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.benchmarks.truebench.options import InstanceOptions, JudgeOptions
from truebench_hf.benchmarks.truebench.several import SeveralOptions
from truebench_hf.errors import UserError
from truebench_hf.options import at_least_one, option, role


@dataclass(frozen=True, kw_only=True)
class RefineCriteriaOptions(JudgeOptions, InstanceOptions, SeveralOptions):
    """Which responses are judged by which criteria, and how the criteria are to change."""

    validator: str = role(help="Who validates what was changed: a model spec.")
    revisions: str | None = option(
        None, panel="Data", help="The filled-in work list: OUT/worklist.csv, or a copy of it."
    )
    rounds: int = option(5, panel="Method", help="How many work lists are taken in at most.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "rounds")
        if self.nobody:
            raise UserError("--judge none: criteria are refined until judge and people agree; name a judge")
