"""rubric_mini: a meta-evaluation set for judges whose labels are certain by construction (paper 003, section 3).

Every answer is put together from passages written to meet or to break one rubric each, so that no annotator is needed.
Contrast pairs follow the idea of the paper's appendix D (minimal edits that turn one rubric over). Two splits: `easy`,
and `hard`, whose edits leave length, position and single words alike (see `templates`).

The answers of a template with k rubrics form a ring of 2k. Each differs from the one before in the passage of one rubric;
in the first half of the ring every rubric is flipped once, in the second half once more, back to the start. So
the labels of every single rubric are balanced by construction, every step is a contrast pair, and the text of a
rubric gives nothing away. The ring starts with neighbouring rubrics labelled differently, which is where a judge that
reads the whole checklist at once is most easily led astray.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from functools import cache
from typing import Any

from truebench_hf.benchmarks.rubric_eval.mini.templates import RubricTemplate, TemplateSlot, fill, templates
from truebench_hf.data.rubrics import COLUMNS as ALL_COLUMNS
from truebench_hf.data.rubrics import RUBRIC_TYPES

SPLITS = ("easy", "hard")
COLUMNS = (
    *(column for column in ALL_COLUMNS if column not in ("context", "reference")),
    "pair_id",
    "trap",
    "measurable",
)
Row = dict[str, Any]


def rows(seed: int = 0, split: str = "easy") -> list[dict[str, Any]]:
    """All rows of a split, one rubric judgment each, in the columns of `COLUMNS`.

    The same seed gives the same rows. Another seed changes the order of templates, checklists and edits, and which of the
    prepared names and numbers are filled in; never the wording, the counts or the balance of labels. The rows of one
    response stand together, and the responses of one instruction too.
    """
    return copy.deepcopy(_rows(seed, split))  # rows that the caller may change


@cache
def _rows(seed: int, split: str) -> list[Row]:
    drawn = random.Random(f"order {seed}").sample(templates(split), len(templates(split)))
    return [row for template in drawn for row in _of_template(template, random.Random(f"{template.id} {seed}"))]


def ring(order: list[int], start: int) -> list[tuple[list[bool], dict[int, int]]]:
    """The labels of the 2k answers, and of each answer the contrast pairs of the rubrics flipped right before and after it.

    `order` says which rubric is flipped at which step, `start` (0 or 1) whether rubric 0 is met at first; its neighbours
    then alternate. A pair is named by its step.
    """
    labels, steps = [(i + start) % 2 == 0 for i in range(len(order))], order * 2
    answers = []
    for step, turned in enumerate(steps):
        answers.append((list(labels), {steps[step - 1]: (step - 1) % len(steps), turned: step}))
        labels[turned] = not labels[turned]
    return answers


def _of_template(template: RubricTemplate, rng: random.Random) -> list[Row]:
    """All rows of a template: 2k answers with k rubrics each. `rng` picks the fillings, the order of the checklist, the
    order of the edits and the starting labels."""
    pick = rng.randrange(template.fill_count)
    values = {name: options[pick] for name, options in template.fills.items()}
    checklist = rng.sample(range(len(template.slots)), len(template.slots))
    order = rng.sample(range(len(template.slots)), len(template.slots))
    slots = [template.slots[i] for i in checklist]
    rows: list[Row] = []
    for number, (labels, pairs) in enumerate(ring(order, rng.randrange(2))):
        passages = {
            f"{i + 1}_{place}" if place else str(i + 1): passage
            for i, slot, met in zip(checklist, slots, labels, strict=True)
            for place, passage in enumerate(slot.passages(met))
        }
        shared = {
            "instruction_id": template.id,
            "response_id": f"{template.id}-r{number:02d}",
            "response_model": "constructed",
            "instruction_category": template.category,
            "source_benchmark": "rubric_mini",
            "language": template.language,
            "messages": [{"role": role, "content": fill(text, values)} for role, text in template.messages],
            "response": fill(template.answer, {**values, **passages}),
            "checklist": [fill(slot.rubric, values) for slot in slots],
            "label_source": "constructed",
        }
        for index, (slot, met) in enumerate(zip(slots, labels, strict=True)):
            row = {**shared, **_rubric_columns(slot, met, {**values, **passages}), "rubric_index": index}
            row |= {"id": f"{shared['response_id']}-c{index}", "rubric": shared["checklist"][index]}
            row["pair_id"] = f"{template.id}-p{pairs[index]:02d}" if index in pairs else ""
            rows.append({column: row[column] for column in COLUMNS})
    return rows


def _rubric_columns(slot: TemplateSlot, met: bool, gaps: Mapping[str, str]) -> Row:
    label = "yes" if met else "no"
    here, other = (
        " ... ".join(_quoted(fill(passage, gaps)) for passage in slot.passages(side)) for side in (met, not met)
    )
    variant = f"the breaking variant has {other}" if met else f"a meeting answer has {other}"
    why = f"Certain by construction: the deciding passage is {here}; {variant}."
    return {
        "rubric_type": slot.kind,
        "dimension": RUBRIC_TYPES[slot.kind].dimension,
        "label": label,
        "annotations": [{"annotator": "construction", "label": label}],
        "rationales": [{"judge": "construction", "rationale": why}],
        "trap": slot.trap or None,
        "measurable": bool(slot.measure) if slot.trap else None,
    }


def _quoted(passage: str) -> str:
    """A passage for a rationale; one of white space alone is described, since it would not be seen."""
    if passage.strip():
        return f'"{" ".join(passage.split())}"'
    if not passage:
        return "nothing at this point"
    return "a blank line" if "\n" in passage else "a space within the paragraph"
