"""The verdict objects in a judge's answer: where they stand, and their keys and values with nothing guessed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from truebench_hf.judging.keys import IDENTITIES, NAMES, VERDICTS
from truebench_hf.judging.words import narrow

# A verdict object has a criterion's key, or a verdict, before any brace within, or one such object as its first value;
# braces in prose or in a quoted answer seldom do.
_QUOTED = "|".join(
    (r"\d{1,6}[.)]?", r"[cqr]\d{1,3}", "met", "pass", "passed", "fail", "failed", *VERDICTS, *sorted(IDENTITIES))
)
_FIELD = rf"(?:{NAMES}[\s_\\#.-]{{0,3}}\d{{1,6}}[\s\\.\"'“”*`]*+|[\"'“„](?:{_QUOTED})\\?[\"'”“]|(?<=\{{)\s*+\d{{1,6}})"
_OPENING = re.compile(
    rf"\{{(?:\s*[\"'“]?\w[\w ]{{0,40}}[\"'”]?\s*+:[\[\s]*+\{{)?[^{{}}]*?{_FIELD}\s*+[:=]", re.IGNORECASE
)
_STRONG = re.compile(r"\{[^{}]{0,200}?(?:crit|krit|rubri|verdict|judge?ment)", re.IGNORECASE)
_FENCE = r"(?:(?P<fence>`{3,}|~{3,})"
_BEFORE = re.compile(
    _FENCE
    + r"[ \t]*\w*|<(?P<tag>(?:final_)?(?:answers?|verdicts?|output|json|results?|judge?ments?|evaluation|solution))>|\\boxed\{(?:\\text\{)?\\?|\\\[|\$\$?|(?<!`)`)\s*\Z",
    re.IGNORECASE,
)
_AFTER = re.compile(r"\s*" + _FENCE + r"|</(?P<tag>\w{3,20})>|\}{1,2}\$?|\\\]|\$\$?|`(?!`))", re.IGNORECASE)
_REACH = 60  # how far before an object its fence may open
_TOKEN = re.compile(
    r"\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\[^u])*'|[“”„][^“”\\]*[“”]|[{}\[\]:,;=]|[\w+-][\w.+-]*)", re.DOTALL
)
_COMMENT = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|/\*.*?\*/|(?://|(?<=[\s,{\[])#)[^\n]*", re.DOTALL)
_BACKSLASH = re.compile(r"\\(?:([\"\\/bfnrt]|u[0-9a-fA-F]{4})|)")
# Braces; a string or a comment is passed over whole. Quotation marks in prose need not pair.
_IN_OBJECT = re.compile(r"[{}]|\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_IN_PROSE = re.compile(r"\{")
_SIGNS = frozenset("{}[]:,")


@dataclass(frozen=True, slots=True)
class Found:
    """An object at `start` to `end` of a text; `left` to `right` takes in its fence or tags, where it is `fenced`."""

    start: int
    end: int
    left: int
    right: int
    fenced: bool


def objects(text: str) -> list[Found] | None:
    """The verdict objects of a text in order; None where one never closes, since then nobody knows what is in it.

    One inside another is part of it, and one inside a string of another is a quotation.
    """
    openings = {match.start() for match in _OPENING.finditer(text)}
    found: list[tuple[int, int]] = []
    unclosed: list[int] = []  # where the braces that are open begin
    at = min(openings, default=len(text))
    while (sign := (_IN_OBJECT if unclosed else _IN_PROSE).search(text, at)) is not None:
        i, character, at = sign.start(), sign.group()[0], sign.end()
        if character == "{" and (unclosed or i in openings):
            unclosed.append(i)
        elif character == "}" and unclosed and (start := unclosed.pop()) in openings:
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, i + 1))
    # An object of something else, in a reason perhaps, may stay open.
    if any(_STRONG.match(text, start) for start in unclosed if start in openings):
        return None
    return [_framed(text, *span) for span in found]


def _framed(text: str, start: int, end: int) -> Found:
    """An object with what frames it: fences, `<answer>` tags, `\\boxed{...}`, one within the other."""
    left, right, fenced = start, end, False
    while True:
        before, after = _BEFORE.search(text, max(0, left - _REACH), left), _AFTER.match(text, right)
        if not (before and after and _pairs_up(before, after)):
            return Found(start, end, left, right, fenced)
        left, right, fenced = before.start(), after.end(), True


def _pairs_up(before: re.Match[str], after: re.Match[str]) -> bool:
    if before.group("fence") or after.group("fence"):
        return (before.group("fence") or " ")[0] == (after.group("fence") or "  ")[0]
    if before.group("tag") or after.group("tag"):
        return (before.group("tag") or "").casefold() == (after.group("tag") or "-").casefold()
    return True


class Pairs(list[tuple[str, Any]]):
    """An object as its pairs: a dict would keep only the last of two equal keys."""


def pairs(body: str) -> Pairs | None:
    """The pairs of an object, those of objects within as `Pairs` too; None where it cannot be parsed.

    Small faults are mended: backslashes of LaTeX and regex, comments, a trailing or missing comma, other quotation
    marks or none, line breaks in strings.
    """
    for text in dict.fromkeys((body, narrow(body))):
        for mend in (str, _escaped, _mended):
            try:
                return Pairs(json.loads(mend(text), object_pairs_hook=Pairs, strict=False))
            except (ValueError, RecursionError):
                continue
    return None


def comments(body: str) -> list[tuple[int, str]]:
    """The comments of an object, each with where it begins."""
    if "#" not in body and "//" not in body and "/*" not in body:
        return []
    return [(match.start(), match.group()) for match in _COMMENT.finditer(body) if not match.group(1)]


def _escaped(body: str) -> str:
    """The same with every backslash doubled that begins no escape of JSON; before a quotation mark ' it is dropped."""
    return _BACKSLASH.sub(lambda match: match.group() if match.group(1) else "\\\\", body.replace("\\'", "'"))


def _mended(body: str) -> str:
    """The same tokens as JSON. Raises ValueError where a text is no sequence of them."""
    body = body.replace('\\"', '"') if re.match(r'\{\s*\\"', body) else body
    body = _COMMENT.sub(lambda match: match.group(1) or " ", body.replace("\\{", "{").replace("\\}", "}"))
    body = re.sub(r"(?<=[,\s])(?:\.\.\.|…)(?=[\s,}])", "", body)
    made: list[str] = []
    at = 0
    while at < len(body):
        if (match := _TOKEN.match(body, at)) is None:
            if not body[at:].strip():
                break
            raise ValueError("not even nearly JSON")
        at, token = match.end(), {";": ",", "=": ":"}.get(match.group(1), match.group(1))
        if token == "," and made[-1:] == [","]:
            continue
        if token in ("}", "]") and made[-1:] == [","]:
            made.pop()
        scalar = token not in _SIGNS
        if scalar and made and (made[-1] not in _SIGNS or made[-1] in "}]"):
            made.append(",")
        if scalar and token[0] == '"':
            made.append(_escaped(token))
        elif scalar:
            made.append(json.dumps(token[1:-1].replace("\\'", "'") if token[0] in "'“”„" else token))
        else:
            made.append(token)
    return "".join(made)
