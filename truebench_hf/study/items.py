"""What a study works through: every item the options select, and how a sample of them is drawn and bound."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.text.redaction import known

T = TypeVar("T")


@dataclass(frozen=True)
class Items(Generic[T]):
    """`every` item, in the order of the data. `content` is all of an item that shapes results (None: the
    whole item); it binds the folder.

    `asked` is the part of it that the data holds, where answers are given with it: by that, runs of several models are
    known to be over the same data.

    A sample keeps the shares of the groups that `strata` names; of items of one `group` one is taken before a second
    of any. Items of the largest `size` are begun first, so that none is left over alone at the end. `left_out` says of
    rows of the data why they are no items.
    """

    every: Sequence[T]
    name: Callable[[T], str]
    content: Callable[[T], Any] | None
    strata: Callable[[T], tuple[str | None, ...]] = lambda item: ()
    group: Callable[[T], str] | None = None
    size: Callable[[T], int] = lambda item: 0
    left_out: tuple[str, ...] = ()
    asked: Callable[[T], Any] | None = None
    drawn: bool = True  # by this study; else they were bound by another one in the same folder

    def sampled(self, limit: int | None, seed: int) -> list[T]:
        """`limit` of the items, or all of them. Raises UserError on a limit below 1."""
        return sample(self.every, limit, self.name, self.strata, seed, self.group)

    def sha256(self, some: Sequence[T]) -> str:
        """A hash over the content of some of the items, whatever file they came from."""
        return _digest(map(self.content, some) if self.content else some)

    def row_hashes(self) -> dict[str, str]:
        """A hash of the content of every item, by its name; none of items that another study has drawn.

        Raises UserError on a name that two items have.
        """
        content, hashes = self.content or (lambda item: item), dict[str, str]()
        for item in self.every if self.drawn else ():
            if (name := self.name(item)) in hashes:
                raise UserError(f"{name!r} stands twice in the data; give every row a name of its own")
            hashes[name] = _digest([content(item)])[:16]
        return hashes

    def data_sha256(self, some: Sequence[T]) -> str:
        """The same over what they ask, whoever answered it."""
        return self.sha256(some) if self.asked is None else _digest(map(self.asked, some))


def _digest(contents: Iterable[Any]) -> str:
    """Return the hash of contents as files hold them: without secrets."""
    return digest(known(canonical(list(contents))))


_WHOLE = 2**64
_GOLDEN = 0x9E3779B97F4A7C15  # the golden ratio's share of it: multiples of it lie evenly, however many are taken


def sample(
    rows: Sequence[T], limit: int | None, name: Callable[[T], str], strata: Callable[[T], tuple[str | None, ...]],
    seed: int = 0, group: Callable[[T], str] | None = None,
) -> list[T]:  # fmt: skip
    """`limit` of the rows in their order; all of them, where there are no more or no limit is given.

    Systematic sampling: the rows of a stratum (a language, and in it a category, say) stand at equal distances, in an
    order drawn by the seed and their names, from an offset that differs from stratum to stratum; whatever stands first
    is taken. So every stratum has its share of every sample to within a row or two, and every row about the same
    chance. With `group`, one row of every group is taken before a second of any. Raises UserError on a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: must be at least 1")
    if limit is None or limit >= len(rows):
        return list(rows)
    groups = [group(row) for row in rows] if group else []
    drawn = [_number(f"{seed} {name(row)}") for row in rows]
    by_draw = sorted(range(len(rows)), key=lambda place: (drawn[place], place))
    turns, taken = [0] * len(rows), Counter[str]()  # per row how many of its group are taken before it
    for place in by_draw if group else ():
        turns[place] = taken[groups[place]]
        taken[groups[place]] += 1
    parts = [tuple(part or "" for part in strata(row)) for row in rows]
    starts = [_number(f"{seed} {depth}") for depth in range(len(parts[0]))]  # apart, or chances would hang together
    order: list[int] = []
    for turn in sorted(set(turns)):
        order += _interleaved([place for place in by_draw if turns[place] == turn], parts, starts)
        if len(order) >= limit:
            break
    return [rows[place] for place in sorted(order[:limit])]


def _interleaved(
    places: list[int], parts: Sequence[tuple[str, ...]], starts: Sequence[int], depth: int = 0, first: int = 0
) -> list[int]:
    """Places, drawn, in the order in which they are taken: the strata of this depth each at equal distances."""
    if depth == len(starts):
        return places
    strata: dict[str, list[int]] = {}
    for place in places:
        strata.setdefault(parts[place][depth], []).append(place)
    ranked: list[tuple[int, str, int]] = []
    for number, stratum in enumerate(sorted(strata), first):
        offset = (starts[depth] + number * _GOLDEN) % _WHOLE
        inner = _interleaved(strata[stratum], parts, starts, depth + 1, number)
        ranked += [((rank * _WHOLE + offset) // len(inner), stratum, place) for rank, place in enumerate(inner)]
    return [place for *_, place in sorted(ranked)]


def _number(text: str) -> int:
    return int(digest(text)[:16], 16)
