"""Pairs of responses with the preference that people have: of any common form, of LLMBar, of JudgeBench, of TICK.

A row has an instruction (`prompt`, or `instruction`, `question`, `input`, `messages`; `system`, `history` and `context`
as in any data), two responses (`response_a` and `response_b`, or `response_A`, `output_1`, `answer_a`, `chosen` ...), and
which is preferred: `label` (or `winner`, `preferred`), or `ratings` (or `rating`) from 1 to 5 that are averaged. `id` (or
`pair_id`, `index`), `subset` (or `source`, `category`) and `criteria` (a checklist) may be absent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from truebench_hf import instances, row_files
from truebench_hf.benchmarks.tick import form
from truebench_hf.benchmarks.tick.pairwise.labels import Decided, label, rated
from truebench_hf.benchmarks.tick.pairwise.recorded import judgments
from truebench_hf.benchmarks.tick.source import MINI, bare
from truebench_hf.engine.ledger import digest
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.case import Case, cases
from truebench_hf.loaders import sources
from truebench_hf.metrics.preference import preference_from_ratings
from truebench_hf.models.conversation import as_answered
from truebench_hf.redaction import masked
from truebench_hf.rows import Record
from truebench_hf.types import Instance, Response

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
MOST_SUBSETS = 50


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


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of some data, and what was left out: `notes` says what and why."""

    every: tuple[Pair, ...]
    notes: tuple[str, ...] = ()


def load(data: str, columns: Mapping[str, str] | None = None) -> Pairs:
    """The labelled pairs of `checklists_mini`, `llmbar:FOLDER`, a path or a Hub id; `columns` maps our names to theirs.

    Rows without a label are left out and counted. Raises UserError naming the row and the field that is wrong.
    """
    kind, _, path = data.partition(":")
    if kind == "llmbar" or _holds_llmbar(Path(data)):
        if columns:
            raise UserError("--column goes with rows of one's own; LLMBar's are known")
        return _llmbar(path if kind == "llmbar" else data)
    built_in = Path(__file__).parents[1] / f"{MINI}.jsonl"
    splits = row_files.splits(str(built_in) if data == MINI else data, (MINI, "llmbar:FOLDER"))
    found: list[Pair] = []
    unlabelled = 0
    for split, records in splits.items():
        named = f"{split}/" if len(splits) > 1 else ""
        for number, record in enumerate(_checked(records, columns or {}), 1):
            pairs = list(_pairs(_renamed(record, columns or {}), named, str(number)))
            unlabelled += sum(pair is None for pair in pairs)
            found += [pair for pair in pairs if pair is not None]
    _once(found, data)
    if not found:
        raise UserError(f"--data {data}: no row says which response is preferred; give label or ratings")
    notes = [f"Left out for want of a label: {unlabelled} of {unlabelled + len(found)} pairs."] if unlabelled else []
    if (several := len({pair.subset for pair in found})) > MOST_SUBSETS:
        notes.append(
            f"{several} subsets are more than a table can show ({MOST_SUBSETS}); --column subset=COLUMN names others."
        )
        found = [replace(pair, subset="") for pair in found]
    return Pairs(tuple(masked(_by_instruction(found))), tuple(notes))


def _holds_llmbar(folder: Path) -> bool:
    """Whether a folder is one of LLMBar: its subsets are folders, two deep at most."""
    return any(next(folder.glob(f"{depth}dataset.json"), None) for depth in ("", "*/", "*/*/"))


def _llmbar(path: str) -> Pairs:
    """The pairs of LLMBar, from a clone of its repository, as its two outputs come from the reader of rubric sources."""
    if not path:
        raise UserError(
            "--data llmbar: name the folder, as llmbar:FOLDER, e.g. Dataset/LLMBar in a clone of princeton-nlp/LLMBar"
        )
    found = sources.read("llmbar", path)
    made = []
    for one, two in zip(found[::2], found[1::2], strict=True):
        facts = one.facts
        instance = instances.of_row(Record(facts["pair"], {"id": facts["pair"], "prompt": one.case.instruction}))
        gold = "win" if facts["preferred"] else "loss"
        made.append(Pair(facts["pair"], instance, one.case.response, two.case.response, gold, facts["subset"]))
    return Pairs(tuple(_by_instruction(made)), (str(found.left_out),) if found.left_out else ())


def _checked(records: Iterable[Record], columns: Mapping[str, str]) -> Iterator[Record]:
    for name in columns:
        if name not in _SAME:
            raise unknown("column", name, tuple(_SAME))
    for record in records:
        for name, theirs in columns.items():
            if theirs not in record.row:
                raise UserError(f"{record.where}: --column {name}={theirs}: there is no column {theirs!r}")
        yield record


def _renamed(record: Record, columns: Mapping[str, str]) -> Record:
    """The row under our names; what is mapped stands in place of all that means the same."""
    meant = {name for ours in columns for name in _SAME[ours]} | set(columns.values())
    kept = {name: value for name, value in record.row.items() if name not in meant}
    return replace(record, row=kept | {ours: record.row[theirs] for ours, theirs in columns.items()})


def _pairs(record: Record, split: str, number: str) -> Iterator[Pair | None]:
    """The pairs of a row, None for one without a label; a row of the `checklists` form may have several."""
    if "responses" in record.row and "preferences" in record.row:
        yield from _of_checklists(record, split)
        return
    row = dict(record.row)
    names = {ours: _one(record, ours) for ours in _SAME}
    for ours in ("response_a", "response_b"):
        if names[ours] is None:
            raise record.wrong(ours, "must be a response; name its column by --column " + f"{ours}=COLUMN")
    first, second = str(names["response_a"]), str(names["response_b"])
    texts = [_spoken(record, first), _spoken(record, second)]
    if names["prompt"] is None and texts[0][0]:  # conversations that end with the response, as for preference training
        row["messages"], names["prompt"] = texts[0][0], "messages"
    identity = record.id(str(names["id"])) if names["id"] else f"{split}{number}"
    instance = _instance(record, row, names, identity)
    answers, gold = (texts[0][1], texts[1][1]), _gold(record, names)
    if (first, second) == ("chosen", "rejected"):
        # The chosen one stands in one place throughout: whoever always takes the first would be right.
        gold = "win"
        if int(digest(identity), 16) % 2:
            answers, gold = (answers[1], answers[0]), "loss"
    subset = record.id(str(names["subset"])) if names["subset"] else split.rstrip("/")
    recorded = judgments(record)
    yield Pair(identity, instance, *answers, gold, subset, recorded) if gold else None


def _gold(record: Record, names: Mapping[str, str | None]) -> str | None:
    if names["label"] and names["ratings"]:
        raise record.wrong(str(names["label"]), f"and {names['ratings']!r} both say what is preferred; leave out one")
    if names["ratings"]:
        return rated(record, names["ratings"])
    return label(record, names["label"]) if names["label"] else None


def _instance(record: Record, row: dict[str, Any], names: Mapping[str, str | None], identity: str) -> Instance:
    """The instruction of a row, with what else the data says of it."""
    prompt = names["prompt"]
    mine = {name for ours in ("response_a", "response_b", "label", "ratings", "id", "subset") for name in _SAME[ours]}
    kept = {name: value for name, value in row.items() if name not in (mine - {"category"}) and name != prompt}
    if prompt is not None:
        kept["prompt" if prompt not in ("messages", "turns") else prompt] = row[prompt]
    found = instances.of_row(replace(record, row=kept | {"id": identity}))
    if len(found.turns) != 1:
        raise record.wrong(str(prompt), "has several turns to be answered; a pair answers one, the others are history")
    return found


def _one(record: Record, ours: str) -> str | None:
    """Which of the columns that mean the same a row has, which for ids and groups is the first; a response may be empty."""
    nothing = (None,) if ours.startswith("response") else (None, "")
    there = [name for name in _SAME[ours] if record.row.get(name) not in nothing]
    if len(there) > 1 and ours not in ("subset", "id"):
        raise record.wrong(there[0], f"and {there[1]!r} mean the same; say which by --column {ours}={there[0]}")
    return there[0] if there else None


def _spoken(record: Record, name: str) -> tuple[list[dict[str, str]], str]:
    """(what was said before, the response) of a text, or of a conversation that ends with the response."""
    value = record.row[name]
    if isinstance(value, str):
        return [], value
    messages = record.messages(name)
    if messages[-1].role != "assistant":
        raise record.wrong(name, "must be a text, or a conversation that ends with a message of the assistant")
    return [{"role": m.role, "content": m.content} for m in messages[:-1]], messages[-1].content


def _of_checklists(record: Record, split: str) -> Iterator[Pair | None]:
    """A pair per two responses that people compared, in the `checklists` form, with the chosen checklist, if any."""
    entry = form.read(record)
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
        yield Pair(name, instance, texts[a], texts[b], gold, entry.category or split.rstrip("/")) if gold else None


def _once(pairs: Sequence[Pair], data: str) -> None:
    seen: set[str] = set()
    for pair in pairs:
        if pair.id in seen:
            raise UserError(f"--data {data}: id {pair.id} stands twice; remove one")
        seen.add(pair.id)


def _by_instruction(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs, those of one instruction with the instance of the first of them: one checklist serves them all."""
    first: dict[Instance, Instance] = {}
    made = []
    for pair in pairs:
        alike = replace(bare(pair.instance), id="", language="", category="", task="")
        made.append(replace(pair, instance=first.setdefault(alike, pair.instance)))
    return made
