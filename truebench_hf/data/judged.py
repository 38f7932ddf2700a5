"""One judged instance: what was asked, what was answered, a verdict on every criterion, and marks on the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from truebench_hf.metrics.pass_rate import instance_passes, official_passes, outcome
from truebench_hf.text import anonymous
from truebench_hf.types import Instance, Label, Response, Usage, Verdict

Tone = Literal["yes", "no", "open", "none", ""]  # good, bad, undecided or doubtful, nothing to judge; "": not marked


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of a text. `word` names what was found ("unsupported"), `note` says why, `beside` holds excerpts as they
    are shown: “the text” (where it stands)."""

    text: str
    tone: Tone = ""
    word: str = ""
    note: str = ""
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """A whole text in pieces, in its order, as one `judge` sees it."""

    judge: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """An instance, its response, and per turn one verdict per criterion. `usage` maps model and judge to tokens.

    `marked` is the last answer, piece by piece, where judges looked at it so.
    """

    instance: Instance
    response: Response
    verdicts: tuple[tuple[Verdict, ...], ...]
    usage: Mapping[str, Usage] = field(default_factory=dict)
    recorded: bool | None = None  # what an official evaluation file says of the instance, by label, vote or quirk
    marked: tuple[Marked, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        """What tells it from the other responses of its model: the instance, and which sample it is."""
        return self.instance.id, self.response.sample

    @property
    def name(self) -> str:
        """The same to be read: the id of the instance, with the number of a second or later sample."""
        return sample_name(*self.key)

    @property
    def labels(self) -> list[list[Label | None]]:
        """The label of each criterion, per turn."""
        return [[verdict.label for verdict in turn] for turn in self.verdicts]

    @property
    def weights(self) -> list[list[float]]:
        """The points of each criterion, per turn."""
        return [[verdict.criterion.weight for verdict in turn] for turn in self.verdicts]

    @property
    def outcomes(self) -> list[list[Label | None]]:
        """The labels as they count (see `outcome`), per turn."""
        return [[outcome(verdict.label, verdict.criterion.weight) for verdict in turn] for turn in self.verdicts]

    @property
    def passed(self) -> bool | None:
        """Whether every criterion of every turn is as it should be; None is unscored."""
        return instance_passes(self.outcomes)

    @property
    def passed_officially(self) -> bool:
        """By the official rule: as the official file has it, else from our verdicts, turns without criteria left out."""
        return official_passes([turn for turn in self.outcomes if turn]) if self.recorded is None else self.recorded

    @property
    def undecided(self) -> str:
        """Why the instance is unscored: the first reason among its undecided verdicts."""
        reasons = (verdict.reason for turn in self.verdicts for verdict in turn if verdict.label not in ("yes", "no"))
        return next(reasons, self.response.error or "no criteria")


def sample_name(instance_id: str, sample: int, *, beside: bool = False) -> str:
    """What one of several responses to an instance is called.

    The first bears the name of the instance; to be shown `beside` others it has its number, too.
    """
    return instance_id if sample == 1 and not beside else f"{instance_id} (sample {sample})"


def by_instance(judged: Iterable[Judged]) -> list[list[Judged]]:
    """The samples of each instance together, in the order of their first."""
    samples: dict[str, list[Judged]] = {}
    for item in judged:
        samples.setdefault(item.instance.id, []).append(item)
    return list(samples.values())


def unanswered(instance: Instance, response: Response) -> list[tuple[Verdict, ...]]:
    """The verdicts of turns that have no answer: not judged, with the reason."""
    reason = f"no answer: {response.error or 'not generated'}"
    missing = instance.turns[len(response.answers) :]
    return [tuple(Verdict(criterion, None, reason) for criterion in turn.criteria) for turn in missing]


def judgment(
    instance: Instance, response: Response, verdicts: Iterable[tuple[Verdict, ...]], usage: Mapping[str, Usage] | None = None
) -> Judged:  # fmt: skip
    """An instance with the verdicts on its answers; turns without an answer are not judged, with the reason."""
    return Judged(instance, response, (*verdicts, *unanswered(instance, response)), usage or {})


def public(item: Judged) -> Judged:
    """As strangers may see it: no local paths in names, no addresses of servers in what says why something is missing."""
    response = item.response
    error = response.error and anonymous.text(response.error)
    response = replace(response, model=anonymous.name(response.model), error=error)
    verdicts = tuple(tuple(map(public_verdict, turn)) for turn in item.verdicts)
    marked = tuple(replace(text, judge=anonymous.name(text.judge)) for text in item.marked)
    return replace(item, response=response, verdicts=verdicts, marked=marked)


def public_verdict(verdict: Verdict) -> Verdict:
    """A verdict as strangers may see it."""
    reason = anonymous.text(verdict.reason) if verdict.label is None else verdict.reason
    return replace(verdict, judge=anonymous.name(verdict.judge), reason=reason)


def filled(text: str, marks: Iterable[tuple[int | None, Mark]]) -> tuple[Mark, ...]:
    """`marks` by where they begin in `text`, and the text between them; those without a place, or one taken, come last."""
    pieces, taken, unplaced, end = list[Mark](), list[Mark](), list[Mark](), 0
    for start, mark in sorted(marks, key=lambda pair: pair[0] or 0):
        if start is None:
            unplaced.append(mark)
        elif start >= end and text.startswith(mark.text, start):
            pieces += [Mark(text[end:start]), mark] if start > end else [mark]
            end = start + len(mark.text)
        else:
            taken.append(mark)
    pieces += [Mark(text[end:])] if end < len(text) else []
    return (*pieces, *taken, *unplaced)
