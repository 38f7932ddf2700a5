"""What a builder answers, stage by stage, read from JSON: the part that can be used, and what is wrong with the rest."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from truebench_hf.benchmarks.flexbench.procedure import Dimension, Segment
from truebench_hf.data.rows import Record, Row
from truebench_hf.errors import UserError
from truebench_hf.judging import checklists
from truebench_hf.metrics.pass_rate import UNGATED, circle
from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

T = TypeVar("T")
R = TypeVar("R", bound=Row)
WARMER = 0.2  # by how much the temperature rises from one try to the next (appendix B.5)
_MOST = 12  # findings told to the builder at once


@dataclass(frozen=True)
class DerivationReading(Generic[T]):
    """The part of an answer that can be used, None for nothing, and a line for each fault of the rest.

    A builder is asked again because of `faults` and of `doubts`. If it insists, what is in doubt is kept as it is.
    """

    value: T | None
    faults: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


async def ask_json(
    caller: Caller, prompts: Prompts, prompt: str, values: Mapping[str, Any],
    read: Callable[[dict[str, Any]], T | Problem], *, sampling: Sampling, example: str, sample: int = 0,
) -> T | Problem:  # fmt: skip
    """What `read` makes of the JSON object that the builder answers with, else the last Problem."""

    def reader(text: str, truncated: bool) -> T | Problem:
        import json_repair

        start = text.find("{")
        if truncated or start < 0:
            return Problem(CUT_OFF if truncated else "it holds no JSON object")
        try:  # small damage is repaired, since everything in it is checked afterwards
            value = json_repair.loads(re.sub(r"`{3,}\s*\Z", "", text[start:].strip()))
        except (ValueError, RecursionError):
            return Problem("its JSON cannot be read")
        return read(value) if isinstance(value, dict) and value else Problem("it holds no single JSON object")

    def again(why: str) -> str:
        return f"Your answer cannot be used: {why}. Give all of it again, in the form asked for, with this put right."

    request = ChatRequest((Message("user", prompts.render(prompt, **values)),), sampling, sample, example=example)
    return await ask(caller, request, reader, again, who="the builder", warmer=WARMER)


def read_form(value: dict[str, Any], form: type[R]) -> R | Problem:
    """The object that a model answers with as a row of a form, else what is wrong with it."""
    try:
        return Record("the object", value, kind="object").read(form)
    except UserError as error:
        return Problem(str(error))


def listed(value: Any, kind: type = str) -> list[Any]:
    """The entries of a list that are of this kind; [] for anything else."""
    return [entry for entry in value if isinstance(entry, kind)] if isinstance(value, list) else []


def strays(value: Any, kind: type, what: str) -> list[str]:
    """What is wrong where the entries of a list should be of one kind: nothing a builder wrote is left out in silence."""
    if value in (None, "", [], {}):
        return []
    entries = value if isinstance(value, list) else [value]
    wrong = entries if not isinstance(value, list) else [entry for entry in entries if not isinstance(entry, kind)]
    return [f"{json.dumps(entry, ensure_ascii=False)[:80]} is no {what}" for entry in wrong]


def problem(findings: Sequence[str]) -> Problem:
    """Findings as what is told to the builder."""
    more = len(findings) - _MOST
    return Problem("; ".join(findings[:_MOST]) + (f"; and {more} more" if more > 0 else ""))


_QUOTES = str.maketrans("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb", '"""\'\'""')
_MARKUP = r"[\s|*`#]+"  # what may differ between the words of an excerpt: blanks, and the marks of tables and emphasis


@dataclass(frozen=True)
class Segments:
    """The segments in the order of the instruction, its opening line, and the share of its text in none of them."""

    segments: tuple[Segment, ...]
    opening: str
    uncovered: float


def read_segments(value: dict[str, Any], instruction: str) -> DerivationReading[Segments]:
    """Segments that are excerpts and do not overlap; blanks, Markdown's marks and kinds of quotation marks may differ."""
    texts = [
        entry.get("segment", "") if isinstance(entry, dict) else entry
        for entry in listed(value.get("segments"), object)
    ]
    taken: list[tuple[int, int]] = []
    faults = [] if texts else ["there are no segments"]
    for number, text in enumerate(texts, 1):
        places = excerpts(str(text), instruction)
        free = [place for place in places if all(place[1] <= a or b <= place[0] for a, b in taken)]
        if free:
            taken.append(free[0])
        else:
            why = "overlaps with another one" if places else "is no excerpt of the instruction, to the letter"
            faults.append(f"segment {number} ({str(text)[:80]!r}) {why}")
    line = value.get("opening")
    places = excerpts(line, instruction) if isinstance(line, str) else []
    if isinstance(line, str) and line.strip() and not places:
        faults.append(f"the opening ({line[:80]!r}) does not stand in the instruction")
    segments = tuple(Segment(f"s{i}", instruction[a:b]) for i, (a, b) in enumerate(sorted(taken), 1))
    opening = instruction[slice(*places[0])] if places else ""
    inside = {at for a, b in taken for at in range(a, b)}
    signs = [at for at, sign in enumerate(instruction) if not sign.isspace()]
    uncovered = sum(at not in inside for at in signs) / len(signs) if signs else 0.0
    return DerivationReading(Segments(segments, opening, uncovered), tuple(faults))


def excerpts(text: str, instruction: str) -> list[tuple[int, int]]:
    """Return where a text stands in another one, whatever blanks, quotation marks and marks of Markdown lie between."""
    words = [word for word in re.split(_MARKUP, text.translate(_QUOTES)) if word]
    if not words:
        return []
    return [match.span() for match in re.finditer(_MARKUP.join(map(re.escape, words)), instruction.translate(_QUOTES))]


MOST = 10  # dimensions for each segment
# Japanese and Chinese may do without the sign.
_ASKS = re.compile(r"(?:[?\uff1f\u061f]|\u304b\u3002?|[\u5417\u5462]\u3002?)$")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_PARTS = {
    "a number": _NUMBER,
    "an item": re.compile(r"\[[^\[\]]{1,80}\]"),
    "a wording": re.compile(
        r"[\"\u201c\u201e\u00ab\u300c]([^\"\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d]{2,300})[\"\u201d\u201c\u00bb\u300d]"
    ),
    "a call": re.compile(r"\b[a-zA-Z]\w*_\w+\b"),  # of a tool, such as find_order
}
_NAME = {"a name": re.compile(r"(?<![.!?:\w\"\u201c(\[-])(?<=[\w,;)] )[A-Z\u00c0-\u00de][\w-]+")}  # within a sentence
_NOUNS = 0.15  # of words within sentences: a language that begins all nouns with a capital


def read_dimensions(
    value: dict[str, Any], segments: Sequence[Segment], instruction: str = "", *, keep: Iterable[str] = (), count: int = 0
) -> DerivationReading[tuple[Dimension, ...]]:  # fmt: skip
    """The dimensions of an answer, numbered anew: those without a fault, of which every segment in `keep` has one.

    With `count` there are as many as before. A dimension is marked by `check` where it says what the `instruction`
    holds and the segments that it cites do not.
    """
    texts = {segment.id: segment.text for segment in segments}
    words = re.findall(r"(?<=[\w,;)] )\w+", " ".join(texts.values()))  # within sentences
    nouns = sum(word[0].isupper() for word in words) > _NOUNS * len(words)
    kept, faults, doubts = list[Dimension](), list[str](), list[str]()
    entries = listed(value.get("dimensions"), dict)
    if len(entries) > (most := MOST * max(1, len(segments))):  # each is judged in every conversation
        return DerivationReading(
            (), (f"there are {len(entries)} dimensions for {len(segments)} segments; give {most} at most",)
        )
    faults += strays(value.get("dimensions"), dict, "object with a question")
    if not entries:
        faults.append("there are no dimensions")
    if count and len(entries) != count:
        faults.append(f"it has {len(entries)} dimensions, not the {count} there are")
    questions, cited = dict[str, int](), set[str]()
    for number, entry in enumerate(entries, 1):
        known = {key: entry[key] for key in ("question", "condition", "script") if isinstance(entry.get(key), str)}
        fields = {"question": ""} | {key: " ".join(text.split()) for key, text in known.items()}
        sources = tuple(dict.fromkeys(listed(entry.get("segments"))))
        dimension = Dimension(f"d{len(kept) + 1}", segments=sources, **fields)
        cited |= set(sources)
        question = dimension.question
        first = questions.setdefault(checklists.folded(question), number)
        wrong, doubtful = _checked(dimension, texts, instruction, _PARTS if nouns else _PARTS | _NAME)
        wrong += strays(entry.get("segments"), str, "id of a segment")
        wrong += [
            f"has a {key} that is no text" for key in ("condition", "script") if entry.get(key) and key not in known
        ]
        if first != number:
            wrong = [f"asks the same as dimension {first}"]
        if wrong:
            faults += [f"dimension {number} ({question[:80]!r}) {why}" for why in wrong]
            continue
        doubts += [f"{dimension.id} ({question[:80]!r}) {why}" for why in doubtful]
        kept.append(replace(dimension, check="; ".join(doubtful)))
    faults += [f"segment {name} is asked about by no dimension" for name in keep if name not in cited]
    return DerivationReading(tuple(kept), tuple(faults), tuple(doubts))


def _checked(
    dimension: Dimension, texts: dict[str, str], instruction: str, parts: Mapping[str, re.Pattern[str]]
) -> tuple[list[str], list[str]]:
    """(what is wrong with a dimension by itself, what is in doubt).

    Its script, and each of the `parts` of its texts, have to stand in the segments that it cites; where another part of
    the `instruction` holds them that is a doubt alone.
    """
    if not _ASKS.search(dimension.question):
        return ["is no question"], []
    if unknown := [name for name in dimension.segments if name not in texts]:
        return [f"cites {', '.join(unknown)}, which is no segment"], []
    if not dimension.segments:
        return ["cites no segment"], []
    cited = "\n".join(texts[name] for name in dimension.segments)
    invented = _lacking(dimension, f"{cited}\n{instruction}", parts)
    elsewhere = [part for part in _lacking(dimension, cited, parts) if part not in invented]
    why = "that stands in the instruction, but not in the segments that it cites"
    return [f"{part} that its segments do not hold" for part in invented], [f"{part} {why}" for part in elsewhere]


def _lacking(dimension: Dimension, cited: str, parts: Mapping[str, re.Pattern[str]]) -> list[str]:
    """What a dimension says and a text does not hold, each with what it is."""
    held, missing = folded(cited), list[str]()
    if dimension.script and not excerpts(dimension.script, cited):
        missing.append("has a script, a wording")
    for kind, pattern in parts.items():
        for part in dict.fromkeys(pattern.findall(f"{dimension.question}\n{dimension.condition}")):
            # Numbers and names as they are, 14 not in 140 and Ann not in Annual.
            plain = folded(part)
            edges = "{}" if kind == "a wording" else r"(?<!\w){}(?!\w)"
            stands = (
                plain in _NUMBER.findall(held)
                if kind == "a number"
                else re.search(edges.format(re.escape(plain)), held)
            )
            if not stands:
                missing.append(f"says {part!r}, {kind}")
    return missing


def folded(text: str) -> str:
    """A text by which wordings are compared: letter case, width of letters and blanks aside."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def dimensions_example(segments: Sequence[Segment], dimensions: Sequence[Dimension]) -> str:
    """An answer of the usual length: the dimensions as they are, or one for every segment."""
    rows = dimensions or [
        Dimension("", f"Does the generated conversation do this: {segment.text}?", (segment.id,))
        for segment in segments
    ]
    keys = ("question", "condition", "script", "segments")
    return json.dumps({"dimensions": [{key: getattr(row, key) for key in keys} for row in rows]}, ensure_ascii=False)


LOGIC_EXAMPLE = '{"groups": []}'


def read_logic(value: dict[str, Any], dimensions: Sequence[Dimension]) -> DerivationReading[tuple[Dimension, ...]]:
    """The dimensions with their base actions and exclusions: those of the groups that hold, and what is wrong with others."""
    if not isinstance(value.get("groups"), list):
        return DerivationReading(None, ("it has no list `groups`",))
    known = {dimension.id for dimension in dimensions}
    structure: dict[str, str | None] = dict.fromkeys(known)
    excluded: dict[str, str] = {}
    faults = strays(value["groups"], dict, "object with a base and branches")
    for number, group in enumerate(listed(value["groups"], dict), 1):
        base, branches, sets = group.get("base"), listed(group.get("branches")), dict[str, str]()
        wrong = [] if branches else ["has no branches"]
        wrong += strays(group.get("branches"), str, "id of a dimension")
        if base is not None and (not isinstance(base, str) or base not in known):
            wrong.append(f"its base {base!r} is no dimension")
        wrong += [f"its branch {name!r} is no dimension" for name in branches if name not in known]
        exclusive = group.get("exclusive")  # one set may stand there by itself
        wrong += [] if listed(exclusive) else strays(exclusive, list, "list of branches that exclude each other")
        for place, members in enumerate([exclusive] if listed(exclusive) else listed(exclusive, list), 1):
            names = list(dict.fromkeys(map(str, members)))
            wrong += [] if len(names) > 1 else ["what excludes each other is two branches at least"]
            wrong += [f"{name!r} excludes others and is no branch of it" for name in names if name not in branches]
            wrong += [f"{name} stands in two sets that exclude each other" for name in names if name in sets]
            sets |= dict.fromkeys(names, f"x{number}.{place}")
        bases: dict[str, str | None] = {} if wrong else dict.fromkeys(branches, str(base or UNGATED))
        wrong += [f"{name} is a branch of two groups" for name in bases if structure[name] is not None]
        around = [] if wrong else circle(structure | bases)
        wrong += [f"{', '.join(around)} depend on each other in a circle"] if around else []
        wrong += [f"{name} stands in two sets that exclude each other" for name in sets if name in excluded]
        if not wrong:
            structure |= bases
            excluded |= sets
        faults += [f"group {number}: {why}" for why in wrong]
    tied = (replace(d, base=structure[d.id], exclusive=excluded.get(d.id, "")) for d in dimensions)
    return DerivationReading(tuple(tied), tuple(faults))


FINDINGS_EXAMPLE = '{"missing": [], "duplicates": [], "invented": [], "unverifiable": []}'


def read_findings(value: dict[str, Any], dimensions: Sequence[Dimension]) -> DerivationReading[tuple[str, ...]]:
    """What a verifier found, a line each; () where dimensions are complete."""
    kinds = ("missing", "duplicates", "invented", "unverifiable")
    if absent := [key for key in kinds if not isinstance(value.get(key), list)]:
        return DerivationReading(None, (f"it has no list {', '.join(absent)}",))
    questions = {dimension.id for dimension in dimensions}
    doubles = value["duplicates"]
    pairs = [tuple(map(str, pair)) for pair in ([doubles] if listed(doubles) else listed(doubles, list))]
    named = [*map(str, value["invented"]), *map(str, value["unverifiable"]), *(name for pair in pairs for name in pair)]
    faults = [f"{name} is no dimension" for name in dict.fromkeys(named) if name not in questions]
    faults += [f"{list(pair)} is no pair of two dimensions" for pair in pairs if len(set(pair)) != 2]
    if faults:
        return DerivationReading(None, tuple(faults))
    # What is said to be missing counts in whatever form: left out, the dimensions would pass as complete.
    missing = [text if isinstance(text, str) else json.dumps(text, ensure_ascii=False) for text in value["missing"]]
    lines = [f"missing: {text}" for text in missing if text.strip() not in ("", "null", "[]", "{}")]
    lines += [f"{a} and {b} ask the same" for a, b in pairs]
    lines += [f"{name} demands what the instruction does not say" for name in listed(value["invented"])]
    lines += [f"{name} cannot be answered from a conversation" for name in listed(value["unverifiable"])]
    return DerivationReading(tuple(lines))
