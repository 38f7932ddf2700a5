"""A judged instance as a report and the Space show it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from truebench_hf.data.judged import Judged, Marked
from truebench_hf.metrics.pass_rate import outcome as outcome_of
from truebench_hf.report.sections import Conversation, Highlighted, Outcome, exchanges
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Verdict

_START, _OPENING = 60, 120  # characters of a prompt, and of an answer


def conversation(item: Judged, passed: bool | None, many_samples: bool = False, model: str = "") -> Conversation:
    """A judged instance to look at, of `several` samples with its number, of several models with whose answer it is.

    The start of the prompt says which it is where ids are numbers or hashes; what the data does not tell is left out.
    """
    instance, response = item.instance, item.response
    outcome: Outcome = "open" if passed is None else "yes" if passed else "no"
    kind = " / ".join(filter(None, (instance.category, instance.task)))
    number = f"sample {response.sample}" if many_samples or response.sample > 1 else ""
    opening = f'"{shortened(instance.turns[0].prompt, _START)}"' if instance.turns else ""
    name = " · ".join(filter(None, (instance.id, model, number, instance.language, kind, opening)))
    turns = exchanges(response.messages, [tuple(map(as_counted, turn)) for turn in item.verdicts], response.reasoning)
    if turns and item.marked:
        turns = (*turns[:-1], replace(turns[-1], marked=tuple(map(highlighted, item.marked))))
    return Conversation(
        name, turns, outcome, response.error or "", language=instance.language, context=instance.context or "",
        opening=shortened(response.answers[0], _OPENING) if response.answers else "",
    )  # fmt: skip


def as_counted(verdict: Verdict) -> Verdict:
    """A verdict as it counts: a fault that is there, worth negative points, is a fail."""
    points = verdict.criterion.weight
    if points == 1:
        return verdict
    criterion = replace(verdict.criterion, text=f"{verdict.criterion.text} ({points:g} points)")
    return replace(verdict, criterion=criterion, label=outcome_of(verdict.label, points))


def highlighted(marked: Marked, of: str = "") -> Highlighted:
    """An answer in pieces, under whose they are and how many of each sort; `of` says which answer it is."""
    sorts = Counter(mark.word for mark in marked.marks if mark.word)
    counted = ", ".join(f"{number} {word}" for word, number in sorts.items())
    return Highlighted(": ".join(filter(None, (of, marked.judge, counted))), marked.marks)
