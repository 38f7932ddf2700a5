"""What a trainer hands to a reward function (prompts, completions, columns), read as cases to be judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.data import instances
from truebench_hf.data.judged import Case, cases
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import is_question
from truebench_hf.models.chat_template import split_thinking
from truebench_hf.types import Message, Response

BESIDE = ("system", "context", "reference")  # columns that a judge is shown, too


def read_samples(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], column: str | None = None
) -> list[Case]:
    """A case per completion; one without criteria has none. `columns` hold an entry for each completion.

    Criteria stand in `column`, else in the one named as in all data (criteria, rubric, rubrics, checklist). Where all
    are questions they are judged on TICK's terms: a flaw is NO. Raises UserError naming the completion and the field.
    """
    if len(prompts) != len(completions):
        raise UserError(f"prompts: {len(prompts)} for {len(completions)} completions; give one for each")
    names = criteria_columns(columns, column)
    used = {"criteria" if name == column else name: columns[name] for name in (*names, *BESIDE) if name in columns}
    for name, values in used.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != len(completions):
            raise UserError(f"{name}: must be a list with an entry for each of the {len(completions)} completions")
    rows = [{name: values[place] for name, values in used.items()} for place in range(len(completions))]
    return [
        _case(row, prompt, completion, f"completion {place}")
        for place, (row, prompt, completion) in enumerate(zip(rows, prompts, completions, strict=True), 1)
    ]


def criteria_columns(columns: Mapping[str, Any], column: str | None = None) -> list[str]:
    """The columns that may hold criteria: `column`, or those of our names that are there. Raises UserError."""
    if column is None:
        return [name for name in instances.CRITERIA if name in columns]
    if column not in columns:
        raise UserError(f"column={column!r}: no such column; there are {', '.join(map(str, columns)) or 'none'}")
    return [column]


def _case(row: Mapping[str, Any], prompt: Any, completion: Any, where: str) -> Case:
    if not prompt or not isinstance(prompt, str | Sequence) or (isinstance(prompt, str) and not prompt.strip()):
        raise UserError(f"{where}: its prompt must be a text or a list of messages, and hold something")
    if not isinstance(prompt, str):
        prompt = [_plain_message(message, where) if isinstance(message, Mapping) else message for message in prompt]
    instance = instances.of_row(Record(where, {**row, "prompt": prompt}))
    (turn,) = instance.turns
    system = [Message("system", instance.system)] if instance.system else []
    messages = (*system, Message("user", turn.prompt), Message("assistant", _answer(completion, where)))
    questions = bool(turn.criteria) and all(is_question(criterion.text) for criterion in turn.criteria)
    return cases(instance, Response("", "", messages), "tick" if questions else None)[0]


def _answer(completion: Any, where: str) -> str:
    """The answer in a completion: a text, or the last message of the assistant; without its thinking.

    "" where it holds none: a judge is told that the response is empty.
    """
    if isinstance(completion, str):
        return split_thinking(completion)[0]
    if not isinstance(completion, Sequence) or not all(isinstance(message, Mapping) for message in completion):
        raise UserError(f"{where}: a completion is a text or a list of messages, not a {type(completion).__name__}")
    answers = [message for message in completion if message.get("role", "assistant") == "assistant"]
    text = (_plain_message(answers[-1], where)["content"] or "") if answers else ""
    if not isinstance(text, str):
        raise UserError(f"{where}: the content of its last message is a {type(text).__name__}, not a text")
    return split_thinking(text)[0]


def _plain_message(message: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A message with its content as a text: some templates want it as a list of parts."""
    role, content = message.get("role"), message.get("content")
    if isinstance(content, list):
        if not all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
            raise UserError(
                f"{where}: a message holds something that is no text (an image?), which judges here do not see"
            )
        content = "".join(str(part.get("text") or "") for part in content)
    return {**message, "role": "system" if role == "developer" else role, "content": content}
