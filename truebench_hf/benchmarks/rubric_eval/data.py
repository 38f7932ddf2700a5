"""The data of every study of this room as items: rows of rubric_eval, a source of rubrics, or a researcher's own labels.

`rubric_mini` is built here: a set whose labels are certain by construction (paper 003, section 3). Every answer is put
together from passages written to meet or to break one rubric each, so that no annotator is needed. Contrast pairs follow
the idea of the paper's appendix D (minimal edits that turn one rubric over). Two splits: `easy`, and `hard`, whose edits
leave length, position and single words alike.

The answers of a template with k rubrics form a ring of 2k. Each differs from the one before in the passage of one rubric;
in the first half of the ring every rubric is flipped once, in the second half once more, back to the start. So
the labels of every single rubric are balanced by construction, every step is a contrast pair, and the text of a
rubric gives nothing away. The ring starts with neighbouring rubrics labelled differently, which is where a judge that
reads the whole checklist at once is most easily led astray.

A template is an instruction, an answer with gaps, and two texts for every gap; its form is told at the head of
mini/easy_constrained.toml and mini/hard_constrained.toml. The tests hold the edits of the hard split to equal length on
average, and cheap learners to chance.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from truebench_hf.data import catalogue, row_files, sources
from truebench_hf.data.judged import Case, stated
from truebench_hf.data.row_files import Usable
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import COLUMNS as ALL_COLUMNS
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Item, Responses, Rubric
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.options import InMemory
from truebench_hf.study.items import Items
from truebench_hf.types import Criterion, Label

SPLITS = ("easy", "hard")
_OWN = ("pair_id", "trap", "measurable")
COLUMNS = (*(column for column in ALL_COLUMNS if column not in ("context", "reference")), *_OWN)
_GAP = re.compile(r"\[\[(\w+)\]\]")
_EDIT = re.compile(r"\[(\d):(.*?)\|\|(.*?)\]", re.DOTALL)


def load(data: str, flag: str = "--data") -> list[dict[str, Any]]:
    """The rows of `rubric_mini`, a file, a folder of files named by split, or a Hub id, all splits of it.

    A row without a `split` gets that of its file. Raises UserError naming the row that cannot be read, or the remedy where
    nothing is found.
    """
    if isinstance(data, InMemory):
        return [dict(row) for row in data.value]
    if catalogue.built(data, "rubric_mini"):
        by_split = {split: mini_rows(split=split) for split in SPLITS}
    else:
        files = row_files.splits(data, ("rubric_mini",), flag)
        by_split = {split: [dict(record.row) for record in records] for split, records in files.items()}
    return [
        row | {"split": split} if split and not row.get("split") else row
        for split, rows in by_split.items()
        for row in rows
    ]


def items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Rows put together by response. Raises UserError naming the row and the field; see `rows.checked`."""
    responses = Responses()
    for number, row in enumerate(rows, 1):
        responses.add(Record(f"row {number}" + (f" ({row['id']})" if row.get("id") else ""), row))
    if not responses.items:
        raise UserError("the data holds no rows")
    return responses.items


def labelled_items(rows: Iterable[Mapping[str, Any]]) -> list[Item]:
    """Rows of `prompt`, `response`, `criterion` and `label`, put together by response, in the order of the rows.

    A label is 0 or 1, true or false, yes or no, or empty: judged, but compared with nothing. `category`, `language` and
    `cluster` may be absent; rows of one cluster go together, and without it those of one prompt. Raises UserError naming
    the row and the field.
    """
    responses: dict[str, tuple[Record, dict[str, tuple[str, Label | None]]]] = {}
    for number, row in enumerate(rows, 1):
        record = Record(f"row {number}", row)
        prompt = record.text("prompt")
        if not isinstance(row.get("response"), str):
            raise record.wrong("response", "must be a text")
        groups = [row.get(name) for name in ("category", "language", "cluster")]
        # Rows that belong to other groups are judged by themselves.
        name = digest(canonical([prompt, row["response"], *(groups if any(groups) else ())]))[:16]
        criteria = responses.setdefault(name, (record, {}))[1]
        text = record.text("criterion")
        if "label" not in row:
            raise record.wrong("label", "must be yes or no, true or false, 1 or 0, or empty for none")
        if text in criteria:
            raise record.wrong("criterion", f"has a label for this response in {criteria[text][0]} too; keep one")
        criteria[text] = record.where, record.label("label")
    return [_item(name, record, criteria) for name, (record, criteria) in responses.items()]


def _item(name: str, record: Record, criteria: Mapping[str, tuple[str, Label | None]]) -> Item:
    prompt, category = record.text("prompt"), record.maybe("category") or ""
    folded = "_".join(category.casefold().replace("-", " ").split())
    category = folded if folded in INSTRUCTION_CATEGORIES else category
    known_category = category if category in INSTRUCTION_CATEGORIES else None  # those that prompts have a note on
    cluster = digest(canonical(prompt))[:12] if record.row.get("cluster") in (None, "") else record.id("cluster")
    texts = tuple(Criterion(text) for text in criteria)
    rubrics = tuple(
        Rubric(f"{name}-c{place}", place, text, label) for place, (text, (_, label)) in enumerate(criteria.items())
    )
    case = Case(prompt, str(record.row["response"]), texts, category=known_category)
    return Item(name, cluster, category, record.maybe("language") or "", "", "", case, rubrics)


def read(data: str) -> Usable[Item]:
    """The items of `SOURCE:PATH`, which need no labels or responses, of rubric_eval rows, or of plain labelled ones.

    Rows of a source that cannot be used are left out and told; elsewhere they are an error. Raises UserError
    where the data cannot be read or holds no rubrics.
    """
    kind, _, path = data.partition(":")
    if sources.is_source(data):
        usable = sources.read(kind, path)
    else:
        rows = load(data)
        columns = set(rows[0]) if rows else set()
        if rows and not columns & {"messages", "rubric", "criterion"}:
            remedy = "stands beside prompt, response and label, or the columns are those of rubric_mini"
            raise Record("row 1", rows[0]).wrong("criterion", remedy)
        plain = "criterion" in columns and "messages" not in columns
        usable = Usable(labelled_items(rows) if plain else items(rows))
    if not any(item.case.criteria for item in usable):
        raise UserError(f"--data {data}: holds no rubrics")
    return usable


def answered(data: str) -> Usable[Item]:
    """The same, but for what a source has no response to."""
    usable = read(data)
    return Usable((item for item in usable if item.answered), usable.left_out)


def selection(items: Sequence[Item], left_out: Sequence[str] = ()) -> Items[Item]:
    """The items of a study: a sample takes one response of every instruction before a second of any.

    Languages, categories and sources keep their shares.
    """
    return Items(
        items, lambda item: item.id, content, lambda item: (item.language, item.category, item.source),
        lambda item: item.instruction_id, left_out=tuple(left_out),
    )  # fmt: skip


def content(item: Item) -> list[Any]:
    """All of an item that shapes verdicts, whatever file it came from; what judges are shown is all in it."""
    return [
        item.id, item.instruction_id, item.category, item.language, item.case.instruction, item.case.response,
        [[message.role, message.content] for message in item.case.history],
        [stated(criterion) for criterion in item.case.criteria],
        [[r.id, r.index, r.label, r.kind, r.split] for r in item.rubrics],
        item.case.context, item.case.reference,
    ]  # fmt: skip


def mini_rows(seed: int = 0, split: str = "easy") -> list[dict[str, Any]]:
    """All rows of a split, one rubric judgment each, in the columns of `COLUMNS`.

    The same seed gives the same rows. Another seed changes the order of templates, checklists and edits, and which of the
    prepared names and numbers are filled in; never the wording, the counts or the balance of labels. The rows of one
    response stand together, and the responses of one instruction too.
    """
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


def _of_template(template: RubricTemplate, rng: random.Random) -> list[dict[str, Any]]:
    """All rows of a template: 2k answers with k rubrics each. `rng` picks the fillings, the order of the checklist, the
    order of the edits and the starting labels."""
    values = template.fillings[rng.randrange(len(template.fillings))]
    checklist = rng.sample(range(len(template.slots)), len(template.slots))
    order = rng.sample(range(len(template.slots)), len(template.slots))
    slots = [template.slots[i] for i in checklist]
    rows: list[dict[str, Any]] = []
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
            row = shared | {
                "id": f"{shared['response_id']}-c{index}",
                "rubric_index": index,
                "rubric": shared["checklist"][index],
                "rubric_type": slot.kind,
                "dimension": RUBRIC_TYPES[slot.kind].dimension,
                "label": "yes" if met else "no",
                "annotations": [{"annotator": "construction", "label": "yes" if met else "no"}],
                "rationales": [{"judge": "construction", "rationale": _rationale(slot, met, {**values, **passages})}],
                "pair_id": f"{template.id}-p{pairs[index]:02d}" if index in pairs else "",
                "trap": slot.trap or None,
                "measurable": bool(slot.measure) if slot.trap else None,
            }
            rows.append({column: row[column] for column in COLUMNS})
    return rows


def _rationale(slot: TemplateSlot, met: bool, gaps: Mapping[str, str]) -> str:
    here, other = (
        " ... ".join(_quoted(fill(passage, gaps)) for passage in slot.passages(side)) for side in (met, not met)
    )
    variant = f"the breaking variant has {other}" if met else f"a meeting answer has {other}"
    return f"Certain by construction: the deciding passage is {here}; {variant}."


def _quoted(passage: str) -> str:
    """A passage for a rationale; one of white space alone is described, since it would not be seen."""
    if passage.strip():
        return f'"{" ".join(passage.split())}"'
    if not passage:
        return "nothing at this point"
    return "a blank line" if "\n" in passage else "a space within the paragraph"


@dataclass(frozen=True)
class TemplateSlot:
    """One rubric and the two passages that decide it.

    `kind` is a rubric type of the taxonomy. Putting `yes` into the answer's gap meets `rubric`, putting `no` breaks
    it; neither changes the label of any other rubric. Passages may hold gaps of other slots. An edit in several places
    goes on in `also`, whose pairs (yes, no) fill the gaps `[[n_1]]`, `[[n_2]]` and so on.

    Of the hard split only: `trap` names what makes the rubric hard, and `measure` what a program would measure, "" where
    the rubric text and the response alone do not let it decide.
    """

    kind: str
    rubric: str
    yes: str
    no: str
    also: tuple[tuple[str, str], ...] = ()
    trap: str = ""
    measure: str = ""

    def passages(self, met: bool) -> list[str]:
        """What stands in the gaps of this slot, in their order."""
        return [yes if met else no for yes, no in ((self.yes, self.no), *self.also)]


@dataclass(frozen=True)
class RubricTemplate:
    """An instruction with an answer whose gap `[[n]]` belongs to the n-th slot (counted from 1).

    `messages` are (role, text) pairs, the last one the user's. `fillings` are alternatives for all further gaps at once: facts
    that belong together stay together.
    """

    id: str
    category: str
    language: str
    messages: tuple[tuple[str, str], ...]
    answer: str
    slots: tuple[TemplateSlot, ...]
    fillings: tuple[Mapping[str, str], ...] = ({},)


def conversation(entry: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The messages of an entry of a TOML file: `system` if it has one, and `ask`, a text or turns of user and assistant."""
    turns = [entry["ask"]] if isinstance(entry["ask"], str) else entry["ask"]
    messages = [("user" if number % 2 == 0 else "assistant", text) for number, text in enumerate(turns)]
    return (*([("system", entry["system"])] if "system" in entry else []), *messages)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Put `values` into the gaps of `text`, and into the gaps those values bring along. Raises KeyError on a gap
    that has no value."""
    while _GAP.search(text):
        text = _GAP.sub(lambda gap: values[gap.group(1)], text)
    return text


@cache
def templates(split: str) -> tuple[RubricTemplate, ...]:
    """The templates of a split (easy or hard), category by category."""
    folder, template = resources.files(__package__) / "mini", {"easy": _easy, "hard": _hard}[split]
    return tuple(
        template(key, category, entry)
        for category in INSTRUCTION_CATEGORIES
        for key, entry in tomllib.loads((folder / f"{split}_{category}.toml").read_text(encoding="utf-8")).items()
    )


def _easy(key: str, category: str, entry: dict[str, Any]) -> RubricTemplate:
    slots = tuple(TemplateSlot(**rubric) for rubric in entry["rubrics"])
    gaps = entry.get("fills", {})
    fillings = tuple(dict(zip(gaps, values, strict=True)) for values in zip(*gaps.values(), strict=False)) or ({},)
    language = key.split("-")[1].upper()
    return RubricTemplate(key, category, language, conversation(entry), entry["answer"], slots, fillings)


def _hard(key: str, category: str, entry: dict[str, Any]) -> RubricTemplate:
    edits: dict[str, list[tuple[str, str]]] = {}
    for number, yes, no in _EDIT.findall(entry["answer"]):
        edits.setdefault(number, []).append((yes, no))
    slots = []
    for i, text in enumerate(entry["rubrics"], 1):
        kind, trap, rubric, measure, *_ = [*(part.strip() for part in text.split(" | ")), ""]
        first, *also = edits[str(i)]
        slots.append(TemplateSlot(kind, rubric, *first, tuple(also), trap, measure))
    met: Counter[str] = Counter()

    def gap(edit: re.Match[str]) -> str:
        met[edit[1]] += 1
        return f"[[{edit[1]}]]" if met[edit[1]] == 1 else f"[[{edit[1]}_{met[edit[1]] - 1}]]"

    name = f"hard-{category[:3]}-{key}"
    answer = _EDIT.sub(gap, entry["answer"])
    return RubricTemplate(name, category, key[:2].upper(), conversation(entry), answer, tuple(slots))
