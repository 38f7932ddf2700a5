"""A first draft of a checklist by a model, for a person to correct (the idea: TICK section 3.1)."""

from __future__ import annotations

import re

from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Message

_ITEM = re.compile(r"^\s*(?:\*\*)?(?:\d{1,2}[.):]|[-*•])(?:\*\*)?\s+(.+?)\s*$", re.MULTILINE)


async def draft_checklist(
    caller: Caller, instruction: str, prompts: Prompts, *, most: int = 6, sampling: Sampling | None = None
) -> list[str]:
    """Up to `most` criteria for answers to an instruction; [] where the model's answer holds no list.

    Raises what `Caller.complete` raises.
    """
    text = prompts.render("draft_checklist", instruction=instruction, most=most, tag=fence(instruction))
    request = ChatRequest((Message("user", text),), sampling or Sampling(max_tokens=1024))
    return read_checklist((await caller.complete(request)).text, most)


def read_checklist(text: str, most: int) -> list[str]:
    """The items of the first `most` distinct numbered or bulleted lines of a text."""
    items = [" ".join(item.replace("**", "").split()) for item in _ITEM.findall(text)]
    return list(dict.fromkeys(item for item in items if item))[:most]
