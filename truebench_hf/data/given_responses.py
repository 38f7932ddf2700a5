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

_OFFICIAL = "_TRUEBench-v"  # which the official code puts behind the model's name


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
    otherwise = ""
    if isinstance(responses, str | Path):
        name, rows = Path(responses).name, list(read_answers(Path(responses)))
        prefix, official, _ = name.partition(_OFFICIAL)
        otherwise = prefix if official else ""
    else:
        name, entries = "responses", list(responses)
        if entries and all(isinstance(entry, str | list | tuple | None) for entry in entries):
            if len(entries) != len(instances):
                raise UserError(
                    f"responses: {len(entries)} for {len(instances)} instances; give one for each, None where none is"
                )
            pairs = zip(instances, entries, strict=True)
            entries = [{"id": instance.id, "response": entry} for instance, entry in pairs if entry is not None]
        rows = [of_row(row, f"response {number}") for number, row in enumerate(entries)]
    model, own = of_model(rows, model_name, name, otherwise)
    return responses_to(instances, own, model, name)


def responses_by_model(
    instances: Sequence[Instance], files: Iterable[tuple[Path, Iterable[Answers]]]
) -> dict[str, dict[str, list[Response]]]:
    """Model -> instance id -> responses, its samples, from the rows of any number of files; where a row names no model
    its file does.

    What is refused: as in `given_responses`.
    """
    by_model: dict[str, tuple[list[Answers], str]] = {}
    for path, answers in files:
        prefix, official, _ = path.name.partition(_OFFICIAL)
        for answer in answers:
            model = answer.model or (prefix if official else path.stem)
            by_model.setdefault(model, ([], path.name))[0].append(answer)
    responses: dict[str, dict[str, list[Response]]] = {model: {} for model in by_model}
    for model, (rows, name) in by_model.items():
        for instance, response in responses_to(instances, rows, model, name):
            responses[model].setdefault(instance.id, []).append(response)
    return responses


def responses_to(
    instances: Sequence[Instance], rows: Sequence[Answers], model: str, name: str
) -> list[tuple[Instance, Response]]:
    """Every instance with the responses of one model, from its rows; `name` is what they are called in messages.

    Which row belongs to which instance, and what is refused: as in `given_responses`.
    """
    own = matched({i.id: [turn.prompt for turn in i.turns] for i in instances}, rows, name)
    # A filter, of which lm-eval has a row each, leaves the answer as it is.
    own = {id: [row for row in answers if row.filter == answers[0].filter] for id, answers in own.items()}
    # Where one was drawn several times, two may be alike.
    if not any(row.answers != answers[0].answers or row.row.get("sample") not in (None, 1)
               for answers in own.values() for row in answers):  # fmt: skip
        own = {id: answers[:1] for id, answers in own.items()}
    none: list[Answers | None] = [None]
    return [
        (i, replace(_response(i, row, model, f"no response in {name}"), sample=number))
        for i in instances
        for number, row in enumerate(own.get(i.id, none), 1)
    ]


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
    own: dict[str, list[Answers]] = {}
    strange: list[Answers] = []
    for row in rows:
        texts = [_plain(text) for text in row.prompts]
        alike = list(dict.fromkeys(id for text in texts for id in by_prompt.get(text, ())))
        # Some tools number what has no id of its own: then an id is no more than a place. A prompt may be wrapped in a
        # template, or stand there in part.
        named = row.id if row.id in plain else None
        if named and (not texts or any(p in text or text in p for p in plain[named] for text in texts)):
            own.setdefault(named, []).append(row)
        elif len(alike) > 1:
            raise UserError(f"{row.where}: its prompt is that of instances {' and '.join(alike)}; give their ids")
        elif named and not alike:
            raise UserError(
                f"{row.where}: has the id of instance {named}, and another prompt; give the data it answers"
            )
        else:
            (own.setdefault(alike[0], []) if alike else strange).append(row)
    first = f" (the first: {strange[0].where}, id {strange[0].id})" if strange else ""
    if not own:
        raise UserError(
            f"{name}: none of its {len(rows)} responses is to an instance of the data{first}; give the --data that was "
            "answered, and rows with its ids or, where it has none, with its prompts"
        )
    if strange:
        warn(f"{name}: {len(strange)} of {len(rows)} responses are to no instance of the data and left out{first}")
    return own


def _plain(text: str) -> str:
    return " ".join(text.split())


def _response(instance: Instance, row: Answers | None, model: str, missing: str) -> Response:
    turns, texts = len(instance.turns), row.answers if row else None
    if row and isinstance(texts, str):
        listed = (texts,) if turns == 1 else jsonl.maybe(texts)  # a cell of a table holds a list as JSON
        if not isinstance(listed, list | tuple) or not all(isinstance(text, str | None) for text in listed):
            what = f"holds one text, and instance {instance.id} has {turns} turns; give a list, a text per turn"
            raise UserError(f"{row.where}: {what}")
        texts = tuple(listed)
    if row and len(texts or ()) > turns:
        raise UserError(f"{row.where}: holds {len(texts or ())} answers, and instance {instance.id} has {turns} turns")
    answers = [text for text in takewhile(lambda text: text is not None, texts or ()) if text is not None]
    turn = f"turn {len(answers) + 1}: " if turns > 1 else ""
    error = f"{turn}{missing}" if len(answers) < turns else None
    thinking = row.thinking if row and len(row.thinking) == len(answers) else ("",) * len(answers)
    return Response(instance.id, model, as_answered(instance, answers), thinking, error=error)
