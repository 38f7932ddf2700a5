"""Rows of the `checklists` form: an instruction, responses, checklists, and what people and judges said of them.

Needed are `messages`, which end with the user's; every other list may be absent. Lists refer to each
other by ids: `answers` are those of an annotator to every question of one checklist about one response, `judgments`
the same by a judge, one entry a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.data.case import Case
from truebench_hf.data.rows import Record
from truebench_hf.metrics.votes import majority
from truebench_hf.types import Criterion, Label, Message

SOURCES, MODES, PROTOCOLS = ("human", "model"), ("direct", "reasoning"), ("direct", "check_then_score")
EFFECTS = ("easier", "harder", "no effect")


@dataclass(frozen=True, slots=True)
class Text:
    """A response to the instruction."""

    id: str
    model: str
    text: str


@dataclass(frozen=True, slots=True)
class Written:
    """A checklist. `run` tells those of one author apart, from 1; the `chosen` one is what others are held against."""

    id: str
    author: str
    source: str
    run: int
    chosen: bool
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """Yes or no to each question of a checklist about a response, None where it was left open.

    `mode` (one of `MODES`) and `sample` (from 1) are of judges; people have neither.
    """

    response_id: str
    checklist_id: str
    by: str
    answers: tuple[Label | None, ...]
    mode: str = ""
    sample: int = 1


@dataclass(frozen=True, slots=True)
class Sorting:
    """The categories that an annotator gave each question of a checklist, any number of them."""

    checklist_id: str
    annotator: str
    categories: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Preference:
    """1 (response A much better) over 3 (near-identical) to 5 (response B much better)."""

    annotator: str
    response_a: str
    response_b: str
    rating: int


@dataclass(frozen=True, slots=True)
class Scored:
    """A response scored from 1 to 5, directly or after its checklist, whose `effect` on scoring may be told."""

    response_id: str
    annotator: str
    protocol: str
    score: int
    checklist_id: str | None = None
    effect: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A row, whose `row` holds it as it stood in the data."""

    id: str
    language: str
    category: str
    messages: tuple[Message, ...]
    responses: tuple[Text, ...]
    checklists: tuple[Written, ...]
    answers: tuple[Answers, ...] = ()
    judgments: tuple[Answers, ...] = ()
    categories: tuple[Sorting, ...] = ()
    preferences: tuple[Preference, ...] = ()
    ratings: tuple[Scored, ...] = ()
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def chosen(self) -> Written | None:
        """The checklist that others are held against."""
        return next((one for one in self.checklists if one.chosen), None)

    def case(self, response: str = "", questions: Sequence[str] = ()) -> Case:
        """What a model is shown: the instruction with what came before, a response's text, and questions on it."""
        *before, asked = self.messages
        return Case(asked.content, response, tuple(map(Criterion, questions)), tuple(before), benchmark="tick")

    def people(self, response: Text, checklist: Written) -> tuple[Label | None, ...] | None:
        """The majority of the annotators on each question, None on a tie; None where nobody answered."""
        about = (response.id, checklist.id)
        given = [one.answers for one in self.answers if (one.response_id, one.checklist_id) == about]
        return tuple(majority(votes).label for votes in zip(*given, strict=True)) if given else None  # type: ignore[misc]


# What a row, and the entries of its lists, may leave out, and what that means.
_ROW: dict[str, Any] = {"language": "", "category": "", "label_source": ""}
_LISTS: dict[str, dict[str, Any]] = {
    "responses": {"model": ""}, "checklists": {"source": "human", "run": 1, "chosen": False}, "categories": {},
    "answers": {}, "judgments": {"sample": 1}, "preferences": {}, "ratings": {"checklist_id": None, "effect": None},
}  # fmt: skip


def filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with all columns: what it may leave out is written down. Nothing is checked."""
    whole = {**_ROW, **{name: [] for name in _LISTS}, **row}
    for name, absent in _LISTS.items():
        if isinstance(whole[name], list):
            whole[name] = [absent | one if isinstance(one, dict) else one for one in whole[name]]
    if isinstance(lists := whole["checklists"], list):
        whole["checklists"] = [
            {"id": f"c{n}", **one} if isinstance(one, dict) else one for n, one in enumerate(lists, 1)
        ]
    return whole


def read(record: Record) -> Entry:
    """The row of a record. Raises UserError naming where it stands and the field that is wrong."""
    messages = record.messages("messages")
    if messages[-1].role != "user" or not messages[-1].content.strip():
        raise record.wrong("messages", "must end with a message of the user that is not blank")
    checklists = tuple(_written(part, n) for n, part in enumerate(_parts(record, "checklists"), 1))
    responses = tuple(_text(part) for part in _parts(record, "responses"))
    _once(record, "responses", [one.id for one in responses], "more than one with the id")
    _once(record, "checklists", [one.id for one in checklists], "more than one with the id")
    _once(record, "checklists", [f"{one.author}, run {one.run}" for one in checklists])
    if sum(one.chosen for one in checklists) > 1:
        raise record.wrong("checklists", "has more than one that is chosen; choose one")
    lengths, texts = {one.id: len(one.questions) for one in checklists}, {one.id for one in responses}
    entry = Entry(
        record.id("id"), record.maybe("language") or "", record.maybe("category") or "", messages, responses, checklists,
        tuple(_answers(part, texts, lengths) for part in _parts(record, "answers")),
        tuple(_judgment(part, texts, lengths) for part in _parts(record, "judgments")),
        tuple(_sorting(part, lengths) for part in _parts(record, "categories")),
        tuple(_preference(part, texts) for part in _parts(record, "preferences")),
        tuple(_rating(part, texts, lengths) for part in _parts(record, "ratings")), dict(record.row),
    )  # fmt: skip
    for name, key in _KEYS.items():
        _once(record, name, [key(one) for one in getattr(entry, name)])
    return entry


_KEYS: dict[str, Callable[[Any], Hashable]] = {
    "answers": lambda one: f"{one.by} on response {one.response_id}, checklist {one.checklist_id}",
    "judgments": lambda one: f"{one.by}, {one.mode}, sample {one.sample}, on response {one.response_id}, "
    f"checklist {one.checklist_id}",
    "categories": lambda one: f"{one.annotator} on checklist {one.checklist_id}",
    "preferences": lambda one: f"{one.annotator} on {' and '.join(sorted((one.response_a, one.response_b)))}",
    "ratings": lambda one: f"{one.annotator} on response {one.response_id}, {one.protocol}",
}  # fmt: skip


def _parts(record: Record, name: str) -> list[Record]:
    value = record.decoded(name)
    return [] if value is None or value == [] else record.parts(name)


def _once(record: Record, name: str, keys: Sequence[Hashable], what: str = "more than one of") -> None:
    doubled = [key for n, key in enumerate(keys) if key in keys[:n]]
    if doubled:
        raise record.wrong(name, f"has {what} {doubled[0]}; keep one")


def _text(part: Record) -> Text:
    text = part.row.get("text")
    if not isinstance(text, str):
        raise part.wrong("text", "must be a text")
    return Text(part.id("id"), part.maybe("model") or "", text)


def _written(part: Record, number: int) -> Written:
    name = part.id("id") if part.row.get("id") is not None else f"c{number}"
    run, chosen = part.row.get("run", 1), part.row.get("chosen", False)
    if isinstance(run, bool) or not isinstance(run, int) or run < 1:
        raise part.wrong("run", "must be a whole number from 1")
    if not isinstance(chosen, bool):
        raise part.wrong("chosen", "must be true or false")
    source = _one_of(part, "source", SOURCES) if part.row.get("source") is not None else "human"
    return Written(name, part.text("author"), source, run, chosen, tuple(part.texts("questions")))


def _one_of(part: Record, name: str, names: Sequence[str]) -> str:
    value = part.row.get(name)
    if value not in names:
        raise part.wrong(name, f"is {value!r}, which is none of {', '.join(names)}")
    return str(value)


def _refers(part: Record, name: str, ids: Any) -> str:
    value = part.id(name)
    if value not in ids:
        what = "checklist" if name.startswith("checklist") else "response"
        raise part.wrong(name, f"names {what} {value!r}, which is not there")
    return value


def _labels(part: Record, count: int) -> tuple[Label | None, ...]:
    values = part.items("answers")
    if len(values) != count:
        raise part.wrong("answers", f"must hold one for each question, {count} in all, not {len(values)}")
    return tuple(Record(part.where, {"answers": value}).label("answers") for value in values)


def _answers(part: Record, texts: set[str], lengths: Mapping[str, int]) -> Answers:
    checklist = _refers(part, "checklist_id", lengths)
    return Answers(
        _refers(part, "response_id", texts), checklist, part.text("annotator"), _labels(part, lengths[checklist])
    )


def _judgment(part: Record, texts: set[str], lengths: Mapping[str, int]) -> Answers:
    checklist, sample = _refers(part, "checklist_id", lengths), part.row.get("sample", 1)
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 1:
        raise part.wrong("sample", "must be a whole number from 1")
    labels = _labels(part, lengths[checklist])
    mode = _one_of(part, "mode", MODES)
    return Answers(_refers(part, "response_id", texts), checklist, part.text("judge"), labels, mode, sample)


def _sorting(part: Record, lengths: Mapping[str, int]) -> Sorting:
    checklist, given = _refers(part, "checklist_id", lengths), part.items("categories")
    if len(given) != lengths[checklist] or not all(isinstance(names, list) for names in given):
        raise part.wrong("categories", f"must hold a list for each question, {lengths[checklist]} in all")
    if not all(isinstance(name, str) and name.strip() for names in given for name in names):
        raise part.wrong("categories", "must hold lists of names, none of them blank")
    return Sorting(checklist, part.text("annotator"), tuple(tuple(dict.fromkeys(names)) for names in given))


def _preference(part: Record, texts: set[str]) -> Preference:
    a, b = _refers(part, "response_a", texts), _refers(part, "response_b", texts)
    if a == b:
        raise part.wrong("response_b", "is response A too")
    return Preference(part.text("annotator"), a, b, _one_to_five(part, "rating"))


def _one_to_five(part: Record, name: str) -> int:
    value = part.row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:
        raise part.wrong(name, f"is {value!r}, not 1 to 5")
    return value


def _rating(part: Record, texts: set[str], lengths: Mapping[str, int]) -> Scored:
    protocol, effect, checklist = _one_of(part, "protocol", PROTOCOLS), part.row.get("effect"), None
    if part.row.get("checklist_id") is not None:
        checklist = _refers(part, "checklist_id", lengths)
    if effect is not None:
        _one_of(part, "effect", EFFECTS)
    if protocol == "direct" and (effect or checklist):
        raise part.wrong("effect" if effect else "checklist_id", "is of check_then_score, and this was scored directly")
    response = _refers(part, "response_id", texts)
    return Scored(response, part.text("annotator"), protocol, _one_to_five(part, "score"), checklist, effect)
