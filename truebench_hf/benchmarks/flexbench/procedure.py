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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from truebench_hf.data import row_files
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Record, user_error
from truebench_hf.errors import UserError, refused
from truebench_hf.metrics.pass_rate import UNGATED, circle

FILE, SEVERAL = "procedure.yaml", "procedures"
_FORM = ConfigDict(extra="forbid", strict=True)  # how a file is read: no other fields, no number for a text


@dataclass(frozen=True)
class Segment:
    """A requirement of the instruction: an excerpt in its very words."""

    __pydantic_config__ = _FORM

    id: str
    text: str


@dataclass(frozen=True)
class Dimension:
    """A question on a conversation, YES = met, and when it applies (paper 001, section 3.1).

    `base` is the base action it is a branch of, b(r): another dimension's id, "" in a group that has none, None for a
    dimension that is no branch. Of those with one `exclusive` name at most one applies to a conversation. `script` is
    a wording that the instruction recommends. `check` says why people should look at it, until they take it out.
    """

    __pydantic_config__ = _FORM

    id: str
    question: str
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

    id: str
    instruction: str
    dimensions: tuple[Dimension, ...]
    segments: tuple[Segment, ...] = ()
    title: str = ""
    language: str = ""
    opening: str = ""

    @property
    def structure(self) -> dict[str, str | None]:
        """What each dimension depends on, as `flexeval` takes it."""
        return {dimension.id: dimension.base for dimension in self.dimensions}


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
    if problems := check(procedure):
        raise UserError(f"{path}: {problems[0]}" + (f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""))
    return procedure


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


def check(procedure: Procedure) -> list[str]:
    """What is wrong with a procedure, a line each: ids, excerpts, and what dimensions depend on."""
    ids = {"segment": [segment.id for segment in procedure.segments], "dimension": [d.id for d in procedure.dimensions]}
    problems = [
        f"{kind} {name}: stands twice"
        for kind, names in ids.items()
        for number, name in enumerate(names)
        if name in names[:number]
    ]
    problems += [f"segment {segment.id}: is no excerpt of the instruction" for segment in procedure.segments
              if not segment.text.strip() or segment.text not in procedure.instruction]  # fmt: skip
    if not all(name.strip() for name in (procedure.id, *ids["segment"], *ids["dimension"])):
        problems.append("id: the instruction, a segment or a dimension has an empty one")
    if not procedure.instruction.strip():
        problems.append("instruction: is empty")
    if not procedure.dimensions:
        problems.append("dimensions: there are none")
    for dimension in procedure.dimensions:
        problems += [f"dimension {dimension.id}: cites segment {name}, which is not there" for name in dimension.segments
                  if name not in ids["segment"]]  # fmt: skip
        if not dimension.question.strip():
            problems.append(f"dimension {dimension.id}: has no question")
        if dimension.base and dimension.base not in ids["dimension"]:
            problems.append(f"dimension {dimension.id}: depends on {dimension.base}, which is not there")
    if around := circle(procedure.structure):
        problems.append(f"dimensions {', '.join(around)}: depend on each other in a circle")
    return problems


def of_rows(instruction: Mapping[str, Any], dimensions: Iterable[Mapping[str, Any]]) -> Procedure:
    """A procedure from rows of the data set `flexbench`: of a precondition group the one without is the base action."""
    rows = [row for row in dimensions if row["instruction_id"] == instruction["id"]]
    bases: dict[str, str] = {}
    for row in rows:
        if row["precondition"] is None:
            bases.setdefault(row["precondition_group"], row["id"])
    tied = []
    for row in rows:
        base = None if row["precondition"] is None else bases.get(row["precondition_group"], UNGATED)
        tied.append(Dimension(row["id"], row["question"], condition=row["precondition"] or "", base=base))
    title, language = instruction.get("title") or "", instruction.get("language") or ""
    return Procedure(instruction["id"], instruction["instruction"], tuple(tied), (), title, language)


def built_in() -> dict[str, Procedure]:
    """The nine instructions of `samples/` with their 72 dimensions, by id."""
    folder = files("truebench_hf.benchmarks.flexbench") / "samples"
    instructions, dimensions = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("instructions", "dimensions")
    )
    return {row["id"]: of_rows(row, dimensions) for row in instructions}


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
    """As `load`, and every procedure of the folder of a batch, or of the data set as it is built. Raises UserError."""
    folder = Path(place).expanduser()
    if holds_set(folder):
        rows = [list(row_files.one_split(str(folder / "data" / name))) for name in ("instructions", "dimensions")]
        instructions, dimensions = ([dict(record.row) for record in part] for part in rows)
        return [of_rows(row, dimensions) for row in instructions]
    if (folder / FILE).is_file() or not (batch := sorted(folder.glob(f"{SEVERAL}/*/{FILE}"))):
        return [load(place)]
    return [read_procedure(file) for file in batch]


def holds_set(folder: Path) -> bool:
    """Whether a folder is the data set flexbench, as `truebench data build` writes it."""
    return (folder / "data" / "instructions").is_dir()


def folder_name(name: str) -> str:
    """An id that can name a folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "instruction"
