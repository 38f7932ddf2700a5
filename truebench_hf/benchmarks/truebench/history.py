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
_AGAIN = "put the file back as it was written, or refine into another --out"


@dataclass(frozen=True, slots=True)
class CriterionVersion:
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


def originals(instance: Instance) -> list[CriterionVersion]:
    """Return the first versions: the prompts and criteria of the data."""
    versions, number = [], 0
    for place, turn in enumerate(instance.turns, 1):
        versions.append(CriterionVersion(instance.id, place, None, 1, turn.prompt))
        for criterion in turn.criteria:
            number += 1
            versions.append(CriterionVersion(instance.id, place, number, 1, criterion.text))
    return versions


def revised(before: State, revisions: Iterable[CriterionVersion]) -> State:
    """Return a state with these revisions of it, in their order. A revised criterion keeps its kind, condition and points.

    Raises KeyError or IndexError where they do not follow from it.
    """
    prompts = [turn.prompt for turn in before.instance.turns]
    held = [
        dict(zip(numbers, turn.criteria, strict=True))
        for numbers, turn in zip(before.numbers, before.instance.turns, strict=True)
    ]
    for version in revisions:
        if version.change == "kept":
            continue
        criteria = held[version.turn - 1]
        if version.criterion is None:
            prompts[version.turn - 1] = version.text or ""
        elif version.text is None:
            del criteria[version.criterion]
        else:
            earlier = criteria[version.of] if version.of else criteria.get(version.criterion, Criterion(""))
            criteria[version.criterion] = replace(earlier, text=version.text, rule=None)  # which was of the text before
    turns = [
        replace(turn, prompt=prompt, criteria=tuple(criteria.values()))
        for turn, prompt, criteria in zip(before.instance.turns, prompts, held, strict=True)
    ]
    return State(replace(before.instance, turns=tuple(turns)), tuple(tuple(criteria) for criteria in held))


def first_state(instance: Instance) -> State:
    """Return an instance as it stands in the data."""
    return last_state(instance, originals(instance))


def last_state(instance: Instance, versions: Iterable[CriterionVersion]) -> State:
    """Return an instance as it stands after all rounds with its numbers, by all its versions.

    Raises ValueError where these are not of it.
    """
    last = {v.criterion: v for v in sorted(versions, key=lambda v: v.round) if v.criterion and v.change != "kept"}
    numbers: list[list[int]] = [[] for _ in instance.turns]
    for number, version in last.items():
        if version.text is not None:
            numbers[version.turn - 1].append(number)
    if [len(turn.criteria) for turn in instance.turns] != list(map(len, numbers)):
        raise ValueError(f"instance {instance.id} has other criteria than its history")
    return State(instance, tuple(tuple(sorted(of_turn)) for of_turn in numbers))


def states(original: Instance, revisions: Sequence[CriterionVersion], rounds: int) -> list[State]:
    """Return how an instance stood before any round, and after each of them."""
    first, own = first_state(original), [version for version in revisions if version.instance == original.id]
    return [revised(first, [version for version in own if version.round <= number]) for number in range(rounds + 1)]


def lines(instances: Sequence[Instance], revisions: Sequence[CriterionVersion]) -> list[dict[str, Any]]:
    """Return the lines of `criteria_history.jsonl`: all versions of each criterion together, in the order of the data."""
    first = [version for instance in instances for version in originals(instance)]
    places = {instance.id: place for place, instance in enumerate(instances)}
    by_id: dict[str, list[CriterionVersion]] = {}
    for version in sorted([*first, *revisions], key=lambda version: places[version.instance]):
        by_id.setdefault(version.id, []).append(version)
    return [line(version) for versions in by_id.values() for version in versions]


def line(version: CriterionVersion) -> dict[str, Any]:
    """Return the line of a version."""
    return {"id": version.id, **asdict(version)}


def read_versions(file: Path) -> list[CriterionVersion]:
    """Return all versions in a history, by round. Raises UserError where the file is none of ours."""
    names, versions = {field.name for field in fields(CriterionVersion)}, []
    for where, row in jsonl.read(file):
        try:
            version = CriterionVersion(**{name: value for name, value in row.items() if name in names})
            sound = isinstance(version.instance, str) and all(
                isinstance(n, int) for n in (version.turn, version.version, version.round)
            )
        except (TypeError, AttributeError) as error:
            raise UserError(f"{where}: no version of a criterion ({error}); {_AGAIN}") from error
        if not sound:
            raise UserError(f"{where}: no version of a criterion; {_AGAIN}")
        versions.append(version)
    return sorted(versions, key=lambda version: version.round)


def read(folder: Path, instances: Mapping[str, Instance]) -> list[CriterionVersion]:
    """Return the revisions in a folder; [] before the first run.

    Raises UserError where the file is none of ours, is about other data, or more of it, does not begin with the data, or
    cannot be followed.
    """
    file = folder / FILE
    versions = read_versions(file) if file.exists() else []
    if lost := next((version.instance for version in versions if version.instance not in instances), None):
        raise UserError(
            f"{file}: holds instance {lost} too, which would be dropped; take the data and --limit as before"
        )
    first, later = dict[str, list[CriterionVersion]](), dict[str, list[CriterionVersion]]()
    for version in versions:
        (later if version.round else first).setdefault(version.instance, []).append(version)
    for name, own in first.items():
        if sorted(map(repr, own)) != sorted(map(repr, originals(instances[name]))):
            raise UserError(f"{file}: instance {name} does not begin as in the data; {_AGAIN}")
    for name, own in later.items():
        try:
            revised(first_state(instances[name]), own)
        except (KeyError, IndexError) as error:
            raise UserError(
                f"{file}: the versions of instance {name} do not follow from each other; {_AGAIN}"
            ) from error
    return [version for version in versions if version.round]
