"""One question to a validator: can the criteria of this instance stay as they are? Or its instructions?

Paper 000, section 3.4 and appendix D. `validate_instance` is the one call for whoever has criteria to validate; a study
that makes it names the prompt `validate_criteria` among its `prompts`. An instance may have a known defect (section 5.2):
what an edit put into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict

from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import folded
from truebench_hf.judging.signed import ListOf, SignedAnswer
from truebench_hf.judging.signed_asking import Entries, ask_by_prompt, problem_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence, one_line
from truebench_hf.text.terminal import HALF
from truebench_hf.types import Criterion, Instance, Turn

RELEASE = "v0.6.1"  # whose edits come with this package
_SAMPLING = Sampling(max_tokens=8192)
_ANALYSIS = "The instruction asks for several things, and each criterion is held against them in turn. " * 8
Kind = Literal["E1", "E2", "E3", "composite", "domain", "task", "clarity"]
Label = Literal["PASS", "FAIL"]
# The aspects of paper 000, section 3.4, with the kind of defect that each looks for (Listing 1).
ASPECTS: Mapping[str, Kind] = {"correctness": "E1", "minimality": "E2", "sufficiency": "E3"}
# What reviewers of instructions look at, before there are criteria (appendix F).
PROMPT_KINDS: tuple[Kind, ...] = ("domain", "task", "clarity")
MEANING: Mapping[Kind, str] = {
    "E1": "error within criteria", "E2": "over-criticism", "E3": "insufficient criteria",
    "composite": "several conditions in one criterion", "domain": "not of the productivity domain",
    "task": "does not match its task", "clarity": "unclear",
}  # fmt: skip


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

    def found(self, kind: Kind) -> bool | None:
        """Whether there is a defect of this kind; None where nobody looked, or nothing could be read."""
        known = kind in self.looked and self.label
        return any(finding.kind == kind for finding in self.findings) if known else None


def kinds(aspects: Sequence[str]) -> tuple[Kind, ...]:
    """What a validator of criteria looks for that is told about these aspects: composites it always looks for."""
    return (*(kind for aspect, kind in ASPECTS.items() if aspect in aspects), "composite")


class Edit(Row):
    """A line of a file of edits: what is done to which criterion (from 1) of which turn (from 1) of an instance.

    E1 puts `now` in the place of `was`, which stands at the character `at` of the criterion; E2 inserts a criterion `text`
    before the criterion of that number; E3 removes one. `holds` is what a reader found: whether the edit is what it
    claims, of an unedited row whether it is faultless.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    keeps_blanks = ("was", "now", "text")

    id: str
    edit: Literal["unedited", "E1", "E2", "E3"]
    turn: int = 0
    criterion: int = 0
    at: int = 0
    was: str = ""
    now: str = ""
    text: str = ""
    what: str = ""
    holds: bool | None = None
    note: str = ""


@dataclass(frozen=True)
class Edited:
    """An instance, and what was done to it. The number of an edit is the criterion's in the instance as it is now."""

    instance: Instance
    edit: Edit


@dataclass(frozen=True)
class Validated(Edited):
    """An instance, as it is or with a known edit, and what the validator says by the aspects it was told about."""

    by_aspects: dict[tuple[str, ...], Validation]

    @property
    def validation(self) -> Validation:
        """With all the aspects that there are."""
        return self.by_aspects[max(self.by_aspects, key=len)]


def read_edits(name: str) -> list[Edit]:
    """Return the edits that come with this package (`v0.6.1`), or those of a JSONL file. Raises UserError naming line and field."""
    file = Path(__file__).with_name("ablation.jsonl") if name == RELEASE else Path(name)
    rows = jsonl.read(file, f"give {RELEASE} or a JSONL file of edits")
    return [Record(f"--ablation {where}", row).read(Edit) for where, row in rows]


def edited_rows(instances: Sequence[Instance], edits: Iterable[Edit]) -> list[Edited]:
    """Return the edited instances among these, in their order. Raises UserError where an edit does not fit its instance."""
    by_id = {edit.id: edit for edit in edits}
    pairs = [(instance, by_id[instance.id]) for instance in instances if instance.id in by_id]
    return [Edited(_edited(instance, edit), edit) for instance, edit in pairs]


def _edited(instance: Instance, edit: Edit) -> Instance:
    if edit.edit == "unedited":
        return instance
    turns, place, end = list(instance.turns), edit.criterion - 1, edit.at + len(edit.was)
    criteria = list(turns[edit.turn - 1].criteria) if 1 <= edit.turn <= len(turns) else []
    text = criteria[place].text if 0 <= place < len(criteria) else None
    if edit.edit == "E1" and text and edit.was and text[edit.at : end] == edit.was:
        criteria[place] = replace(criteria[place], text=text[: edit.at] + edit.now + text[end:], rule=None)
    elif edit.edit == "E2" and edit.text.strip() and criteria and 0 <= place <= len(criteria):
        criteria.insert(place, Criterion(edit.text))
    elif edit.edit == "E3" and text is not None:
        del criteria[place]
    else:
        raise UserError(
            f"--ablation: {edit.id}, turn {edit.turn}, criterion {edit.criterion}: {edit.edit} cannot be done there; give its "
            "own --data"
        )
    turns[edit.turn - 1] = replace(turns[edit.turn - 1], criteria=tuple(criteria))
    return replace(instance, turns=tuple(turns))


async def validate_instance(
    schemas: SchemaFallback, instance: Instance, prompts: Prompts, aspects: Sequence[str] = tuple(ASPECTS),
    *, stage: str = "criteria",
) -> Validation:  # fmt: skip
    """Return what a validator says of the criteria of an instance, all turns together; responses are not looked at.

    `aspects` are those of `ASPECTS` that it is told about; with none it still says PASS or FAIL. At the `stage` prompt it
    looks at the instructions: productivity domain, fit to category and task, clarity (appendix F). The analysis is
    written in English, proposals in the language of the criteria. An answer that cannot be read is asked again; then the
    label is None, with the `problem`. Raises what `Caller.complete` raises, but for a request that failed.
    """
    looked = PROMPT_KINDS if stage == "prompt" else kinds(aspects)
    values = {
        "aspects": list(aspects),
        "category": instance.category,
        "task": instance.task,
        **instance_values(instance),
    }
    entries: Entries = {LISTS[kind]: (_form(kind), []) for kind in looked}
    labels = {**dict.fromkeys(entries, ListOf()), "verdict": VERDICTS}
    answer = await ask_by_prompt(
        schemas, prompts, f"validate_{stage}", values, labels, sampling=_SAMPLING, reason=_ANALYSIS, entries=entries,
        long=True, check=lambda answer: problem_of(read_validation(answer, instance.turns, looked)),
    )  # fmt: skip
    problem = Problem(answer.problem) if answer.problem else read_validation(answer, instance.turns, looked)
    return Validation(None, looked, problem=problem.text) if isinstance(problem, Problem) else problem


def _form(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of a list of defects."""
    text: dict[str, Any] = {"type": "string"}
    number = {"type": "integer"}
    properties = {"criterion": number, "why": text, "instead": {"type": "array", "items": text}}
    if kind == "E3" or kind in PROMPT_KINDS:
        properties = {"turn": number, "why": text, "add" if kind == "E3" else "instead": text}
    item = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "array", "items": item}


def instance_values(instance: Instance) -> dict[str, Any]:
    """Return an instance as prompts on it show it: its turns with criteria, numbered through, behind tags of its own."""
    numbers = count(1)
    turns: list[dict[str, Any]] = [
        {"prompt": turn.prompt, "criteria": [{"number": next(numbers), "text": one_line(c)} for c in turn.criteria]}
        for turn in instance.turns
    ]
    system, context = instance.system or "", instance.context or ""
    texts = [system, context, *(message.content for message in instance.history), *(turn["prompt"] for turn in turns)]
    tag = fence(*texts, beside=[criterion["text"] for turn in turns for criterion in turn["criteria"]])
    history = [f"[{message.role}_{tag}]\n{message.content}" for message in instance.history]
    return {"turns": turns, "system": system, "context": context, "history": history, "tag": tag}


# The list of the closing object that holds the defects of a kind.
LISTS: dict[Kind, str] = {"E1": "errors", "E2": "excessive", "E3": "missing", "composite": "composite"}
LISTS |= {kind: kind for kind in PROMPT_KINDS}
VERDICTS: dict[str, Label] = {"PASS": "PASS", "FAIL": "FAIL"}


def read_validation(answer: SignedAnswer[Any], turns: Sequence[Turn], looked: Sequence[Kind]) -> Validation | Problem:
    """Return what an answer states; a Problem where an entry cannot be used, or the verdict does not follow from the lists.

    The verdict is FAIL exactly where a list names a defect. Where the only list is that of composite criteria, which
    make no FAIL, it stands for itself.
    """
    verdict: Label = answer.labels["verdict"]
    findings: list[Finding] = []
    for kind in looked:
        try:
            of_kind = [_finding(entry, kind, turns) for entry in answer.labels[LISTS[kind]]]
            places = {(f.turn, f.criterion, folded(f.proposal[0]) if kind == "E3" else "") for f in of_kind}
            if len(places) < len(of_kind):
                raise ValueError("names the same twice")
        except ValueError as error:
            return Problem(f"`{LISTS[kind]}` {error}")
        findings += of_kind
    defects = any(finding.kind != "composite" for finding in findings)
    if set(looked) - {"composite"} and (verdict == "FAIL") != defects:
        return Problem(f"`verdict` is {verdict}, while {'a' if defects else 'no'} defect is listed")
    return Validation(verdict, tuple(looked), tuple(findings), answer.reason.strip())


def _finding(entry: Any, kind: Kind, turns: Sequence[Turn]) -> Finding:
    """Return the defect that an entry of a list names. Raises ValueError where it cannot be used."""
    why: Any = entry.get("why") if isinstance(entry, dict) else None
    if not _is_text(why):
        raise ValueError("has an entry without a text `why`")
    criteria = dict(enumerate(numbered(turns), 1))
    judged = sorted({turn for turn, _ in criteria.values()})
    about, key = ("turn", "add") if kind == "E3" else ("turn" if kind in PROMPT_KINDS else "criterion", "instead")
    places = judged if kind == "E3" else list(range(1, len(turns) + 1) if about == "turn" else criteria)
    number = _number(entry.get(about, places[0] if len(places) == 1 else None))
    if number not in places:
        raise ValueError(f"has an entry whose `{about}` is none of {', '.join(map(str, places))}")
    turn, place = criteria[number] if about == "criterion" else (number, None)
    new: Any = entry.get(key)
    texts: list[Any] = new if isinstance(new, list) and place else [new]
    if not all(map(_is_text, texts)):
        raise ValueError(f"gives no text for `{key}` of {about} {number}")
    if kind not in PROMPT_KINDS:
        texts = [" ".join(text.split()) for text in texts]
    standing = [turns[turn - 1].prompt] if kind in PROMPT_KINDS else [c.text for c in turns[turn - 1].criteria]
    if place:
        criterion = turns[turn - 1].criteria[place - 1]
        note = one_line(criterion).removeprefix(" ".join(criterion.text.split())).strip()  # what comes instead keeps it
        texts, standing = [text.removesuffix(note).strip() or text for text in texts], [criterion.text]
    if {folded(text) for text in texts} & {folded(text) for text in standing}:
        raise ValueError(f"gives what stands there already for `{key}` of {about} {number}")
    if kind == "composite" and len(texts) < 2:
        raise ValueError(f"does not split criterion {number}")
    return Finding(kind, turn, place, " ".join(why.split()), tuple(texts))


def numbered(turns: Sequence[Turn]) -> Iterator[tuple[int, int]]:
    """Yield turn and place of every criterion, in the order of their numbers, which run on from turn to turn."""
    for number, turn in enumerate(turns, 1):
        yield from ((number, place) for place in range(1, len(turn.criteria) + 1))


def _number(value: Any) -> int:
    """Return a whole number, also from text ("2", "criterion 2"); 0 for all else."""
    if isinstance(value, str):
        named = re.fullmatch(r"[^\d\n]{0,40}?0*(\d{1,6})\W*", value)
        return int(named[1]) if named else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and any(map(str.isalnum, value)) and not HALF.search(value)
