"""Run where inspect is installed, in a folder with data.jsonl, model.json and judge.json: its logs as JSON, for the golden case.

`task.json` is the log of the task with a model of inspect as judge, `spec.json` with a judge of ours, and `export.json` the
log that an export of our own run is. Left out are times, ids that are drawn anew, versions, and the events with
their texts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.log import read_eval_log
from inspect_runs import scripted  # beside this script

from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.benchmarks.truebench.run import Run
from truebench_hf.integrations.export import export

LEFT_OUT = (
    "attachments", "completed", "completed_at", "created", "duration", "eval_id", "events", "events_data",
    "location", "packages", "revision", "role_usage", "run_id", "sessions", "started_at", "task_id", "time",
    "timelines", "timestamp", "total_time", "traceback", "traceback_ansi", "truebench_hf", "uuid", "versions",
    "working_time",
)  # fmt: skip


def main(out: str) -> None:
    """Write the three files into `out`."""
    data, judge = {"data": "data.jsonl"}, "scripted:judge.json"
    with tempfile.TemporaryDirectory() as scratch:
        how: dict[str, Any] = {"display": "none", "log_dir": f"{scratch}/logs", "fail_on_error": False}
        task, model = "truebench_hf/truebench", scripted("model", "model.json")
        by_role = eval(
            task, model=model, model_roles={"grader": scripted("grader", "judge.json")}, task_args=data, **how
        )
        by_spec = eval(task, model=model, task_args=data | {"judge": judge}, **how)
        Run(RunOptions(data="data.jsonl", model="scripted:model.json", judge=(judge,), out=f"{scratch}/run")).run()
        (path,) = export(f"{scratch}/run", "inspect", f"{scratch}/export")
        logs = {"task": by_role[0].location, "spec": by_spec[0].location, "export": str(path)}
        for name, log in logs.items():
            held = without_drawn(read_eval_log(log).model_dump(mode="json", exclude_none=True))
            Path(out, f"{name}.json").write_text(json.dumps(held), encoding="utf-8")


def without_drawn(value: Any) -> Any:
    """The same without what differs from time to time: an id is drawn of a message, and the data's of a sample."""
    if isinstance(value, list):
        return [without_drawn(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    drawn = (*LEFT_OUT, *(["id"] if "role" in value else []))
    return {name: without_drawn(inner) for name, inner in value.items() if name not in drawn}


if __name__ == "__main__":
    main(sys.argv[1])
    print("{}")
