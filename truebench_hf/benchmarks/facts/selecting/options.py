"""Every option of `truebench facts select-template`, declared once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.classifier import CLASSIFIER, classifies
from truebench_hf.judging.grounding.eligibility import ELIGIBILITY_PROMPTS, VARIANTS
from truebench_hf.judging.grounding.types import TEMPLATES, prompts_of, template_named
from truebench_hf.judging.judge import JUDGE_SAMPLING
from truebench_hf.metrics.calibration import FITTERS
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.study.options import ReplyOptions, SampleOptions, numbered


@dataclass(frozen=True, kw_only=True)
class SelectOptions(SampleOptions, ReplyOptions):
    """Which judges, asked in which ways, about which labelled answers."""

    PANEL: ClassVar[str] = "Method"

    labelled: str = option(
        panel="Data", help="Labelled answers: facts_mini, a path (CSV, JSONL, JSON, Parquet, or a folder) or a Hub id; prompt "
        "columns, response, accurate, eligible, baseline. See below."
    )  # fmt: skip
    judge: tuple[str, ...] = role(
        help="Judge: a spec; may be repeated, a template is chosen for each.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )
    template: tuple[str, ...] = option(
        (), binds=Binds("templates", lambda o: o.templates, late=True, grows=True),
        help=f"Ways to ask about grounding, by default all seven: {', '.join(TEMPLATES)}; may be repeated."
    )  # fmt: skip
    eligibility: tuple[str, ...] = option(
        (), binds=Binds("eligibility", lambda o: o.variants, late=True, grows=True),
        help="What judges of eligibility see, by default both: request, full; may be repeated."
    )  # fmt: skip
    folds: int = option(5, help="Parts, by document, for the figures on answers without a say in the choice.")
    kind: str = option("platt", help=f"Calibrator of hf-classifier: judges: {', '.join(FITTERS)}.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.judge:
            raise UserError("name a --judge, or several")
        if self.folds < 2:
            raise UserError("--folds is at least 2")
        if self.kind not in FITTERS:
            raise unknown("calibrator", self.kind, FITTERS)
        if wrong := next((name for name in self.eligibility if name not in VARIANTS), None):
            raise unknown("eligibility", wrong, VARIANTS)
        for name in self.template:
            template_named(name)

    @property
    def names(self) -> list[str]:
        """The judges by name."""
        return numbered(self.judge)

    @cached_property
    def templates(self) -> list[str]:
        """The templates of judges that write, in the order given; none where all are classifiers."""
        if all(map(classifies, self.judge)):
            return []
        return list(dict.fromkeys(map(template_named, self.template))) or list(TEMPLATES)

    @cached_property
    def variants(self) -> list[str]:
        """The variants of eligibility, in the order given; none where no judge writes."""
        return [] if all(map(classifies, self.judge)) else list(dict.fromkeys(self.eligibility)) or list(VARIANTS)

    @property
    def ways(self) -> list[tuple[int, str, str]]:
        """(number of a judge from 1, its name, a template) of everything that is asked about grounding."""
        found = enumerate(zip(self.names, self.judge, strict=True), 1)
        return [
            (number, name, template)
            for number, (name, spec) in found
            for template in ([CLASSIFIER] if classifies(spec) else self.templates)
        ]

    @property
    def ratings(self) -> list[tuple[int, str, str]]:
        """(number of a judge from 1, its name, a variant) of everything that is asked about eligibility."""
        found = enumerate(zip(self.names, self.judge, strict=True), 1)
        return [(number, name, v) for number, (name, spec) in found if not classifies(spec) for v in self.variants]

    @property
    def prompts_used(self) -> tuple[str, ...]:
        """The names of the prompts that shape verdicts."""
        used = (name for template in self.templates for name in prompts_of(template))
        return tuple(dict.fromkeys((*used, *(ELIGIBILITY_PROMPTS if self.variants else ()))))

    @property
    def sampling(self) -> Sampling:
        """How judges write."""
        return JUDGE_SAMPLING
