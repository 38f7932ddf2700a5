"""`truebench flex simulate`: a model's conversations with simulated users, kept for `flex score`."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import CONVERSATIONS, Talk, as_row, corpus_folder
from truebench_hf.benchmarks.flexbench.procedure import check_notes, load
from truebench_hf.benchmarks.flexbench.users import (
    PROMPTS,
    Analysis,
    Profile,
    adjust,
    analyse,
    leaks,
    read_profiles,
    users_table,
)
from truebench_hf.engine.folder import count_noted
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging.rules.languages import language_code, language_name
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import option, role
from truebench_hf.prompts import Prompts, fence
from truebench_hf.report.sections import Conversation, Conversations, exchanges
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions, WritingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Message

USERS = "users.json"
_LEAD = "Conversations with simulated users. Simulators are known to be an easy mode: people differ more, and give up sooner."


class SimulateOptions(FolderOptions, WritingOptions, PromptOptions):
    """Who talks with whom, how often and how long."""

    folder: str = option(
        help="Folder with procedure.yaml (see `flex build`); with --out a YAML file or a built-in instruction, too.",
        argument=True,
        panel="Data",
    )
    out: str = option(
        "", help="Folder of the study; if not given, FOLDER/corpora/SEED/MODEL, where `flex score` looks."
    )
    model: str = role(help="Model under test: the assistant.")
    simulator: str | None = role(None, help="Model that plays the users, and tells when a conversation is over.")
    conversations: int = option(50, ge=1, help="How many; more later take those that are there and go on.")
    seed: int = option(
        0, binds=True, help="Tells corpora apart: conversation j has one kind of user and one draw for all models."
    )
    temperature: float = option(0.3, ge=0, binds=True, help="Sampling temperature of the model and of the users.")
    turns: int = option(
        20, ge=1, binds=True, help="Rounds after which a conversation ends; 1: the instruction is the only message."
    )
    max_tokens: int = option(2048, ge=1, binds=True, help="Token limit of one message.")
    profiles: str | None = option(
        None, panel="Data", help="JSON file of other kinds of users (see `flex study profiles`)."
    )

    def model_post_init(self, context: Any) -> None:
        if not self.out and self.folder.strip():
            if not Path(self.folder).is_dir():
                raise UserError(
                    f"{self.folder}: no such folder; `truebench flex build INSTRUCTION.md --out FOLDER` makes one, or name "
                    "--out for a YAML file or a built-in instruction"
                )
            object.__setattr__(self, "out", str(corpus_folder(Path(self.folder), self.seed, self.model)))
            object.__setattr__(self, "folder_named", False)
        super().model_post_init(context)
        if self.turns > 1 and self.simulator is None:
            raise UserError("name a --simulator, who plays the users; only --turns 1 needs none")


class FlexSimulate(Study[SimulateOptions, int, Talk, list[Talk]]):
    """Conversation by conversation; the users are fitted to the instruction before the first."""

    kind, unit, prompts, boards = "flexsimulate", "conversations", PROMPTS, False
    files = (CONVERSATIONS, USERS)
    unforeseen = "When users hang up is not known: every conversation is reckoned at its full length."

    def items(self) -> Items[int]:
        options = self.options
        self.procedure, self.profiles = load(options.folder), read_profiles(options.profiles)
        self.language = (self.procedure.language or language_code(self.procedure.instruction)).lower()
        self.known = {
            "instruction_sha256": digest(self.procedure.instruction),
            "profiles_sha256": digest(str([profile.model_dump() for profile in self.profiles])),
        }  # fmt: skip
        return Items(range(options.conversations), str, str, drawn=False)

    def check(self) -> None:
        self.before = count_noted(self.options.out)

    def setup(self) -> None:
        self.users: asyncio.Task[list[tuple[Profile, str]]] | None = None
        self.analysis: Analysis | None = None

    async def work(self, number: int) -> Talk:
        """A conversation that begins with the assistant's opening line, or without one with the user.

        A round is a message of the user and the answer to it. When the user takes leave the assistant still answers,
        since that may be its last step. A conversation of one turn has the instruction for the user's message.
        """
        options, procedure = self.options, self.procedure
        seed = options.seed * 1_000_000 + number  # tells draws apart: the same for conversation j of every model
        talk = Talk(str(number), options.model, (), seed=str(options.seed))
        if options.turns == 1:
            talk = await self._answered(talk, procedure.instruction, "", seed)
            return talk if talk.error else replace(talk, end="limit", ended="one turn")
        if self.users is None:
            self.users = asyncio.create_task(self._users())
        users = await self.users
        profile, prompt = users[number % len(users)]
        opening = (Message("assistant", procedure.opening),) if procedure.opening else ()
        talk = replace(talk, messages=opening, cooperativeness=profile.cooperativeness)
        for _ in range(options.turns):
            message = await self._message(talk, prompt, seed)
            if isinstance(message, Problem):
                return replace(talk, error=f"the simulated user: {message.text}")
            talk = await self._answered(talk, message, procedure.instruction, seed)
            if talk.error:
                return talk
            if _patterns()[0].search(message):
                return replace(talk, end="user", ended="the user said goodbye")
            end = await ended_by(self.caller("simulator"), options.prompts, talk.messages, options.max_tokens)
            if isinstance(end, Problem):
                return replace(talk, error=f"whether it is over: {end.text}")
            if end:
                return replace(talk, end=end, ended="found by the detector")
        return replace(talk, end="limit", ended=f"{options.turns} rounds")

    async def _answered(self, talk: Talk, text: str, system: str, seed: int) -> Talk:
        """The conversation with a message of the user and the model's answer to it, or the reason why there is none."""
        talk = replace(talk, messages=(*talk.messages, Message("user", text)))
        front = (Message("system", system),) if system else ()
        try:
            answer = await self.caller("model").complete(
                ChatRequest((*front, *talk.messages), self.options.sampling, seed)
            )
        except RequestFailed as error:
            return replace(talk, error=f"the model gave no answer: {error}")
        return replace(talk, messages=(*talk.messages, Message("assistant", answer.text)))

    async def _message(self, talk: Talk, prompt: str, seed: int) -> str | Problem:
        """The simulated user's next message."""
        # To the simulator the assistant is who it talks with: the roles are turned round.
        turned = [
            Message("user" if message.role == "assistant" else "assistant", message.content or "(silence)")
            for message in talk.messages
        ]
        if not turned or turned[0].role == "assistant":
            turned.insert(0, Message("user", "(the conversation begins; you speak first)"))
        messages = (Message("system", prompt), *turned)
        _, user_name, spoken_by_assistant = _patterns()

        def read(answer: str, truncated: bool) -> str | Problem:
            text = user_name.sub("", answer.strip()).strip().strip('"\u201c\u201d').strip()
            if spoken_by_assistant.search(text):
                return Problem("it spoke for the assistant, too")
            if (code := language_code(text)) and self.language and code != self.language:
                return Problem(
                    f"it is in {language_name(code)}, and the conversation in {language_name(self.language)}"
                )
            return text or Problem("it said nothing")

        def again(problem: str) -> str:
            return f"This cannot be used: {problem}. Write the user's next message, and nothing else."

        request = ChatRequest(messages, self.options.sampling, seed, example=_USER_EXAMPLE)
        return await ask(self.caller("simulator"), request, read, again)

    async def _users(self) -> list[tuple[Profile, str]]:
        """The kinds of users, fitted to the instruction, each with all that its simulator is told.

        Raises UserError where that cannot be had, or gives a dimension away.
        """
        sampling, simulator = Sampling(max_tokens=self.options.max_tokens), self.caller("simulator")
        prompts, procedure = self.options.prompts, self.procedure
        analysis = await analyse(simulator, prompts, procedure.instruction, sampling)
        if isinstance(analysis, Problem):
            raise UserError(
                f"the simulator cannot tell what the instruction is about: {analysis.text}; take another one"
            )
        self.analysis = analysis
        adjusted = await asyncio.gather(
            *(adjust(simulator, prompts, profile, analysis, sampling) for profile in self.profiles)
        )
        spoken = language_name(self.language) if self.language not in ("", "en") else ""
        users = []
        for profile, fitted in zip(self.profiles, adjusted, strict=True):
            if isinstance(fitted, Problem):
                raise UserError(
                    f"the user '{profile.cooperativeness}' cannot be fitted to the instruction: {fitted.text}"
                )
            about = {"profile": fitted, "analysis": analysis, "first": not procedure.opening, "language": spoken}
            prompt = prompts.render("flex_user", **about)
            if shared := leaks(prompt, procedure.dimensions):
                name, run = shared[0]
                raise UserError(
                    f"the user '{profile.cooperativeness}' would be told of dimension {name} ({run!r}); "
                    "change --profiles or the dimension's wording, or take another --simulator"
                )
            users.append((fitted, prompt))
        return users

    def score(self, done: Sequence[Talk]) -> Outcome[list[Talk]]:
        broken = sum(bool(talk.error) for talk in done)
        users = self.users.result() if self.users else []
        written = {
            "simulator": self.options.simulator, "analysis": self.analysis.model_dump() if self.analysis else None,
            "users": [{**profile.model_dump(), "prompt": prompt} for profile, prompt in users],
        }  # fmt: skip
        notes = check_notes([self.procedure])
        notes += [f"conversations that broke off: {broken}; the same command goes on there"] if broken else []
        if self.before > len(done):
            notes.append(
                f"conversations here before: {self.before}; --conversations {self.before} brings them back without a call"
            )
        spoken = {talk.id: {language_code(m.content) for m in talk.messages if m.role == "assistant"} for talk in done}
        if other := [name for name, codes in spoken.items() if self.language and codes - {self.language, ""}]:
            notes.append(
                f"conversations in which the assistant leaves {language_name(self.language)}: {len(other)} (the first: {other[0]})"
            )
        tables = [_ends(done), *([users_table(done)] if self.options.turns > 1 else [])]
        rows = tuple(
            Conversation(f"{talk.id} {talk.cooperativeness}", exchanges(talk.messages, []), "", talk.error)
            for talk in done
        )
        facts = {"Model": self.options.model, "Simulator": self.options.simulator, "Language": self.language}
        return Outcome(
            list(done), title="FlexBench: conversations", tables=tables, conversations=Conversations("Conversations", rows),
            items={CONVERSATIONS: [as_row(talk) for talk in done], USERS: written}, lead=_LEAD, notes=notes, facts=facts,
            incomplete=broken,
        )  # fmt: skip


def _ends(done: Sequence[Talk]) -> Table:
    """The conversations by kind of user, and by who or what ended them."""
    ends = {"by_user": "user", "by_assistant": "assistant", "at_limit": "limit", "broken": ""}
    counts = Counter((talk.cooperativeness, talk.end) for talk in done)
    rows = [
        {"user": kind or "(one turn)", **{name: counts[kind, end] for name, end in ends.items()}}
        for kind in dict.fromkeys(talk.cooperativeness for talk in done)
    ]
    columns = [Column("user", "user"), *(Column(name, name.replace("_", " "), "count") for name in ends)]
    return Table("ends", columns, rows, "Conversations by user and end")


_ENDS = {"user": "user", "assistant": "assistant", "no": "", "none": ""}
_USER_EXAMPLE = "Yes, that is right, but I would like to know first what changes for me. " * 2


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What a user takes leave by, the name that a message begins with, and a line that the assistant is to have said."""
    import yaml

    words = yaml.safe_load((files("truebench_hf.benchmarks.flexbench") / "spoken.yaml").read_text(encoding="utf-8"))
    farewell = rf"\b(?:{'|'.join(words['spaced'])})\b|{'|'.join(words['unspaced'])}"
    user, assistant = (
        rf"^\s*(?:\*\*)?(?:{'|'.join(words[who])})(?:\*\*)?\s*[:\uff1a]\s*" for who in ("user", "assistant")
    )
    return re.compile(farewell, re.IGNORECASE), re.compile(user, re.IGNORECASE), re.compile(assistant, re.I | re.M)


async def ended_by(simulator: Caller, prompts: Prompts, messages: Sequence[Message], max_tokens: int) -> str | Problem:
    """Who ended a conversation, as the simulator finds: user, assistant; "" where it goes on."""
    tag = fence(*(message.content for message in messages))
    last = "\n\n".join(f"[{message.role}_{tag}]\n{message.content}" for message in messages[-6:])
    answer = await ask_by_prompt(
        SchemaFallback(simulator, "off"), prompts, "flex_end", {"conversation": last, "tag": tag}, {"end": _ENDS},
        sampling=Sampling(max_tokens=max_tokens), entries={"end": ({"enum": [*_ENDS]}, "no")},
    )  # fmt: skip
    return Problem(answer.problem) if answer.problem else answer.labels["end"]
