"""Judging from Python: no files, no asyncio, no run folder."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from truebench_hf.arguments import in_python
from truebench_hf.engine.ledger import CacheOptions
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import conjunction, outcome
from truebench_hf.options import NOBODY, InMemory, explained, from_values, option, pairs, with_settings
from truebench_hf.types import Label, Verdict

if TYPE_CHECKING:
    from truebench_hf.api.reading import Criteria, Prompt
    from truebench_hf.data.judged import Case
    from truebench_hf.judging.judge import JudgeSettings
    from truebench_hf.models.protocol import ChatModel
    from truebench_hf.prompts import Prompts

# A spec such as openai:gpt-5, a function, a loaded transformers model and its tokenizer, or what `model` returns.
ModelLike: TypeAlias = "str | Callable[..., Any] | tuple[Any, Any] | ChatModel"
File: TypeAlias = str | os.PathLike[str]


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
        return "\n".join([outcome, *lines])


@dataclass(frozen=True, kw_only=True)
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
        None, help="File of `truebench study calibrate`; a cascade hands on what lies within its band, else between 0.2 and 0.8."
    )  # fmt: skip
    votes: int = option(1, help="How many votes make a verdict, by majority; several need a `temperature` above 0.")
    rules: str = option(
        "decide", help="What programs can count (lengths, language, format): decide (they settle a criterion where no doubt is left, "
        "and it is not asked), evidence (the judge is told the figures) or off; True is decide, False off."
    )  # fmt: skip
    temperature: float = option(0.0, help="Sampling temperature of the judge.")
    max_tokens: int = option(8192, help="Token limit of one answer of the judge.")
    cascade_judge: str | None = option(None, help="Model that gets the doubtful rest of a cascade.")
    cascade_arg: tuple[str, ...] = option((), help="Provider options of that model: a dict.")
    prompts: tuple[str, ...] = option((), help='Prompts replaced by name: {"checklist": "mine.jinja"}, or "plain".')
    base_url: str | None = option(None, help="URL of the OpenAI-compatible server of the judge.")
    judge_arg: tuple[str, ...] = option((), help="Provider options of the judge: a dict.")
    concurrency: int = option(16, help="Requests at a time.")
    offline: bool = option(False, help="Ask nobody: rules and the cache decide alone, and the rest is left open.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.threshold is None or 0 < self.threshold < 1):
            raise UserError(f"threshold={self.threshold}: lies between 0 and 1")
        if self.votes < 1 or self.max_tokens < 1 or not 0 <= self.temperature < inf:
            raise UserError("votes and max_tokens are at least 1, temperature at least 0")
        if self.concurrency < 1:
            raise UserError("concurrency is at least 1")

    def settings(self, spec: str, texts: Prompts) -> JudgeSettings:
        """How the judge of this spec judges, with these prompts."""
        from truebench_hf.judging.judge import BY_PROBABILITY, JudgeSettings, read_calibration
        from truebench_hf.models.protocol import Sampling

        level, rules = self.level or ("decision" if spec == "smollm2" else "checklist"), self.rules
        threshold, fitted = self.threshold, None
        if level not in BY_PROBABILITY:
            threshold = None  # which has no effect there
        elif self.calibration:
            fitted = read_calibration(self.calibration, spec, texts, rules)
            threshold = fitted.threshold if threshold is None else threshold
        return JudgeSettings(
            level=level, threshold=threshold or 0.5, calibrator=fitted.calibrator if fitted else None,
            band=fitted.band if fitted and level == "cascade" else None, rules=rules, votes=self.votes,
            reasoning=self.reasoning, structured=self.structured,
            sampling=Sampling(self.temperature, max_tokens=self.max_tokens),
        )  # fmt: skip


class Judge:
    __doc__ = explained(
        """A judge to keep: `Judge("openai:...")(prompt, response, criteria)`, as often as needed, from any thread.

    `judge` is a model as for `truebench_hf.judge`; with None or "none" rules alone decide, and no model is asked. What it
    was asked it knows, so that nothing is paid for twice. Close it with `with`, or leave that to the end of the program.
    Its settings:
    """,
        KeptJudgeOptions,
    )

    @in_python
    def __init__(self, judge: ModelLike | None, **settings: Any) -> None:
        """Raises UserError on what makes no sense; nothing is asked before the first call."""
        from truebench_hf.api.kept import Kept
        from truebench_hf.engine.pool import Background
        from truebench_hf.prompts import Prompts

        options = from_values(KeptJudgeOptions, _plain(settings))
        texts = Prompts(pairs(options.prompts, "prompts"))
        spec, second = NOBODY if judge is None else as_spec(judge), options.cascade_judge
        how = options.settings(spec, texts)
        if spec == NOBODY and how.rules != "decide":
            raise UserError(
                f"judge=None: with rules={how.rules!r} nothing would be decided; leave it out, or name a judge"
            )
        models = [] if spec == NOBODY else [(spec, pairs(options.judge_arg, "judge_arg"), options.base_url)]
        if second is not None:
            models.append((second, pairs(options.cascade_arg, "cascade_arg"), None))
        check_cacheable(options, [spec, second])
        self._background = Background()
        try:
            self._kept = self._background.run(
                Kept.opened(models, how, texts, options.concurrency, options, options.offline)
            )
        except BaseException:
            self._background.close()
            raise
        self._closed = weakref.finalize(self, self._background.close, self._kept.close)

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a text is a sequence of texts, too
        self, prompt: Prompt, response: str | None, criteria: Criteria, *, context: str | None = None,
        reference: str | None = None,
    ) -> Judgment: ...  # fmt: skip
    @overload
    def __call__(
        self, prompt: Prompt | Iterable[Prompt], response: Iterable[str | None],
        criteria: Criteria | Iterable[Criteria], *, context: str | Iterable[str | None] | None = None,
        reference: str | Iterable[str | None] | None = None,
    ) -> list[Judgment]: ...  # fmt: skip
    @in_python
    def __call__(
        self, prompt: Any, response: Any, criteria: Any, *, context: Any = None, reference: Any = None
    ) -> Judgment | list[Judgment]:
        """See `judge`. Waits until all is judged; a terminal shows the progress of many."""
        from truebench_hf.api.reading import read_case, read_cases

        self._check_open()
        single = response is None or isinstance(response, str)
        read = read_case if single else read_cases
        cases: Any = read(prompt, response, criteria, context, reference)
        judgments = list(map(Judgment, self._background.run(self._kept.all([cases] if single else cases))))
        return judgments[0] if single else judgments

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """The one async form: one verdict per criterion of a case, in order."""
        self._check_open()
        return await self._background.ask(self._kept.judge.verdicts(case))

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


Judge.__init__.__signature__ = with_settings(Judge.__init__, KeptJudgeOptions)  # type: ignore[attr-defined]


@overload
def judge(
    prompt: Prompt, response: str | None, criteria: Criteria, judge: ModelLike | None, *, context: str | None = None,
    reference: str | None = None, **settings: Any,
) -> Judgment: ...  # fmt: skip
@overload
def judge(
    prompt: Prompt | Iterable[Prompt], response: Iterable[str | None], criteria: Criteria | Iterable[Criteria],
    judge: ModelLike | None, *, context: str | Iterable[str | None] | None = None,
    reference: str | Iterable[str | None] | None = None, **settings: Any,
) -> list[Judgment]: ...  # fmt: skip
def judge(
    prompt: Any, response: Any, criteria: Any, judge: ModelLike | None, *, context: Any = None, reference: Any = None,
    **settings: Any,
) -> Judgment | list[Judgment]:  # fmt: skip
    """Whether a response to a prompt meets criteria: verdicts with reasons, and whether it passes.

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
        judgments: Judgment | list[Judgment] = kept(prompt, response, criteria, context=context, reference=reference)
        return judgments


judge.__signature__ = with_settings(judge, KeptJudgeOptions)  # type: ignore[attr-defined]
judge.__doc__ = explained(judge.__doc__ or "", KeptJudgeOptions)


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


def as_texts(paths: Mapping[str, Any] | None) -> dict[str, str]:
    """Provider options as the command line writes them: JSON for all that is no text."""
    plain = {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in (paths or {}).items()}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in plain.items()}


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as options take them: a model in memory as a text that holds it, and what is None left out."""
    readers: dict[str, Callable[[Any], Any]] = {
        "judge_arg": as_texts,
        "cascade_arg": as_texts,
        "cascade_judge": as_spec,
        "rules": mode,
    }
    settings_given = {name: value for name, value in settings.items() if value is not None}
    return {name: readers[name](value) if name in readers else value for name, value in settings_given.items()}


def check_cacheable(options: CacheOptions, specs: Sequence[str | None]) -> None:
    """Raise UserError where a cache is named by hand and the answers of a judge cannot last."""
    for spec in specs if options.cache is not None and not options.no_cache else ():
        if isinstance(spec, InMemory) and getattr(spec.value, "cache_scope", None) is None:
            raise UserError(
                f"cache={options.cache}: nobody can tell whether {spec} is still the same tomorrow; give it a name "
                "that changes with it: judge=truebench_hf.model(function, name='my-judge-1')"
            )


def mode(rules: object) -> str:
    """`rules` as settings name them. Raises UserError on what is neither a text nor True or False."""
    if isinstance(rules, bool):
        return "decide" if rules else "off"
    if not isinstance(rules, str):
        raise UserError(f"rules={rules!r}: must be off, evidence or decide, or True or False")
    return rules
