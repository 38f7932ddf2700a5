"""Two responses to an instruction, and which of them is preferred: every way in which data say so.

Rows of our own form, of LLMBar, JudgeBench, preference data for training, TICK's ratings. A row has an instruction
(`prompt`, or `instruction`, `question`, `input`, `messages`; `system`, `history` and `context` as in any data), two
responses (`response_a` and `response_b`, or `response_A`, `output_1`, `answer_a`, `chosen` ...), and which is preferred:
`label` (or `winner`, `preferred`), or `ratings` (or `rating`) from 1 to 5 that are averaged. `id` (or `pair_id`,
`index`), `subset` (or `source`, `category`) and `criteria` (a checklist) may be absent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import BeforeValidator, Field, Strict

from truebench_hf.benchmarks.tick.checklists import bare
from truebench_hf.data import catalogue, checklist_rows, instances, row_files, sources
from truebench_hf.data.checklist_rows import MINI, MINI_FILE
from truebench_hf.data.judged import Case, as_answered, cases
from truebench_hf.data.rows import Decoded, Record, holds
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.metrics.binary import PREFERENCES
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.types import Instance, Message, Response

# Numbers are those of LLMBar's outputs, never ratings, which stand in a column of their own.
_LABELS = PREFERENCES | dict.fromkeys(("1", "1.0"), "win") | dict.fromkeys(("2", "2.0"), "loss")


# One rating from 1 (A much better) to 5 (B much better), or those of several annotators, also as JSON in a cell.
_Ratings = Annotated[
    list[Annotated[float, Strict(), Field(ge=1, le=5)]],
    BeforeValidator(lambda value: [v for v in (value if isinstance(value, list) else [value]) if v is not None]),
    *Decoded.__metadata__,
]


def preferred(record: Record, names: Mapping[str, str | None]) -> str | None:
    """The label of a row, by what `names` calls its columns: its label, or that of its ratings; None without any.

    Raises UserError on any other value.
    """
    name, ratings = names["label"], names["ratings"]
    if name and ratings:
        raise record.wrong(name, f"and {ratings!r} both say what is preferred; leave out one")
    if ratings:
        return preference_from_ratings(record.value(ratings, _Ratings))
    value = record.row.get(name) if name else None
    if not holds(value):
        return None
    label = _LABELS.get(str(value).strip().casefold())
    if label is None:
        raise record.wrong(str(name), f"must name the better response (A or B, 1 or 2) or tie, not {value!r:.60}")
    return label


_SAME: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "instruction", "question", "input", "messages", "turns"),
    "response_a": (
        "response_a", "response_A", "response_1", "output_1", "output_a", "answer_a", "answer_1", "completion_a", "chosen",
    ),
    "response_b": (
        "response_b", "response_B", "response_2", "output_2", "output_b", "answer_b", "answer_2", "completion_b", "rejected",
    ),
    "label": ("label", "winner", "preferred"),
    "ratings": ("ratings", "rating"),
    "id": ("id", "pair_id", "index"),
    "subset": ("subset", "source", "category"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Two responses to an instruction; `gold` says of response A "win", "tie" or "loss".

    The instance has one turn, whose criteria are the checklist of the data, if any; pairs of one instruction have its
    id in common.
    """

    id: str
    instance: Instance
    response_a: str
    response_b: str
    gold: str
    subset: str = ""

    @property
    def case(self) -> Case:
        """Response A as a judge is shown it, without a checklist."""
        plain = bare(self.instance)
        return cases(plain, Response(plain.id, "", as_answered(plain, (self.response_a,))))[0]


def of_row(record: Record, split: str, number: str) -> Iterator[Pair | None]:
    """The pairs of a row, None for one without a label; a row of the `checklists` form may have several.

    Where the row has no id it is `number`; without a subset it is of its `split`. Raises UserError.
    """
    if "responses" in record.row and "preferences" in record.row:
        yield from _checklist_pairs(record, split)
        return
    names = {ours: _source_column(record, ours) for ours in _SAME}
    for ours in ("response_a", "response_b"):
        if names[ours] is None:
            raise record.wrong(ours, "must be a response; name its column by --column " + f"{ours}=COLUMN")
    first, second = str(names["response_a"]), str(names["response_b"])
    before, a = _spoken(record, first)
    other, b = _spoken(record, second)
    if before != other:
        raise record.wrong(second, f"must be another response to what {first!r} answers")
    identity = record.id(str(names["id"])) if names["id"] else number
    instance = _instance(record, names, before, identity)
    if (first, second) == ("chosen", "rejected"):
        # The chosen one stands in one place throughout: whoever always takes the first would be right.
        a, b, gold = (b, a, "loss") if int(digest(identity), 16) % 2 else (a, b, "win")
    else:
        gold = preferred(record, names) or ""
    subset = record.id(str(names["subset"])) if names["subset"] else split
    yield Pair(identity, instance, a, b, gold, subset) if gold else None


def _instance(record: Record, names: Mapping[str, str | None], before: tuple[Message, ...], identity: str) -> Instance:
    """The instruction of a row, with what else the data says of it; what was said `before` a response is all of it."""
    prompt = names["prompt"]
    mine = {name for ours in _SAME for name in _SAME[ours]} - {"category"}
    kept = {name: value for name, value in record.row.items() if name not in mine}
    if before:
        kept["messages"] = [{"role": message.role, "content": message.content} for message in before]
    elif prompt is not None:
        kept[prompt if prompt in ("messages", "turns") else "prompt"] = record.row[prompt]
    instance = instances.of_row(replace(record, row=kept | {"id": identity}))
    if len(instance.turns) != 1:
        raise record.wrong(str(prompt), "has several turns to be answered; a pair answers one, the others are history")
    return instance


def _source_column(record: Record, ours: str) -> str | None:
    """Which of the columns that mean the same a row has, which for ids and groups is the first; a response may be empty."""
    nothing = (None,) if ours.startswith("response") else (None, "")
    present = [name for name in _SAME[ours] if record.row.get(name) not in nothing]
    if isinstance(record.row.get("turns"), int) and "turns" in present:  # their number
        present.remove("turns")
    if len(present) > 1 and ours not in ("subset", "id"):
        raise record.wrong(present[0], f"and {present[1]!r} mean the same; say which by --column {ours}={present[0]}")
    return present[0] if present else None


def _spoken(record: Record, name: str) -> tuple[tuple[Message, ...], str]:
    """(what was said before, the response) of a text, or of a conversation that ends with the response."""
    value = record.row[name]
    if isinstance(value, str):
        return (), value
    *before, last = record.messages(name)
    if last.role != "assistant":
        raise record.wrong(name, "must be a text, or a conversation that ends with a message of the assistant")
    return tuple(before), last.content


def _checklist_pairs(record: Record, split: str) -> Iterator[Pair | None]:
    """A pair per two responses that people compared, in the `checklists` form, with the chosen checklist, if any."""
    entry = checklist_rows.read(record)
    texts = {text.id: text.text for text in entry.responses}
    by_pair: dict[tuple[str, str], list[float | None]] = {}
    for preference in entry.preferences:
        a, b, rating = preference.response_a, preference.response_b, preference.rating
        if (b, a) in by_pair:  # by another annotator, the other way round
            a, b, rating = b, a, 6 - rating
        by_pair.setdefault((a, b), []).append(rating)
    kept = {name: record.row.get(name) for name in ("messages", "language", "category")}
    if entry.chosen:
        kept["criteria"] = list(entry.chosen.questions)
    instance = instances.of_row(replace(record, row=kept | {"id": entry.id}))
    for place, ((a, b), ratings) in enumerate(by_pair.items(), 1):
        gold = preference_from_ratings(ratings)
        name = entry.id + (f"-{place}" if len(by_pair) > 1 else "")
        yield Pair(name, instance, texts[a], texts[b], gold, entry.category or split) if gold else None


def load_pairs(data: str, columns: Mapping[str, str] | None = None) -> tuple[list[Pair], list[str]]:
    """The labelled pairs of `checklists_mini`, `llmbar:FOLDER`, a path or a Hub id; `columns` maps our names to theirs.

    Returned with them are notes on what was left out, and why: rows without a label. Raises UserError naming the row and
    the field that is wrong.
    """
    kind, _, path = data.partition(":")
    if kind == "llmbar":
        return _llmbar(path)
    splits = row_files.splits(str(MINI_FILE) if catalogue.built(data, MINI) else data, (MINI, "llmbar:FOLDER"))
    read: list[Pair | None] = []
    for split, records in splits.items():
        named = f"{split}/" if len(splits) > 1 else ""
        for number, record in enumerate(records, 1):
            if absent := [theirs for theirs in (columns or {}).values() if theirs not in record.row]:
                raise UserError(f"{record.where}: there is no column {absent[0]!r}")
            ours = instances.renamed(record.row, columns or {}, tuple(_SAME.values()))
            read += of_row(replace(record, row=ours), split if named else "", f"{named}{number}")
    loaded = [pair for pair in read if pair is not None]
    if twice := [name for name, count in Counter(pair.id for pair in loaded).items() if count > 1]:
        raise UserError(f"--data {data}: id {twice[0]} stands twice; remove one")
    if not loaded:
        raise UserError(f"--data {data}: no row says which response is preferred; give label or ratings")
    unlabelled = len(read) - len(loaded)
    notes = [f"Left out for want of a label: {unlabelled} of {len(read)} pairs."] if unlabelled else []
    return _by_instruction(loaded), notes


def _llmbar(path: str) -> tuple[list[Pair], list[str]]:
    """The pairs of LLMBar, from a clone of its repository, as its two outputs come from the reader of rubric sources."""
    if not path:
        raise UserError("--data llmbar: name the folder, as llmbar:FOLDER, of a clone of princeton-nlp/LLMBar")
    source = sources.read("llmbar", path)
    pairs = []
    for first, second in zip(source[::2], source[1::2], strict=True):
        name, facts = first.instruction_id, first.facts
        instance = instances.of_row(Record(name, {"id": name, "prompt": first.case.instruction}))
        gold = "win" if facts["preferred"] else "loss"
        pairs.append(Pair(name, instance, first.case.response, second.case.response, gold, facts["subset"]))
    return _by_instruction(pairs), [str(source.left_out)] if source.left_out else []


def _by_instruction(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs, those of one instruction with the instance of the first of them: one checklist serves them all.

    Where the data gives them two checklists they stay apart.
    """
    first: dict[Instance, Instance] = {}
    alike = [replace(pair.instance, id="", language="", category="", task="") for pair in pairs]
    return [replace(p, instance=first.setdefault(key, p.instance)) for key, p in zip(alike, pairs, strict=True)]
