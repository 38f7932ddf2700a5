"""Rows of the `checklists` form: an instruction, responses, checklists, and what people and judges said of them.

Needed are `messages`, which end with the user's; every other list may be absent. Lists refer to each
other by ids: `answers` are those of an annotator to every question of one checklist about one response, `judgments`
the same by a judge, one entry a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, Field, PrivateAttr, Strict, field_validator, model_validator

from truebench_hf.data.judged import Case
from truebench_hf.data.rows import Decoded, Id, MaybeLabel, MaybeText, Messages, Record, Row, Texts
from truebench_hf.data.rows import Text as FilledText
from truebench_hf.metrics.votes import majority
from truebench_hf.types import Criterion, Label

Effect = Literal["easier", "harder", "no effect"]
EFFECTS = get_args(Effect)
T = TypeVar("T")
_Parts = Annotated[tuple[T, ...], *Decoded.__metadata__]
_Number = Annotated[int, Strict(), Field(ge=1)]
_OneToFive = Annotated[int, Strict(), Field(ge=1, le=5)]
_Plain = Annotated[str, Strict()]


class Text(Row):
    """A response to the instruction."""

    keeps_blanks = ("text",)

    id: Id
    model: _Plain = ""
    text: _Plain


class Written(Row):
    """A checklist. `run` tells those of one author apart, from 1; the `chosen` one is what others are held against."""

    id: Id
    author: FilledText
    source: Literal["human", "model"] = "human"
    run: _Number = 1
    chosen: Annotated[bool, Strict()] = False
    questions: Annotated[tuple[str, ...], *Texts.__metadata__]


class _AnsweredResponse(Row):
    """What each answer is about."""

    keeps_blanks = ("answers",)

    response_id: Id
    checklist_id: Id


class ChecklistAnswers(_AnsweredResponse):
    """Yes or no by an annotator to each question of a checklist about a response, None where it was left open."""

    annotator: FilledText
    answers: _Parts[MaybeLabel]

    @property
    def by(self) -> str:
        """Who answered."""
        return self.annotator


class Judgments(_AnsweredResponse):
    """The same by a judge: how it was asked, and which draw this is (from 1)."""

    judge: FilledText
    mode: Literal["direct", "reasoning"]
    sample: _Number = 1
    answers: _Parts[MaybeLabel]

    @property
    def by(self) -> str:
        """Who answered."""
        return self.judge


class Sorting(Row):
    """The categories that an annotator gave each question of a checklist, any number of them."""

    keeps_blanks = ("categories",)

    checklist_id: Id
    annotator: FilledText
    categories: tuple[Annotated[tuple[FilledText, ...], AfterValidator(lambda n: tuple(dict.fromkeys(n)))], ...]


class PreferenceRow(Row):
    """1 (response A much better) over 3 (near-identical) to 5 (response B much better)."""

    annotator: FilledText
    response_a: Id
    response_b: Id
    rating: _OneToFive


class ScoredRow(Row):
    """A response scored from 1 to 5, directly or after its checklist, whose `effect` on scoring may be told."""

    response_id: Id
    checklist_id: Id | None = None
    annotator: FilledText
    protocol: Literal["direct", "check_then_score"]
    score: _OneToFive
    effect: Effect | None = None


class ChecklistRow(Row):
    """A row; its fields are the columns of the published set, in their order."""

    id: Id
    language: MaybeText = ""
    category: MaybeText = ""
    messages: Messages
    responses: _Parts[Text] = ()
    checklists: _Parts[Written] = ()
    categories: _Parts[Sorting] = ()
    answers: _Parts[ChecklistAnswers] = ()
    judgments: _Parts[Judgments] = ()
    preferences: _Parts[PreferenceRow] = ()
    ratings: _Parts[ScoredRow] = ()
    label_source: MaybeText = ""
    _row: Mapping[str, Any] = PrivateAttr(default_factory=dict)

    @field_validator("checklists", mode="before")
    @classmethod
    def _numbered(cls, checklists: Any) -> Any:
        """Checklists without an id are called by their place."""
        if not isinstance(checklists, list):
            return checklists
        return [{"id": f"c{n}", **row} if isinstance(row, dict) else row for n, row in enumerate(checklists, 1)]

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        """Raise ValueError where lists refer to what is not there, or where something stands twice."""
        for fault in self._faults():
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        if self.messages[-1].role != "user" or not self.messages[-1].content.strip():
            yield "field 'messages' must end with a message of the user that is not blank"
        for name, key in _KEYS:
            keys = [key(entry) for entry in getattr(self, name)]
            if doubled := [key for n, key in enumerate(keys) if key in keys[:n]]:
                yield f"field {name!r} has more than one of {doubled[0]}; keep one"
        if sum(checklist.chosen for checklist in self.checklists) > 1:
            yield "field 'checklists' has more than one that is chosen; choose one"
        for name, what, field in _REFERENCES:
            ids = {entry.id for entry in getattr(self, what)}
            for place, entry in enumerate(getattr(self, field)):
                if (value := getattr(entry, name)) is not None and value not in ids:
                    yield f"field '{field}[{place}].{name}' names {what[:-1]} {value!r}, which is not there"
        lengths = {checklist.id: len(checklist.questions) for checklist in self.checklists}
        for field, of in (("answers", "answers"), ("judgments", "answers"), ("categories", "categories")):
            for place, entry in enumerate(getattr(self, field)):
                if (count := len(getattr(entry, of))) != (due := lengths[entry.checklist_id]):
                    yield f"field '{field}[{place}].{of}' must hold one for each question, {due} in all, not {count}"
        for place, preference in enumerate(self.preferences):
            if preference.response_a == preference.response_b:
                yield f"field 'preferences[{place}].response_b' is response A too"
        for place, scored in enumerate(self.ratings):
            if scored.protocol == "direct" and (scored.effect or scored.checklist_id):
                name = "effect" if scored.effect else "checklist_id"
                yield f"field 'ratings[{place}].{name}' is of check_then_score, and this was scored directly"

    @property
    def row(self) -> Mapping[str, Any]:
        """The row as it stood in the data."""
        return self._row

    @property
    def chosen(self) -> Written | None:
        """The checklist that others are held against."""
        return next((checklist for checklist in self.checklists if checklist.chosen), None)

    def case(self, response: str = "", questions: Sequence[str] = ()) -> Case:
        """What a model is shown: the instruction with what came before, a response's text, and questions on it."""
        *before, last = self.messages
        return Case(last.content, response, tuple(map(Criterion, questions)), tuple(before), benchmark="tick")

    def people(self, response: Text, checklist: Written) -> tuple[Label | None, ...] | None:
        """The majority of the annotators on each question, None on a tie; None where nobody answered."""
        about = (response.id, checklist.id)
        answers = [entry.answers for entry in self.answers if (entry.response_id, entry.checklist_id) == about]
        return tuple(majority(votes).label for votes in zip(*answers, strict=True)) if answers else None  # type: ignore[misc]


_REFERENCES = (
    ("response_id", "responses", "answers"), ("response_id", "responses", "judgments"), ("response_id", "responses", "ratings"),
    ("response_a", "responses", "preferences"), ("response_b", "responses", "preferences"),
    ("checklist_id", "checklists", "answers"), ("checklist_id", "checklists", "judgments"),
    ("checklist_id", "checklists", "categories"), ("checklist_id", "checklists", "ratings"),
)  # fmt: skip
_KEYS: tuple[tuple[str, Callable[[Any], Hashable]], ...] = (
    ("responses", lambda row: f"the id {row.id}"),
    ("checklists", lambda row: f"the id {row.id}"),
    ("checklists", lambda row: f"{row.author}, run {row.run}"),
    ("answers", lambda row: f"{row.by} on response {row.response_id}, checklist {row.checklist_id}"),
    ("judgments", lambda row: f"{row.by}, {row.mode}, sample {row.sample}, on response {row.response_id}, "
     f"checklist {row.checklist_id}"),
    ("categories", lambda row: f"{row.annotator} on checklist {row.checklist_id}"),
    ("preferences", lambda row: f"{row.annotator} on {' and '.join(sorted((row.response_a, row.response_b)))}"),
    ("ratings", lambda row: f"{row.annotator} on response {row.response_id}, {row.protocol}"),
)  # fmt: skip


def read(record: Record) -> ChecklistRow:
    """The row of a record. Raises UserError naming where it stands and the field that is wrong."""
    entry = record.read(ChecklistRow)
    entry._row = dict(record.row)
    return entry
