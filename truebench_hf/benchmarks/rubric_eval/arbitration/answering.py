"""Where the responses of an arbitration come from: the data, its references, or a model drawn by lot (section 3.2)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from truebench_hf.benchmarks.rubric_eval.arbitration.subjects import Subject
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling


@dataclass(frozen=True)
class Answered:
    """A subject with its response; `problem` says why it has none. `truncated`: cut off at the token limit."""

    subject: Subject
    problem: str | None = None
    truncated: bool = False


def prepare(subjects: Sequence[Subject], responders: Sequence[str], use_reference: bool, seed: int) -> list[Subject]:
    """Settle where each response comes from. A subject to be answered gets its responder's spec as `response_model`.

    The draw depends on the seed and the subject alone, so that another limit draws no other model. Raises UserError when
    a subject has no response and nobody to answer it.
    """
    settled = []
    for subject in subjects:
        if subject.response is not None:
            settled.append(subject)
        elif use_reference and subject.reference is not None:
            settled.append(replace(subject, response=subject.reference, response_model="reference"))
        elif responders:
            drawn = random.Random(f"{seed} {subject.response_id}").choice(responders)
            settled.append(replace(subject, response_model=drawn))
        else:
            remedy = "--responder, or --use-reference for the answers the source ships"
            kept = " (beyond its references)" if use_reference else ""
            raise UserError(f"{subject.instruction_id} of {subject.source} has no response{kept}: name {remedy}")
    return settled


async def answer(subject: Subject, callers: Mapping[str, Caller], sampling: Sampling) -> Answered:
    """The subject with its response, asked for where it has none. An error text never becomes a response."""
    if subject.response is not None:
        return Answered(subject)
    try:
        completion = await callers[subject.response_model].complete(ChatRequest(subject.messages, sampling))
    except RequestFailed as error:
        return Answered(subject, f"{subject.response_model} gave no answer: {error}")
    if not completion.text.strip():
        why = "its thinking used up the token limit" if completion.truncated else "its text is empty"
        return Answered(subject, f"{subject.response_model} gave no answer: {why}")
    return Answered(replace(subject, response=completion.text), truncated=completion.truncated)
