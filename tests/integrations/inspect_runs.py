"""Run where inspect is installed: the task on data, model and judge that rules files describe; print what comes of it."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from typing import Any

from inspect_ai import eval, score
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.integrations.inspect_task import criteria
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import ScriptedOptions, from_file
from truebench_hf.types import Message


def scripted(name: str, file: str) -> Model:
    """A model of inspect that answers by a rules file."""
    rules = from_file(file, ScriptedOptions())

    async def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        await asyncio.sleep(0)
        request = ChatRequest(tuple(Message(one.role, one.text) for one in messages))  # type: ignore[arg-type]
        try:
            answer = await rules.complete(request)
        except RequestFailed as error:
            raise ValueError(str(error)) from error
        made = ModelOutput.from_content(name, answer.text)
        made.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # else it loads a tokenizer
        return made

    return get_model(f"mockllm/{name}", custom_outputs=output, memoize=False)


def told(log: Any) -> dict[str, Any]:
    """What a log holds, NaN as None."""
    if log.results is None:
        return {
            "status": log.status,
            "error": log.error.message if log.error else "",
            "asked": bool(log.stats.model_usage),
        }
    scores = {
        one.name: {name.rpartition("/")[2]: None if math.isnan(m.value) else m.value for name, m in one.metrics.items()}
        | {"scored": one.scored_samples, "unscored": one.unscored_samples}
        for one in log.results.scores
    }
    samples = {
        f"{one.id} {one.epoch}": {
            "messages": [[message.role, message.text] for message in one.messages],
            "overall": None if math.isnan(found := one.scores["criteria"].value["overall"]) else found,
            "reason": one.scores["criteria"].reason, "explanation": one.scores["criteria"].explanation,
            "verdicts": one.scores["criteria"].metadata["verdicts"],
        }
        for one in log.samples or []
    }  # fmt: skip
    return {"status": log.status, "task": log.eval.task, "scores": scores, "samples": samples, "log": log.location}


def main(asked: dict[str, Any]) -> None:
    """Print a JSON object per call of `asked["calls"]`."""
    found = []
    for call in asked["calls"]:
        model = scripted("model", asked["model"])
        graders = [scripted(f"grader{place or ''}", file) for place, file in enumerate(call.get("grader", "").split())]
        roles = {"grader": graders if len(graders) > 1 else graders[0]} if graders else None
        how = {"display": "none", "log_dir": asked["logs"], "epochs": call.get("epochs", 1)}
        try:
            (log,) = eval("truebench_hf/truebench", model=model, model_roles=roles, task_args=call["args"], **how)
        except PrerequisiteError as error:
            found.append({"refused": str(error.message)})
            continue
        made = told(log)
        if call.get("again"):
            made["again"] = told(score(log, criteria(judge=call["again"]), action="overwrite", display="none"))
        found.append(made)
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
