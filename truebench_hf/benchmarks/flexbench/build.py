"""`truebench flex build`: an instruction, or a file of them, taken apart into dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from truebench_hf.benchmarks.flexbench.decomposition import BUILT_IN, instruction_of, of_source
from truebench_hf.benchmarks.flexbench.derivation import (
    FINDINGS_EXAMPLE,
    LOGIC_EXAMPLE,
    ask_json,
    dimensions_example,
    problem,
    read_dimensions,
    read_findings,
    read_logic,
    read_segments,
    segments_example,
)
from truebench_hf.benchmarks.flexbench.procedure import (
    FILE,
    SEVERAL,
    Dimension,
    Procedure,
    as_yaml,
    built_in,
    folder_name,
    holds_set,
    load_all,
    to_check,
)
from truebench_hf.data import row_files, sources
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import Problem
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.prompts import Prompts, fence
from truebench_hf.report.sections import Grid, Section
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

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
            segments_example(made.procedure.instruction),
            lambda v: read_segments(v, made.procedure.instruction),
        )
        made.uncovered = found.uncovered
        self._keep(made, "segments", segments=found.segments, opening=made.procedure.opening or found.opening)
        keep = [one.id for one in found.segments]
        await self._dimensions(made, "criteria", keep)
        await self._complete(made)
        cited = list(dict.fromkeys(name for one in made.procedure.dimensions for name in one.segments))
        await self._dimensions(made, "granularity", cited)
        await self._dimensions(made, "dependencies", cited, count=len(made.procedure.dimensions))
        tied = await self._ask(made, "logic", LOGIC_EXAMPLE, lambda v: read_logic(v, made.procedure.dimensions))
        self._keep(made, "logic", dimensions=tied)

    async def _complete(self, made: Build) -> None:
        """Verify, and mend what was found, until nothing is; at most `rounds` times."""
        while True:
            found = await self._ask(
                made,
                "verify",
                FINDINGS_EXAMPLE,
                lambda v: read_findings(v, made.procedure.dimensions),
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
            found = read_dimensions(value, was, made.procedure.instruction, keep=keep)
            if isinstance(found, Problem):
                return found
            if count and len(found) != count:
                return Problem(f"it has {len(found)} dimensions, not the {count} there are")
            if doubts := [f"{one.id} ({one.question[:80]!r}) {one.check}" for one in found if one.check]:
                doubtful.append(found)
                return problem(doubts)
            return found

        example = dimensions_example(was, made.procedure.dimensions)
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


DRAFT, STAGES = "draft.yaml", "stages.jsonl"
_ROWS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
_LEAD = "An instruction taken apart into questions on the conversations that an assistant has by it."


@dataclass(frozen=True, kw_only=True)
class BuildOptions(FolderOptions, PromptOptions):
    """What is taken apart, and by whom."""

    instruction: str = option(
        help="File with one instruction as text, or a built-in instruction; for a batch rows with instruction (and id, "
        "title, language, opening), SOURCE:PATH (infobench, structflowbench ...) or flexbench.",
        argument=True, panel="Data",
    )  # fmt: skip
    builder: str = role(help="Model that takes the instruction apart.")
    verifier: str | None = role(None, help="Model that verifies the dimensions; if not given, the builder.")
    rounds: int = option(
        5, binds=True, help="How often dimensions are mended before an instruction counts as incomplete."
    )
    temperature: float = option(0.0, binds=True, help="Sampling temperature; it rises a little from try to try.")
    max_tokens: int = option(8192, binds=True, help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "rounds", "max_tokens")
        if not 0 <= self.temperature <= 1:
            raise UserError(f"--temperature {self.temperature}: lies between 0 and 1")


class FlexBuild(Study[BuildOptions, Procedure, Build, list[Build]]):
    """Every instruction through all stages, as far as it comes."""

    kind, unit, prompts, boards = "flexbuild", "instructions", PROMPTS, False
    files = (STAGES, FILE, DRAFT, SEVERAL)
    editable = {FILE: "", DRAFT: ""}  # noqa: RUF012
    unforeseen = "How often dimensions have to be mended is not known: each round is two calls more."

    def items(self) -> Items[Procedure]:
        given = self.options.instruction
        every, self.left_out = instructions(given)
        self.batch = given not in built_in() and (not Path(given).is_file() or Path(given).suffix.lower() in _ROWS)
        self.known = {"instruction_sha256": digest(canonical([asdict(one) for one in every]))}
        return Items(every, lambda one: one.id, None, size=lambda one: len(one.instruction), drawn=False)

    def check(self) -> None:
        check_prompts(PROMPTS, self.options.prompts)

    def bars(self) -> dict[str, int]:
        return {"stages": 6 * len(self.chosen)}

    def setup(self) -> None:
        options = self.options
        builder = self.caller("builder")
        verifier = self.caller("verifier") if options.verifier else builder
        sampling = Sampling(options.temperature, max_tokens=options.max_tokens)
        self.pipeline = Pipeline(
            builder, verifier, options.prompts, sampling, options.rounds, lambda: self.step("stages")
        )

    async def work(self, one: Procedure) -> Build:
        return await self.pipeline.build(one)

    def score(self, done: Sequence[Build]) -> Outcome[list[Build]]:
        written: dict[str, str] = {}
        for made in done:
            if made.procedure.dimensions:
                name = FILE if made.complete else DRAFT
                written[f"{SEVERAL}/{made.procedure.id}/{name}" if self.batch else name] = as_yaml(made.procedure)
        rows = [_row(made) for made in done]
        stopped = [made for made in done if not made.complete]
        notes = list(self.left_out)
        notes += [f"{made.procedure.id} stopped at {made.stopped}: {made.reason}" for made in stopped]
        notes += to_check(made.procedure for made in done)
        if any(made.procedure.dimensions for made in stopped):
            notes.append(f"{DRAFT} holds what there was by then; mended by hand, it goes on as {FILE}")
        return Outcome(
            list(done), {STAGES: rows, **written}, "FlexBench: dimensions", _sections(done), lead=_LEAD, notes=notes,
            incomplete=len(stopped),
        )  # fmt: skip


def instructions(given: str) -> tuple[list[Procedure], list[str]]:
    """The instructions of a text file, of rows, of a source, or the built-in one of that name; what was left out, in
    words. Raises UserError."""
    path = Path(given)
    if path.is_file() and path.suffix.lower() in _ROWS:
        rows = [_of_row(record, str(number)) for number, record in enumerate(row_files.records(path), 1)]
        names = [one.id for one in rows]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"{path}: instruction {twice} stands twice; remove one")
        return rows, []
    if path.is_file():
        text = read_text(path).strip()
        if not text:
            raise UserError(f"{path}: is empty; write the instruction into it")
        return [Procedure(folder_name(path.stem), text, ())], []
    of_set = load_all(given) if holds_set(path) else list(built_in().values()) if given == BUILT_IN else []
    if of_set or given in (ours := built_in()):
        chosen = of_set or [ours[given]]
        return [Procedure(one.id, one.instruction, (), (), one.title, one.language) for one in chosen], []
    if sources.is_source(given):
        found, left_out = of_source(given)
        return [Procedure(folder_name(one.id), one.instruction, ()) for one in found], left_out
    raise UserError(
        f"{given}: no such file; give a text file, rows with instruction, SOURCE:PATH, {BUILT_IN}, or one of {', '.join(ours)}"
    )


def _of_row(record: Record, number: str) -> Procedure:
    name = record.id("id") if record.row.get("id") is not None else number
    title, language, opening = (record.maybe(key) or "" for key in ("title", "language", "opening"))
    return Procedure(folder_name(name), instruction_of(record), (), (), title, language, opening)


def _row(made: Build) -> dict[str, Any]:
    facts = {name: getattr(made, name) for name in ("complete", "stopped", "reason", "rounds", "uncovered")}
    return {"id": made.procedure.id, **facts, "stages": made.stages}


def _sections(done: Sequence[Build]) -> list[Section]:
    header = ("instruction", "segments", "not covered %", "dimensions", "branches", "rounds", "result")
    rows = tuple(
        (
            made.procedure.id, len(made.procedure.segments), f"{100 * made.uncovered:.0f}", len(made.procedure.dimensions),
            sum(one.base is not None for one in made.procedure.dimensions), made.rounds,
            "complete" if made.complete else f"stopped at {made.stopped}",
        )
        for made in done
    )  # fmt: skip
    note = "Not covered: the share of the instruction's text that stands in no segment; headings and background may."
    shown: list[Section] = [Grid("Instructions", header, rows, note=note)]
    for made in done:
        dimensions = made.procedure.dimensions
        columns = ["", "question", "condition", "base", "exclusive", "segments"]
        questions = [
            [one.id, one.question, one.condition, one.base or "", one.exclusive, ", ".join(one.segments)]
            for one in dimensions
        ]
        if any(one.check for one in dimensions):
            columns.append("check")
            questions = [[*row, one.check] for row, one in zip(questions, dimensions, strict=True)]
        if questions:
            title, rows_of = f"Dimensions: {made.procedure.id}", tuple(map(tuple, questions))
            shown.append(Grid(title, tuple(columns), rows_of, printed=len(done) == 1, prose=(1, 2, 6)))
    return shown
