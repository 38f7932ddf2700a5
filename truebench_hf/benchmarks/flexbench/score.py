"""`truebench flex score`: conversations judged by the dimensions of their instruction (paper 001, section 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.flexbench.conversations import Talk, by_model, corpora, knowledge_of, read_talks
from truebench_hf.benchmarks.flexbench.procedure import Dimension, as_yaml, load, to_check
from truebench_hf.benchmarks.flexbench.scores import JUDGED, VERDICTS, Judged, ModelScores, score_models
from truebench_hf.benchmarks.flexbench.tables import LEAD, TITLE, board, sections
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.judging import tri_valued
from truebench_hf.judging.judge import JUDGE_SAMPLING
from truebench_hf.judging.rules.deciding import measured
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.tri_valued import Facts, Requirement, verdict
from truebench_hf.metrics.flexeval import base_actions
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import Binds, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import FailUnderOptions, FolderOptions, JudgingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Label

_LONGEST = 2000  # characters of figures on one dimension


@dataclass(frozen=True, kw_only=True)
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
    model_name: str = option("model", panel="Data", help="Whose --conversations are, where their rows do not say.")
    knowledge: str | None = option(None, panel="Data", help="Text file that the assistant was given to know.")

    def __post_init__(self) -> None:
        if not self.out and self.folder.strip():
            if not Path(self.folder).is_dir():
                raise UserError(
                    f"{self.folder}: no such folder; `truebench flex simulate` makes one. To judge --conversations by a YAML "
                    "file or a built-in instruction, name --out"
                )
            logs = self.conversations and Path("logs") / Path(self.conversations).stem
            object.__setattr__(self, "out", str(Path(self.folder) / (logs or "scores")))
            object.__setattr__(self, "folder_named", False)
        super().__post_init__()

    @property
    def level(self) -> str:
        """How the judge is asked."""
        return self.judge_levels[self.judge]


class FlexScore(Study[FlexScoreOptions, Talk, Judged, list[ModelScores]]):
    """Three facts on every dimension of every conversation, and what they come to, model by model."""

    kind, unit, prompts = "flexeval", "conversations", tri_valued.PROMPTS
    files = ("scores.json", VERDICTS, JUDGED)
    renewed = ("procedure_sha256", "knowledge_sha256")  # after an edit only what changed is asked again

    def items(self) -> Items[Talk]:
        options = self.options
        self.procedure = load(options.folder)
        self.knowledge = knowledge_of(options.knowledge)
        self.known = {
            "procedure_sha256": digest(as_yaml(self.procedure)),
            "knowledge_sha256": digest(self.knowledge),
        }  # fmt: skip
        talks = (
            read_talks(Path(options.conversations), options.model_name)
            if options.conversations
            else corpora(Path(options.folder))
        )
        self.simulators: list[str] = []
        if not options.conversations:
            refuse_other_knowledge(Path(options.folder), self.knowledge)
            self.simulators = simulators(Path(options.folder))
        # Models join later: what is judged binds conversation by conversation, through the ledger.
        return Items(talks, lambda talk: f"{talk.model} {talk.seed} {talk.id}", None, drawn=False)

    def check(self) -> None:
        name = "tri_valued_state" if self.options.level == "decision" else "tri_valued"
        check_prompts((name,), self.options.prompts, self.options.structured)

    def setup(self) -> None:
        self.schemas = SchemaFallback(self.caller("judge"), self.options.structured)
        excerpts = {one.id: one.text for one in self.procedure.segments}
        self.requirements = {
            one.id: Requirement(one.question, one.condition, "\n".join(excerpts[name] for name in one.segments))
            for one in self.procedure.dimensions
        }
        self.bases = base_actions(self.procedure.structure)

    async def work(self, talk: Talk) -> Judged:
        """The facts of every dimension, those that clash looked at twice, and the verdicts they make."""
        facts = await self._all_facts(talk)
        clashing = self._clashing(facts)
        if clashing and self.options.level == "text":
            again = {a: b for pair in clashing for a, b in (pair, pair[::-1])}
            facts |= dict(
                zip(again, await asyncio.gather(*(self._facts(talk, a, b) for a, b in again.items())), strict=True)
            )
            clashing = self._clashing(facts)
        labels = self._labels(facts)
        for name in {name for pair in clashing for name in pair}:
            other = next(b if a == name else a for a, b in clashing if name in (a, b))
            labels[name] = None
            told = f"conflict: {other}, which excludes it, was found to apply too"
            facts[name] = replace(facts[name], reason=f"{told}. {facts[name].reason}")
        return Judged(talk, facts, labels, tuple(clashing))

    async def _all_facts(self, talk: Talk) -> dict[str, Facts]:
        """The facts of every dimension; nothing is asked of an empty conversation."""
        names, options = list(self.requirements), self.options
        if not talk.messages:
            return dict.fromkeys(names, Facts(None, reason=talk.error or "the conversation is empty"))
        if options.level == "decision":
            found = await tri_valued.decide(
                self.schemas, talk.messages, [self._requirement(talk, name) for name in names], options.prompts,
                knowledge=self.knowledge, threshold=options.threshold,
            )  # fmt: skip
        else:
            found = await asyncio.gather(*(self._facts(talk, name) for name in names))
        return dict(zip(names, found, strict=True))

    def _requirement(self, talk: Talk, name: str) -> Requirement:
        """A dimension with what was measured of each message of the assistant, where it states a rule and figures count."""
        one = self.requirements[name]
        if self.options.rules == "off":
            return one
        stated = [
            f"[{number}] {figures}" for number, message in enumerate(talk.messages, 1)
            if message.role == "assistant" and (figures := measured(one.question, message.content))
        ]  # fmt: skip
        return replace(one, measured="; ".join(stated)[:_LONGEST])

    async def _facts(self, talk: Talk, name: str, clash: str = "") -> Facts:
        """The facts of one dimension, which a judge writes down; `clash` is another one that excludes it."""
        return await tri_valued.establish(
            self.schemas, talk.messages, self._requirement(talk, name), self.options.prompts, knowledge=self.knowledge,
            clash=self.requirements[clash].question if clash else "",
            sampling=JUDGE_SAMPLING,
        )  # fmt: skip

    def _labels(self, facts: Mapping[str, Facts]) -> dict[str, Label | None]:
        return {name: verdict(found, base=name in self.bases) for name, found in facts.items()}

    def _clashing(self, facts: Mapping[str, Facts]) -> list[tuple[str, str]]:
        """Pairs that exclude each other and were both exercised."""
        labels = self._labels(facts)
        exercised = [one for one in self.procedure.dimensions if one.exclusive and labels[one.id] in ("yes", "no")]
        return [(a.id, b.id) for a, b in combinations(exercised, 2) if _excludes(a, b)]

    def score(self, done: Sequence[Judged]) -> Outcome[list[ModelScores]]:
        models = by_model([one.talk for one in done])
        judged = {model: [one for one in done if one.talk.model == model] for model in models}
        found = score_models(self.procedure, judged)
        undecided = sum(one.undecided for one in found)
        content: dict[str, Any] = {
            "instruction": self.procedure.id, "models": [one.as_json() for one in found], "provenance": self.provenance,
        }  # fmt: skip
        notes = to_check([self.procedure])
        notes += [f"verdicts not judged: {undecided}: left out, and counted"] if undecided else []
        shown = sections(self.procedure, found, judged)
        options = self.options
        facts = {
            "Instruction": self.procedure.title or self.procedure.id, "Judge": options.judge, "Judge level": options.level,
            "Simulated users": ", ".join(self.simulators), "Conversations": options.conversations,
        }  # fmt: skip
        return Outcome(
            found, {VERDICTS: [one.row() for one in done], JUDGED: as_yaml(self.procedure), "scores.json": content}, TITLE, shown,
            lead=LEAD, notes=notes, incomplete=undecided, facts=facts, board=board(self.procedure, found, self.provenance),
        )  # fmt: skip


def _excludes(one: Dimension, other: Dimension) -> bool:
    return one.exclusive == other.exclusive


def simulators(folder: Path) -> list[str]:
    """Who played the users of the corpora in a folder."""
    found = (
        read_info(corpus).get("settings", {}).get("simulator") for corpus in sorted((folder / "corpora").glob("*/*"))
    )
    return sorted({str(one) for one in found if one})


def refuse_other_knowledge(folder: Path, knowledge: str) -> None:
    """Raise UserError where an assistant was given to know what the judge is not: right answers would look invented."""
    for corpus in sorted((folder / "corpora").glob("*/*")):
        was = read_info(corpus).get("settings", {}).get("knowledge_sha256", digest(""))
        if was not in (digest(""), digest(knowledge)):
            raise UserError(f"{corpus} was simulated with --knowledge, which the judge needs, too; name the same file")
