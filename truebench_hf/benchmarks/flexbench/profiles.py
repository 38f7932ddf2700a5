"""Kinds of users by how cooperative they are, and how they are fitted to an instruction (appendices D.1 and D.2)."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from truebench_hf.benchmarks.flexbench.conversations import Talk, read_talks
from truebench_hf.benchmarks.flexbench.derivation import ask_json, listed
from truebench_hf.benchmarks.flexbench.procedure import Dimension
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Record, user_error
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import Prompts, fence
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

BEHAVIOUR = ("communication_style", "information_disclosure", "problem_solving")  # what an instruction may change
PROMPTS = ("flex_analysis", "flex_adjust", "flex_user", "flex_end")


@dataclass(frozen=True)
class Profile:
    """One kind of user (figure 11). `score` is how cooperative, 1 to 5."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    cooperativeness: str
    score: int
    summary: str
    communication_style: str
    information_disclosure: str
    problem_solving: str
    goals: tuple[str, ...] = ()
    catchphrases: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Analysis:
    """What an instruction is about, as its users would see it (appendix D.2)."""

    context: str
    topics: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()


def read_profiles(path: str | None = None) -> tuple[Profile, ...]:
    """The five kinds of users of ours, or those of a JSON file in the same form. Raises UserError with the place."""
    text = (
        read_text(path, "--profiles ")
        if path
        else (files("truebench_hf.benchmarks.flexbench") / FILE).read_text(encoding="utf-8")
    )
    try:
        rows = TypeAdapter(tuple[Profile, ...]).validate_json(text)
    except ValidationError as error:
        raise user_error(error, Record(f"--profiles {path}", {})) from error
    if not rows:
        raise UserError(f"--profiles {path}: holds none")
    return rows


async def analyse(caller: Caller, prompts: Prompts, instruction: str, sampling: Sampling) -> Analysis | Problem:
    """What an instruction is about, by its text alone: of the dimensions nothing is told."""
    values = {"instruction": instruction, "tag": fence(instruction)}
    example = '{"context": "' + "a talk on the telephone " * 4 + '", "topics": ["a", "b", "c"], "questions": ["d?"]}'

    def read(value: dict[str, Any]) -> Analysis | Problem:
        context = value.get("context")
        if not isinstance(context, str) or not context.strip():
            return Problem("it has no context")
        names = ("topics", "concerns", "terms", "questions", "goals")
        return Analysis(context.strip(), **{name: tuple(listed(value.get(name))) for name in names})

    return await ask_json(caller, prompts, "flex_analysis", values, read, sampling=sampling, example=example)


async def adjust(
    caller: Caller, prompts: Prompts, profile: Profile, analysis: Analysis, sampling: Sampling
) -> Profile | Problem:
    """The profile with its behaviour in this setting and one or two catchphrases more; goals and traits stay."""
    texts = [*asdict(profile).values(), *asdict(analysis).values()]
    values = {"profile": profile, "analysis": analysis, "tag": fence(*map(str, texts))}
    kept = {name: getattr(profile, name) for name in BEHAVIOUR} | {"catchphrases": ["How long does it take?"]}

    def read(value: dict[str, Any]) -> Profile | Problem:
        behaviour = _texts(value, BEHAVIOUR)
        if isinstance(behaviour, Problem):
            return behaviour
        phrases = [text for text in listed(value.get("catchphrases")) if text.strip()]
        if not 1 <= len(phrases) <= 2:
            return Problem(f"it has {len(phrases)} catchphrases, not one or two")
        return replace(profile, **behaviour, catchphrases=(*profile.catchphrases, *phrases))

    return await ask_json(caller, prompts, "flex_adjust", values, read, sampling=sampling, example=json.dumps(kept))


def _texts(value: dict[str, Any], names: Sequence[str]) -> dict[str, Any] | Problem:
    """The fields of an answer that must be texts."""
    texts = {name: value.get(name) for name in names}
    lacking = [name for name, text in texts.items() if not isinstance(text, str) or not text.strip()]
    return Problem(f"it has no {', '.join(lacking)}") if lacking else texts


WORDS, CHARACTERS = 8, 16  # the shortest run that is a leak; characters where no blanks are written
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_ITEM = re.compile(r"\[[^\[\]]*\]|[\"\u201c\u201e\u00ab\u300c][^\"\u201d\u00bb\u300d]*[\"\u201d\u00bb\u300d]")
_INNER_NAME = re.compile(r"(?<=[\w,;)] )(?:[A-Z\u00c0-\u00de][\w-]+)(?: [A-Z\u00c0-\u00de][\w-]+)*")


def leaks(prompt: str, dimensions: Iterable[Dimension]) -> list[tuple[str, str]]:
    """(dimension, the run of words) of dimensions that a prompt shares such a run with, outside names and scripts.

    A question shorter than the run leaks when it stands there whole.
    """
    held = f" {_plain(prompt)} "
    leaked = []
    for dimension in dimensions:
        texts = (dimension.question, dimension.condition)
        if dimension.script:
            texts = texts[0].replace(dimension.script, "\0"), texts[1].replace(dimension.script, "\0")
        if run := _shared(texts[0], held) or _shared(texts[1], held):
            leaked.append((dimension.id, run))
    return leaked


def _shared(text: str, held: str) -> str:
    """The first run of a text that a prompt holds, in plain words; "" where there is none."""
    for part in re.split(r"\0+", _INNER_NAME.sub("\0", _ITEM.sub("\0", text))):
        plain = _plain(part)
        unspaced = _UNSPACED.search(plain) is not None
        units: Sequence[str] = plain.replace(" ", "") if unspaced else plain.split()
        least = CHARACTERS if unspaced else WORDS
        if len(units) < least and (len(units) < least // 2 or part != text):
            continue
        for start in range(max(1, len(units) - least + 1)):
            run = units[start : start + least]
            if (run in held.replace(" ", "")) if isinstance(run, str) else (f" {' '.join(run)} " in held):
                return run if isinstance(run, str) else " ".join(run)
    return ""


def _plain(text: str) -> str:
    """Words in lower case with one blank between; signs aside."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s]", " ", folded).split())


NAMES = {1: "none", 2: "poor", 3: "general", 4: "good", 5: "full"}
FILE, GRADES = "profiles.json", "grades.jsonl"
_TEXTS = ("summary", *BEHAVIOUR)
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

    def bars(self) -> dict[str, int]:
        return {"conversations": len(self.talks)}

    async def work(self, talks: list[Talk]) -> list[Grade]:
        grades = await asyncio.gather(*map(self._graded, talks))
        held = {grade: [t for t, (g, _) in zip(talks, grades, strict=True) if g == grade] for grade in NAMES}
        known = {grade: some for grade, some in held.items() if some}
        answers = await asyncio.gather(*(self._profile(grade, some) for grade, some in known.items()))
        self.profiles = [profile for profile in answers if isinstance(profile, Profile)]
        self.failed = [
            f"no profile of the users graded {grade}: {profile.text}"
            for grade, profile in zip(known, answers, strict=True)
            if isinstance(profile, Problem)
        ]
        return list(grades)

    async def _graded(self, talk: Talk) -> Grade:
        """How cooperative the user is, 1 to 5; None with the reason where nobody can tell."""
        texts, tag = shown_talks([talk])
        answer = await ask_by_prompt(
            SchemaFallback(self.caller("model"), "off"), self.options.prompts, "flex_grade",
            {"conversation": texts[0], "tag": tag}, {"cooperativeness": {str(grade): grade for grade in NAMES}},
            sampling=Sampling(max_tokens=self.options.max_tokens), reason="The user answers what is asked, and no more.",
        )  # fmt: skip
        self.step("conversations")
        return answer.labels.get("cooperativeness"), answer.problem or answer.reason

    async def _profile(self, grade: int, talks: Sequence[Talk]) -> Profile | Problem:
        conversations, tag = shown_talks(talks[: self.options.most])
        values = {"conversations": conversations, "level": grade, "tag": tag}
        example = dict.fromkeys(_TEXTS, "How such a user is, in a sentence or two.") | {
            name: ["one"] for name in _LISTS
        }

        def read(value: dict[str, Any]) -> Profile | Problem:
            texts = _texts(value, _TEXTS)
            if isinstance(texts, Problem):
                return texts
            fields: dict[str, Any] = texts | {name: tuple(listed(value.get(name))) for name in _LISTS}
            return Profile(NAMES[grade], grade, **fields)

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
        columns = (
            Column("user", "user"), Column("grade", "grade", "count"),
            Column("conversations", "conversations", "count"), Column("summary", "summary", "prose"),
        )  # fmt: skip
        table = [
            {"user": profile.cooperativeness, "grade": profile.score, "summary": profile.summary,
             "conversations": sum(grade == profile.score for grade, _ in grades)}
            for profile in self.profiles
        ]  # fmt: skip
        notes = [f"conversations not graded: {ungraded}"] if ungraded else []
        return Outcome(
            self.profiles, title="FlexBench: kinds of users", tables=[Table("users", columns, table, "Kinds of users")],
            items={FILE: [asdict(profile) for profile in self.profiles], GRADES: rows}, notes=[*notes, *self.failed],
            incomplete=ungraded + len(self.failed),
        )  # fmt: skip


def shown_talks(talks: Sequence[Talk]) -> tuple[list[str], str]:
    """The conversations as prompts show them, and the tag of all."""
    tag = fence(*(message.content for talk in talks for message in talk.messages))
    return ["\n\n".join(f"[{m.role}_{tag}]\n{m.content}" for m in talk.messages) for talk in talks], tag
