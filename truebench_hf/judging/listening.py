"""Who listens to what judges decide, at the moment they decide it: nobody, unless `listen` says so for the current task."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from truebench_hf.data.case import Case
from truebench_hf.data.judged import unanswered
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.types import Instance, Response, Verdict

Verdicts = TypeVar("Verdicts", bound=Iterable[Verdict])
_SAID = {"yes": "pass", "no": "fail", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class Decided:
    """What a judge decided on a response: `name` says about what. With neither label nor score it is not judged.

    `label` is a word out of few, `score` is 0 to 1 (a rating is as it was given); `reason` is the judge's, or why there
    is neither. `weight` is the points of a criterion, `probability` a judge's P(yes).
    """

    name: str
    response: str
    judge: str
    label: str | None
    score: float | None
    reason: str
    weight: float = 1.0
    probability: float | None = None


Listener = Callable[[Decided], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def listen(listener: Listener | None) -> None:
    """From now on tell `listener`, in this task and those it starts, what judges decide."""
    _LISTENER.set(listener)


def tell(decided: Decided) -> None:
    """Tell who listens, if anybody does."""
    if (listener := _LISTENER.get()) is not None:
        listener(decided)


def tell_verdicts(response: str, verdicts: Iterable[Verdict]) -> None:
    """Tell verdicts on criteria: pass is as it should be, of a fault that it is absent."""
    for one in verdicts:
        criterion = one.criterion
        label = outcome(one.label, criterion.weight)
        score = {"yes": 1.0, "no": 0.0}.get(label or "")
        said = _SAID.get(label or "")
        tell(Decided(criterion.text, response, one.judge, said, score, one.reason, criterion.weight, one.probability))


def tell_grounding(answer: str, accurate: bool | None, judge: str, reason: str) -> None:
    """Tell whether a judge finds an answer grounded."""
    said = {True: ("pass", 1.0), False: ("fail", 0.0), None: (None, None)}[accurate]
    tell(Decided("grounding", answer, judge, *said, reason))


def without_answer(instance: Instance, response: Response) -> list[tuple[Verdict, ...]]:
    """The verdicts on the turns that have no answer (see `unanswered`), told."""
    verdicts = unanswered(instance, response)
    for turn in verdicts:
        tell_verdicts("", turn)
    return verdicts


async def told(case: Case, work: Awaitable[Verdicts]) -> Verdicts:
    """The verdicts on a case that `work` comes to, told as they are given back.

    What is decided on the way to them, by members of a panel or the first judge of a cascade, is not told.
    """
    listener = _LISTENER.get()
    if listener is None:
        return await work
    token = _LISTENER.set(None)
    try:
        verdicts = await work
    finally:
        _LISTENER.reset(token)
    tell_verdicts(case.response, verdicts)
    return verdicts
