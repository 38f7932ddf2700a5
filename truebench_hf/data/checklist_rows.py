"""Rows of the `checklists` form: an instruction, responses, checklists, and what people and judges said of them.

Needed are `messages`, which end with the user's; every other list may be absent. Lists refer to each
other by ids: `answers` are those of an annotator to every question of one checklist about one response, `judgments`
the same by a judge, one entry a draw. `checklists_mini.jsonl` holds 28 instructions written for this project: each with
two responses, a chosen checklist whose questions are yes when all is well, the answers to it and a preference. Half of
them also have other checklists, three annotators, their scores with and without a checklist, and a constructed judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, Field, PrivateAttr, Strict, field_validator, model_validator

from truebench_hf.data import instances, row_files, sources
from truebench_hf.data.catalogue import built, located
from truebench_hf.data.judged import Case, as_answered, stated, with_history
from truebench_hf.data.rows import Decoded, Id, MaybeLabel, MaybeText, Messages, Record, Row, Texts
from truebench_hf.data.rows import Text as FilledText
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.votes import majority
from truebench_hf.types import Criterion, Label, Message

MINI = "checklists_mini"
MINI_FILE = Path(__file__).with_name(f"{MINI}.jsonl")
DATA_HELP = (
    "checklists_mini, rows in its columns (a path to JSONL, JSON or Parquet, or a Hub id), rows with a prompt and "
    "criteria, or SOURCE:PATH of a benchmark with questions by people (structflowbench, infobench, wildbench ...)."
)
Effect = Literal["easier", "harder", "no effect"]
EFFECTS = get_args(Effect)
T = TypeVar("T")
_Parts = Annotated[tuple[T, ...], *Decoded.__metadata__]
_Number = Annotated[int, Strict(), Field(ge=1)]
_OneToFive = Annotated[int, Strict(), Field(ge=1, le=5)]
_Plain = Annotated[str, Strict()]


class _Part(Row):
    """An entry of a list of a row; no two of a list are alike in the fields of any of its `keys`."""

    keys: ClassVar[tuple[tuple[str, ...], ...]] = (("id",),)

    @property
    def names(self) -> list[str]:
        """What tells it from the other entries, in words."""
        return [", ".join(f"{name} {getattr(self, name)}" for name in key) for key in self.keys]


class Text(_Part):
    """A response to the instruction."""

    keeps_blanks = ("text",)

    id: Id
    model: _Plain = ""
    text: _Plain


class Written(_Part):
    """A checklist. `run` tells those of one author apart, from 1; the `chosen` one is what others are held against."""

    keys = (("id",), ("author", "run"))

    id: Id
    author: FilledText
    source: Literal["human", "model"] = "human"
    run: _Number = 1
    chosen: Annotated[bool, Strict()] = False
    questions: Annotated[tuple[str, ...], *Texts.__metadata__]


class _Answers(_Part):
    """Yes or no to each question of a checklist about a response, None where it was left open."""

    keeps_blanks = ("answers",)

    response_id: Id
    checklist_id: Id
    answers: _Parts[MaybeLabel]


class ChecklistAnswers(_Answers):
    """Such answers by an annotator."""

    keys = (("annotator", "response_id", "checklist_id"),)

    annotator: FilledText


class Judgments(_Answers):
    """The same by a judge: how it was asked, and which draw this is (from 1)."""

    keys = (("judge", "mode", "sample", "response_id", "checklist_id"),)

    judge: FilledText
    mode: Literal["direct", "reasoning"]
    sample: _Number = 1


class Sorting(_Part):
    """The categories that an annotator gave each question of a checklist, any number of them."""

    keeps_blanks = ("categories",)
    keys = (("annotator", "checklist_id"),)

    checklist_id: Id
    annotator: FilledText
    categories: tuple[Annotated[tuple[FilledText, ...], AfterValidator(lambda n: tuple(dict.fromkeys(n)))], ...]


class PreferenceRow(_Part):
    """1 (response A much better) over 3 (near-identical) to 5 (response B much better)."""

    annotator: FilledText
    response_a: Id
    response_b: Id
    rating: _OneToFive

    @property
    def names(self) -> list[str]:
        """The two responses stand in either order."""
        return [f"annotator {self.annotator}, {' and '.join(sorted((self.response_a, self.response_b)))}"]


class ScoredRow(_Part):
    """A response scored from 1 to 5, directly or after its checklist, whose `effect` on scoring may be told."""

    keys = (("annotator", "response_id", "protocol"),)

    response_id: Id
    checklist_id: Id | None = None
    annotator: FilledText
    protocol: Literal["direct", "check_then_score"]
    score: _OneToFive
    effect: Effect | None = None


_PARTS = ("responses", "checklists", "categories", "answers", "judgments", "preferences", "ratings")


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
        if self.messages[-1].role != "user" or not self.messages[-1].content.strip():
            raise ValueError("field 'messages' must end with a message of the user that is not blank")
        if sum(checklist.chosen for checklist in self.checklists) > 1:
            raise ValueError("field 'checklists' has more than one that is chosen; choose one")
        ids = {"response": {text.id for text in self.responses}, "checklist": {own.id for own in self.checklists}}
        lengths = {checklist.id: len(checklist.questions) for checklist in self.checklists}
        for part in _PARTS:
            seen: set[str] = set()
            for place, entry in enumerate(getattr(self, part)):
                for name, value in entry:  # response_id, response_a, response_b, checklist_id
                    what = name.partition("_")[0]
                    if what in ids and value is not None and value not in ids[what]:
                        raise ValueError(f"field '{part}[{place}].{name}' names {what} {value!r}, which is not there")
                if doubled := seen & set(entry.names):
                    raise ValueError(f"field {part!r} has more than one of {min(doubled)}; keep one")
                seen |= set(entry.names)
                of = "categories" if part == "categories" else "answers"
                listed = getattr(entry, of, None)
                if listed is not None and len(listed) != (due := lengths[entry.checklist_id]):
                    what = f"must hold one for each question, {due} in all, not {len(listed)}"
                    raise ValueError(f"field '{part}[{place}].{of}' {what}")
        for place, preference in enumerate(self.preferences):
            if preference.response_a == preference.response_b:
                raise ValueError(f"field 'preferences[{place}].response_b' is response A too")
        for place, scored in enumerate(self.ratings):
            if scored.protocol == "direct" and (scored.effect or scored.checklist_id):
                name = "effect" if scored.effect else "checklist_id"
                what = "is of check_then_score, and this was scored directly"
                raise ValueError(f"field 'ratings[{place}].{name}' {what}")
        return self

    @property
    def row(self) -> Mapping[str, Any]:
        """The row as it stood in the data."""
        return self._row

    @property
    def chosen(self) -> Written | None:
        """The checklist that others are held against."""
        return next((checklist for checklist in self.checklists if checklist.chosen), None)

    @property
    def others(self) -> list[Written]:
        """The checklists that are not the chosen one."""
        return [checklist for checklist in self.checklists if not checklist.chosen]

    def case(self, response: str = "", questions: Sequence[str] = ()) -> Case:
        """What a model is shown: the instruction with what came before, a response's text, and questions on it."""
        *before, last = self.messages
        return Case(last.content, response, tuple(map(Criterion, questions)), tuple(before), benchmark="tick")

    def people(self, response: Text, checklist: Written) -> tuple[Label | None, ...] | None:
        """The majority of the annotators on each question, None on a tie; None where nobody answered."""
        about = (response.id, checklist.id)
        answers = [entry.answers for entry in self.answers if (entry.response_id, entry.checklist_id) == about]
        return tuple(majority(votes) for votes in zip(*answers, strict=True)) if answers else None

    def answered(self, response: Text, checklist: Written, by: str) -> Sequence[Label | None] | None:
        """The answers of people or of a judge, with reasoning where it has it and of several draws the first."""
        if by == "people":
            return self.people(response, checklist)
        about = by, response.id, checklist.id
        judgments = [j for j in self.judgments if (j.judge, j.response_id, j.checklist_id) == about]
        first = min(judgments, key=lambda judgment: (judgment.mode != "reasoning", judgment.sample), default=None)
        return first.answers if first else None

    def score(self, response: Text) -> float | None:
        """The mean of the annotators' direct scores of a response."""
        about = response.id, "direct"
        return mean_of(*(rating.score for rating in self.ratings if (rating.response_id, rating.protocol) == about))


def read(record: Record) -> ChecklistRow:
    """The row of a record. Raises UserError naming where it stands and the field that is wrong."""
    entry = record.read(ChecklistRow)
    entry._row = dict(record.row)
    return entry


def rows_of(data: str) -> Iterable[Record]:
    """The rows of `checklists_mini`, or of what `row_files` reads."""
    file = str(MINI_FILE) if built(data, MINI) else located(data)
    return row_files.one_split(file, (MINI, "truebench_mini", "truebench"))


def load_entries(data: str, left_out: list[str] | None = None) -> list[ChecklistRow]:
    """The rows of some data. Raises UserError naming the row and the field.

    A checklist is for one instruction: rows with several turns to be answered are added to `left_out`, or an error.
    """
    if sources.is_source(data):
        kind, _, path = data.partition(":")
        records: Iterable[Record] = _published_records(kind, path, left_out)
    else:
        records = rows_of(data)
    by_id: dict[str, ChecklistRow] = {}
    for number, record in enumerate(records, 1):
        complete = record if "checklists" in record.row else _as_checklist_row(record, str(number))
        if isinstance(complete, str):
            if left_out is None:
                raise UserError(f"{complete}; a checklist is for one instruction: leave the row out")
            left_out.append(complete)
            continue
        entry = read(complete)
        if entry.id in by_id:
            raise UserError(f"{record.where}: id {entry.id!r} stands twice; every row needs its own")
        by_id[entry.id] = entry
    if not by_id:
        why = "all rows have several turns; a checklist is for one instruction" if left_out else "holds no rows"
        raise UserError(f"--data {data}: {why}")
    return list(by_id.values())


def answerers(entries: Sequence[ChecklistRow]) -> list[str]:
    """Who answered checklists: people (their majority), and every judge."""
    people = ["people"] if any(entry.answers for entry in entries) else []
    return people + list(dict.fromkeys(judgment.judge for entry in entries for judgment in entry.judgments))


def _as_checklist_row(record: Record, number: str) -> Record | str:
    """A row with a prompt and criteria: these are its chosen checklist. A text says why it cannot be used."""
    instance = instances.of_row(record, number)
    if len(instance.turns) != 1:
        return f"{record.where}: has {len(instance.turns)} turns to be answered"
    *before, prompt = with_history(instance, as_answered(instance, ("",)))[:-1]
    user_text = f"{instance.context}\n\n{prompt.content}" if instance.context else prompt.content
    messages = [asdict(message) for message in (*before, Message("user", user_text))]
    questions = list(map(stated, instance.turns[0].criteria))
    row = {"id": instance.id, "language": instance.language, "category": instance.category, "messages": messages}
    return Record(record.where, row | {"checklists": _chosen("data", questions) if questions else []}, record.number)


def _chosen(author: str, questions: list[str]) -> list[dict[str, Any]]:
    return [{"id": "c1", "author": author, "source": "human", "run": 1, "chosen": True, "questions": questions}]


def _published_records(kind: str, path: str, left_out: list[str] | None) -> Iterator[Record]:
    """The instructions of a benchmark with its questions as the chosen checklist, and what answers it ships.

    A fault (negative points) is no question of a checklist, whose best answer is always yes: those are `left_out`.
    """
    rows: dict[str, dict[str, Any]] = {}
    read = sources.read(kind, path)
    faults = sum(criterion.weight < 0 for item in read for criterion in item.case.criteria)
    if faults and left_out is not None:
        left_out.append(f"{kind}: {faults} criteria that name a fault, which is no question of a checklist")
    for item in read:
        wanted = [rubric for rubric in item.rubrics if item.case.criteria[rubric.index].weight > 0]
        author = item.source or kind
        row = rows.setdefault(
            item.instruction_id,
            {
                "id": item.instruction_id, "language": item.language, "category": item.category,
                "messages": [asdict(message) for message in item.messages], "responses": [],
                "checklists": _chosen(author, [rubric.text for rubric in wanted]) if wanted else [],
            },
        )  # fmt: skip
        text = item.case.response if item.answered else item.reference
        if text:
            row["responses"].append({"id": item.id, "model": item.model or author, "text": text})
        kinds = [[name.strip() for name in rubric.hint.split(",") if name.strip()] for rubric in wanted]
        if any(kinds):
            row["categories"] = [{"checklist_id": "c1", "annotator": author, "categories": kinds}]
    for number, row in enumerate(rows.values()):
        yield Record(f"{kind}:{path}, {row['id']}", row, number)
