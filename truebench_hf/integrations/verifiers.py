"""Checklists and judged answers in the forms of the library `verifiers` (its v1, `judges/rubric.py`).

A rubric file (.json or .toml) holds a list `criteria` of objects: `name` (unique; its metric), `text`, `weight` (0 or
more) and `choices`, the answers from the worst to the best, of which the first is worth 0 and the last 1. The reward is
the mean by weight. Other fields are refused there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.api.reading import Criteria, read_case
from truebench_hf.errors import UserError
from truebench_hf.integrations.finished_run import AnsweredInstance, Exported, put, put_lines, verdict_rows
from truebench_hf.integrations.rewards import reward_of
from truebench_hf.prompts import one_line
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Message


def to_verifiers(criteria: Criteria) -> dict[str, Any]:
    """`{"criteria": [...]}` of criteria in any form that `truebench_hf.judge` takes.

    A fault (negative points) has its choices turned round, so that "no" is the best answer: what is earned by leaving it
    out differs from our fraction by a constant and a factor, but where ours stops at 0 or 1. Raises UserError.
    """
    return {
        "criteria": [
            {
                "name": f"criterion_{number}",
                "text": one_line(criterion),
                "weight": abs(criterion.weight),
                "choices": ["no", "yes"] if criterion.weight > 0 else ["yes", "no"],
            }
            for number, criterion in enumerate(read_case("-", "", criteria, None, None).criteria, 1)
        ]
    }


def _rubric(criteria: Sequence[Any]) -> str:
    return json.dumps(to_verifiers(list(criteria)), ensure_ascii=False, indent=1) + "\n"


def write(run: Exported, out: Path) -> dict[Path, str]:
    """Write what a run asked: `rubrics/N.json`, one per list of criteria, and `tasks.jsonl`, a line per answer.

    A line has `prompt` and `completion` as messages, `rubric` (the file), `reward` (the share of points, as
    `checklist_reward` gives it) and `metrics` by the names of the criteria, both null where undecided. A rubric is for
    one answer: instances with several turns have a file and a line per turn.
    """
    files: dict[str, str] = {}  # by the text of a rubric
    answers = (answered for responses in run.responses.values() for answered in responses)
    lines = [line for answered in answers for line in _tasks(answered, files)]
    if not files:
        raise UserError(f"{run.where}: holds no judged answer to export; judge the run first")
    for text, name in files.items():
        put(out / name, text)
    put_lines(out / "tasks.jsonl", lines)
    return {out / "tasks.jsonl": how_many(len(lines), "response"), out / "rubrics": how_many(len(files), "rubric")}


def _tasks(answered: AnsweredInstance, files: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A line for each answer that something is asked of."""
    instance, response, messages = answered.judged.instance, answered.judged.response, answered.messages
    ends = [number for number, message in enumerate(messages) if message.role == "assistant"][-len(response.answers) :]
    rows = list(verdict_rows(answered.judged))
    for place in range(len(response.answers)):
        if not instance.turns[place].criteria:
            continue
        text = _rubric(instance.turns[place].criteria)
        yield {
            "id": answered.judged.name,
            "turn": place + 1,
            "model": response.model,
            "prompt": _plain(messages[: ends[place]]),
            "completion": _plain(messages[ends[place] : ends[place] + 1]),
            "rubric": files.setdefault(text, f"rubrics/{len(files) + 1:05d}.json"),
            "reward": reward_of(answered.judged.verdicts[place]),
            "metrics": {
                f"criterion_{row['criterion_number']}": None if row["met"] is None else float(row["met"])
                for row in rows
                if row["turn"] == place + 1
            },
        }


def _plain(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
