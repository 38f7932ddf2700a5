"""Answers that bear the tag of the prompt they answer, as a judge who does what it is asked writes them."""

from __future__ import annotations

import json
import re
from typing import Any


def tag_of(prompt: str) -> str:
    """The tag that a prompt asks for under `id`."""
    match = re.search(r'"id", which is "(\w+)"', prompt)
    assert match is not None, "the prompt asks for no id"
    return match[1]


def signed(prompt: str, **entries: Any) -> str:
    """The object that answers a prompt."""
    return json.dumps({"id": tag_of(prompt), **entries}, ensure_ascii=False)
