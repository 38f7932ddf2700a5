"""Which of two responses a judge prefers, asked in both orders (paper 004, section 3.2.2 and appendix G.3)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from truebench_hf.data.case import Case
from truebench_hf.judging.case import sections
from truebench_hf.judging.signed_prompt import ask_by_prompt
from truebench_hf.metrics.preference import joined, turned
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts

_WORDS = {"A": "win", "B": "loss", "TIE": "tie"}  # of the response shown first
_REASON = "One response does what was asked in most respects, the other one leaves out a part of it. " * 9


@dataclass(frozen=True, slots=True)
class Preference:
    """`label` says of the first response "win", "tie" or "loss"; None where it is undecided, and `reason` says why.

    `as_given` is what the judge said with that response shown first, `swapped` with it shown second; both labels are
    about the same response, and the label is theirs `joined`.
    """

    label: str | None
    reason: str = ""
    as_given: str | None = None
    swapped: str | None = None


async def prefer(
    schemas: SchemaFallback, case: Case, other: str, prompts: Prompts, *,
    sampling: Sampling = Sampling(max_tokens=8192), sample: int = 0,
) -> Preference:  # fmt: skip
    """Whether the response of a case is preferred to the `other` one, asked in both orders.

    The criteria of the case, where it has any, are shown as a checklist. An answer that names no choice, or two, is
    asked again. What the two orders do not agree on is a tie; with one of them undecided the pair is.
    """
    given, swapped = await asyncio.gather(
        _asked(schemas, case, other, prompts, sampling, sample),
        _asked(schemas, replace(case, response=other), case.response, prompts, sampling, sample),
    )
    orders = [given.label, turned(swapped.label)]
    label, shown = joined(orders), [("as given", given), ("swapped", swapped)]
    told = [(order, one) for order, one in shown if one.label is None] or shown
    reason = "; ".join(f"{order}: {one.reason}" for order, one in told if one.reason)
    return Preference(label, reason, *orders)


async def _asked(
    schemas: SchemaFallback, case: Case, other: str, prompts: Prompts, sampling: Sampling, sample: int
) -> Preference:
    """What the judge says of the response of a case, which it is shown first."""
    values = sections(case, beside=[other]) | {"other": other or "(the response is empty)"}
    answer = await ask_by_prompt(
        schemas, prompts, "preference", values, {"preference": _WORDS}, sampling=sampling, sample=sample, reason=_REASON
    )
    label = answer.labels.get("preference")
    return Preference(label, answer.problem if label is None else answer.reason)
