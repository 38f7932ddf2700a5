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
from truebench_hf.report import sheets
from truebench_hf.report.sheet_answers import Annotations
from truebench_hf.types import Instance, Response

KIND = "criteria-types"
RATERS = 3  # in the paper
OPTIONS = ("pass", "fail")
Answered = tuple[Instance, Response]


@dataclass(frozen=True)
class People:
    """What raters say: per response id whether it passes, None where that is open, with the reason in `open`.

    `pairs` are Cohen's kappas of every two raters with a response in common; `strangers` are ids of sheets that are not
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


def export(folder: str, annotators: Sequence[str], out: str | None = None, seed: int = 0) -> list[Path]:
    """Write a sheet of all responses of a `compare-criteria` folder for each rater, by default into its `sheets`.

    Raises UserError where the folder holds none, and as `sheets.export`.
    """
    return sheets.export(questions(read_answered(Path(folder))), out or Path(folder) / "sheets", annotators, seed)


def read_answered(folder: Path) -> list[Answered]:
    """The responses that `compare-criteria` left in its folder. Raises UserError."""
    if read_info(folder).get("kind") != KIND or not (folder / RESPONSES).is_file():
        raise UserError(
            f"{folder}: holds no responses; give the --out of a finished `truebench study compare-criteria`"
        )
    reader = Reader()
    return [reader.answered(row, where) for where, row in jsonl.read(folder / RESPONSES)]


def questions(answered: Sequence[Answered]) -> list[dict[str, Any]]:
    """A row for each different response that is whole, for `sheets.export`: without criteria, reference and model."""
    found = {row["id"]: row for row in _questions(answered)}
    return [found[name] for name in sorted(found)]  # hashes: the same model does not come first in every group


def _questions(answered: Sequence[Answered]) -> Iterator[dict[str, Any]]:
    for instance, response in answered:
        if response.error is not None or len(response.answers) < len(instance.turns):
            continue
        last = cases(instance, response)[-1]
        several = len(instance.turns)
        what = (
            "the response" if several == 1 else f"the last {several} answers of the assistant, the response among them,"
        )
        yield {
            "id": response_id(instance, response),
            "sections": sheets.material(last.history, last.instruction, last.response, Context=instance.context),
            "question": f"Judge by the user's request alone: does {what} do what was asked, so that it can be used as it is?",
            "options": OPTIONS,
            "group": digest(instance.id),
        }


def read(given: Annotations, known: Sequence[str]) -> People:
    """What filled-in sheets say of the responses with these ids. Raises UserError where they are of none of them."""
    wanted = set(known)
    ours = {name: given.labels[name] for name in given.labels if name in wanted}
    strangers = tuple(name for name in given.labels if name not in wanted)
    if not ours:
        raise UserError(
            f"--humans: none of its {len(given.labels)} rows is about a response that is compared here (the first: "
            f"{strangers[0]}); give the sheets made for these responses"
        )
    passed: dict[str, bool | None] = {}
    why: dict[str, str] = {}
    asked = max(map(len, ours.values()))
    for name in wanted:
        passed[name], why[name] = _majority(ours.get(name, {}), asked)
    among = sheets.agreement(Annotations(ours, {name: given.options[name] for name in ours}, {}))
    return People(
        among.annotators, passed, {name: reason for name, reason in why.items() if reason},
        {pair: found for pair, found in among.cohen.items() if found.n}, strangers, asked,
    )  # fmt: skip


def check(given: Annotations) -> None:
    """Raise UserError where sheets ask something else than these."""
    if other := [name for name, options in given.options.items() if set(options) != set(OPTIONS)]:
        raise UserError(
            f"--humans: row {other[0]} asks for {' or '.join(given.options[other[0]])}, not for pass or fail; give sheets of "
            "`truebench study compare-criteria-sheets`"
        )


def _majority(answers: Mapping[str, str | None], asked: int) -> tuple[bool | None, str]:
    """Whether most raters pass it, or why that is open.

    A response that a rater left out (in the sheet, or with the end of a sheet that was cut) is open, whatever the others say: where two agree the third could change nothing,
    but to keep these alone would keep the easy ones.
    """
    if not answers:
        return None, "no rater was asked"
    given = [answer for answer in answers.values() if answer is not None]
    if len(given) < asked:
        return None, "a rater's answer is missing" if given else "nobody answered"
    found = majority(given).label
    return (None, "the raters are tied") if found is None else (found == "pass", "")
