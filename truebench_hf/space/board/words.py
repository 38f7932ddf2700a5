"""What visitors read for what results call things: `Korean` for KO, `v0.6.1` for a file, a model without its provider."""

from __future__ import annotations

import re

from truebench_hf.benchmarks.truebench.data import LANGUAGE_NAMES
from truebench_hf.data.catalogue import LATEST, RELEASES
from truebench_hf.models.spec import without_provider
from truebench_hf.text import anonymous

_HOW = re.compile(r" \(([^()]*)\)\Z")  # behind a judge: how it was asked
_OWN_NAMES = {
    "KO": "한국어", "JA": "日本語", "ZH": "中文", "PL": "polski", "DE": "Deutsch", "PT": "português", "ES": "español",
    "FR": "français", "IT": "italiano", "RU": "русский", "VI": "tiếng Việt",
}  # fmt: skip
_DATA = {"truebench": f"TRUEBench {LATEST}", "mini": "built-in sample", "truebench_mini": "built-in sample"}


def column(title: str) -> str:
    """A column's title; a language by its name, a judge without who provides it."""
    return LANGUAGE_NAMES.get(title) or model(title)


def language(code: str) -> str:
    """Return a language by its name in English and in itself: `Korean · 한국어`."""
    return " · ".join(filter(None, (column(code), _OWN_NAMES.get(code))))


def model(name: str) -> str:
    """A model's name without who provides it, without folders, and without the file of a scripted one's."""
    name = anonymous.name(name)
    if not re.fullmatch(r"[\w.:@+-]+(?:/[\w.:@+-]+)*", name):
        return name  # not a spec but a text, whatever it holds
    return re.sub(r"(?<=.)\.json$", "", without_provider(name)) or name


def judge(fact: str) -> str:
    """The judge of a `Judge` fact, without how it was asked: `openai:o3 (checklist)` -> `o3`."""
    return " + ".join(model(_HOW.sub("", name)) for name in fact.split(" + "))


def way(fact: str) -> str:
    """How the judge of a `Judge` fact was asked: `checklist, 5 votes`; nothing where it does not say."""
    how = _HOW.search(fact)
    return how[1] if how else ""


def paradigm(fact: str) -> str:
    """The paradigm of a `Judge` fact in the words of the judges' board: `checklist, reasoning`; "" where it does not say."""
    level, *more = way(fact).split(", ")
    if level in ("checklist", "rubric"):
        return f"{level}, {'no reasoning' if 'no reasoning' in more else 'reasoning'}"
    return level if level == "decision" else ""


def data(fact: str) -> str:
    """Return a `Data` fact with the release in place of the name of its file: `TRUEBench v0.6.1, hard`."""
    if " paper, " in fact:
        return fact
    base, *parts = fact.split(", ")
    release = next((f"TRUEBench {name}" for name in RELEASES if name in base), _DATA.get(base, base))
    name = re.sub(r"(?<=.)\.(jsonl?|csv|tsv|parquet)$", "", release)
    return ", ".join((name, *(column(part) for part in parts if part)))


def fact(name: str, text: str) -> str:
    """A fact as visitors read it."""
    if name == "Judge":
        how = way(text)
        return judge(text) + (f" ({how})" if how else "")
    return data(text) if name == "Data" else text
