"""The playground's model and judge: opened at the first use, streamed, and stopped when the visitor leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from truebench_hf.engine.ledger import Ledger
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.case import Case
from truebench_hf.judging.drafting import draft_checklist
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.judging.stepwise import one_by_one
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.models.streaming import StreamedModel, stream
from truebench_hf.options import pairs
from truebench_hf.prompts import Prompts
from truebench_hf.report.board import shown
from truebench_hf.report.space.guard import VisitorError
from truebench_hf.report.space.options import SpaceOptions
from truebench_hf.types import Criterion, Message, Verdict


class Engine:
    """One model and one judge for all visitors. Nothing is loaded before the first request."""

    def __init__(self, options: SpaceOptions) -> None:
        self.options = options
        self.prompts = Prompts()
        self._model: ChatModel | None = None
        self._judge: ChatModel | None = None

    @property
    def model_name(self) -> str:
        """The model's spec as a visitor may see it."""
        return shown.name(self.options.model)

    @property
    def judge_name(self) -> str:
        """The judge's spec as a visitor may see it."""
        return shown.name(self.options.judge or self.options.model)

    @property
    def default_level(self) -> str:
        """Decision for the embedded model, which cannot write verdicts worth reading; rubric for all others."""
        return "decision" if self.judge_name == "smollm2" else "rubric"

    @property
    def warning(self) -> str:
        """What to know about the judge, if anything."""
        weak = "It is tiny: its answers and verdicts show how things work, and mean little."
        return weak if self.judge_name == "smollm2" else ""

    @property
    def model(self) -> ChatModel:
        """The model under test. Raises UserError where its spec cannot be used."""
        if self._model is None:
            o = self.options
            self._model = open_model(o.model, pairs(o.model_arg, "--model-arg"), o.model_base_url)
        return self._model

    @property
    def judge(self) -> ChatModel:
        """The judge: the model itself unless another is configured."""
        o = self.options
        if o.judge is None:
            return self.model
        if self._judge is None:
            self._judge = open_model(o.judge, pairs(o.judge_arg, "--judge-arg"), o.judge_base_url)
        return self._judge

    async def answer(self, prompt: str, tokens: int) -> AsyncGenerator[Completion, None]:
        """The answer as it grows."""
        sampling = Sampling(max_tokens=min(tokens, self.options.max_tokens))
        try:
            async for part in stream(self.model, ChatRequest((Message("user", prompt),), sampling)):
                yield part
        except RequestFailed as error:
            raise _shown(error) from error

    async def draft(self, prompt: str) -> list[str]:
        """A draft checklist by the model."""
        ledger = _memory()
        try:
            sampling = Sampling(max_tokens=self.options.max_tokens)
            caller = Caller(StreamedModel(self.model), ledger, "judge", 1)
            return await draft_checklist(
                caller, prompt, self.prompts, most=min(6, self.options.max_criteria), sampling=sampling
            )
        except RequestFailed as error:
            raise _shown(error) from error
        finally:
            ledger.close()

    async def verdicts(
        self, prompt: str, answer: str, criteria: Sequence[str], level: str
    ) -> AsyncGenerator[tuple[Verdict, ...], None]:
        """The verdicts so far, growing to one per criterion."""
        sampling = Sampling(max_tokens=self.options.max_tokens)
        settings = JudgeSettings(level=level, sampling=sampling)
        ledger = _memory()
        try:
            judge = Judge(Caller(StreamedModel(self.judge), ledger, "judge", 1), settings, self.prompts)
            async for done in one_by_one(judge, Case(prompt, answer, tuple(map(Criterion, criteria)))):
                yield done
        finally:
            ledger.close()


def _memory() -> Ledger:
    # What visitors type is not kept: this ledger lives as long as their request.
    return Ledger(Path(":memory:"))


def _shown(error: RequestFailed) -> VisitorError:
    if "window" in str(error):
        return VisitorError("The text is too long for the model's window; please shorten it.")
    return VisitorError("The model gave no answer; please try again later.")
