"""Verdicts per second of judges in this process, by level: the embedded model with transformers, and with vLLM.

`make bench`, or `python -m tests.bench.local_judging`. vLLM runs in its own environment, which `make test-vllm` makes.
Whole responses are judged as a study judges them; what the answers are is told in `dictated.py`. Processor time is the
measure on a machine that others use too; vLLM's holds what its threads spend waiting.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bench.cases import responses
from tests.bench.dictated import DictatedModel, ShapedModel
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.pool import bounded
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.models.caller import Caller, metered
from truebench_hf.models.local import LocalOptions
from truebench_hf.models.spec import read_options
from truebench_hf.models.vllm_engine import VllmOptions
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


if __name__ == "__main__":
    vllm() if "vllm" in sys.argv else main()
