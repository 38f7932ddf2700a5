"""What visitors read for what results call things: `Korean` for KO, `v0.6.1` for a file, a model without its provider."""

from __future__ import annotations

import re

from truebench_hf.benchmarks.truebench.data import LANGUAGE_NAMES
from truebench_hf.data.catalogue import LATEST, RELEASES
from truebench_hf.models.spec import without_provider


def column(title: str) -> str:
    """A column's title; a language by its name."""
    return LANGUAGE_NAMES.get(title, title)


def counted(count: int, one: str, many: str = "") -> str:
    """`1 result`, `2,485 results`; `many` where it is not `one` with an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def model(name: str) -> str:
    """A model's name without who provides it, and without the file of a scripted one's."""
    if not re.fullmatch(r"[\w.:@+-]+(?:/[\w.:@+-]+)*", name):
        return name  # not a spec but a text, whatever it holds
    return re.sub(r"(?<=.)\.json$", "", without_provider(name)) or name


def judge(said: str) -> str:
    """The judge of a `Judge` fact, without how it was asked: `openai:o3 (checklist)` -> `o3`."""
    return " + ".join(model(re.sub(r" \([^()]*\)\Z", "", one)) for one in said.split(" + "))


def asked(said: str) -> str:
    """How the judge of a `Judge` fact was asked: `checklist, 5 votes`; nothing where it does not say."""
    found = re.search(r" \(([^()]*)\)\Z", said)
    return found[1] if found else ""


def paradigm(said: str) -> str:
    """The paradigm of a `Judge` fact in the words of the judges' board: `checklist, reasoning`; "" where it does not say."""
    parts = asked(said).split(", ")
    if parts[0] not in ("checklist", "rubric", "decision"):
        return ""
    return (
        parts[0]
        if parts[0] == "decision"
        else f"{parts[0]}, {'no reasoning' if 'no reasoning' in parts else 'reasoning'}"
    )


def data(said: str) -> str:
    """The release of a `Data` fact in place of the name of its file, with the part of it behind."""
    if " paper, " in said:
        return said
    base, _, part = said.partition(", ")
    known = next((name for name in RELEASES if name in base), "")
    named = known or {"truebench": LATEST, "mini": "built-in sample", "truebench_mini": "built-in sample"}.get(
        base, base
    )
    named = re.sub(r"(?<=.)\.(jsonl?|csv|tsv|parquet)$", "", named)
    parts = [column(one) for one in part.split(", ") if one]
    return ", ".join((named, *parts))


def fact(name: str, said: str) -> str:
    """A fact as visitors read it."""
    if name == "Judge":
        how = asked(said)
        return judge(said) + (f" ({how})" if how else "")
    return data(said) if name == "Data" else said
