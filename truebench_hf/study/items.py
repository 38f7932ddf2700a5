"""What a study works through: every item the options select, and how a sample of them is drawn and bound."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from truebench_hf.engine.sample import sample
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
        if len(some) == len(self.every) and all(map(operator.is_, some, self.every)):
            return self._whole
        return _digest(map(self.content, some) if self.content else some)

    @cached_property
    def row_hashes(self) -> dict[str, str]:
        """A hash of the content of every item, by its name; none of items that another study has drawn."""
        content: Callable[[T], Any] = self.content or (lambda item: item)
        return {self.name(item): _digest([content(item)])[:16] for item in self.every} if self.drawn else {}

    @cached_property
    def _whole(self) -> str:
        return _digest(map(self.content, self.every) if self.content else self.every)

    def data_sha256(self, some: Sequence[T]) -> str:
        """The same over what they ask, whoever answered it."""
        return self.sha256(some) if self.asked is None else _digest(map(self.asked, some))


def _digest(contents: Iterable[Any]) -> str:
    """Return the hash of contents as files hold them: without secrets."""
    return digest(known(canonical(list(contents))))
