"""Judged responses without their texts, in columns: what scores are made of, be they in memory or in a file.

Few instances differ in all that counts. What a response has alike with others (where it belongs, the labels, votes and
weights of its verdicts) is held once and named by number, so that a million verdicts take some tens of megabytes
however long their texts, and what scores take of a response is worked out once for all that are alike.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from truebench_hf.data.records.judged import Judged, secrets_in
from truebench_hf.types import Criterion, Instance, Message, Response, Usage, Verdict

T = TypeVar("T")
_ANSWER = Message("assistant", "")


class _Distinct(Generic[T]):
    """Values by number; those of one key are held once."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable, make: Callable[[], T]) -> int:
        if (found := self._numbers.get(key)) is None:
            found = self._numbers[key] = len(self.values)
            self.values.append(make())
        return found


class Compact:
    """Responses in the order in which they were added; `instance` is the column of the numbers of their instances."""

    def __init__(self, judged: Iterable[Judged] = ()) -> None:
        self._instances = _Distinct[str]()
        self._places = _Distinct[Instance]()
        self._kinds = _Distinct[Judged]()
        self._verdicts = _Distinct[Verdict]()
        self._reasons = _Distinct[str]()
        # A row a response: the number of each of the above.
        self.instance, self._place, self._kind, self._reason = (array("i") for _ in range(4))
        self._secrets: dict[int, int] = {}  # by row, of the few that have any
        self._spent: dict[str, Usage] = {}
        for item in judged:
            self.append(item)

    def append(self, item: Judged) -> None:
        """Take over what counts of a response."""
        instance, response = item.instance, item.response
        if hidden := secrets_in([item]):
            self._secrets[len(self)] = hidden
        self.instance.append(self._instances.number(instance.id, lambda: instance.id))
        place = (instance.language, instance.category, instance.task)
        self._place.append(self._places.number(place, lambda: Instance("", *place, ())))
        verdicts = tuple(tuple(map(self._verdict, turn)) for turn in item.verdicts)
        key = (verdicts, item.recorded, len(response.answers), response.truncated, response.sample)
        self._kind.append(self._kinds.number(key, lambda: self._bare(item, verdicts)))
        reason = item.undecided if self._kinds.values[self._kind[-1]].passed is None else ""
        self._reason.append(self._reasons.number(reason, lambda: reason))
        for role, usage in item.usage.items():
            self._spent[role] = self._spent.get(role, Usage()) + usage

    def __len__(self) -> int:
        return len(self._kind)

    @property
    def kinds(self) -> Sequence[Judged]:
        """The distinct ones among the responses, as `each` is given them."""
        return [self._kinds.values[number] for number in sorted(set(self._kind))]

    @property
    def instances(self) -> Sequence[str]:
        """The ids of the instances, in the order of their first response."""
        return self._instances.values

    @property
    def spent(self) -> dict[str, Usage]:
        """What all responses took by role, those that stand twice included."""
        return dict(self._spent)

    @property
    def secrets(self) -> int:
        """How many secrets were masked in the texts."""
        return sum(self._secrets.values())

    def keys(self) -> Iterator[tuple[str, int]]:
        """The `key` of each response."""
        samples = self.each(lambda item: item.response.sample)
        return zip(map(self.instances.__getitem__, self.instance), samples, strict=True)

    def each(self, value: Callable[[Judged], T]) -> list[T]:
        """What `value` makes of each response; it is given one without texts, usage and instance."""
        found = list(map(value, self._kinds.values))
        return [found[kind] for kind in self._kind]

    def where(self, value: Callable[[Instance], T]) -> list[T]:
        """What `value` makes of where each response belongs: an instance of which language, category and task are left."""
        found = list(map(value, self._places.values))
        return [found[place] for place in self._place]

    def by_instance(self, values: Iterable[T]) -> list[list[T]]:
        """The values, one a response, of each instance together, in the order of `instances`."""
        found: list[list[T]] = [[] for _ in self.instances]
        for instance, value in zip(self.instance, values, strict=True):
            found[instance].append(value)
        return found

    def undecided(self) -> Iterator[tuple[tuple[str, int], str]]:
        """The key of each unscored response, and why it is."""
        unscored = self.each(lambda item: item.passed is None)
        for key, reason, is_open in zip(self.keys(), self._reason, unscored, strict=True):
            if is_open:
                yield key, self._reasons.values[reason]

    def without_doubles(self) -> tuple[Compact, int]:
        """The responses with each sample once (its last row, at its first place), and how many rows were left out."""
        rows = {key: row for row, key in enumerate(self.keys())}.values()
        if len(rows) == len(self):
            return self, 0
        once = Compact()
        once.__dict__ |= self.__dict__  # what is held once is shared
        for name in ("instance", "_place", "_kind", "_reason"):
            column = getattr(self, name)
            setattr(once, name, array("i", [column[row] for row in rows]))
        once._secrets = {place: self._secrets[row] for place, row in enumerate(rows) if row in self._secrets}
        return once, len(self) - len(rows)

    def _verdict(self, verdict: Verdict) -> int:
        weight = verdict.criterion.weight
        key = (verdict.label, weight, verdict.judge, verdict.votes, verdict.conflicting)
        return self._verdicts.number(
            key,
            lambda: Verdict(
                Criterion("", weight=weight), verdict.label, "", verdict.judge, None, verdict.votes, verdict.conflicting
            ),
        )

    def _bare(self, item: Judged, verdicts: Sequence[Sequence[int]]) -> Judged:
        response = item.response
        messages = (_ANSWER,) * len(response.answers)
        bare = Response("", "", messages, truncated=response.truncated, sample=response.sample)
        held = tuple(tuple(self._verdicts.values[number] for number in turn) for turn in verdicts)
        return Judged(Instance("", "", "", "", ()), bare, held, {}, item.recorded)


def compact(judged: Compact | Iterable[Judged]) -> Compact:
    """These responses in columns, if they are not already."""
    return judged if isinstance(judged, Compact) else Compact(judged)
