"""`truebench flex simulate`: a model's conversations with simulated users, kept for `flex score`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from truebench_hf.benchmarks.flexbench.conversations import (
    CONVERSATIONS,
    Talk,
    as_row,
    corpus_folder,
    knowledge_of,
    read_talks,
)
from truebench_hf.benchmarks.flexbench.procedure import Procedure, load, to_check
from truebench_hf.benchmarks.flexbench.simulation import users
from truebench_hf.benchmarks.flexbench.simulation.leaks import leaks
from truebench_hf.benchmarks.flexbench.simulation.profiles import (
    PROMPTS,
    Adjusting,
    Analysis,
    Profile,
    read_profiles,
    user_prompt,
)  # fmt: skip
from truebench_hf.benchmarks.flexbench.simulation.rollout import Parties, Rollout, rollout, single
from truebench_hf.engine.info import count_noted
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import Problem
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import fence
from truebench_hf.report.sections import Cells, Conversation, Conversations, Grid, Section, exchanges
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

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
    human: str | None = option(None, panel="Data", help="Conversations with people, to compare the users with.")
    similarity: bool = option(
        False, help="Report how alike what users are told and the dimensions read, by sentence embeddings."
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not self.out and self.folder.strip():
            if not Path(self.folder).is_dir():
                raise UserError(
                    f"{self.folder}: no such folder; `truebench flex build INSTRUCTION.md --out FOLDER` makes one, or name "
                    "--out for a YAML file or a built-in instruction"
                )
            object.__setattr__(self, "out", str(corpus_folder(Path(self.folder), self.seed, self.model)))
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
        self.people = read_talks(Path(options.human)) if options.human else []
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
            sampling, sampling, options.turns,
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
            prompt = user_prompt(self.options.prompts, fitted, analysis, not self.procedure.opening)
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
        files = {CONVERSATIONS: [as_row(talk) for talk in done], USERS: written}
        return Outcome(
            list(done), files, "FlexBench: conversations", self._sections(done), lead=_LEAD, notes=notes, incomplete=broken,
        )  # fmt: skip

    def _sections(self, done: Sequence[Talk]) -> list[Section]:
        ends = ("user", "assistant", "limit", "")
        kinds = list(dict.fromkeys(talk.cooperativeness for talk in done))
        counts = Counter((talk.cooperativeness, talk.end) for talk in done)
        rows: tuple[Cells, ...] = tuple((kind or "(one turn)", *(counts[kind, end] for end in ends)) for kind in kinds)
        note = f"Model {self.options.model}, simulator {self.options.simulator or 'none'}."
        shown: list[Section] = [
            Grid(
                "Conversations by user and end",
                ("user", "by user", "by assistant", "at the limit", "broken"),
                rows,
                note=note,
            )
        ]
        if self.options.turns > 1:
            several = [("simulated", done), *([("people", self.people)] if self.people else [])]
            lines = tuple((name, *map(_shown, users.measured(talks).values())) for name, talks in several)
            shown.append(Grid("What the users are like", ("", *users.MEASURES.values()), lines))
        if self.options.similarity and self.users:
            shown.append(_alike(self.users.result(), self.procedure))
        rows_ = tuple(
            Conversation(f"{talk.id} {talk.cooperativeness}", exchanges(talk.messages, []), "", talk.error)
            for talk in done
        )
        return [*shown, Conversations("Conversations", rows_)]


def system_prompt(procedure: Procedure, knowledge: str) -> str:
    """What the model under test is told: the instruction, and the knowledge between tags of its own."""
    if not knowledge:
        return procedure.instruction
    tag = fence(procedure.instruction, knowledge)
    return f"{procedure.instruction}\n\n<knowledge_{tag}>\n{knowledge}\n</knowledge_{tag}>"


def _alike(told: Sequence[tuple[Profile, str]], procedure: Procedure) -> Section:
    """The dimension that reads most like a line of what each user is told."""
    from truebench_hf.models.embedding import embed

    questions = embed([one.question for one in procedure.dimensions])
    rows = []
    for profile, prompt in told:
        lines = [line for line in prompt.splitlines() if len(line) > 20]
        cosines = embed(lines) @ questions.T
        line, place = divmod(int(cosines.argmax()), len(procedure.dimensions))
        rows.append((profile.cooperativeness, f"{cosines.max():.2f}", procedure.dimensions[place].id, lines[line]))
    note = "Cosines of all-MiniLM-L6-v2; likeness is no leak, since both speak of one subject."
    return Grid(
        "How alike users and dimensions read",
        ("user", "highest", "dimension", "line"),
        tuple(rows),
        note=note,
        prose=(3,),
    )


def _shown(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1f}"
