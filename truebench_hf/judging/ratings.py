"""Ratings by a judge in whole numbers from 1 on, and which of two responses it prefers.

Of a whole response or several at once: 1 to 5 as in paper 004 (appendix G.4 and G.5), 1 to 10 as in WildBench, several as
in FLASK and BiGGen (paper 000, E). Preferences are asked in both orders (paper 004, section 3.2.2 and appendix G.3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.data.judged import Case
from truebench_hf.judging.signed import SignedAnswer
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING, ask_by_prompt
from truebench_hf.metrics.preference import joined, turned
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, sections

SCALES = (5, 10)
_REASON = "One response does what was asked in most respects, the other one leaves out a part of it. " * 9
_WORDS = {"A": "win", "B": "loss", "TIE": "tie"}  # of the response shown first
_SENTENCE = "The response does what was asked in most respects, with a weakness here and there. "


@dataclass(frozen=True, slots=True)
class Rating:
    """A whole number from 1 to the end of the scale; None where the judge settled none, and `reason` says why."""

    value: int | None
    reason: str = ""


async def rate(
    schemas: SchemaFallback, case: Case, prompts: Prompts, scale: int = 5, *, sampling: Sampling = JUDGE_SAMPLING
) -> Rating:
    """How good the response of a case is, from 1 to `scale` (5 or 10).

    The criteria of the case, where it has any, are shown as a checklist that helps to rate (check-then-score); without
    any this is direct scoring. An answer that names no rating, or two, is asked again.
    """
    values = {**sections(case), "most": scale}
    answer = await ask_ratings(schemas, prompts, "rating", values, ("rating",), scale, sampling=sampling)
    return Rating(answer.labels.get("rating"), answer.problem or answer.reason)


async def ask_ratings(
    schemas: SchemaFallback, prompts: Prompts, name: str, values: Mapping[str, Any], keys: Sequence[str], scale: int, *,
    sampling: Sampling = JUDGE_SAMPLING,
) -> SignedAnswer[int]:  # fmt: skip
    """A rating from 1 to `scale` (5 or 10) under each key of one answer to the prompt of that name.

    An answer that lacks one, or names two for one key, is asked again. Where no answer can be read in full, a key keeps
    a rating on which all answers that speak of it agree.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is one of {SCALES}")
    words = {str(value): value for value in range(1, scale + 1)}
    labels = {key: words for key in keys}  # noqa: C420  # nobody changes them
    return await ask_by_prompt(
        schemas, prompts, name, values, labels, sampling=sampling, reason=_SENTENCE * (7 + 2 * len(keys)),
        entries={key: ({"type": "integer", "minimum": 1, "maximum": scale}, 3) for key in keys},
    )  # fmt: skip


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


async def prefer(schemas: SchemaFallback, case: Case, other: str, prompts: Prompts) -> Preference:
    """Whether the response of a case is preferred to the `other` one, asked in both orders.

    The criteria of the case, where it has any, are shown as a checklist. An answer that names no choice, or two, is
    asked again. What the two orders do not agree on is a tie; with one of them undecided the pair is.
    """
    preference, swapped = await asyncio.gather(
        _preferred_to(schemas, case, other, prompts),
        _preferred_to(schemas, replace(case, response=other), case.response, prompts),
    )
    orders = [preference.label, turned(swapped.label)]
    label, by_order = joined(orders), [("as given", preference), ("swapped", swapped)]
    relevant = [(order, answer) for order, answer in by_order if answer.label is None] or by_order
    reason = "; ".join(f"{order}: {answer.reason}" for order, answer in relevant if answer.reason)
    return Preference(label, reason, *orders)


async def _preferred_to(schemas: SchemaFallback, case: Case, other: str, prompts: Prompts) -> Preference:
    """What the judge says of the response of a case, which it is shown first."""
    values = sections(case, beside=[other]) | {"other": other or "(the response is empty)"}
    answer = await ask_by_prompt(
        schemas, prompts, "preference", values, {"preference": _WORDS}, sampling=JUDGE_SAMPLING, reason=_REASON
    )
    label = answer.labels.get("preference")
    return Preference(label, answer.problem if label is None else answer.reason)
