"""Criteria that hold several demands, taken apart by a model: a reward for half of one criterion is a reward for none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from truebench_hf.data.case import Case
from truebench_hf.data.instances import HALF
from truebench_hf.judging.case import sections
from truebench_hf.judging.checklists import folded
from truebench_hf.judging.signed import ListOf, SignedAnswer
from truebench_hf.judging.signed_prompt import TEXTS, ask_by_prompt, problem_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion

SAMPLING = Sampling(max_tokens=2048)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_LISTED = re.compile(r"(?:^|(?<=[\s(]))\(?\d{1,2}[.)](?=\s)")  # the number of an item, which is no demand
_EXAMPLE = ["The response does the first thing.", "The response does the second thing."]


async def split_criterion(schemas: SchemaFallback, case: Case, prompts: Prompts) -> tuple[str, ...] | Problem:
    """The demands in the one criterion of `case`, in order: several texts, or none where it is a single demand.

    The response is not looked at. A Problem where the model gives no answer that can be used. Raises what
    `Caller.complete` raises, but for a request that failed.
    """
    (criterion,) = case.criteria
    values = sections(Case(case.instruction, "", (Criterion(criterion.text),), case.history))  # without its notes
    answer: SignedAnswer[Any] = await ask_by_prompt(
        schemas, prompts, "split_criterion", values, {"demands": ListOf()}, sampling=SAMPLING,
        reason="It asks for two things that can be met apart.", entries={"demands": (TEXTS, _EXAMPLE)},
        check=lambda answer: problem_of(demands_of(answer.labels["demands"], criterion.text)), long=True,
    )  # fmt: skip
    return Problem(answer.problem) if answer.problem else demands_of(answer.labels["demands"], criterion.text)


def demands_of(listed: Sequence[object], criterion: str) -> tuple[str, ...] | Problem:
    """The demands of a list, none where there is one: a single demand stays as it was written.

    A Problem where one is no text, stands twice or repeats the whole, or where their numbers are not those of the
    criterion.
    """
    if not all(isinstance(one, str) and not HALF.search(one) for one in listed):
        return Problem("`demands` is no list of texts")
    demands = tuple(" ".join(str(one).split()) for one in listed)
    if not demands or not all(any(map(str.isalnum, one)) for one in demands):
        return Problem("`demands` is empty, or one of them is")
    return () if len(demands) == 1 else _checked(demands, criterion)


def _checked(demands: tuple[str, ...], criterion: str) -> tuple[str, ...] | Problem:
    said = [folded(one) for one in demands]
    if len(set(said)) < len(said):
        return Problem("a demand stands there twice")
    if folded(criterion) in said:
        return Problem("one of the demands is the whole criterion")
    wanted, given = set(_numbers(criterion)), {number for one in demands for number in _numbers(one)}
    if wanted != given:
        told = ", ".join(sorted(wanted ^ given))
        return Problem(f"the demands do not have the numbers of the criterion ({told} is missing or new)")
    return demands


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(_LISTED.sub(" ", text))
