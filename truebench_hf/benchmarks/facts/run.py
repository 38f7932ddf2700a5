"""FACTS Grounding: is a long answer grounded in its prompt, and does it answer at all?

Abstract: a model answers a request from one document of up to 32k tokens. Each judge says whether the answer is grounded
in the whole prompt, and whether it does what was asked, measured against a baseline answer; an answer in which all
judges see major issues is ineligible and counts as inaccurate. Scores are shares of accurate answers, averaged over
the judges. Paper: "The FACTS Grounding Leaderboard: Benchmarking LLMs' Ability to Ground Responses to Long-Form Input",
sections 2 to 4. Data: google/FACTS-grounding-public, see `data.py`.

System instruction, document and request are asked in this order, at temperature 0, and the document stands first in
what judges read. A prompt that does not fit a window is a failed answer, or an undecided verdict, with the two numbers;
nothing is cut.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.answers import Task, given_answers
from truebench_hf.benchmarks.facts.report import outcome
from truebench_hf.benchmarks.facts.scores import KIND, VERDICTS, Graded, GroundingScores
from truebench_hf.benchmarks.facts.templates import UNJUDGED, TemplateChoice, chosen_templates
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.engine.pool import together
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.grounding.classifier import CLASSIFIER, ClassifierJudge, classifies
from truebench_hf.judging.grounding.judge import ELIGIBILITY_PROMPTS, VARIANTS, EligibilityJudge, GroundingJudge
from truebench_hf.judging.grounding.types import TEMPLATES, Eligibility, Grounding, Source
from truebench_hf.models.asking import converse
from truebench_hf.models.caller import metered
from truebench_hf.options import Binds, option, role
from truebench_hf.study.items import Items
from truebench_hf.study.options import (
    FailUnderOptions,
    RepeatOptions,
    ReplyOptions,
    RuleOptions,
    StudyOptions,
    WritingOptions,
    numbered,
)
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Response

ITSELF = "not asked: the answer is its own baseline, word for word"
_TEMPLATES = Binds("templates", lambda o: {name: choice.bound for name, choice in o.chosen.items()}, late=True)
_ELIGIBILITY = Binds("eligibility", lambda o: o.variants, late=True)


class FactsOptions(StudyOptions, RepeatOptions, WritingOptions, ReplyOptions, RuleOptions, FailUnderOptions):
    """Which documents, whose answers, who judges them, and against which baseline."""

    PANEL: ClassVar[str] = "Data"
    RULES: ClassVar[tuple[str, ...]] = ("off", "evidence")  # whether an answer serves its request is more than a count

    data: str | None = option(  # type: ignore[assignment]
        None, help="facts_mini, open (the public set, from the Hub), a path (CSV, JSONL, JSON, Parquet, or a folder of "
        "them) or a Hub id. Not needed with --answers whose rows hold their documents."
    )  # fmt: skip
    answers: str | None = option(
        None, help="File of answers that are there already, in place of a --model: rows of id and answer, logs of "
        "retrieval (question, contexts, answer), lm-eval samples, lighteval details, inspect logs, or a run folder."
    )  # fmt: skip
    model_name: str | None = option(None, help="With --answers: whose they are, where the file does not say.")
    model: str | None = role(None, help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec.")
    judge: tuple[str, ...] = role(
        help="Judge: a spec like the model's; repeat it, the paper has three.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )
    baseline: str | None = role(
        None, help="Who gives the answers that eligibility is measured against: a spec. If not given, the data's column "
        "baseline, else its references."
    )  # fmt: skip
    template: tuple[str, ...] = option(
        (), panel="Judging", binds=_TEMPLATES,
        help=f"How grounding is asked about, by default json: {', '.join(TEMPLATES)}. N.NAME is for the N-th judge only; "
        "a FILE of `facts select-template` holds what was chosen for each. May be repeated."
    )  # fmt: skip
    eligibility: str | None = option(
        None, panel="Judging", binds=_ELIGIBILITY,
        help="What judges of eligibility see: request (the default) or full, the whole prompt; none: it is not judged, "
        "and no baseline needed."
    )  # fmt: skip
    allow_unscored: bool = option(False, panel="Output", help="Exit with 0 even when answers are left undecided.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        wrong = {
            "name a --judge, or several": not self.judge,
            "name either a --model that answers, or a file of --answers": (self.model is None)
            == (self.answers is None),
            "--data is missing: facts_mini, open, a path or a Hub id": self.data is None and self.answers is None,
            "--samples goes with --model; of --answers all are judged that the file has": self.samples > 1
            and self.answers,
        }
        for message, holds in wrong.items():
            if holds:
                raise UserError(message)

    @property
    def unjudged(self) -> bool:
        """Whether nobody judges eligibility: as it is said, or where all judges are classifiers."""
        return self.eligibility == UNJUDGED or all(map(classifies, self.judge))

    @cached_property
    def variants(self) -> dict[str, str]:
        """What each judge sees for eligibility, by its name; {} where nobody judges it."""
        if self.eligibility not in (None, UNJUDGED, *VARIANTS):
            raise unknown("eligibility", str(self.eligibility), (*VARIANTS, UNJUDGED))
        if self.unjudged:
            return {}
        writing = (name for name, spec in zip(numbered(self.judge), self.judge, strict=True) if not classifies(spec))
        return {name: self.eligibility or self.chosen[name].eligibility for name in writing}

    def asked_otherwise(self, role: str, number: int, other: int) -> bool:
        """Judges with templates of their own: one model may be asked about grounding in several ways."""
        choices = list(self.chosen.values())
        return role == "judge" and choices[number] != choices[other]

    @cached_property
    def chosen(self) -> Mapping[str, TemplateChoice]:
        """How each judge is asked, by its name. Raises UserError on a template that there is not."""
        return chosen_templates(dict(zip(numbered(self.judge), self.judge, strict=True)), self.template)


class FactsRun(Study[FactsOptions, Task, list[Graded], GroundingScores]):
    """One model on documents, judged by one judge or more."""

    kind, unit = KIND, "answers"
    files = (VERDICTS, JUDGMENTS)

    def __init__(self, options: FactsOptions) -> None:
        super().__init__(options)
        used = [name for choice in options.chosen.values() for name in choice.prompts]
        self.prompts = tuple(dict.fromkeys((*used, *(() if options.unjudged else ELIGIBILITY_PROMPTS))))
        self.model = options.model or ""

    def items(self) -> Items[Task]:
        """The items, or the answers to them; a sample keeps splits, domains, tasks and languages in proportion."""
        options = self.options
        items = data.load(options.data) if options.data else None
        if options.answers:
            self.model, answer_tasks = given_answers(options.answers, items, options.model_name)
            self.known = {"model": self.model}
        else:
            answer_tasks = [Task(item, item.id) for item in items or ()]
        self.baseline, known = self._baselines(answer_tasks)
        shared: dict[Source, str] = {}  # answers to one prompt go together, whatever ids a log has given them
        tasks = [
            replace(
                task, document=shared.setdefault(task.item.source, task.document), baseline=known.get(task.document)
            )
            for task in answer_tasks
        ]

        def content(task: Task) -> list[Any]:
            answer = task.response and [message.content for message in task.response.messages[-1:]]
            return [asdict(task.item), task.document, answer, task.baseline]

        return Items(
            tasks, lambda task: task.item.id, content,
            lambda task: (task.item.split, task.item.domain, task.item.task, task.item.language),
            lambda task: task.document, size=lambda task: len(task.item.document),
            asked=lambda task: [asdict(task.item), task.document],
        )  # fmt: skip

    def _baselines(self, tasks: Sequence[Task]) -> tuple[dict[str, Any], dict[str, str]]:
        """(what is told of the baseline, its answers by document as far as they are there already)."""
        options = self.options
        items = {task.document: task.item for task in tasks}
        if options.unjudged:
            return {"name": "none"}, {}
        if options.baseline:
            identity = [asdict(self.roles["baseline"][0].identity), asdict(options.sampling)]
            return {"name": options.baseline, "sha256": digest(canonical(identity))}, {}
        for name, what in (("baseline", "baseline answers"), ("reference", "references")):
            if texts := {document: text for document, item in items.items() if (text := getattr(item, name))}:
                return {"name": f"the data's {what}"}, texts
        raise UserError(
            "--baseline is missing: a model whose answers eligibility is measured against, or a column baseline of the "
            "data, or --eligibility none"
        )

    def check(self) -> None:
        options = self.options
        if not self.roles["baseline"]:
            return
        baseline = self.roles["baseline"][0].identity
        if any(model.identity == baseline for model in self.roles["model"]) or options.baseline == self.model:
            raise UserError(
                f"--baseline {options.baseline}: is the model under test, and no answer is its own measure; name another"
            )

    def setup(self) -> None:
        options = self.options
        callers = {name: self.caller("judge", number) for number, name in enumerate(options.chosen, 1)}
        self.grounding = [
            ClassifierJudge(callers[name], choice.fitted)
            if choice.template == CLASSIFIER
            else GroundingJudge(callers[name], choice.template, options.prompts, structured=options.structured)
            for name, choice in options.chosen.items()
        ]
        self.eligibility = {
            name: EligibilityJudge(
                callers[name], variant, options.prompts, structured=options.structured, rules=options.rules
            )
            for name, variant in options.variants.items()
        }

    async def work(self, task: Task) -> list[Graded]:
        return await together(self._graded(task, number) for number in range(1, self.options.samples + 1))

    async def _graded(self, task: Task, number: int) -> Graded:
        """Answer and baseline answer, then what every judge says of both questions."""
        spent = metered()
        response, (baseline, missing) = await asyncio.gather(self._response(task, number), self._baseline(task))
        answer = response.answers[0] if response.answers and not response.error else None
        itself = None not in (answer, baseline) and (answer or "").strip() == (baseline or "").strip()
        source = task.item.source

        async def verdict(judge: GroundingJudge | ClassifierJudge) -> Grounding:
            if answer is None:
                return Grounding(None, f"no answer: {response.error}", judge.template, judge.caller.model.spec)
            return await judge.verdict(source, answer)

        async def rating(judge: EligibilityJudge) -> Eligibility:
            if answer is None or baseline is None or not baseline.strip():
                reason = "no answer" if answer is None else missing or "the baseline answer is empty"
                return Eligibility(None, reason, judge.caller.model.spec)
            if itself and not self.options.estimate:  # where all answers are alike
                return Eligibility(None, ITSELF, judge.caller.model.spec)
            return await judge.rate(source, answer, baseline)

        verdicts, ratings = await asyncio.gather(
            asyncio.gather(*map(verdict, self.grounding)),
            asyncio.gather(*map(rating, self.eligibility.values())),
        )
        by_name = (
            dict(zip(self.options.chosen, verdicts, strict=True)),
            dict(zip(self.eligibility, ratings, strict=True)),
        )
        return Graded(task.item, task.document, response, *by_name, baseline, itself, spent)

    async def _response(self, task: Task, number: int) -> Response:
        """The answer: the one that is there, or that of the model."""
        if task.response is not None:
            return task.response
        return await converse(task.item.instance, self.caller("model"), self.options.sampling, sample=number)

    async def _baseline(self, task: Task) -> tuple[str | None, str]:
        """(the baseline answer, why there is none)."""
        if not self.roles["baseline"] or self.options.unjudged:
            return task.baseline, "" if task.baseline else f"no baseline answer to {task.document}"
        dialogue = await converse(task.item.instance, self.caller("baseline"), self.options.sampling)
        return (None, f"no baseline answer: {dialogue.error}") if dialogue.error else (dialogue.answers[0], "")

    def score(self, done: Sequence[list[Graded]]) -> Outcome[GroundingScores]:
        options = self.options
        identities = {name: asdict(model.identity) for name, model in self.roles.named("judge").items()}
        judges: dict[str, dict[str, Any]] = {}  # runs may be joined where this is equal
        for name, choice in options.chosen.items():
            used = (*choice.prompts, *(ELIGIBILITY_PROMPTS if name in options.variants else ()))
            judges[name] = {
                **choice.to_json(), "eligibility": options.variants.get(name, UNJUDGED), "identity": identities.get(name, {}),
                "prompts": {prompt: options.prompts.hash(prompt) for prompt in used},
            }  # fmt: skip
        data = str(options.data or Path(str(options.answers)).name)
        judging = {"model": self.model, "data": data, "baseline": self.baseline, "judges": judges}
        return outcome([graded for samples in done for graded in samples], judging, self.provenance, options.out)
