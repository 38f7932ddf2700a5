"""Reads the verdicts of a judge out of its answer: from the JSON object whose `id` is the tag that the prompt gave.

The tag is made of the very texts that the judge is shown (`prompts.fence`), so none of them can hold it, and no quotation
of them is taken for the judge's own word. Text around the signed objects never decides a label. Text behind the last one that
names a key or a word on offer makes the answer unreadable, whatever the labels are: what is refused is form alone.

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

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from truebench_hf.judging.loose_json import JsonObject, TooManyObjects, find_objects, fold_compatible, strip_invisible

L = TypeVar("L")
ID = "id"
CUT_OFF = "the answer was cut off at the token limit"
TRAILING = "the text behind the JSON object speaks of verdicts again"
_ORNAMENT = " \t\r\n*_~`\"'“”‘’「」«».。!！[]()<>✅✔✓☑🟢👍❌✗✘✖☒🔴👎"
_REASON = re.compile(r"(?:\w*_)?(?:reason\w*|explanation|rationale|analysis|comment|note|evidence|justification)s?")
_VERDICT = re.compile(r"\w*(?:verdict|label|judge?ment|decision|result|final|revised|corrected)\w*")
_NUMBERED = re.compile(r"(.+)_\d{1,6}")
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
    missing = f"it has no JSON object with the `{ID}` asked for" + (f" and {named_keys(labels)}" if labels else "")
    return SignedAnswer({}, (CUT_OFF if truncated else missing,), signed=False)


def is_forgeable(labels: Labels[Any], *material: str) -> bool:
    """Return whether texts that a judge is shown hold anything that it could quote in place of an answer of its own."""
    form = _Form(labels)
    for source in material:
        text = fold_compatible(html.unescape(strip_invisible(source)))
        if form.keys_in_prose.search(text):
            return True
        try:
            if any(form.statements(parsed) for _, _, parsed in find_objects(text.replace('\\"', '"'))):
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
    return ", ".join(keys) if len(keys) < 3 or not _NUMBERED.fullmatch(keys[0]) else f"{keys[0]} to {keys[-1]}"


def _read(text: str, tag: str, labels: Labels[L], unsigned: bool, truncated: bool) -> SignedAnswer[L] | None:
    """The answer that the objects of a text give, None where it has no object to read."""
    form = _Form(labels)
    objects = list(find_objects(text, tag)) if tag in text else []
    signed = bool(objects)
    if unsigned and not signed:
        objects = [entry for entry in find_objects(text) if form.statements(entry[2])]
    if not objects:
        return None
    before, behind = text[: objects[0][0]], text[objects[-1][1] :]
    if truncated and _CLOSING.sub("", behind):
        return SignedAnswer({}, (CUT_OFF,), signed=signed)
    if form.may_contradict(behind):
        return SignedAnswer({}, (TRAILING,), unclear=frozenset(labels), signed=signed)
    before = re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", before).strip()
    by_key: dict[str, list[Any]] = {}  # of each key, a label per object that names it: the last one counts
    problems: dict[str, str] = {}
    reasons = _numbered_reasons(before, labels)
    reliable = True
    for _, _, parsed in objects:
        for key, values in form.statements(parsed).items():
            by_key.setdefault(key, []).append(form.label(key, values))
            problems[key] = form.problem(key, values)
            reasons |= {key: reason} if (reason := _reason(values[0])) else {}
            # Who gives more criteria than there are means others by these numbers; who gives one twice means neither.
            reliable = reliable and key in labels and len(values) == 1
    last = objects[-1][2]
    fields = {name: value for name, value in last.items() if _fold(name) != ID and form.key(name) is None}
    wrong = [problems[key] for key, stated in by_key.items() if stated[-1] is _NOTHING]
    wrong += [f"{key} is missing" for key in labels if key not in by_key]
    known = {key: stated[-1] for key, stated in by_key.items() if stated[-1] is not _NOTHING and reliable}
    unclear = frozenset(by_key.keys() & labels.keys() - known.keys())
    corrected = (key for key, stated in by_key.items() if any(label not in (_NOTHING, stated[-1]) for label in stated))
    return SignedAnswer(known, tuple(wrong), reasons, fields, before, unclear, frozenset(corrected), signed)


class _Form(Generic[L]):
    """What is asked for: the keys and the words on offer under each."""

    def __init__(self, labels: Labels[L]) -> None:
        self.labels = labels
        self._words = {key: _folded(words) for key, words in labels.items()}
        stems = {match[1] for key in labels if (match := _NUMBERED.fullmatch(key))}
        self._stem = stems.pop() if len(stems) == 1 else None

    def key(self, name: str) -> str | None:
        """The key that a name stands for: its own, or the numbered one with its number, be it on offer or not."""
        folded = _fold(name)
        number = None if folded in self.labels or self._stem is None else _ALIAS.fullmatch(folded)
        return f"{self._stem}_{int(number[1])}" if number else folded if folded in self.labels else None

    def label(self, key: str, values: Sequence[Any]) -> Any:
        """The label that an object gives a key, _NOTHING where it gives none, or more than one."""
        return _label(values[0], self._words[key]) if key in self._words and len(values) == 1 else _NOTHING

    def problem(self, key: str, values: Sequence[Any]) -> str:
        """What is wrong where the values of a key are no label."""
        if key not in self.labels:
            return f"{key} was not asked for"
        if len(values) > 1:
            return f"{key} is given {len(values)} times"
        words = self.labels[key]
        if isinstance(words, ListOf):
            return f"{key} is no list" + (f" with one of {', '.join(words)} an item" if words else "")
        described = (
            "no single word" if isinstance(values[0], dict | list) else json.dumps(values[0], ensure_ascii=False)[:60]
        )
        return f"{key} is {described}, not {' or '.join(words)}"

    def statements(self, parsed: JsonObject) -> dict[str, list[Any]]:
        """The values that an object, or those within it, have under each key."""
        by_key: dict[str, list[Any]] = {}
        for key, value in self._statements(parsed, 0):
            by_key.setdefault(key, []).append(value)
        if not by_key and len(self.labels) == 1 and self._is_label(parsed):
            by_key = {key: [parsed] for key in self.labels}  # {"id": ..., "verdict": "PASS"} on the only criterion
        return by_key

    def _statements(self, parsed: JsonObject, depth: int) -> Iterator[tuple[str, Any]]:
        for name, value in parsed.pairs:
            if (key := self.key(name)) is not None and (key == _fold(name) or self._is_label(value)):
                yield key, value
            elif depth < 3 and not _REASON.fullmatch(_fold(name)):
                for inner in value if isinstance(value, list) else [value]:
                    if isinstance(inner, JsonObject):
                        # {"criterion": 1, "verdict": "PASS"} is about one key.
                        keys = {self.key(str(held)) for field, held in inner.pairs if _fold(field) in _IDENTITIES}
                        about = [key for key in keys if key is not None]
                        alone = len(about) == 1 and self._is_label(inner)
                        yield from [(about[0], inner)] if alone else self._statements(inner, depth + 1)

    def _is_label(self, value: Any) -> bool:
        return any(_label(value, words) is not _NOTHING for words in self._words.values())

    def may_contradict(self, behind: str) -> bool:
        """Whether the text behind the last object could take back what the object states."""
        words = sorted({word for offered in self.labels.values() for word in offered})
        spelt = "|".join(rf"(?-i:{re.escape(word)})" if len(word) == 1 else re.escape(word) for word in words)
        offered = re.compile(rf"(?<!\w)(?:{spelt or '(?!)'})(?!\w)", re.IGNORECASE)
        return "{" in behind or bool(offered.search(behind) or self.keys_in_prose.search(behind))

    @property
    def keys_in_prose(self) -> re.Pattern[str]:
        """Finds the keys in prose: `criteria_1` in "Criterion 1", and `rating` where a value follows it."""
        plain = [key for key in self.labels if not _NUMBERED.fullmatch(key)]
        quoted = r"\b[\"'”*`\\]{0,4}\s{0,5}[:=：]"
        forms = [rf"\b{re.escape(key).replace('_', '[_ ]')}{quoted}" for key in plain]
        forms += [rf"\b{re.escape(self._stem[:6])}\w{{0,20}}[\W_]{{0,4}}\d"] if self._stem else []
        return re.compile("|".join(forms) or "(?!)", re.IGNORECASE)


def _fold(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")


def _folded(words: Mapping[str, L]) -> dict[str, L]:
    folded = {word.casefold(): label for word, label in words.items()}
    return ListOf(folded) if isinstance(words, ListOf) else folded


def _label(value: Any, words: Mapping[str, Any]) -> Any:
    """The label that a value is, or that the fields of an object agree on, its reasons aside; _NOTHING where none is."""
    if isinstance(words, ListOf):
        valid = isinstance(value, list) and not (words and _NOTHING in (_label(item, dict(words)) for item in value))
        return tuple(value) if valid else _NOTHING
    if isinstance(value, JsonObject):
        fields = [(_fold(name), _label(inner, words)) for name, inner in value.pairs]
        verdicts = [label for name, label in fields if _VERDICT.fullmatch(name)]
        others = [label for name, label in fields if not _REASON.fullmatch(name) and name not in _IDENTITIES]
        stated = verdicts or [label for label in others if label is not _NOTHING]
        return stated[0] if stated and all(label == stated[0] for label in stated) else _NOTHING
    if value is None or isinstance(value, bool):
        return words.get(json.dumps(value), _NOTHING)
    if isinstance(value, int | float):
        return words.get(f"{value:g}" if isinstance(value, float) else str(value), _NOTHING)
    if not isinstance(value, str):
        return _NOTHING
    # A text is a word but for case and ornament; a reason may follow that names no word on offer.
    bare = " ".join(value.strip(_ORNAMENT).casefold().replace("_", " ").split())
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
    fields = value.pairs if isinstance(value, JsonObject) else []
    return next((x.strip() for name, x in fields if _REASON.fullmatch(_fold(name)) and isinstance(x, str)), "")


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
