"""Which instructions are trained on and which are held out, so that no text of a user is on both sides."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from truebench_hf.hashing import digest
from truebench_hf.normal_form import normal_form
from truebench_hf.types import Instance


def instructions(instances: Sequence[Instance]) -> list[str]:
    """A name per instance of the instruction it is of: instances with one id are one, and those that share any user's message.

    Messages are compared without regard to letter case, blanks and forms of one character. Two conversations that share
    only "Shorter, please." are one instruction, too: nothing leaks, at the price of larger pieces. A name follows from
    the texts alone, so that an instruction is on the same side in every study in which it stands with the same others.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    keys: dict[str, int] = {}
    pairs = [(place, keys.setdefault(key, len(keys))) for place, one in enumerate(instances) for key in _keys(one)]
    size = len(instances) + len(keys)
    rows, columns = [place for place, _ in pairs], [len(instances) + key for _, key in pairs]
    _, piece = connected_components(coo_matrix(([1] * len(pairs), (rows, columns)), (size, size)), directed=False)
    names: dict[int, str] = {}
    for place, one in enumerate(instances):
        first = min(digest(text) for text in _texts(one))
        names[piece[place]] = min(first, names.get(piece[place], first))
    return [names[piece[place]] for place in range(len(instances))]


def held_out(names: Collection[str], share: float, seed: int) -> frozenset[str]:
    """The instructions to measure on: a share of them, at least one, drawn by the seed and their names alone."""
    drawn = sorted(set(names), key=lambda name: digest(f"{seed} {name}"))
    return frozenset(drawn[: max(1, round(share * len(drawn)))])


def _keys(instance: Instance) -> Iterator[str]:
    yield f"id {instance.id}"
    yield from (f"text {text}" for text in _texts(instance))


def _texts(instance: Instance) -> list[str]:
    """All that a user says in it, as it is compared."""
    before = [message.content for message in instance.history if message.role == "user"]
    said = [*before, *(turn.prompt for turn in instance.turns)]
    return [" ".join(normal_form("NFKC", text).casefold().split()) for text in said]
