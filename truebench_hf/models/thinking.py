"""Splitting a model's thinking from its answer."""

from __future__ import annotations

import re

# Closed blocks anywhere; some chat templates put the opening tag into the prompt, so the answer may start inside.
_CLOSED = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
# Such a closing tag ends a line, begins one, or clings to the last word; in quotes or between blanks it is talked about.
_HEADLESS = re.compile(
    r"""\A(.*?)(?: (?: ^[^\S\n]* | (?<=[^\s"'`(\[]) ) </think(?:ing)?> | </think(?:ing)?> (?=[^\S\n]*\n) )""",
    re.DOTALL | re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_UNCLOSED = re.compile(r"\A\s*<think(?:ing)?>(.*)\Z", re.DOTALL | re.IGNORECASE)


def split_thinking(text: str, opened: bool = False) -> tuple[str, str, bool]:
    """Split `text` into (answer, thinking, unclosed). `opened`: the prompt is known to end in an opening tag.

    Thinking is only what stands before the answer: a `<think>` block that opens the text, or a head that ends in
    `</think>`. Tags quoted later in an answer stay. Unclosed thinking leaves an empty answer and True. Half a character
    at the end, as a token limit leaves it, is dropped.
    """
    thoughts: list[str] = []
    rest = text = text.rstrip("\ufffd")
    while (match := _CLOSED.match(rest.lstrip())) is not None:
        thoughts.append(match.group(1).strip())
        rest = rest.lstrip()[match.end() :]
    if (match := _UNCLOSED.match(rest)) is not None:
        return "", "\n".join([*thoughts, match.group(1).strip()]).strip(), True
    match = None if thoughts else _HEADLESS.match(rest)
    if match is not None and (opened or "<think" not in match.group(1).lower()):
        thoughts.append(match.group(1).strip())
        rest = rest[match.end() :]
    elif opened and not thoughts:
        return split_thinking(f"<think>{text}")
    return (rest.strip() if thoughts else text), "\n".join(thoughts).strip(), False
