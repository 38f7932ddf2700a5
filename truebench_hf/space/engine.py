"""The playground's model and judge: opened at the first use, streamed, and stopped when the visitor leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from difflib import SequenceMatcher
from math import inf
from pathlib import Path

from truebench_hf import anonymous, redaction
from truebench_hf.engine.ledger import Ledger
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.case import Case
from truebench_hf.judging.checklists import Checklist, generate_checklist
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Decision, DecisionRequest, Sampling
from truebench_hf.models.spec import open_model
from truebench_hf.models.streaming import StreamedModel, stream
from truebench_hf.options import pairs
from truebench_hf.prompts import Prompts
from truebench_hf.space.guard import VisitorError
from truebench_hf.space.options import SpaceOptions
from truebench_hf.terminal import warn
from truebench_hf.types import Criterion, Message, Verdict

_QUOTED = 12  # characters in common from which an error quotes a text rather than speaks the same language


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
        return anonymous.name(self.options.model)

    @property
    def judge_name(self) -> str:
        """The judge's spec as a visitor may see it."""
        return anonymous.name(self.options.judge or self.options.model)

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
            self._model = open_model(o.model, pairs(o.model_arg, "--model-arg"), o.model_base_url, inf)
        return self._model

    @property
    def judge(self) -> ChatModel:
        """The judge: the model itself unless another is configured."""
        o = self.options
        if o.judge is None:
            return self.model
        if self._judge is None:
            self._judge = open_model(o.judge, pairs(o.judge_arg, "--judge-arg"), o.judge_base_url, inf)
        return self._judge

    async def answer(self, prompt: str, tokens: int) -> AsyncGenerator[Completion, None]:
        """The answer as it grows."""
        sampling = Sampling(max_tokens=min(tokens, self.options.max_tokens))
        try:
            async for part in stream(self.model, ChatRequest((Message("user", prompt),), sampling)):
                yield part
        except RequestFailed as error:
            _note(self.model.spec, error, prompt)
            raise _shown(error) from error

    async def checklist(self, prompt: str) -> AsyncGenerator[int | Checklist, None]:
        """How many characters the model has written of a checklist, again and again; the checklist comes last.

        Raises VisitorError where the model gave no answer.
        """
        grown = asyncio.Queue[int]()
        model, ledger = _Noted(self.model, grown.put_nowait), _memory()
        sampling = Sampling(max_tokens=self.options.max_tokens)
        caller = Caller(model, ledger, "judge", 1)
        asked = generate_checklist(caller, Case(prompt, "", ()), self.prompts, sampling=sampling)
        job = asyncio.create_task(asked)
        job.add_done_callback(lambda _: grown.put_nowait(0))
        try:
            while (count := await grown.get()) or not job.done():
                yield count
            made = await job
            if made.problem and model.failed:
                raise _shown(model.failed)
            yield made
        finally:
            job.cancel()
            ledger.close()

    async def verdicts(
        self, prompt: str, answer: str, criteria: Sequence[str], level: str
    ) -> AsyncGenerator[tuple[Verdict, ...], None]:
        """The verdicts so far, growing to one per criterion."""
        sampling = Sampling(max_tokens=self.options.max_tokens)
        settings = JudgeSettings(level=level, cascade_level="rubric", sampling=sampling, rules=self.options.rules)
        ledger = _memory()
        try:
            judge = Judge(Caller(_Noted(self.judge), ledger, "judge", 1), settings, self.prompts)
            async for done in judge.one_by_one(Case(prompt, answer, tuple(map(Criterion, criteria)))):
                yield done
        finally:
            ledger.close()


class _Noted(StreamedModel):
    """A model whose failures reach the operator: to a judge they are verdicts left open, and nothing raises."""

    failed: RequestFailed | None = None  # the last failure

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`."""
        try:
            return await super().complete(request)
        except RequestFailed as error:
            self.failed = error
            _note(self.spec, error, *(message.content for message in request.messages))
            raise

    async def decide(self, request: DecisionRequest) -> Decision:
        """See `ChatModel.decide`."""
        try:
            return await super().decide(request)
        except RequestFailed as error:
            _note(self.spec, error, request.state, *request.questions)
            raise


def _note(spec: str, error: RequestFailed, *typed: str) -> None:
    """Log why there was no answer, without keys and without what the error quotes of the visitor's text."""
    said = " ".join(redaction.error(str(error)).split())[:500]
    for text in typed:
        given = " ".join(text.split())
        while (same := SequenceMatcher(None, said, given, autojunk=False).find_longest_match()).size > _QUOTED:
            said = f"{said[: same.a]}[…]{said[same.a + same.size :]}"
    warn(f"playground: {anonymous.name(spec)} gave no answer: {anonymous.text(said)}")


def _memory() -> Ledger:
    # What visitors type is not kept: this ledger lives as long as their request.
    return Ledger(Path(":memory:"))


def _shown(error: RequestFailed) -> VisitorError:
    if "window" in str(error):
        return VisitorError("The text is too long for the model's window; please shorten it.")
    return VisitorError("The model gave no answer; please try again later.")
