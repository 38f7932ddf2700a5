"""Where labelled pairs come from: a file, a folder, the Hub, LLMBar, the built-in sample; rows are read by `rows`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.tick.pairwise.rows import Pair, of_row, renamed
from truebench_hf.benchmarks.tick.source import MINI
from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Instance

MOST_SUBSETS = 50


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
    if kind == "llmbar" or (data and _holds_llmbar(Path(data))):
        if columns:
            raise UserError("--column goes with rows of one's own; LLMBar's are known")
        return _llmbar(path if kind == "llmbar" else data)
    built_in = Path(__file__).parents[1] / f"{MINI}.jsonl"
    splits = row_files.splits(str(built_in) if catalogue.built(data, MINI) else data, (MINI, "llmbar:FOLDER"))
    found: list[Pair] = []
    unlabelled = 0
    for split, records in splits.items():
        named = f"{split}/" if len(splits) > 1 else ""
        for number, record in enumerate(records, 1):
            pairs = list(of_row(renamed(record, columns or {}), split if named else "", f"{named}{number}"))
            unlabelled += pairs.count(None)
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
    return Pairs(tuple(_by_instruction(found)), tuple(notes))


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


def _once(pairs: Sequence[Pair], data: str) -> None:
    seen: set[str] = set()
    for pair in pairs:
        if pair.id in seen:
            raise UserError(f"--data {data}: id {pair.id} stands twice; remove one")
        seen.add(pair.id)


def _by_instruction(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs, those of one instruction with the instance of the first of them: one checklist serves them all.

    Where the data gives them two checklists they stay apart.
    """
    first: dict[Instance, Instance] = {}
    made = []
    for pair in pairs:
        alike = replace(pair.instance, id="", language="", category="", task="")
        made.append(replace(pair, instance=first.setdefault(alike, pair.instance)))
    return made
