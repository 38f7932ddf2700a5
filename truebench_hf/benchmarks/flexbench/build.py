"""`truebench flex build`: an instruction, or a file of them, taken apart into dimensions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.benchmarks.flexbench import derivation
from truebench_hf.benchmarks.flexbench.derivation import DerivationReading
from truebench_hf.benchmarks.flexbench.procedure import (
    FILE,
    ROWS,
    SEVERAL,
    Procedure,
    as_yaml,
    built_in,
    check_notes,
    read_instructions,
)
from truebench_hf.benchmarks.flexbench.scores import DIAGRAM, mermaid, tree
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.options import option, role
from truebench_hf.prompts import fence
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions, WritingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

T = TypeVar("T")
PROMPTS = (
    "flex_segments", "flex_criteria", "flex_verify", "flex_modify", "flex_granularity", "flex_dependencies", "flex_logic",
)  # fmt: skip


class BuildStopped(Exception):
    """A stage without which there is nothing to go on with gave nothing that can be used."""


@dataclass
class Build:
    """One instruction on its way: what every stage gave, and what failed, by stage, with the reason."""

    procedure: Procedure
    stages: list[dict[str, Any]] = field(default_factory=list)
    uncovered: float = 1.0  # share of the instruction's text in no segment
    rounds: int = 0  # of modification
    failures: list[tuple[str, str]] = field(default_factory=list)  # (stage, why)
    stopped: str = ""  # the stage

    @property
    def complete(self) -> bool:
        """Whether all stages came to their end, and nothing was left out on the way."""
        return not self.failures

    def keep(self, stage: str, **parts: Any) -> None:
        """Note what a stage gave."""
        self.procedure = replace(self.procedure, **parts)
        plain = {
            name: [asdict(entry) for entry in part] if isinstance(part, tuple) else part for name, part in parts.items()
        }
        self.stages.append({"stage": stage, **plain})

    def row(self) -> dict[str, Any]:
        """Its line in stages.jsonl."""
        facts = {name: getattr(self, name) for name in ("complete", "stopped", "rounds", "uncovered")}
        failures = [{"stage": stage, "reason": why} for stage, why in self.failures]
        return {"id": self.procedure.id, **facts, "failures": failures, "stages": self.stages}


DRAFT, STAGES = "draft.yaml", "stages.jsonl"
_LEAD = "An instruction taken apart into questions on the conversations that an assistant has by it."


class FlexBuildOptions(FolderOptions, WritingOptions, PromptOptions):
    """What is taken apart, and by whom."""

    instruction: str = option(
        help="File with one instruction as text, or a built-in instruction; for a batch rows with instruction (and id, "
        "title, language, opening), SOURCE:PATH (infobench, structflowbench ...) or flexbench.",
        argument=True, panel="Data",
    )  # fmt: skip
    builder: str = role(help="Model that takes the instruction apart.")
    verifier: str | None = role(None, help="Model that verifies the dimensions; if not given, the builder.")
    rounds: int = option(
        5, ge=1, binds=True, help="How often dimensions are mended before an instruction counts as incomplete."
    )
    max_tokens: int = option(8192, ge=1, binds=True, help="Token limit of one answer.")


class FlexBuild(Study[FlexBuildOptions, Procedure, Build, list[Build]]):
    """Every instruction through all stages, as far as it comes."""

    kind, unit, prompts, boards = "flexbuild", "instructions", PROMPTS, False
    files = (STAGES, FILE, DRAFT, SEVERAL, DIAGRAM)
    editable = {FILE: "", DRAFT: ""}  # noqa: RUF012
    unforeseen = "How often dimensions have to be mended is not known: each round is two calls more."

    def items(self) -> Items[Procedure]:
        source = self.options.instruction
        procedures, self.left_out = read_instructions(source)
        self.batch = source not in built_in() and (not Path(source).is_file() or Path(source).suffix.lower() in ROWS)
        self.known = {"instruction_sha256": digest(canonical([asdict(procedure) for procedure in procedures]))}
        return Items(
            procedures,
            lambda procedure: procedure.id,
            None,
            size=lambda procedure: len(procedure.instruction),
            drawn=False,
        )

    def bars(self) -> dict[str, int]:
        return {"stages": 6 * len(self.chosen)}

    def setup(self) -> None:
        options = self.options
        self.builder = self.caller("builder")
        self.verifier = self.caller("verifier") if options.verifier else self.builder

    async def work(self, procedure: Procedure) -> Build:
        """Everything that comes of an instruction.

        What a model insists on getting wrong is left out, noted and counted; all else is kept. A stage that rewrites all
        dimensions is taken whole or not at all, since what it leaves out would be lost.
        """
        build = Build(procedure)
        try:
            await self._stages(build)
        except BuildStopped as error:
            (build.stopped,) = error.args
        return build

    async def _stages(self, build: Build) -> None:
        text = build.procedure.instruction
        example = json.dumps({"opening": "", "segments": [line for line in text.splitlines() if line.strip()]})
        segments = await self._ask(build, "segments", example, lambda v: derivation.read_segments(v, text))
        if segments is None or not segments.segments:
            raise BuildStopped("segments")
        build.uncovered = segments.uncovered
        opening = build.procedure.opening or segments.opening
        build.keep("segments", segments=segments.segments, opening=opening)
        await self._dimensions(build, "criteria", keep=[segment.id for segment in segments.segments])
        if not build.procedure.dimensions:
            raise BuildStopped("criteria")

        # Verify, and mend what was found, until nothing is.
        while findings := await self._ask(
            build, "verify", derivation.FINDINGS_EXAMPLE,
            lambda v: derivation.read_findings(v, build.procedure.dimensions), self.verifier,
        ):  # fmt: skip
            build.stages.append({"stage": "verify", "findings": list(findings)})
            if build.rounds == self.options.rounds:
                open_findings = "; ".join(findings)
                build.failures.append(("verify", f"not complete after {build.rounds} rounds: {open_findings}"))
                break
            build.rounds += 1
            await self._dimensions(build, "modify", complete=True, findings=findings)
        if findings == ():
            build.stages.append({"stage": "verify", "findings": []})
        cited = list(dict.fromkeys(name for dimension in build.procedure.dimensions for name in dimension.segments))
        await self._dimensions(build, "granularity", complete=True, keep=cited)
        count = len(build.procedure.dimensions)
        await self._dimensions(build, "dependencies", complete=True, keep=cited, count=count)
        tied = await self._ask(
            build, "logic", derivation.LOGIC_EXAMPLE, lambda v: derivation.read_logic(v, build.procedure.dimensions)
        )
        if tied is not None:
            build.keep("logic", dimensions=tied)

    async def _dimensions(
        self, build: Build, stage: str, *, complete: bool = False, keep: Sequence[str] = (), count: int = 0, **more: Any
    ) -> None:
        """A stage that gives all dimensions anew."""
        segments, before = build.procedure.segments, build.procedure.dimensions
        dimensions = await self._ask(
            build, stage, derivation.dimensions_example(segments, before),
            lambda v: derivation.read_dimensions(v, segments, build.procedure.instruction, keep=keep, count=count),
            complete=complete, **more,
        )  # fmt: skip
        if dimensions is not None:
            build.keep(stage, dimensions=dimensions)

    async def _ask(
        self, build: Build, stage: str, example: str, read: Callable[[dict[str, Any]], DerivationReading[T]],
        caller: Caller | None = None, complete: bool = False, **more: Any,
    ) -> T | None:  # fmt: skip
        """Return what can be used of the best answer, None where nothing can; what cannot is noted as a failure.

        With `complete` an answer with faults is of no use. Raises BuildStopped where the model gives no answer.
        """
        procedure = build.procedure
        texts = (text for d in procedure.dimensions for text in (d.question, d.condition, d.script))
        values = {
            "instruction": procedure.instruction, "segments": procedure.segments, "dimensions": procedure.dimensions,
            "findings": (), "tag": fence(procedure.instruction, *texts, *more.get("findings", ())),
        } | more  # fmt: skip
        readings: list[DerivationReading[T]] = []

        def judged(value: dict[str, Any]) -> DerivationReading[T] | Problem:
            reading = read(value)
            if reading.value is not None:
                readings.append(reading)
            wrong = [*reading.faults, *reading.doubts]
            return derivation.problem(wrong) if wrong else reading

        answer = await derivation.ask_json(
            caller or self.builder, self.options.prompts, f"flex_{stage}", values, judged, sampling=self.options.sampling,
            example=example, sample=build.rounds,  # a round that mended nothing asks anew
        )  # fmt: skip
        self.step("stages")
        if isinstance(answer, DerivationReading):
            return answer.value
        best = min(reversed(readings), key=lambda reading: len(reading.faults), default=None)
        usable = best is not None and not (complete and best.faults) and not answer.failed
        if best is None or best.faults or not usable:
            kept = "left as they were: " if complete else ""
            build.failures.append(
                (stage, kept + (derivation.problem(best.faults).text if best and best.faults else answer.text))
            )
        if answer.failed:
            raise BuildStopped(stage)
        return best.value if best is not None and usable else None

    def score(self, done: Sequence[Build]) -> Outcome[list[Build]]:
        written: dict[str, str] = {}
        for build in done:
            place = f"{SEVERAL}/{build.procedure.id}/" if self.batch else ""
            if build.procedure.segments:
                failed = "".join(f"# failed at {stage}: {' '.join(why.split())}\n" for stage, why in build.failures)
                written[place + (FILE if build.complete else DRAFT)] = failed + as_yaml(build.procedure)
            if build.procedure.dimensions:
                written[place + DIAGRAM] = mermaid(build.procedure)
        incomplete = [build for build in done if not build.complete]
        notes = list(self.left_out)
        notes += [
            f"{build.procedure.id} {'stopped' if stage == build.stopped else 'failed'} at {stage}: {why}"
            for build in incomplete for stage, why in build.failures
        ]  # fmt: skip
        notes += check_notes(build.procedure for build in done)
        if any(build.procedure.segments for build in incomplete):
            notes.append(f"{DRAFT} holds all that was built; mended by hand, it goes on as {FILE}")
        return Outcome(
            list(done), title="FlexBench: dimensions", tables=_tables(done),
            charts=[tree(build.procedure) for build in done if build.procedure.dimensions],
            items={STAGES: [build.row() for build in done], **written}, lead=_LEAD, notes=notes, incomplete=len(incomplete),
        )  # fmt: skip


def _tables(done: Sequence[Build]) -> list[Table]:
    """What came of every instruction, and all dimensions."""
    about = "The share of the instruction's text that stands in no segment; headings and background may."
    columns = (
        Column("instruction", "instruction"), Column("segments", "segments", "count"),
        Column("uncovered", "not covered %", "number", about, digits=0), Column("dimensions", "dimensions", "count"),
        Column("branches", "branches", "count"), Column("rounds", "rounds", "count", "How often dimensions were mended."),
        Column("failed", "failed", "count", "What was left out because the model insisted on getting it wrong."),
        Column("result", "result"),
    )  # fmt: skip
    rows = [
        {
            "instruction": build.procedure.id, "segments": len(build.procedure.segments), "uncovered": build.uncovered,
            "dimensions": len(build.procedure.dimensions), "rounds": build.rounds, "failed": len(build.failures),
            "branches": sum(dimension.base is not None for dimension in build.procedure.dimensions),
            "result": "complete" if build.complete else f"stopped at {build.stopped}" if build.stopped else "draft",
        }
        for build in done
    ]  # fmt: skip
    fields = {"question": "prose", "condition": "prose", "base": "text", "exclusive": "text", "check": "prose"}
    dimensions = [
        {"instruction": build.procedure.id, "dimension": dimension.id, "segments": ", ".join(dimension.segments),
         **{name: getattr(dimension, name) or "" for name in fields}}
        for build in done for dimension in build.procedure.dimensions
    ]  # fmt: skip
    of_dimension = [
        Column("instruction", "instruction", minor=2), Column("dimension", ""),
        *(Column(name, name, "prose" if kind == "prose" else "text") for name, kind in fields.items()),
        Column("segments", "segments", minor=1),
    ]  # fmt: skip
    return [
        Table("instructions", columns, rows, "Instructions"),
        Table("dimensions", of_dimension, dimensions, "Dimensions", keys=2, printed=len(done) == 1),
    ]
