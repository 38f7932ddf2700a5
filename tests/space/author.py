"""A model server for the playground: it answers, drafts a checklist, judges, improves, and labels sentences, in the forms asked for."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Iterator

from aiohttp import web

from tests.support import loopback
from tests.support.signing import signed
from truebench_hf.models.scripted import verdicts

IMAGE = "![leak](http://leak.example/x.png)"
SCRIPT = "<script>window.broken = 1</script>"
FIRST = f"Dear all, the lift is broken until Friday. {SCRIPT} {IMAGE} ${{1+1}} {{{{x}}}}"
SECOND = "- Dear all,\n- the lift will be repaired by Friday.\n- Thank you for your patience!"
CHECKLIST = (
    "Three points and a friendly tone.\nQuestions:\n1. Does the response have exactly three bullet points?\n"
    "2. Does the response name Friday?\n3. Does the response say thank you?\n"
)
LABELS = {"opens": "supported", "costs": "contradictory", "I love": "no_rad"}
DOCUMENT = "The museum opens at nine in the morning. A ticket costs five euros."
GROUNDED = "The museum opens at nine. A ticket costs ten euros. I love museums. It has a café."
_JSON = re.compile(r"<response_\w+>\n(.*?)\n</response_", re.DOTALL)


def reply(prompt: str) -> str:
    """What the model writes to a conversation, its messages one behind the other."""
    if "no Questions, please" in prompt:
        return "I would rather not."
    if tag := re.search(r"<(answer_\w+)>", prompt):
        return f"Plan: three points, and thanks.\n<{tag[1]}>\n{SECOND}\n</{tag[1]}>"
    if '"label"' in prompt:
        sentences = re.split(r"(?<=[.!?])\s+", _JSON.findall(prompt)[-1])
        return signed(prompt, sentences=[_labelled(one) for one in sentences])
    if "<criteria" in prompt:
        thanks = {} if "Thank you" in prompt else {"thank": "FAIL"}
        return verdicts(prompt, thanks)
    if "Questions:" in prompt:
        return CHECKLIST
    return GROUNDED if "museum" in prompt else FIRST


def _labelled(sentence: str) -> dict[str, object]:
    label = next((label for word, label in LABELS.items() if word in sentence), "unsupported")
    quotes = {"supported": [DOCUMENT.split(". ")[0]], "contradictory": ["A ticket costs five euros."]}
    return {"sentence": sentence, "rationale": f"It is {label}.", "excerpts": quotes.get(label, []), "label": label}


@contextlib.contextmanager
def serving(delay: float = 0.0) -> Iterator[str]:
    """Serve it while the block runs, streamed too; yields its base URL. `delay` is seconds before each answer."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        body = json.loads(await request.content.read())
        text = reply("\n".join(message["content"] for message in body["messages"]))
        await asyncio.sleep(delay)
        usage = {"prompt_tokens": 1, "completion_tokens": len(text.split())}
        if not body.get("stream"):
            choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return web.json_response({"choices": [choice], "usage": usage})
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        for part in (text[: len(text) // 2], text[len(text) // 2 :]):
            chunk = {"choices": [{"delta": {"content": part}, "finish_reason": None}]}
            await answer.write(f"data: {json.dumps(chunk)}\n\n".encode())
        last = {"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}
        await answer.write(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())
        return answer

    with loopback.serving(handle) as port:
        yield f"http://{loopback.HOST}:{port}/v1"
