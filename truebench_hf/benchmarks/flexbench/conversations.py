"""Conversations about one instruction: simulated ones in their place in the folder of a benchmark, people's logs, and
what a judge said of them.

DIR/procedure.yaml                                the instruction and its dimensions
DIR/corpora/SEED/MODEL/conversations.jsonl        what `truebench flex simulate` wrote
DIR/scores/verdicts.jsonl and judged.yaml         what `truebench flex score` wrote, and the procedure it judged by
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Strict

from truebench_hf.benchmarks.flexbench.procedure import Procedure, read_procedure
from truebench_hf.data import jsonl, row_files
from truebench_hf.data.rows import Id, Record, Row, named
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.types import Label, Message, Role

CONVERSATIONS = "conversations.jsonl"
VERDICTS, JUDGED = "verdicts.jsonl", "judged.yaml"  # the verdicts, and the procedure that they are on
_Role = Literal["system", "user", "human", "customer", "assistant", "ai", "gpt", "bot", "agent", "tool", "function"]
_ROLES: dict[str, Role] = dict.fromkeys(get_args(_Role)[4:], "assistant") | dict.fromkeys(get_args(_Role)[1:4], "user")
_TOOLS = ("tool", "function")
_Shown = Annotated[str, BeforeValidator(str)]  # a seed may be the number 0


@dataclass(frozen=True)
class Talk:
    """One conversation: whose it is, how its user was, and why it ended; "" where nobody says.

    `end` is who or what ended it (user, assistant, limit), and `ended` how that was found; `error`: it broke off.
    """

    id: str
    model: str
    messages: tuple[Message, ...]
    cooperativeness: str = ""
    end: str = ""
    seed: str = ""
    error: str = ""
    ended: str = ""
    real: bool = False  # with people, of a log


class _TurnRow(Row):
    keeps_blanks = ("content",)

    role: Annotated[_Role, BeforeValidator(lambda role: str(role).strip().lower())] = named("role", "from")
    content: Annotated[str, Strict()] | None = named("content", "value", default=None)
    tool_calls: tuple[dict[str, Any], ...] | None = None

    @property
    def text(self) -> str:
        """What was said; calls of tools and what came back stand in words, since dimensions may be about them."""
        content = f"[result] {self.content}" if self.role in _TOOLS else self.content or ""
        calls = [call.get("function", call) for call in self.tool_calls or ()]
        return "\n".join(filter(None, [content, *(f"[call] {c.get('name')}({c.get('arguments', '')})" for c in calls)]))


class TalkRow(Row):
    """A row that holds a conversation."""

    id: Id = ""
    model: _Shown = ""
    cooperativeness: _Shown = ""
    end: _Shown = ""
    seed: _Shown = ""
    error: _Shown = ""
    ended: _Shown = ""
    real: bool = False
    messages: tuple[_TurnRow, ...] = named("messages", "conversations", "conversation", "dialogue", default=())

    @property
    def talk(self) -> Talk:
        """The conversation, without its system messages."""
        messages = tuple(Message(_ROLES[row.role], row.text) for row in self.messages if row.role != "system")
        facts = (self.cooperativeness, self.end, self.seed, self.error, self.ended, self.real)
        return Talk(self.id, self.model, messages, *facts)


def as_row(talk: Talk) -> dict[str, Any]:
    """A talk as a line of `conversations.jsonl`."""
    messages = [{"role": message.role, "content": message.content} for message in talk.messages]
    names = ("id", "model", "cooperativeness", "end", "ended", "seed", "error")
    real = {"real": True} if talk.real else {}
    return {name: getattr(talk, name) for name in names} | real | {"messages": messages}


def read_talks(path: Path, model: str = "") -> list[Talk]:
    """The conversations of a file of rows: `messages` (or `conversations`, with roles of other names), and what there is
    of id, model, cooperativeness, end and seed. System messages are left out. Raises UserError naming row and field.

    `model` is whose they are where the rows do not say.
    """
    talks = []
    for number, record in enumerate(row_files.records(path), 1):
        row = record.read(TalkRow)
        if not row.messages and not row.error:  # one that broke off before its first message has none
            raise record.wrong("messages", "must be a list that is not empty")
        talks.append(replace(row.talk, id=row.id or str(number), model=row.model or model))
    often = Counter((talk.model, talk.seed, talk.id) for talk in talks)
    for (name, _, talk_id), count in often.items():
        if count > 1:
            raise UserError(f"{path}: conversation {talk_id} of {name or 'one model'} stands twice")
    return talks


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


class _JudgedRow(TalkRow):
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
    rows = [Record(where, row).read(_JudgedRow) for where, row in jsonl.read(file)]
    conversations = [JudgedConversation(row.talk, row.facts, row.labels, row.conflicts) for row in rows]
    for number, conversation in enumerate(conversations, 1):
        if other := sorted(procedure.structure.keys() ^ conversation.labels.keys()):
            raise UserError(
                f"{file}, line {number}: {other[0]} stands there or in {JUDGED}, not in both; score it again"
            )
    return procedure, conversations


def is_judged(folder: str) -> bool:
    """Return True if a folder holds judged conversations and the procedure that they were judged by."""
    place = _place(folder)
    return place is not None and (place / JUDGED).is_file()


def _place(folder: str) -> Path | None:
    return next((place for place in (Path(folder) / "scores", Path(folder)) if (place / VERDICTS).is_file()), None)


def models_of(judged: Iterable[JudgedConversation]) -> dict[str, list[JudgedConversation]]:
    """The judged conversations of each model, in order of appearance."""
    by_model: dict[str, list[JudgedConversation]] = {}
    for conversation in judged:
        by_model.setdefault(conversation.talk.model, []).append(conversation)
    return by_model
