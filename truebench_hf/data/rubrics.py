"""RubricEval's rows: one rubric of a response each, with its vocabulary; and the responses that they are put together to.

What a row leaves out is derived where that is certain. Paper 003, section 3.1; types: section 3.5 and appendix L.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from truebench_hf.data.instances import rule_text
from truebench_hf.data.judged import Case, stated
from truebench_hf.data.rows import Id, MaybeLabel, MaybeText, Messages, Record, Row, Texts, tables
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.types import Criterion, Label, Message, Verdict


@dataclass(frozen=True)
class RubricType:
    """One kind of rubric: its snake_case name, its dimension (one of `DIMENSIONS`) and what such a rubric asks for."""

    name: str
    dimension: str
    definition: str


_VOCABULARY = tables("rubric_types.yaml")
RUBRIC_TYPES = {name: RubricType(name, **kind) for name, kind in _VOCABULARY["types"].items()}
INSTRUCTION_CATEGORIES: dict[str, str] = _VOCABULARY["instruction_categories"]
DIMENSIONS: tuple[str, ...] = tuple(dict.fromkeys(kind.dimension for kind in RUBRIC_TYPES.values()))


@dataclass(frozen=True, slots=True)
class Rubric:
    """One rubric of a response: its place in the checklist (from 0), and its reference label (None: unlabelled).

    `kind` is one of our 13 types, `hint` what the source calls this kind of rubric. `row` is the row of labelled data
    that it stands in, with all that the data says of it; empty where it has none.
    """

    id: str
    index: int
    text: str
    label: Label | None = None
    kind: str | None = None
    split: str = ""
    hint: str = ""
    row: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def dimension(self) -> str | None:
        """The dimension of its type."""
        return RUBRIC_TYPES[self.kind].dimension if self.kind else None


@dataclass(frozen=True, slots=True)
class Item:
    """One response: what a judge is shown of it, and its rubrics. `id` is that of the response.

    `case` holds the whole checklist, of which only some rubrics may have a row (RubricEval drops what all judges agree
    on): a judge at checklist level reads all of it, one at rubric or decision level only `labelled`. An item that is
    not `answered` still needs its response; `model` then names who is to give it. `reference` is an answer that a
    source ships as a good one; judges see it only where it is in `case`, too. `facts` are what else a source tells.
    """

    id: str
    instruction_id: str
    category: str
    language: str
    source: str
    model: str
    case: Case
    rubrics: tuple[Rubric, ...]
    answered: bool = True
    reference: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation up to the user's message that is answered."""
        return (*self.case.history, Message("user", self.case.instruction))

    @property
    def labelled(self) -> Case:
        """The case with the criteria of `rubrics` alone, in their order."""
        return self.only(rubric.index for rubric in self.rubrics)

    def only(self, chosen: Iterable[int]) -> Case:
        """The case with the criteria at these places of the checklist alone."""
        return replace(self.case, criteria=tuple(self.case.criteria[index] for index in chosen))

    def rubric(self, index: int) -> Rubric:
        """The rubric at a place of the checklist; where the data has no row for it, one without label."""
        rubric = next((rubric for rubric in self.rubrics if rubric.index == index), None)
        return rubric or Rubric(f"{self.id}-c{index}", index, stated(self.case.criteria[index]))

    def responded(self, response: str, model: str) -> Item:
        """The item with this response by this model."""
        return replace(self, case=replace(self.case, response=response), model=model, answered=True)

    def row(self, index: int, label: Label | None, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        """The rubric at a place of the checklist in the columns of rubric_eval, with the label that judges gave it.

        Rubrics stand as judges saw them, with what they rest on, so that whoever reads the row decides what its label
        answers. `source_label` keeps a type that is none of ours, as a hint for the taxonomy.
        """
        case, rubric = self.case, self.rubric(index)
        return {
            "id": rubric.id,
            "instruction_id": self.instruction_id,
            "response_id": self.id,
            "response_model": self.model,
            "instruction_category": self.category,
            "source_benchmark": self.source,
            "language": self.language,
            "messages": [asdict(message) for message in self.messages],
            "context": case.context,
            "reference": case.reference,
            "response": case.response,
            "checklist": [stated(criterion) for criterion in case.criteria],
            "rubric_index": index,
            "rubric": stated(case.criteria[index]),
            "rubric_type": rubric.kind,
            "dimension": rubric.dimension,
            "label": label,
            "label_source": "model",
            **judged(verdicts),
            "source_label": rubric.hint,
            **({"rule": rule} if (rule := case.criteria[index].rule) else {}),
        }


def judged(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """The columns of rubric_eval that tell what judges said of a rubric."""
    return {
        "annotations": [{"annotator": verdict.judge, "label": verdict.label} for verdict in verdicts],
        "rationales": [{"judge": verdict.judge, "rationale": verdict.reason} for verdict in verdicts],
    }


def one_of(names: Collection[str], value: Any) -> str:
    """One of `names`, in any case and with blanks or hyphens for underscores; a number counts from 0, as Parquet does.

    Raises ValueError on any other value.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return list(names)[value]
    folded = re.sub(r"[\s-]+", "_", value.strip().casefold()) if isinstance(value, str) else None
    if folded not in names:
        raise ValueError(f"is {value!r}, which is none of {', '.join(names)}")
    return str(folded)


Category = Annotated[str, PlainValidator(partial(one_of, INSTRUCTION_CATEGORIES))]
Kind = Annotated[str, PlainValidator(partial(one_of, RUBRIC_TYPES))]
Dimension = Annotated[str, PlainValidator(partial(one_of, DIMENSIONS))]
COLUMNS = (
    "id", "instruction_id", "response_id", "response_model", "instruction_category", "source_benchmark", "language",
    "messages", "context", "reference", "response", "checklist", "rubric_index", "rubric", "rubric_type", "dimension",
    "label", "label_source", "annotations", "rationales",
)  # fmt: skip


class RubricRow(Row):
    """A row: messages, instruction_category, and rubric or rubric_index are needed, and of a label the response.

    Where they are absent, ids are made of the content and all else is None or "".
    """

    keeps_blanks = ("response", "rule")

    messages: Messages
    response: str | None = None
    instruction_category: Category
    id: Id = ""
    instruction_id: Id = ""
    response_id: Id = ""
    response_model: Id = ""
    source_benchmark: MaybeText = ""
    language: MaybeText = ""
    context: MaybeText = None
    reference: MaybeText = None
    checklist: Texts | None = None
    rubric_index: Annotated[int, Field(ge=0)] | None = None
    rubric: MaybeText = None
    rubric_type: Kind | None = None
    dimension: Dimension | None = None
    label: MaybeLabel = None
    split: MaybeText = ""
    source_label: MaybeText = ""
    rule: Annotated[str | None, BeforeValidator(rule_text)] = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.messages[-1].role != "user":
            raise ValueError("field 'messages' must end with the user's message that was answered")
        if self.rubric is None and not self.checklist:
            raise ValueError("field 'rubric' must be a text that is not blank")
        dimension = RUBRIC_TYPES[self.rubric_type].dimension if self.rubric_type else None
        if dimension and self.dimension not in (None, dimension):
            raise ValueError(f"field 'dimension' must be {dimension}, the dimension of {self.rubric_type}")
        plain = [asdict(message) for message in self.messages]
        # Two models may say the same.
        answered = [plain, self.response, *([self.response_model] if self.response_model else [])]
        derived: dict[str, Any] = {
            "dimension": dimension,
            "instruction_id": self.instruction_id or digest(canonical(plain))[:12],
            "response_id": self.response_id or digest(canonical(answered))[:16],
        }
        if self.checklist:
            place = self.place_in(self.checklist)
            derived |= {"rubric_index": place, "rubric": self.checklist[place]}
        return self.model_copy(update=derived)

    def place_in(self, checklist: Sequence[str]) -> int:
        """The place of the rubric in a checklist, by its number or its text. Raises ValueError where it has none."""
        index = self.rubric_index
        if index is None and self.rubric is not None and checklist.count(self.rubric) == 1:
            return checklist.index(self.rubric)
        if index is None or index >= len(checklist):
            raise ValueError(f"field 'rubric_index' must be a place in 'checklist', 0 to {len(checklist) - 1}")
        if self.rubric is not None and self.rubric != checklist[index]:
            raise ValueError(f"field 'rubric' is not entry {index} of 'checklist'")
        return index


class Responses:
    """Rows put together by response as they are added, in the order in which responses and rows first appear.

    Rows without label may lack the response where not all must be `answered`.
    """

    def __init__(self, *, answered: bool = True) -> None:
        self._answered = answered
        self._rows: dict[str, list[tuple[Record, RubricRow, Rubric]]] = {}  # by response
        self._names: dict[str, str] = {}

    def add(self, record: Record) -> None:
        """Add a row. Raises UserError on one that cannot be used; then nothing of it is kept."""
        row = record.read(RubricRow)
        if row.response is None and (self._answered or row.label is not None):
            raise record.wrong("response", "must be a text")
        before = self._rows.get(row.response_id, [])
        origin, first = before[0][:2] if before else (record, row)
        for column in ("messages", "context", "reference", "response", "checklist"):
            if getattr(row, column) != getattr(first, column):
                differs = f"differs from that of {origin.where}, of the same response {row.response_id}"
                raise record.wrong(column, differs)
        # Without a checklist, the rubrics of the rows are it.
        texts = first.checklist or list(dict.fromkeys([*(rubric.text for *_, rubric in before), str(row.rubric)]))
        try:
            place = row.place_in(texts)
        except ValueError as error:
            raise UserError(f"{record.where}: {error}") from error
        if any(rubric.index == place for *_, rubric in before):
            more = f"response {row.response_id} has more than one row for rubric_index {place}; remove one"
            raise UserError(f"{record.where}: {more}")
        facts = (row.label, row.rubric_type, row.split or "", row.source_label or "")
        rubric = Rubric(row.id or f"{row.response_id}-c{place}", place, texts[place], *facts, record.row)
        if (where := self._names.setdefault(rubric.id, record.where)) != record.where:
            raise UserError(f"{record.where}: id {rubric.id!r} is that of {where} too; every row needs its own")
        self._rows.setdefault(row.response_id, []).append((record, row, rubric))

    @property
    def items(self) -> list[Item]:
        """The responses that there are rows of."""
        items = []
        for rows in self._rows.values():
            row, rubrics = rows[0][1], tuple(rubric for *_, rubric in rows)
            kinds = {rubric.index: (rubric.kind, entry.rule) for _, entry, rubric in rows}
            texts = row.checklist or [rubric.text for rubric in rubrics]
            known = (kinds.get(place, (None, None)) for place in range(len(texts)))
            criteria = tuple(Criterion(text, kind, rule=rule) for text, (kind, rule) in zip(texts, known, strict=True))
            *before, last = row.messages
            category, response = row.instruction_category, row.response
            case = Case(last.content, response or "", criteria, tuple(before), row.context, category, row.reference)
            names = (row.response_id, row.instruction_id, category, row.language or "", row.source_benchmark or "")
            items.append(Item(*names, row.response_model, case, rubrics, response is not None, row.reference))
        return items
