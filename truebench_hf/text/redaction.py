"""Texts without secrets, at three borders: what is printed (`text.terminal`), what is written (run folders and the ledger
of calls), and what is published (exports and the Hub).

Learned values (keys and tokens of the environment, of 12 characters or more) are masked in every text there. What only
looks like a secret is masked in errors and options, never in answers and data, which may be about it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

MARK = "***secret***"
_SHORTEST = 12  # characters from which on a value is masked: no ordinary word is hit by chance
# What servers that need no key are given for one.
_PLACEHOLDER = re.compile(r"(?i)(?:(?:sk|no|not|your|api|key|token|required|needed|set|placeholder|x|0)[-_ ]?)+")
_WORD = r"(?:api[_-]?key|access[_-]?key|token|secret|passw(?:or)?d|passphrase|credentials?|signature)"
_MAKERS = "(?:sk|pk|rk|hf|gsk|xai|r8|nvapi|pplx|csk|ghp|gho|ghs|glpat|github_pat)"  # how makers of keys begin them
_SHAPES = (  # a key, a header, the login of a URL, and an entry of a query, of JSON or of Python
    re.compile(rf"(?<![\w-])()(?=[\w.*-]{{20}})(?:{_MAKERS}[_-]|AIza|eyJ)[\w.*-]*[\w*-]"),
    re.compile(r"(?i)(\b(?:basic|bearer)\s+)[\w+/.~-]{20,}=*"),
    re.compile(
        r"(?i)(?<=\bauthorization)([\"']?\s*[:=]\s*[\"']?|[\"']\s*,\s*b?[\"'])"
        r"(?:(?:basic|bearer|digest|token|apikey)\s+)?[^\s\"',;)}\]]+"
    ),
    re.compile(r"(:/{1,2})[^\s/?#\"'<>]*(?=@)"),
    re.compile(  # a value without quotation marks that is no word of a sentence: `unknown option 'api_key': did you mean`
        rf"(?i)([?&\"'][\w-]*{_WORD}[\"']?\s*[:=,]\s*)"
        r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:(?<==)|(?=\S{8}))[^\s&#\"'<>,;)}\]]+)"
    ),
)
_SECRET_NAME = re.compile(
    r"(?i)(?:^|[_-])(?:key|token|auth|pwd|sig)$|(?:api|access|auth)(?:key|token)$"
    r"|secret|passw|passphrase|authorization|credential|cookie|bearer|signature"
)
_OPEN_NAME = re.compile(
    r"(?i)(?:cache|sort|public|bos|eos|pad|unk|sep|cls|mask|stop|image|start|end)[_-](?:key|token)$"
)

_learned: tuple[str, ...] = ()  # the longest first


def is_secret(name: str) -> bool:
    """Return whether what goes by this name is nobody's business: `api_key`, `X-Auth-Token`, `password`."""
    return _SECRET_NAME.search(name) is not None and _OPEN_NAME.search(name) is None


def learn(*values: str | None) -> None:
    """Mask these values from now on, as JSON spells them too, but for short ones and placeholders."""
    global _learned
    texts = (value.strip() for value in values if value)
    secrets = [text for text in texts if len(text) >= _SHORTEST and not _PLACEHOLDER.fullmatch(text)]
    spelled = [json.dumps(text, ensure_ascii=False)[1:-1] for text in secrets]
    _learned = tuple(sorted({*_learned, *secrets, *spelled}, key=lambda text: (-len(text), text)))


def secrets_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the texts that stand under the name of a secret in options."""
    if isinstance(value, str) and is_secret(name):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from secrets_in(inner, str(key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from secrets_in(inner, name)


def learn_environment() -> None:
    """Learn the keys and tokens of the environment, such as OPENAI_API_KEY and HF_TOKEN."""
    learn(*(v for name, v in os.environ.items() if is_secret(name) and v.isprintable() and v[:1] not in "/~."))


def known(text: str) -> str:
    """Return a text without the learned values."""
    for secret in _learned:
        text = text.replace(secret, MARK)
    return text


def masked(value: Any) -> Any:
    """Return a JSON value without the learned values in its texts."""
    if isinstance(value, str):
        return known(value)
    if isinstance(value, dict):
        return {known(name): masked(inner) for name, inner in value.items()}
    return [masked(inner) for inner in value] if isinstance(value, list | tuple) else value


def error(text: str) -> str:
    """Return the text of an error or option without learned values and without what only looks like a secret."""
    text = known(text)
    for shape in _SHAPES:
        text = shape.sub(lambda match: match[1] + MARK, text)
    return text


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
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    value = shown(value if isinstance(value, dict | list) else text, name)
    return f"{name}{equals}{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"


def without_login(url: str) -> str:
    """Return a URL that may be written down: without user, password and query."""
    return re.sub(r"(?<=://)[^/]*@", "", re.split("[?#]", url)[0])
