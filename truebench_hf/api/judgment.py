"""What comes of judging one answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from truebench_hf.metrics.pass_rate import conjunction, outcome
from truebench_hf.types import Label, Verdict


@dataclass(frozen=True)
class Judgment:
    """The verdicts on one answer, one per criterion in order; also to iterate over."""

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool | None:
        """Whether every criterion is met (none of those with a negative weight); None where that is not decided."""
        return conjunction(map(_outcome, self.verdicts))

    @property
    def reason(self) -> str:
        """The judge's reasons: of what speaks against a pass, else of what is open, else of everything."""
        groups = [[v for v in self.verdicts if _outcome(v) in labels] for labels in (("no",), ("unknown", None))]
        telling = next(filter(None, groups), self.verdicts)
        return "; ".join(dict.fromkeys(verdict.reason for verdict in telling if verdict.reason))

    @property
    def undecided(self) -> str:
        """Why `passed` is None, "" where it is not."""
        return self.reason if self.passed is None else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        return {
            "passed": self.passed,
            "reason": self.reason,
            "verdicts": [
                {
                    "criterion": verdict.criterion.text,
                    "weight": verdict.criterion.weight,
                    "label": verdict.label,
                    "reason": verdict.reason,
                    "probability": verdict.probability,
                    "votes": list(verdict.votes),
                    "judge": verdict.judge,
                }
                for verdict in self.verdicts
            ],
        }

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __bool__(self) -> bool:
        # It has three values, and a length: `if judgment` would be right by chance.
        raise TypeError("whether it passes is `.passed`: True, False, or None where it is not decided")

    def _repr_html_(self) -> str:
        from truebench_hf.report.page import in_notebook
        from truebench_hf.report.sections import Conversation, Exchange

        outcome: Any = {True: "yes", False: "no", None: "open"}[self.passed]
        return in_notebook(Conversation("", (Exchange((), self.verdicts),), outcome))

    def __str__(self) -> str:
        outcome = {True: "passed", False: "failed", None: "not decided"}[self.passed]
        lines = [f"{v.label or 'open':<7} {v.criterion.text}: {v.reason}" for v in self.verdicts]
        return "\n".join([outcome, *lines])


def _outcome(verdict: Verdict) -> Label | None:
    return outcome(verdict.label, verdict.criterion.weight)
