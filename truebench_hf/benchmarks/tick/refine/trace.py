"""What became of one instruction: every version of its response, with the verdicts on it, and which one is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truebench_hf.benchmarks.tick.outside import Outside, of_verdicts, to_json, verdict_rows
from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.metrics.votes import Transitions, transitions
from truebench_hf.types import Instance, Usage, Verdict

STATUS = {
    "first": "the first answer",
    "rewritten": "another text than the version before",
    "unchanged": "rewritten, and the same text as before",
    "unreadable": "no rewritten response could be read; the version before stays",
    "failed": "the request failed; the version before stays, and the same command asks again",
}
REVISED = ("rewritten", "unchanged")


@dataclass(frozen=True, slots=True)
class Version:
    """The response after an iteration (0: the first answer). `verdicts` are the model's own, () without a checklist.

    `detail` says why there is no rewritten text, `spent` what the iteration cost by role.
    """

    iteration: int
    text: str
    status: str
    detail: str = ""
    plan: str = ""
    critique: str = ""
    truncated: bool = False
    verdicts: tuple[Verdict, ...] = ()
    outside: Outside | None = None
    spent: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def inside(self) -> Outside:
        """What the model's own verdicts come to."""
        return of_verdicts(self.verdicts)

    @property
    def passes(self) -> bool:
        """Whether every question is answered YES."""
        return self.inside.score == 1


@dataclass(frozen=True, slots=True)
class Refined:
    """An instruction with its checklist (None with free critiques) and the versions in order.

    `problem` says why there is no answer, or why nothing more could be refined; "" else.
    """

    instance: Instance
    listed: Listed | None
    versions: tuple[Version, ...]
    problem: str = ""
    unanswered: Outside | None = None  # its outside score, where there is no answer

    def at(self, iteration: int) -> Version:
        """The version after an iteration: whoever has stopped stays where it was."""
        return self.versions[min(iteration, len(self.versions) - 1)]

    def attempt(self, iteration: int) -> Version | None:
        """What was tried in an iteration; None where it had stopped before."""
        return self.versions[iteration] if iteration < len(self.versions) else None

    def kept(self, iteration: int, keep: str) -> Version:
        """The version to hand out after an iteration: the `last` one, or the `best` one by its own score.

        Of several best ones the first: a rewritten text has to show that it is better. Undecided scores are never best.
        """
        if keep == "last":
            return self.at(iteration)
        scores = [-1.0 if (s := version.inside.score) is None else s for version in self.versions[: iteration + 1]]
        return self.versions[scores.index(max(scores))]

    def turned(self, iteration: int) -> Transitions | None:
        """What a rewritten text did to the answers of the checklist; None where nothing was rewritten."""
        now = self.attempt(iteration) if iteration else None
        if now is None or now.status not in REVISED or not now.verdicts:
            return None
        return transitions(self.versions[iteration - 1].inside.labels, now.inside.labels)

    def rows(self) -> list[dict[str, Any]]:
        """The lines of `versions.jsonl`; what is empty is left out."""
        if not self.versions:
            return [{"id": self.instance.id, "iteration": 0, "status": "failed", "detail": self.problem}]
        return [{"id": self.instance.id} | _row(version) for version in self.versions]


def _row(version: Version) -> dict[str, Any]:
    shown: dict[str, Any] = {"iteration": version.iteration, "status": version.status, "text": version.text}
    more = {name: getattr(version, name) for name in ("detail", "plan", "critique", "truncated")}
    shown |= {name: value for name, value in more.items() if value}
    if version.verdicts:
        shown["verdicts"] = verdict_rows(version.verdicts)
        shown["own_score"] = version.inside.score
    if version.outside is not None:
        shown["outside"] = to_json(version.outside)
    return shown | {"usage": {role: asdict(usage) for role, usage in version.spent.items()}}


def spent(versions: Sequence[Version]) -> Usage:
    """What some versions cost, all roles together."""
    return sum((usage for version in versions for usage in version.spent.values()), Usage())
