"""One conversation between the model and a simulated user, until one of them ends it (section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.signed_prompt import ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Message

# Plain words of leave-taking; everything else is the detector's.
_GOODBYE = re.compile(
    r"\b(?:good ?bye|bye|(?:i(?:'m| am|'ll| will| have to| need to)?|and|just) hang(?:ing)? up|stop calling|don'?t call (?:me )?again|auf wiederh\u00f6ren|auf wiedersehen|tsch\u00fcss?|"
    r"au revoir|adi\u00f3s|arrivederci|do widzenia|tchau)\b|\u518d\u898b|\u518d\u89c1|\u6302\u4e86|\u3055\u3088\u3046\u306a\u3089|"
    r"\uc548\ub155\ud788 \uacc4\uc138\uc694|\ub04a\uc744\uac8c\uc694",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^\s*(?:\*\*)?(?:user|customer|me|caller|patient|nutzer|kunde)(?:\*\*)?\s*:\s*", re.IGNORECASE)
_BOTH = re.compile(r"^\s*(?:\*\*)?(?:assistant|agent|ai|bot|assistent)(?:\*\*)?\s*:", re.IGNORECASE | re.MULTILINE)
_ENDS = {"user": "user", "assistant": "assistant", "no": "", "none": ""}
_USER_EXAMPLE = "Yes, that is right, but I would like to know first what changes for me. " * 2


@dataclass(frozen=True)
class Parties:
    """Who talks: the model with its system prompt, the simulator with its own, and the longest they may."""

    model: Caller
    simulator: Caller | None
    prompts: Prompts
    system: str
    user: str
    sampling: Sampling
    user_sampling: Sampling
    rounds: int = 20


@dataclass(frozen=True)
class Rollout:
    """What was said, who or what ended it (user, assistant, limit; "" where `error` says that it broke off), and how."""

    messages: tuple[Message, ...]
    end: str
    error: str = ""
    ended: str = ""


async def single(parties: Parties, instruction: str, seed: int) -> Rollout:
    """A conversation of one turn: the instruction is the user's message."""
    messages = [Message("user", instruction)]
    try:
        messages.append(await _reply(parties, messages, seed, system=""))
    except RequestFailed as error:
        return Rollout(tuple(messages), "", f"the model gave no answer: {error}")
    return Rollout(tuple(messages), "limit", ended="one turn")


async def rollout(parties: Parties, opening: str, seed: int) -> Rollout:
    """A conversation that begins with the assistant's opening line, or without one with the user.

    `seed` tells draws apart: the same for conversation j of every model. A round is a message of the user and the
    answer to it. When the user takes leave the assistant still answers, since that may be its last step.
    """
    messages = [Message("assistant", opening)] if opening else []
    for _ in range(parties.rounds):
        said = await _user(parties, messages, seed)
        if isinstance(said, Problem):
            return Rollout(tuple(messages), "", f"the simulated user: {said.text}")
        messages.append(Message("user", said))
        try:
            messages.append(await _reply(parties, messages, seed, system=parties.system))
        except RequestFailed as error:
            return Rollout(tuple(messages), "", f"the model gave no answer: {error}")
        if _GOODBYE.search(said):
            return Rollout(tuple(messages), "user", ended="the user said goodbye")
        over = await _over(parties, messages)
        if isinstance(over, Problem):
            return Rollout(tuple(messages), "", f"whether it is over: {over.text}")
        if over:
            return Rollout(tuple(messages), over, ended="found by the detector")
    return Rollout(tuple(messages), "limit", ended=f"{parties.rounds} rounds")


async def _reply(parties: Parties, messages: Sequence[Message], seed: int, system: str) -> Message:
    front = [Message("system", system)] if system else []
    made = await parties.model.complete(ChatRequest((*front, *messages), parties.sampling, seed))
    return Message("assistant", made.text)


async def _user(parties: Parties, messages: Sequence[Message], seed: int) -> str | Problem:
    """The simulated user's next message."""
    assert parties.simulator is not None
    # To the simulator the assistant is who it talks with: the roles are turned round.
    turned = [Message("user" if m.role == "assistant" else "assistant", m.content or "(silence)") for m in messages]
    if not turned or turned[0].role == "assistant":
        turned.insert(0, Message("user", "(the conversation begins; you speak first)"))
    request = ChatRequest(
        (Message("system", parties.user), *turned), parties.user_sampling, seed, example=_USER_EXAMPLE
    )

    def read(text: str, truncated: bool) -> str | Problem:
        said = _PREFIX.sub("", text.strip()).strip().strip('"\u201c\u201d').strip()
        if _BOTH.search(said):
            return Problem("it spoke for the assistant, too")
        return said or Problem("it said nothing")

    def again(problem: str) -> str:
        return f"This cannot be used: {problem}. Write the user's next message, and nothing else."

    return await ask(parties.simulator, request, read, again)


async def _over(parties: Parties, messages: Sequence[Message]) -> str | Problem:
    """Who ended the conversation; "" where it goes on."""
    assert parties.simulator is not None
    tag = fence(*(message.content for message in messages))
    shown = "\n\n".join(f"[{message.role}_{tag}]\n{message.content}" for message in messages[-6:])
    answer = await ask_by_prompt(
        SchemaFallback(parties.simulator, "off"), parties.prompts, "flex_end", {"conversation": shown, "tag": tag},
        {"end": _ENDS}, sampling=Sampling(max_tokens=parties.user_sampling.max_tokens),
        entries={"end": ({"enum": [*_ENDS]}, "no")},
    )  # fmt: skip
    return Problem(answer.problem) if answer.problem else answer.labels["end"]
