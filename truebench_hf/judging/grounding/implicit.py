"""The implicit span-level answer: a label for every sentence, then one for the whole, which must agree with them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from truebench_hf.judging.grounding.entries import json_objects
from truebench_hf.judging.grounding.verdict import ACCURATE
from truebench_hf.judging.objects import Pairs
from truebench_hf.judging.words import ORNAMENT, visible
from truebench_hf.models.asking import Problem

_LINE = re.compile(
    r"^[\s*_#>`-]*(?:sentence\s*(?P<number>\d{1,4})(?P<label>\s*label)?|(?P<final>final\s+answer))[\s*_`]*[:：][\s*_`]*"
    r"(?P<said>.*)$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\b(in)?accurate\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Labelled:
    """The sentences as the judge wrote them, whether each is accurate, and the whole."""

    sentences: tuple[tuple[str, bool], ...]
    accurate: bool


def read_implicit(text: str) -> Labelled | Problem:
    """The labels of an answer, in lines or as a JSON object; a Problem where they do not settle one verdict. Never raises."""
    text = visible(text)
    found = json_objects(text)
    if isinstance(found, Problem):
        return found
    made = [(end, one) for _, end, one in found if any(key == "final_answer" for key, _ in one)]
    if len(made) > 1:
        return Problem("it has more than one JSON object with `final_answer`")
    if made and re.search(r"\w", text[made[0][0] :]):
        return Problem("there is text behind the JSON object")
    return _from_object(made[0][1]) if made else _from_lines(text)


def _from_object(made: Pairs) -> Labelled | Problem:
    finals = [value for key, value in made if key == "final_answer"]
    lists = [value for key, value in made if key == "sentences" and isinstance(value, list)]
    rows = [row for one in lists for row in one] if not isinstance(lists[:1], Pairs) else []
    sentences: list[tuple[str, str]] = []
    for number, row in enumerate(rows, 1):
        values = [value for key, value in row if key == "label"] if isinstance(row, Pairs) else []
        texts = [value for key, value in row if key == "sentence"] if isinstance(row, Pairs) else []
        if len(values) != 1 or len(texts) != 1:
            return Problem(f"entry {number} has no sentence with one label")
        sentences.append((str(texts[0]), str(values[0])))
    return _settled([(text, [label]) for text, label in sentences], [str(value) for value in finals])


def _from_lines(text: str) -> Labelled | Problem:
    """Sentences go on over lines until their label comes."""
    sentences: dict[int, str] = {}
    labels: dict[int, list[str]] = {}
    finals: list[str] = []
    aside: list[str] = []
    current: int | None = None
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            if finals and re.search(r"\w", line):
                return Problem("there is text behind the final answer")
            if current is None:
                aside.append(line)
            else:
                sentences[current] += "\n" + line
            continue
        current = None
        if match["final"]:
            finals.append(match["said"])
        elif match["label"]:
            labels.setdefault(int(match["number"]), []).append(match["said"])
        elif (number := int(match["number"])) in sentences and sentences[number].strip() != match["said"].strip():
            return Problem(f"there are two sentences with the number {number}")
        else:
            current = number
            sentences[number] = match["said"]
        if finals and not match["final"]:
            return Problem("there is text behind the final answer")
    if not finals:
        return Problem("it has no line `Final answer:`")
    if sorted(sentences) != sorted(labels) or sorted(labels) != list(range(1, len(labels) + 1)):
        return Problem("its sentences and their labels do not have the numbers 1, 2, 3, ... once each")
    return _settled([(sentences[i], labels[i]) for i in sorted(labels)], finals, aside)


def _settled(
    rows: list[tuple[str, list[str]]], finals: list[str], aside: list[str] | None = None
) -> Labelled | Problem:
    if not rows:
        return Problem("it labels no sentence")
    made: list[tuple[str, bool]] = []
    for number, (sentence, said) in enumerate(rows, 1):
        values = {ACCURATE.get(word.strip(ORNAMENT).casefold()) for word in said}
        if len(values) != 1 or (value := values.pop()) is None:
            return Problem(f"the label of sentence {number} is {' and '.join(said)[:40]!r}, not accurate or inaccurate")
        made.append((sentence.strip(), value))
    whole = {ACCURATE.get(word.strip(ORNAMENT).casefold()) for word in finals}
    if len(whole) != 1 or (accurate := whole.pop()) is None:
        return Problem(f"the final answer is {' and '.join(finals)[:40]!r}, not accurate or inaccurate")
    if accurate != all(value for _, value in made):
        return Problem("the final answer does not agree with the labels: it is accurate only if every sentence is")
    for line in aside or ():
        said_there = {match.group(1) is None for match in _WORD.finditer(line)}
        if said_there == {not accurate}:
            return Problem(f"it says otherwise beside its labels: {line.strip()[:60]!r}")
    return Labelled(tuple(made), accurate)
