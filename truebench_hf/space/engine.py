"""The playground's model and judge: opened at the first use, streamed, and stopped when the visitor leaves."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path

from truebench_hf.benchmarks.tick.revision import Rewrite, rewrite
from truebench_hf.data.judged import Case, sent
from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.checklists import Checklist, generate_checklist
from truebench_hf.judging.grounding.classifier import grounding_by_decisions
from truebench_hf.judging.grounding.judge import GroundingJudge
from truebench_hf.judging.grounding.types import Grounding, Source
from truebench_hf.judging.judge import LEVELS, CriteriaJudge, JudgeSettings
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.models.loading import EMBEDDED
from truebench_hf.models.protocol import ChatModel, ChatRequest, Completion, Sampling
from truebench_hf.models.spec import open_model, takes_url
from truebench_hf.options import pairs
from truebench_hf.prompts import Prompts
from truebench_hf.space import visitors
from truebench_hf.space.board import words
from truebench_hf.space.options import SpaceOptions
from truebench_hf.space.visitors import SeenModel
from truebench_hf.types import Criterion, Instance, Message, Turn, Verdict

_TINY = ("smollm2", f"hf:{EMBEDDED}")
# Measured on `rubric_mini`: this model writes no verdict that can be read, and its probabilities are at chance.
_TINY_LEVELS = ("decision",)
# A visitor waits: that a server is gone has to show in seconds, where a run would wait for it for minutes.
_SOON = {"attempts": "2", "connect_timeout": "3", "patience": "inf"}
_HERE = ("smollm2", "hf", "vllm")  # kinds of models that are loaded into this process
_FROM_DOCUMENT = "Answer the request from the document that comes with it, and from nothing else."
_MEMORY = Path(":memory:")  # what visitors type is not kept: their ledger lives as long as their request
_SENTENCES = 4  # a check of grounding quotes every sentence, reasons and excerpts beside: tokens of so many answers


class Engine:
    """One model and one judge for all visitors. Nothing is loaded before the first request."""

    def __init__(self, options: SpaceOptions) -> None:
        self.options = options
        self.prompts = Prompts()
        self._loaded: set[str] = set()

    @property
    def model_name(self) -> str:
        """The model's name as a visitor may see it."""
        return words.model(self.options.model)

    @property
    def judge_name(self) -> str:
        """The judge's name as a visitor may see it."""
        return words.model(self.options.judge or self.options.model)

    @property
    def tiny(self) -> bool:
        """Whether the judge is the embedded model, whose verdicts are guesses."""
        return (self.options.judge or self.options.model) in _TINY

    @property
    def small(self) -> bool:
        """Whether the model is the embedded one, which seldom writes what can be read by program."""
        return self.options.model in _TINY

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels at which the judge can be asked, the usual one first."""
        return _TINY_LEVELS if self.tiny else ("rubric", *(level for level in LEVELS if level != "rubric"))

    @cached_property
    def model(self) -> ChatModel:
        """The model under test. Raises UserError where its spec cannot be used."""
        options = self.options
        return _opened(options.model, options.model_arg, "--model-arg", options.model_base_url)

    @cached_property
    def judge(self) -> ChatModel:
        """The judge: the model itself unless another is configured."""
        options = self.options
        if options.judge is None:
            return self.model
        return _opened(options.judge, options.judge_arg, "--judge-arg", options.judge_base_url)

    def loads(self, model: ChatModel) -> bool:
        """Whether a model is yet to be loaded into this process."""
        return model.spec.partition(":")[0] in _HERE and model.spec not in self._loaded

    async def answer(self, prompt: str, document: str = "") -> AsyncGenerator[Completion, None]:
        """The answer as it grows, to a prompt alone or behind a document. Raises RequestFailed."""
        instance = Instance("", "", "", "", (Turn(prompt, ()),), context=document or None)
        system = (Message("system", _FROM_DOCUMENT),) if document else ()
        messages = sent(instance, (*system, Message("user", prompt)))
        request = ChatRequest(messages, Sampling(max_tokens=visitors.TOKENS // (2 if self.small else 1)))
        async for part in self._seen(self.model).parts(request):
            yield part

    async def checklist(self, prompt: str) -> Checklist:
        """A checklist by the model. Raises RequestFailed where it gave no answer."""
        async with self._caller(self.model) as caller:
            return await generate_checklist(caller, Case(prompt, "", ()), self.prompts, sampling=self._sampling)

    async def improved(self, prompt: str, answer: str, verdicts: Sequence[Verdict]) -> Rewrite | Problem:
        """One step of self-refinement by these verdicts (paper 004, section 4.1). Raises RequestFailed without an answer."""
        async with self._caller(self.model) as caller:
            return await rewrite(caller, Case(prompt, answer, ()), self.prompts, self._sampling, verdicts=verdicts)

    async def verdicts(
        self, prompt: str, answer: str, criteria: Sequence[str], level: str
    ) -> AsyncGenerator[tuple[Verdict, ...], None]:
        """The verdicts so far, growing to one per criterion; where the judge fails they are left open."""
        settings = JudgeSettings(level=level, sampling=self._sampling, rules=self.options.rules)
        async with self._caller(self.judge, raises=False) as caller:
            judge = CriteriaJudge(caller, settings, self.prompts)
            async for done in judge.one_by_one(Case(prompt, answer, tuple(map(Criterion, criteria)))):
                yield done

    async def grounding(self, document: str, request: str, answer: str) -> Grounding:
        """Whether an answer rests on a document, sentence by sentence. Raises RequestFailed where the judge gave no answer.

        The tiny model guesses by probabilities, any other judge labels by the template `json`.
        """
        source = Source(request, document)
        async with self._caller(self.judge) as caller:
            if self.tiny:
                judge = CriteriaJudge(caller, JudgeSettings(level="decision"), self.prompts)
                return await grounding_by_decisions(judge, source, answer)
            sampling = Sampling(max_tokens=_SENTENCES * visitors.TOKENS)
            return await GroundingJudge(caller, "json", self.prompts, sampling=sampling).verdict(source, answer)

    @property
    def _sampling(self) -> Sampling:
        return Sampling(max_tokens=visitors.TOKENS)

    def _seen(self, model: ChatModel) -> SeenModel:
        """A model for one piece of work: one that does not begin to answer holds up all visitors."""
        return SeenModel(model, self._load, visitors.SECONDS / 3)

    async def _load(self, model: ChatModel) -> None:
        """Load a model that is run in this process. A single token is asked for: it takes all that a first request takes."""
        if self.loads(model):
            await model.complete(ChatRequest((Message("user", "Hello"),), Sampling(max_tokens=1)))
            self._loaded.add(model.spec)

    @asynccontextmanager
    async def _caller(self, model: ChatModel, raises: bool = True) -> AsyncGenerator[Caller, None]:
        """A model for one piece of work, whose failure is raised at the end of it where `raises`."""
        seen, ledger = self._seen(model), Calls(_MEMORY)
        try:
            yield Caller(seen, ledger, "playground", 1)
            if raises and seen.failed:
                raise seen.failed
        finally:
            ledger.close()


def _opened(spec: str, arguments: tuple[str, ...], flag: str, base_url: str | None) -> ChatModel:
    """Return the model of a spec, whose server is not waited for. Raises UserError where the spec cannot be used."""
    options = pairs(arguments, flag)
    return open_model(spec, _SOON | options if takes_url(spec) else options, base_url)
