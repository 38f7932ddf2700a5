"""Reads lines: what comes back equals what was written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError

from truebench_hf.data import jsonl
from truebench_hf.data.records.judged import Judged
from truebench_hf.data.records.marks import Mark, Marked
from truebench_hf.data.records.rows import (
    JUDGMENTS,
    RESPONSES,
    ConversationRow,
    CriterionRow,
    JudgedRow,
    MarkedRow,
    MessageRow,
    ResponseRow,
    VerdictRow,
)
from truebench_hf.data.records.writer import told
from truebench_hf.errors import UserError
from truebench_hf.metrics.repeated import mean
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Instance, Message, Response, Turn, Usage, Verdict

T = TypeVar("T")
_JUDGED, _ANSWERED = TypeAdapter(JudgedRow), TypeAdapter(ResponseRow)


class Reader:
    """Reads the lines of one file, from its first on. Raises UserError with `where` on whatever is wrong in one.

    Contexts are held for the lines that name them. With `context` what it makes of one stands in its place: a hash,
    say, where they would take too much memory.
    """

    def __init__(self, context: Callable[[str], str] = str) -> None:
        self._contexts: dict[str, str] = {}
        self._context = context

    def judged(self, row: Any, where: str) -> tuple[Judged, str]:
        """(judged instance, judge) of a line of `judgments.jsonl`."""
        found: JudgedRow = self._checked(_JUDGED, row, where, JUDGMENTS)
        verdicts = tuple(tuple(_read_verdict(item, found["judge"]) for item in turn) for turn in found["verdicts"])
        usage = {role: Usage(**counts) for role, counts in found["usage"].items()}
        instance, response = _read(found, [tuple(v.criterion for v in turn) for turn in verdicts], usage, where)
        marked = tuple(map(_read_marked, found.get("marked", [])))
        return Judged(instance, response, verdicts, usage, found.get("recorded"), marked), found["judge"]

    def answered(self, row: Any, where: str) -> tuple[Instance, Response]:
        """An instance with its response, of a line of `responses.jsonl`."""
        found: ResponseRow = self._checked(_ANSWERED, row, where, RESPONSES)
        usage = {role: Usage(**counts) for role, counts in found["usage"].items()}
        criteria = [tuple(_read_criterion(item) for item in turn) for turn in found["criteria"]]
        return _read(found, criteria, usage, where)

    def _checked(self, form: TypeAdapter[Any], row: Any, where: str, kind: str) -> Any:
        if not isinstance(row, dict):
            raise UserError(f"{where}: not an object")
        try:
            found = form.validate_python(row)
        except ValidationError as error:
            raise UserError(f"{where}: not a line of {kind}: {_first(error)}") from error
        if (holder := found.pop("context_of", None)) is not None:
            if holder not in self._contexts:
                raise UserError(
                    f"{where}: its context is that of instance {holder[:60]!r}, of which no line is before it"
                )
            found["context"] = self._contexts[holder]
        elif "context" in found:
            found["context"] = self._contexts[found["id"]] = self._context(found["context"])
        return found


class Head(NamedTuple):
    """What stands in the head of a line of `judgments.jsonl`: where an instance belongs, and the share of its scored
    samples that passed (of one sample 0 or 1; None: not scored)."""

    language: str
    category: str
    passed: float | None


def read_outcomes(file: Path) -> dict[str, dict[str, float | None]]:
    """By model, instance id -> the share of its scored samples that passed. Raises as `read_heads`."""
    return {model: {name: head.passed for name, head in heads.items()} for model, heads in read_heads(file).items()}


def read_heads(file: Path) -> dict[str, dict[str, Head]]:
    """By model (as strangers may see its name), instance id -> head from a `judgments.jsonl`.

    Only the head of each line is read, since files are large. Raises OSError, and UserError on lines of another form.
    """
    groups: dict[tuple[str, str], tuple[str, str]] = {}
    passed: dict[tuple[str, str], list[bool | None]] = {}
    with file.open("rb") as content:
        for where, line in jsonl.lines(content, file.name):
            text = line.decode("utf-8", "replace")
            if (head := _HEAD.match(text)) is not None:
                name, language, category, model, outcome = head[1], head[2], head[3], head[4], _PASSED[head[5]]
            else:
                row = jsonl.parsed(text, where)
                if not isinstance(row, dict) or not isinstance(row.get("passed", ""), bool | None) or "id" not in row:
                    raise UserError(f"{where}: not a line of {JUDGMENTS}")
                name, model, outcome = str(row["id"]), str(row.get("model") or ""), row["passed"]
                language, category = str(row.get("language") or ""), str(row.get("category") or "")
            groups[model, name] = language, category
            passed.setdefault((model, name), []).append(outcome)
    shown, found = anonymous.names(model for model, _ in passed), dict[str, dict[str, Head]]()
    for (model, name), values in passed.items():
        found.setdefault(shown[model], {})[name] = Head(*groups[model, name], mean(values))
    return found


def of_entry(by_model: Mapping[str, T], name: str) -> T | None:
    """What of a file is about the model of a board's line; what is of one model alone is, whatever the line is called."""
    return next(iter(by_model.values())) if len(by_model) == 1 else by_model.get(name)


# Texts with an escape in them are left to the JSON reader.
_HEAD = re.compile(
    r'\{"id": "([^"\\]*)", "language": "([^"\\]*)", "category": "([^"\\]*)", "task": "[^"\\]*", "model": "([^"\\]*)", '
    r'(?:"sample": \d+, )?"judge": .*?(?<!\\)"passed": (true|false|null),'
)
_PASSED = {"true": True, "false": False, "null": None}


def _first(error: ValidationError) -> str:
    """The first thing that is wrong; names that strangers chose are cut."""
    fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part)[:60] for part in fault["loc"])
    said = {"missing": "is absent", "extra_forbidden": "is unknown"}.get(fault["type"])
    return f"field {place!r} {said or fault['msg'].replace('Input should be', 'should be', 1)}"


def _read(
    row: ConversationRow, criteria: Sequence[tuple[Criterion, ...]], usage: Mapping[str, Usage], where: str
) -> tuple[Instance, Response]:
    messages, history = _read_messages(row["messages"]), _read_messages(row.get("history", []))
    asked, system = told(messages)
    own = row.get("prompts", [None] * len(criteria))
    prompts = [
        text if text is not None else said for text, said in zip(own, [*asked, *[None] * len(own)], strict=False)
    ]
    if len(own) != len(criteria) or None in prompts:
        raise UserError(f"{where}: field 'prompts' must give the prompts that 'messages' do not, one per turn")
    references = row.get("references", [None] * len(criteria))
    if len(references) != len(criteria):
        raise UserError(f"{where}: field 'references' must give one per turn, or null")
    turns = tuple(
        Turn(str(text), of_it, right) for text, of_it, right in zip(prompts, criteria, references, strict=True)
    )
    instance = Instance(
        row["id"], row["language"], row["category"], row["task"], turns, row.get("system", system),
        row.get("context"), history,
    )  # fmt: skip
    spent = Usage(**row["response_usage"]) if "response_usage" in row else usage.get("model", Usage())
    response = Response(
        row["id"], row["model"], messages, tuple(row["reasoning"]), spent, row["error"], tuple(row["truncated"]),
        row.get("sample", 1),
    )  # fmt: skip
    return instance, response


def _read_messages(rows: Sequence[MessageRow]) -> tuple[Message, ...]:
    return tuple(Message(row["role"], row["content"]) for row in rows)


def _read_criterion(item: CriterionRow) -> Criterion:
    beside = (item.get("kind"), item.get("condition"), item.get("weight", 1.0), item.get("rule"))
    return Criterion(item["criterion"], *beside)


def _read_marked(row: MarkedRow) -> Marked:
    pieces = (
        Mark(one["text"], one.get("tone", ""), one.get("word", ""), one.get("note", ""), tuple(one.get("beside", ())))
        for one in row["marks"]
    )
    return Marked(row["judge"], tuple(pieces))


def _read_verdict(item: VerdictRow, judge: str) -> Verdict:
    return Verdict(
        _read_criterion(item), item["label"], item["reason"], item.get("judge", judge), item["probability"],
        tuple(item["votes"]), item["conflicting"],
    )  # fmt: skip
