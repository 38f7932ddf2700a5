"""Asking the builder for JSON, repaired by a library, and again where the program finds fault with what it says."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from truebench_hf.benchmarks.flexbench.procedure import Dimension, Segment
from truebench_hf.judging import checklists
from truebench_hf.metrics.flexeval import UNGATED, circle
from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

T = TypeVar("T")
WARMER = 0.2  # by how much the temperature rises from one try to the next (appendix B.5)
_MOST = 12  # findings told to the builder at once


async def ask_json(
    caller: Caller, prompts: Prompts, prompt: str, values: Mapping[str, Any],
    read: Callable[[dict[str, Any]], T | Problem], *, sampling: Sampling, example: str, sample: int = 0,
) -> T | Problem:  # fmt: skip
    """What `read` makes of the JSON object that the builder answers with, else the last Problem."""

    def reader(text: str, truncated: bool) -> T | Problem:
        value = Problem(CUT_OFF) if truncated else parsed(text)
        return value if isinstance(value, Problem) else read(value)

    request = ChatRequest((Message("user", prompts.render(prompt, **values)),), sampling, sample, example=example)
    return await ask(caller, request, reader, _again, who="the builder", warmer=WARMER)


def parsed(text: str) -> dict[str, Any] | Problem:
    """The one JSON object of an answer; small damage is repaired, since everything in it is checked afterwards."""
    import json_repair

    start = text.find("{")
    if start < 0:
        return Problem("it holds no JSON object")
    try:
        value = json_repair.loads(re.sub(r"`{3,}\s*\Z", "", text[start:].strip()))
    except (ValueError, RecursionError):
        return Problem("its JSON cannot be read")
    if not isinstance(value, dict) or not value:
        return Problem("it holds no single JSON object")
    return value


def listed(value: Any, kind: type = str) -> list[Any]:
    """The entries of a list that are of this kind; [] for anything else."""
    return [entry for entry in value if isinstance(entry, kind)] if isinstance(value, list) else []


def problem(findings: Sequence[str]) -> Problem:
    """Findings as what is told to the builder."""
    more = len(findings) - _MOST
    return Problem("; ".join(findings[:_MOST]) + (f"; and {more} more" if more > 0 else ""))


def _again(said: str) -> str:
    return f"Your answer cannot be used: {said}. Give all of it again, in the form asked for, with this put right."


_QUOTES = str.maketrans("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb", '"""\'\'""')


@dataclass(frozen=True)
class Segments:
    """The segments in the order of the instruction, its opening line, and the share of its text in none of them."""

    segments: tuple[Segment, ...]
    opening: str
    uncovered: float


def read_segments(value: dict[str, Any], instruction: str) -> Segments | Problem:
    """Segments that are excerpts and do not overlap; blanks and kinds of quotation marks may differ."""
    texts = [
        entry.get("segment", "") if isinstance(entry, dict) else entry
        for entry in listed(value.get("segments"), object)
    ]
    taken: list[tuple[int, int]] = []
    findings = []
    for number, text in enumerate(texts, 1):
        places = found(str(text), instruction)
        free = [place for place in places if all(place[1] <= a or b <= place[0] for a, b in taken)]
        if free:
            taken.append(free[0])
        else:
            why = "overlaps with another one" if places else "is no excerpt of the instruction, to the letter"
            findings.append(f"segment {number} ({str(text)[:80]!r}) {why}")
    if not texts:
        findings.append("there are no segments")
    said = value.get("opening")
    opening = found(said, instruction) if isinstance(said, str) else []
    if isinstance(said, str) and said.strip() and not opening:
        findings.append(f"the opening ({said[:80]!r}) does not stand in the instruction")
    if findings:
        return problem(findings)
    segments = tuple(Segment(f"s{i}", instruction[a:b]) for i, (a, b) in enumerate(sorted(taken), 1))
    return Segments(segments, instruction[slice(*opening[0])] if opening else "", uncovered(instruction, taken))


def found(text: str, whole: str) -> list[tuple[int, int]]:
    """Where a text stands in another one, whatever blanks and quotation marks it has."""
    words = text.translate(_QUOTES).split()
    if not words:
        return []
    pattern = r"\s+".join(map(re.escape, words))
    return [match.span() for match in re.finditer(pattern, whole.translate(_QUOTES))]


def uncovered(instruction: str, taken: list[tuple[int, int]]) -> float:
    """The share (0..1) of the instruction's characters, blanks aside, that no segment holds."""
    inside = {at for a, b in taken for at in range(a, b)}
    told = [at for at, sign in enumerate(instruction) if not sign.isspace()]
    return sum(at not in inside for at in told) / len(told) if told else 0.0


def segments_example(instruction: str) -> str:
    """An answer of the usual length: every line a segment."""
    return json.dumps({"opening": "", "segments": [line for line in instruction.splitlines() if line.strip()]})


MOST = 10  # dimensions for each segment
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_BRACKETS = re.compile(r"\[[^\[\]]{1,80}\]")
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab\u300c]([^\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]{2,300})[\"\u201d\u201c\u00bb\u300d]"
)
_NAME = re.compile(r"(?<![.!?:\w\"\u201c(\[-])(?<=[\w,;)] )[A-Z\u00c0-\u00de][\w-]+")  # within a sentence
_NOUNS = 0.15  # of words within sentences: a language that begins all nouns with a capital


def read_dimensions(
    value: dict[str, Any], segments: Sequence[Segment], instruction: str = "", *, keep: Iterable[str] = ()
) -> tuple[Dimension, ...] | Problem:
    """The dimensions of an answer, numbered anew. A Problem says what is wrong with which.

    Every segment in `keep` has to be cited. A dimension is marked by `check` where it says what the `instruction` holds
    and the segments that it cites do not.
    """
    texts = {one.id: one.text for one in segments}
    nouns = capitalised(" ".join(texts.values())) > _NOUNS
    made, findings = [], []
    entries = listed(value.get("dimensions"), dict)
    if len(entries) > (most := MOST * max(1, len(segments))):  # each is judged in every conversation
        return Problem(f"there are {len(entries)} dimensions for {len(segments)} segments; give {most} at most")
    for number, entry in enumerate(entries, 1):
        one = _dimension(f"d{number}", entry)
        faults, doubts = wrong(one, texts, instruction, names=not nouns)
        findings += [f"dimension {number} ({one.question[:80]!r}) {why}" for why in faults]
        made.append(replace(one, check="; ".join(doubts)))
    findings += [f"{a} and {b} ask the same" for a, b in duplicates(made)]
    cited = {name for one in made for name in one.segments}
    findings += [f"segment {name} is asked about by no dimension" for name in keep if name not in cited]
    if not made:
        findings.append("there are no dimensions")
    return problem(findings) if findings else tuple(made)


def _dimension(name: str, entry: dict[str, Any]) -> Dimension:
    question, condition, script = (
        " ".join(entry[key].split()) if isinstance(entry.get(key), str) else ""
        for key in ("question", "condition", "script")
    )
    return Dimension(name, question, tuple(dict.fromkeys(listed(entry.get("segments")))), condition, script=script)


def wrong(
    one: Dimension, texts: dict[str, str], instruction: str = "", *, names: bool = True
) -> tuple[list[str], list[str]]:
    """What is wrong with a dimension by itself (its question, what it cites, what none of that says), and what is in doubt.

    Numbers, scripts, names in brackets or quotation marks and, with `names`, words that begin with a capital within a
    sentence have to stand in the segments that it cites; where another part of the `instruction` holds them that is a
    doubt alone.
    """
    if not one.question or one.question[-1] not in "?\uff1f\u061f":
        return ["is no question"], []
    if unknown := [name for name in one.segments if name not in texts]:
        return [f"cites {', '.join(unknown)}, which is no segment"], []
    if not one.segments:
        return ["cites no segment"], []
    cited = "\n".join(texts[name] for name in one.segments)
    lacking = _lacking(one, cited, names=names)
    beyond = {text for text, _ in _lacking(one, f"{cited}\n{instruction}", names=names)}
    faults = [f"{text}, {what} that its segments do not hold" for text, what in lacking if text in beyond]
    held = "stands in the instruction, but not in the segments that it cites"
    return faults, [f"{text}, {what} that {held}" for text, what in lacking if text not in beyond]


def _lacking(one: Dimension, cited: str, *, names: bool) -> list[tuple[str, str]]:
    """What a dimension says and a text does not hold, and what that is."""
    missing = [("has a script", "a wording")] if one.script and not found(one.script, cited) else []
    said = f"{one.question}\n{one.condition}"
    own = {"number": _NUMBER.findall(said), "item": _BRACKETS.findall(said), "wording": _QUOTED.findall(said)}
    own["name"] = _NAME.findall(said) if names else []
    for kind, parts in own.items():
        lacking = [part for part in dict.fromkeys(parts) if not _stands(kind, folded(part), cited)]
        missing += [(f"says {part!r}", f"{'an' if kind == 'item' else 'a'} {kind}") for part in lacking]
    return missing


def capitalised(text: str) -> float:
    """The share of words within sentences that begin with a capital."""
    words = re.findall(r"(?<=[\w,;)] )\w+", text)
    return sum(word[0].isupper() for word in words) / len(words) if words else 0.0


def duplicates(dimensions: Sequence[Dimension]) -> list[tuple[str, str]]:
    """Pairs whose questions differ at most in letter case, blanks and signs."""
    seen: dict[str, str] = {}
    return [
        (seen[key], one.id)
        for one in dimensions
        if (key := checklists.folded(one.question)) and seen.setdefault(key, one.id) != one.id
    ]


def _stands(kind: str, part: str, cited: str) -> bool:
    """Whether a part stands in the text cited: numbers and names as a whole, 14 not in 140 and Ann not in Annual."""
    held = folded(cited)
    if kind == "number":
        return part in _NUMBER.findall(held)
    return part in held if kind == "wording" else re.search(rf"(?<!\w){re.escape(part)}(?!\w)", held) is not None


def folded(text: str) -> str:
    """A text by which names and wordings are compared: letter case, width of letters and blanks aside."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def dimensions_example(segments: Sequence[Segment], dimensions: Sequence[Dimension]) -> str:
    """An answer of the usual length: the dimensions as they are, or one for every segment."""
    made = dimensions or [
        Dimension("", f"Does the generated conversation do this: {one.text}?", (one.id,)) for one in segments
    ]
    keys = ("question", "condition", "script", "segments")
    return json.dumps({"dimensions": [{key: getattr(one, key) for key in keys} for one in made]}, ensure_ascii=False)


LOGIC_EXAMPLE = '{"groups": []}'


def read_logic(value: dict[str, Any], dimensions: Sequence[Dimension]) -> tuple[Dimension, ...] | Problem:
    """The dimensions with their base actions and exclusions; a Problem says what cannot be."""
    if not isinstance(value.get("groups"), list):
        return Problem("it has no list `groups`")
    known = {one.id: one for one in dimensions}
    bases: dict[str, str] = {}
    excluded: dict[str, str] = {}
    findings: list[str] = []
    for number, group in enumerate(listed(value["groups"], dict), 1):
        base, branches = group.get("base"), listed(group.get("branches"))
        if base is not None and (not isinstance(base, str) or base not in known):
            findings.append(f"group {number}: its base {base!r} is no dimension")
        for name in branches:
            if name not in known:
                findings.append(f"group {number}: its branch {name!r} is no dimension")
            elif name in bases:
                findings.append(f"{name} is a branch of two groups")
            else:
                bases[name] = str(base or UNGATED)
        if not branches:
            findings.append(f"group {number} has no branches")
        findings += _exclusive(number, _sets(group.get("exclusive")), branches, excluded)
    structure = {name: bases.get(name) for name in known}
    if around := circle(structure):
        findings.append(f"{', '.join(around)} depend on each other in a circle")
    if findings:
        return problem(findings)
    return tuple(replace(one, base=structure[one.id], exclusive=excluded.get(one.id, "")) for one in dimensions)


def _sets(value: Any) -> list[Any]:
    """Sets of branches that exclude each other; one set may stand there by itself."""
    return [value] if listed(value) else listed(value, list)


def _exclusive(number: int, sets: list[Any], branches: list[str], excluded: dict[str, str]) -> list[str]:
    """Note which branches exclude each other; what is wrong with the sets."""
    findings = []
    for place, names in enumerate(sets, 1):
        names = list(dict.fromkeys(map(str, names)))
        if len(names) < 2:
            findings.append(f"group {number}: what excludes each other is two branches at least")
        for name in names:
            if name not in branches:
                findings.append(f"group {number}: {name!r} excludes others and is no branch of it")
            elif name in excluded:
                findings.append(f"{name} stands in two sets that exclude each other")
            else:
                excluded[name] = f"x{number}.{place}"
    return findings


FINDINGS_EXAMPLE = '{"missing": [], "duplicates": [], "invented": [], "unverifiable": []}'


@dataclass(frozen=True)
class Findings:
    """What a verifier found, a line each; complete without any."""

    lines: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to mend."""
        return not self.lines


def read_findings(value: dict[str, Any], dimensions: Sequence[Dimension]) -> Findings | Problem:
    """The findings of an answer; a Problem where a list is absent, or names a dimension that is not there."""
    absent = [
        key for key in ("missing", "duplicates", "invented", "unverifiable") if not isinstance(value.get(key), list)
    ]
    if absent:
        return Problem(f"it has no list {', '.join(absent)}")
    questions = {one.id: one.question for one in dimensions}
    told = value["duplicates"]
    pairs = [tuple(map(str, pair)) for pair in ([told] if listed(told) else listed(told, list))]
    named = [*map(str, value["invented"]), *map(str, value["unverifiable"]), *(name for pair in pairs for name in pair)]
    findings = [f"{name} is no dimension" for name in dict.fromkeys(named) if name not in questions]
    findings += [f"{list(pair)} is no pair of two dimensions" for pair in pairs if len(set(pair)) != 2]
    if findings:
        return problem(findings)
    # What is said to be missing counts in whatever form: left out, the dimensions would pass as complete.
    missing = [
        text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in value["missing"] if text
    ]
    lines = [f"missing: {text}" for text in missing if text.strip()]
    lines += [f"{a} and {b} ask the same" for a, b in pairs]
    lines += [f"{name} demands what the instruction does not say" for name in listed(value["invented"])]
    lines += [f"{name} cannot be answered from a conversation" for name in listed(value["unverifiable"])]
    return Findings(tuple(lines))
