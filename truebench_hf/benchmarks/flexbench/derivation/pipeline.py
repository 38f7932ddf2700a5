"""The stages in their order, each with its output kept, until the dimensions are complete (appendix B.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from truebench_hf.benchmarks.flexbench.derivation import criteria, logic, segments, verify
from truebench_hf.benchmarks.flexbench.derivation.asking import ask_json, problem
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence

T = TypeVar("T")
PROMPTS = (
    "flex_segments", "flex_criteria", "flex_verify", "flex_modify", "flex_granularity", "flex_dependencies", "flex_logic",
)  # fmt: skip


class Stopped(Exception):
    """A stage that came to no usable end."""


@dataclass
class Build:
    """One instruction on its way: what every stage gave, and where and why it stopped."""

    procedure: Procedure
    stages: list[dict[str, Any]] = field(default_factory=list)
    uncovered: float = 1.0  # share of the instruction's text in no segment
    rounds: int = 0  # of modification
    stopped: str = ""  # the stage
    reason: str = ""

    @property
    def complete(self) -> bool:
        """Whether all stages came to their end."""
        return not self.stopped


class Pipeline:
    """Builds dimensions with a builder, and a verifier that may be another model."""

    def __init__(
        self, builder: Caller, verifier: Caller, prompts: Prompts, sampling: Sampling, rounds: int,
        step: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.builder, self.verifier, self.prompts, self.sampling = builder, verifier, prompts, sampling
        self.rounds, self.step = rounds, step

    async def build(self, start: Procedure) -> Build:
        """Everything that comes of an instruction; never raises but what a server's loss raises."""
        made = Build(start)
        try:
            await self._stages(made)
        except Stopped as error:
            made.stopped, made.reason = error.args
        return made

    async def _stages(self, made: Build) -> None:
        found = await self._ask(
            made,
            "segments",
            segments.example(made.procedure.instruction),
            lambda v: segments.read_segments(v, made.procedure.instruction),
        )
        made.uncovered = found.uncovered
        self._keep(made, "segments", segments=found.segments, opening=made.procedure.opening or found.opening)
        keep = [one.id for one in found.segments]
        await self._dimensions(made, "criteria", keep)
        await self._complete(made)
        cited = list(dict.fromkeys(name for one in made.procedure.dimensions for name in one.segments))
        await self._dimensions(made, "granularity", cited)
        await self._dimensions(made, "dependencies", cited, count=len(made.procedure.dimensions))
        tied = await self._ask(made, "logic", logic.EXAMPLE, lambda v: logic.read_logic(v, made.procedure.dimensions))
        self._keep(made, "logic", dimensions=tied)

    async def _complete(self, made: Build) -> None:
        """Verify, and mend what was found, until nothing is; at most `rounds` times."""
        while True:
            found = await self._ask(
                made,
                "verify",
                verify.EXAMPLE,
                lambda v: verify.read_findings(v, made.procedure.dimensions),
                self.verifier,
            )
            made.stages.append({"stage": "verify", "findings": list(found.lines)})
            if found.complete:
                return
            if made.rounds == self.rounds:
                raise Stopped("verify", f"not complete after {self.rounds} rounds: {'; '.join(found.lines)}")
            made.rounds += 1
            await self._dimensions(made, "modify", [], findings=found.lines)

    async def _dimensions(self, made: Build, stage: str, keep: Sequence[str], *, count: int = 0, **more: Any) -> None:
        """A stage that gives all dimensions anew; with `count` as many as before.

        The builder is asked again about dimensions that are in doubt; if they stay so, the last answer is taken with
        what is marked in it.
        """
        was = made.procedure.segments
        doubtful: list[tuple[Dimension, ...]] = []

        def read(value: dict[str, Any]) -> tuple[Dimension, ...] | Problem:
            found = criteria.read_dimensions(value, was, made.procedure.instruction, keep=keep)
            if isinstance(found, Problem):
                return found
            if count and len(found) != count:
                return Problem(f"it has {len(found)} dimensions, not the {count} there are")
            if doubts := [f"{one.id} ({one.question[:80]!r}) {one.check}" for one in found if one.check]:
                doubtful.append(found)
                return problem(doubts)
            return found

        example = criteria.example(was, made.procedure.dimensions)
        dimensions = await self._ask(made, stage, example, read, otherwise=doubtful, **more)
        self._keep(made, stage, dimensions=dimensions)

    async def _ask(
        self, made: Build, stage: str, example: str, read: Callable[[dict[str, Any]], T | Problem],
        caller: Caller | None = None, otherwise: Sequence[T] = (), **more: Any,
    ) -> T:  # fmt: skip
        """What `read` makes of an answer; where nothing can be used, the last of `otherwise`. Raises Stopped."""
        one = made.procedure
        said = (text for d in one.dimensions for text in (d.question, d.condition, d.script))
        shown = [one.instruction, *said, *more.get("findings", ())]
        values = {
            "instruction": one.instruction, "segments": one.segments, "dimensions": one.dimensions, "findings": (),
            "tag": fence(*shown),
        } | more  # fmt: skip
        found = await ask_json(
            caller or self.builder,
            self.prompts,
            f"flex_{stage}",
            values,
            read,
            sampling=self.sampling,
            example=example,
            sample=made.rounds,  # a round that mended nothing asks anew
        )
        self.step()
        if isinstance(found, Problem) and otherwise:
            return otherwise[-1]
        if isinstance(found, Problem):
            raise Stopped(stage, found.text)
        return found

    def _keep(self, made: Build, stage: str, **parts: Any) -> None:
        """Note what a stage gave."""
        made.procedure = Procedure(**{**made.procedure.__dict__, **parts})
        told = {
            name: [asdict(one) for one in part] if isinstance(part, tuple) else part for name, part in parts.items()
        }
        made.stages.append({"stage": stage, **told})
