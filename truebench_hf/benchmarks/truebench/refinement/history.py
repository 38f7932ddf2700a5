"""Every version of every criterion and prompt: what the original data became, and why.

A criterion keeps its number for life: those of the data are numbered through all turns of an instance from 1, one that is
added gets the next number, and none is used again. What is split off another criterion is `of` that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance

FILE = "criteria_history.jsonl"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a criterion, or of the prompt of a turn (`criterion` None). `text` None: it was removed.

    `change` is original, revised, removed, added, or kept: then somebody looked at `row` of a work list and left all
    as it is. `source` is a hash of the filled-in work list it comes from. `of` is the number of the criterion that it
    was split off, and whose kind, condition and points it has.
    """

    instance: str
    turn: int
    criterion: int | None
    version: int
    text: str | None
    change: str = "original"
    kind: str = ""
    why: str = ""
    who: str = ""
    round: int = 0
    row: str = ""
    source: str = ""
    of: int | None = None

    @property
    def id(self) -> str:
        """What all versions of one criterion, or prompt, share."""
        return f"{self.instance}#{f'prompt {self.turn}' if self.criterion is None else self.criterion}"


@dataclass(frozen=True, slots=True)
class State:
    """An instance as it stands after some rounds, and the numbers of its criteria, per turn."""

    instance: Instance
    numbers: tuple[tuple[int, ...], ...]

    def turn_of(self, number: int) -> int | None:
        """The turn (from 1) that has the criterion of this number; None where none has it (any more)."""
        return next((turn for turn, numbers in enumerate(self.numbers, 1) if number in numbers), None)

    def criterion(self, number: int) -> Criterion:
        """The criterion of this number."""
        turn = (self.turn_of(number) or 0) - 1
        return self.instance.turns[turn].criteria[self.numbers[turn].index(number)]

    def text_of(self, number: int) -> str:
        """The text of the criterion of this number."""
        return self.criterion(number).text


def originals(instance: Instance) -> list[Version]:
    """The first versions: the prompts and criteria of the data."""
    found, number = [], 0
    for turn, one in enumerate(instance.turns, 1):
        found.append(Version(instance.id, turn, None, 1, one.prompt))
        for criterion in one.criteria:
            number += 1
            found.append(Version(instance.id, turn, number, 1, criterion.text))
    return found


def state(original: Instance, revisions: Iterable[Version]) -> State:
    """The original with these revisions of it, in their order. A revised criterion keeps its kind, condition and points."""
    number, held = 0, list[dict[int, Criterion]]()
    prompts = [turn.prompt for turn in original.turns]
    for turn in original.turns:
        held.append({number + place: one for place, one in enumerate(turn.criteria, 1)})
        number += len(turn.criteria)
    for one in revisions:
        if one.change == "kept":
            continue
        criteria = held[one.turn - 1]
        if one.criterion is None:
            prompts[one.turn - 1] = one.text or ""
        elif one.text is None:
            del criteria[one.criterion]
        else:
            before = criteria[one.of] if one.of else criteria.get(one.criterion, Criterion(""))
            criteria[one.criterion] = replace(before, text=one.text, rule=None)  # which was of the text before
    turns = [
        replace(turn, prompt=prompt, criteria=tuple(criteria.values()))
        for turn, prompt, criteria in zip(original.turns, prompts, held, strict=True)
    ]
    return State(replace(original, turns=tuple(turns)), tuple(tuple(criteria) for criteria in held))


def states(original: Instance, revisions: Sequence[Version], rounds: int) -> list[State]:
    """How an instance stood before any round, and after each of them."""
    mine = [one for one in revisions if one.instance == original.id]
    return [state(original, [one for one in mine if one.round <= number]) for number in range(rounds + 1)]


def lines(instances: Sequence[Instance], revisions: Sequence[Version]) -> list[dict[str, Any]]:
    """The lines of `criteria_history.jsonl`: all versions of each criterion together, in the order of the data."""
    every = [version for instance in instances for version in originals(instance)]
    places = {instance.id: place for place, instance in enumerate(instances)}
    by_id: dict[str, list[Version]] = {}
    for one in sorted([*every, *revisions], key=lambda one: places[one.instance]):
        by_id.setdefault(one.id, []).append(one)
    return [{"id": one.id, **asdict(one)} for several in by_id.values() for one in several]


def read(folder: Path, instances: Mapping[str, Instance]) -> list[Version]:
    """The revisions in a folder; [] before the first run.

    Raises UserError where the file is none of ours, or is about other data, or more of it.
    """
    file = folder / FILE
    if not file.exists():
        return []
    names, found = {field.name for field in fields(Version)}, []
    for where, row in jsonl.read(file):
        try:
            one = Version(**{name: value for name, value in row.items() if name in names})
            sound = isinstance(one.instance, str) and all(
                isinstance(n, int) for n in (one.turn, one.version, one.round)
            )
        except (TypeError, AttributeError) as error:
            raise UserError(f"{where}: no version of a criterion ({error}); {_AGAIN}") from error
        if not sound:
            raise UserError(f"{where}: no version of a criterion; {_AGAIN}")
        found.append(one)
    _check(file, found, instances)
    return sorted((one for one in found if one.round), key=lambda one: one.round)


_AGAIN = "put the file back as it was written, or refine into another --out"


def _check(file: Path, found: Sequence[Version], instances: Mapping[str, Instance]) -> None:
    """Raise UserError where the history does not begin with the data, or cannot be followed."""
    first, revised = dict[str, list[Version]](), dict[str, list[Version]]()
    for one in sorted(found, key=lambda one: one.round):
        (revised if one.round else first).setdefault(one.instance, []).append(one)
    if lost := next((one.instance for one in found if one.instance not in instances), None):
        raise UserError(
            f"{file}: holds instance {lost} too, which would be dropped; take the data and --limit as before"
        )
    for name, versions in first.items():
        if sorted(map(repr, versions)) != sorted(map(repr, originals(instances[name]))):
            raise UserError(f"{file}: instance {name} does not begin as in the data; {_AGAIN}")
    for name, versions in revised.items():
        try:
            state(instances[name], versions)
        except (KeyError, IndexError) as error:
            raise UserError(
                f"{file}: the versions of instance {name} do not follow from each other; {_AGAIN}"
            ) from error
