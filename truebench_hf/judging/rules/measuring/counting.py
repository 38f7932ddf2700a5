"""The rule `Count`: so many units in the answer, or in each of its parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from truebench_hf.judging.rules.measuring import characters, lines, sentences, words
from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.outcomes import agreed, all_of
from truebench_hf.judging.rules.measuring.plain_text import plain
from truebench_hf.judging.rules.measuring.ranges import CountRange, enumerated, hull
from truebench_hf.judging.sentences import sentences as split
from truebench_hf.rules import Count, Part, Unit

_COUNTED: dict[Unit, Callable[[str], CountRange]] = {
    "words": words.words,
    "characters": characters.characters,
    "characters_no_spaces": lambda text: characters.characters(text, False),
    "characters_with_spaces": lambda text: characters.characters(text, True),
    "sentences": sentences.sentences,
    "questions": sentences.questions,
    "lines": lines.count_lines,
    "paragraphs": lines.count_paragraphs,
    "list_items": lines.count_items,
    "emoji": characters.emoji,
    "hashtags": characters.hashtags,
}
_SPLIT = 2500  # characters of a text that is cut into sentences: it takes 13 ms for 1,000
_NAMES: dict[str, tuple[str, str]] = {
    "characters_no_spaces": ("character without spaces", "characters without spaces"),
    "characters_with_spaces": ("character with spaces", "characters with spaces"),
    "list_items": ("list item", "list items"),
    "emoji": ("emoji", "emoji"),
}


def count(rule: Count, answer: Answer) -> tuple[str, bool | None]:
    """(what was counted, whether the rule is met)."""
    if rule.per != "whole":
        return _per_part(rule, answer)
    counts = hull(_range(rule, text) for text in answer.readings)
    met = counts.within(rule.min, rule.max)
    if met is False and rule.unit != "list_items":  # too much, unless only a part was asked for
        met = None if any(_range(rule, part).within(rule.min, rule.max) for part in answer.alone) else False
    return f"{counts} {name(rule.unit, counts.high)}", met


def name(unit: str, number: int) -> str:
    """The name of a unit behind a number."""
    one, several = _NAMES.get(unit, (unit.removesuffix("s"), unit))
    return one if number == 1 else several


def _range(rule: Count, text: str) -> CountRange:
    if rule.unit == "list_items" and rule.max == 0:  # that there is no list is about marks
        return lines.count_items(text, unmarked=False)
    counts = _COUNTED[rule.unit](text)
    if rule.unit == "list_items" and rule.mark != "any":  # of another kind they may not count
        return CountRange.of(
            min(counts.low, len(lines.of_mark(lines.items(text), rule.mark))), counts.usual, counts.high
        )
    return counts


def _per_part(rule: Count, answer: Answer) -> tuple[str, bool | None]:
    """Every part of every reading must do; to fail, each way to cut the answer must have one that fails."""
    outcomes: list[bool | None] = []
    facts = ""
    for text in answer.readings:
        for parts in _parts(rule.per, text):
            ranges = [_range(rule, part) for part in parts]
            outcomes.append(all_of(one.within(rule.min, rule.max) for one in ranges) if parts else None)
            facts = facts or (f"{name(rule.unit, 2)} per {rule.per}: {enumerated(ranges)}" if parts else "")
    return facts or f"no {rule.per} that can be told apart", agreed(outcomes)


def _parts(per: Part, text: str) -> Sequence[Sequence[str]]:
    """The ways to cut a text into parts."""
    if per == "line":
        return [[line.strip() for line in found] for found in (lines.lines(text), lines.inner(text))]
    if per == "paragraph":
        blocks, single = lines.paragraphs(text)
        return [blocks] if blocks == single else [blocks, single]
    if per == "item":
        found = lines.items(text)
        if lines.goes_on(text):  # what belongs to an item is not sure
            return [[]]
        return [[item.text for item in found], [item.text for item in lines.top_level(found)]]
    shown = plain(text)
    if len(shown) > _SPLIT or sentences.glued(shown):
        return [[]]
    said = [one for start, end in split(shown) if any(map(str.isalnum, one := shown[start:end].strip()))]
    number = sentences.sentences(text)
    return [said if number.low == number.high == len(said) else []]  # else where one ends is not sure
