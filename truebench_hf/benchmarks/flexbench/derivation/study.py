"""`truebench flex build`: an instruction, or a file of them, taken apart into dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.derivation.pipeline import PROMPTS, Build, Pipeline
from truebench_hf.benchmarks.flexbench.procedure import (
    FILE,
    SEVERAL,
    Procedure,
    as_yaml,
    built_in,
    folder_name,
    holds_set,
    load_all,
    to_check,
)
from truebench_hf.benchmarks.flexbench.sources import BUILT_IN, instruction_of, of_source
from truebench_hf.data import row_files, sources
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.report.sections import Grid, Section
from truebench_hf.study.items import Items, whole
from truebench_hf.study.options import FolderOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

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
        return Items(every, lambda one: one.id, whole, size=lambda one: len(one.instruction), drawn=False)

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
        try:
            text = path.read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read: {error}; save it as UTF-8 text") from error
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
