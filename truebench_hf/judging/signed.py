"""Reads a judge's labels where they were asked for: in the object that is signed by the tag of the prompt.

The tag is made of the very texts that the judge is shown (`prompts.fence`), so none of them can hold it, and no quotation
of them is taken for the judge's own word. What an answer says around its signed objects is never weighed, so that
whether it can be read does not depend on which labels it holds: what is refused is form alone.

Two criteria, each PASS or FAIL:

    labels = dict.fromkeys(["criteria_1", "criteria_2"], {"PASS": "yes", "FAIL": "no"})
    text = 'The title is missing. {"id": "3f9a2c41", "criteria_1": {"reason": "...", "verdict": "PASS"}, "criteria_2": "FAIL"}'
    answer = read_signed(text, "3f9a2c41", labels)
    answer.labels == {"criteria_1": "yes", "criteria_2": "no"}; answer.reasons == {"criteria_1": "..."}

Three facts with words of their own, and fields that are handed back as they are:

    labels = {"applies": {"yes": True, "no": False}, "attempted": {"yes": True, "no": False, "null": None}}
    text = 'I looked. {"id": "3f9a2c41", "turn": 2, "applies": "no", "attempted": null}'
    answer = read_signed(text, "3f9a2c41", labels)
    answer.labels == {"applies": False, "attempted": None}; answer.fields == {"turn": 2}; answer.before == "I looked."
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from truebench_hf.judging.loose_json import JsonObject, TooManyObjects, find_objects, strip_invisible

L = TypeVar("L")
ID = "id"
CUT_OFF = "the answer was cut off at the token limit"
TRAILING = "the text behind the JSON object speaks of verdicts again"
_ORNAMENT = " \t\r\n*_~`\"'“”‘’「」«».。!！[]()<>✅✔✓☑🟢👍❌✗✘✖☒🔴👎"
_REASON = re.compile(r"(?:\w*_)?(?:reason\w*|explanation|rationale|analysis|comment|note|evidence|justification)s?")
_NUMBERED = re.compile(r"(?P<stem>.+)_(?P<number>\d{1,6})")
_ALIAS = re.compile(r"(?:[^\W\d]*_?)0*(\d{1,6})")  # "1", "criterion_1", "Kriterium 1", "기준1" for criteria_1
_IDENTITIES = ("criterion", "criteria", "key", "number", "index", "question", "item", "requirement", ID)
_SEPARATED = re.compile(r"[\s*_`\"'✅✔✓❌✗✘]*[-–—:;,.(：，（]")
_CLOSING = re.compile(r"[\s`~}\])]|</?\w{1,30}>|<\|\w{1,30}\|>")
_LINE = re.compile(r"[ \t*#]*(\d{1,6})[.):][ \t*]*(.*)")
_NOTHING: Any = object()

Labels = Mapping[str, Mapping[str, L]]


class ListOf(dict[str, L]):
    """Words of which a key holds a list: each item is one of them, or an object with one. Without words it is any list.

    The label of such a key is the tuple of the items as they stand; `label_of` tells the word of each.
    """


@dataclass(frozen=True, slots=True)
class SignedAnswer(Generic[L]):
    """What an answer states: the label of every key that has exactly one valid one, and what is wrong with the form.

    `reasons` are by key, `fields` the further entries of the object, `before` is the text before it. Of the keys that
    the answer speaks of, `unclear` ones have no valid label, and `corrected` ones had another label in an earlier object
    of the same answer. `signed` says whether the object has the tag. Labels with `problems` beside them count only
    where further answers say the same: see `signed_asking.ask_signed`, which sets `asks`, the answers it took, and
    `failed`: the request failed, so that there is nothing to read.
    """

    labels: Mapping[str, L]
    problems: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    before: str = ""
    unclear: frozenset[str] = frozenset()
    corrected: frozenset[str] = frozenset()
    signed: bool = True
    asks: int = 1
    failed: bool = False

    @property
    def problem(self) -> str:
        """The problems in one line; "" where every label was read."""
        return "; ".join(self.problems)

    @property
    def reason(self) -> str:
        """What is said for the labels as a whole: the object's own reason, else the text before it."""
        reason = self.fields.get("reason")
        return reason.strip() if isinstance(reason, str) and reason.strip() else self.before


def read_signed(
    text: str, tag: str, labels: Labels[L], *, unsigned: bool = False, truncated: bool = False
) -> SignedAnswer[L]:
    """Read the label of every key of `labels`, which maps each key to the words on offer and what they stand for.

    The words are compared without case and ornament; `null`, `true` and whole numbers are offered as such words. Of
    several signed objects the last one that names a key counts. Behind the last one nothing may follow that names a key
    or a word on offer, or that opens another object. With `unsigned`, objects without the tag are read where no object
    has it: only for a judge that was shown nothing forgeable (`is_forgeable`). Never raises.
    """
    text = strip_invisible(text)
    try:
        answer = _read(text, tag, labels, unsigned, truncated)
        if answer is None and '\\"' in text:  # a string within a string
            answer = _read(text.replace("\\n", "\n").replace('\\"', '"'), tag, labels, unsigned, truncated)
    except TooManyObjects:
        return SignedAnswer({}, ("it holds too many braces to be read",), signed=False)
    if answer is not None:
        return answer
    return SignedAnswer({}, (CUT_OFF if truncated else _missing(tag, labels),), signed=False)


def is_forgeable(labels: Labels[Any], *material: str) -> bool:
    """Return whether texts that a judge is shown hold anything that it could quote in place of an answer of its own."""
    named = _key_pattern(labels)
    for text in map(strip_invisible, material):
        if named.search(text):
            return True
        try:
            if any(_statements(made, labels) for _, _, made in find_objects(text.replace('\\"', '"'))):
                return True
        except TooManyObjects:
            return True
    return False


def criteria_labels(count: int, words: Mapping[str, L]) -> dict[str, Mapping[str, L]]:
    """The keys criteria_1 to criteria_`count`, each with the same words."""
    return {f"criteria_{number}": words for number in range(1, count + 1)}


def signed_schema(tag: str | None, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object with these properties, all of them required, behind the tag under `id` if there is one."""
    signature = {} if tag is None else {ID: {"type": "string", "const": tag}}
    fields = {**signature, **properties}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def label_of(value: Any, words: Mapping[str, L]) -> L | None:
    """The label that a value states, a word or an object with exactly one such word; None where it states none.

    For words that stand for None use `read_signed`.
    """
    label = _label(value, _folded(words))
    return None if label is _NOTHING else label


def named_keys(labels: Labels[Any]) -> str:
    """The keys as a sentence names them."""
    keys = list(labels)
    return ", ".join(keys) if len(keys) < 4 or not _NUMBERED.fullmatch(keys[0]) else f"{keys[0]} to {keys[-1]}"


def _missing(tag: str, labels: Labels[Any]) -> str:
    return f'it has no JSON object with "{ID}": "{tag}"' + (f" and {named_keys(labels)}" if labels else "")


def _read(text: str, tag: str, labels: Labels[L], unsigned: bool, truncated: bool) -> SignedAnswer[L] | None:
    """The answer that the objects of a text give, None where it has no object to read."""
    parts = _signed_objects(text, tag) if tag in text else []
    signed = bool(parts)
    if unsigned and not signed:
        parts = [one for one in find_objects(text) if _statements(one[2], labels)]
    if not parts:
        return None
    behind = _CLOSING.sub(" ", text[parts[-1][1] :])
    if truncated and behind.strip():
        return SignedAnswer({}, (CUT_OFF,), signed=signed)
    answer = _joined([part for _, _, part in parts], labels)
    if _may_contradict(text[parts[-1][1] :], labels):
        return SignedAnswer({}, (TRAILING,), unclear=frozenset(labels), signed=signed)
    before = re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", text[: parts[0][0]]).strip()
    reasons = {**_numbered_reasons(before, labels), **answer.reasons}
    return SignedAnswer(
        answer.labels, answer.problems, reasons, answer.fields, before, answer.unclear, answer.corrected, signed
    )


def _may_contradict(behind: str, labels: Labels[Any]) -> bool:
    """Whether the text behind the last object could take back what the object states."""
    words = {word for offered in labels.values() for word in offered}
    spelt = (rf"(?-i:{re.escape(word)})" if len(word) == 1 else re.escape(word) for word in sorted(words))
    offered = re.compile(rf"(?<!\w)(?:{'|'.join(spelt) or '(?!)'})(?!\w)", re.IGNORECASE)
    return "{" in behind or bool(offered.search(behind) or _key_pattern(labels).search(behind))


def _key_pattern(labels: Labels[Any]) -> re.Pattern[str]:
    """Finds the keys in prose: `criteria_1` in "Criterion 1", and `rating` where a value follows it."""
    forms = set()
    for key in labels:
        if numbered := _NUMBERED.fullmatch(key):
            forms.add(rf"\b{re.escape(numbered['stem'][:6])}\w{{0,20}}[\W_]{{0,4}}\d")
        else:
            forms.add(rf"\b{re.escape(key).replace('_', '[_ ]')}\b[\"'”*`\\]{{0,4}}\s{{0,5}}[:=：]")
    return re.compile("|".join(sorted(forms)) or r"(?!)", re.IGNORECASE)


def _signed_objects(text: str, tag: str) -> list[tuple[int, int, JsonObject]]:
    """(start, end, object) of every object that bears the tag: those that open with it, or else wherever one has it."""
    if objects := list(find_objects(text, tag)):
        return objects
    found = ((start, end, _signed_part(made, tag)) for start, end, made in find_objects(text))
    return [(start, end, part) for start, end, part in found if part is not None]


def _signed_part(made: JsonObject, tag: str, depth: int = 0) -> JsonObject | None:
    """The object that bears the tag: the given one, or one within it."""
    if any(_fold(name) == ID and str(value).strip(_ORNAMENT) == tag for name, value in made.pairs):
        return made
    if depth < 2:
        for _, value in made.pairs:
            if isinstance(value, JsonObject) and (part := _signed_part(value, tag, depth + 1)) is not None:
                return part
    return None


def _joined(parts: Iterable[JsonObject], labels: Labels[L]) -> SignedAnswer[L]:
    """What objects state together: of each key what the last one that names it does."""
    values: dict[
        str, list[Any]
    ] = {}  # of each key its labels, one per object; _NOTHING where an object has no valid one
    problems: dict[str, str] = {}
    reasons: dict[str, str] = {}
    fields: dict[str, Any] = {}
    doubled = False
    for part in parts:
        statements = _statements(part, labels)
        for key, stated in statements.items():
            label = _label(stated[0], _folded(labels[key])) if key in labels else _NOTHING
            values.setdefault(key, []).append(label if len(stated) == 1 else _NOTHING)
            problems[key] = _problem(key, stated, labels)
            doubled = doubled or len(stated) > 1
            reasons |= {key: reason} if (reason := _reason(stated[0])) else {}
        fields = {name: value for name, value in part.items() if _fold(name) != ID and _key(name, labels) is None}
    wrong = [problems[key] for key, given in values.items() if given[-1] is _NOTHING]
    wrong += [f"{key} is missing" for key in labels if key not in values]
    known = {key: given[-1] for key, given in values.items() if given[-1] is not _NOTHING}
    corrected = frozenset(key for key, given in values.items() if len({repr(one) for one in given}) > 1)
    if any(key not in labels for key in values) or doubled:
        known = {}  # who counts otherwise means other criteria by the same numbers; who states two labels is unreliable
    unclear = frozenset(key for key in values if key in labels and key not in known)
    return SignedAnswer(known, tuple(wrong), reasons, fields, unclear=unclear, corrected=corrected & labels.keys())


def _problem(key: str, stated: list[Any], labels: Labels[Any]) -> str:
    if key not in labels:
        return f"{key} was not asked for"
    if len(stated) > 1:
        return f"{key} is given {len(stated)} times"
    value = stated[0]
    if isinstance(labels[key], ListOf):
        return f"{key} is no list" + (f" with one of {', '.join(labels[key])} an item" if labels[key] else "")
    shown = "an object without one label" if isinstance(value, JsonObject) else _shown(value)
    return f"{key} is {shown}, not {' or '.join(labels[key])}"


def _statements(made: JsonObject, labels: Labels[Any], depth: int = 0) -> dict[str, list[Any]]:
    """What an object, or those within it, have under each key."""
    found: dict[str, list[Any]] = {}
    for name, value in made.pairs:
        if (key := _key(name, labels)) is not None and (key == _fold(name) or _is_label(value, labels)):
            found.setdefault(key, []).append(value)
        elif depth < 3 and not _REASON.fullmatch(_fold(name)):
            for inner in value if isinstance(value, list) else [value]:
                for key, values in _inner_statements(inner, labels, depth + 1):
                    found.setdefault(key, []).extend(values)
    if not found and depth == 0 and len(labels) == 1 and _is_label(made, labels):
        found = {next(iter(labels)): [made]}  # {"id": ..., "verdict": "PASS"} where one criterion is asked about
    return found


def _inner_statements(inner: Any, labels: Labels[Any], depth: int) -> Iterator[tuple[str, list[Any]]]:
    """What an object within another states; {"criterion": 1, "verdict": "PASS"} is a statement about criteria_1."""
    if not isinstance(inner, JsonObject):
        return
    named = [str(value) for name, value in inner.pairs if _fold(name) in _IDENTITIES]
    keys = {key for value in named if (key := _key(value, labels)) is not None}
    if len(keys) == 1 and _is_label(inner, labels):
        yield keys.pop(), [inner]
    else:
        yield from _statements(inner, labels, depth).items()


def _key(name: str, labels: Labels[Any]) -> str | None:
    """The key that a name stands for: its own, or the numbered one with its number, be it on offer or not."""
    folded = _fold(name)
    if folded in labels:
        return folded
    stems = {match["stem"] for key in labels if (match := _NUMBERED.fullmatch(key))}
    number = _ALIAS.fullmatch(folded)
    return f"{stems.pop()}_{int(number[1])}" if len(stems) == 1 and number else None


def _fold(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def _folded(words: Mapping[str, L]) -> dict[str, L]:
    folded = {word.casefold(): label for word, label in words.items()}
    return ListOf(folded) if isinstance(words, ListOf) else folded


def _is_label(value: Any, labels: Labels[Any]) -> bool:
    return any(_label(value, _folded(words)) is not _NOTHING for words in labels.values())


def _label(value: Any, words: Mapping[str, Any]) -> Any:
    """The label that a value is, or that exactly one field of an object is, its reasons aside; _NOTHING where none is."""
    if isinstance(words, ListOf):
        valid = isinstance(value, list) and not (words and _NOTHING in (_label(item, dict(words)) for item in value))
        return tuple(value) if valid else _NOTHING
    if isinstance(value, JsonObject):
        fields = [(_fold(name), inner) for name, inner in value.pairs if not _REASON.fullmatch(_fold(name))]
        stated = [_label(inner, words) for name, inner in fields if name not in _IDENTITIES]
        verdicts = [_label(inner, words) for name, inner in fields if name == "verdict"]
        stated = [label for label in stated if label is not _NOTHING]
        return stated[0] if len(stated) == 1 and _NOTHING not in verdicts else _NOTHING
    if value is None or isinstance(value, bool):
        return words.get(json.dumps(value), _NOTHING)
    if isinstance(value, int | float):
        return words.get(
            str(int(value) if value == value and abs(value) < 1e6 and value == int(value) else value), _NOTHING
        )
    return _word_label(value, words) if isinstance(value, str) else _NOTHING


def _word_label(text: str, words: Mapping[str, Any]) -> Any:
    """The label that a text is but for case and ornament; a reason may follow that names no word on offer."""
    bare = " ".join(text.strip(_ORNAMENT).casefold().replace("_", " ").split())
    offered = {word.replace("_", " "): label for word, label in words.items()}
    if bare in offered:
        return offered[bare]
    for word, label in offered.items():
        rest = bare[len(word) :]
        if bare.startswith(word) and _SEPARATED.match(rest):
            named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, offered))})(?!\w)")
            return _NOTHING if named.search(rest) else label
    return _NOTHING


def _reason(value: Any) -> str:
    reasons = [
        inner.strip()
        for name, inner in (value.pairs if isinstance(value, JsonObject) else ())
        if _REASON.fullmatch(_fold(name)) and isinstance(inner, str)
    ]
    return reasons[0] if reasons else ""


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:60]
    except (RecursionError, ValueError):
        return "a nest of lists"


def _numbered_reasons(before: str, labels: Labels[Any]) -> dict[str, str]:
    """The numbered lines before the object, in order: a list within the reason of 1 may count from 1 again."""
    reasons: list[list[str]] = []
    for line in before.splitlines():
        match = _LINE.match(line)
        if match and len(reasons) < len(labels) and int(match.group(1)) == len(reasons) + 1:
            reasons.append([match.group(2)])
        elif reasons:
            reasons[-1].append(line)
    return {key: " ".join(" ".join(lines).split()) for key, lines in zip(labels, reasons, strict=False)}
