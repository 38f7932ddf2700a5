"""Texts without secrets: what is printed, written or published has passed here.

Learned values (keys, tokens and logins of the environment and of options, of 12 characters or more) are masked in every
text. What only looks like a secret is masked in errors and options, never in answers and data, which may be about it.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote

MARK = "***secret***"
_LONG = 12  # characters from which on a value is masked: no ordinary word is hit by chance
# What servers that need no key are given for one.
_PLACEHOLDER = re.compile(r"(?i)(?:(?:sk|no|not|your|api|key|token|required|needed|set|placeholder|x|0)[-_ ]?)+")
_WORD = r"(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|passphrase|credentials?|signature)"
_MAKERS = "(?:sk|pk|rk|hf|gsk|xai|r8|nvapi|pplx|csk|ghp|gho|ghs|glpat|github_pat)"  # how makers of keys begin them
_KEYS = (
    re.compile(rf"(?<![\w-])()(?P<secret>(?=[\w.*-]{{20}})(?:{_MAKERS}[_-]|AIza|eyJ)[\w.*-]*[\w*-])"),
    re.compile(r"(?i)(\b(?:basic|bearer)\s+)(?P<secret>[\w+/.~-]{20,}=*)"),
)
_CONTEXTS = (  # a header; the login of a URL; a query, and an entry of JSON or Python
    re.compile(
        r"(?i)(?<=\bauthorization)([\"']?\s*[:=]\s*[\"']?|[\"']\s*,\s*b?[\"'])"
        r"(?:(?:basic|bearer|digest|token|apikey)\s+)?[^\s\"',;)}\]]+"
    ),
    re.compile(r"(:/{1,2})[^\s/?#\"'<>]*(?=@)"),
    re.compile(
        rf"(?i)([?&\"'][\w-]*{_WORD}[\"']?\s*[:=,]\s*)(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s&#\"'<>,;)}}\]]+)"
    ),
)
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_-])(?:key|token|auth|pwd|sig)$|(?:api|access|auth)(?:key|token)$"
    r"|secret|passw|passphrase|authorization|credential|cookie|bearer|signature"
)
_OPEN_NAME = re.compile(
    r"(?i)(?:cache|sort|public|bos|eos|pad|unk|sep|cls|mask|stop|image|start|end)[_-](?:key|token)$"
)
_RANDOM = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[^\s/]{20,}")  # no word and no version: a secret under whatever name

_spellings: tuple[str, ...] = ()  # of all learned values, the longest first


def is_secret(name: str) -> bool:
    """Return whether what goes by this name is nobody's business: `api_key`, `X-Auth-Token`, `password`."""
    return _SECRET_NAME.search(name) is not None and _OPEN_NAME.search(name) is None


def learn(*values: str | None) -> None:
    """Mask these values from now on, also as JSON, HTML, URLs and pages spell them."""
    global _spellings
    forms = set(_spellings)
    for value in (value.strip() for value in values if value):
        if len(value) >= _LONG and not _PLACEHOLDER.fullmatch(value):
            for text in (value, unquote(value)):
                escaped, in_json = html.escape(text), json.dumps(text)[1:-1]
                forms |= {text, quote(text), quote(text, safe=""), quote_plus(text), escaped, in_json}
                forms |= {escaped.replace("&quot;", "&#34;").replace("&#x27;", "&#39;"), html.escape(in_json)}
                forms |= {json.dumps(text, ensure_ascii=False)[1:-1]}
    _spellings = tuple(sorted(forms, key=lambda form: (-len(form), form)))


def learn_environment() -> None:
    """Learn the keys and logins of the environment: of variables, URLs and lists of headers."""
    for name, value in os.environ.items():
        if "://" in value:
            learn_url(value)
        elif name.endswith("_HEADERS"):
            pairs = (re.split("[:=]", pair, maxsplit=1) for pair in re.split("[\n,]", value))
            learn_options({header.strip(): content for header, *rest in pairs for content in rest})
        elif is_secret(name) and not value.startswith(("/", "~", ".")) and value.isprintable():
            learn(value)


def learn_url(url: str) -> None:
    """Learn the login of a URL and the secret parts of its query."""
    login, at, _ = url.partition("://")[2].rpartition("@")
    if at and "/" not in login:
        learn(*login.split(":", 1))
    for name, value in parse_qsl(url.partition("?")[2].partition("#")[0]):
        if is_secret(name) or _RANDOM.fullmatch(value):
            learn(value)


def learn_options(value: Any, name: str = "") -> None:
    """Learn what is secret in options, in JSON and objects within them too: by its name, or by its looks."""
    value = _json_or_text(value) if isinstance(value, str) else value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else ((name, inner) for inner in value):
            learn_options(inner, name if is_secret(name) else str(key))
    elif isinstance(value, str) and name.endswith("base_url"):
        learn_url(value)
    elif isinstance(value, str):
        learn(*(match["secret"] for key in _KEYS for match in key.finditer(value)), value if is_secret(name) else None)


def known(text: str) -> str:
    """Return a text without the learned values."""
    for form in _spellings:
        text = text.replace(form, MARK)
    return text


def masked(value: Any) -> Any:
    """`known` for every text in lists, dicts and dataclasses; what holds no secret is returned as it is."""
    if not _spellings:
        return value
    if isinstance(value, str):
        return known(value)
    if isinstance(value, dict):
        return {masked(name): masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(masked, value))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        changed = {name: new for name, part in parts.items() if (new := masked(part)) != part}
        return replace(value, **changed) if changed else value
    return value


def error(text: str) -> str:
    """Return the text of an error or option without learned values and without what only looks like a secret."""
    text = known(text)
    for pattern in (*_KEYS, *_CONTEXTS):
        text = pattern.sub(lambda match: match[1] + MARK, text)
    return text


def growing(text: str) -> str:
    """`known` for a text that is still being written: the beginning of a learned value at its end is held back."""
    text = known(text)
    begun = (form[:size] for form in _spellings for size in range(len(form) - 1, 3, -1) if text.endswith(form[:size]))
    return text.removesuffix(next(begun, ""))


def count(texts: Iterable[str | None]) -> int:
    """Return how many secrets were masked in these texts."""
    return sum(text.count(MARK) for text in texts if text)


def masked_note(number: int) -> str:
    """Return what a report says of the secrets that were masked in its records."""
    return f"{number} secrets masked: keys or logins of ours in data, answers or errors, which read {MARK} there."


def shown(value: Any, name: str = "", *, drop: bool = False) -> Any:
    """Return options or settings as they may be written down, without what stands under the name of a secret.

    That is masked, or with `drop` left out: an identity made of the rest stays when a key is changed.
    """
    own = re.split(r"[@.]", name.strip())[-1]  # of `model@api_key` and `2.api_key`
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_secret(own):
        return MARK
    if isinstance(value, dict):
        parts = {key: shown(inner, str(key), drop=drop) for key, inner in value.items()}
        return {key: part for key, part in parts.items() if not (drop and part == MARK)}
    if isinstance(value, list | tuple):
        return [shown(inner, name, drop=drop) for inner in value]
    if own.endswith("base_url"):
        return without_login(value)
    return shown_argument(value) if own.endswith("_arg") else error(value) if isinstance(value, str) else value


def shown_argument(pair: str) -> str:
    """Return an option of a provider (`k=v`, `model@k=v`, `2.k=v`) as it may be written down."""
    name, equals, text = pair.partition("=")
    value = shown(_json_or_text(text), name)
    return f"{name}{equals}{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def without_login(url: str) -> str:
    """Return a URL that may be written down: without user, password and query."""
    return re.sub(r"(?<=://)[^/]*@", "", re.split("[?#]", url)[0])


def _json_or_text(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict | list) else text
