"""Answers that somebody has already, in the forms in which this field keeps them, put to the instances that they answer.

Official evaluation files (`response`, a text per turn), samples of lm-eval (`resps`), details of lighteval
(`__model_response__`, Parquet), logs of inspect (`.eval` or `.json`, through its library), and plain rows in JSONL,
JSON, CSV or Parquet: `id` and `response` (also `output`, `completion`, `answer` and other names), a text, a list of
texts, one per turn, or messages. Logs of tools that evaluate retrieval (`question`, `contexts`, `answer`) are plain rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.data.judged import as_answered
from truebench_hf.data.logs import Chat, chat_in, chat_of, id_in
from truebench_hf.data.row_formats import RowFile, readable, sound, what_is
from truebench_hf.data.rows import Record, fold, unwrapped, words
from truebench_hf.errors import MALFORMED, UserError, need, refused
from truebench_hf.text.terminal import warn
from truebench_hf.types import Instance, Message, Response


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
    if isinstance(responses, str | Path):
        name, rows = Path(responses).name, list(read_answers(Path(responses)))
    else:
        name, entries = "responses", list(responses)
        if entries and all(isinstance(entry, str | list | tuple | None) for entry in entries):
            if len(entries) != len(instances):
                raise UserError(f"responses: {len(entries)} for {len(instances)} instances; give one for each, or None")
            pairs = zip(instances, entries, strict=True)
            entries = [{"id": instance.id, "response": entry} for instance, entry in pairs if entry is not None]
        rows = [of_row(row, f"response {number}") for number, row in enumerate(entries)]
    model, own = of_model(rows, model_name, name, _official(name))
    return responses_to(instances, own, model, name)


def responses_by_model(
    instances: Sequence[Instance], files: Iterable[tuple[Path, Iterable[Answers]]], model_name: str | None = None
) -> dict[str, dict[str, list[Response]]]:
    """Model -> instance id -> responses, its samples, from the rows of any number of files; where a row names no model
    its file does. With `model_name` those of this model, and those of which nobody says whose they are.

    What is refused: as in `given_responses`.
    """
    by_model: dict[str, tuple[list[Answers], str]] = {}
    for path, answers in files:
        for answer in of_model(list(answers), model_name, path.name)[1] if model_name else answers:
            model = model_name or answer.model or _official(path.name) or path.stem
            by_model.setdefault(model, ([], path.name))[0].append(answer)
    responses: dict[str, dict[str, list[Response]]] = {model: {} for model in by_model}
    for model, (rows, name) in by_model.items():
        for instance, response in responses_to(instances, rows, model, name):
            responses[model].setdefault(instance.id, []).append(response)
    return responses


def _official(name: str) -> str:
    """The model in the name of an official evaluation file, "" for other files."""
    model, official, _ = name.partition("_TRUEBench-v")
    return model if official else ""


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
            raise UserError(f"{row.where}: has the id of instance {named}, and another prompt; give its own data")
        else:
            (own.setdefault(alike[0], []) if alike else strange).append(row)
    first = f" (the first: {strange[0].where}, id {strange[0].id})" if strange else ""
    if not own:
        what = f"none of its {len(rows)} responses is to an instance of the data{first}"
        raise UserError(f"{name}: {what}; give the --data that was answered, and rows with its ids or prompts")
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


IDS = ("id", "instance_id", "index", "key", "custom_id")
_CHATS = ("messages", "conversations")
_PROMPTS = (*words("prompts"), "turns", *_CHATS)
_THINKING = ("reasoning", "think", "reasoning_content")


@dataclass(frozen=True, slots=True)
class Answers:
    """What a row says: `answers` are a text, or one per turn (None: there is none), or None for no answer at all.

    `id` is the data's own name of what was asked, `prompts` are texts that it is in, `thinking` goes by turn. `row` is
    the data's own row, as far as the file holds it, `filter` what lm-eval made of the answer, which stays the same.
    """

    where: str
    answers: str | tuple[str | None, ...] | None
    id: str | None = None
    prompts: tuple[str, ...] = ()
    model: str | None = None
    thinking: tuple[str, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict)
    filter: str = ""


def read_answers(path: Path) -> Iterator[Answers]:
    """The answers of a file, row by row. Raises UserError naming the row and what is wrong with it."""
    kind = path.suffix.lower()
    with readable(str(path)):
        content = jsonl.maybe(path.read_bytes()) if kind == ".json" and what_is(path) == "file" else None
    if kind == ".eval" or (isinstance(content, dict) and {"eval", "samples"} <= content.keys()):
        need("inspect", "inspect_ai", what=f"{path}: a log of inspect")
        from inspect_ai.log import read_eval_log

        with refused(f"{path}: cannot be read as a log of inspect", "", *MALFORMED):
            log = read_eval_log(str(path))
        yield from of_log(log, str(path))
        return
    file = RowFile.at(path)
    tabular = file.form in (".csv", ".tsv", ".xlsx")  # a table cannot tell an empty answer from none
    for record in sound(file.entries()):
        row = {name: text or None for name, text in record.row.items()} if tabular else record.row
        yield of_row(row, record.where)


def of_row(row: Any, where: str) -> Answers:
    """The answers of one row of any form but inspect's. Raises UserError naming the field that is wrong."""
    if not isinstance(row, Mapping):
        raise UserError(f"{where}: not an object")
    if "resps" in row or "filtered_resps" in row:
        # Of lm-eval. `doc_id` only counts the rows of the task; the data's own id is in its row. A filter may cut the answer.
        doc = _object(row.get("doc"))
        sent = _texts([row.get("arguments")])
        prompts = sent + _texts([doc] if sent else (doc.get(name) for name in _PROMPTS))
        text = _only(row.get("resps") or row.get("filtered_resps"), where, "resps")
        return Answers(where, text, id_in(doc, IDS), prompts, row=doc, filter=str(row.get("filter") or ""))
    if isinstance(response := row.get("__model_response__"), Mapping):
        # Of lighteval. `id` of the document only counts the rows of the task. After processing the answer is without its
        # thinking.
        doc = _object(row.get("__doc__"))
        own = _object(doc.get("specific"))
        text = _only(response.get("text_post_processed") or response.get("text"), where, "text")
        prompts = _texts([*(doc.get(name) for name in _PROMPTS), own])
        return Answers(where, text, id_in(own, IDS), prompts, None, _thinking(response.get("reasonings")), own)
    original, row = row, unwrapped(row)
    names = {fold(name): name for name in row} | {name: name for name in row}
    value = {name: row[own] for name, own in names.items()}
    field = next((names[name] for name in words("answers") if name in names), None)
    chat = Chat() if field else chat_of(original)
    prompts = _texts(value.get(name) for name in _PROMPTS)
    prompts += tuple(message.content for message in chat.messages if message.role == "user")
    thinking = next((value[name] for name in _THINKING if value.get(name)), ())
    model = value.get("model") or chat.model
    answers: str | tuple[str | None, ...] | None
    if chat.messages and chat.messages[-1].role == "assistant":  # a log
        answers = _by_turn(chat.messages)
    elif field := field or next((names[name] for name in _CHATS if name in names), None):
        answers = _answers(row[field], where, field)
    else:
        others = ", ".join((*words("answers"), *_CHATS)[1:])
        raise UserError(f"{where}: missing field 'response' (or {others}); {Record(where, row).there}")
    model = model if isinstance(model, str) and model else None
    return Answers(where, answers, id_in(value, IDS), prompts, model, _thinking(thinking), row)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def of_log(log: Any, name: str) -> Iterator[Answers]:
    """The answers of an `inspect_ai.log.EvalLog`; of a sample that failed there is none.

    Samples of logs that `export` wrote are numbered, and know the id of the data from their metadata.
    """
    for sample in log.samples or ():
        users = [sample.input] if isinstance(sample.input, str) else [m.text for m in sample.input if m.role == "user"]
        turns = _by_turn([Message(message.role, message.text) for message in sample.messages])[max(len(users) - 1, 0) :]
        last = sample.output.completion if sample.output.choices else None
        answers = turns if len(turns) > 1 else last
        where, id_ = f"{name}, sample {sample.id}", str((sample.metadata or {}).get("instance_id", sample.id))
        yield Answers(where, None if sample.error else answers, id_, tuple(users), log.eval.model)


def _answers(value: Any, where: str, field: str) -> str | tuple[str | None, ...] | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        body = value.get("body", value)
        if "error" in (body if isinstance(body, Mapping) else {}):  # of a batch
            return None
        value = [value]
    if isinstance(value, list | tuple):
        if value and all(isinstance(part, Mapping) for part in value):
            if messages := chat_in(list(value)).messages:
                return _by_turn(messages)
            if all(part.get("content", "") is None for part in value):
                return None
        elif all(isinstance(part, str | None) for part in value):
            return tuple(value)
    raise UserError(f"{where}: field {field!r} must be a text, a list of texts, one per turn, or messages with texts")


def _by_turn(messages: Sequence[Message]) -> tuple[str | None, ...]:
    """Per message of the user what the model said last before the next one; without any, all that the model said."""
    if all(message.role != "user" for message in messages):
        return tuple(message.content for message in messages if message.role == "assistant")
    turns: list[str | None] = []
    for message in messages:
        if message.role == "user":
            turns.append(None)
        elif message.role == "assistant" and turns:
            turns[-1] = message.content
    return tuple(turns)


def _only(value: Any, where: str, field: str) -> str | None:
    """The one text in nested lists, None where these are empty."""
    held = list(_leaves(value))
    if not all(isinstance(leaf, str) for leaf in held):
        raise UserError(f"{where}: field {field!r} holds likelihoods, no answer; give the samples of a generating task")
    if len(held) > 1:
        raise UserError(f"{where}: field {field!r} holds {len(held)} answers; give a file with one to each prompt")
    return held[0] if held else None


def _thinking(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list | tuple) else [value] if isinstance(value, str) else []
    return tuple(part if isinstance(part, str) else "" for part in parts)


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    """Every text in nested values; a list that is written as a JSON text (a chat, say) counts as what is in it."""
    texts: list[str] = []
    for text in (leaf for value in values for leaf in _leaves(value) if isinstance(leaf, str)):
        inner = jsonl.held(text)
        texts += [leaf for leaf in _leaves(inner if isinstance(inner, list) else []) if isinstance(leaf, str)]
        texts += [text] if text.strip() else []
    return tuple(texts)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(inner)
    elif value is not None:
        yield value
