"""Conversations about one instruction: simulated ones in their place in the folder of a benchmark, people's logs, and
what a judge said of them.

DIR/procedure.yaml                                the instruction and its dimensions
DIR/corpora/SEED/MODEL/conversations.jsonl        what `truebench flex simulate` wrote
DIR/scores/verdicts.jsonl and judged.yaml         what `truebench flex score` wrote, and the procedure it judged by
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError

from truebench_hf.benchmarks.flexbench.procedure import Procedure, read_procedure
from truebench_hf.data import jsonl, logs, row_files
from truebench_hf.data.rows import Id, Record, Row, adapter, fold, named, user_error
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.report.sections import Check, Conversation, Outcome, exchanges, worst
from truebench_hf.text.terminal import warn
from truebench_hf.types import Label, Message

CONVERSATIONS = "conversations.jsonl"
VERDICTS, JUDGED = "verdicts.jsonl", "judged.yaml"  # the verdicts, and the procedure that they are on
_LISTS = ("messages", "conversations", "conversation", "dialogue")
_TRI = {True: "yes", False: "no", None: "–"}
_Shown = Annotated[str, BeforeValidator(str)]  # a seed may be the number 0


@dataclass(frozen=True)
class Talk:
    """One conversation: whose it is, how its user was, and why it ended; "" where nobody says.

    `end` is who or what ended it (user, assistant, limit), and `ended` how that was found; `error`: it broke off.
    """

    id: Id = ""
    model: _Shown = ""
    messages: tuple[Message, ...] = ()
    cooperativeness: _Shown = ""
    end: _Shown = ""
    seed: _Shown = ""
    error: _Shown = ""
    ended: _Shown = ""
    real: bool = False  # with people, of a log


def as_row(talk: Talk) -> dict[str, Any]:
    """Return a talk as a line of `conversations.jsonl`."""
    return {name: value for name, value in asdict(talk).items() if name != "real" or value}


def of_row(record: Record) -> Talk:
    """Return the talk of such a line, without its system messages. Raises UserError naming the field that is wrong."""
    try:
        talk: Talk = adapter(Talk).validate_python({k: value for k, value in record.row.items() if value is not None})
    except ValidationError as error:
        raise user_error(error, record) from error
    return replace(talk, messages=tuple(message for message in talk.messages if message.role != "system"))


def read_talks(path: Path, model: str = "") -> list[Talk]:
    """The conversations of a file or folder: lines of `conversations.jsonl`, or logs in any form that `data.logs` reads.

    Rows have what there is of id, model, cooperativeness, end and seed; `model` is whose they are where they do not say.
    Those without any message are left out, and counted. Raises UserError naming row and field.
    """
    talks, skipped = list[Talk](), Counter[str]()
    rows = row_files.the_one(row_files.splits(str(path), flag="--logs"), f"--logs {path}", together=True)
    for number, record in enumerate(rows, 1):
        record = replace(record, row={fold(name): value for name, value in record.row.items()})
        if any(record.row.get(name) == [] for name in _LISTS) and not record.row.get("error"):
            skipped["rows without a message"] += 1
            continue
        talk = _of_log(record, skipped)
        talks.append(replace(talk, id=talk.id or str(number), model=talk.model or model))
    if not talks:
        raise UserError(f"{path}: holds no conversation with a message")
    if skipped:
        warn(
            f"Note: {path}: left out, as no text: {', '.join(f'{count:,} {kind}' for kind, count in skipped.items())}."
        )
    often = Counter((talk.model, talk.seed, talk.id) for talk in talks)
    for (name, _, talk_id), count in often.items():
        if count > 1:
            raise UserError(f"{path}: conversation {talk_id} of {name or 'one model'} stands twice")
    return talks


def _of_log(record: Record, skipped: Counter[str]) -> Talk:
    """The talk of a row in our form, else in that of any log, of which what is no text is counted."""
    listed = next((name for name in _LISTS if name in record.row), "messages")
    row = {name: value for name, value in record.row.items() if name != listed}
    row["messages"] = _with_tools(record.row.get(listed, []))
    try:
        talk = of_row(replace(record, row=row))
        if talk.messages or talk.error:  # one that broke off before its first message has none
            return talk
        fault = record.wrong("messages", "must be a list that is not empty, of role and content")
    except UserError as error:
        fault = error
    chat = logs.chat_of(row)
    if not chat.messages:
        raise fault
    skipped += chat.left_out
    row |= {"messages": chat.messages, "model": row.get("model") or chat.model}
    return of_row(replace(record, row=row))


def _with_tools(messages: Any) -> Any:
    """Messages in which calls of tools and what came back stand in words, since dimensions may be about them."""
    messages = jsonl.maybe(messages) if isinstance(messages, str) else messages
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return messages
    worded = []
    for message in messages:
        content, calls = message.get("content"), message.get("tool_calls")
        if message.get("role") in ("tool", "function"):
            message = {"role": "assistant", "content": f"[result] {content}"}
        elif isinstance(calls, list):
            functions = [call.get("function", call) for call in calls if isinstance(call, dict)]
            texts = [f"[call] {call.get('name')}({call.get('arguments', '')})" for call in functions]
            before = content if isinstance(content, list) else [content] if content else []
            message = {"role": message.get("role"), "content": [*before, *texts]}
        worded.append(message)
    return worded


def corpus_folder(folder: Path, seed: int, model: str) -> Path:
    """Where the conversations of a model (its spec) with a seed stand."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:60]
    # Two specs may differ in what a file name cannot hold.
    return folder / "corpora" / str(seed) / (plain if plain == model else f"{plain}-{digest(model)[:6]}")


def corpora(folder: Path) -> list[Talk]:
    """All conversations below a folder, by seed and model. Raises UserError where there are none."""
    files = sorted((folder / "corpora").glob(f"*/*/{CONVERSATIONS}"))
    talks = [talk for file in files for talk in read_talks(file)]
    if not talks:
        raise UserError(f"{folder}: holds no corpora; `truebench flex simulate {folder}` makes them")
    return talks


@dataclass(frozen=True)
class JudgedConversation:
    """A conversation with facts and verdict per dimension. `conflicts` are pairs that exclude each other, both found."""

    talk: Talk
    facts: Mapping[str, DimensionFacts]
    labels: Mapping[str, Label | None]
    conflicts: tuple[tuple[str, str], ...] = ()

    def row(self) -> dict[str, Any]:
        """A line of `verdicts.jsonl`."""
        dimensions = {name: {**asdict(facts), "label": self.labels[name]} for name, facts in self.facts.items()}
        return as_row(self.talk) | {"dimensions": dimensions, "conflicts": [list(pair) for pair in self.conflicts]}


def _labels(dimensions: Any) -> Any:
    return {name: part.get("label", "") for name, part in dimensions.items()}  # "" is no label


class _JudgedRow(Row):
    facts: dict[str, DimensionFacts] = named("dimensions")
    labels: Annotated[dict[str, Label | None], BeforeValidator(_labels)] = named("dimensions")
    conflicts: tuple[tuple[str, str], ...] = ()


def read_judged(folder: str) -> tuple[Procedure, list[JudgedConversation]]:
    """The judged conversations of a folder, and the procedure as it was when they were judged.

    The folder is a benchmark's, whose `scores` are meant, or any --out of `flex score`. Raises UserError naming what is
    wrong.
    """
    place = _place(folder)
    if place is None:
        raise UserError(f"{folder}: holds no judged conversations; `truebench flex score {folder}` judges them")
    file, procedure = place / VERDICTS, read_procedure(place / JUDGED)
    conversations = []
    for record in (Record(where, row) for where, row in jsonl.read(file)):
        row = record.read(_JudgedRow)
        if other := sorted(procedure.structure.keys() ^ row.labels.keys()):
            raise UserError(f"{record.where}: {other[0]} stands there or in {JUDGED}, not in both; score it again")
        conversations.append(JudgedConversation(of_row(record), row.facts, row.labels, row.conflicts))
    return procedure, conversations


def step_by_step(folder: str) -> dict[str, dict[str, Conversation]]:
    """By model and id the judged conversations of a folder to look at, with every step of the procedure in its order.

    Raises UserError as `read_judged`.
    """
    procedure, conversations = read_judged(folder)
    by_model: dict[str, dict[str, Conversation]] = {}
    for judged in conversations:
        talk, steps = judged.talk, list[Check]()
        for dimension in procedure.dimensions:
            facts, label = judged.facts[dimension.id], judged.labels[dimension.id]
            state: Outcome = "open" if label is None else label if label in ("yes", "no") else ""
            cells = tuple(_TRI[value] for value in (facts.applies, facts.attempted, facts.correct))
            gap = "" if state else "Skipped" if facts.applies and not facts.attempted else "Not due"
            branch = dimension.base is not None
            steps.append(Check(dimension.question, state, cells, facts.reason, facts.turn, branch, gap))
        name = f"{talk.id} (seed {talk.seed})" if talk.seed else talk.id
        about = " / ".join(filter(None, (talk.cooperativeness, f"ended by {talk.end}" if talk.end else "")))
        by_model.setdefault(talk.model, {})[name] = Conversation(
            about, exchanges(talk.messages, ()), worst(steps), talk.error, talk.model, category=talk.cooperativeness,
            heads=("Applies", "Attempted", "Right"), checks=tuple(steps),
        )  # fmt: skip
    return by_model


def is_judged(folder: str) -> bool:
    """Return True if a folder holds judged conversations and the procedure that they were judged by."""
    place = _place(folder)
    return place is not None and (place / JUDGED).is_file()


def _place(folder: str) -> Path | None:
    return next((place for place in (Path(folder) / "scores", Path(folder)) if (place / VERDICTS).is_file()), None)
