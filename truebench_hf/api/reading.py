"""What a caller gives to be judged, one answer or many, read as cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from truebench_hf.data import instances
from truebench_hf.data.judged import Case, category_shown
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, unknown
from truebench_hf.types import Criterion, Message

MessageLike: TypeAlias = Message | Mapping[str, Any]
CriterionLike: TypeAlias = str | Criterion | Mapping[str, Any]
Prompt: TypeAlias = str | Iterable[MessageLike]
Criteria: TypeAlias = CriterionLike | Iterable[CriterionLike]

_CRITERION, _MESSAGE = (str, Criterion, Mapping), (Message, Mapping)  # the types of one


def read_case(prompt: Any, response: Any, criteria: Any, context: Any, reference: Any) -> Case:
    """One case. A response of None is an answer that is not there. Raises UserError on what is none of this."""
    entries = [Message("user", prompt)] if isinstance(prompt, str) else list(map(_message, _listed("prompt", prompt)))
    *before, last = Record("judge", {"prompt": entries}).messages("prompt")
    if last.role != "user":
        raise UserError("prompt: its last message must be the user's; the answer to it is the response")
    for name, text in (("response", response), ("context", context), ("reference", reference)):
        if not (text is None or isinstance(text, str)):
            raise UserError(f"{name}: must be a text, not a {type(text).__name__}")
    texts = [criteria] if isinstance(criteria, _CRITERION) else _listed("criteria", criteria)
    if not texts:
        raise UserError("criteria: there are none; give a text or a list of texts")
    history, read = tuple(before), tuple(_criterion(number, text) for number, text in enumerate(texts))
    return Case(last.content, response, read, history, context, category_shown(history), reference)


def read_cases(prompt: Any, response: Any, criteria: Any, context: Any, reference: Any) -> list[Case]:
    """A case per response. All else is one for all of them, or a list with one for each.

    Criteria are for all where they are texts, and for each where they are lists: how many there are decides nothing.
    """
    responses = _listed("response", response)
    is_one = isinstance(prompt, list | tuple) and bool(prompt) and all(isinstance(m, _MESSAGE) for m in prompt)
    own = [] if isinstance(criteria, _CRITERION) else _listed("criteria", criteria)
    nested = [not isinstance(entry, _CRITERION) for entry in own]
    if any(nested) and not all(nested):
        raise UserError("criteria: some are lists and some are not; give one list for all, or a list for each response")
    columns = [
        _each("prompt", prompt, len(responses), is_one or isinstance(prompt, str)),
        responses,
        _each("criteria", own or criteria, len(responses), not any(nested)),
        _each("context", context, len(responses), isinstance(context, str | None)),
        _each("reference", reference, len(responses), isinstance(reference, str | None)),
    ]
    cases = []
    for place, row in enumerate(zip(*columns, strict=True), 1):
        try:
            cases.append(read_case(*row))
        except UserError as error:
            raise UserError(f"response {place}: {error}") from error
    return cases


def _each(name: str, value: Any, count: int, for_all: bool) -> list[Any]:
    if for_all:
        return [value] * count
    values = _listed(name, value)
    if len(values) != count:
        raise UserError(f"{name}: {len(values)} for {count} responses; give one for all, or one for each")
    return values


def _listed(name: str, value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise UserError(f"{name}: must be a text or a list, not a {type(value).__name__}")
    return list(value)


def _message(value: Any) -> Any:
    """A message as rows of data hold them; a developer's is one of the system."""
    if not isinstance(value, Mapping):
        return value
    return {**value, "role": "system"} if value.get("role") == "developer" else dict(value)


def _criterion(number: int, source: Any) -> Criterion:
    """One criterion, as rows of data hold them, too."""
    if isinstance(source, Criterion):
        return source
    value = dict(source) if isinstance(source, Mapping) else source
    if isinstance(value, dict) and (wrong := [name for name in value if name not in instances.CRITERION]):
        raise unknown("field of a criterion", str(wrong[0]), instances.CRITERION)
    return instances.criterion(Record("judge", {}), "criteria", number, value)
