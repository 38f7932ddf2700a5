"""From a row to its pairs: of our own form, of LLMBar, JudgeBench, preference data for training, TICK's ratings.

A row has an instruction (`prompt`, or `instruction`, `question`, `input`, `messages`; `system`, `history` and `context`
as in any data), two responses (`response_a` and `response_b`, or `response_A`, `output_1`, `answer_a`, `chosen` ...), and
which is preferred: `label` (or `winner`, `preferred`), or `ratings` (or `rating`) from 1 to 5 that are averaged. `id` (or
`pair_id`, `index`), `subset` (or `source`, `category`) and `criteria` (a checklist) may be absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from truebench_hf.benchmarks.tick.pairwise.labels import Decided, label, rated
from truebench_hf.benchmarks.tick.pairwise.recorded import judgments
from truebench_hf.benchmarks.tick.source import bare
from truebench_hf.data import checklist_rows, instances
from truebench_hf.data.case import Case, as_answered, cases
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import digest
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.types import Instance, Message, Response

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
    id in common. `recorded` are preferences of judges that the data brings along, by judge.
    """

    id: str
    instance: Instance
    response_a: str
    response_b: str
    gold: str
    subset: str = ""
    recorded: dict[str, Decided] = field(default_factory=dict)

    @property
    def case(self) -> Case:
        """Response A as a judge is shown it, without a checklist."""
        plain = bare(self.instance)
        return cases(plain, Response(plain.id, "", as_answered(plain, (self.response_a,))))[0]


def renamed(record: Record, columns: Mapping[str, str]) -> Record:
    """The row under our names; what `columns` (ours to theirs) maps stands in place of all that means the same.

    Raises UserError on a name that is not ours, and on a column that the row lacks.
    """
    for name, theirs in columns.items():
        if name not in _SAME:
            raise unknown("column", name, tuple(_SAME))
        if theirs not in record.row:
            raise UserError(f"{record.where}: --column {name}={theirs}: there is no column {theirs!r}")
    meant = {name for ours in columns for name in _SAME[ours]} | set(columns.values())
    kept = {name: value for name, value in record.row.items() if name not in meant}
    return replace(record, row=kept | {ours: record.row[theirs] for ours, theirs in columns.items()})


def of_row(record: Record, split: str, number: str) -> Iterator[Pair | None]:
    """The pairs of a row, None for one without a label; a row of the `checklists` form may have several.

    Where the row has no id it is `number`; without a subset it is of its `split`. Raises UserError.
    """
    if "responses" in record.row and "preferences" in record.row:
        yield from _of_checklists(record, split)
        return
    names = {ours: _one(record, ours) for ours in _SAME}
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
        gold = _gold(record, names) or ""
    subset = record.id(str(names["subset"])) if names["subset"] else split
    pair = Pair(identity, instance, a, b, gold, subset, judgments(record))
    yield pair if gold else None


def _gold(record: Record, names: Mapping[str, str | None]) -> str | None:
    if names["label"] and names["ratings"]:
        raise record.wrong(str(names["label"]), f"and {names['ratings']!r} both say what is preferred; leave out one")
    if names["ratings"]:
        return rated(record, names["ratings"])
    return label(record, names["label"]) if names["label"] else None


def _instance(record: Record, names: Mapping[str, str | None], before: tuple[Message, ...], identity: str) -> Instance:
    """The instruction of a row, with what else the data says of it; what was said `before` a response is all of it."""
    prompt = names["prompt"]
    mine = {name for ours in _SAME for name in _SAME[ours]} - {"category"}
    kept = {name: value for name, value in record.row.items() if name not in mine}
    if before:
        kept["messages"] = [{"role": message.role, "content": message.content} for message in before]
    elif prompt is not None:
        kept[prompt if prompt in ("messages", "turns") else "prompt"] = record.row[prompt]
    found = instances.of_row(replace(record, row=kept | {"id": identity}))
    if len(found.turns) != 1:
        raise record.wrong(str(prompt), "has several turns to be answered; a pair answers one, the others are history")
    return found


def _one(record: Record, ours: str) -> str | None:
    """Which of the columns that mean the same a row has, which for ids and groups is the first; a response may be empty."""
    nothing = (None,) if ours.startswith("response") else (None, "")
    there = [name for name in _SAME[ours] if record.row.get(name) not in nothing]
    if isinstance(record.row.get("turns"), int) and "turns" in there:  # their number
        there.remove("turns")
    if len(there) > 1 and ours not in ("subset", "id"):
        raise record.wrong(there[0], f"and {there[1]!r} mean the same; say which by --column {ours}={there[0]}")
    return there[0] if there else None


def _spoken(record: Record, name: str) -> tuple[tuple[Message, ...], str]:
    """(what was said before, the response) of a text, or of a conversation that ends with the response."""
    value = record.row[name]
    if isinstance(value, str):
        return (), value
    *before, last = record.messages(name)
    if last.role != "assistant":
        raise record.wrong(name, "must be a text, or a conversation that ends with a message of the assistant")
    return tuple(before), last.content


def _of_checklists(record: Record, split: str) -> Iterator[Pair | None]:
    """A pair per two responses that people compared, in the `checklists` form, with the chosen checklist, if any."""
    entry = checklist_rows.read(record)
    texts = {text.id: text.text for text in entry.responses}
    said: dict[tuple[str, str], list[float | None]] = {}
    for one in entry.preferences:
        a, b, rating = one.response_a, one.response_b, one.rating
        if (b, a) in said:  # by another annotator, the other way round
            a, b, rating = b, a, 6 - rating
        said.setdefault((a, b), []).append(rating)
    kept = {name: record.row.get(name) for name in ("messages", "language", "category")}
    if entry.chosen:
        kept["criteria"] = list(entry.chosen.questions)
    instance = instances.of_row(replace(record, row=kept | {"id": entry.id}))
    for place, ((a, b), ratings) in enumerate(said.items(), 1):
        gold = preference_from_ratings(ratings)
        name = entry.id + (f"-{place}" if len(said) > 1 else "")
        yield Pair(name, instance, texts[a], texts[b], gold, entry.category or split) if gold else None
