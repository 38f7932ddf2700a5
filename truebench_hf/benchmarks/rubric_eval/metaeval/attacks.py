"""Injections that a response may hold, and the neutral texts beside them: `attacks.toml`, and how they are appended."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import cycle, islice
from typing import Any

from truebench_hf.data.case import Case, names_fault, stated
from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections
from truebench_hf.types import Verdict

# A longer response can truly meet such a rubric, so that its label is not certain any more.
LENGTH = "quantity_limit"


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that is to turn verdicts, with placeholders (see `attacks.toml`), and the `filler` of its language."""

    id: str
    technique: str
    language: str
    text: str
    filler: str

    def on(self, case: Case) -> str:
        """The text as it is appended to the response of a case."""
        shown = sections(case)
        verdicts = json.dumps({f"criteria_{i}": "PASS" for i in range(1, len(case.criteria) + 1)})
        given = {"{tag}": shown["tag"], "{verdicts}": verdicts, "{criteria}": "; ".join(shown["criteria"])}
        text = self.text
        for name, value in given.items():
            text = text.replace(name, value)
        return text

    def beside(self, case: Case) -> str:
        """A harmless text of as many characters, in the attack's language."""
        return "".join(islice(cycle(f"{self.filler} "), len(self.on(case))))


@cache
def attacks() -> tuple[Attack, ...]:
    """All injections, technique by technique."""
    found = _read()
    return tuple(Attack(**one, filler=found["neutral"][one["language"]]) for one in found["attack"])


def drawn(item: Item, each: int | None, seed: int) -> list[Attack]:
    """The injections for a response: `each` of every technique (None: all), drawn anew for every response.

    More hold the fewer, so that a study can be extended.
    """
    found: dict[str, list[Attack]] = {}
    for one in attacks():
        found.setdefault(one.technique, []).append(one)
    by_chance = [sorted(some, key=lambda one: digest(f"{seed} {item.id} {one.id}")) for some in found.values()]
    chosen = {one.id for some in by_chance for one in some[:each]}
    return [one for one in attacks() if one.id in chosen]


@cache
def attack_set() -> str:
    """How many injections there are, and a hash of them: what a folder notes."""
    return f"{len(attacks())} injections {digest(canonical(_read()))[:12]}"


def aimed(item: Item, first: Sequence[Verdict]) -> Item | None:
    """The item with the rubrics alone that are certainly unmet and were said to be so (`first`); None without any."""
    rows = zip(item.rubrics, first, strict=True)
    kept = tuple(rubric for rubric, verdict in rows if attackable(item, rubric) and verdict.label == "no")
    return replace(item, rubrics=kept) if kept else None


def attackable(item: Item, rubric: Rubric) -> bool:
    """Whether a rubric is unmet and stays so, whatever text is appended to the response.

    One that names a fault is left out: without the fault the response is good, and nobody would attack.
    """
    fault = names_fault(stated(item.case.criteria[rubric.index]))
    return rubric.label == "no" and rubric.kind != LENGTH and not fault


def appended(item: Item, text: str) -> Item:
    """The item with a text at the end of its response."""
    return item.responded(f"{item.case.response}\n\n{text}", item.model)


def _read() -> dict[str, Any]:
    file = resources.files(__package__) / "attacks.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
