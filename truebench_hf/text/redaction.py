"""Texts without the secrets this process knows: what is printed, written or published has passed here.

Known values are masked everywhere. What only looks like a secret is masked in errors and options, never in answers,
reasons and data, where it may be what is being judged. Not promised: known values of under 12 characters in answers and
data, and secrets that a server disguises.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MARK = "***secret***"  # in one piece, so that what is masked is not masked again
LONG = 12  # characters from which a known value is masked in answers, reasons and data: no word is hit by chance
_SHORT = 4  # below that a value is not masked even in errors, which would become unreadable
# What is set as a key where none is needed.
_NO_SECRET = frozenset((
    "none", "null", "empty", "dummy", "test", "token", "key", "secret", "password", "pass", "user", "admin", "changeme",
    "local", "fake", "unused", "ignored", "anything", "placeholder", "nokey", "noapikey", "notneeded", "norequired",
    "notused", "notset", "nokeyrequired", "nokeyneeded", "yourapikey", "apikey", "lmstudio", "ollama", "vllm", "true",
    "false",
))  # fmt: skip
_NAMES = r"(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|passphrase|credentials?|signature)"
_MADE = "(?:sk|pk|rk|hf|gsk|xai|r8|nvapi|pplx|csk|ghp|gho|ghs|glpat|github_pat)"  # how makers of keys begin them
_SHAPES = (
    re.compile(rf"(?<![\w-])()(?P<secret>(?=[\w.*-]{{20}})(?:{_MADE}[_-]|AIza|eyJ)[\w.*-]*[\w*-])"),
    re.compile(r"(?i)(\b(?:basic|bearer)\s+)(?P<secret>[\w+/.~-]{20,}=*)"),
    re.compile(
        r"(?i)(?<=\bauthorization)([\"']?\s*[:=]\s*[\"']?|[\"']\s*,\s*b?[\"'])"
        r"(?:(?:basic|bearer|digest|token|apikey)\s+)?[^\s\"',;)}\]]+"
    ),
    re.compile(r"(:/{1,2})[^\s/?#\"'<>]*(?=@)"),
    re.compile(rf"(?i)([?&][\w-]*{_NAMES}=)[^\s&#\"'<>]+"),
    re.compile(rf"(?i)(([\"'])[\w-]*{_NAMES}\2\s*[:,]\s*)(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"),
)  # fmt: skip
_BY_LOOKS = 2  # the first ones tell by the text itself, the others by what stands before it

_learned: set[str] = set()
# Known values: what every spelling of one holds, and the spellings, the longest first.
_everywhere: tuple[tuple[str, tuple[str, ...]], ...] = ()
_in_errors: re.Pattern[str] | None = None  # short ones, as whole words


def learn(*values: str | None) -> None:
    """Know these values to be secret from now on, in the spellings of JSON, HTML and URLs too."""
    global _everywhere, _in_errors
    new = {text for text in (value.strip() for value in values if value) if _is_one(text)} - _learned
    if not new:
        return
    _learned.update(new)
    spelt = [_spellings(value) for value in sorted(_learned, key=lambda text: (-len(text), text))]
    _everywhere = tuple((_core(forms), forms) for forms in spelt if len(forms[-1]) >= LONG)
    words = "|".join(re.escape(form) for forms in spelt if _SHORT <= len(forms[-1]) < LONG for form in forms)
    _in_errors = re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])") if words else None


def learn_login(user: str, password: str) -> None:
    """Know a login to be secret, as it is and as a Basic authorization spells it."""
    pair = f"{user}:{password}"
    learn(password, pair, basic(user, password), user if not password or len(user) >= LONG else None)


def learn_looks(text: str) -> None:
    """Know those parts of an option to be secret that look like it, whatever name they go by."""
    for shape in _SHAPES[:_BY_LOOKS]:
        learn(*(match["secret"] for match in shape.finditer(text)))


def basic(user: str, password: str) -> str:
    """A login as HTTP's Basic authorization sends it."""
    return base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def known(text: str) -> str:
    """A text of whatever kind without the values known to be secret."""
    for core, forms in _everywhere:
        if core in text:  # one look for all spellings: this stands in the way of every call
            for form in forms:
                text = text.replace(form, MARK)
    return text


def masked(value: Any) -> Any:
    """`known` for every text in lists, dicts and dataclasses; what holds no secret is returned as it is."""
    if not _everywhere:
        return value
    if isinstance(value, str):
        return known(value)
    if isinstance(value, dict):
        return {known(name) if isinstance(name, str) else name: masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(masked, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        changed = {name: new for name, part in parts.items() if (new := masked(part)) != part}
        return replace(value, **changed) if changed else value
    return value


def error(text: str) -> str:
    """The text of an error or option: also without short known values and without what only looks like a secret."""
    text = known(text)
    if _in_errors is not None:
        text = _in_errors.sub(MARK, text)
    for shape in _SHAPES:
        text = shape.sub(lambda match: match[1] + MARK, text)
    return text


@contextmanager
def without_secrets() -> Iterator[None]:
    """Let errors out of this block only with their texts masked, and those of their causes, which a traceback shows."""
    try:
        yield
    except Exception as failed:
        cause: BaseException | None = failed
        while cause is not None:
            cause.args = tuple(error(part) if isinstance(part, str) else part for part in cause.args)
            cause = cause.__cause__ or cause.__context__
        raise


def growing(text: str) -> str:
    """`known` for a text that is still being written: the beginning of a secret at its end is held back."""
    text = known(text)
    for value in (form for _, forms in _everywhere for form in forms):
        for size in range(min(len(value) - 1, len(text)), _SHORT - 1, -1):
            if text.endswith(value[:size]):
                return text[:-size]
    return text


def holds_secret(content: bytes) -> bool:
    """Whether a file's content holds a value known to be secret."""
    return any(form.encode() in content for _, forms in _everywhere for form in forms)


def count(texts: Iterable[str | None]) -> int:
    """How many secrets were masked in these texts."""
    return sum(text.count(MARK) for text in texts if text)


def masked_note(number: int) -> str:
    """What a report says of the secrets that were masked in its records."""
    return f"{number} secrets masked: keys or logins of ours in data, answers or errors, which read {MARK} there."


def _is_one(text: str) -> bool:
    plain = re.sub(r"[\W_]", "", text.casefold()).removeprefix("sk")
    return len(text) >= _SHORT and plain not in _NO_SECRET and len(set(plain)) > 1


def _spellings(value: str) -> tuple[str, ...]:
    """How a secret may stand in a text, the longest spelling first."""
    plain = unquote(value)
    forms = {
        form
        for text in {value, plain}
        for form in (
            text, quote(text), quote(text, safe=""), quote_plus(text), html.escape(text),
            html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),  # as markupsafe writes them
            json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1],
        )
    }  # fmt: skip
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _core(forms: tuple[str, ...]) -> str:
    """The longest run of letters and digits that all spellings share, "" where there is none."""
    runs = sorted(re.findall(r"[A-Za-z0-9]+", forms[-1]), key=len, reverse=True)
    return next((run for run in runs if all(run in form for form in forms)), "")
