"""Instructions and the one checklist of each: options, reading, writing, and what checklists look like (section 3.1.1).

A row of `checklists.jsonl` is a row of data as `instances` reads it (id, prompt, system, history, criteria ...), with
how its checklist came about beside: people edit it, and give it back by `--checklists`, or as `--data` of any command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.data import catalogue, instances, jsonl, row_files
from truebench_hf.data.case import Case, as_answered, with_history
from truebench_hf.data.catalogue import located
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import USUAL, generate_checklist
from truebench_hf.judging.judge import JUDGE_SAMPLING, JudgeSettings
from truebench_hf.models.asking import CUT_OFF
from truebench_hf.options import Binds, at_least_one, columns, option, role
from truebench_hf.report.sections import Bars, Grid, Section, fixed
from truebench_hf.study.items import Items
from truebench_hf.study.options import DataOptions, JudgingOptions, PromptOptions
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Instance, Message


@dataclass(frozen=True, kw_only=True)
class InstructionOptions(DataOptions):
    """Which instructions: those of some data, or a single one."""

    PANEL: ClassVar[str] = "Data"

    data: str | None = option(  # type: ignore[assignment]
        None, help="Instructions: checklists_mini, a path (JSONL, JSON, CSV, XLSX, Parquet, or a folder of them), or a "
        "Hub data set id; rows with prompt or messages."
    )  # fmt: skip
    instruction: str | None = option(None, help="One instruction, as a text, in place of --data.")
    column: tuple[str, ...] = option(
        (), help="OURS=THEIRS, e.g. prompt=question: another name of a column; may be repeated. Several of criteria are "
        "joined."
    )  # fmt: skip
    criteria_separator: str = option(
        "", help="What parts the criteria in a cell beside line breaks, e.g. ';'. Lists and JSON are left as they are."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.holds_instructions and (self.data is None) == (self.instruction is None):
            raise UserError("give either --data or --instruction")
        if self.instruction is not None and not self.instruction.strip():
            raise UserError("--instruction is blank; give a text")
        if (self.column or self.criteria_separator) and self.data is None and not self.holds_instructions:
            raise UserError("--column and --criteria-separator are about --data, and there is none")

    @property
    def holds_instructions(self) -> bool:
        """Whether another option says what the instructions are."""
        return False


@dataclass(frozen=True, kw_only=True)
class ChecklistOptions(PromptOptions):
    """Where checklists come from: a file, the data, or a model that writes them.

    `WRITER` is the role that writes them where no `--generator` is named. `OWN`: criteria that the data has are the
    checklist of their instruction; else they are kept apart, and say nothing to whoever writes one.
    """

    PANEL: ClassVar[str] = "Checklists"
    WRITER: ClassVar[str] = "judge"
    OWN: ClassVar[bool] = True

    generator: str | None = role(None, help="Who writes checklists where there are none; whoever judges if not given.")
    checklists: str | None = option(
        None, help="File of checklists for instructions of the data, matched by id: rows as in checklists.jsonl, edited "
        "or not. What it lacks is taken from the data, or written."
    )  # fmt: skip

    @property
    def writer(self) -> str:
        """The role of who writes checklists."""
        return "generator" if self.generator else self.WRITER


@dataclass(frozen=True, kw_only=True)
class QuestionJudgeOptions(JudgingOptions):
    """Who answers the questions of checklists, each in a call of its own (paper 004, section 3.1.2)."""

    PANEL: ClassVar[str] = "Judging"

    judge: str = role(help="Judge: answers every question on every response.", binds=Binds(late=True))
    votes: int = option(
        1, binds=Binds(late=True), help="Votes per question (majority, maj@k); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, binds=Binds(late=True), help="Sampling temperature of the judge.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "votes")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")
        if self.decides(self.judge) and (self.votes > 1 or self.judge_temperature):
            raise UserError(
                "--votes and --judge-temperature go with --judge-level rubric: a probability does not change from vote to "
                "vote"
            )

    @property
    def usual_rules(self) -> str:
        """Rules answer the questions that they can."""
        return "decide"

    @property
    def settings(self) -> JudgeSettings:
        """How the judge decides. Raises UserError on several votes without a temperature."""
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(self.judging(self.judge, "rubric"), votes=self.votes, sampling=sampling)


FILE = "checklists.jsonl"
EDITABLE = {FILE: "checklists"}
MINI = "checklists_mini"
SETS = (MINI, "truebench_mini", "truebench")  # data sets whose rows have prompts


@dataclass(frozen=True, slots=True)
class Listed:
    """An instruction with its checklist: the criteria of its one turn, none where `problem` says why.

    `source` is data, file or generator, `generator` who wrote it at first. Of the lines it wrote `duplicates` stood
    there twice and `others` were no questions: both were dropped.
    """

    instance: Instance
    source: str
    generator: str = ""
    analysis: str = ""
    duplicates: int = 0
    others: int = 0
    problem: str = ""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The questions, in order."""
        return self.instance.turns[0].criteria


@dataclass(frozen=True, slots=True)
class Item:
    """An instruction: an instance of one turn, with the criteria that its row has; `known` is its checklist, if any."""

    instance: Instance
    known: Listed | None = None


def load_items(options: Any) -> Items[Item]:
    """The instructions of `InstructionOptions`, with the checklists that `ChecklistOptions` (if it has them) know.

    Rows with several turns to be answered are left out. A folder is bound to the instructions, not to the checklists,
    which people edit. Raises UserError on data that cannot be used, and where `--checklists` has another prompt.
    """
    return items_from(options, rows_to_instances(options, load_records(options)))


def items_from(options: Any, candidates: Iterable[Instance]) -> Items[Item]:
    """The same of instances that somebody has read already."""
    accepted, left_out = [], []
    for instance in candidates:
        if len(instance.turns) == 1:
            accepted.append(instance)
        else:
            left_out.append(f"{instance.id}: {len(instance.turns)} turns to be answered")
    if not accepted:
        raise UserError(f"--data {options.data}: all rows have several turns; a checklist is for one instruction")
    known = known_checklists(options, accepted) if isinstance(options, ChecklistOptions) else {}
    return Items(
        [Item(instance, known.get(instance.id)) for instance in accepted], lambda item: item.instance.id,
        lambda item: bare(item.instance), lambda item: (item.instance.language, item.instance.category),
        left_out=tuple(left_out),
    )  # fmt: skip


def rows_to_instances(options: InstructionOptions, rows: Iterable[Record]) -> list[Instance]:
    """An instance a row, in order. Raises UserError naming the row and the field that is wrong."""
    named, records = columns(options.column), list(rows)
    if not options.criteria_separator:
        instances.warn_unsplit(records, named)
    return instances.of_rows(records, named, separator=options.criteria_separator, judged=False)


def load_records(options: InstructionOptions) -> Iterable[Record]:
    """The rows that the instructions stand in. Raises UserError as `row_files` does."""
    data = options.data
    if data is None:
        return [Record("--instruction", {"prompt": options.instruction})]
    mini = Path(__file__).with_name(f"{MINI}.jsonl")
    own = catalogue.built(data, MINI)
    return map(_as_prompt, row_files.records(mini) if own else row_files.one_split(located(data), SETS))


async def checklist_for(study: Study[Any, Any, Any, Any], item: Item) -> Listed:
    """The checklist of an instruction: the known one, or one that the writer of the study's options writes.

    Written without a look at responses or at criteria that the data has. The calls count as the generator's.
    """
    if item.known is not None:
        return item.known
    options: ChecklistOptions = study.options
    caller, instance = study.caller(options.writer), bare(item.instance)
    if options.writer != "generator":
        caller = caller.in_role("generator")  # under the limit of requests that it has as a judge, say
    before = with_history(instance, as_answered(instance, ()))
    case = Case(instance.turns[0].prompt, "", (), before, instance.context)
    generated = await generate_checklist(caller, case, options.prompts)
    with_questions = with_criteria(instance, map(Criterion, generated.questions))
    return Listed(
        with_questions,
        "generator",
        caller.model.spec,
        generated.analysis,
        generated.duplicates,
        generated.others,
        generated.problem,
    )


def bare(instance: Instance) -> Instance:
    """The instruction without criteria."""
    return with_criteria(instance, ())


def with_criteria(instance: Instance, criteria: Iterable[Criterion]) -> Instance:
    """The instruction with these criteria in place of its own."""
    return replace(instance, turns=(replace(instance.turns[0], criteria=tuple(criteria)),))


def to_row(listed: Listed) -> dict[str, Any]:
    """A line of `checklists.jsonl`; what is empty is left out."""
    instance, turn = listed.instance, listed.instance.turns[0]
    row: dict[str, Any] = {"id": instance.id}
    row |= {name: getattr(instance, name) for name in ("language", "category", "task", "system")}
    row["history"] = [asdict(message) for message in instance.history]
    row |= {"context": instance.context, "prompt": turn.prompt, "reference": turn.reference}
    row = {name: value for name, value in row.items() if value}
    row["criteria"] = [_criterion(criterion) for criterion in turn.criteria]
    fields = ("source", "generator", "analysis", "duplicates", "others", "problem")
    beside = {name: getattr(listed, name) for name in fields}
    return row | {name: value for name, value in beside.items() if value}


def with_others(options: Any, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The rows of `checklists.jsonl` to write: where this very command reads that file, with those not in work in place.

    These are the ones that a smaller --limit leaves out; people may have edited them.
    """
    file = Path(options.out) / FILE
    inputs = [Path(name) for name in (options.checklists, options.data) if name is not None]
    if not any(path.name == file.name and path.resolve() == file.resolve() for path in inputs):
        return list(rows)
    mine = {row["id"]: row for row in rows}
    existing = [(str(row.get("id") or number), row) for number, (_, row) in enumerate(jsonl.read(file), 1)]
    return [mine.pop(name, row) for name, row in existing] + list(mine.values())


def read_checklists(path: str) -> dict[str, Listed]:
    """The checklists of a file of such rows, by id, those without a question left out. Raises UserError."""
    records = list(row_files.one_split(path, flag="--checklists"))
    by_id: dict[str, Listed] = {}
    for record, instance in zip(records, instances.of_rows(records, judged=False), strict=True):
        if len(instance.turns) == 1 and instance.turns[0].criteria:
            texts = (record.maybe(name) or "" for name in ("generator", "analysis"))
            dropped = (record.row.get(name) for name in ("duplicates", "others"))
            counts = (count if isinstance(count, int) else 0 for count in dropped)
            by_id[instance.id] = Listed(instance, "file", *texts, *counts)  # type: ignore[arg-type]
    return by_id


def known_checklists(options: ChecklistOptions, instances: Iterable[Instance]) -> dict[str, Listed]:
    """The checklists there are: of `--checklists`, and where it has none those of the data, if they count."""
    instances = list(instances)
    known = {i.id: Listed(i, "data") for i in instances if options.OWN and i.turns[0].criteria}
    if options.checklists is None:
        return known
    filed = read_checklists(options.checklists)
    both = [(instance, filed[instance.id]) for instance in instances if instance.id in filed]
    if not both:
        raise UserError(
            f"--checklists {options.checklists}: has a checklist for no instruction of the data; rows are matched by id"
        )
    for instance, listed in both:
        if _instruction_parts(instance) != _instruction_parts(listed.instance):
            raise UserError(
                f"--checklists {options.checklists}: id {instance.id} has another prompt than in the data; a checklist is "
                "for one instruction: give the file that was made of this data, or leave the row out"
            )
    # The instruction stays that of the data: of the file nothing but the checklist counts.
    return known | {i.id: replace(listed, instance=with_criteria(i, listed.criteria)) for i, listed in both}


def _instruction_parts(instance: Instance) -> tuple[str, str | None, tuple[Message, ...]]:
    return instance.turns[0].prompt, instance.system, instance.history


def _as_prompt(record: Record) -> Record:
    """A row of the `checklists` form (checklists of several authors, see `form`) as one with the chosen one's questions."""
    row: Mapping[str, Any] = record.row
    if not isinstance(row.get("checklists"), list) or any(row.get(name) for name in ("criteria", "checklist")):
        return record
    checklists = [checklist for checklist in row["checklists"] if isinstance(checklist, dict)]
    chosen = next(
        (checklist for checklist in checklists if checklist.get("chosen") is True), checklists[0] if checklists else {}
    )
    return replace(record, row={**row, "criteria": chosen.get("questions")})


def _criterion(criterion: Criterion) -> str | dict[str, Any]:
    """A text, or an object where there is more to say than a text."""
    beside: dict[str, Any] = {"kind": criterion.kind, "condition": criterion.condition, "rule": criterion.rule}
    fields = {name: value for name, value in beside.items() if value is not None}
    fields |= {} if criterion.weight == 1 else {"weight": criterion.weight}
    return {"text": criterion.text, **fields} if fields else criterion.text


_SOURCES = {"generator": "written by the generator", "data": "from the data", "file": "from --checklists"}
_REASONS = 5


def summary(listed: Sequence[Listed]) -> dict[str, Any]:
    """Counts over checklists; `questions` maps a number of questions to how many checklists have it.

    `outside_usual` is the share (0..1) with fewer or more questions than usual (2 to 8, paper 004, appendix G.1): they are
    counted, never cut. It and `mean` are None without a checklist.
    """
    sizes = [len(checklist.criteria) for checklist in listed if checklist.criteria]
    outside = sum(not USUAL[0] <= size <= USUAL[1] for size in sizes)
    return {
        "instructions": len({checklist.instance.id for checklist in listed}),
        "checklists": len(sizes),
        "by_source": dict(Counter(checklist.source for checklist in listed if checklist.criteria)),
        "questions": {str(size): count for size, count in sorted(Counter(sizes).items())},
        "mean": sum(sizes) / len(sizes) if sizes else None,
        "usual": list(USUAL),
        "outside_usual": outside / len(sizes) if sizes else None,
        "duplicates_dropped": sum(checklist.duplicates for checklist in listed),
        "others_dropped": sum(checklist.others for checklist in listed),
        "without": {checklist.instance.id: checklist.problem for checklist in listed if not checklist.criteria},
    }


def sections(totals: Mapping[str, Any]) -> list[Section]:
    """The counts, how many questions checklists have, and why some instructions have none."""
    low, high = totals["usual"]
    share = "-" if totals["outside_usual"] is None else f"{100 * totals['outside_usual']:.1f}%"
    rows: list[tuple[str | int, ...]] = [
        ("instructions", totals["instructions"]),
        *((f"checklists {_SOURCES.get(source, source)}", count) for source, count in totals["by_source"].items()),
        ("without a checklist", len(totals["without"])),
        ("questions a checklist, mean", fixed(totals["mean"])),
        (f"checklists outside {low} to {high} questions", share),
        ("duplicate questions dropped", totals["duplicates_dropped"]),
        ("lines dropped that were no questions", totals["others_dropped"]),
    ]
    parts: list[Section] = [Grid("Checklists", (), tuple(rows))]
    if totals["questions"]:
        counts = ((f"{size} questions", count, str(count)) for size, count in totals["questions"].items())
        parts.append(Bars("Questions a checklist", tuple(counts)))
    if totals["without"]:
        first = tuple(totals["without"].items())[:_REASONS]
        more = len(totals["without"]) - len(first)
        note = f"And {more} more, in checklists.jsonl. " if more else ""
        note += "Write their criteria into checklists.jsonl, and give it by --checklists."
        if CUT_OFF in totals["without"].values():
            note += " Where an answer was cut off, the option max_tokens of its model (--generator-arg, --model-arg) allows more, in a folder of its own."
        parts.append(Grid("Instructions without a checklist", ("id", "why"), first, note=note, prose=(1,)))
    return parts
