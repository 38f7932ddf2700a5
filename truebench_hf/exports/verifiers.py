"""What a run asked, for environments of the library `verifiers`: a rubric file per prompt, and the prompts with rewards.

`rubrics/N.json` are read by its rubric judge (`RubricJudgeConfig(path=...)`); `tasks.jsonl` has a line per response:
`prompt` and `completion` as messages, `rubric` (the file), `reward` (the share of points, as `checklist_reward` gives
it) and `metrics` by the names of the criteria, both null where undecided.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.exports.files import put
from truebench_hf.exports.run import Answered, Exported
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.rewards.shapes import reward_of
from truebench_hf.rewards.verifiers import to_verifiers
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Message


def write(run: Exported, out: Path) -> dict[Path, str]:
    """The files below `out`. A rubric is for one answer: instances with several turns have a file and a line per turn."""
    rubrics: dict[str, str] = {}
    lines = []
    for responses in run.responses.values():
        for one in responses:
            lines += [_task(one, place, rubrics) for place in range(len(one.judged.response.answers))]
    if not rubrics:
        raise UserError(f"{run.where}: holds no judged answer to export; judge the run first")
    for text, name in rubrics.items():
        put(out / name, text)
    put(out / "tasks.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines if line))
    return {
        out / "tasks.jsonl": how_many(sum(map(bool, lines)), "response"),
        out / "rubrics": how_many(len(rubrics), "rubric"),
    }


def _task(one: Answered, place: int, rubrics: dict[str, str]) -> dict[str, Any] | None:
    """The line of an answer; None where nothing is asked of it that earns points."""
    instance, response = one.judged.instance, one.judged.response
    turn, verdicts = instance.turns[place], one.judged.verdicts[place]
    if not turn.criteria:
        return None
    text = json.dumps(to_verifiers(list(turn.criteria)), ensure_ascii=False, indent=1) + "\n"
    name = rubrics.setdefault(text, f"rubrics/{len(rubrics) + 1:05d}.json")
    said = one.messages
    end = [number for number, message in enumerate(said) if message.role == "assistant"][
        place - len(response.answers) :
    ][0]
    met = [outcome(verdict.label, verdict.criterion.weight) for verdict in verdicts]
    return {
        "id": one.judged.name,
        "turn": place + 1,
        "model": response.model,
        "prompt": _plain(said[:end]),
        "completion": _plain(said[end : end + 1]),
        "rubric": name,
        "reward": reward_of(verdicts),
        "metrics": {
            f"criterion_{number}": float(label == "yes") if label in ("yes", "no") else None
            for number, label in enumerate(met, 1)
        },
    }


def _plain(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
