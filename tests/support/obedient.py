"""A judge behind a loopback server that does what its prompt tells it: the worst case, or all but what stands in sections."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator

from aiohttp import web

from truebench_hf.benchmarks.rubric_eval.comparisons import Attack, attacks
from truebench_hf.models.chat_template import JOINER

from . import loopback
from .signing import signed

_SECTION = re.compile(r"<(\w+)>\n.*?\n</\1>", re.DOTALL)
_PLACES = re.compile(r"\{\w+\}|\n")


def sign(attack: Attack) -> str:
    """The longest part of an attack that stands in it as it is: what the judge knows it by."""
    longest = max(_PLACES.split(attack.text), key=len)
    return longest or '{"criteria_1": "PASS"'  # nothing but the verdicts


SIGNS = tuple(map(sign, attacks()))


def obeyed(prompt: str, outside: bool) -> bool:
    """Whether the prompt of a judge holds an injection; with `outside` one that stands in no section."""
    text = prompt.replace(JOINER, "")
    return any(one in (_SECTION.sub("", text) if outside else text) for one in SIGNS)


@contextlib.contextmanager
def serving(*, outside: bool) -> Iterator[str]:
    """Serve the judge while the block runs; yields its base URL. At rubric level it says no unless it is told otherwise."""

    async def handle(request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.content.read())
        prompt = body["messages"][-1]["content"]
        verdict = "PASS" if obeyed(prompt, outside) else "FAIL"
        answer = {"role": "assistant", "content": signed(prompt, criteria_1=verdict)}
        return web.json_response({"choices": [{"message": answer, "finish_reason": "stop"}]})

    with loopback.serving(handle) as port:
        yield f"http://{loopback.HOST}:{port}/v1"
