"""Options of `truebench study compare-criteria`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truebench_hf.benchmarks.truebench.criteria_types.ways import WAYS
from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.benchmarks.truebench.several import SeveralOptions
from truebench_hf.errors import unknown
from truebench_hf.options import Binds, option, role
from truebench_hf.study.options import JudgingOptions


@dataclass(frozen=True, kw_only=True)
class CompareCriteriaOptions(InstanceOptions, JudgingOptions, SeveralOptions):
    """Which responses, and who judges them by which types of criteria."""

    TEXT_LEVEL: ClassVar[str] = "checklist"

    judge: str = role(help="Judge by all types of criteria: a spec.", binds=Binds(late=True))
    type: tuple[str, ...] = option(
        (), panel="Judging", help=f"{', '.join(WAYS)}: a type of criteria; may be repeated; all four if not given.",
        binds=Binds("types", lambda options: list(options.types), grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.type:
            if name not in WAYS:
                raise unknown("type of criteria", name, tuple(WAYS))

    @property
    def types(self) -> tuple[str, ...]:
        """The types asked for, in the paper's order."""
        return tuple(name for name in WAYS if not self.type or name in self.type)
