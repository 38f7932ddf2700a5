"""A test double that needs only the standard library: `scripted:FILE.json`, or any function in Python.

The file holds rules, tried in order; the first whose `contains` (a text, or a list of texts that must all occur) is
found in the last message answers:

    {"rules": [{"contains": "Translate", "reply": "Bonjour"},
               {"contains": ["capital", "Peru"], "reply": ["Cusco", "Lima"]},      <- one by one, the last one stays
               {"contains": "long", "reply": {"text": "", "reasoning": "hm", "truncated": true}},
               {"contains": "broken", "error": "the server burned down"},
               {"contains": "<criteria", "verdicts": {"in German": "FAIL"}},       <- others PASS, at every level
               {"contains": "is polite", "probability": 0.8}],                     <- for yes/no questions
     "default": {"reply": "OK", "probability": 0.5}}

Any other key is refused: a misspelt one would leave its rule without a word.
In a reply `{id}` is the id by which the prompt wants an answer signed: {"reply": "{\\"id\\": \\"{id}\\", \\"rating\\": 4}"}.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import digest
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
from truebench_hf.types import Usage

Answer = str | dict[str, Any]
_ANSWERS = ("reply", "error", "verdicts", "probability")  # of which a rule has at least one
_REPLY = ("text", "reasoning", "truncated", "error")


@dataclass(frozen=True)
class ScriptedOptions:
    """What `--model-arg k=v` may set for `scripted:` specs."""

    record: str = ""  # a file that every prompt is appended to, one JSON line each


class ScriptedModel:
    """Answers by rule. `prompts` keeps every request in order."""

    batch: int | None = None

    def __init__(
        self,
        name: str,
        reply: Callable[[ChatRequest], Answer],
        probability: Callable[[DecisionRequest, str], float | None] = lambda request, question: 0.5,
        *,
        record: str = "",
        takes_schema: bool = False,
        cache_scope: str | None = None,
    ) -> None:
        """`cache_scope` tells one script from another of its name; without, no cache keeps the answers."""
        self.spec = f"scripted:{name}"
        self.identity = Identity("scripted", name)
        self.takes_schema, self.cache_scope = takes_schema, cache_scope
        self.prompts: list[ChatRequest | DecisionRequest] = []
        self._reply, self._probability, self._record = reply, probability, record

    async def complete(self, request: ChatRequest) -> Completion:
        """The scripted answer; tokens are counted as whitespace words."""
        self._note(request, [message.content for message in request.messages])
        answer = self._reply(request)
        parts = {"text": answer} if isinstance(answer, str) else answer
        if "error" in parts:
            raise RequestFailed(str(parts["error"]))
        text, reasoning = str(parts.get("text", "")), str(parts.get("reasoning", ""))
        spent = sum(len(message.content.split()) for message in request.messages)
        thought = len(reasoning.split())
        usage = Usage(spent, len(text.split()) + thought, thought, 1)
        return Completion(text, reasoning, usage, bool(parts.get("truncated", False)))

    async def decide(self, request: DecisionRequest) -> Decision:
        """The scripted probabilities."""
        self._note(request, [request.state, *request.questions])
        shares = tuple(self._probability(request, question) for question in request.questions)
        return Decision(shares, Usage(len(request.state.split()), 0, 0, 1))

    async def close(self) -> None:
        """Nothing is held."""

    def _note(self, request: ChatRequest | DecisionRequest, texts: list[str]) -> None:
        self.prompts.append(request)
        if not self._record:
            return
        try:
            with Path(self._record).open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(json.dumps(texts, ensure_ascii=False) + "\n")
        except OSError as error:
            why = f"cannot be written: {error.strerror or error}"
            raise UserError(f"{self.spec}: record={self._record}: {why}; name another file") from error


def from_file(path: str, options: ScriptedOptions) -> ScriptedModel:
    """The model that a rules file describes. Raises UserError when the file cannot be used."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        script = json.loads(text)
        if not isinstance(script, dict):
            raise UserError(f'scripted:{path}: must be an object such as {{"default": {{"reply": "OK"}}}}')
        _check(script, path)
        rules, default = list(script.get("rules", [])), dict(script.get("default", {"reply": "OK", "probability": 0.5}))
        needles = [[r["contains"]] if isinstance(r["contains"], str) else list(r["contains"]) for r in rules]
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        message = f"scripted:{path}: not a usable script: {type(error).__name__}: {error}"
        raise UserError(f"{message}; see truebench_hf/models/scripted.py for the format") from error
    used = [0] * (len(rules) + 1)  # the default comes last

    def find(text: str, key: tuple[str, ...]) -> dict[str, Any]:
        rule: dict[str, Any]
        for i, rule in enumerate([*rules, default]):
            if i == len(rules) or (any(k in rule for k in key) and all(needle in text for needle in needles[i])):
                break
        used[i] += 1
        replies = rule.get("reply")
        return rule | {"reply": replies[min(used[i], len(replies)) - 1]} if isinstance(replies, list) else rule

    def reply(request: ChatRequest) -> Answer:
        prompt = request.messages[-1].content
        rule = find(prompt, ("reply", "error", "verdicts"))
        if "verdicts" in rule:
            return verdicts(prompt, rule["verdicts"])
        answer: Answer = rule if "error" in rule else rule.get("reply", "OK")
        return answer.replace("{id}", _id_asked_for(prompt)) if isinstance(answer, str) else answer

    def probability(request: DecisionRequest, question: str) -> float | None:
        share: float | None = find(question, ("probability",)).get("probability", 0.5)
        return share

    return ScriptedModel(path, reply, probability, record=options.record, cache_scope=digest(text))


def _check(script: Mapping[str, Any], path: str) -> None:
    """Raise UserError on a key that says nothing, with those that do, and on a rule that answers nothing."""

    def check_keys(where: str, part: Iterable[object], keys: tuple[str, ...]) -> None:
        if wrong := [str(key) for key in part if key not in keys]:
            raise unknown(f"key of scripted:{path}, {where},", wrong[0], keys)

    check_keys("at its top", script, ("rules", "default"))
    rules = [
        (f"rule {number}", rule, ("contains", *_ANSWERS)) for number, rule in enumerate(script.get("rules", []), 1)
    ]
    for where, rule, keys in [*rules, ("default", script.get("default", {}), _ANSWERS)]:
        check_keys(where, rule, keys)
        replies, needles, labels = rule.get("reply", ""), rule.get("contains", ""), rule.get("verdicts", {})
        replies = replies if isinstance(replies, list) else [replies]
        needles = needles if isinstance(needles, list) else [needles]
        fault = ""
        if "contains" in keys and not set(_ANSWERS) & set(rule):
            fault = f"answers nothing; give one of {', '.join(_ANSWERS)}"
        elif "contains" in keys and not ("contains" in rule and all(isinstance(needle, str) for needle in needles)):
            fault = "contains must be a text or a list of texts"
        elif not replies or not all(isinstance(reply, str | Mapping) for reply in replies):
            fault = "reply must be a text, an object, or a list with at least one of them"
        elif not isinstance(labels, Mapping) or not all(isinstance(label, str) for label in labels.values()):
            fault = 'verdicts must be an object such as {"is short": "PASS"}'
        if fault:
            raise UserError(f"scripted:{path}, {where}: {fault}")
        for reply in replies:
            if isinstance(reply, Mapping):
                check_keys(f"{where}, reply", reply, _REPLY)


def verdicts(prompt: str, labels: dict[str, str], default: str = "PASS") -> str:
    """A well-formed answer to a judge prompt of any level: the label of the first key each criterion contains."""
    sections = re.findall(r"<criteria[^>]*>\n(.*?)\n</criteria", prompt, re.DOTALL)  # a response may hold another one
    criteria = re.findall(r"^\d+\. (.*)$", sections[-1] if sections else "", re.MULTILINE)
    chosen = [next((label for key, label in labels.items() if key in text), default) for text in criteria]
    lines = [f"{i}. scripted: {label}" for i, label in enumerate(chosen, 1)]
    tag = _id_asked_for(prompt)
    answer = ({"id": tag} if tag else {}) | {f"criteria_{i}": label for i, label in enumerate(chosen, 1)}
    return "\n".join(lines) + f"\n```json\n{json.dumps(answer)}\n```"


def _id_asked_for(prompt: str) -> str:
    """What signs the answer to a prompt; "" where it asks for no signature."""
    match = re.search(r'"id", which is "(\w+)"', prompt)
    return match[1] if match else ""
