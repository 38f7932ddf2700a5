"""`truebench flex simulate`: a model's conversations with simulated users, kept for `flex score`."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from truebench_hf.benchmarks.flexbench.conversations import (
    CONVERSATIONS,
    Talk,
    as_row,
    corpus_folder,
    knowledge_of,
)
from truebench_hf.benchmarks.flexbench.procedure import Procedure, load, to_check
from truebench_hf.benchmarks.flexbench.profiles import (
    PROMPTS,
    Adjusting,
    Analysis,
    Profile,
    leaks,
    read_profiles,
    user_prompt,
)  # fmt: skip
from truebench_hf.benchmarks.flexbench.realism import users_table
from truebench_hf.engine.info import count_noted
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging.rules.languages import language_code, language_name
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import Prompts, fence
from truebench_hf.report.sections import Conversation, Conversations, exchanges
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Message

USERS = "users.json"
_LEAD = "Conversations with simulated users. Simulators are known to be an easy mode: people differ more, and give up sooner."


@dataclass(frozen=True, kw_only=True)
class SimulateOptions(FolderOptions, PromptOptions):
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
    conversations: int = option(50, help="How many; more later take those that are there and go on.")
    seed: int = option(
        0, binds=True, help="Tells corpora apart: conversation j has one kind of user and one draw for all models."
    )
    temperature: float = option(0.3, binds=True, help="Sampling temperature of the model and of the users.")
    turns: int = option(
        20, binds=True, help="Rounds after which a conversation ends; 1: the instruction is the only message."
    )
    max_tokens: int = option(2048, binds=True, help="Token limit of one message.")
    profiles: str | None = option(
        None, panel="Data", help="JSON file of other kinds of users (see `flex study profiles`)."
    )
    knowledge: str | None = option(None, panel="Data", help="Text file that the assistant is given to know.")

    def __post_init__(self) -> None:
        if not self.out and self.folder.strip():
            if not Path(self.folder).is_dir():
                raise UserError(
                    f"{self.folder}: no such folder; `truebench flex build INSTRUCTION.md --out FOLDER` makes one, or name "
                    "--out for a YAML file or a built-in instruction"
                )
            object.__setattr__(self, "out", str(corpus_folder(Path(self.folder), self.seed, self.model)))
            object.__setattr__(self, "folder_named", False)
        super().__post_init__()
        at_least_one(self, "conversations", "turns", "max_tokens")
        if not 0 <= self.temperature <= 2:
            raise UserError(f"--temperature {self.temperature}: lies between 0 and 2")
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
        self.knowledge = knowledge_of(options.knowledge)
        self.language = (self.procedure.language or language_code(self.procedure.instruction)).lower()
        self.known = {
            "instruction_sha256": digest(self.procedure.instruction),
            "knowledge_sha256": digest(self.knowledge),
            "profiles_sha256": digest(str([asdict(one) for one in self.profiles])),
        }  # fmt: skip
        return Items(range(options.conversations), str, str, drawn=False)

    def check(self) -> None:
        check_prompts(PROMPTS, self.options.prompts)
        self.before = count_noted(self.options.out)

    def setup(self) -> None:
        self.users: asyncio.Task[list[tuple[Profile, str]]] | None = None
        self.analysis: Analysis | None = None

    async def work(self, number: int) -> Talk:
        options, one = self.options, self.procedure
        seed = options.seed * 1_000_000 + number
        sampling = Sampling(options.temperature, max_tokens=options.max_tokens)
        if options.turns == 1:
            parties = Parties(self.caller("model"), None, options.prompts, "", "", sampling, sampling)
            text = f"{one.instruction}\n\n{self.knowledge}" if self.knowledge else one.instruction
            return self._talk(number, await single(parties, text, seed))
        if self.users is None:
            self.users = asyncio.create_task(self._users())
        found = await self.users
        profile, prompt = found[number % len(found)]
        parties = Parties(
            self.caller("model"), self.caller("simulator"), options.prompts, system_prompt(one, self.knowledge), prompt,
            sampling, sampling, options.turns, self.language,
        )  # fmt: skip
        return self._talk(number, await rollout(parties, one.opening, seed), profile.cooperativeness)

    def _talk(self, number: int, made: Rollout, cooperativeness: str = "") -> Talk:
        seed = str(self.options.seed)
        return Talk(
            str(number), self.options.model, made.messages, cooperativeness, made.end, seed, made.error, made.ended
        )

    async def _users(self) -> list[tuple[Profile, str]]:
        """The kinds of users, fitted to the instruction, each with all that its simulator is told.

        Raises UserError where that cannot be had, or gives a dimension away.
        """
        sampling = Sampling(max_tokens=self.options.max_tokens)
        adjusting = Adjusting(self.caller("simulator"), self.options.prompts, self.procedure.instruction, sampling)
        analysis = await adjusting.analysis()
        if isinstance(analysis, Problem):
            raise UserError(
                f"the simulator cannot tell what the instruction is about: {analysis.text}; take another one"
            )
        self.analysis = analysis
        adjusted = await asyncio.gather(*(adjusting.adjusted(profile, analysis) for profile in self.profiles))
        found = []
        for profile, fitted in zip(self.profiles, adjusted, strict=True):
            if isinstance(fitted, Problem):
                raise UserError(
                    f"the user '{profile.cooperativeness}' cannot be fitted to the instruction: {fitted.text}"
                )
            spoken = language_name(self.language) if self.language not in ("", "en") else ""
            prompt = user_prompt(self.options.prompts, fitted, analysis, not self.procedure.opening, spoken)
            if shared := leaks(prompt, self.procedure.dimensions):
                name, run = shared[0]
                raise UserError(
                    f"the user '{profile.cooperativeness}' would be told of dimension {name} ({run!r}); "
                    "change --profiles or the dimension's wording, or take another --simulator"
                )
            found.append((fitted, prompt))
        return found

    def score(self, done: Sequence[Talk]) -> Outcome[list[Talk]]:
        broken = sum(bool(talk.error) for talk in done)
        found = self.users.result() if self.users else []
        written = {
            "simulator": self.options.simulator, "analysis": asdict(self.analysis) if self.analysis else None,
            "users": [{**asdict(profile), "prompt": prompt} for profile, prompt in found],
        }  # fmt: skip
        notes = to_check([self.procedure])
        notes += [f"conversations that broke off: {broken}; the same command goes on there"] if broken else []
        if self.before > len(done):
            told = f"--conversations {self.before} brings them back without a call"
            notes.append(f"conversations here before: {self.before}; {told}")
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


def system_prompt(procedure: Procedure, knowledge: str) -> str:
    """What the model under test is told: the instruction, and the knowledge between tags of its own."""
    if not knowledge:
        return procedure.instruction
    tag = fence(procedure.instruction, knowledge)
    return f"{procedure.instruction}\n\n<knowledge_{tag}>\n{knowledge}\n</knowledge_{tag}>"


_PREFIX = re.compile(
    r"^\s*(?:\*\*)?(?:user|customer|me|caller|patient|nutzer|kunde|cliente|usuario|\u5ba2|\u304a\u5ba2\u69d8)(?:\*\*)?\s*[:\uff1a]\s*",
    re.IGNORECASE,
)
_BOTH = re.compile(
    r"^\s*(?:\*\*)?(?:assistant|agent|ai|bot|assistent|asistente|\u30a2\u30b7\u30b9\u30bf\u30f3\u30c8)(?:\*\*)?\s*[:\uff1a]",
    re.IGNORECASE | re.MULTILINE,
)
_ENDS = {"user": "user", "assistant": "assistant", "no": "", "none": ""}
_USER_EXAMPLE = "Yes, that is right, but I would like to know first what changes for me. " * 2


@dataclass(frozen=True)
class Parties:
    """Who talks: the model with its system prompt, the simulator with its own, and the longest they may."""

    model: Caller
    simulator: Caller | None
    prompts: Prompts
    system: str
    user: str
    sampling: Sampling
    user_sampling: Sampling
    rounds: int = 20
    language: str = ""  # ISO 639-1: the user is asked again who writes in another one


@cache
def _farewell() -> re.Pattern[str]:
    """Words by which a user takes leave."""
    import yaml

    words = yaml.safe_load((files("truebench_hf.benchmarks.flexbench") / "farewells.yaml").read_text(encoding="utf-8"))
    return re.compile(rf"\b(?:{'|'.join(words['spaced'])})\b|{'|'.join(words['unspaced'])}", re.IGNORECASE)


@dataclass(frozen=True)
class Rollout:
    """What was said, who or what ended it (user, assistant, limit; "" where `error` says that it broke off), and how."""

    messages: tuple[Message, ...]
    end: str
    error: str = ""
    ended: str = ""


async def single(parties: Parties, instruction: str, seed: int) -> Rollout:
    """A conversation of one turn: the instruction is the user's message."""
    messages = [Message("user", instruction)]
    try:
        messages.append(await _reply(parties, messages, seed, system=""))
    except RequestFailed as error:
        return Rollout(tuple(messages), "", f"the model gave no answer: {error}")
    return Rollout(tuple(messages), "limit", ended="one turn")


async def rollout(parties: Parties, opening: str, seed: int) -> Rollout:
    """A conversation that begins with the assistant's opening line, or without one with the user.

    `seed` tells draws apart: the same for conversation j of every model. A round is a message of the user and the
    answer to it. When the user takes leave the assistant still answers, since that may be its last step.
    """
    messages = [Message("assistant", opening)] if opening else []
    for _ in range(parties.rounds):
        said = await _user(parties, messages, seed)
        if isinstance(said, Problem):
            return Rollout(tuple(messages), "", f"the simulated user: {said.text}")
        messages.append(Message("user", said))
        try:
            messages.append(await _reply(parties, messages, seed, system=parties.system))
        except RequestFailed as error:
            return Rollout(tuple(messages), "", f"the model gave no answer: {error}")
        if _farewell().search(said):
            return Rollout(tuple(messages), "user", ended="the user said goodbye")
        over = await _over(parties, messages)
        if isinstance(over, Problem):
            return Rollout(tuple(messages), "", f"whether it is over: {over.text}")
        if over:
            return Rollout(tuple(messages), over, ended="found by the detector")
    return Rollout(tuple(messages), "limit", ended=f"{parties.rounds} rounds")


async def _reply(parties: Parties, messages: Sequence[Message], seed: int, system: str) -> Message:
    front = [Message("system", system)] if system else []
    made = await parties.model.complete(ChatRequest((*front, *messages), parties.sampling, seed))
    return Message("assistant", made.text)


async def _user(parties: Parties, messages: Sequence[Message], seed: int) -> str | Problem:
    """The simulated user's next message."""
    assert parties.simulator is not None
    # To the simulator the assistant is who it talks with: the roles are turned round.
    turned = [Message("user" if m.role == "assistant" else "assistant", m.content or "(silence)") for m in messages]
    if not turned or turned[0].role == "assistant":
        turned.insert(0, Message("user", "(the conversation begins; you speak first)"))
    request = ChatRequest(
        (Message("system", parties.user), *turned), parties.user_sampling, seed, example=_USER_EXAMPLE
    )

    def read(text: str, truncated: bool) -> str | Problem:
        said = _PREFIX.sub("", text.strip()).strip().strip('"\u201c\u201d').strip()
        if _BOTH.search(said):
            return Problem("it spoke for the assistant, too")
        if (code := language_code(said)) and parties.language and code != parties.language:
            names = language_name(code), language_name(parties.language)
            return Problem("it is in {}, and the conversation in {}".format(*names))
        return said or Problem("it said nothing")

    def again(problem: str) -> str:
        return f"This cannot be used: {problem}. Write the user's next message, and nothing else."

    return await ask(parties.simulator, request, read, again)


async def _over(parties: Parties, messages: Sequence[Message]) -> str | Problem:
    """Who ended the conversation; "" where it goes on."""
    assert parties.simulator is not None
    tag = fence(*(message.content for message in messages))
    shown = "\n\n".join(f"[{message.role}_{tag}]\n{message.content}" for message in messages[-6:])
    answer = await ask_by_prompt(
        SchemaFallback(parties.simulator, "off"), parties.prompts, "flex_end", {"conversation": shown, "tag": tag},
        {"end": _ENDS}, sampling=Sampling(max_tokens=parties.user_sampling.max_tokens),
        entries={"end": ({"enum": [*_ENDS]}, "no")},
    )  # fmt: skip
    return Problem(answer.problem) if answer.problem else answer.labels["end"]
