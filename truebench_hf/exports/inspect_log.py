"""A run as a log of inspect, written by its own library: conversations, scores and reasons in its viewer.

A sample is an instance, an epoch one of its samples. It is numbered from 1, since readers other than inspect take no
other ids (`load_dataset("eval", ...)`), and its metadata hold the id of the instance as `instance_id`. Its score is
that of the run, 0 to 1, with a line per criterion as explanation and the verdicts in the metadata; a second score
counts single criteria. What is undecided is unscored.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from truebench_hf.data.judged import Judged
from truebench_hf.errors import write_error
from truebench_hf.exports.every_eval_ever.scores import plain
from truebench_hf.exports.run import Answered, Exported
from truebench_hf.extras import need
from truebench_hf.metrics.pass_rate import checklist_share
from truebench_hf.text.redaction import known
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Usage, Verdict

_MET = {"yes": "met", "no": "not met", "unknown": "not to be told", None: "not judged"}


def write(run: Exported, out: Path) -> dict[Path, str]:
    """A `.eval` file per model below `out`. Raises UserError where the library is missing."""
    need("inspect", "inspect_ai", what="--to inspect")
    from inspect_ai.log import write_eval_log

    made = {}
    for model, responses in run.responses.items():
        path = out / f"{plain(run.kind)}-{plain(model)}.eval"
        try:
            out.mkdir(parents=True, exist_ok=True)
            write_eval_log(_log(run, model, responses), str(path))
            _deflate(path)
        except OSError as error:
            raise write_error(str(path), error) from error
        made[path] = how_many(len(responses), "sample")
    return made


def _deflate(path: Path) -> None:
    """Compress a log anew, without secrets, in the way that all readers know; its library takes zstd, as Python does from 3.14 on only."""
    partial = path.with_suffix(".partial")
    with ZipFile(path) as old, ZipFile(partial, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, known(old.read(name).decode()))
    partial.replace(path)


def _log(run: Exported, model: str, responses: Sequence[Answered]) -> Any:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats
    from inspect_ai.model import GenerateConfig

    drawn = {name: value for name, value in run.sampling(model).items() if name != "repetition_penalty"}
    numbers = _numbers(responses)
    epochs = max((one.judged.response.sample for one in responses), default=1)
    spec = EvalSpec(
        created=_time(run.time("finished")), task=f"truebench_hf/{run.kind}", model=model,
        dataset=EvalDataset(name=run.data, samples=len(numbers), sample_ids=list(numbers.values())), config=EvalConfig(epochs=epochs),
        model_generate_config=GenerateConfig(**drawn), packages={"truebench_hf": run.version},
        metadata={"settings": dict(run.settings), "judges": list(run.judges), "score": run.about},
    )  # fmt: skip
    results = EvalResults(
        total_samples=len(responses), completed_samples=len(responses), scores=_scores(run, model, responses)
    )
    stats = EvalStats(started_at=_time(run.time("started")), completed_at=_time(run.time("finished")))
    samples = [_sample(run, one, numbers[one.judged.instance.id]) for one in responses]
    return EvalLog(status="success", eval=spec, results=results, stats=stats, samples=samples)


def _numbers(responses: Sequence[Answered]) -> dict[str, int]:
    """Instances by their ids, counted from 1."""
    return {id_: number for number, id_ in enumerate(dict.fromkeys(one.judged.instance.id for one in responses), 1)}


def _scores(run: Exported, model: str, responses: Sequence[Answered]) -> list[Any]:
    """The scores of the run under the name that samples have them by: of all, and of its groups."""
    from inspect_ai.log import EvalMetric, EvalScore

    unscored = sum(one.score is None for one in responses)
    metrics = {}
    for one in run.decided(model):
        low, high = one.score.ci95 or (None, None)
        about = {"n": one.score.n, "unscored": one.score.unscored, "low": low, "high": high, "title": one.title}
        metrics[one.name] = EvalMetric(name=one.name, value=one.score.value, metadata=about)
    counts = {"scored_samples": len(responses) - unscored, "unscored_samples": unscored}
    return [EvalScore(name=run.kind, scorer=run.kind, metrics=metrics, **counts)]


def _sample(run: Exported, one: Answered, number: int) -> Any:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    instance, response = one.judged.instance, one.judged.response
    messages = [_message(message.role, message.content) for message in one.messages]
    answer = response.answers[-1] if response.answers else None
    output = ModelOutput.from_content(response.model, answer) if answer is not None else ModelOutput()
    output.usage = _usage(response.usage)
    references = [turn.reference for turn in instance.turns if turn.reference is not None]
    names = {name: getattr(instance, name) for name in ("language", "category", "task") if getattr(instance, name)}
    about = {"instance_id": instance.id} | names | ({"error": response.error} if response.error else {})
    return EvalSample(
        id=number, epoch=response.sample, input=messages[: one.opening], target="\n\n".join(references),
        messages=messages, output=output, scores={run.kind: _score(one)}, metadata=about,
    )  # fmt: skip


def _score(one: Answered) -> Any:
    from inspect_ai.scorer import Score

    told = explained(one.judged)
    if one.score is None:
        return Score.unscored(reason=one.judged.undecided, **told)
    return Score(value=one.score, **told)


def explained(judged: Judged) -> dict[str, Any]:
    """What a score of inspect holds beside its value: the last answer, a line per criterion, and the verdicts."""
    verdicts = [(turn, v) for turn, its in enumerate(judged.verdicts, 1) for v in its]
    several = len(judged.verdicts) > 1
    return {
        "answer": judged.response.answers[-1] if judged.response.answers else None,
        "explanation": "\n".join(_line(turn, verdict, several) for turn, verdict in verdicts) or judged.undecided,
        "metadata": {
            "verdicts": [_told(turn, verdict) for turn, verdict in verdicts],
            "criteria_share": checklist_share([label for turn in judged.outcomes for label in turn]),
        },
    }


def _line(turn: int, verdict: Verdict, several: bool) -> str:
    where = f"Turn {turn}: " if several else ""
    fault = " (a fault)" if verdict.criterion.weight < 0 else ""
    reason = f" {verdict.reason}" if verdict.reason else ""
    return f"- {where}**{_MET[verdict.label]}**{fault}: {verdict.criterion.text}{reason and ' —'}{reason}"


def _told(turn: int, verdict: Verdict) -> dict[str, Any]:
    criterion = verdict.criterion
    return {
        "turn": turn, "criterion": criterion.text, "weight": criterion.weight, "label": verdict.label,
        "reason": verdict.reason, "judge": verdict.judge, "probability": verdict.probability,
    }  # fmt: skip


def _message(role: str, content: str) -> Any:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return kinds[role](content=content)


def _usage(usage: Usage) -> Any:
    from inspect_ai.model import ModelUsage

    if usage.unknown_calls:  # a part would be shown, and summed up, as the whole
        return None
    total = usage.input_tokens + usage.output_tokens
    return ModelUsage(
        input_tokens=usage.input_tokens, output_tokens=usage.output_tokens, total_tokens=total,
        reasoning_tokens=usage.reasoning_tokens,
    )  # fmt: skip


def _time(told: object) -> str:
    try:
        return datetime.fromisoformat(str(told)).astimezone(UTC).isoformat()
    except ValueError:
        return datetime.now(UTC).isoformat()
