"""The verdict objects of an answer as blocks: what each states about which criterion, by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from truebench_hf.judging.entries import in_object
from truebench_hf.judging.keys import REASONS, criterion_of, key_plain
from truebench_hf.judging.objects import Found, Pairs, comments, pairs
from truebench_hf.judging.quotation import quoting
from truebench_hf.judging.statements import ALL, Statement, in_comment, in_prose
from truebench_hf.judging.words import Words

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Reading(Generic[L]):
    """What an answer holds: a label per criterion (from 0) that has exactly one valid one, and what was wrong.

    `unclear` are the criteria that the answer does speak of, but not with one valid label; of those, `differing` are
    given two different labels.
    """

    labels: Mapping[int, L]
    reasons: Mapping[int, str]
    problems: tuple[str, ...]
    unclear: frozenset[int] = frozenset()
    differing: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Block(Generic[L]):
    """One object, or several in a row that each state other criteria: the verdicts, if it is the right one."""

    left: int
    right: int
    fenced: bool
    stated: Sequence[Statement[L]]
    reasons: Mapping[int, str] = field(default_factory=dict)

    @property
    def criteria(self) -> set[int]:
        return {one.criterion for one in self.stated if one.criterion > ALL}

    @property
    def is_echo(self) -> bool:
        """Whether it only repeats the form asked for."""
        return all(one.echo for one in self.stated)


def blocks(text: str, found: Sequence[Found], count: int, words: Words[L]) -> list[Block[L]]:
    """The objects that state something, those that go on from one to the next as one block."""
    return [block for block in _joined([_block(text, one, count, words) for one in found], text) if block.stated]


def _block(text: str, found: Found, count: int, words: Words[L]) -> Block[L]:
    body = text[found.start : found.end]
    made = pairs(body)
    if made is None:
        unread: list[Statement[L]] = [
            Statement(number, None, False, shown="an object that cannot be parsed") for _, number in _mentioned(body)
        ]
        return Block(found.left, found.right, found.fenced, unread)
    stated = list(in_object(made, count, words))
    stated += _in_comments(body, count, words)
    return Block(found.left, found.right, found.fenced, stated, dict(_reasons(made)))


# What stands before a colon; tried where a word begins only, since words may be long.
_KEY = re.compile(r"(?<![^\s\"'“”:,{}])([^\s\"'“”:,{}]++)[\"'”]?\s*:")


def _in_comments(body: str, count: int, words: Words[L]) -> Iterator[Statement[L]]:
    """What comments say, each about the criterion whose key stands before it, or about those that it names."""
    if not (found := comments(body)):
        return
    keys = [(0, ALL), *_mentioned(body)]
    at = 0
    for start, said in found:
        while at + 1 < len(keys) and keys[at + 1][0] <= start:
            at += 1
        yield from in_comment(said, keys[at][1], words)
        yield from (one for one in in_prose(said.strip("/*# "), count, words) if one.criterion > ALL)


def _mentioned(body: str) -> list[tuple[int, int]]:
    """The criteria whose keys stand in an object, each with where its key ends."""
    keys = ((match.end(), criterion_of(match[1])) for match in _KEY.finditer(body))
    return [(end, number) for end, number in keys if number is not None]


def _joined(blocks: Sequence[Block[L]], text: str) -> list[Block[L]]:
    """One object per criterion, on lines one below the other or in a list, is one block."""
    groups: list[list[Block[L]]] = []
    criteria: set[int] = set()  # those of the last group
    for block in blocks:
        if groups and _goes_on(criteria, block.criteria, text[groups[-1][-1].right : block.left]):
            groups[-1].append(block)
            criteria |= block.criteria
        else:
            groups.append([block])
            criteria = block.criteria
    return [group[0] if len(group) == 1 else _as_one(group) for group in groups]


def _as_one(group: Sequence[Block[L]]) -> Block[L]:
    reasons = {number: reason for block in group for number, reason in block.reasons.items()}
    stated = [one for block in group for one in block.stated]
    return Block(group[0].left, group[-1].right, all(block.fenced for block in group), stated, reasons)


def _goes_on(before: set[int], criteria: set[int], between: str) -> bool:
    if not before or not criteria or before & criteria:
        return False
    # Between them are commas and the markers of a list at most, or the numbered reason of the next one.
    return re.fullmatch(r"[\s,`]*(?:(?:[-*•]|\d{1,6}[.):])[^\S\n]*)?", between) is not None or (
        re.fullmatch(r"\s*\n\d{1,6}[.)] [^\n]{1,400}\n\s*", between) is not None and not quoting(between)
    )


def settled(block: Block[L], count: int) -> Reading[L]:
    """The labels of a block by itself."""
    said: dict[int, list[Statement[L]]] = {}
    for one in block.stated:
        if one.criterion > ALL or one.shown is not None:
            said.setdefault(one.criterion, []).append(one)
    labels: dict[int, L] = {}
    problems: list[str] = []
    differing = set()
    for number, several in said.items():
        known = {one.label for one in several if one.label is not None}
        if number > ALL and not 1 <= number <= count:
            problems.append(f"criteria_{number} was not asked for")
        elif number <= ALL:
            continue
        elif len(known) > 1:
            problems.append(f"criteria_{number} has more than one label")
            differing.add(number - 1)
        elif wrong := [one for one in several if not one.sure]:
            problems.append(f"criteria_{number} has no valid label but {_shown(wrong[0].shown)}")
        else:
            labels[number - 1] = several[0].label  # type: ignore[assignment]
    problems += [f"criteria_{number} has no label" for number in range(1, count + 1) if number not in said]
    spoken = {number - 1 for number in said if 1 <= number <= count}
    if differing or any(number > ALL and not 1 <= number <= count for number in said):
        labels = {}  # who contradicts himself is unreliable; who counts otherwise means other criteria by the same numbers
    return Reading(labels, block.reasons, tuple(problems), frozenset(spoken - set(labels)), frozenset(differing))


def _reasons(made: Pairs) -> dict[int, str]:
    reasons: dict[int, str] = {}
    for key, value in made:
        number = criterion_of(key)
        if isinstance(value, Pairs) and number is None:
            reasons |= _reasons(value)
        elif isinstance(value, Pairs) and number is not None:
            said = [text.strip() for name, text in value if key_plain(name) in REASONS and isinstance(text, str)]
            reasons |= {number - 1: said[0]} if said and said[0] else {}
    return reasons


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:60]
    except RecursionError:
        return "a nest of lists"
