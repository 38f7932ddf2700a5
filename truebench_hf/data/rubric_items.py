"""One response with the rubrics it is judged by: what every study of this room works on, wherever it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from truebench_hf.data.case import Case, stated
from truebench_hf.data.rubric_types import RUBRIC_TYPES
from truebench_hf.types import Label, Message, Verdict


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
        found = next((rubric for rubric in self.rubrics if rubric.index == index), None)
        return found or Rubric(f"{self.id}-c{index}", index, stated(self.case.criteria[index]))

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
