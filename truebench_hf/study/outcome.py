"""What comes of a study: tables, rows of items, conversations and notes, from which the house makes all files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from truebench_hf.data.records import JUDGED
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import write_error
from truebench_hf.report.page import page, run_facts
from truebench_hf.report.sections import Conversations, Section, conversation_line
from truebench_hf.report.table import SCORES, Table, what_was_run
from truebench_hf.study.ranking import Ranking

V = TypeVar("V")
TABLES, REPORT = "tables", "report.html"
CONVERSATIONS = "report.jsonl"  # those of the report, where no other file of the study holds them
WRITTEN = (SCORES, TABLES, REPORT, CONVERSATIONS)  # by the house, for every study


@dataclass(frozen=True)
class Outcome(Generic[V]):
    """What a study hands over. `value` is what the Python call returns; all else becomes files of the folder.

    tables          the results. Those with a name stand in scores.json (name -> a record per row, see `Table.records`)
                    and in tables/NAME.csv; the report shows those that are `on_page`, in order, and the terminal
                    the `printed` ones of these.
    charts          what the report draws beside its tables: curves and plots that no table can show. Behind them the house
                    puts its tables of what calls cost and how answers could be read.
    conversations   what was judged, to look through; the last thing in the report. They are kept in report.jsonl as well,
                    for the Space, where none of the items is a file of judged conversations.
    notes           what readers must know, each in a sentence or two: they stand in the report and in scores.json.
    items           further files by name: rows (or lines of text) for .jsonl, a JSON value for .json, and a text or
                    parts of one for all others. Such a name stands in the `files` of the study.
    ranking         the place on a leaderboard: a table, and what must be equal for two results to be ranked together.
    facts           lines below the report: what was run.
    known           further facts for run.json.
    results         what there are results of after all, where that is less than the options say (see `Binds.grows`).
    incomplete      how many items could not be scored; the command then ends with 3.
    failed          a line on why a bar that the options set was not met; the command then ends with 1.
    """

    value: V
    title: str = ""
    lead: str = ""
    notes: Sequence[str] = ()
    facts: Mapping[str, object] = field(default_factory=dict)
    known: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    incomplete: int = 0
    failed: str = ""
    tables: Sequence[Table] = ()
    charts: Sequence[Section] = ()
    conversations: Conversations | None = None
    items: Mapping[str, Any] = field(default_factory=dict)
    ranking: Ranking | None = None

    @property
    def report(self) -> list[Section]:
        """All that the report shows, in order."""
        last = [self.conversations] if self.conversations and self.conversations.rows else []
        return [*(table for table in self.tables if table.on_page), *self.charts, *last]

    @property
    def written(self) -> dict[str, Any]:
        """All files but the report, by name: those of the study, and those that follow from its tables."""
        return {**self.items, **self.follow}

    @property
    def follow(self) -> dict[str, Any]:
        """The files that follow from tables and conversations, by name."""
        named = {table.name: table for table in self.tables if table.name}
        scores: dict[str, Any] = {SCORES: scores_json(self.tables, self.notes)} if named else {}
        if self.conversations and self.conversations.rows and set(JUDGED).isdisjoint(self.items):
            scores[CONVERSATIONS] = map(conversation_line, self.conversations.rows)
        return scores | {f"{TABLES}/{name}.csv": table.to_csv() for name, table in named.items()}


def scores_json(tables: Sequence[Table], notes: Sequence[str] = ()) -> dict[str, Any]:
    """Return the content of scores.json: the records of every table with a name, and the notes."""
    named = [table for table in tables if table.name]
    assert len({"notes", *(table.name for table in named)}) == len(named) + 1, "tables need names of their own"
    return {table.name: table.records() for table in named} | {"notes": list(notes)}


def write(folder: RunFolder, outcome: Outcome[Any]) -> None:
    """Write the files and the report of an outcome, each whole or absent, and then that the study is finished."""
    files = outcome.written
    for name, content in files.items():
        folder.write_lines(name, lines(name, content))
    for file in (folder.path / TABLES).glob("*.csv"):
        if f"{TABLES}/{file.name}" not in files:  # of an earlier session; it would be taken for a result of this one
            try:
                file.unlink()
            except OSError as error:
                raise write_error(f"--out {folder.path}: cannot remove {file.name}", error.strerror or error) from error
    if outcome.report:
        provenance = folder.info["settings"] | {"versions": folder.info["versions"]}
        origin = what_was_run({**outcome.facts, **run_facts(provenance, folder.usage()["total"])})
        parts = page(outcome.title, [*outcome.report, *origin], lead=outcome.lead, notes=outcome.notes)
        folder.write_lines(REPORT, parts)
    facts: dict[str, Any] = {}
    if outcome.ranking and (board := outcome.ranking.board()):
        facts["board"] = board.as_json()
    if described := {table.name: table.described() for table in outcome.tables if table.name}:
        facts["tables"] = described
    if CONVERSATIONS in files and outcome.conversations:
        facts["conversations"] = outcome.conversations.title
    folder.finish(**facts, **outcome.known)


def lines(name: str, content: Any) -> Iterable[str]:
    """What a file of this name is written from: lines of JSON, a JSON value, or texts as they are."""
    if name.endswith(".jsonl"):
        return (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) + "\n" for row in content)
    if name.endswith(".json"):
        return [json.dumps(content, ensure_ascii=False, indent=1) + "\n"]
    return [content] if isinstance(content, str) else content
