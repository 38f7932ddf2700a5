"""`truebench flex study profiles`: kinds of users out of real conversations, in three stages (appendix D.1).

A conversation's user is graded for cooperativeness; conversations of one grade make one kind of user; `flex simulate`
fits the kinds to an instruction.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.conversations import Talk, read_talks
from truebench_hf.benchmarks.flexbench.derivation.asking import ask_json, listed
from truebench_hf.benchmarks.flexbench.simulation.profiles import Profile
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.judging.signed_prompt import ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import fence
from truebench_hf.report.sections import Grid
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

NAMES = {1: "none", 2: "poor", 3: "general", 4: "good", 5: "full"}
FILE, GRADES = "profiles.json", "grades.jsonl"
_TEXTS = ("summary", "communication_style", "information_disclosure", "problem_solving")
_LISTS = ("goals", "catchphrases", "traits")
Grade = tuple[int | None, str]


@dataclass(frozen=True, kw_only=True)
class ProfileOptions(FolderOptions, PromptOptions):
    """Which conversations kinds of users are drawn from, and by whom."""

    dialogues: str = option(help="Conversations with people: rows with messages (user and assistant).", panel="Data")
    model: str = role(help="Model that grades the users and draws up the profiles.")
    most: int = option(12, binds=True, help="Conversations of one grade that a profile is drawn up from, at most.")
    max_tokens: int = option(2048, binds=True, help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "most", "max_tokens")


class FlexProfiles(Study[ProfileOptions, list[Talk], list[Grade], list[Profile]]):
    """All conversations are one item: a profile is made of many of them."""

    kind, unit, prompts, boards = "flexprofiles", "conversations", ("flex_grade", "flex_profile"), False
    files = (FILE, GRADES)

    def items(self) -> Items[list[Talk]]:
        self.talks = [talk for talk in read_talks(Path(self.options.dialogues)) if talk.messages]
        self.known = {"dialogues_sha256": digest(canonical([asdict(talk) for talk in self.talks]))}
        return Items([self.talks], lambda talks: "all", lambda talks: [asdict(talk) for talk in talks], drawn=False)

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)

    def bars(self) -> dict[str, int]:
        return {"conversations": len(self.talks)}

    async def work(self, talks: list[Talk]) -> list[Grade]:
        grades = await asyncio.gather(*map(self._graded, talks))
        held = {grade: [t for t, (g, _) in zip(talks, grades, strict=True) if g == grade] for grade in NAMES}
        there = {grade: some for grade, some in held.items() if some}
        made = await asyncio.gather(*(self._profile(grade, some) for grade, some in there.items()))
        self.profiles, self.failed = [one for one in made if isinstance(one, Profile)], []
        for grade, one in zip(there, made, strict=True):
            if isinstance(one, Problem):
                self.failed.append(f"no profile of the users graded {grade}: {one.text}")
        return list(grades)

    async def _graded(self, talk: Talk) -> Grade:
        """How cooperative the user is, 1 to 5; None with the reason where nobody can tell."""
        shown, tag = _shown([talk])
        answer = await ask_by_prompt(
            SchemaFallback(self.caller("model"), "off"), self.options.prompts, "flex_grade",
            {"conversation": shown[0], "tag": tag}, {"cooperativeness": {str(grade): grade for grade in NAMES}},
            sampling=Sampling(max_tokens=self.options.max_tokens), reason="The user answers what is asked, and no more.",
        )  # fmt: skip
        self.step("conversations")
        return answer.labels.get("cooperativeness"), answer.problem or answer.reason

    async def _profile(self, grade: int, talks: Sequence[Talk]) -> Profile | Problem:
        shown, tag = _shown(talks[: self.options.most])
        values = {"conversations": shown, "level": grade, "tag": tag}
        example = dict.fromkeys(_TEXTS, "How such a user is, in a sentence or two.") | {
            name: ["one"] for name in _LISTS
        }

        def read(value: dict[str, Any]) -> Profile | Problem:
            texts = {name: value.get(name) for name in _TEXTS}
            if lacking := [name for name, text in texts.items() if not isinstance(text, str) or not text.strip()]:
                return Problem(f"it has no {', '.join(lacking)}")
            lists = {name: tuple(listed(value.get(name))) for name in _LISTS}
            made: dict[str, Any] = texts | lists
            return Profile(NAMES[grade], grade, **made)

        return await ask_json(
            self.caller("model"), self.options.prompts, "flex_profile", values, read,
            sampling=Sampling(max_tokens=self.options.max_tokens), example=json.dumps(example),
        )  # fmt: skip

    def score(self, done: Sequence[list[Grade]]) -> Outcome[list[Profile]]:
        grades = done[0]
        ungraded = sum(grade is None for grade, _ in grades)
        if not self.profiles:
            raise UserError(
                f"no profile came of {len(grades)} conversations, {ungraded} of them not graded; take another --model"
            )
        rows = [
            {"id": talk.id, "cooperativeness": grade, "reason": reason}
            for talk, (grade, reason) in zip(self.talks, grades, strict=True)
        ]
        table = tuple(
            (one.cooperativeness, one.score, sum(grade == one.score for grade, _ in grades), one.summary)
            for one in self.profiles
        )
        notes = [f"conversations not graded: {ungraded}"] if ungraded else []
        shown = Grid("Kinds of users", ("user", "grade", "conversations", "summary"), table, prose=(3,))
        return Outcome(
            self.profiles, {FILE: [asdict(one) for one in self.profiles], GRADES: rows}, "FlexBench: kinds of users", [shown],
            notes=[*notes, *self.failed], incomplete=ungraded + len(self.failed),
        )  # fmt: skip


def _shown(talks: Sequence[Talk]) -> tuple[list[str], str]:
    """The conversations as prompts show them, and the tag of all."""
    tag = fence(*(message.content for talk in talks for message in talk.messages))
    return ["\n\n".join(f"[{m.role}_{tag}]\n{m.content}" for m in talk.messages) for talk in talks], tag
