"""A run as a log of inspect, written by its own library: conversations, scores and reasons in its viewer.

A sample is an instance, an epoch one of its samples. It is numbered from 1, since readers other than inspect take no
other ids (`load_dataset("eval", ...)`), and its metadata hold the id of the instance as `instance_id`. Its score is
that of the run, 0 to 1, with a line per criterion as explanation and the verdicts in the metadata. What is undecided is
unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from truebench_hf.data.judged import Judged
from truebench_hf.errors import need
from truebench_hf.integrations.every_eval_ever import plain
from truebench_hf.integrations.finished_run import AnsweredInstance, Exported, groups_of, references_of
from truebench_hf.metrics.pass_rate import checklist_share
from truebench_hf.text.redaction import known
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Message

_MET = {"yes": "met", "no": "not met", "unknown": "not to be told", None: "not judged"}
_VERDICT = ("turn", "criterion", "weight", "label", "reason", "judge", "probability")


def write(run: Exported, out: Path) -> dict[Path, str]:
    """Write a `.eval` file per model below `out`. Raises UserError where the library is missing."""
    need("inspect", "inspect_ai", what="--to inspect")
    from inspect_ai.log import write_eval_log

    out.mkdir(parents=True, exist_ok=True)
    written = {}
    for model, responses in run.responses.items():
        path = out / f"{plain(run.kind)}-{plain(model)}.eval"
        write_eval_log(_log(run, model, responses), str(path))
        # Compressed anew, without secrets, in the way that all readers know: the library takes zstd.
        partial = path.with_suffix(".partial")
        with ZipFile(path) as old, ZipFile(partial, "w", ZIP_DEFLATED) as new:
            for name in old.namelist():
                new.writestr(name, known(old.read(name).decode()))
        partial.replace(path)
        written[path] = how_many(len(responses), "sample")
    return written


def chat(messages: Sequence[Message]) -> list[Any]:
    """Messages as inspect has them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [kinds[message.role](content=message.content) for message in messages]


def explained(judged: Judged) -> dict[str, Any]:
    """What a score of inspect holds beside its value: the last answer, a line per criterion, and the verdicts."""
    rows, lines = judged.rows(), []
    for row in rows:
        where = f"Turn {row['turn']}: " if len(judged.verdicts) > 1 else ""
        fault = " (a fault)" if row["weight"] < 0 else ""
        reason = f" — {row['reason']}" if row["reason"] else ""
        lines.append(f"- {where}**{_MET[row['label']]}**{fault}: {row['criterion']}{reason}")
    verdicts = [{name: row[name] for name in _VERDICT} for row in rows]
    return {
        "answer": judged.response.answers[-1] if judged.response.answers else None,
        "explanation": "\n".join(lines) or judged.undecided,
        "metadata": {"verdicts": verdicts, "criteria_share": checklist_share(chain.from_iterable(judged.outcomes))},
    }


def _log(run: Exported, model: str, responses: Sequence[AnsweredInstance]) -> Any:
    from inspect_ai import log
    from inspect_ai.model import GenerateConfig

    sampling = {name: value for name, value in run.sampling(model).items() if name != "repetition_penalty"}
    ids = list(dict.fromkeys(answered.judged.instance.id for answered in responses))
    numbers = {id_: number for number, id_ in enumerate(ids, 1)}
    epochs = max((answered.judged.response.sample for answered in responses), default=1)
    spec = log.EvalSpec(
        created=_time(run.time("finished")), task=f"truebench_hf/{run.kind}", model=model,
        dataset=log.EvalDataset(name=run.data, samples=len(numbers), sample_ids=list(numbers.values())),
        config=log.EvalConfig(epochs=epochs), model_generate_config=GenerateConfig(**sampling),
        packages={"truebench_hf": run.version},
        metadata={"settings": run.settings, "judges": list(run.judges), "score": run.about},
    )  # fmt: skip
    metrics = {}
    for measured in run.decided(model):
        score, (low, high) = measured.score, measured.score.ci95 or (None, None)
        about = {"n": score.n, "unscored": score.unscored, "low": low, "high": high, "title": measured.title}
        metrics[measured.name] = log.EvalMetric(name=measured.name, value=score.value, metadata=about)
    count, unscored = len(responses), sum(answered.score is None for answered in responses)
    scores = log.EvalScore(
        name=run.kind, scorer=run.kind, metrics=metrics, scored_samples=count - unscored, unscored_samples=unscored
    )
    results = log.EvalResults(total_samples=count, completed_samples=count, scores=[scores])
    stats = log.EvalStats(started_at=_time(run.time("started")), completed_at=_time(run.time("finished")))
    samples = [_sample(run, answered, numbers[answered.judged.instance.id]) for answered in responses]
    return log.EvalLog(status="success", eval=spec, results=results, stats=stats, samples=samples)


def _sample(run: Exported, answered: AnsweredInstance, number: int) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

    judged = answered.judged
    instance, response = judged.instance, judged.response
    messages, details = chat(answered.messages), explained(judged)
    output = ModelOutput.from_content(response.model, response.answers[-1]) if response.answers else ModelOutput()
    output.usage = ModelUsage(**answered.usage) if answered.usage else None
    about = {"instance_id": instance.id} | groups_of(instance) | ({"error": response.error} if response.error else {})
    score = Score.unscored(reason=judged.undecided, **details)
    if answered.score is not None:
        score = Score(value=answered.score, **details)
    return EvalSample(
        id=number, epoch=response.sample, input=messages[: answered.opening], target="\n\n".join(references_of(instance)),
        messages=messages, output=output, scores={run.kind: score}, metadata=about,
    )  # fmt: skip


def _time(text: str | None) -> str:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC).isoformat()
    except ValueError:
        return datetime.now(UTC).isoformat()
