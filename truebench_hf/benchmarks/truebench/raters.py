"""Raters of complete responses: each out to people who see no criteria, pass or fail, and their majority (paper 000, F).

The paper's three raters saw the prompt and the five responses to it, and no checklist. So do these sheets: the responses to
one prompt stand together, in an order that does not tell whose they are. Comparisons of criteria and refinements ask so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.data.case import cases
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.kappa import Reliability
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import Annotations, agreement
from truebench_hf.report.sheets import Question, material
from truebench_hf.types import Instance, Response

RATERS = 3  # in the paper
OPTIONS = ("pass", "fail")
Answered = tuple[Instance, Response]


@dataclass(frozen=True)
class People:
    """What raters say: per response id whether it passes, None where that is open, with the reason in `open`.

    `pairs` are Cohen's kappas of every two raters with a response in common; `strangers` are ids of labels that are not
    among the responses.
    """

    raters: tuple[str, ...]
    passed: Mapping[str, bool | None]
    open: Mapping[str, str]
    pairs: Mapping[tuple[str, str], Reliability]
    strangers: tuple[str, ...]
    most: int  # raters of the response that has most

    @property
    def ceiling(self) -> float | None:
        """The mean kappa of two raters: more agreement than people have among themselves cannot be asked of a judge."""
        known = [kappa.value for kappa in self.pairs.values() if kappa.value is not None]
        return sum(known) / len(known) if known else None


def response_id(instance: Instance, response: Response) -> str:
    """A name for a conversation on an instance, equal for equal answers; it tells nothing of its model."""
    messages = [[message.role, message.content] for message in response.messages]
    return f"r{digest(canonical([instance.id, messages]))[:15]}"  # no spreadsheet program takes it for a number


def questions(answered: Sequence[Answered]) -> list[Question]:
    """A question for each different response that is complete: without criteria, reference and model."""
    by_id = {question.id: question for question in _questions(answered)}
    return [by_id[name] for name in sorted(by_id)]  # hashes: the same model does not come first in every group


def _questions(answered: Sequence[Answered]) -> Iterator[Question]:
    for instance, response in answered:
        if response.error is not None or len(response.answers) < len(instance.turns):
            continue
        last = cases(instance, response)[-1]
        turns = len(instance.turns)
        what = "the response" if turns == 1 else f"the last {turns} answers of the assistant, the response among them,"
        yield Question(
            response_id(instance, response),
            f"Judge by the user's request alone: does {what} do what was asked, so that it can be used as it is?",
            material(last.history, last.instruction, last.response, Context=instance.context), OPTIONS,
            group=digest(instance.id), blind=(instance, response),
        )  # fmt: skip


def read(rows: Sequence[Mapping[str, Any]], known: Sequence[str]) -> People:
    """What rows of labels say of the responses with these ids."""
    wanted, by_id = set(known), {row["id"]: row for row in rows}
    answers = {
        name: {entry["annotator"]: entry["label"] for entry in row["annotations"]}
        for name, row in by_id.items()
        if name in wanted
    }
    most = max(map(len, answers.values()), default=0)
    passed: dict[str, bool | None] = {}
    reasons: dict[str, str] = {}
    for name in wanted:
        if (row := by_id.get(name)) and row["how"] == "decided":
            passed[name] = row["label"] == OPTIONS[0]
            continue
        passed[name], reason = _majority(answers.get(name, {}), most)
        reasons |= {name: reason} if reason else {}
    among = agreement(Annotations(answers, dict.fromkeys(answers, OPTIONS)))
    pairs = {pair: kappa for pair, kappa in among.cohen.items() if kappa.n}
    return People(among.annotators, passed, reasons, pairs, tuple(name for name in by_id if name not in wanted), most)


def _majority(answers: Mapping[str, str | None], raters: int) -> tuple[bool | None, str]:
    """Whether most raters pass a response, or why that is open.

    A response that a rater left out (in the sheet, or with the end of a sheet that was cut) is open, whatever the
    others say: where two agree the third could change nothing, but to keep these alone would keep the easy ones.
    """
    if not answers:
        return None, "no rater was asked"
    labels = [answer for answer in answers.values() if answer is not None]
    if len(labels) < raters:
        return None, "a rater's answer is missing" if labels else "nobody answered"
    label = majority(labels).label
    return (None, "the raters are tied") if label is None else (label == OPTIONS[0], "")
