"""Reading a judge's answer as hostile text: every statement of a label counts, checked against what was asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from truebench_hf.judging.blocks import Block, Reading, blocks, settled
from truebench_hf.judging.objects import Found, objects
from truebench_hf.judging.quotation import concludes_fail, is_quotation, says_fail
from truebench_hf.judging.statements import ALL, ANY, Statement, in_prose
from truebench_hf.judging.words import Words, narrow, offering, visible
from truebench_hf.normal_form import normal_form

L = TypeVar("L")

_NUMBERED = re.compile(r"[ \t*#]*(\d{1,6})[.):][ \t*]*(.*)")
# Around a label: TeX, and tags but for their names and numbers.
_TAGS = re.compile(
    r"\\(?:boxed|textbf|text|mathbf)\{|</?(?:b|strong|i|em|u|span|p|li|td|tr|th|br|h\d|code)\b[^<>\n]{0,60}>|~~\w{1,20}~~|"
    r"<(\w{1,20}) (?:id|n|no|number|index)=[\"']?(?=\d{1,3}[\"']?>)|</?(?=\w{1,40}>)"
)
# Marks of chat templates that a server leaves at the ends of an answer.
_BEGINS = re.compile(
    r"\A(?:assistant\n|<s>|<\|channel\|>\w+<\|message\|>|\[/INST\]|<\|(?:assistant|begin_of_text)\|>)\s*"
)
_ENDS = re.compile(r"(?:\[/INST\]|<\|\w{1,40}\|>|</s>|<(?:end_of_turn|eos|eot)>|<｜[^<>｜]{1,40}｜>)\Z")
DIFFER = "there are statements with different labels"


def read_verdicts(text: str, count: int, labels: Mapping[str, L], cut: bool = False) -> Reading[L]:
    """Read the verdicts on `count` criteria; `labels` maps each word on offer to its label (`{"PASS": "yes", ...}`).

    The verdicts are those of the last object with criteria. Every other statement counts too, in objects and in prose:
    where one differs, there is no verdict, but that a recount in prose may end in what the object says. Nor is
    there one where the object is somebody else's, quoted. An answer that was `cut` off counts only when the cut
    surely took nothing. Never raises.
    """
    text = _bare(normal_form("NFC", visible(text)))
    if '{\\"' in text and not re.search(r'\{\s{0,20}"', text):  # an answer as a string within a string
        text = text.replace('\\"', '"').replace("\\n", "\n")
    reading = _read(text, count, offering(labels), cut)
    if cut and reading.problems:
        told = ("the answer was cut off at the token limit",)
        return Reading({}, {}, told, reading.unclear if reading.differing else frozenset(), reading.differing)
    return reading


def _bare(text: str) -> str:
    text = _BEGINS.sub("", text.strip())
    while mark := _ENDS.search(text, max(0, len(text) - 60)):
        text = text[: mark.start()].rstrip()
    return text


def _read(text: str, count: int, words: Words[L], cut: bool) -> Reading[L]:
    seen = narrow(text)
    found = objects(seen)
    if found is None:
        return Reading({}, {}, ("a JSON object is not closed",))
    made = blocks(text, found, count, words)
    spoken = [block for block in made if not block.is_echo]
    chosen = (spoken or made)[-1] if made else None
    if chosen is None or not chosen.criteria:
        return Reading({}, {}, (f"no JSON object with criteria_1 to criteria_{count} was found",))
    reading = settled(chosen, count)
    if reading.differing:
        return reading
    prose = in_prose(_outside(seen, found), count, words)
    around = _around(seen[: chosen.left], seen[chosen.right :], words)
    if differing := _differing(reading, chosen, spoken, prose, around, count):
        named = ", ".join(f"criteria_{i + 1}" for i in sorted(differing))
        return Reading({}, {}, (f"{DIFFER} for {named}",), frozenset(range(count)), frozenset(differing))
    if why := _unsure(seen, chosen, cut):
        return Reading({}, {}, (why,))
    reasons = {**_numbered_reasons(text[: chosen.left], count), **reading.reasons}
    return Reading(reading.labels, reasons, reading.problems, reading.unclear, reading.differing)


def _differing(
    reading: Reading[L],
    chosen: Block[L],
    spoken: Sequence[Block[L]],
    prose: Sequence[Statement[L]],
    around: set[L],
    count: int,
) -> set[int]:
    """The criteria (from 0) of which something is said that differs from the chosen object."""
    found: set[int] = set()
    everything = set(range(count))
    for other in (block for block in spoken if block is not chosen):
        for one in other.stated:
            if not one.echo and 1 <= one.criterion <= count and one.label != reading.labels.get(one.criterion - 1):
                found.add(one.criterion - 1)
            elif one.criterion in (ALL, ANY) and reading.labels and one.label not in {*reading.labels.values(), None}:
                found |= everything
    whole: set[Any] = set(reading.labels.values()) if len(reading.labels) == count else set()
    for one in (*chosen.stated, *prose):
        if one.criterion == ALL and one.label is not None and whole and _against(one.label, whole):
            found |= everything
    stray = {one.label for one in (*chosen.stated, *prose) if one.criterion == ANY}
    # Beside the object a label that stands nowhere in it takes it back, in whatever sentence.
    if whole and any(label not in whole for label in around | stray):
        found |= everything
    for i, label in reading.labels.items():
        about = [one for one in prose if one.criterion == i + 1]
        before = [one for one in about if one.at < chosen.left]
        last = [*before[-1:], *[one for one in before if one.sure and not one.quoted][-1:]]
        # A recount takes back what the same hand wrote: not within a quotation what stands outside of one.
        elsewhere = [one for one in before if one.label != label and last and one.quoted != last[0].quoted]
        if elsewhere or any(one.label != label for one in [*last, *(one for one in about if one.at >= chosen.right)]):
            found.add(i)
    return found


def _around(before: str, after: str, words: Words[L]) -> set[Any]:
    """The labels that stand behind the object in whatever sentence, and what the sentence before it comes to."""
    fails = "no" in words.offered.values() and (says_fail(after) or concludes_fail(before))
    return words.as_offered(after) | ({"no"} if fails else set())


def _against(label: Any, labels: set[Any]) -> bool:
    """Whether a label of the whole contradicts those of its parts."""
    return "no" not in labels if label == "no" else labels != {label}


def _unsure(text: str, block: Block[L], cut: bool) -> str:
    """Why an object cannot be taken for the judge's verdict, "" where it can."""
    if cut:
        # An object in running text may be a quotation whose sentence was cut off.
        sure = block.right == len(text) and (block.fenced or not text[: block.left].strip())
        return "" if sure else "the answer goes on"
    return is_quotation(text[: block.left], text[block.right :], block.fenced)


def _outside(text: str, found: Sequence[Found]) -> str:
    """The text with its objects blanked out, every line and letter at its place."""
    parts, at = [], 0
    for one in found:
        parts += [text[at : one.start], re.sub(r"[^\n]", "\x00", text[one.start : one.end])]
        at = one.end
    return _TAGS.sub(
        lambda match: match[1].rjust(len(match[0])) if match[1] else " " * len(match[0]), "".join([*parts, text[at:]])
    )


def _numbered_reasons(text: str, count: int) -> dict[int, str]:
    """The reasons by their numbers, in order: a list within the reason of 1 may count from 1 again."""
    reasons: list[list[str]] = []
    for line in text.splitlines():
        match = _NUMBERED.match(line)
        if match and len(reasons) < count and int(match.group(1)) == len(reasons) + 1:
            reasons.append([match.group(2)])
        elif reasons:
            reasons[-1].append(line)
    return {i: " ".join(" ".join(lines).split()) for i, lines in enumerate(reasons)}
