"""People's part: each response out to raters who see no criteria, pass or fail, and their majority (paper 000, F).

The paper's three raters saw the prompt and the five responses to it, and no checklist. So do these sheets: the responses to
one prompt stand together, in an order that does not tell whose they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.data.case import cases
from truebench_hf.data.records import RESPONSES, Reader
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.metrics.kappa import Reliability
from truebench_hf.metrics.votes import majority
from truebench_hf.report.labels import Annotations, agreement
from truebench_hf.report.sheets import Question, material
from truebench_hf.types import Instance, Response

KIND = "criteria-types"
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
    asked: int  # raters of the response that has most

    @property
    def ceiling(self) -> float | None:
        """The mean kappa of two raters: more agreement than people have among themselves cannot be asked of a judge."""
        known = [found.value for found in self.pairs.values() if found.value is not None]
        return sum(known) / len(known) if known else None


def response_id(instance: Instance, response: Response) -> str:
    """A name for what was said in answer to an instance, equal for equal answers; it tells nothing of its model."""
    said = [[message.role, message.content] for message in response.messages]
    return f"r{digest(canonical([instance.id, said]))[:15]}"  # no spreadsheet program takes it for a number


def read_answered(folder: Path) -> list[Answered]:
    """The responses that `compare-criteria` left in its folder. Raises UserError."""
    if read_info(folder).get("kind") != KIND or not (folder / RESPONSES).is_file():
        raise UserError(
            f"{folder}: holds no responses; give the --out of a finished `truebench study compare-criteria`"
        )
    reader = Reader()
    return [reader.answered(row, where) for where, row in jsonl.read(folder / RESPONSES)]


def questions(answered: Sequence[Answered]) -> list[Question]:
    """A question for each different response that is whole: without criteria, reference and model."""
    asked = {question.id: question for question in _questions(answered)}
    return [asked[name] for name in sorted(asked)]  # hashes: the same model does not come first in every group


def _questions(answered: Sequence[Answered]) -> Iterator[Question]:
    for instance, response in answered:
        if response.error is not None or len(response.answers) < len(instance.turns):
            continue
        last = cases(instance, response)[-1]
        several = len(instance.turns)
        what = (
            "the response" if several == 1 else f"the last {several} answers of the assistant, the response among them,"
        )
        yield Question(
            response_id(instance, response),
            f"Judge by the user's request alone: does {what} do what was asked, so that it can be used as it is?",
            material(last.history, last.instruction, last.response, Context=instance.context), OPTIONS,
            group=digest(instance.id), blind=(instance, response),
        )  # fmt: skip


def read(rows: Sequence[Mapping[str, Any]], known: Sequence[str]) -> People:
    """What rows of labels say of the responses with these ids."""
    wanted = set(known)
    by_id = {row["id"]: row for row in rows}
    ours = {
        name: {entry["annotator"]: entry["label"] for entry in row["annotations"]}
        for name, row in by_id.items()
        if name in wanted
    }
    asked = max(map(len, ours.values()), default=0)
    passed: dict[str, bool | None] = {}
    why: dict[str, str] = {}
    for name in wanted:
        if (row := by_id.get(name)) and row["how"] == "decided":
            passed[name] = row["label"] == OPTIONS[0]
        else:
            passed[name], why[name] = _majority(ours.get(name, {}), asked)
    among = agreement(Annotations(ours, dict.fromkeys(ours, OPTIONS)))
    return People(
        among.annotators, passed, {name: reason for name, reason in why.items() if reason},
        {pair: kappa for pair, kappa in among.cohen.items() if kappa.n},
        tuple(name for name in by_id if name not in wanted), asked,
    )  # fmt: skip


def _majority(answers: Mapping[str, str | None], asked: int) -> tuple[bool | None, str]:
    """Whether most raters pass it, or why that is open.

    A response that a rater left out (in the sheet, or with the end of a sheet that was cut) is open, whatever the
    others say: where two agree the third could change nothing, but to keep these alone would keep the easy ones.
    """
    if not answers:
        return None, "no rater was asked"
    labels = [answer for answer in answers.values() if answer is not None]
    if len(labels) < asked:
        return None, "a rater's answer is missing" if labels else "nobody answered"
    label = majority(labels).label
    return (None, "the raters are tied") if label is None else (label == "pass", "")
