"""Simulated users: kinds of them by how cooperative they are, fitted to an instruction (appendices D.1 and D.2), drawn up
from conversations with people, and what simulated ones lack of real ones: length, turns, and what they talk about."""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from rapidfuzz import fuzz

from truebench_hf.benchmarks.flexbench.conversations import Talk, read_talks
from truebench_hf.benchmarks.flexbench.derivation import ask_json, listed, read_form
from truebench_hf.benchmarks.flexbench.procedure import Dimension
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Record, Row, Text, user_error
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.intervals import MIN_CLUSTERS, drawn_ratios, percentiles
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, role
from truebench_hf.prompts import Prompts, fence
from truebench_hf.report.table import Column, Part, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Score

PROMPTS = ("flex_analysis", "flex_adjust", "flex_user", "flex_end")
NAMES = {1: "none", 2: "poor", 3: "general", 4: "good", 5: "full"}  # how cooperative
FILE, GRADES = "profiles.json", "grades.jsonl"
_MOST = 12  # conversations of one grade that a profile is drawn up from
Listed = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(filter(str.strip, listed(value))))]
Grade = tuple[int | None, str]


class Profile(Row):
    """One kind of user (figure 11). `score` is how cooperative, 1 to 5."""

    cooperativeness: str
    score: int
    summary: Text
    communication_style: Text
    information_disclosure: Text
    problem_solving: Text
    goals: Listed = ()
    catchphrases: Listed = ()
    traits: Listed = ()


class _OwnProfile(Profile, extra="forbid"):
    """One of a file of the user's."""


class Analysis(Row):
    """What an instruction is about, as its users would see it (appendix D.2)."""

    context: Text
    topics: Listed = ()
    concerns: Listed = ()
    terms: Listed = ()
    questions: Listed = ()
    goals: Listed = ()


class _Behaviour(Row):
    """What an instruction may change of a profile."""

    communication_style: Text
    information_disclosure: Text
    problem_solving: Text
    catchphrases: Annotated[Listed, Field(min_length=1, max_length=2)]


def read_profiles(path: str | None = None) -> tuple[Profile, ...]:
    """The five kinds of users of ours, or those of a JSON file in the same form. Raises UserError with the place."""
    ours = files("truebench_hf.benchmarks.flexbench") / FILE
    text = read_text(path, "--profiles ") if path else ours.read_text(encoding="utf-8")
    try:
        rows = TypeAdapter(tuple[_OwnProfile, ...]).validate_json(text)
    except ValidationError as error:
        raise user_error(error, Record(f"--profiles {path}", {})) from error
    if not rows:
        raise UserError(f"--profiles {path}: holds none")
    return rows


async def analyse(caller: Caller, prompts: Prompts, instruction: str, sampling: Sampling) -> Analysis | Problem:
    """What an instruction is about, by its text alone: of the dimensions nothing is told."""
    values = {"instruction": instruction, "tag": fence(instruction)}
    example = '{"context": "' + "a talk on the telephone " * 4 + '", "topics": ["a", "b", "c"], "questions": ["d?"]}'
    return await ask_json(
        caller, prompts, "flex_analysis", values, lambda value: read_form(value, Analysis), sampling=sampling, example=example
    )  # fmt: skip


async def adjust(
    caller: Caller, prompts: Prompts, profile: Profile, analysis: Analysis, sampling: Sampling
) -> Profile | Problem:
    """The profile with its behaviour in this setting and one or two catchphrases more; goals and traits stay."""
    texts = [*profile.model_dump().values(), *analysis.model_dump().values()]
    values = {"profile": profile, "analysis": analysis, "tag": fence(*map(str, texts))}
    kept = profile.model_dump(include={*_Behaviour.model_fields}) | {"catchphrases": ["How long does it take?"]}
    behaviour = await ask_json(
        caller, prompts, "flex_adjust", values, lambda value: read_form(value, _Behaviour), sampling=sampling,
        example=json.dumps(kept),
    )  # fmt: skip
    if isinstance(behaviour, Problem):
        return behaviour
    phrases = (*profile.catchphrases, *behaviour.catchphrases)
    return profile.model_copy(update=behaviour.model_dump() | {"catchphrases": phrases})


LIKENESS = 90  # percent of a text that a prompt must hold to leak it
LEAST = 16  # letters that such a text must have
_ITEM = re.compile(r"\[[^\[\]]*\]|[\"\u201c\u201e\u00ab\u300c][^\"\u201d\u00bb\u300d]*[\"\u201d\u00bb\u300d]")


def leaks(prompt: str, dimensions: Iterable[Dimension]) -> list[tuple[str, str]]:
    """Return (dimension, its question or condition) of dimensions that a prompt gives away: it holds that text to 90
    percent, scripts and what stands in brackets or quotation marks aside."""
    held = _plain(prompt)
    leaked = {}
    for dimension in dimensions:
        for text in (dimension.condition, dimension.question):
            plain = _plain(_ITEM.sub(" ", text.replace(dimension.script, " ") if dimension.script else text))
            if LEAST <= len(plain) <= len(held) and fuzz.partial_ratio(plain, held, score_cutoff=LIKENESS):
                leaked[dimension.id] = text
    return list(leaked.items())


def _plain(text: str) -> str:
    """Words in lower case with one blank between; signs aside."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


class ProfileOptions(FolderOptions, PromptOptions):
    """Which conversations kinds of users are drawn from, and by whom."""

    dialogues: str = option(help="Conversations with people: rows with messages (user and assistant).", panel="Data")
    model: str = role(help="Model that grades the users and draws up the profiles.")
    max_tokens: int = option(2048, ge=1, binds=True, help="Token limit of one answer.")


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

    def setup(self) -> None:
        self.sampling = Sampling(max_tokens=self.options.max_tokens)

    async def work(self, talks: list[Talk]) -> list[Grade]:
        """The grade of every user; what profiles come of them, and why some do not, is kept."""
        grades = await asyncio.gather(*map(self._graded, talks))
        by_grade = {grade: [t for t, (g, _) in zip(talks, grades, strict=True) if g == grade] for grade in NAMES}
        known = {grade: some for grade, some in by_grade.items() if some}
        answers = dict(zip(known, await asyncio.gather(*map(self._profile, known, known.values())), strict=True))
        self.profiles = [answer for answer in answers.values() if isinstance(answer, Profile)]
        self.failed = [
            f"no profile of the users graded {grade}: {answer.text}"
            for grade, answer in answers.items()
            if isinstance(answer, Problem)
        ]
        return list(grades)

    async def _graded(self, talk: Talk) -> Grade:
        """How cooperative the user is, 1 to 5; None with the reason where nobody can tell."""
        texts, tag = shown_talks([talk])
        answer = await ask_by_prompt(
            SchemaFallback(self.caller("model"), "off"), self.options.prompts, "flex_grade",
            {"conversation": texts[0], "tag": tag}, {"cooperativeness": {str(grade): grade for grade in NAMES}},
            sampling=self.sampling, reason="The user answers what is asked, and no more.",
        )  # fmt: skip
        self.step("conversations")
        return answer.labels.get("cooperativeness"), answer.problem or answer.reason

    async def _profile(self, grade: int, talks: Sequence[Talk]) -> Profile | Problem:
        conversations, tag = shown_talks(talks[:_MOST])
        example = dict.fromkeys(list(Profile.model_fields)[2:], "How such a user is, in a sentence or two.")
        kind = {"cooperativeness": NAMES[grade], "score": grade}
        return await ask_json(
            self.caller("model"), self.options.prompts, "flex_profile",
            {"conversations": conversations, "level": grade, "tag": tag}, lambda value: read_form(value | kind, Profile),
            sampling=self.sampling, example=json.dumps(example),
        )  # fmt: skip

    def score(self, done: Sequence[list[Grade]]) -> Outcome[list[Profile]]:
        grades = done[0]
        ungraded = sum(grade is None for grade, _ in grades)
        if not self.profiles:
            raise UserError(
                f"no profile came of {len(grades)} conversations, {ungraded} of them not graded; take another --model"
            )
        columns = (
            Column("user", "user"), Column("grade", "grade", "count"),
            Column("conversations", "conversations", "count"), Column("summary", "summary", "prose"),
        )  # fmt: skip
        rows = [
            {"user": profile.cooperativeness, "grade": profile.score, "summary": profile.summary,
             "conversations": sum(grade == profile.score for grade, _ in grades)}
            for profile in self.profiles
        ]  # fmt: skip
        lines = [
            {"id": talk.id, "cooperativeness": grade, "reason": reason}
            for talk, (grade, reason) in zip(self.talks, grades, strict=True)
        ]
        notes = [f"conversations not graded: {ungraded}"] if ungraded else []
        return Outcome(
            self.profiles, title="FlexBench: kinds of users", tables=[Table("users", columns, rows, "Kinds of users")],
            items={FILE: [profile.model_dump() for profile in self.profiles], GRADES: lines},
            notes=[*notes, *self.failed], incomplete=ungraded + len(self.failed),
        )  # fmt: skip


def shown_talks(talks: Sequence[Talk]) -> tuple[list[str], str]:
    """The conversations as prompts show them, and the tag of all."""
    tag = fence(*(message.content for talk in talks for message in talk.messages))
    return ["\n\n".join(f"[{m.role}_{tag}]\n{m.content}" for m in talk.messages) for talk in talks], tag


# What is measured of users: sums over their messages, shown per turn, and turns per conversation.
MEASURES = {
    "turns": ("turns a conversation", "How often users write in a conversation."),
    "words": ("words a turn", "Words of a user's message; in Chinese and Japanese every two characters are a word."),
    "disclosure": (
        "new words a turn", "Numbers, words of four letters and more, and neighbouring Chinese characters that are new to the conversation."
    ),
    "questions": ("turns with a question %", "Messages of users that ask something."),
}  # fmt: skip
_QUESTION = re.compile(r"[?\uff1f\u061f]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_HAN, _KATAKANA = re.compile(r"[\u3400-\u9fff]{2,}"), re.compile(r"[\u30a1-\u30ff]{2,}")
_HANGUL = re.compile(r"[\uac00-\ud7a3]")
_TOPICS = 20  # words that are listed at most
_LEAST = 3  # real conversations that a word stands in before it counts as a topic
_PARTS: tuple[Part, ...] = ("value", "interval")
Ratio = tuple[list[float], list[float]]  # a top and a bottom per conversation


@dataclass(frozen=True)
class _UserSide:
    """What the users of some conversations did: the ratio of each measure, and the content words of each user."""

    ratios: dict[str, Ratio]
    vocabularies: list[set[str]]

    @classmethod
    def of(cls, talks: Sequence[Talk]) -> _UserSide:
        sums, vocabularies = {name: [0.0] * len(talks) for name in MEASURES}, [set[str]() for _ in talks]
        for place, talk in enumerate(talks):
            used = set[str]()
            for message in talk.messages:
                content = _content_words(message.content)
                if message.role == "user":
                    asks = 100.0 * bool(_QUESTION.search(message.content))
                    counts = (1, _word_count(message.content), len(content - used), asks)
                    for name, value in zip(MEASURES, counts, strict=True):
                        sums[name][place] += value
                    vocabularies[place] |= content
                used |= content
        bottoms = {"turns": [1.0] * len(talks)}
        return cls({name: (top, bottoms.get(name, sums["turns"])) for name, top in sums.items()}, vocabularies)

    def mentions(self, word: str) -> Ratio:
        """Which of the users bring up a word."""
        return [float(word in vocabulary) for vocabulary in self.vocabularies], [1.0] * len(self.vocabularies)


def _word_count(text: str) -> int:
    return sum(-(-len(word) // 2) if _CJK.search(word) else 1 for word in re.findall(r"\w+", text))


def _content_words(text: str) -> set[str]:
    """What a text is about: words of four letters and more (in Korean two), numbers, pairs of neighbouring Chinese
    characters, and words in katakana."""
    words = re.findall(rf"[^\W{_CJK.pattern[1:-1]}]+", text.casefold())
    pairs = (run[at : at + 2] for run in _HAN.findall(text) for at in range(len(run) - 1))
    return {word for word in words if len(word) > (1 if _HANGUL.search(word) else 3) or word.isdigit()}.union(
        pairs, _KATAKANA.findall(text)
    )


def users_table(talks: Sequence[Talk]) -> Table:
    """What the users of some conversations are like: means over turns (of `turns` over conversations), with intervals."""
    columns = [Column("users", "")]
    columns += [Column(name, title, "score", about, unit="", digits=1) for name, (title, about) in MEASURES.items()]
    means = {name: _score(ratio) for name, ratio in _UserSide.of(talks).ratios.items()}
    return Table("users", columns, [{"users": "all users", **means}], "What the users are like")


def gap_tables(simulated: Sequence[Talk], real: Sequence[Talk]) -> list[Table]:
    """Return what simulated users lack of real ones: a measure a row, and the words that real users alone bring up."""
    ours, theirs = _UserSide.of(simulated), _UserSide.of(real)
    rows: list[dict[str, Any]] = [
        {"measure": title, "about": about, "simulated": _score(ours.ratios[name]), "real": _score(theirs.ratios[name]),
         "lacking": _score(theirs.ratios[name], ours.ratios[name])}
        for name, (title, about) in MEASURES.items()
    ]  # fmt: skip
    known = set().union(*ours.vocabularies)
    covered = (
        [100.0 * len(words & known) for words in theirs.vocabularies],
        [float(len(w)) for w in theirs.vocabularies],
    )
    topics = "Of the content words of a real user, those that any simulated user brings up, too."
    rows.append({"measure": "topics covered %", "about": topics, "simulated": _score(covered)})
    sides = {
        "simulated": f"simulated ({len(simulated)})",
        "real": f"real ({len(real)})",
        "lacking": "real less simulated",
    }
    columns = [
        Column("measure", ""),
        *(Column(name, title, "score", unit="", digits=1, parts=_PARTS) for name, title in sides.items()),
    ]
    note = f"Where the interval of the difference holds 0 the two may be alike. Intervals need {MIN_CLUSTERS} conversations."
    gaps = Table("simulation", columns, rows, "What the simulation lacks of real conversations", note)
    return [gaps, *_topics(ours, theirs)]


def _topics(simulated: _UserSide, real: _UserSide) -> list[Table]:
    """The words that real users bring up more often than simulated ones, those with the greatest difference first."""
    often = Counter(word for vocabulary in real.vocabularies for word in vocabulary)
    rows: list[dict[str, Any]] = []
    for word in (word for word, count in often.items() if count >= _LEAST):
        first, second = real.mentions(word), simulated.mentions(word)
        gap = _score(first, second)
        if gap.value and gap.value > 0 and (gap.ci95 is None or gap.ci95[0] > 0):
            rows.append({"word": word, "real": fmean(first[0]), "simulated": fmean(second[0]), "gap": gap})
    rows.sort(key=lambda row: -row["gap"].value)
    columns = (
        Column("word", "word"), Column("real", "in real conversations %", "number", digits=0),
        Column("simulated", "in simulated ones %", "number", digits=0),
        Column("gap", "difference", "score", "By how much more often real users bring it up.", "points", digits=1, parts=_PARTS),
    )  # fmt: skip
    title = "Words that real users bring up and simulated ones hardly do"
    return [Table("topics", columns, rows[:_TOPICS], title)] if rows else []


def _score(ratio: Ratio, less: Ratio | None = None) -> Score:
    """The ratio, or by how much it is greater than another one over other conversations, with its interval."""
    ratios = [ratio, *([less] if less else [])]
    if not all(sum(bottom) for _, bottom in ratios):
        return Score(None, 0)
    first, *second = (sum(top) / sum(bottom) for top, bottom in ratios)
    ends = None
    if all(sum(map(bool, bottom)) >= MIN_CLUSTERS for _, bottom in ratios):
        drawn, *others = (drawn_ratios([each], seed)[0] for seed, each in enumerate(ratios))
        ends = percentiles(drawn - others[0] if others else drawn)
    return Score(first - sum(second), len(ratio[0]), 0, ends)
