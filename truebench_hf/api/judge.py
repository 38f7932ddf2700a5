"""Judging from Python: no files, no asyncio, no run folder."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, overload

from truebench_hf.api.judgment import Judgment
from truebench_hf.arguments import in_python
from truebench_hf.data.in_memory import InMemory
from truebench_hf.errors import UserError
from truebench_hf.options import NOBODY
from truebench_hf.types import Verdict

if TYPE_CHECKING:
    from truebench_hf.api.reading import Criteria, Prompt
    from truebench_hf.data.case import Case
    from truebench_hf.judging.judge import JudgeSettings
    from truebench_hf.models.protocol import ChatModel
    from truebench_hf.prompts import Prompts

# A spec such as openai:gpt-5, a function, a loaded transformers model and its tokenizer, or what `model` returns.
ModelLike: TypeAlias = "str | Callable[..., Any] | tuple[Any, Any] | ChatModel"
File: TypeAlias = str | os.PathLike[str]


class JudgeKeywords(TypedDict, total=False):
    """What `judge` takes besides: the settings of `Judge`, where they are explained."""

    level: str | None
    reasoning: bool
    structured: str
    threshold: float | None
    calibration: File | None
    votes: int
    rules: str | bool
    temperature: float
    max_tokens: int
    cascade_judge: ModelLike | None
    cascade_arg: Mapping[str, Any] | None
    prompts: Mapping[str, File] | None
    base_url: str | None
    judge_arg: Mapping[str, Any] | None
    concurrency: int
    patience: float
    cache: File | None


class Judge:
    """A judge to keep: `Judge("openai:...")(prompt, response, criteria)`, as often as needed, from any thread.

    - `judge` is a model as for `truebench_hf.judge`; with None or "none" rules alone decide, and no model is asked.
    - `level`: checklist (one call), rubric (one a criterion), decision (probabilities) or cascade (decision, the
      doubtful rest by `cascade_judge`, or the judge itself); None is decision for smollm2, else checklist.
      `reasoning`: whether reasons come before verdicts. `structured`: JSON-schema answers auto, on or off.
    - decision and cascade: `threshold` is the P(yes) from which a criterion is met (that of the `calibration` file, else
      0.5); a cascade hands on what lies within the band of the calibration, else between 0.2 and 0.8.
    - `votes` (the majority) need a `temperature` above 0; `max_tokens` limits one answer of the judge.
    - `rules` on what programs can count (lengths, language, format): decide (they settle a criterion where no doubt is
      left, and it is not asked), evidence (the judge is told the figures) or off; True is decide, False off.
    - `prompts` are replaced by name: {"checklist": "mine.jinja"}, or "plain".
    - `base_url` and `judge_arg` (provider options) say how it is reached, `concurrency` how many requests at a time,
      `patience` for how many seconds a server may be away.
    - What it was asked it knows, so that nothing is paid for twice. With `cache` (a folder, or a .sqlite file) other
      judges, calls and processes know it too; without, no file is written.

    Close it with `with`, or leave that to the end of the program.
    """

    @in_python
    def __init__(
        self,
        judge: ModelLike | None,
        *,
        level: str | None = None,
        reasoning: bool = True,
        structured: str = "auto",
        threshold: float | None = None,
        calibration: File | None = None,
        votes: int = 1,
        rules: str | bool = "decide",
        temperature: float = 0.0,
        max_tokens: int = 8192,
        cascade_judge: ModelLike | None = None,
        cascade_arg: Mapping[str, Any] | None = None,
        prompts: Mapping[str, File] | None = None,
        base_url: str | None = None,
        judge_arg: Mapping[str, Any] | None = None,
        concurrency: int = 16,
        patience: float = 60.0,
        cache: File | None = None,
    ) -> None:
        """Raises UserError on what makes no sense; nothing is asked before the first call."""
        from truebench_hf.api.kept import Kept
        from truebench_hf.engine.background import Background
        from truebench_hf.prompts import Prompts

        _check_numbers(
            {"threshold": threshold, "temperature": temperature, "patience": patience},
            {"votes": votes, "max_tokens": max_tokens, "concurrency": concurrency},
        )
        texts = Prompts({name: os.fspath(path) for name, path in (prompts or {}).items()})
        spec, second = (
            NOBODY if judge is None else as_spec(judge),
            None if cascade_judge is None else as_spec(cascade_judge),
        )
        settings = _settings(
            spec, level, texts, threshold, calibration, second or spec,
            {"reasoning": reasoning, "structured": structured, "votes": votes, "rules": mode(rules),
             "temperature": temperature, "max_tokens": max_tokens},
        )  # fmt: skip
        if concurrency < 1 or not patience >= 0:
            raise UserError("concurrency is at least 1, patience at least 0")
        if spec == NOBODY and settings.rules != "decide":
            raise UserError(
                f"judge=None: with rules={settings.rules!r} nothing would be decided; leave it out, or name a judge"
            )
        models = [] if spec == NOBODY else [(spec, as_texts(judge_arg), base_url)]
        if second is not None:
            models.append((second, as_texts(cascade_arg), None))
        self._background = Background()
        try:
            self._kept = self._background.run(
                Kept.opened(models, settings, texts, concurrency, patience, cache_file(cache, [spec, second]))
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
        if response is None or isinstance(response, str):
            return self._background.run(self._kept.all([read_case(prompt, response, criteria, context, reference)]))[0]
        return self._background.run(self._kept.all(read_cases(prompt, response, criteria, context, reference)))

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


@overload
def judge(  # type: ignore[overload-overlap]  # a text is a sequence of texts, too
    prompt: Prompt, response: str | None, criteria: Criteria, judge: ModelLike | None, *, context: str | None = None,
    reference: str | None = None, **settings: Unpack[JudgeKeywords],
) -> Judgment: ...  # fmt: skip
@overload
def judge(
    prompt: Prompt | Iterable[Prompt], response: Iterable[str | None], criteria: Criteria | Iterable[Criteria],
    judge: ModelLike | None, *, context: str | Iterable[str | None] | None = None,
    reference: str | Iterable[str | None] | None = None, **settings: Unpack[JudgeKeywords],
) -> list[Judgment]: ...  # fmt: skip
def judge(
    prompt: Any, response: Any, criteria: Any, judge: ModelLike | None, *, context: Any = None, reference: Any = None,
    **settings: Unpack[JudgeKeywords],
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
        made: Judgment | list[Judgment] = kept(prompt, response, criteria, context=context, reference=reference)
        return made


def model(given: ModelLike, name: str | None = None, **options: Any) -> ChatModel:
    """A model of a function, or of a loaded transformers model with its tokenizer, to be called `name` in reports.

    A function is answered for by its name: with one its answers are kept in a `cache` or a run folder and used again,
    so change the name when its answers change. A loaded model is known by its weights; it takes `batch_size` and
    `chat_template_kwargs`.
    """
    from truebench_hf.models.in_memory import in_memory

    return in_memory(given, name, **options)


def as_spec(given: Any) -> str:
    """A spec as it is; of an object in memory a text that holds it, for options. Raises UserError on anything else."""
    if isinstance(given, str):
        return given
    from truebench_hf.models.in_memory import in_memory

    made = in_memory(given)
    return InMemory(made.spec, made)


def as_texts(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Provider options as the command line writes them: JSON for all that is no text."""
    plain = {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in (given or {}).items()}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in plain.items()}


def cache_file(cache: File | None, specs: Sequence[str | None]) -> Path | None:
    """The file of a cache that is a folder or a .sqlite file. Raises UserError where a judge's answers cannot last."""
    if cache is None:
        return None
    for spec in specs:
        if isinstance(spec, InMemory) and not getattr(spec.value, "named", True):
            raise UserError(
                f"cache={os.fspath(cache)}: nobody can tell whether {spec} is still the same tomorrow; give it a name "
                "that changes with it: judge=truebench_hf.model(function, name='my-judge-1')"
            )
    path = Path(cache)
    return path if path.suffix in (".sqlite", ".db") else path / "judged.sqlite"


def mode(rules: object) -> str:
    """`rules` as settings name them. Raises UserError on what is neither a text nor True or False."""
    if isinstance(rules, bool):
        return "decide" if rules else "off"
    if not isinstance(rules, str):
        raise UserError(f"rules={rules!r}: must be off, evidence or decide, or True or False")
    return rules


def _settings(
    spec: str, level: str | None, prompts: Prompts, threshold: float | None, calibration: File | None,
    second: str, more: dict[str, Any],
) -> JudgeSettings:  # fmt: skip
    from truebench_hf.judging.calibrated import read_calibration
    from truebench_hf.judging.judge import BY_PROBABILITY, JudgeSettings
    from truebench_hf.models.protocol import Sampling

    level = level or ("decision" if spec == "smollm2" else "checklist")
    temperature, max_tokens = more.pop("temperature"), more.pop("max_tokens")
    if not (threshold is None or 0 < threshold < 1):
        raise UserError(f"threshold={threshold}: lies between 0 and 1")
    if more["votes"] < 1 or max_tokens < 1 or not 0 <= temperature < inf:
        raise UserError("votes and max_tokens are at least 1, temperature at least 0")
    fitted = None
    if level not in BY_PROBABILITY:
        threshold = None  # which has no effect there
    elif calibration:
        fitted = read_calibration(os.fspath(calibration), spec, prompts, more["rules"])
        threshold = fitted.threshold if threshold is None else threshold
    return JudgeSettings(
        level=level, threshold=threshold or 0.5, calibrator=fitted.calibrator if fitted else None,
        band=fitted.band_for(second) if fitted and level == "cascade" else None,
        sampling=Sampling(temperature, max_tokens=max_tokens), **more,
    )  # fmt: skip


def _check_numbers(numbers: Mapping[str, object], whole: Mapping[str, object]) -> None:
    from truebench_hf.options import unfit

    for kind, values in (("float | None", numbers), ("int", whole)):
        for name, value in values.items():
            if wanted := unfit(value, kind):
                raise UserError(f"{name}={value!r}: must be {wanted}")
