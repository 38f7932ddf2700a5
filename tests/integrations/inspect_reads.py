"""Run where inspect is installed: export a run as a log, read it with its library and ours, and print what they see."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

from inspect_ai.analysis import samples_df
from inspect_ai.log import read_eval_log

from truebench_hf.data.answer_files import read_answers
from truebench_hf.integrations.export import export


def main(run: str, out: str) -> None:
    """Print one JSON object."""
    (path,) = export(run, "inspect", out)
    log = read_eval_log(str(path))
    samples = []
    for sample in log.samples or []:
        ((_, score),) = (sample.scores or {}).items()
        samples.append(
            {
                "id": [sample.id, sample.metadata["instance_id"]],
                "input": [message.role for message in sample.input],
                "messages": [message.role for message in sample.messages],
                "value": None if math.isnan(score.as_float()) else score.as_float(),
                "reason": score.reason,
                "explanation": score.explanation,
                "target": sample.target,
                "tokens": sample.output.usage.total_tokens if sample.output.usage else None,
            }
        )
    (scores,) = log.results.scores if log.results else []
    told = {
        "status": log.status,
        "model": log.eval.model,
        "task": log.eval.task,
        "scored": [scores.scored_samples, scores.unscored_samples],
        "metrics": {name: metric.value for name, metric in scores.metrics.items()},
        "samples": samples,
        "answers": {str(one.id): one.answers for one in read_answers(Path(path))},
        "table": len(samples_df(str(path), quiet=True)),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
