"""One judged instance: what was asked, what was answered, a verdict on every criterion, and marks on the answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import with_config

from truebench_hf.metrics.pass_rate import instance_passes, official_passes, outcome
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Usage, Verdict

Tone = Literal["yes", "no", "open", "none", ""]  # good, bad, undecided or doubtful, nothing to judge; "": not marked


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of a text. `word` names what was found ("unsupported"), `note` says why, `beside` holds excerpts as they
    are shown: “the text” (where it stands)."""

    text: str
    tone: Tone = ""
    word: str = ""
    note: str = ""
    beside: tuple[str, ...] = ()


@with_config(extra="forbid")
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

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per criterion with its verdict and the texts of its turn; turns and criteria count from 1.

        `met` says whether the criterion is as it should be (of a fault: whether it is absent); None where undecided.
        """
        instance, answers, rows = self.instance, self.response.answers, []
        for place, verdicts in enumerate(self.verdicts):
            turn = {
                "model": self.response.model, "id": instance.id, "sample": self.response.sample, "turn": place + 1,
                "language": instance.language, "category": instance.category, "task": instance.task,
                "prompt": instance.turns[place].prompt if place < len(instance.turns) else None,
                "response": answers[place] if place < len(answers) else None, "error": self.response.error,
            }  # fmt: skip
            for number, (verdict, counted) in enumerate(zip(verdicts, self.outcomes[place], strict=True), 1):
                criterion = verdict.criterion
                rows.append(turn | {
                    "criterion_number": number, "criterion": criterion.text, "kind": criterion.kind,
                    "condition": criterion.condition, "weight": criterion.weight, "label": verdict.label,
                    "met": {"yes": True, "no": False}.get(counted or ""), "reason": verdict.reason,
                    "judge": verdict.judge, "probability": verdict.probability, "votes": list(verdict.votes),
                    "conflicting": verdict.conflicting,
                })  # fmt: skip
        return rows


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


RESTS = "(It rests on this:"
FAULT = "(This names a fault; it is met where the response has it.)"
Messages = tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged on its criteria.

    `category` picks the prompts' note on this kind of instruction (RubricEval section 4.1), `benchmark` those on how
    the criteria of a benchmark are meant. `reference` is an answer known to be right, shown to judges as material.
    `measured` is what programs counted in the response, by the criterion it bears on.
    """

    instruction: str
    response: str
    criteria: tuple[Criterion, ...]
    history: tuple[Message, ...] = ()  # what came before the instruction, system message included
    context: str | None = None
    category: str | None = None
    reference: str | None = None
    benchmark: str | None = field(default=None, kw_only=True)
    # Follows from the rest.
    measured: Mapping[Criterion, str] = field(default_factory=dict, kw_only=True, compare=False)


def cases(instance: Instance, response: Response, benchmark: str | None = None) -> list[Case]:
    """One case per answered turn of a conversation, each with the turns before it as history."""
    messages = response.messages
    places = [i for i, message in enumerate(messages) if message.role == "assistant"]
    answered = []
    for turn, i in zip(instance.turns, places, strict=False):
        before = with_history(instance, messages[: i - 1])
        facts = (turn.criteria, before, instance.context, category_shown(before), turn.reference)
        answered.append(Case(turn.prompt, messages[i].content, *facts, benchmark=benchmark))
    return answered


def category_shown(before: Sequence[Message]) -> str | None:
    """The category that what came before the instruction shows by itself: earlier turns, or a system message alone."""
    if any(message.role != "system" for message in before):
        return "multi_turn"
    return "system" if before else None


# What a criterion is beside its text, where nothing is said of it.
USUAL: Mapping[str, Any] = {"kind": None, "condition": None, "rule": None, "weight": 1.0}


def unusual(criterion: Criterion) -> dict[str, Any]:
    """What there is to a criterion beside its text, by field."""
    return {name: value for name, usual in USUAL.items() if (value := getattr(criterion, name)) != usual}


def names_fault(text: str) -> bool:
    """Whether a criterion as it is stated names a fault, which a good answer does not have."""
    return text.endswith(FAULT)


def stated(criterion: Criterion) -> str:
    """A criterion as it is put to judges and to people: its text, and behind it what it rests on.

    In parentheses, which judge prompts call a note wherever they stand: what a criterion rests on is no demand of its
    own. With negative points it says how it is meant: that a response is good without the fault makes it no less met.
    Rows of arbitrated labels hold criteria in this form.
    """
    notes = [f"{RESTS} {' '.join(criterion.condition.split())})"] if criterion.condition else []
    notes += [FAULT] if criterion.weight < 0 else []
    return " ".join([criterion.text.rstrip(), *notes]) if notes else criterion.text


def as_answered(instance: Instance, answers: Sequence[str]) -> Messages:
    """The conversation in which these were the answers to the turns, from the first on."""
    messages = [Message("system", instance.system)] if instance.system else []
    for turn, answer in zip(instance.turns, answers, strict=False):
        messages += [Message("user", turn.prompt), Message("assistant", answer)]
    return tuple(messages)


def with_history(instance: Instance, messages: Messages) -> Messages:
    """Messages of a response behind what was said before; the system message stays in front."""
    at = 1 if messages and messages[0].role == "system" else 0
    return messages[:at] + instance.history + messages[at:]


def sent(instance: Instance, messages: Messages) -> Messages:
    """What the model is sent: the whole conversation, and the context ahead of the first that the user says in it."""
    conversation = with_history(instance, messages)
    if not instance.context:
        return conversation
    first = next(i for i, message in enumerate(conversation) if message.role == "user")
    request = Message("user", f"{instance.context}\n\n{conversation[first].content}")
    return (*conversation[:first], request, *conversation[first + 1 :])
