"""Judging from Python: no files, no asyncio, no run folder."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from truebench_hf.api.reading import Criteria, Prompt, read_case, read_cases
from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.pool import Background, bounded, progress
from truebench_hf.errors import UserError, in_python
from truebench_hf.judging.judge import (
    CaseJudge,
    CriteriaJudge,
    JudgeSettings,
    NoJudge,
    prompts_used,
)
from truebench_hf.metrics.pass_rate import conjunction, outcome
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.options import NOBODY, InMemory, declared, explained, option, pairs
from truebench_hf.prompts import Prompts, check_prompts
from truebench_hf.study.options import CacheOptions
from truebench_hf.text.terminal import printable
from truebench_hf.types import Label, Verdict

_MANY = 8  # cases from which a bar is worth showing
# A spec such as openai:gpt-5, a function, a loaded transformers model and its tokenizer, or what `model` returns.
ModelLike: TypeAlias = "str | Callable[..., Any] | tuple[Any, Any] | ChatModel"


@dataclass(frozen=True)
class Judgment:
    """The verdicts on one answer, one per criterion in order; also to iterate over."""

    verdicts: tuple[Verdict, ...]

    @property
    def _outcomes(self) -> list[Label | None]:
        return [outcome(verdict.label, verdict.criterion.weight) for verdict in self.verdicts]

    @property
    def passed(self) -> bool | None:
        """Whether every criterion is met (none of those with a negative weight); None where that is not decided."""
        return conjunction(self._outcomes)

    @property
    def reason(self) -> str:
        """The judge's reasons: of what speaks against a pass, else of what is open, else of everything."""
        pairs = list(zip(self.verdicts, self._outcomes, strict=True))
        groups = [[v for v, label in pairs if label in labels] for labels in (("no",), ("unknown", None))]
        telling = next(filter(None, groups), self.verdicts)
        return "; ".join(dict.fromkeys(verdict.reason for verdict in telling if verdict.reason))

    @property
    def undecided(self) -> str:
        """Why `passed` is None, "" where it is not."""
        return self.reason if self.passed is None else ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        verdicts = [
            {
                "criterion": verdict.criterion.text, "weight": verdict.criterion.weight, "label": verdict.label,
                "reason": verdict.reason, "probability": verdict.probability, "votes": list(verdict.votes),
                "judge": verdict.judge,
            }
            for verdict in self.verdicts
        ]  # fmt: skip
        return {"passed": self.passed, "reason": self.reason, "verdicts": verdicts}

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __bool__(self) -> bool:
        # It has three values, and a length: `if judgment` would be right by chance.
        raise TypeError("whether it passes is `.passed`: True, False, or None where it is not decided")

    def _repr_html_(self) -> str:
        from truebench_hf.report.page import in_notebook
        from truebench_hf.report.sections import Conversation, Exchange

        outcome: Any = {True: "yes", False: "no", None: "open"}[self.passed]
        return in_notebook(Conversation("", (Exchange((), self.verdicts),), outcome))

    def __str__(self) -> str:
        outcome = {True: "passed", False: "failed", None: "not decided"}[self.passed]
        lines = [f"{v.label or 'open':<7} {v.criterion.text}: {v.reason}" for v in self.verdicts]
        # A line each, whatever a judge writes; what would steer the terminal, or stop it, is shown as its escape.
        return "\n".join([outcome, *(printable(" ".join(line.splitlines())) for line in lines)])


class KeptJudgeOptions(CacheOptions):
    """The settings of a `Judge`."""

    level: str | None = option(
        None, help="checklist (one call), rubric (one a criterion), decision (probabilities) or cascade (decision, the doubtful "
        "rest by `cascade_judge`, or the judge itself); None is decision for smollm2, else checklist."
    )  # fmt: skip
    reasoning: bool = option(True, help="Whether reasons come before verdicts.")
    structured: str = option("auto", help="JSON-schema answers: auto, on or off.")
    threshold: float | None = option(
        None, help="decision and cascade: the P(yes) from which a criterion is met; by default that of `calibration`, else 0.5."
    )  # fmt: skip
    calibration: str | None = option(
        None, help="File of `truebench study calibrate`: the judge's calibrator and threshold."
    )  # fmt: skip
    votes: int = option(
        1, ge=1, help="How many votes make a verdict, by majority; several need a `temperature` above 0."
    )
    rules: str = option(
        "decide", help="What programs can count (lengths, language, format): decide (they settle a criterion where no doubt is left, "
        "and it is not asked), evidence (the judge is told the figures) or off; True is decide, False off."
    )  # fmt: skip
    temperature: float = option(0.0, ge=0, help="Sampling temperature of the judge.")
    max_tokens: int = option(8192, ge=1, help="Token limit of one answer of the judge.")
    cascade_judge: str | None = option(None, help="Model that gets the doubtful rest of a cascade.")
    cascade_arg: tuple[str, ...] = option((), help="Provider options of that model: a dict.")
    prompts: tuple[str, ...] = option((), help='Prompts replaced by name: {"checklist": "mine.jinja"}, or "plain".')
    base_url: str | None = option(None, help="URL of the OpenAI-compatible server of the judge.")
    judge_arg: tuple[str, ...] = option((), help="Provider options of the judge: a dict.")
    concurrency: int = option(16, ge=1, help="Requests at a time.")
    offline: bool = option(False, help="Ask nobody: rules and the cache decide alone, and the rest is left open.")

    def settings(self, spec: str, texts: Prompts) -> JudgeSettings:
        """How the judge of this spec judges, with these prompts."""
        settings = JudgeSettings(
            level=self.level or ("decision" if spec == "smollm2" else "checklist"), rules=self.rules, votes=self.votes,
            reasoning=self.reasoning, structured=self.structured,
            sampling=Sampling(self.temperature, max_tokens=self.max_tokens),
        )  # fmt: skip
        return settings.at_threshold(self.threshold, self.calibration, spec, texts)


class Judge:
    __doc__ = explained(
        """A judge to keep: `Judge("openai:...")(prompt, response, criteria)`, as often as needed, from any thread.

    `judge` is a model as for `truebench_hf.judge`; with None or "none" rules alone decide, and no model is asked. What it
    was asked it knows, so that nothing is paid for twice. Close it with `with`, or leave that to the end of the program.
    Its settings:
    """,
        KeptJudgeOptions,
    )

    @declared(KeptJudgeOptions)
    def __init__(self, judge: ModelLike | None, **settings: Any) -> None:
        """Raises UserError on what makes no sense; nothing is asked before the first call."""
        options = judge_options(settings)
        texts = Prompts(pairs(options.prompts, "prompts"))
        spec = NOBODY if judge is None else as_spec(judge)
        how = options.settings(spec, texts)
        if spec == NOBODY and how.rules != "decide":
            raise UserError(
                f"judge=None: with rules={how.rules!r} nothing would be decided; leave it out, or name a judge"
            )
        self._background = Background()
        try:
            self._judge, self._at_once, close = self._background.run(_opened(spec, options, how, texts))
        except BaseException:
            self._background.close()
            raise
        self._closed = weakref.finalize(self, self._background.close, close)

    @in_python
    def __call__(
        self, prompt: Prompt | Sequence[Prompt], response: str | Sequence[str | None] | None, criteria: Any, *,
        context: str | Sequence[str | None] | None = None, reference: str | Sequence[str | None] | None = None,
    ) -> Any:  # fmt: skip
        """A `Judgment`, or with a list of responses a list of them; see `judge`. A terminal shows the progress of many."""
        self._check_open()
        single = response is None or isinstance(response, str)
        read: Callable[..., Any] = read_case if single else read_cases
        cases = read(prompt, response, criteria, context, reference)
        judgments = list(map(Judgment, self._background.run(self._all([cases] if single else cases))))
        return judgments[0] if single else judgments

    async def _all(self, cases: Sequence[Case]) -> list[tuple[Verdict, ...]]:
        """The verdicts on cases, many judged at a time; in their order."""
        done: dict[int, tuple[Verdict, ...]] = {}
        bar = progress({"judgments": len(cases)}) if len(cases) >= _MANY else nullcontext(lambda name: None)

        async def judged(place: int) -> tuple[int, tuple[Verdict, ...]]:
            case = cases[place]
            if case.response is None:
                return place, tuple(Verdict(criterion, None, "there is no answer") for criterion in case.criteria)
            return place, await self._judge.verdicts(case)

        with bar as step:
            async for place, verdicts in bounded(range(len(cases)), judged, self._at_once):
                done[place] = verdicts
                step("judgments")
        return [done[place] for place in range(len(cases))]

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """The one async form: one verdict per criterion of a case, in order."""
        self._check_open()
        return await self._background.ask(self._judge.verdicts(case))

    def close(self) -> None:
        """Give back what the judge holds."""
        self._closed()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._closed.alive:
            raise UserError("this Judge is closed; make another one")


@declared(KeptJudgeOptions)
def judge(
    prompt: Prompt | Sequence[Prompt], response: str | Sequence[str | None] | None,
    criteria: Criteria | Sequence[Criteria], judge: ModelLike | None, *,
    context: str | Sequence[str | None] | None = None, reference: str | Sequence[str | None] | None = None,
    **settings: Any,
) -> Any:  # fmt: skip
    """Whether a response to a prompt meets criteria: a `Judgment`, with verdicts, reasons, and whether it passes.

    `prompt` is a text or a conversation ([{"role": ..., "content": ...}], the user's message last), `criteria` one or
    several texts, `Criterion`s or {"text": ..., "weight": ...}; `context` is what the answer must rest on, `reference`
    an answer known to be right. `judge` is a spec (openai:..., hf:..., vllm:..., smollm2), a function from messages to
    a text, or a loaded transformers model as (model, tokenizer). With None or "none" nobody is asked: what can be
    counted is decided, and the rest is left open.

    With a list of responses a list comes back. Prompt, context and reference are then one for all or a list; criteria
    are for all, or a list of lists with one list per response. `settings` are those of `Judge`. Works in notebooks and
    threads. Raises UserError on what the caller can fix; what cannot be judged is `passed` None with the reason.
    """
    with Judge(judge, **settings) as kept:
        return kept(prompt, response, criteria, context=context, reference=reference)


def model(source: ModelLike, name: str | None = None, **options: Any) -> ChatModel:
    """A model of a function, or of a loaded transformers model with its tokenizer, to be called `name` in reports.

    A function is answered for by its name: with one its answers are kept in a `cache` or a run folder and used again,
    so change the name when its answers change. A loaded model is known by its weights; it takes `batch_size` and
    `chat_template_kwargs`.
    """
    from truebench_hf.models.in_memory import in_memory

    return in_memory(source, name, **options)


def as_spec(source: Any) -> str:
    """A spec as it is; of an object in memory a text that holds it, for options. Raises UserError on anything else."""
    if isinstance(source, str):
        return source
    from truebench_hf.models.in_memory import in_memory

    model = in_memory(source)
    return InMemory(model.spec, model)


def judge_options(settings: Mapping[str, Any]) -> KeptJudgeOptions:
    """The settings of a `Judge` as options; what is None is left out. Raises UserError on what makes no sense."""
    plain = {name: as_option(name, value) for name, value in settings.items() if value is not None}
    return KeptJudgeOptions(**plain)


def as_option(name: str, value: Any) -> Any:
    """A value as options take it: models in memory as texts that hold them, rules by the name of their mode."""
    if name == "rules" and isinstance(value, bool):
        return "decide" if value else "off"
    pair = isinstance(value, tuple) and any(hasattr(part, "generate") for part in value)
    if pair or callable(value) or hasattr(value, "complete"):  # a model in memory, which no other option is
        return as_spec(value)
    return [as_option(name, entry) for entry in value] if isinstance(value, list | tuple) else value


def open_callers(
    openings: Mapping[str, tuple[str, Mapping[str, str], str | None]], options: KeptJudgeOptions
) -> tuple[list[Caller], Callable[[], Any]]:
    """Return a caller for each role, of its (spec, provider options, URL), and what closes them with their stores.

    Raises UserError where a cache is named by hand and nobody can tell whether a model is the same tomorrow.
    """
    for spec, *_ in openings.values() if options.cache is not None and not options.no_cache else ():
        if isinstance(spec, InMemory) and getattr(spec.value, "cache_scope", None) is None:
            raise UserError(
                f"cache={options.cache}: nobody can tell whether {spec} is still the same tomorrow; give it a name "
                "that changes with it: judge=truebench_hf.model(function, name='my-judge-1')"
            )
    models = [open_model(*opening, not options.offline) for opening in openings.values()]
    ledger, cache = Calls(Path(":memory:")), options.open_cache()
    callers = [
        Caller(model, ledger, role, options.concurrency, cache, ask=not options.offline)
        for role, model in zip(openings, models, strict=True)
    ]

    async def close() -> None:
        try:
            for model in models:
                await model.close()
        finally:
            for store in filter(None, (ledger, cache)):
                store.close()

    return callers, close


async def _opened(
    spec: str, options: KeptJudgeOptions, how: JudgeSettings, prompts: Prompts
) -> tuple[CaseJudge, int, Callable[[], Any]]:
    """Return a judge, how many cases it takes at a time, and what closes its models and stores.

    The judge of `none` are the rules alone. Offline the models are asked nothing, and need no key.
    """
    openings = {} if spec == NOBODY else {"judge": (spec, pairs(options.judge_arg, "judge_arg"), options.base_url)}
    if options.cascade_judge is not None:
        openings["cascade"] = (options.cascade_judge, pairs(options.cascade_arg, "cascade_arg"), None)
    if openings and prompts.replaced:
        check_prompts(prompts_used(how), prompts, how.structured, how.reasoning)
    callers, close = open_callers(openings, options)
    judge = CriteriaJudge(callers[0], how, prompts, *callers[1:]) if callers else NoJudge()
    return judge, 2 * max((caller.concurrency for caller in callers), default=options.concurrency), close
