"""One question to a validator: can the criteria of this instance stay as they are? Or its instructions?

Paper 000, section 3.4 and appendix D. `validate_instance` is the one call for whoever has criteria to validate; a study
that makes it names the prompt `validate_criteria` among its `prompts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from truebench_hf.data.rows import HALF
from truebench_hf.judging.case import one_line
from truebench_hf.judging.checklists import folded
from truebench_hf.judging.signed import ListOf, SignedAnswer
from truebench_hf.judging.signed_asking import Entries, ask_by_prompt, problem_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Instance, Turn

SAMPLING = Sampling(max_tokens=8192)
_ANALYSIS = "The instruction asks for several things, and each criterion is held against them in turn. " * 8


Kind = Literal["E1", "E2", "E3", "composite", "domain", "task", "clarity"]

Label = Literal["PASS", "FAIL"]

# The aspects of paper 000, section 3.4, with the kind of defect that each looks for (Listing 1).
ASPECTS: Mapping[str, Kind] = {"correctness": "E1", "minimality": "E2", "sufficiency": "E3"}

# What reviewers of instructions look at, before there are criteria (appendix F).
PROMPT_KINDS: tuple[Kind, ...] = ("domain", "task", "clarity")

MEANING: Mapping[Kind, str] = {
    "E1": "error within criteria",
    "E2": "over-criticism",
    "E3": "insufficient criteria",
    "composite": "several conditions in one criterion",
    "domain": "not of the productivity domain",
    "task": "does not match its task",
    "clarity": "unclear",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect. `criterion` is its number within the `turn`, both from 1; None where it is about none that is there.

    `proposal` are the criteria that should stand there instead: none removes the criterion, several split it. Of E3
    it is the one to be added, of defects of an instruction the text of the turn as it should be.
    """

    kind: Kind
    turn: int
    criterion: int | None
    reason: str
    proposal: tuple[str, ...]

    @property
    def change(self) -> str:
        """What is proposed, in a word: add, remove, reword or split."""
        return "add" if self.kind == "E3" else ("remove", "reword", "split")[min(len(self.proposal), 2)]


@dataclass(frozen=True, slots=True)
class Validation:
    """What a validator says of one instance. FAIL: it needs change, for any defect but a composite criterion.

    `looked` are the kinds of defects that it was told to look for. `label` None: it gave nothing that can be read, and
    `problem` says why.
    """

    label: Label | None
    looked: tuple[Kind, ...]
    findings: tuple[Finding, ...] = ()
    analysis: str = ""
    problem: str = ""

    def of(self, kind: Kind) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def found(self, kind: Kind) -> bool | None:
        """Whether there is a defect of this kind; None where nobody looked, or nothing could be read."""
        return bool(self.of(kind)) if kind in self.looked and self.label else None


def kinds(aspects: Sequence[str]) -> tuple[Kind, ...]:
    """What a validator of criteria looks for that is told about these aspects: composites it always looks for."""
    return (*(kind for aspect, kind in ASPECTS.items() if aspect in aspects), "composite")


async def validate_instance(
    schemas: SchemaFallback, instance: Instance, prompts: Prompts, aspects: Sequence[str] = tuple(ASPECTS),
    *, sampling: Sampling = SAMPLING,
) -> Validation:  # fmt: skip
    """What a validator says of the criteria of an instance, all turns together; responses are not looked at.

    `aspects` are those of `ASPECTS` that it is told about; with none it still says PASS or FAIL. The analysis is
    written in English, proposals in the language of the criteria. An answer that cannot be read is asked again;
    then the label is None, with the `problem`. Raises what `Caller.complete` raises, but for a request that failed.
    """
    values = {"aspects": list(aspects)}
    return await _ask(schemas, "validate_criteria", instance, prompts, kinds(aspects), values, sampling)


async def validate_prompt(
    schemas: SchemaFallback, instance: Instance, prompts: Prompts, *, sampling: Sampling = SAMPLING
) -> Validation:
    """The same of its instructions: productivity domain, fit to category and task, clarity (appendix F)."""
    values = {"category": instance.category, "task": instance.task}
    return await _ask(schemas, "validate_prompt", instance, prompts, PROMPT_KINDS, values, sampling)


async def _ask(
    schemas: SchemaFallback, name: str, instance: Instance, prompts: Prompts, looked: tuple[Kind, ...],
    more: Mapping[str, Any], sampling: Sampling,
) -> Validation:  # fmt: skip
    def list_of(**properties: Any) -> dict[str, Any]:
        item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
        return {"type": "array", "items": item}

    text, number = {"type": "string"}, {"type": "integer"}
    forms = dict.fromkeys(looked, list_of(criterion=number, why=text, instead={"type": "array", "items": text}))
    forms |= {"E3": list_of(turn=number, why=text, add=text)}
    forms |= dict.fromkeys(PROMPT_KINDS, list_of(turn=number, why=text, instead=text))
    entries: Entries = {LISTS[kind]: (forms[kind], []) for kind in looked}
    labels = {**dict.fromkeys(entries, ListOf()), "verdict": VERDICTS}
    answer = await ask_by_prompt(
        schemas, prompts, name, {**instance_values(instance), **more}, labels, sampling=sampling, reason=_ANALYSIS,
        entries=entries, long=True, check=lambda answer: problem_of(read_validation(answer, instance.turns, looked)),
    )  # fmt: skip
    if answer.problem:
        return Validation(None, looked, problem=answer.problem)
    validation = read_validation(answer, instance.turns, looked)
    assert isinstance(validation, Validation)
    return validation


def instance_values(instance: Instance) -> dict[str, Any]:
    """An instance as prompts on it show it: its turns with their criteria, numbered through, behind tags of its own."""
    numbers = {place: number for number, place in enumerate(numbered(instance.turns), 1)}
    turns: list[dict[str, Any]] = []
    for turn_number, turn in enumerate(instance.turns, 1):
        texts = enumerate(map(one_line, turn.criteria), 1)
        criteria = [{"number": numbers[turn_number, place], "text": text} for place, text in texts]
        turns.append({"prompt": turn.prompt, "criteria": criteria})
    system, context = instance.system or "", instance.context or ""
    texts_around = [system, context, *(message.content for message in instance.history)]
    texts_around += [turn.prompt for turn in instance.turns]
    tag = fence(*texts_around, beside=[criterion["text"] for turn in turns for criterion in turn["criteria"]])
    history = [f"[{message.role}_{tag}]\n{message.content}" for message in instance.history]
    return {"turns": turns, "system": system, "context": context, "history": history, "tag": tag}


# The list of the closing object that holds the defects of a kind.
LISTS: dict[Kind, str] = {"E1": "errors", "E2": "excessive", "E3": "missing", "composite": "composite"}
LISTS |= {kind: kind for kind in PROMPT_KINDS}
VERDICTS: dict[str, Label] = {"PASS": "PASS", "FAIL": "FAIL"}


class _UnusableError(Exception):
    """An entry that cannot be used; the text goes on behind the name of its list."""


def read_validation(answer: SignedAnswer[Any], turns: Sequence[Turn], looked: Sequence[Kind]) -> Validation | Problem:
    """What an answer states; a Problem where an entry cannot be used, or the verdict does not follow from the lists.

    The verdict is FAIL exactly where a list names a defect. Where the only list is that of composite criteria, which
    make no FAIL, it stands for itself.
    """
    verdict: Label = answer.labels["verdict"]
    findings: list[Finding] = []
    for kind in looked:
        entries = answer.labels[LISTS[kind]]
        try:
            if not all(isinstance(entry, dict) for entry in entries):
                raise _UnusableError("is no list of objects")
            of_kind = [_finding(entry, kind, turns) for entry in entries]
            places = {(f.turn, f.criterion, folded(f.proposal[0]) if kind == "E3" else "") for f in of_kind}
            if len(places) < len(of_kind):
                raise _UnusableError("names the same twice")
        except _UnusableError as error:
            return Problem(f"`{LISTS[kind]}` {error}")
        findings += of_kind
    defects = any(finding.kind != "composite" for finding in findings)
    if set(looked) - {"composite"} and (verdict == "FAIL") != defects:
        return Problem(f"`verdict` is {verdict}, while {'a' if defects else 'no'} defect is listed")
    return Validation(verdict, tuple(looked), tuple(findings), answer.reason.strip())


def _finding(entry: dict[str, Any], kind: Kind, turns: Sequence[Turn]) -> Finding:
    """One entry of a list: of a criterion that should be there, of an instruction, or of a criterion that is there."""
    if not _is_text(why := entry.get("why")):
        raise _UnusableError("has an entry without a text `why`")
    reason = " ".join(str(why).split())
    if kind == "E3":
        judged = sorted({turn for turn, _ in numbered(turns)})
        turn, add = _number(entry.get("turn", judged[0] if len(judged) == 1 else None)), entry.get("add")
        if turn not in judged:
            raise _UnusableError(f"has an entry whose `turn` is none that has criteria ({', '.join(map(str, judged))})")
        if not _is_text(add):
            raise _UnusableError("has an entry without a text `add`")
        if folded(str(add)) in {folded(criterion.text) for criterion in turns[turn - 1].criteria}:
            raise _UnusableError("adds a criterion that is there")
        return Finding(kind, turn, None, reason, (" ".join(str(add).split()),))
    instead = entry.get("instead")
    if kind in PROMPT_KINDS:
        turn = _number(entry.get("turn", 1 if len(turns) == 1 else None))
        if not 1 <= turn <= len(turns):
            raise _UnusableError(f"has an entry whose `turn` is no number from 1 to {len(turns)}")
        if not _is_text(instead):
            raise _UnusableError(f"gives no text for `instead` of turn {turn}")
        if str(instead).split() == turns[turn - 1].prompt.split():
            raise _UnusableError(f"gives turn {turn} as it is for `instead`")
        return Finding(kind, turn, None, reason, (str(instead),))
    places, number = dict(enumerate(numbered(turns), 1)), _number(entry.get("criterion"))
    if number not in places:
        raise _UnusableError(f"has an entry whose `criterion` is no number from 1 to {len(places)}")
    (turn, place), texts = places[number], [instead] if isinstance(instead, str) else instead
    if not isinstance(texts, list) or not all(map(_is_text, texts)):
        raise _UnusableError(f"gives no list of texts for `instead` of criterion {number}")
    criterion = turns[turn - 1].criteria[place - 1]
    note = one_line(criterion).removeprefix(" ".join(criterion.text.split())).strip()  # what comes instead keeps it
    texts = [" ".join(text.split()).removesuffix(note).strip() or text for text in texts]
    if any(folded(text) == folded(criterion.text) for text in texts):
        raise _UnusableError(f"gives criterion {number} as it is for `instead`")
    if kind == "composite" and len(texts) < 2:
        raise _UnusableError(f"does not split criterion {number}")
    return Finding(kind, turn, place, reason, tuple(texts))


def numbered(turns: Sequence[Turn]) -> Iterator[tuple[int, int]]:
    """Turn and place of every criterion, in the order of their numbers, which run on from turn to turn."""
    for number, turn in enumerate(turns, 1):
        yield from ((number, place) for place in range(1, len(turn.criteria) + 1))


def _number(value: Any) -> int:
    """A whole number, also as text ("2", "criterion 2"); 0 for all else."""
    if isinstance(value, str):
        named = re.fullmatch(r"[^\d\n]{0,40}?0*(\d{1,6})\W*", value)
        return int(named[1]) if named else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value)) and not HALF.search(value)
