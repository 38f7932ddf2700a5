"""Answers that somebody has already, put to the instances that they answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.data.answer_files import Answers, of_row, read_answers
from truebench_hf.data.case import as_answered
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import warn
from truebench_hf.types import Instance, Response


def given_responses(
    instances: Sequence[Instance], responses: str | Path | Iterable[Any], model_name: str | None = None
) -> list[tuple[Instance, Response]]:
    """Every instance with its responses, in their order, from a file (see `answer_files`) or from rows of such form.

    In memory also a text, a list of texts (one per turn) or None for each instance, in their order.

    A row belongs to the instance of its id, unless the row shows another prompt; without an id that is known, to the one
    instance with its prompt. Several rows of an instance are its samples, numbered as they come; where no instance has
    two that differ, a row that stands twice is one. What lacks a response has that for its `error`. Rows to no instance
    are left out with a warning. `model_name` says whose answers they are where rows do not, or which of several models'
    are meant. Raises UserError where that stays open, where a response is of more turns than its instance, where a
    prompt is that of several instances, and where no row belongs to any.
    """
    in_file = isinstance(responses, str | Path)
    name = Path(responses).name if isinstance(responses, str | Path) else "responses"
    rows = (
        read_answers(Path(responses))
        if isinstance(responses, str | Path)
        else (of_row(row, f"response {number}") for number, row in enumerate(_in_order(instances, responses)))
    )
    prefix, official, _ = name.partition("_TRUEBench-v")  # which the official code puts behind the model's name
    model, found = of_model(list(rows), model_name, name, prefix if in_file and official else "")
    return responses_to(instances, found, model, name)


def responses_by_model(
    instances: Sequence[Instance], files: Iterable[tuple[Path, Iterable[Answers]]]
) -> dict[str, dict[str, list[Response]]]:
    """Model -> instance id -> responses, its samples, from the rows of any number of files; where a row names no model
    its file does.

    The official code puts `_TRUEBench-v...` behind the model's name. What is refused: as in `given_responses`.
    """
    by_model: dict[str, tuple[list[Answers], str]] = {}
    for path, answers in files:
        named = path.name.partition("_TRUEBench-v")
        of_file = named[0] if named[1] else path.stem
        for answer in answers:
            by_model.setdefault(answer.model or of_file, ([], path.name))[0].append(answer)
    found: dict[str, dict[str, list[Response]]] = {}
    for model, (answers, name) in by_model.items():
        for instance, response in responses_to(instances, answers, model, name):
            found.setdefault(model, {}).setdefault(instance.id, []).append(response)
    return found


def responses_to(
    instances: Sequence[Instance], rows: Sequence[Answers], model: str, name: str
) -> list[tuple[Instance, Response]]:
    """Every instance with the responses of one model, from its rows; `name` is what they are called in messages.

    Which row belongs to which instance, and what is refused: as in `given_responses`.
    """
    own = _samples(matched({i.id: [turn.prompt for turn in i.turns] for i in instances}, rows, name))
    none: list[Answers | None] = [None]
    return [
        (i, replace(_response(i, row, model, f"no response in {name}"), sample=number))
        for i in instances
        for number, row in enumerate(own.get(i.id, none), 1)
    ]


def _in_order(instances: Sequence[Instance], responses: Iterable[Any]) -> list[Mapping[str, Any]]:
    """Rows as they are; what is no row answers the instance of its place. None answers none."""
    found = list(responses)
    if not found or not all(isinstance(one, str | list | tuple | None) for one in found):
        return found
    if len(found) != len(instances):
        raise UserError(
            f"responses: {len(found)} for {len(instances)} instances; give one for each, None where none is"
        )
    return [{"id": i.id, "response": one} for i, one in zip(instances, found, strict=True) if one is not None]


def of_model(
    rows: Sequence[Answers], model_name: str | None, name: str, otherwise: str = ""
) -> tuple[str, list[Answers]]:
    """(whose answers these are, the rows of that model); `otherwise` where neither rows nor `model_name` say so."""
    names = list(dict.fromkeys(row.model for row in rows if row.model))
    if len(names) > 1:
        if model_name not in names:
            raise UserError(f"{name}: are of {', '.join(names)}; say by --model-name which are meant")
        return model_name, [row for row in rows if row.model == model_name]
    if not (model := model_name or (names[0] if names else otherwise)):
        raise UserError(f"{name}: do not tell whose they are; say by --model-name NAME")
    return model, list(rows)


def matched(prompts: Mapping[str, Sequence[str]], rows: Sequence[Answers], name: str) -> dict[str, list[Answers]]:
    """The rows that answer each instance, whose `prompts` stand by its id, one per turn; as in `given_responses`."""
    plain = {id: [_plain(text) for text in texts] for id, texts in prompts.items()}
    by_prompt: defaultdict[str, list[str]] = defaultdict(list)
    for id, (first, *_) in plain.items():
        by_prompt[first].append(id)
    found: dict[str, list[Answers]] = {}
    strange: list[Answers] = []
    for row in rows:
        answered = _answered(row, plain, by_prompt)
        (strange if answered is None else found.setdefault(answered, [])).append(row)
    first = f" (the first: {strange[0].where}, id {strange[0].id})" if strange else ""
    if not found:
        raise UserError(
            f"{name}: none of its {len(rows)} responses is to an instance of the data{first}; give the --data that was "
            "answered, and rows with its ids or, where it has none, with its prompts"
        )
    if strange:
        warn(f"{name}: {len(strange)} of {len(rows)} responses are to no instance of the data and left out{first}")
    return found


def _samples(found: Mapping[str, list[Answers]]) -> dict[str, list[Answers]]:
    """The rows of each instance that are answers of their own. Where one was drawn several times, two may be alike."""
    # A filter, of which lm-eval has a row each, leaves the answer as it is.
    drawn = {name: [row for row in rows if row.filter == rows[0].filter] for name, rows in found.items()}
    several = any(row.answers != rows[0].answers or row.row.get("sample") not in (None, 1)
                  for rows in drawn.values() for row in rows)  # fmt: skip
    return drawn if several else {name: rows[:1] for name, rows in drawn.items()}


def _answered(row: Answers, prompts: Mapping[str, Sequence[str]], by_prompt: Mapping[str, Sequence[str]]) -> str | None:
    named = row.id if row.id in prompts else None
    shown = [_plain(text) for text in row.prompts]
    # Some tools number what has no id of its own: then an id is no more than a place.
    if named is not None and (not shown or any(_alike(prompt, text) for prompt in prompts[named] for text in shown)):
        return named
    alike = list(dict.fromkeys(id for text in shown for id in by_prompt.get(text, ())))
    if len(alike) > 1:
        raise UserError(f"{row.where}: its prompt is that of instances {' and '.join(alike)}; give their ids")
    if named is not None and not alike:
        raise UserError(f"{row.where}: has the id of instance {named}, and another prompt; give the data it answers")
    return alike[0] if alike else None


def _alike(prompt: str, shown: str) -> bool:
    """Whether one stands in the other: what is shown may be wrapped in a template, or a part of the prompt."""
    return prompt in shown or shown in prompt


def _plain(text: str) -> str:
    return " ".join(text.split())


def _response(instance: Instance, row: Answers | None, model: str, missing: str) -> Response:
    texts = _per_turn(instance, row) if row else ()
    given = [text for text in takewhile(lambda text: text is not None, texts) if text is not None]
    several = f"turn {len(given) + 1}: " if len(instance.turns) > 1 else ""
    error = f"{several}{missing}" if len(given) < len(instance.turns) else None
    thinking = row.thinking if row and len(row.thinking) == len(given) else ("",) * len(given)
    return Response(instance.id, model, as_answered(instance, given), thinking, error=error)


def _per_turn(instance: Instance, row: Answers) -> tuple[str | None, ...]:
    turns, texts = len(instance.turns), row.answers
    if texts is None:
        return ()
    if isinstance(texts, str):
        texts = (texts,) if turns == 1 else _listed(texts)
        if texts is None:
            raise UserError(
                f"{row.where}: holds one text, and instance {instance.id} has {turns} turns; give a list, a text per turn"
            )
    if len(texts) > turns:
        raise UserError(f"{row.where}: holds {len(texts)} answers, and instance {instance.id} has {turns} turns")
    return texts


def _listed(text: str) -> tuple[str | None, ...] | None:
    """A list of texts that a cell of a table holds as JSON."""
    found = jsonl.maybe(text)
    whole = isinstance(found, list) and all(isinstance(part, str | None) for part in found)
    return tuple(found) if whole else None
