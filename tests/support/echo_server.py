"""An OpenAI-compatible server that says again whatever it was sent: headers, query and body, in every place it has.

A prompt names the way, `way:NAME` with a name of `WAYS`; a judge's prompt is answered by verdicts whose reasons hold
it all, and every third one in a form that nobody can read.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from aiohttp import web

from . import loopback
from .openai_answers import judge_prompt, strings

# What an answer may say that looks like a secret and is none of ours.
INNOCENT = "a task-oriented sk-plan: sk-0123456789abcdefghijklmnop"


def _chat(content: str, finish: str = "stop", **more: Any) -> web.Response:
    choice = {"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}
    return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 1}})


def _error(status: int, message: str, **more: Any) -> web.Response:
    return web.json_response({"error": {"message": message, **more}}, status=status)


def _headers(said: str) -> web.Response:
    answer = _chat("in the headers")
    answer.headers.update({"X-Echo": said.replace("\n", " ")[:4000], "Retry-After": said.replace("\n", " ")[:200]})
    return answer


WAYS: dict[str, Callable[[str], web.Response]] = {
    "answer": lambda said: _chat(f"{INNOCENT} {said}"),
    "spelt": lambda said: _chat(f"{quote(said)}\n{html.escape(said)}\n{json.dumps(said)}"),
    "reasoning": lambda said: _chat("ok", reasoning_content=said),
    "think": lambda said: _chat(f"<think>{said}</think>ok"),
    "headers": _headers,
    "window": lambda said: _error(400, f"This model's maximum context length is 1 token. {said}"),
    "filter": lambda said: _error(400, said, code="content_filter"),
    "crash": lambda said: _error(500, f"{INNOCENT} {said}"),
    # Cut after 500 characters, in the middle of what must not be shown.
    "late": lambda said: _error(500, "x" * 465 + " ".join(re.findall(r"Authorization': '([^']*)", said))),
    "page": lambda said: web.Response(text=f"<html>{said}</html>", status=502, content_type="text/html"),
    "phrase": lambda said: web.Response(status=500, reason=" ".join(said.split())[:2000]),
    "good": lambda said: _error(200, said),
    "abort": lambda said: web.json_response(
        {"choices": [{"message": {"content": said}, "finish_reason": "error", "error": {"message": said}}]}
    ),
    "raw": lambda said: web.Response(text=said, content_type="application/json"),
    "fatal": lambda said: _error(401, said),
}


class EchoServer(loopback.Server):
    """The server; as a context manager it serves from a background thread. `asked` holds all that came in."""

    def __init__(self) -> None:
        self.asked: list[web.BaseRequest] = []
        self._judged = 0

    def url(self, login: str = "", query: str = "") -> str:
        """The base URL with a login and a query."""
        return f"http://{login}{'@' if login else ''}{loopback.HOST}:{self.port}/v1{'?' if query else ''}{query}"

    async def handle(self, request: web.BaseRequest) -> web.Response:
        """Answer one request in the way it asks for."""
        body = json.loads(await request.content.read())
        self.asked.append(request)
        said = f"{dict(request.headers)}\n{request.path_qs}\n{request.rel_url.query_string}\n{json.dumps(body)}"
        prompt = judge_prompt(body["messages"])
        if prompt is not None:
            self._judged += 1
            if self._judged % 3 == 0:
                return _chat(f"No verdict: {said}")
            pairs = {f"criteria_{n + 1}": {"reason": said, "verdict": "PASS"} for n in range(len(prompt.criteria))}
            return _chat(json.dumps(pairs).replace("YES", "yes"), reasoning_content=said)
        way = re.findall(r"way:(\w+)", "\n".join(strings(body["messages"])))
        return WAYS[way[-1]](said)
