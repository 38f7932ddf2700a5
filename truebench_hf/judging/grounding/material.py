"""The values that prompts on grounding are filled with: the source first and alike for every answer to it."""

from __future__ import annotations

from typing import Any

from truebench_hf.judging.grounding.types import Source
from truebench_hf.prompts import fence

_NO_RESPONSE = "(the response is empty)"


def material(source: Source, *answers: str) -> dict[str, Any]:
    """What `_source.jinja` shows of a source, and a tag suffix that occurs in none of its texts, nor in the answers.

    The suffix is made of the source alone, so that prompts about one document begin alike for every answer, template
    and question, and servers and local models reuse what they have read.
    """
    passages = [{"id": " ".join(one.id.split()), "text": one.text} for one in source.passages]
    texts = [source.document, source.system, source.request, *(one["text"] for one in passages)]
    beside = [*answers, *(one["id"] for one in passages)]
    shown = {"document": source.document, "system": source.system, "request": source.request, "passages": passages}
    return shown | {"tag": fence(*texts, beside=beside)}


def shown_answer(answer: str) -> str:
    """An answer as a prompt shows it."""
    return answer if answer.strip() else _NO_RESPONSE
