"""`truebench flex score`: conversations judged by the dimensions of their instruction (paper 001, section 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.flexbench import scores as tables
from truebench_hf.benchmarks.flexbench.conversations import (
    JUDGED,
    VERDICTS,
    JudgedConversation,
    Talk,
    corpora,
    read_talks,
)
from truebench_hf.benchmarks.flexbench.procedure import as_yaml, check_notes, load
from truebench_hf.benchmarks.flexbench.scores import FlexModelScores, score_models
from truebench_hf.benchmarks.flexbench.users import gap_tables
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging import tri_valued
from truebench_hf.judging.rules.deciding import measured
from truebench_hf.judging.tri_valued import DimensionFacts, Requirement, verdict
from truebench_hf.metrics.pass_rate import base_actions
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import Binds, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.notes import rules_fact
from truebench_hf.study.options import FailUnderOptions, FolderOptions, JudgingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Label

_LONGEST = 2000  # characters of figures on one dimension


class FlexScoreOptions(FolderOptions, JudgingOptions, FailUnderOptions):
    """Which conversations are judged, and by whom."""

    TEXT_LEVEL: ClassVar[str] = "text"  # states the facts, with reasons
    RULES: ClassVar[tuple[str, ...]] = ("off", "evidence")  # whether a dimension applies no program can tell

    folder: str = option(
        help="Folder of the benchmark (see `flex build`, `flex simulate`); with --conversations a YAML file or a built-in "
        "instruction, too.", argument=True, panel="Data",
    )  # fmt: skip
    judge: str = role(help="Judge of the conversations.", binds=Binds(late=True))
    out: str = option(
        "", help="Folder of the study; if not given, FOLDER/scores, or FOLDER/logs/NAME for --conversations NAME.jsonl."
    )
    conversations: str | None = option(
        None, panel="Data", help="Score these in place of simulated ones: rows with messages (user and assistant), and "
        "model, id, cooperativeness, end where there are such.",
    )  # fmt: skip
    logs: str | None = option(
        None, panel="Data", help="Real conversations, in the same form, to be scored beside the simulated ones: the report says "
        "what the simulation lacks of them.",
    )  # fmt: skip
    model_name: str = option("model", panel="Data", help="Whose --conversations or --logs are, where rows do not say.")

    def model_post_init(self, context: Any) -> None:
        if not self.out and self.folder.strip():
            if not Path(self.folder).is_dir():
                raise UserError(
                    f"{self.folder}: no such folder; `truebench flex simulate` makes one. To judge --conversations by a YAML "
                    "file or a built-in instruction, name --out"
                )
            logs = self.conversations and Path("logs") / Path(self.conversations).stem
            object.__setattr__(self, "out", str(Path(self.folder) / (logs or "scores")))
            object.__setattr__(self, "folder_named", False)
        super().model_post_init(context)
        if self.logs and self.conversations:
            raise UserError(
                "--logs stand beside simulated conversations and --conversations in place of them: give one"
            )

    @property
    def level(self) -> str:
        """How the judge is asked."""
        return self.judge_levels[self.judge]


class FlexScore(Study[FlexScoreOptions, Talk, JudgedConversation, list[FlexModelScores]]):
    """Three facts on every dimension of every conversation, and what they come to, model by model."""

    kind, unit, prompts = "flexeval", "conversations", tri_valued.PROMPTS
    files = (VERDICTS, JUDGED, tables.DIAGRAM)
    renewed = ("procedure_sha256",)  # after an edit only what changed is asked again

    @property
    def tried_prompts(self) -> Sequence[str]:
        return ("tri_valued_state",) if self.options.level == "decision" else self.prompts

    def items(self) -> Items[Talk]:
        options = self.options
        self.procedure = load(options.folder)
        self.known = {"procedure_sha256": digest(as_yaml(self.procedure))}
        self.simulators: set[str] = set()
        if options.conversations:
            talks = read_talks(Path(options.conversations), options.model_name)
        else:
            talks = corpora(Path(options.folder))
            settings = [
                read_info(corpus).get("settings", {}) for corpus in (Path(options.folder) / "corpora").glob("*/*")
            ]
            self.simulators = {str(of["simulator"]) for of in settings if of.get("simulator")}
        if options.logs:
            logs = read_talks(Path(options.logs), options.model_name)  # whose they are says that they are real
            talks += [replace(talk, model=f"{talk.model} (real)".strip(), real=True) for talk in logs]
        # Models join later: what is judged binds conversation by conversation, through the ledger.
        return Items(talks, lambda talk: f"{talk.model} {talk.seed} {talk.id}", None, drawn=False)

    def setup(self) -> None:
        self.schemas = SchemaFallback(self.caller("judge"), self.options.structured)
        excerpts = {segment.id: segment.text for segment in self.procedure.segments}
        self.requirements = {
            dimension.id: Requirement(
                dimension.question, dimension.condition, "\n".join(excerpts[name] for name in dimension.segments)
            )
            for dimension in self.procedure.dimensions
        }
        self.bases = base_actions(self.procedure.structure)

    async def work(self, talk: Talk) -> JudgedConversation:
        """The facts of every dimension, those that clash looked at twice, and the verdicts they make."""
        names, options = list(self.requirements), self.options
        if not talk.messages:  # nothing is asked of an empty conversation
            nothing = DimensionFacts(None, reason=talk.error or "the conversation is empty")
            facts = dict.fromkeys(names, nothing)
        elif options.level == "decision":
            decided = await tri_valued.decide(
                self.schemas, talk.messages, [self._requirement(talk, name) for name in names], options.prompts,
                threshold=options.threshold,
            )  # fmt: skip
            facts = dict(zip(names, decided, strict=True))
        else:
            facts = await self._facts(talk, dict.fromkeys(names, ""))
        if options.level == "text" and (clashing := self._clashing(facts)):
            facts |= await self._facts(talk, {a: b for pair in clashing for a, b in (pair, pair[::-1])})
        clashing, labels = self._clashing(facts), self._labels(facts)
        for name in {name for pair in clashing for name in pair}:
            other = next(b if a == name else a for a, b in clashing if name in (a, b))
            labels[name] = None
            conflict = f"conflict: {other}, which excludes it, was found to apply too"
            facts[name] = replace(facts[name], reason=f"{conflict}. {facts[name].reason}")
        return JudgedConversation(talk, facts, labels, tuple(clashing))

    def _requirement(self, talk: Talk, name: str) -> Requirement:
        """A dimension with what was measured of each message of the assistant, where it states a rule and figures count."""
        requirement = self.requirements[name]
        if self.options.rules == "off":
            return requirement
        stated = [
            f"[{number}] {figures}" for number, message in enumerate(talk.messages, 1)
            if message.role == "assistant" and (figures := measured(requirement.question, message.content))
        ]  # fmt: skip
        return replace(requirement, measured="; ".join(stated)[:_LONGEST])

    async def _facts(self, talk: Talk, clashes: Mapping[str, str]) -> dict[str, DimensionFacts]:
        """The facts of some dimensions, which a judge writes down; beside each another one that excludes it, or ""."""
        answers = await asyncio.gather(*(
            tri_valued.establish(
                self.schemas, talk.messages, self._requirement(talk, name), self.options.prompts,
                clash=self.requirements[other].question if other else "",
            )
            for name, other in clashes.items()
        ))  # fmt: skip
        return dict(zip(clashes, answers, strict=True))

    def _labels(self, facts: Mapping[str, DimensionFacts]) -> dict[str, Label | None]:
        return {name: verdict(settled, base=name in self.bases) for name, settled in facts.items()}

    def _clashing(self, facts: Mapping[str, DimensionFacts]) -> list[tuple[str, str]]:
        """Pairs that exclude each other and were both exercised."""
        labels = self._labels(facts)
        exercised = [d for d in self.procedure.dimensions if d.exclusive and labels[d.id] in ("yes", "no")]
        return [(a.id, b.id) for a, b in combinations(exercised, 2) if a.exclusive == b.exclusive]

    def score(self, done: Sequence[JudgedConversation]) -> Outcome[list[FlexModelScores]]:
        scores = score_models(self.procedure, done)
        undecided = sum(result.undecided for result in scores)
        options, procedure = self.options, self.procedure
        sides = [[result.talk for result in done if result.talk.real == real] for real in (False, True)]
        gap = gap_tables(*sides) if all(sides) else []  # what the simulation lacks of real conversations
        real = {talk.model for talk in sides[1]}  # such stand on no leaderboard
        notes = check_notes([procedure])
        notes += [f"verdicts not judged: {undecided}: left out, and counted"] if undecided else []
        for result in scores:
            if count := len(result.unexercised):
                named = f"{', '.join(result.unexercised[:8])}{' ...' if count > 8 else ''}"
                notes.append(
                    f"{result.model} attempts {count} dimensions in no conversation ({named}): nothing is known of their branches"
                )
        facts = {
            "Instruction": procedure.title or procedure.id, "Judge": options.judge, "Judge level": options.level,
            "Simulated users": ", ".join(sorted(self.simulators)), "Conversations": options.conversations, "Logs": options.logs,
        }  # fmt: skip
        ranked = {"Instruction": facts["Instruction"], "Judge": options.judge, **rules_fact(self.provenance)}
        return Outcome(
            scores, title="FlexEval", tables=[*tables.score_tables(procedure, scores), *gap], charts=[tables.tree(procedure, scores)],
            conversations=tables.conversations(procedure, done),
            items={
                VERDICTS: [result.row() for result in done], JUDGED: as_yaml(procedure), tables.DIAGRAM: tables.mermaid(procedure, scores),
            },
            lead=tables.LEAD, notes=notes, incomplete=undecided, facts=facts,
            ranking=tables.ranking(procedure, [result for result in scores if result.model not in real], self.provenance, ranked),
        )  # fmt: skip
