"""One instruction taken apart: its segments and dimensions, in YAML that people read, edit and feed back.

id: travel-desk
instruction: |
  ...
segments:
- {id: s1, text: an exact excerpt of the instruction}
dimensions:
- id: d1
  question: Does the assistant ask whether a hotel is needed?
  segments: [s1]
- id: d2
  question: When a hotel is needed, does the assistant name the limit?
  segments: [s1]
  condition: A hotel is needed
  base: d1
  exclusive: hotel
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.judged import as_answered, with_history
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Record, Text, user_error
from truebench_hf.errors import UserError, refused
from truebench_hf.metrics.pass_rate import UNGATED, circle
from truebench_hf.types import Message

FILE, SEVERAL = "procedure.yaml", "procedures"
ROWS = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
BUILT_IN = "flexbench"
_FORM = ConfigDict(extra="forbid", strict=True)  # how a file is read: no other fields, no number for a text


@dataclass(frozen=True)
class Segment:
    """A requirement of the instruction: an excerpt in its very words."""

    __pydantic_config__ = _FORM

    id: Text
    text: Text


@dataclass(frozen=True)
class Dimension:
    """A question on a conversation, YES = met, and when it applies (paper 001, section 3.1).

    `base` is the base action it is a branch of, b(r): another dimension's id, "" in a group that has none, None for a
    dimension that is no branch. Of those with one `exclusive` name at most one applies to a conversation. `script` is
    a wording that the instruction recommends. `check` says why people should look at it, until they take it out.
    """

    __pydantic_config__ = _FORM

    id: Text
    question: Text
    segments: tuple[str, ...] = ()
    condition: str = ""
    base: str | None = None
    exclusive: str = ""
    script: str = ""
    check: str = ""


@dataclass(frozen=True)
class Procedure:
    """An instruction and its dimensions. `opening` is the assistant's first message, "" where the user begins."""

    __pydantic_config__ = _FORM

    id: Text
    instruction: Text
    dimensions: tuple[Dimension, ...] = ()
    segments: tuple[Segment, ...] = ()
    title: str = ""
    language: str = ""
    opening: str = ""

    @property
    def structure(self) -> dict[str, str | None]:
        """What each dimension depends on, as `flexeval` takes it."""
        return {dimension.id: dimension.base for dimension in self.dimensions}

    @property
    def questions(self) -> list[str]:
        """The questions of its dimensions."""
        return [dimension.question for dimension in self.dimensions]


def asking(name: str, instruction: str, questions: Iterable[str]) -> Procedure:
    """The procedure of an instruction that somebody else took apart, into questions alone."""
    return Procedure(name, instruction, tuple(Dimension(f"d{n}", text) for n, text in enumerate(questions, 1)))


def to_check(procedures: Iterable[Procedure]) -> list[str]:
    """How many dimensions are marked to be looked at; nothing where none is."""
    marked = [f"{procedure.id} {entry.id}" for procedure in procedures for entry in procedure.dimensions if entry.check]
    if not marked:
        return []
    return [f"Dimensions marked `check:` with the reason, to be looked at: {len(marked)} (the first: {marked[0]})."]


def read_procedure(path: Path) -> Procedure:
    """The procedure of a YAML file. Raises UserError with the place and what is wrong there."""
    import yaml

    text, rows = read_text(path), "null"
    try:
        with refused(f"{path}: cannot be read"):
            rows = json.dumps(yaml.safe_load(text), default=str)
        procedure = TypeAdapter(Procedure).validate_json(rows)
    except ValidationError as error:
        raise user_error(error, Record(str(path), json.loads(rows))) from error
    for fault in _faults(procedure):
        raise UserError(f"{path}: {fault}")
    return procedure


def _faults(procedure: Procedure) -> Iterator[str]:
    """Yield what the types of fields do not tell: ids that stand twice, and names of what is not there."""
    segments, dimensions = (Counter(part.id for part in parts) for parts in (procedure.segments, procedure.dimensions))
    for kind, names in (("segment", segments), ("dimension", dimensions)):
        yield from (f"{kind} {name}: stands twice" for name, count in names.items() if count > 1)
    for segment in procedure.segments:
        if segment.text not in procedure.instruction:
            yield f"segment {segment.id}: is no excerpt of the instruction"
    if not dimensions:
        yield "dimensions: there are none"
    for dimension in procedure.dimensions:
        for name in dimension.segments:
            if name not in segments:
                yield f"dimension {dimension.id}: cites segment {name}, which is not there"
        if dimension.base and dimension.base not in dimensions:
            yield f"dimension {dimension.id}: depends on {dimension.base}, which is not there"
    if ring := circle(procedure.structure):
        yield f"dimensions {', '.join(ring)}: depend on each other in a circle"


def as_yaml(procedure: Procedure) -> str:
    """The YAML that `read_procedure` reads back."""
    import yaml

    def entry(part: Any, *names: str) -> dict[str, Any]:
        """Fields that say nothing are left out; None and "" differ only for `base`."""
        fields = {name: getattr(part, name) for name in names or part.__dataclass_fields__}
        telling = {name: value for name, value in fields.items() if value or (name == "base" and value is not None)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in telling.items()}

    content = entry(procedure, "id", "title", "language", "opening") | {
        "instruction": procedure.instruction,
        "segments": list(map(entry, procedure.segments)),
        "dimensions": list(map(entry, procedure.dimensions)),
    }

    class Readable(yaml.SafeDumper):  # type: ignore[misc]
        """Texts of several lines stand as they are, behind a bar; quoted they would have every line break doubled."""

    def text(dumper: Any, value: str) -> Any:
        # Some line ends of Unicode are written as they are, and would be read back as blanks.
        style = '"' if re.search("[\r\x85\u2028\u2029\ufeff]", value) else "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Readable.add_representer(str, text)
    return str(yaml.dump(content, Dumper=Readable, allow_unicode=True, sort_keys=False, width=120))


def of_rows(instructions: Iterable[Mapping[str, Any]], dimensions: Sequence[Mapping[str, Any]]) -> list[Procedure]:
    """Procedures from rows of the data set `flexbench`: of a precondition group the one without is the base action."""
    procedures = []
    for instruction in instructions:
        rows = [row for row in dimensions if row["instruction_id"] == instruction["id"]]
        bases = {row["precondition_group"]: row["id"] for row in reversed(rows) if row["precondition"] is None}
        tied = []
        for row in rows:
            base = None if row["precondition"] is None else bases.get(row["precondition_group"], UNGATED)
            tied.append(Dimension(row["id"], row["question"], condition=row["precondition"] or "", base=base))
        title, language = instruction.get("title") or "", instruction.get("language") or ""
        procedures.append(Procedure(instruction["id"], instruction["instruction"], tuple(tied), (), title, language))
    return procedures


def built_in() -> dict[str, Procedure]:
    """The nine instructions of `samples/` with their 72 dimensions, by id."""
    folder = files("truebench_hf.benchmarks.flexbench") / "samples"
    instructions, dimensions = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("instructions", "dimensions")
    )
    return {procedure.id: procedure for procedure in of_rows(instructions, dimensions)}


def load(place: str) -> Procedure:
    """A YAML file, a folder that holds `procedure.yaml`, or the id of a built-in instruction. Raises UserError."""
    path = Path(place) / FILE if Path(place).is_dir() else Path(place)
    if path.is_file():
        return read_procedure(path)
    if place in (ours := built_in()):
        return ours[place]
    raise UserError(
        f"{place}: holds no {FILE}; `truebench flex build INSTRUCTION.md --out {place}` makes one, or give a YAML file "
        f"or a built-in instruction ({', '.join(ours)})"
    )


def load_all(place: str) -> list[Procedure]:
    """As `load`, and every procedure of the folder of a batch, or of the data set, built in or built. Raises UserError."""
    folder = Path(place).expanduser()
    if catalogue.built(place, BUILT_IN):
        return list(built_in().values())
    if holds_set(folder):
        instructions, dimensions = (
            [record.row for record in row_files.one_split(str(folder / "data" / name))]
            for name in ("instructions", "dimensions")
        )
        return of_rows(instructions, dimensions)
    if (folder / FILE).is_file() or not (batch := sorted(folder.glob(f"{SEVERAL}/*/{FILE}"))):
        return [load(place)]
    return [read_procedure(file) for file in batch]


def holds_set(folder: Path) -> bool:
    """Whether a folder is the data set flexbench, as `truebench data build` writes it."""
    return (folder / "data" / "instructions").is_dir()


def holds_procedures(place: str) -> bool:
    """Whether `load_all` reads procedures there."""
    path = Path(place)
    named = catalogue.built(place, BUILT_IN) or place in built_in() or path.suffix in (".yaml", ".yml")
    return named or (path / FILE).is_file() or holds_set(path) or any(path.glob(f"{SEVERAL}/*/{FILE}"))


def folder_name(name: str) -> str:
    """An id that can name a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "instruction"


def instructions(source: str) -> tuple[list[Procedure], list[str]]:
    """The instructions of a text file, of rows, of a source, or built-in ones; what was left out, in words.

    Raises UserError.
    """
    path, left_out = Path(source), list[str]()
    if path.is_file() and path.suffix.lower() in ROWS:
        found = []
        for number, record in enumerate(row_files.records(path), 1):
            name = record.id("id") if record.row.get("id") is not None else str(number)
            facts = [record.maybe(key) or "" for key in ("title", "language", "opening")]
            found.append(Procedure(folder_name(name), _instruction(record), (), (), *facts))
    elif path.is_file():
        text = read_text(path).strip()
        if not text:
            raise UserError(f"{path}: is empty; write the instruction into it")
        found = [Procedure(folder_name(path.stem), text)]
    elif holds_procedures(source):
        found = [replace(procedure, dimensions=(), segments=()) for procedure in load_all(source)]
    elif sources.is_source(source):
        decompositions, left_out = of_source(source)
        found = [Procedure(folder_name(row.id), row.instruction) for row in decompositions]
    else:
        raise UserError(
            f"{source}: no such file; give a text file, rows with instruction, SOURCE:PATH, {BUILT_IN}, or one of "
            f"{', '.join(built_in())}"
        )
    return _distinct(found, source), left_out


def decompositions(source: str) -> tuple[list[Procedure], list[str]]:
    """What people took apart: a source, procedures, or rows with questions; what was left out, in words.

    Raises UserError.
    """
    left_out: list[str] = []
    if sources.is_source(source):
        found, left_out = of_source(source)
    elif holds_procedures(source):
        found = load_all(source)
    else:
        records = row_files.one_split(source, (BUILT_IN, "SOURCE:PATH"), "--human")
        rows = [(_of_row(record, str(number)), record.row.get("subset")) for number, record in enumerate(records, 1)]
        found, left_out = _hard_set(rows)
    return _distinct(found, source), left_out


def procedures_of(places: Sequence[str]) -> list[Procedure]:
    """The procedures of folders that `flex build` wrote, of YAML files, or built-in ones. Raises UserError."""
    return _distinct([procedure for place in places for procedure in load_all(place)], ", ".join(places))


def _distinct(procedures: list[Procedure], where: str) -> list[Procedure]:
    if not procedures:
        raise UserError(f"{where}: holds no instructions")
    (name, count), *_ = Counter(procedure.id for procedure in procedures).most_common(1)
    if count > 1:
        raise UserError(f"{where}: instruction {name} stands twice; name each once")
    return procedures


_HARD = "Hard_set"  # of InFoBench: what the paper compares with
# StructFlowBench's questions on how a turn follows from others name turns that no instruction names.
_RELATIONS = ("follow-up", "refinement", "expansion", "summary", "recall")


def of_source(source: str) -> tuple[list[Procedure], list[str]]:
    """The instructions of `SOURCE:PATH`, a benchmark with questions by people (see `truebench_hf.data.sources`); what was
    left out, in words."""
    kind, _, path = source.partition(":")
    items = sources.read(kind, path)
    rows: dict[str, tuple[Procedure, object]] = {}
    relations = bare = 0
    for item in items:
        questions = [r.text for r in item.rubrics if r.hint not in _RELATIONS or kind != "structflowbench"]
        relations += len(item.rubrics) - len(questions)
        bare += not questions
        if questions:  # of several responses to one instruction the first tells all
            procedure = asking(item.instruction_id, _joined(item.messages), questions)
            rows.setdefault(procedure.id, (procedure, item.facts.get("subset")))
    chosen, left_out = _hard_set(list(rows.values()))
    if relations:
        left_out.append(
            f"left out: {relations} questions on how a turn follows from others, which no instruction tells"
        )
    if bare:
        left_out.append(f"left out: {bare} instructions without any (other) question")
    return chosen, [*items.left_out.reasons, *left_out]


def _instruction(record: Record) -> str:
    """The instruction of a row; InFoBench's rows have what it is about beside it, as `input`. Raises UserError."""
    context = record.row.get("input")
    return record.text("instruction") + (f"\n\n{context}" if isinstance(context, str) and context.strip() else "")


def _hard_set(rows: Sequence[tuple[Procedure, object]]) -> tuple[list[Procedure], list[str]]:
    """Of InFoBench's rows, each with its subset, the hard set; all where no row says that it is of it."""
    hard = [procedure for procedure, subset in rows if subset == _HARD]
    if not hard or len(hard) == len(rows):
        return [procedure for procedure, _ in rows], []
    return hard, [f"left out: {len(rows) - len(hard)} instructions that are not of {_HARD}"]


def _joined(messages: Sequence[Message]) -> str:
    """A conversation as one text; a message alone stands for itself."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


def _of_row(record: Record, number: str) -> Procedure:
    """A row in any of the common forms."""
    row = dict(record.row)
    for theirs, ours in (("instruction", "prompt"), ("questions", "criteria"), ("decomposed_questions", "criteria")):
        if row.get(theirs) is not None:
            if row.get(ours):
                raise record.wrong(theirs, f"stands beside {ours!r}, which means the same; leave out one")
            row[ours] = _instruction(record) if theirs == "instruction" else row.pop(theirs)
    if "instruction" in row:
        row.pop("input", None)  # which is part of the prompt now
    instance = instances.of_row(Record(record.where, row, record.number), number)
    if len(instance.turns) != 1:
        raise UserError(f"{record.where}: has {len(instance.turns)} turns; give a row for each instruction")
    if not instance.turns[0].criteria:
        raise UserError(f"{record.where}: has no questions; give them as 'questions' or 'criteria'")
    *before, last = with_history(instance, as_answered(instance, ("",)))[:-1]
    prompt = f"{instance.context}\n\n{last.content}" if instance.context else last.content
    questions = [criterion.text for criterion in instance.turns[0].criteria]
    return asking(instance.id, _joined((*before, Message("user", prompt))), questions)
