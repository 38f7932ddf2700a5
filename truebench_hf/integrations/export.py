"""`truebench study export`: a finished run in the form of a neighbour, or as tables.

A rubric of the library `verifiers` (its v1, `judges/rubric.py`) holds a list `criteria` of objects: `name` (unique; its
metric), `text`, `weight` (0 or more) and `choices`, the answers from the worst to the best, of which the first is worth 0
and the last 1. The reward is the mean by weight. Other fields are refused there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.api.reading import Criteria, read_case
from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.tick.scoring import BENCHMARK as TICKED
from truebench_hf.benchmarks.truebench.run import benchmark
from truebench_hf.comparing.runs import KINDS, TICK
from truebench_hf.data.judged import cases
from truebench_hf.errors import UserError, unknown, write_error
from truebench_hf.integrations import every_eval_ever, finished_run, inspect_log
from truebench_hf.integrations.finished_run import AnsweredInstance, Exported, put, put_lines
from truebench_hf.integrations.rewards import reward_of
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.judging.signed_asking import verdict_answer
from truebench_hf.prompts import Prompts, one_line, sections
from truebench_hf.report.sections import guard
from truebench_hf.text.redaction import known
from truebench_hf.text.terminal import how_many, whole
from truebench_hf.types import Label, Message

if TYPE_CHECKING:
    from pandas import DataFrame

FORMS = ("every-eval-ever", "inspect", "verifiers", "sft", "csv", "parquet")
# The columns of the tables by their types.
SCORES = dict.fromkeys(("kind", "model", "data", "score", "title"), "string")
SCORES |= {"value": "Float64", "low": "Float64", "high": "Float64", "n": "Int64", "unscored": "Int64", "how": "string"}
VERDICTS = {
    "model": "string", "id": "string", "sample": "Int64", "language": "string", "category": "string", "task": "string",
    "turn": "Int64", "prompt": "string", "response": "string", "criterion_number": "Int64", "criterion": "string",
    "kind": "string", "condition": "string", "weight": "Float64", "label": "string", "met": "boolean",
    "reason": "string", "judge": "string", "probability": "Float64", "conflicting": "boolean",
    "response_score": "Float64", "error": "string",
}  # fmt: skip
_WORDS: dict[Label, str] = {"yes": "PASS", "no": "FAIL"}
_OPEN, _RULES, _TWICE, _BOTH = _REASONS = "not judged", "decided by rules", "asked twice", "judged both ways"


def export(
    run: str, to: str, out: str | Path, *, organization: str = "not stated", relationship: str = "other"
) -> dict[Path, str]:
    """Write a finished run into `out` in the form `to`, one of `FORMS`. Returns what each file holds.

    `organization` is who tells the results in Every Eval Ever, `relationship` what it is to the model (first_party,
    third_party, collaborative, other). Paths, addresses and keys are taken out. Raises UserError on another form, on a run
    that is not finished or has no scores, and where a form is of judged responses and the run has none.
    """
    if to not in FORMS:
        raise unknown("form", to, FORMS)
    if relationship not in every_eval_ever.RELATIONSHIPS:
        raise unknown("--relationship", relationship, every_eval_ever.RELATIONSHIPS)
    exported, folder = finished_run.read(run), Path(out).expanduser()
    by_response = {"inspect": inspect_log.write, "verifiers": write_verifiers, "sft": write_sft}
    if to in by_response and not exported.responses:
        raise UserError(
            f"{run}: a study of kind {exported.kind} does not score responses one by one, which {to} is about; runs of "
            f"kind {', '.join(KINDS)} do (or take --to every-eval-ever, csv or parquet)"
        )
    try:
        if to == "every-eval-ever":
            return every_eval_ever.write(exported, folder, organization, relationship)
        return by_response[to](exported, folder) if to in by_response else _write_tables(exported, folder, to)
    except OSError as error:
        raise write_error(str(folder), error) from error


def tables(run: Exported) -> dict[str, DataFrame]:
    """A run as frames: `scores`, a row per score, and `verdicts`, a row per criterion of every response.

    `value`, `low` and `high` are shares (0 to 1) where scores are.
    """
    scores = [
        {
            "kind": run.kind, "model": model, "data": run.data, "score": measured.name, "title": measured.title,
            "value": score.value, **dict(zip(("low", "high"), score.ci95 or (None, None), strict=True)), "n": score.n,
            "unscored": score.unscored, "how": "; ".join(f"{name}: {value}" for name, value in measured.facts.items()),
        }
        for model, listed in run.scores.items() for measured in listed if (score := measured.score)
    ]  # fmt: skip
    frames = {"scores": _frame(scores, SCORES)}
    if run.responses:
        frames["verdicts"] = _frame((row for answered in run.answered for row in _rows(answered)), VERDICTS)
    return frames


def _frame(rows: Iterable[Mapping[str, Any]], types: Mapping[str, str]) -> DataFrame:
    """A frame of typed columns, in which half a character is shown as its escape: no file holds it."""
    from pandas import DataFrame

    texts = [{name: whole(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows]
    return DataFrame(texts, columns=list(types), dtype=object).astype(dict(types))


def write_sft(run: Exported, out: Path) -> dict[Path, str]:
    """Write `sft.jsonl`: a run's verdicts as rows of messages, for a trainer that teaches a smaller judge to give them.

    A row is a verdict: `messages` are the prompt that a judge gets about one criterion and the signed answer that gives
    the verdict, `id` is the instance, by which rows are kept apart in a split. What has no label, was decided by rules,
    or got both labels teaches nothing, and is counted.
    """
    if run.kind == FACTS:
        raise UserError(
            f"{run.where}: its judges look for grounding, not at criteria; give a run of run, judge or tick"
        )
    left_out: Counter[str] = Counter()
    answers: dict[str, dict[Label, tuple[str, str]]] = {}  # by prompt, then by label: the instance and the answer
    for judged in (answered.judged for answered in run.answered):
        instance = judged.instance
        turns = cases(instance, judged.response, TICKED if run.kind == TICK else benchmark(instance))
        for case, verdicts in zip(turns, judged.verdicts, strict=False):
            for verdict, criterion in zip(verdicts, case.criteria, strict=True):
                if verdict.judge == JUDGE or verdict.label not in ("yes", "no"):
                    left_out[_RULES if verdict.judge == JUDGE else _OPEN] += 1
                    continue
                values = sections(replace(case, criteria=(criterion,)))  # as a judge that is asked about it alone
                prompt = Prompts().render("rubric", **values, structured=False, reasoning=True)
                answer = verdict_answer(str(values["tag"]), [(verdict.reason, _WORDS[verdict.label])])
                by_label = answers.setdefault(prompt, {})
                left_out[_TWICE] += verdict.label in by_label
                by_label.setdefault(verdict.label, (instance.id, answer))
    left_out[_BOTH] = sum(2 for by_label in answers.values() if len(by_label) == 2)
    rows = [
        {"id": name, "messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]}
        for prompt, by_label in answers.items()
        if len(by_label) == 1
        for name, answer in by_label.values()
    ]
    if not rows:
        raise UserError(
            f"{run.where}: no criterion has a judge's yes or no to learn from; judge the run by a model first"
        )
    put_lines(out / "sft.jsonl", rows)
    reasons = "".join(f", {left_out[reason]} left out ({reason})" for reason in _REASONS if left_out[reason])
    return {out / "sft.jsonl": f"{len(rows)} verdicts{reasons}"}


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


def write_verifiers(run: Exported, out: Path) -> dict[Path, str]:
    """Write what a run asked: `rubrics/N.json`, one per list of criteria, and `tasks.jsonl`, a line per answer.

    A line has `prompt` and `completion` as messages, `rubric` (the file), `reward` (the share of points, as
    `checklist_reward` gives it) and `metrics` by the names of the criteria, both null where undecided. A rubric is for
    one answer: instances with several turns have a file and a line per turn.
    """
    files: dict[str, str] = {}  # by the text of a rubric
    lines = [line for answered in run.answered for line in _tasks(answered, files)]
    if not files:
        raise UserError(f"{run.where}: holds no judged answer to export; judge the run first")
    for earlier in (out / "rubrics").glob("[0-9][0-9][0-9][0-9][0-9].json"):
        earlier.unlink()
    for text, name in files.items():
        put(out / name, text)
    put_lines(out / "tasks.jsonl", lines)
    return {out / "tasks.jsonl": how_many(len(lines), "response"), out / "rubrics": how_many(len(files), "rubric")}


def _write_tables(run: Exported, out: Path, to: str) -> dict[Path, str]:
    """CSV files that a spreadsheet program opens, and runs nothing of, or Parquet files with typed columns."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"verdicts.{to}").unlink(missing_ok=True)  # of an earlier export; this run may have none
    written = {}
    for name, frame in tables(run).items():
        path = out / f"{name}.{to}"
        texts = frame.select_dtypes("string").columns
        frame[texts] = frame[texts].map(known, na_action="ignore").astype("string")  # without secrets
        if to == "csv":
            frame[texts] = frame[texts].map(guard, na_action="ignore")
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)
        written[path] = how_many(len(frame), "row")
    return written


def _rows(answered: AnsweredInstance) -> Iterator[dict[str, Any]]:
    """The rows of a judged response, with its score, and the first prompt as the model was sent it, with its context."""
    for row in answered.judged.rows():
        sent = {"prompt": answered.messages[answered.opening - 1].content} if row["turn"] == 1 else {}
        yield row | sent | {"response_score": answered.score}


def _tasks(answered: AnsweredInstance, files: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A line for each answer that something is asked of."""
    instance, response, messages = answered.judged.instance, answered.judged.response, answered.messages
    ends = [number for number, message in enumerate(messages) if message.role == "assistant"][-len(response.answers) :]
    rows = answered.judged.rows()
    for place in range(len(response.answers)):
        if not instance.turns[place].criteria:
            continue
        text = json.dumps(to_verifiers(instance.turns[place].criteria), ensure_ascii=False, indent=1) + "\n"
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
