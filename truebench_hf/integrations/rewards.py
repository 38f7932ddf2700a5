"""A reward function for training: what a trainer hands over, judged by checklists, in the form that TRL calls."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from truebench_hf.api.judge import Judge, ModelLike, as_spec, judge_options, open_callers
from truebench_hf.data import instances
from truebench_hf.data.judged import Case, cases
from truebench_hf.data.rows import Record
from truebench_hf.engine.pool import Background
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.checklists import generate_checklist, is_question
from truebench_hf.metrics.pass_rate import conjunction, outcome, weighted_share
from truebench_hf.models.caller import Caller
from truebench_hf.models.chat_template import split_thinking
from truebench_hf.options import pairs
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message, Response, Verdict

Rewards = list[float | None]


@dataclass(frozen=True, slots=True)
class Scored:
    """One completion: its reward, and why it is what it is."""

    reward: float | None
    reason: str


class ChecklistReward:
    """A reward function for `trl.GRPOTrainer(reward_funcs=...)`: a judge decides the criteria of each completion.

    - `judge` is a spec, a function or a loaded model (not the one in training, whose verdicts would be kept while it
      changes) as for `truebench_hf.judge`, with `settings` of `Judge` beside (`level`, `votes`, `cache`, ...); or a
      `Judge`. With `cache` no question is paid for twice, in this training or when it goes on; equal completions are
      judged once anyway.
    - Programs decide what they can count without doubt (lengths, language, format), and the judge the rest. With
      judge="none", or without one and with `rules=True`, the rest is not judged, and no model is needed.
    - Criteria stand in a column of the data (`criteria`, `rubric`, `rubrics` or `checklist`; another name: `column`) as
      rows of `truebench run` hold them, with weights if need be. A prompt that has none gets a checklist from the
      `generator`, once (in `language`, by default that of the prompt). Criteria that are
      questions are judged on TICK's terms.
    - `shape` is fraction or pass_all (see `reward_of`).

    `reward(completions, prompts=..., criteria=...)` gives a float for each, or None where it is not judged, never 0: the
    trainer leaves it out. It works inside a running event loop too, which waits meanwhile. The share not judged goes to
    the trainer's metrics, reasons to its table of completions; `last` has them too.
    `name` is how metrics call it, by default `checklist_SHAPE`. A generator of the judge's own spec is reached as
    the judge is, another one by its environment.

    Raises UserError on what the caller can fix: now, and in training on data that cannot be judged, or where a server is
    away for longer than `judge_arg={"patience": SECONDS}`, a minute if not given.
    """

    def __init__(
        self,
        judge: ModelLike | Judge | None = None,
        *,
        generator: ModelLike | None = None,
        shape: str = "fraction",
        column: str | None = None,
        language: str = "",
        name: str | None = None,
        **settings: Any,
    ) -> None:
        """See the class; nothing is asked before the first call."""
        arguments = {key: value for key, value in locals().items() if key not in ("self", "settings")}
        self._again = partial(type(self), **arguments, **settings)
        if shape not in SHAPES:
            raise unknown("shape", shape, SHAPES)
        if judge is None and "rules" not in settings:
            raise UserError('judge: there is none; name one, or let rules decide alone: judge="none"')
        if isinstance(judge, Judge) and (more := sorted(set(settings) - {"cache", "no_cache"})):
            raise UserError(f"{', '.join(more)}: the judge is made already; give such settings to its Judge(...)")
        self.__name__ = name or f"checklist_{shape}"  # by which TRL calls its metrics
        self.last: Sequence[Scored] = ()
        self._shape, self._column, self._language = shape, column, language
        self._judge = judge if isinstance(judge, Judge) else Judge(judge, **settings)
        self._opened_here = self._judge is not judge
        self._prompts = Prompts({key: str(path) for key, path in (settings.get("prompts") or {}).items()})
        self._background = Background()
        try:
            opened = None if generator is None else self._background.run(_open_writer(generator, judge, settings))
        except BaseException:
            self._background.close()
            raise
        self._writer = opened and opened[0]
        self._closed = weakref.finalize(self, self._background.close, opened and opened[1])

    def __call__(self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any) -> Rewards:
        """The rewards, in order. Works inside a running event loop too, which waits meanwhile."""
        cases = self._cases(completions, prompts, columns)
        return self._noted(self._background.run(self._step(cases)), columns)

    def close(self) -> None:
        """Give back what it holds; a `Judge` that it was given stays open."""
        self._closed()
        if self._opened_here:
            self._judge.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # Trainers that score in a process of their own send it there: as what it was made of, opened there anew.
        return self._again, ()

    def _cases(
        self, completions: Sequence[Any], prompts: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[Case]:
        if prompts is None:
            raise UserError("prompts: there are none; a judge needs to know what the completions answer")
        if self._writer is None and not criteria_columns(columns, self._column):
            raise UserError(
                "no column of the data holds criteria; give `criteria` (a list of texts for each prompt), name their "
                "column by column=, or give a generator= that writes a checklist for each prompt"
            )
        cases = read_samples(prompts, completions, columns, self._column)
        for place, case in enumerate(cases, 1):
            if case.criteria and self._shape != "pass_all" and all(criterion.weight < 0 for criterion in case.criteria):
                raise UserError(
                    f"completion {place}: its criteria are faults alone (negative points), of which there is no "
                    "fraction; use shape='pass_all', or add one with positive points"
                )
        return cases

    async def _step(self, cases: Sequence[Case]) -> Sequence[Scored]:
        """Every case scored, equal ones once; the callers know their limits."""
        unique = list(dict.fromkeys(cases))
        scored = dict(zip(unique, await asyncio.gather(*map(self._scored, unique)), strict=True))
        return [scored[case] for case in cases]

    async def _scored(self, case: Case) -> Scored:
        if not case.criteria:
            if self._writer is None:
                return Scored(None, "there are no criteria")
            checklist = await generate_checklist(self._writer, case, self._prompts, language=self._language)
            if checklist.problem:
                return Scored(None, f"no checklist could be written: {checklist.problem}")
            case = replace(case, criteria=tuple(map(Criterion, checklist.questions)), benchmark="tick")
        verdicts = await self._judge.verdicts(case)
        labelled = [(outcome(verdict.label, verdict.criterion.weight), verdict) for verdict in verdicts]
        reasons = [f"failed: {verdict.criterion.text}" for label, verdict in labelled if label == "no"]
        reasons += [f"open: {v.criterion.text} ({v.reason})" for label, v in labelled if label not in ("yes", "no")]
        return Scored(reward_of(verdicts, self._shape), "; ".join(reasons) or "all met")

    def _noted(self, step: Sequence[Scored], columns: Mapping[str, Any]) -> Rewards:
        """The rewards of a step, of which the trainer is told where it offers `log_metric` and `log_extra`."""
        self.last, rewards = step, [scored.reward for scored in step]
        if rewards and callable(log_metric := columns.get("log_metric")):
            log_metric(f"{self.__name__}/not_judged", rewards.count(None) / len(rewards))
        if callable(log_extra := columns.get("log_extra")):
            log_extra(f"{self.__name__}_reason", [scored.reason for scored in step])
        return rewards


checklist_reward = ChecklistReward


async def _open_writer(model: ModelLike, judge: Any, settings: Mapping[str, Any]) -> tuple[Caller, Callable[[], Any]]:
    """The generator of checklists, reached as the judge is where it is the same model, and what closes it."""
    options, same = judge_options(settings), isinstance(model, str) and model == judge
    reached = (pairs(options.judge_arg, "judge_arg"), options.base_url) if same else ({}, None)
    (writer,), close = open_callers({"generator": (as_spec(model), *reached)}, options)
    return writer, close


SHAPES = ("fraction", "pass_all")


def reward_of(verdicts: Sequence[Verdict], shape: str = "fraction") -> float | None:
    """The reward for a completion with these verdicts; None where there are none, or open ones that could change it.

    - `fraction`: points of the criteria that are met over all positive points, from 0 to 1 (negative ones take away).
      None where an open verdict could move it.
    - `pass_all`: 1 where every criterion passes (a fault with negative points: is not there), 0 as soon as one that is
      decided fails, whatever is open; else None where one is open.

    Neither falls when a criterion that failed passes.
    """
    if shape not in SHAPES:
        raise unknown("shape", shape, SHAPES)
    if not verdicts:
        return None
    if shape == "fraction":
        return weighted_share([v.label for v in verdicts], [v.criterion.weight for v in verdicts])
    passed = conjunction([outcome(verdict.label, verdict.criterion.weight) for verdict in verdicts])
    return None if passed is None else float(passed)


BESIDE = ("system", "context", "reference")  # columns that a judge is shown, too


def read_samples(
    prompts: Sequence[Any], completions: Sequence[Any], columns: Mapping[str, Any], column: str | None = None
) -> list[Case]:
    """A case per completion; one without criteria has none. `columns` hold an entry for each completion.

    Criteria stand in `column`, else in the one named as in all data (criteria, rubric, rubrics, checklist). Where all
    are questions they are judged on TICK's terms: a flaw is NO. Raises UserError naming the completion and the field.
    """
    if len(prompts) != len(completions):
        raise UserError(f"prompts: {len(prompts)} for {len(completions)} completions; give one for each")
    names = criteria_columns(columns, column)
    used = {"criteria" if name == column else name: columns[name] for name in (*names, *BESIDE) if name in columns}
    for name, values in used.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != len(completions):
            raise UserError(f"{name}: must be a list with an entry for each of the {len(completions)} completions")
    rows = [{name: values[place] for name, values in used.items()} for place in range(len(completions))]
    return [
        _case(row, prompt, completion, f"completion {place}")
        for place, (row, prompt, completion) in enumerate(zip(rows, prompts, completions, strict=True), 1)
    ]


def criteria_columns(columns: Mapping[str, Any], column: str | None = None) -> list[str]:
    """The columns that may hold criteria: `column`, or those of our names that are there. Raises UserError."""
    if column is None:
        return [name for name in instances.CRITERIA if name in columns]
    if column not in columns:
        raise UserError(f"column={column!r}: no such column; there are {', '.join(map(str, columns)) or 'none'}")
    return [column]


def _case(row: Mapping[str, Any], prompt: Any, completion: Any, where: str) -> Case:
    if not prompt or not isinstance(prompt, str | Sequence) or (isinstance(prompt, str) and not prompt.strip()):
        raise UserError(f"{where}: its prompt must be a text or a list of messages, and hold something")
    if not isinstance(prompt, str):
        prompt = [_plain_message(message, where) if isinstance(message, Mapping) else message for message in prompt]
    instance = instances.of_row(Record(where, {**row, "prompt": prompt}))
    (turn,) = instance.turns
    system = [Message("system", instance.system)] if instance.system else []
    messages = (*system, Message("user", turn.prompt), Message("assistant", _answer(completion, where)))
    questions = bool(turn.criteria) and all(is_question(criterion.text) for criterion in turn.criteria)
    return cases(instance, Response("", "", messages), "tick" if questions else None)[0]


def _answer(completion: Any, where: str) -> str:
    """The answer in a completion: a text, or the last message of the assistant; without its thinking.

    "" where it holds none: a judge is told that the response is empty.
    """
    if isinstance(completion, str):
        return split_thinking(completion)[0]
    if not isinstance(completion, Sequence) or not all(isinstance(message, Mapping) for message in completion):
        raise UserError(f"{where}: a completion is a text or a list of messages, not a {type(completion).__name__}")
    answers = [message for message in completion if message.get("role", "assistant") == "assistant"]
    text = (_plain_message(answers[-1], where)["content"] or "") if answers else ""
    if not isinstance(text, str):
        raise UserError(f"{where}: the content of its last message is a {type(text).__name__}, not a text")
    return split_thinking(text)[0]


def _plain_message(message: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A message with its content as a text: some templates want it as a list of parts."""
    role, content = message.get("role"), message.get("content")
    if isinstance(content, list):
        if not all(isinstance(part, Mapping) and part.get("type") == "text" for part in content):
            raise UserError(
                f"{where}: a message holds something that is no text (an image?), which judges here do not see"
            )
        content = "".join(str(part.get("text") or "") for part in content)
    return {**message, "role": "system" if role == "developer" else role, "content": content}
