"""Rewriting a response so that it breaks or meets one rubric, and little else changes (paper 003, appendix D)."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.judging.case import Case, sections
from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

# Words, runs of blanks, and single signs; scripts without blanks between words go sign by sign.
_PARTS = re.compile(r"[^\W\u0e00-\u0eff\u3040-\u9fff]+|\s+|.", re.DOTALL)


async def rewrite(
    caller: Caller, prompts: Prompts, sampling: Sampling, case: Case, index: int, kind: str | None, breaking: bool
) -> str | Problem:
    """Ask for the response of `case`, edited to break (or else to meet) the rubric at `index`, which is of type `kind`."""
    values = sections(case)
    tag, rubrics = values["tag"], values["criteria"]
    known = RUBRIC_TYPES.get(kind or "")
    prompt = prompts.render(
        "contrast", **values, breaking=breaking, rubric=rubrics[index], kind=known.name if known else "",
        definition=known.definition if known else "", others=[text for i, text in enumerate(rubrics) if i != index],
    )  # fmt: skip

    def read(text: str, truncated: bool) -> str | Problem:
        if truncated:  # asking again would end at the same limit
            return Problem(CUT_OFF, final=True)
        return read_rewrite(text, tag) or Problem("no rewritten response was found between its tags")

    def repair(problem: str) -> str:
        return f"I found no rewritten response. Give all of it between <rewritten_{tag}> and </rewritten_{tag}>."

    request = ChatRequest((Message("user", prompt),), sampling)
    return await ask(caller, request, read, repair, who="the writer")


def read_rewrite(text: str, tag: str) -> str | None:
    """The last text between the tags, without the line breaks that set it off; None where there is none."""
    found = re.findall(rf"<rewritten_{tag}>(.*?)</rewritten_{tag}>", text, re.DOTALL)
    if not found or not found[-1].strip():
        return None
    inner: str = found[-1]
    return inner.removeprefix("\n").removesuffix("\n")


def edit_size(before: str, after: str) -> float:
    """How much was changed, 0 (nothing) to 1 (everything): 1 minus difflib's ratio over words and signs."""
    parts: list[list[Any]] = [_PARTS.findall(text) for text in (before, after)]
    return 1 - SequenceMatcher(None, parts[0], parts[1], autojunk=False).ratio()
