"""Instructions and the one checklist of each: options, reading, writing, and what checklists look like (section 3.1.1).

Every study takes its checklists from here, in one and the same words to who writes them: what one has asked stands in
the cache for all others. A row of `checklists.jsonl` is a row of data as `instances` reads it (id, prompt, system,
history, criteria ...), with how its checklist came about beside: people edit it, and give it back by `--checklists`, or
as `--data` of any command.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.data import instances, jsonl, row_files
from truebench_hf.data.checklist_rows import rows_of
from truebench_hf.data.judged import Case, as_answered, with_history
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.judging.checklists import USUAL, generate_checklist
from truebench_hf.metrics.binary import ratio
from truebench_hf.models.asking import CUT_OFF
from truebench_hf.options import columns, option, role
from truebench_hf.report.sections import Conversation, Conversations, exchanges
from truebench_hf.report.table import Column, Table, pairs
from truebench_hf.study.items import Items
from truebench_hf.study.options import DataOptions, PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Instance, Message, Response


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
    criteria_separator: str = option("", help="What parts criteria in a cell beside line breaks, e.g. ';'.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        logs = getattr(self, "logs", None)  # they hold instructions, too
        if not logs and (self.data is None) == (self.instruction is None):
            raise UserError("give either --data or --instruction")


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
        """The role of who writes checklists; "" where nobody does."""
        return "generator" if self.generator else self.WRITER


FILE = "checklists.jsonl"
PROMPTS = ("generate_checklist",)  # of who writes checklists
EDITABLE = {FILE: "checklists"}


@dataclass(frozen=True, slots=True)
class ListedChecklist:
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
class ChecklistItem:
    """An instruction: an instance of one turn, with the criteria that its row has; `known` is its checklist, if any.

    `responses` are those to it that are there already, by model, several samples or one.
    """

    instance: Instance
    known: ListedChecklist | None = None
    responses: Mapping[str, Sequence[Response]] = field(default_factory=dict)


def load_items(options: Any) -> Items[ChecklistItem]:
    """The instructions of `InstructionOptions`, with the checklists that `ChecklistOptions` (if it has them) know.

    Rows with several turns to be answered are left out. A folder is bound to the instructions, not to the checklists,
    which people edit. Raises UserError on data that cannot be used, and where `--checklists` has another prompt.
    """
    return items_from(options, rows_to_instances(options, load_records(options)))


def items_from(options: Any, candidates: Sequence[Instance]) -> Items[ChecklistItem]:
    """The same of instances that somebody has read already."""
    accepted = [instance for instance in candidates if len(instance.turns) == 1]
    left_out = [f"{i.id}: {len(i.turns)} turns to be answered" for i in candidates if len(i.turns) != 1]
    if not accepted:
        raise UserError(f"--data {options.data}: all rows have several turns; a checklist is for one instruction")
    known = known_checklists(options, accepted) if isinstance(options, ChecklistOptions) else {}
    return Items(
        [ChecklistItem(instance, known.get(instance.id)) for instance in accepted], lambda item: item.instance.id,
        lambda item: bare(item.instance), lambda item: (item.instance.language, item.instance.category),
        left_out=tuple(left_out),
    )  # fmt: skip


def rows_to_instances(options: InstructionOptions, rows: Iterable[Record], *, repeated: bool = False) -> list[Instance]:
    """An instance a row, in order, with `repeated` one for all that are alike. Raises UserError naming what is wrong."""
    named, records = columns(options.column), list(rows)
    if not options.criteria_separator:
        instances.warn_unsplit(records, named)
    return instances.of_rows(records, named, separator=options.criteria_separator, judged=False, repeated=repeated)


def load_records(options: InstructionOptions) -> Iterable[Record]:
    """The rows that the instructions stand in. Raises UserError as `row_files` does."""
    if options.data is None:
        return [Record("--instruction", {"prompt": options.instruction})]
    return map(_as_prompt, rows_of(options.data))


async def checklist_for(study: Study[Any, Any, Any, Any], item: ChecklistItem) -> ListedChecklist:
    """The checklist of an instruction: the known one, or one that the writer of the study's options writes.

    Written without a look at responses or at criteria that the data has. The calls count as the generator's.
    """
    writer = study.options.writer
    if item.known is not None:
        return item.known
    if not writer:
        problem = "there is none in the data or in --checklists, and no --generator"
        return ListedChecklist(item.instance, "", problem=problem)
    caller, instance = study.caller(writer), bare(item.instance)
    if writer != "generator":
        caller = caller.in_role("generator")  # under the limit of requests that it has as a judge, say
    before = with_history(instance, as_answered(instance, ()))
    case = Case(instance.turns[0].prompt, "", (), before, instance.context)
    written = await generate_checklist(caller, case, study.options.prompts)
    return ListedChecklist(
        with_criteria(instance, map(Criterion, written.questions)), "generator", caller.model.spec, written.analysis,
        written.duplicates, written.others, written.problem,
    )  # fmt: skip


def bare(instance: Instance) -> Instance:
    """The instruction without criteria."""
    return with_criteria(instance, ())


def with_criteria(instance: Instance, criteria: Iterable[Criterion]) -> Instance:
    """The instruction with these criteria in place of its own."""
    return replace(instance, turns=(replace(instance.turns[0], criteria=tuple(criteria)),))


def to_row(listed: ListedChecklist) -> dict[str, Any]:
    """A line of `checklists.jsonl`; what is empty is left out."""
    row = instances.as_row(listed.instance)
    turn: dict[str, Any] = row.pop("turns")[0]
    fields = ("source", "generator", "analysis", "duplicates", "others", "problem")
    return row | turn | {name: value for name in fields if (value := getattr(listed, name))}


def filed(options: Any, checklists: Iterable[ListedChecklist]) -> list[Any]:
    """The rows of `checklists.jsonl` to write: where this very command reads that file, with those not in work in place.

    These are the ones that a smaller --limit leaves out; people may have edited them.
    """
    rows, file = list(map(to_row, checklists)), Path(options.out) / FILE
    inputs = [Path(name) for name in (options.checklists, options.data) if name is not None]
    if not any(path.name == file.name and path.resolve() == file.resolve() for path in inputs):
        return rows
    mine = {row["id"]: row for row in rows}
    existing = [(str(row.get("id") or number), row) for number, (_, row) in enumerate(jsonl.read(file), 1)]
    return [mine.pop(name, row) for name, row in existing] + list(mine.values())


def read_checklists(path: str) -> dict[str, ListedChecklist]:
    """The checklists of a file of such rows, by id, those without a question left out. Raises UserError."""
    records = list(row_files.one_split(path, flag="--checklists"))
    by_id: dict[str, ListedChecklist] = {}
    for record, instance in zip(records, instances.of_rows(records, judged=False), strict=True):
        if len(instance.turns) == 1 and instance.turns[0].criteria:
            texts = (record.maybe(name) or "" for name in ("generator", "analysis"))
            dropped = (record.row.get(name) for name in ("duplicates", "others"))
            counts = (count if isinstance(count, int) else 0 for count in dropped)
            by_id[instance.id] = ListedChecklist(instance, "file", *texts, *counts)  # type: ignore[arg-type]
    return by_id


def known_checklists(options: ChecklistOptions, instances: Sequence[Instance]) -> dict[str, ListedChecklist]:
    """The checklists there are: of `--checklists`, and where it has none those of the data, if they count."""
    known = {i.id: ListedChecklist(i, "data") for i in instances if options.OWN and i.turns[0].criteria}
    if options.checklists is None:
        return known
    by_id = read_checklists(options.checklists)
    both = [(instance, by_id[instance.id]) for instance in instances if instance.id in by_id]
    if not both:
        raise UserError(f"--checklists {options.checklists}: is for no instruction of the data; rows go by their id")
    for instance, listed in both:
        texts = [(side.turns[0].prompt, side.system, side.history) for side in (instance, listed.instance)]
        if texts[0] != texts[1]:
            fault = f"id {instance.id} has another prompt than in the data; leave the row out"
            raise UserError(f"--checklists {options.checklists}: {fault}")
    # The instruction stays that of the data: of the file nothing but the checklist counts.
    return known | {i.id: replace(listed, instance=with_criteria(i, listed.criteria)) for i, listed in both}


def _as_prompt(record: Record) -> Record:
    """A row of the `checklists` form (checklists of several authors) as one with the questions of the chosen one."""
    row: Mapping[str, Any] = record.row
    if not isinstance(row.get("checklists"), list) or any(row.get(name) for name in ("criteria", "checklist")):
        return record
    checklists = [checklist for checklist in row["checklists"] if isinstance(checklist, dict)]
    chosen = [checklist for checklist in checklists if checklist.get("chosen") is True] or checklists or [{}]
    return replace(record, row={**row, "criteria": chosen[0].get("questions")})


_SOURCES = {"generator": "written by the generator", "data": "from the data", "file": "from --checklists"}
_MOST = 20  # rows that a page shows of what went wrong


def checklist_tables(listed: Sequence[ListedChecklist]) -> list[Table]:
    """Return how many checklists there are by whose they are, how long they are, and which instructions have none."""
    checklists = [checklist for checklist in listed if checklist.criteria]
    groups = {"all": checklists}
    for checklist in checklists:
        groups.setdefault(_SOURCES[checklist.source], []).append(checklist)
    low, high = USUAL
    rows = []
    for source, some in groups.items():
        sizes = [len(checklist.criteria) for checklist in some]
        rows.append({
            "source": source, "instructions": len({checklist.instance.id for checklist in some}), "checklists": len(sizes),
            "mean": ratio(sum(sizes), len(sizes)),
            "outside_usual": ratio(sum(not low <= size <= high for size in sizes), len(sizes)),
            "duplicates": sum(checklist.duplicates for checklist in some),
            "others": sum(checklist.others for checklist in some),
        })  # fmt: skip
    columns = (
        Column("source", "Checklists"), Column("instructions", "instructions", "count"),
        Column("checklists", "checklists", "count"),
        Column("mean", "questions, mean", "number", unit=""),
        Column("outside_usual", f"outside {low} to {high} %", "number", "More or fewer than usual (appendix G.1): never cut.",
               digits=1),
        Column("duplicates", "twice", "count", "Questions dropped that stood twice.", minor=1),
        Column("others", "no question", "count", "Lines dropped that were no questions.", minor=1),
    )  # fmt: skip
    tables = [Table("checklists", columns, rows, "Checklists")]
    if checklists:
        tables.append(lengths_table({"all": Counter(len(checklist.criteria) for checklist in checklists)}))
    without = [(checklist.instance.id, checklist.problem) for checklist in listed if not checklist.criteria]
    note = "Write their criteria into checklists.jsonl, and give it by --checklists."
    if any(problem == CUT_OFF for _, problem in without):
        note += " Where an answer was cut off, the option max_tokens of its model (--generator-arg, --model-arg) allows more, in a folder of its own."
    return [*tables, *reasons("without_checklist", "Instructions without a checklist", without, note)]


def lengths_table(by_author: Mapping[str, Mapping[int, int]], title: str = "Questions a checklist") -> Table:
    """Return how many checklists of each author have how many questions (appendix B.1, Figure 5)."""
    rows = [
        {"author": author, "questions": size, "checklists": count, "share": ratio(count, sum(sizes.values()))}
        for author, sizes in by_author.items() for size, count in sorted(sizes.items())
    ]  # fmt: skip
    columns = (
        Column("author", "Checklists by"), Column("questions", "questions", "count"),
        Column("checklists", "checklists", "count"), Column("share", "%", "number", digits=1),
    )  # fmt: skip
    return Table("lengths", columns, rows, title, keys=2, printed=len(by_author) > 1)


def reasons(name: str, title: str, rows: Sequence[tuple[str, ...]], note: str = "") -> list[Table]:
    """Return what could not be scored, and why, as rows of (id, why) or (id, model, why); no table without any.

    Of many a page shows the first.
    """
    columns = [Column("id", "id"), *([Column("model", "model")] if rows and len(rows[0]) > 2 else [])]
    columns.append(Column("reason", "why", "prose"))
    records = [dict(zip((column.name for column in columns), row, strict=True)) for row in rows]
    table = Table(name, columns, records, f"{title}: {len(rows):,}", note)
    if len(rows) <= _MOST:
        return [table] if rows else []
    first = replace(table, name="", rows=records[:_MOST], note=f"The first {_MOST}; scores.json has all. {note}")
    return [replace(table, on_page=False), first]


class GenerateChecklistOptions(InstructionOptions, ChecklistOptions):
    """For which instructions, and who writes. Criteria that the data has are neither shown nor kept."""

    WRITER: ClassVar[str] = "model"
    OWN: ClassVar[bool] = False

    model: str | None = role(None, help="Who writes the checklists: smollm2, hf:, vllm:, openai: or scripted: spec.")
    generator: str | None = role(None, help="Another name of --model.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if (self.model is None) == (self.generator is None):
            raise UserError("name who writes the checklists: --model SPEC")


class GenerateChecklists(Study[GenerateChecklistOptions, ChecklistItem, ListedChecklist, list[dict[str, Any]]]):
    """`value` is the rows of `checklists.jsonl`."""

    kind, unit, prompts = "checklists", "checklists", PROMPTS
    files, editable = (FILE,), EDITABLE

    def items(self) -> Items[ChecklistItem]:
        return load_items(self.options)

    async def work(self, item: ChecklistItem) -> ListedChecklist:
        return await checklist_for(self, item)

    def score(self, done: Sequence[ListedChecklist]) -> Outcome[list[dict[str, Any]]]:
        rows, only = filed(self.options, done), done[0].criteria if len(done) == 1 else ()
        questions = [(str(number), criterion.text) for number, criterion in enumerate(only, 1)]
        tables = [*([pairs("Questions", questions)] if questions else []), *checklist_tables(done)]
        return Outcome(
            rows, title="Checklists", tables=tables, items={FILE: rows}, incomplete=sum(not row.criteria for row in done),
            conversations=Conversations("Instructions and their checklists", tuple(map(unanswered, done))),
        )  # fmt: skip


def unanswered(listed: ListedChecklist) -> Conversation:
    """The instruction with its questions, to which there are no answers yet."""
    instance = listed.instance
    messages = with_history(instance, (*as_answered(instance, ()), Message("user", instance.turns[0].prompt)))
    *turns, last = exchanges(messages, ())
    error = "" if listed.criteria else f"no checklist: {listed.problem}"
    turns.append(replace(last, verdicts=listed.criteria))
    return Conversation(instance.id, tuple(turns), "", error, language=instance.language)
