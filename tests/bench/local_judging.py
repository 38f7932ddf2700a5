"""Verdicts per second of judges in this process, by level: the embedded model with transformers, and with vLLM.

`make bench`, or `python -m tests.bench.local_judging`. vLLM runs in its own environment, which `make test-vllm` makes.
Whole responses are judged as a study judges them. Left to itself the embedded model would babble, and its babble and the
calls that ask again would be measured. So its answers get the form and the length in tokens of `verdict_example`, the
answer that `--estimate` reckons with; all else is the product's own. Processor time is the measure on a machine that
others use too; vLLM's holds what its threads spend waiting.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from tests.bench.cases import responses
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.pool import bounded
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.models.caller import Caller, metered
from truebench_hf.models.local import LocalModel, LocalOptions
from truebench_hf.models.protocol import ChatRequest, Completion
from truebench_hf.models.spec import read_options
from truebench_hf.models.vllm_engine import VllmModel, VllmOptions
from truebench_hf.prompts import Prompts

RESPONSES = 7  # their rubrics fill two batches of 16
REASONED = "rubric, reasoning"
LEVELS = {
    "checklist": JudgeSettings(level="checklist", reasoning=False),
    "rubric": JudgeSettings(level="rubric", reasoning=False),
    "checklist, reasoning": JudgeSettings(level="checklist"),
    REASONED: JudgeSettings(level="rubric"),
    "decision": JudgeSettings(level="decision"),
}
TIMES = {"decision": 3}  # the others take long, once each
RATIOS = (
    ("rubric", "checklist", "at most 1.5"),
    (REASONED, "checklist, reasoning", "at most 1.5"),
    (REASONED, "decision", "at least 10"),
)
VLLM = Path(".venv-vllm")
SHAPE = {"dtype": "float32", "enforce_eager": "true", "kv_cache_gib": "1"}


@dataclass(frozen=True)
class Measured:
    """What judging all responses once took. `fed` are the tokens that were computed, padding included."""

    seconds: float
    processor: float
    calls: int
    prompts: int
    written: int
    fed: int


class Bench:
    """One engine: a model, and the running count of the tokens that it computed."""

    def __init__(self, model: DictatedModel | ShapedModel, fed: Callable[[], int]) -> None:
        self.model, self.fed = model, fed
        self.cases = responses(RESPONSES)
        self.verdicts = sum(len(case.criteria) for case in self.cases)

    async def once(self, settings: JudgeSettings) -> Measured:
        """Judge all responses, as a study does: so many at a time, through the model's slots. All verdicts are read."""
        await self.model.forget()
        judge = CriteriaJudge(Caller(self.model, Calls(Path(":memory:")), "judge", 8), settings, Prompts())
        spent, fed, processor, clock = metered(), self.fed(), _processor(), time.perf_counter()
        found = [v async for some in bounded(self.cases, judge.verdicts, 2 * judge.caller.concurrency) for v in some]
        clock, processor, usage = time.perf_counter() - clock, _processor() - processor, spent["judge"]
        assert all(verdict.label for verdict in found), [verdict.reason for verdict in found if not verdict.label]
        assert usage.calls == (self.verdicts if settings.level == "rubric" else len(self.cases)), usage
        return Measured(clock, processor, usage.calls, usage.input_tokens, usage.output_tokens, self.fed() - fed)

    async def table(self) -> None:
        """Print a line per level, and the ratios that are aimed at."""
        name = self.model.identity.provider
        print(f"{name}: {self.verdicts} verdicts on {len(self.cases)} whole responses of rubric_mini")
        print(
            f"{'level':<22}{'calls':>6}{'read':>8}{'written':>9}{'computed':>10}{'verdicts/s':>12}{'CPU s/verdict':>15}"
        )
        await self.once(LEVELS["decision"])  # warms up
        found = {}
        for level, settings in LEVELS.items():
            runs = [await self.once(settings) for _ in range(TIMES.get(level, 1))]
            one = sorted(runs, key=lambda run: run.processor)[len(runs) // 2]
            found[level] = one
            counts = f"{one.calls:>6}{one.prompts:>8}{one.written:>9}{one.fed:>10}"
            rates = f"{self.verdicts / one.seconds:>12.2f}{one.processor / self.verdicts:>15.3f}"
            print(f"{level:<22}{counts}{rates}", flush=True)
        for over, under, aim in RATIOS:
            clock = found[over].seconds / found[under].seconds
            processor = found[over].processor / found[under].processor
            print(f"{over}: {clock:.2f} times the time of {under}, {processor:.2f} times the processor's; aim: {aim}")
        made, wanted = self.reasons(found)
        print(f"The reasons have {made:.0f} tokens a verdict; that aim is met from {wanted:.0f} on.")

    def reasons(self, found: Mapping[str, Measured]) -> tuple[float, float]:
        """Tokens that reasons take per verdict, and how many would make rubrics cost ten times what decisions do."""
        bare, reasoned = found["rubric"], found[REASONED]
        made = (reasoned.written - bare.written) / self.verdicts
        each = (reasoned.processor - bare.processor) / made
        return made, (10 * found["decision"].processor - bare.processor) / each


def _processor() -> float:
    """Seconds of processor time of this process and of those it started: vLLM's engine is one."""
    here = psutil.Process()
    times = [one.cpu_times() for one in (here, *here.children(recursive=True))]
    return sum(one.user + one.system for one in times)


@contextmanager
def counted(model: Any) -> Iterator[list[int]]:
    """Count the tokens fed to a transformers model while the block runs, in the only item of the list."""
    fed = [0]

    def note(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs["input_ids"] if kwargs.get("input_ids") is not None else args[0]
        fed[0] += ids.numel()

    hook = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield fed
    finally:
        hook.remove()


def transformers() -> None:
    """The table of the embedded model with transformers."""
    model = DictatedModel("", LocalOptions())
    with counted(model._load()[0]) as fed:
        asyncio.run(Bench(model, lambda: fed[0]).table())


def vllm() -> None:
    """The table of the embedded model with vLLM, in its own environment."""

    async def run() -> None:
        model = ShapedModel(str(VLLM / "smollm2"), read_options(VllmOptions, SHAPE, "vllm"))
        try:
            await Bench(model, lambda: model.prompt_tokens - model.cached_tokens + model.written).table()
        finally:
            await model.close()

    asyncio.run(run())


def main() -> None:
    """Print both tables; without its environment vLLM's is left out."""
    transformers()
    if not (VLLM / "done").exists():
        print("vLLM: not measured; `make test-vllm` makes its environment")
        return
    subprocess.run([VLLM / "bin/python", "-W", "ignore", "-m", __spec__.name, "vllm"], check=True)


class DictatedModel(LocalModel):
    """Transformers. Every step is computed; then the token of the answer's example is the only choice."""

    async def forget(self) -> None:
        """Empty the cache that goes from batch to batch."""
        self._prefix = None

    def _generate(self, requests: Sequence[ChatRequest]) -> list[Completion | BaseException]:
        model, tokenizer = self._load()
        prompts = [tuple(self._encode(tokenizer, request)) for request in requests]
        answers = [_tokens(tokenizer, request.example) for request in requests]
        with _dictated(model, dict(zip(prompts, answers, strict=True)), tokenizer.eos_token_id):
            return super()._generate(requests)


class ShapedModel(VllmModel):
    """vLLM, which takes a JSON schema: what the schema leaves open, the length of the reasons, is set as well."""

    written = 0  # tokens so far

    async def complete(self, request: ChatRequest) -> Completion:
        """Answer in the form of the example: its keys by the schema, its reasons of as many characters."""
        made = await super().complete(replace(request, schema=_of_length(request)))
        self.written += made.usage.output_tokens
        return made

    async def forget(self) -> None:
        """Empty the prefix cache, which would know all prompts when they are judged once more."""
        engine, _ = self._open()
        await engine.reset_prefix_cache()


@contextmanager
def _dictated(model: Any, answers: dict[tuple[int, ...], list[int]], pad: int) -> Iterator[None]:
    import torch

    sizes = sorted(set(map(len, answers)))

    def dictate(ids: Any, scores: Any) -> Any:
        only = torch.full_like(scores, float("-inf"))
        for row, tokens in enumerate(ids.tolist()):
            said = tuple(itertools.dropwhile(lambda token: token == pad, tokens))
            size = next(size for size in sizes if said[:size] in answers)
            answer = answers[said[:size]]
            only[row, answer[min(len(said) - size, len(answer) - 1)]] = 0.0  # an answer that has ended says so again
        return only

    real = model.generate
    model.generate = lambda **how: real(logits_processor=[dictate], **how)
    try:
        yield
    finally:
        del model.generate  # the method of its class shows again


def _tokens(tokenizer: Any, example: str) -> list[int]:
    """The tokens of an answer to its end. Words that repeat themselves would be guessed, so reasons get others."""
    draw, words = random.Random(len(example)), _words(tokenizer)

    def others(found: re.Match[str]) -> str:
        count = len(tokenizer.encode(found[2]))
        return found[1] + tokenizer.decode(draw.sample(words, count))

    text = re.sub(r"(?m)^(criteria_\d+:)(.*)", others, example)
    return [*tokenizer.encode(text), tokenizer.eos_token_id]


@functools.cache
def _words(tokenizer: Any) -> list[int]:
    return [token for word, token in sorted(tokenizer.get_vocab().items()) if re.fullmatch("Ġ[a-z]{4,}", word)]


def _of_length(request: ChatRequest) -> dict[str, Any] | None:
    schema = json.loads(json.dumps(request.schema))
    for entry, said in zip(schema["properties"].values(), json.loads(request.example).values(), strict=True):
        if isinstance(said, dict):
            size = len(said["reason"])
            entry["properties"]["reason"] |= {"minLength": size, "maxLength": size}
    return schema


if __name__ == "__main__":
    vllm() if "vllm" in sys.argv else main()
