"""Instances with one known defect each, made from a release by seeded edits: what validators are measured on.

The paper's truth is what its annotators changed (section 5.2), which is not published. Here it is what an edit broke:

    E1  a number, a language or a keyword that the instruction states, altered in the criterion that demands it
    E2  a demand on the form of the response added, of which the instruction says nothing
    E3  the criterion removed that demands a stated number, language or keyword, where no other might cover it

Beside these stand instances as they are, which nobody has proved faultless. No two rows are of one item of the release,
which has most of its items in several languages.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from truebench_hf.benchmarks.truebench.validation.demands import DEMANDS
from truebench_hf.benchmarks.truebench.validation.stated import LANGUAGES, Stated, covered, named, stated
from truebench_hf.engine.sample import sample
from truebench_hf.types import Criterion, Instance

Edit = Literal["unedited", "E1", "E2", "E3"]
SIZES: dict[Edit, int] = {"E3": 50, "E1": 50, "E2": 50, "unedited": 150}  # what has the fewest candidates comes first
_KINDS = ("keyword", "number", "language")  # likewise


@dataclass(frozen=True, slots=True)
class Edited:
    """An instance and what was done to it: to which criterion of which turn (from 1), and how, in words.

    The number is the criterion's in the instance as it is now; of E3 the one it had before it was removed.
    """

    instance: Instance
    edit: Edit
    turn: int | None = None
    criterion: int | None = None
    what: str = ""


class Place(NamedTuple):
    """Where an edit can be made: turn and criterion from 0, and what the criterion demands, or is to demand."""

    instance: Instance
    turn: int = 0
    criterion: int = 0
    one: Stated | None = None
    demand: str = ""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria of the turn."""
        return self.instance.turns[self.turn].criteria

    def with_criteria(self, criteria: Iterable[Criterion]) -> Instance:
        """The instance with others in their place."""
        turns = list(self.instance.turns)
        turns[self.turn] = replace(turns[self.turn], criteria=tuple(criteria))
        return replace(self.instance, turns=tuple(turns))


def constructed(instances: Sequence[Instance], seed: int = 0) -> list[Edited]:
    """`SIZES` rows of each kind, in the order of the data; fewer where the data has fewer candidates.

    Of data that has fewer items than that each kind gets its part of them.
    """
    found = list(_demanding(instances))
    part = min(1.0, len({source(one) for one in instances}) / sum(SIZES.values()))
    keywords = _keywords(found)
    whole = [Place(one, turn) for one in instances if (turn := _judged(one)) is not None]
    removable = list(filter(_uncovered, found))
    alterable = [place for place in found if _others(place, keywords)]
    taken: set[str] = set()

    def draw(edit: Edit, parts: Iterable[Iterable[Place]]) -> Iterator[tuple[Place, random.Random]]:
        """Places of items that are not taken, and a lot for each: equally many of each part, then what is left of all."""
        left, pools = round(SIZES[edit] * part), [list(pool) for pool in parts]
        for number, pool in enumerate([*pools, [place for one in pools for place in one]]):
            lots = sorted(pool, key=lambda place: _lot(seed, edit, place).random())
            first = {source(place.instance): place for place in reversed(lots)}
            offered = [place for item, place in first.items() if item not in taken]
            share = left // max(1, len(pools) - number)
            drawn = sample(offered, share, lambda place: place.instance.id, lambda _: (), seed) if share else []
            left -= len(drawn)
            taken.update(source(place.instance) for place in drawn)
            yield from ((place, _lot(seed, f"how {edit}", place)) for place in drawn)

    rows = [_removed(place) for place, _ in draw("E3", _by_kind(removable))]
    rows += [_altered(place, keywords, lot) for place, lot in draw("E1", _by_kind(alterable))]
    free = [place for place in whole if source(place.instance) not in taken]
    rows += [_added(place, lot) for place, lot in draw("E2", [_silent(free, demand) for demand in DEMANDS])]
    rows += [Edited(place.instance, "unedited") for place, _ in draw("unedited", [whole])]
    order = {one.id: place for place, one in enumerate(instances)}
    return sorted(rows, key=lambda row: order[row.instance.id])


def source(instance: Instance) -> str:
    """What instances of the release have in common that are one item in several languages: the end of their index."""
    return instance.id[-3:] if instance.id.isdecimal() and len(instance.id) > 3 else instance.id


def _lot(seed: int, what: str, place: Place) -> random.Random:
    start = place.one.start if place.one else 0
    return random.Random(f"{seed} {what} {place.instance.id} {place.turn} {place.criterion} {start} {place.demand}")


def _demanding(instances: Sequence[Instance]) -> Iterator[Place]:
    """Every criterion that demands what its instruction states, once for each such thing."""
    for instance in instances:
        for turn, asked in enumerate(instance.turns):
            for number, criterion in enumerate(asked.criteria):
                yield from (Place(instance, turn, number, one) for one in stated(criterion.text, asked.prompt))


def _by_kind(places: Sequence[Place]) -> list[list[Place]]:
    return [[place for place in places if place.one and place.one.kind == kind] for kind in _KINDS]


def _uncovered(place: Place) -> bool:
    """Whether nothing would cover what the criterion demands if it were gone."""
    others = [one.text for number, one in enumerate(place.criteria) if number != place.criterion]
    demanded = stated(place.criteria[place.criterion].text, place.instance.turns[place.turn].prompt)
    return bool(others) and not any(covered(others, one) for one in demanded)


def _removed(place: Place) -> Edited:
    assert place.one
    kept = [one for number, one in enumerate(place.criteria) if number != place.criterion]
    what = f"{place.one.kind} {place.one.value} is covered no more"
    return Edited(place.with_criteria(kept), "E3", place.turn + 1, place.criterion + 1, what)


def _keywords(places: Sequence[Place]) -> dict[str, list[str]]:
    """The keywords that instructions in each language state."""
    found: dict[str, set[str]] = {}
    for place in places:
        if place.one and place.one.kind == "keyword":
            found.setdefault(place.instance.language, set()).add(place.one.value)
    return {language: sorted(words) for language, words in found.items()}


def _others(place: Place, keywords: Mapping[str, Sequence[str]]) -> list[str]:
    """What could stand in place of what is demanded, and be wrong; nothing for an end of a range of numbers."""
    assert place.one
    text = place.criteria[place.criterion].text
    around = " ".join([place.instance.turns[place.turn].prompt, *(other.text for other in place.criteria)])
    if place.one.kind == "number":
        value = int(place.one.value)
        larger = (value + 1, value + 2) if value < 13 else (round(value * 1.5), value * 2)
        return [] if any(word in text for word in ("between", " to ", "–", " or ")) else list(map(str, larger))
    if place.one.kind == "language":
        return [name for name in LANGUAGES if name not in named(around)]
    return [word for word in keywords[place.instance.language] if word not in around]


def _altered(place: Place, keywords: Mapping[str, Sequence[str]], lot: random.Random) -> Edited:
    one, criteria = place.one, list(place.criteria)
    assert one
    text, other = criteria[place.criterion].text, lot.choice(_others(place, keywords))
    altered = text[: one.start] + other + text[one.end :]
    criteria[place.criterion] = replace(criteria[place.criterion], text=altered, rule=None)
    what = f"{one.kind} {one.value} is now {other}"
    return Edited(place.with_criteria(criteria), "E1", place.turn + 1, place.criterion + 1, what)


def _judged(instance: Instance) -> int | None:
    """The first turn that has criteria."""
    return next((place for place, turn in enumerate(instance.turns) if turn.criteria), None)


def _silent(places: Sequence[Place], demand: str) -> Iterator[Place]:
    """Where neither instructions nor criteria say anything of what a demand is about."""
    for place in places:
        turns = place.instance.turns
        texts = [text for turn in turns for text in (turn.prompt, *(one.text for one in turn.criteria))]
        if not DEMANDS[demand].search("\n".join([place.instance.system or "", *texts]).lower()):
            yield place._replace(demand=demand)


def _added(place: Place, lot: random.Random) -> Edited:
    criteria, number = list(place.criteria), lot.randint(0, len(place.criteria))
    criteria.insert(number, Criterion(place.demand))
    return Edited(place.with_criteria(criteria), "E2", place.turn + 1, number + 1, f"added: {place.demand}")
