"""TRUEBench end to end: a model answers, a judge decides every criterion, scores are made.

Abstract: real-world productivity tasks in 12 languages and 10 categories, single- and multi-turn; an instance passes
when every criterion of every turn does. Paper: "TRUEBench: Can LLM Response Meet Real-world Constraints as
Productivity Assistant?", sections 3 and 4. Data: SamsungLabs/TRUEBench, see `data.py`.

Each turn is asked with the model's own earlier answers as history, at temperature 0, top_p 0.98 and no repetition penalty
(appendix H). Thinking is kept apart: never judged, never fed back. A prompt that does not fit the window fails with the
two numbers; nothing is cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.data import (
    OF_DATA,
    GenerateOptions,
    InstanceOptions,
    JudgeGivenOptions,
    JudgeOptions,
    RunOptions,
)
from truebench_hf.benchmarks.truebench.labels import CORRECTED, SAMPLE, label_place, read_labels, results
from truebench_hf.benchmarks.truebench.results import KIND, read_responses
from truebench_hf.data.answer_files import given_responses
from truebench_hf.data.instances import criteria_file
from truebench_hf.data.judged import Judged, cases, judgment
from truebench_hf.data.logs import read_logs
from truebench_hf.data.records import JUDGMENTS, RESPONSES, response_lines
from truebench_hf.data.row_files import unusable
from truebench_hf.engine.pool import together
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import CaseJudge, CriteriaJudge, JudgeSettings, NoJudge, Panel
from truebench_hf.judging.rules.extraction import PROMPT, ReadBefore, RuleReader
from truebench_hf.models.asking import converse
from truebench_hf.models.caller import metered
from truebench_hf.options import InMemory
from truebench_hf.results.report import Report
from truebench_hf.study.items import Items
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import D, O, Study, T, V
from truebench_hf.text.terminal import how_many, shortened
from truebench_hf.types import Instance, Response, Verdict

FILES = (JUDGMENTS, "scores_category.csv", "scores_language.csv", CORRECTED)
_SHOWN = 60  # characters of a text in what is told before anything is asked
BENCHMARK = "truebench"  # what judge prompts know the conventions of its criteria by; other data has none of them
Answered = tuple[Instance, Response]
Samples = tuple[Instance, tuple[Response, ...]]


class JudgingStudy(Study[O, T, D, V]):
    """What all have that judge as `run` does: one judge, a cascade, a panel or nobody, as `judges`."""

    options: Any  # with those of JudgeOptions
    judges: CaseJudge

    def judge_settings(self) -> list[JudgeSettings]:
        return [] if self.options.nobody else [self.options.settings]

    def setup(self) -> None:
        options: JudgeOptions = self.options
        if options.nobody:
            self.judges = NoJudge()
        elif options.panel is None:
            second = self.caller("cascade_judge", part="cascade") if options.cascade_judge else None
            self.judges = CriteriaJudge(self.caller("judge"), options.settings, options.prompts, second)
        else:
            members = [self.judge(options.settings, number=number) for number in range(1, len(options.judge) + 1)]
            self.judges = Panel(members, *options.rule_and_weights)

    async def judged(self, instance: Instance, response: Response) -> Judged:
        """Return a whole response with the verdicts on it."""
        spent = metered()
        verdicts = await asyncio.gather(*map(self.judges.verdicts, cases(instance, response, benchmark(instance))))
        return judgment(instance, response, verdicts, spent | {"model": response.usage})


class Judging(JudgingStudy[O, T, list[Judged], Report]):
    """What `run` and `judge` share: who judges, and what comes of it."""

    kind = KIND
    files: ClassVar[tuple[str, ...]] = (*FILES, RESPONSES)

    def __init__(self, options: O) -> None:
        super().__init__(options)
        self.reader: RuleReader | None = None
        self.models: Sequence[str] = ()  # the names of all whose answers are judged
        self.prompts = (PROMPT,) if self.options.rules_model else ()

    def check(self) -> None:
        out = Path(self.options.out)
        for model in self.models:
            read_labels(label_place(out, model, self.models))  # now, not when all is paid for
        if len(self.models) > 1 and (out / SAMPLE).exists():
            raise UserError(f"--out {out} holds labels of one model; run several into a folder of their own")
        super().check()

    def setup(self) -> None:
        super().setup()
        if self.options.rules_model:
            self.reader = RuleReader(self.caller("rules_model"), self.options.prompts, self.options.structured)
            self.judges = ReadBefore(self.judges, self.reader)

    def score(self, done: Sequence[list[Judged]]) -> Outcome[Report]:
        outcome = results(self.folder, [item for samples in done for item in samples])
        return replace(outcome, notes=[*outcome.notes, self.reader.note]) if self.reader else outcome


def part_of(options: Any, model: int) -> str:
    """The name under which the calls of a model (by its place, from 1) count."""
    return "model" if len(options.model) == 1 else f"model {options.models[model - 1]}"


async def answer(
    study: Study[Any, Any, Any, Any], instance: Instance, model: int, sample: int = 1,
    answered: Callable[[Response], None] = lambda response: None,
) -> Response:  # fmt: skip
    """The response of a model (by its place, from 1), under the name it has in this run."""
    options, name = study.options, study.options.models[model - 1]
    caller = study.caller("model", model, part_of(options, model))
    response = await converse(instance, caller, options.sampling, lambda r: answered(replace(r, model=name)), sample)
    return replace(response, model=name)


class Answering(Study[O, Instance, D, V]):
    """What `run` and `generate` share: which models answer which instances, and how often."""

    options: Any  # with those of GenerateOptions

    def items(self) -> Items[Instance]:
        return selection(self.options)

    def understood(self) -> list[str]:
        return [understood(self.chosen)]

    def draws(self) -> list[tuple[int, int]]:
        """Which model answers (by place, from 1), and which of its samples that is: all answers to an instance."""
        return [(m, n) for m in range(1, len(self.options.model) + 1) for n in range(1, self.options.samples + 1)]


class Run(Judging[RunOptions, Instance], Answering[RunOptions, list[Judged], Report]):
    """Answers and verdicts in one pass: a turn is judged as soon as it is answered."""

    def __init__(self, options: RunOptions) -> None:
        super().__init__(options)
        self.models = options.models

    def bars(self) -> dict[str, int]:
        turns = sum(len(instance.turns) for instance in self.chosen) * len(self.draws())
        return {"answers": turns, "judgments": turns}

    async def work(self, instance: Instance) -> list[Judged]:
        return await together(self._sample(instance, draw) for draw in self.draws())

    async def _sample(self, instance: Instance, draw: tuple[int, int]) -> Judged:
        spent, conventions = metered(), benchmark(instance)
        tasks: list[asyncio.Task[tuple[Verdict, ...]]] = []

        def answered(response: Response) -> None:
            self.step("answers")
            task = asyncio.create_task(self.judges.verdicts(cases(instance, response, conventions)[-1]))
            task.add_done_callback(lambda _: self.step("judgments"))
            tasks.append(task)

        try:
            response = await answer(self, instance, *draw, answered)
            verdicts = await asyncio.gather(*tasks)
            usage_by_role = {
                "model" if part == part_of(self.options, draw[0]) else part: usage for part, usage in spent.items()
            }
            return judgment(instance, response, verdicts, usage_by_role)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise


class Generate(Answering[GenerateOptions, list[Response], int]):
    """The first stage alone: the answers, kept in the ledger and in `responses.jsonl`."""

    kind = KIND
    files = (RESPONSES,)
    unit = "instances"
    boards = False

    async def work(self, instance: Instance) -> list[Response]:
        return await together(answer(self, instance, *draw) for draw in self.draws())

    def score(self, done: Sequence[list[Response]]) -> Outcome[int]:
        answers = [(i, response) for i, samples in zip(self.chosen, done, strict=True) for response in samples]
        failed = sum(response.error is not None for _, response in answers)
        notes = [f"{failed} of {len(answers)} answers failed; the same command asks for them again"] if failed else []
        return Outcome(failed, items={RESPONSES: response_lines(answers)}, notes=notes, incomplete=failed)


class JudgeAnswers(Judging[JudgeGivenOptions, Samples]):
    """The second stage alone: judges the answers that `generate` left in the folder, or other `answers`.

    `known` says of these what a folder notes of them: whose they are, and of which data.
    """

    files = FILES  # the answers are what it reads, wherever they were written

    def __init__(
        self,
        options: JudgeGivenOptions,
        answers: Sequence[Answered] | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(options)
        self.answers, self.known = answers, dict(known or {})
        self.summary = ""  # what was read of logs

    def items(self) -> Items[Samples]:
        """The answers by instance; those in the folder bind by what `generate` drew, others with all their texts."""
        in_folder = self.answers is None and not (self.options.responses or self.options.logs)
        if in_folder:
            self.unasked = {*OF_DATA, "responses", "logs", "turns", "model_name"}
        answers, left_out = self._answers()
        by_id: dict[str, list[Answered]] = {}
        for pair in answers:
            by_id.setdefault(pair[0].id, []).append(pair)
        pairs = [(samples[0][0], tuple(response for _, response in samples)) for samples in by_id.values()]
        self.models = list(dict.fromkeys(response.model for _, response in answers))
        self.options.check_samples(max((response.sample for _, response in answers), default=1))
        return Items(
            pairs, lambda pair: pair[0].id,
            lambda pair: pair[0] if in_folder else [pair[0], *pair[1]],
            lambda pair: (pair[0].language, pair[0].category), size=lambda pair: len(pair[0].turns), drawn=not in_folder,
            asked=lambda pair: pair[0], left_out=left_out,
        )  # fmt: skip

    def _answers(self) -> tuple[Sequence[Answered], tuple[str, ...]]:
        """Return the answers, and what was left out of the data or the logs."""
        options = self.options
        if options.responses:
            chosen, file = selection(options), options.responses
            own = given_responses(chosen.every, file.value if isinstance(file, InMemory) else file, options.model_name)
            left_out = chosen.left_out
        elif options.logs:
            separator = options.criteria_separator
            criteria = criteria_file(options.criteria, separator) if options.criteria else ()
            logs = read_logs(Path(options.logs), criteria, options.turns, options.model_name, separator)
            wanted = data.select([instance for instance, _ in logs.answered], options.language, options.category)
            kept = {instance.id for instance in wanted}
            own, left_out = [pair for pair in logs.answered if pair[0].id in kept], logs.left_out
            self.summary = logs.summary
        else:
            return read_responses(Path(options.out)) if self.answers is None else self.answers, ()
        self.known = {"model": own[0][1].model}
        return own, left_out

    def understood(self) -> list[str]:
        read = understood([instance for instance, _ in self.chosen])
        return [self.summary, read] if self.summary else [read]

    def bars(self) -> dict[str, int]:
        return {"judgments": sum(len(response.answers) for _, samples in self.chosen for response in samples)}

    async def work(self, pair: Samples) -> list[Judged]:
        instance, samples = pair

        async def judged(response: Response) -> Judged:
            item = await self.judged(instance, response)
            for _ in response.answers:
                self.step("judgments")
            return item

        return await together(map(judged, samples))


def selection(options: InstanceOptions) -> Items[Instance]:
    """Return the instances of the languages and categories asked for, which a sample keeps in proportion."""
    answers_given = isinstance(options, JudgeGivenOptions)  # the responses may stand in the rows of the data
    chosen = options.chosen(judged=isinstance(options, JudgeOptions), repeated=answers_given)
    return Items(
        chosen, lambda instance: instance.id, None, lambda instance: (instance.language, instance.category),
        size=lambda instance: len(instance.turns), left_out=unusable(chosen),
    )  # fmt: skip


def understood(instances: Sequence[Instance]) -> str:
    """Return how many prompts and criteria were read, and the first of them."""
    turns = [turn for instance in instances for turn in instance.turns]
    prompts = how_many(len(turns), "prompt")
    if len(turns) > len(instances):
        prompts += f" in {how_many(len(instances), 'conversation')}"
    first = next((turn for turn in turns if turn.criteria), turns[0])
    judged_by = f', judged by "{shortened(first.criteria[0].text, _SHOWN)}"' if first.criteria else ""
    counted = how_many(sum(len(turn.criteria) for turn in turns), "criterion", "criteria")
    return f'{prompts}, {counted}; the first: "{shortened(first.prompt, _SHOWN)}"{judged_by}'


def benchmark(instance: Instance) -> str | None:
    """Return the benchmark whose conventions judges are told: TRUEBench, where the instance is told as one of it."""
    return BENCHMARK if instance.category in data.CATEGORIES and instance.task else None
