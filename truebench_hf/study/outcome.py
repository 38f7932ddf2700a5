"""What comes of a study: what its call returns, its files, its report, and its place on a leaderboard."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Literal, TypeVar

from truebench_hf.engine.folder import RunFolder
from truebench_hf.report.page import page, page_template, run_facts
from truebench_hf.report.sections import Section
from truebench_hf.types import Score

V = TypeVar("V")


@dataclass(frozen=True)
class Outcome(Generic[V]):
    """`value` is what the Python call returns. `files` maps a name to its content: rows (or lines of text) for
    `.jsonl`, a JSON value for `.json`, a text or parts of one for all others. The rest is the report: `sections`, the
    `notes` above and the `facts` below them. `known` are further facts for `run.json`, `results` what there are results
    of after all, where that is less than the options say (see `Binds.grows`). `incomplete` items could not be scored;
    `failed` says in a line why a bar that the options set was not met.
    """

    value: V
    files: Mapping[str, Any]
    title: str
    sections: Sequence[Section] = ()
    lead: str = ""
    notes: Sequence[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    board: Board | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    incomplete: int = 0
    failed: str = ""


def prepare() -> None:
    """Load what scores and pages are made with: a good part of a second."""
    import scipy.special  # noqa: F401

    page_template()


def write(folder: RunFolder, outcome: Outcome[Any]) -> None:
    """Write the files and the report of an outcome, each whole or absent, and then that the study is finished."""
    for name, content in outcome.files.items():
        folder.write_lines(name, lines(name, content))
    if outcome.sections:
        made = folder.info["settings"] | {"versions": folder.info["versions"]}
        facts = {**outcome.facts, **run_facts(made, folder.usage()["total"])}
        whole = page(outcome.title, outcome.sections, lead=outcome.lead, notes=outcome.notes, facts=facts)
        folder.write_lines("report.html", whole)
    board = {"board": outcome.board.as_json()} if outcome.board else {}
    folder.finish(**board, **outcome.known)


def lines(name: str, content: Any) -> Iterable[str]:
    """What a file of this name is written from: lines of JSON, a JSON value, or texts as they are."""
    if name.endswith(".jsonl"):
        return map(_line, content)
    if name.endswith(".json"):
        return [json.dumps(content, ensure_ascii=False, indent=1) + "\n"]
    return [content] if isinstance(content, str) else content


def _line(row: Any) -> str:
    return row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) + "\n"


COST = "Cost"  # the group of columns that tell what was spent: no scores, so exports leave them out
LONGEST = 500  # characters of a name, a title or a fact, and rows; of columns half as many


@dataclass(frozen=True)
class Column:
    """A score's column. Columns of one `group` are shown and drawn together; without one it stands in the overview.

    Its scores are shares (0 to 1), which are shown in percent; without `percent` they are shown as they are.
    """

    name: str
    title: str
    group: str = ""
    percent: bool = True


@dataclass(frozen=True)
class Row:
    """A model's (or judge's) scores by column name; `setting` is equal where rows may be ranked together."""

    name: str
    setting: str
    scores: Mapping[str, Score]
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Board:
    """The rows of a study, its columns, and the `main` one that rows are ranked by: the highest first or the lowest.

    `title` is what the board is called, and `unit` what the figures of the main column are.
    """

    main: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    order: Literal["descending", "ascending"] = "descending"
    title: str = ""
    unit: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it stands in `run.json` under "board"."""
        return asdict(self)

    def below(self, percent: float) -> str:
        """Return a line on the first row whose main score is below a percentage, or that has none; "" without such rows."""
        title = next(column.title for column in self.columns if column.name == self.main).lower()
        name = title if title.endswith(("rate", "score")) else f"{title} score"
        for row in self.rows:
            whose = f"{name} of {row.name}" if len(self.rows) > 1 else name
            value = row.scores[self.main].value
            if value is None:
                return f"there is no {whose} to hold against --fail-under {percent:g}: too little is decided"
            if round(100 * value, 9) < percent:  # 100 * 0.57 is less than 57
                return f"the {whose} is {100 * value:.2f}, under --fail-under {percent:g}"
        return ""
