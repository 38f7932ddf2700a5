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
BUILT_IN, _YAML = "flexbench", (".yaml", ".yml")
_QUESTIONS = ("questions", "decomposed_questions", "criteria")
_HARD = "Hard_set"  # of InFoBench: what the paper compares with
# StructFlowBench's questions on how a turn follows from others name turns that no instruction names.
_RELATIONS = ("follow-up", "refinement", "expansion", "summary", "recall")
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


def from_questions(name: str, instruction: str, questions: Iterable[str]) -> Procedure:
    """The procedure of an instruction that somebody else took apart, into questions alone."""
    return Procedure(name, instruction, tuple(Dimension(f"d{n}", text) for n, text in enumerate(questions, 1)))


def check_notes(procedures: Iterable[Procedure]) -> list[str]:
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
    """Return the YAML that `read_procedure` reads back; what says nothing is left out."""
    import yaml

    fields = TypeAdapter(Procedure).dump_python(procedure, mode="json", exclude_defaults=True)
    order = ("id", "title", "language", "opening", "instruction", "segments", "dimensions")

    class Readable(yaml.SafeDumper):  # type: ignore[misc]
        """Texts of several lines stand as they are, behind a bar; quoted they would have every line break doubled."""

    def text(dumper: Any, value: str) -> Any:
        # Some line ends of Unicode are written as they are, and would be read back as blanks.
        style = '"' if re.search("[\r\x85\u2028\u2029\ufeff]", value) else "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Readable.add_representer(str, text)
    content = {name: fields[name] for name in order if name in fields}
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
    batch = [] if (folder / FILE).is_file() else sorted(folder.glob(f"{SEVERAL}/*/{FILE}"))
    return [read_procedure(file) for file in batch] or [load(place)]


def holds_set(folder: Path) -> bool:
    """Whether a folder is the data set flexbench, as `truebench data build` writes it."""
    return (folder / "data" / "instructions").is_dir()


def load_procedures(places: Sequence[str]) -> list[Procedure]:
    """The procedures of folders that `flex build` wrote, of YAML files, or built-in ones. Raises UserError."""
    return _distinct([procedure for place in places for procedure in load_all(place)], ", ".join(places))


def folder_name(name: str) -> str:
    """An id that can name a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "instruction"


def read_instructions(source: str) -> tuple[list[Procedure], list[str]]:
    """The instructions of a text file, or of anything that `read_decompositions` reads; what was left out, in words.

    Raises UserError.
    """
    path = Path(source)
    if path.is_file() and path.suffix.lower() not in (*ROWS, *_YAML):
        text = read_text(path).strip()
        if not text:
            raise UserError(f"{path}: is empty; write the instruction into it")
        return [Procedure(folder_name(path.stem), text)], []
    procedures, left_out = read_decompositions(source, "INSTRUCTION", judged=False)
    return [replace(p, id=folder_name(p.id), dimensions=(), segments=()) for p in procedures], left_out


def read_decompositions(
    source: str, flag: str = "--human", *, judged: bool = True
) -> tuple[list[Procedure], list[str]]:
    """What people took apart: a benchmark as SOURCE:PATH, procedures, or rows with an instruction and, where something is
    to be `judged` by them, questions; what was left out, in words. Of InFoBench's rows, which say their subset, the hard
    set.

    Raises UserError.
    """
    if sources.is_source(source):
        rows, left_out = _of_source(source)
    elif _holds_procedures(source):
        return _distinct(load_all(source), source), []
    else:
        others = ("SOURCE:PATH",) if judged else ("a text file", *built_in(), "SOURCE:PATH")
        records = list(row_files.one_split(source, (BUILT_IN, *others), flag))
        rows, left_out = _of_records(records, judged), []
    if hard := [procedure for procedure, subset in rows if subset == _HARD]:
        if len(hard) < len(rows):
            left_out.insert(0, f"left out: {len(rows) - len(hard)} instructions that are not of {_HARD}")
        return _distinct(hard, source), left_out
    return _distinct([procedure for procedure, _ in rows], source), left_out


def _holds_procedures(place: str) -> bool:
    path = Path(place)
    inside = (path / FILE).is_file() or holds_set(path) or any(path.glob(f"{SEVERAL}/*/{FILE}"))
    return inside or path.suffix in _YAML or place in built_in() or catalogue.built(place, BUILT_IN)


def _distinct(procedures: list[Procedure], where: str) -> list[Procedure]:
    if not procedures:
        raise UserError(f"{where}: holds no instructions")
    (name, count), *_ = Counter(procedure.id for procedure in procedures).most_common(1)
    if count > 1:
        raise UserError(f"{where}: instruction {name} stands twice; name each once")
    return procedures


def _of_source(source: str) -> tuple[list[tuple[Procedure, object]], list[str]]:
    """The instructions of a benchmark with questions by people (see `truebench_hf.data.sources`), each with its subset."""
    kind, _, path = source.partition(":")
    items = sources.read(kind, path)
    rows: dict[str, tuple[Procedure, object]] = {}
    relations = bare = 0
    for item in items:
        questions = [r.text for r in item.rubrics if r.hint not in _RELATIONS or kind != "structflowbench"]
        relations += len(item.rubrics) - len(questions)
        bare += not questions
        if questions:  # of several responses to one instruction the first tells all
            procedure = from_questions(item.instruction_id, _joined(item.messages), questions)
            rows.setdefault(procedure.id, (procedure, item.facts.get("subset")))
    counts = {
        "questions on how a turn follows from others, which no instruction tells": relations,
        "instructions without any (other) question": bare,
    }
    lines = [f"left out: {count} {what}" for what, count in counts.items() if count]
    return list(rows.values()), [*items.left_out.reasons, *lines]


def _of_records(records: Sequence[Record], judged: bool) -> list[tuple[Procedure, object]]:
    """The instructions of rows in any of the forms of `data.instances`, each with its subset."""
    head = instances.headers(records, {})
    rows: list[tuple[Procedure, object]] = []
    for number, record in enumerate(records, 1):
        row = instances.under_headers(record.row, head)
        named = [name for name in _QUESTIONS if row.get(name)]
        if len(named) > 1:
            raise record.wrong(named[0], f"stands beside {named[1]!r}, which means the same; leave out one")
        row |= {"criteria": row.pop(named[0])} if named else {}
        instance = instances.of_row(replace(record, row=row), str(number))
        if len(instance.turns) != 1:
            raise UserError(f"{record.where}: has {len(instance.turns)} turns; give a row for each instruction")
        if judged and not instance.turns[0].criteria:
            raise UserError(f"{record.where}: has no questions; give them as 'questions' or 'criteria'")
        *before, last = with_history(instance, as_answered(instance, ("",)))[:-1]
        prompt = f"{instance.context}\n\n{last.content}" if instance.context else last.content
        questions = [criterion.text for criterion in instance.turns[0].criteria]
        procedure = from_questions(instance.id, _joined((*before, Message("user", prompt))), questions)
        facts: dict[str, Any] = {key: record.maybe(key) or "" for key in ("title", "language", "opening")}
        rows.append((replace(procedure, **facts), record.row.get("subset")))
    return rows


def _joined(messages: Sequence[Message]) -> str:
    """A conversation as one text; a message alone stands for itself."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)
