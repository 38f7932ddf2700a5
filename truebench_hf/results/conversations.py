"""Judged conversations in a file, by line: what each asks, as a number, and those that are wanted, with their texts.

A file of a million verdicts is not held: texts are read again for the lines that somebody looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import Form, Reader, told
from truebench_hf.types import Instance, Message

T = TypeVar("T")


def conversations(
    file: Path, wanted: Collection[int], make: Callable[[Judged], T], form: Form | None = None
) -> Iterator[tuple[int, T]]:
    """Yield (line, what `make` returns) of the wanted lines, numbered from 0; the others are not parsed.

    Raises UserError naming a line that cannot be read.
    """
    reader, read = Reader(), form or Reader.judged
    with file.open("rb") as content:
        for number, (where, line) in enumerate(jsonl.lines(content, str(file))):
            if number in wanted or b'"context"' in line:  # which later lines may name
                item, _ = read(reader, jsonl.parsed(line, where), where)
                if number in wanted:
                    yield number, make(item)


def asked(file: Path, careful: Callable[[], Iterable[tuple[Judged, str]]], *, criteria: bool = True) -> list[int]:
    """Return a number for every line: equal, within this process, where instances ask the same.

    That is their texts, and with `criteria` these with their points. `careful` reads files that are not of our form.
    """
    try:
        with file.open("rb") as content:
            contexts: dict[str, int] = {}
            rows = (jsonl.parsed(line, where) for where, line in jsonl.lines(content, str(file)))
            return [_of_row(row, contexts, criteria) for row in rows]
    except (KeyError, TypeError, AttributeError, IndexError):
        return [_of_instance(item.instance, criteria) for item, _ in careful()]


def _of_row(row: Mapping[str, Any], contexts: dict[str, int], criteria: bool) -> int:
    messages = [Message(message["role"], message["content"]) for message in row["messages"]]
    prompts, system = told(messages)
    verdicts, context = row["verdicts"], row.get("context")
    if "context_of" in row:
        context = contexts[row["context_of"]]
    elif context is not None:
        context = contexts[row["id"]] = hash(context)
    own = row.get("prompts") or [None] * len(verdicts)
    asked_turns = [text if text is not None else prompts[place] for place, text in enumerate(own)]
    references = row.get("references") or [None] * len(verdicts)
    history = tuple((message["role"], message["content"]) for message in row.get("history", ()))
    points = [[(cell["criterion"], float(cell.get("weight", 1))) for cell in turn] for turn in verdicts]
    return _number(
        row.get("system", system), context, history, zip(asked_turns, references, strict=True), points, criteria
    )


def _of_instance(instance: Instance, criteria: bool) -> int:
    context = None if instance.context is None else hash(instance.context)
    history = tuple((message.role, message.content) for message in instance.history)
    turns = ((turn.prompt, turn.reference) for turn in instance.turns)
    points = [[(c.text, float(c.weight)) for c in turn.criteria] for turn in instance.turns]
    return _number(instance.system, context, history, turns, points, criteria)


def _number(system: Any, context: Any, history: Any, turns: Iterable[Any], points: Any, criteria: bool) -> int:
    shaped = tuple(map(tuple, points)) if criteria else ()
    return hash((system, context, history, tuple(turns), shaped))
