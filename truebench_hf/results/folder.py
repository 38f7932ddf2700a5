"""A folder of results, read in one place: what ran, whether it came to its end, what was spent, what was judged."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import JUDGED, JUDGMENTS, Reader
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.report.sections import Conversation, read_conversation
from truebench_hf.report.table import SCORES, Table
from truebench_hf.study.outcome import CONVERSATIONS
from truebench_hf.study.ranking import COST, Board
from truebench_hf.types import Usage


@dataclass(frozen=True)
class Results:
    """A run folder; `info` is what its run.json says.

    What was judged is in frames (`results.verdicts`) and, where texts are looked at, in `results.finished`.
    """

    path: Path
    info: Mapping[str, Any] = field(repr=False)

    @classmethod
    def open(cls, where: str | Path) -> Results:
        """Return the results in a folder, whether finished or not. Raises UserError where there are none."""
        path = Path(where)
        if not path.exists():
            raise UserError(f"{where}: no such folder; give the --out of a finished run")
        info = read_info(path) if path.is_dir() else {}
        if not info:
            raise UserError(f"{where}: is no run folder (it has no run.json); give the --out of a finished run")
        return cls(path, info)

    @property
    def kind(self) -> str:
        """The kind of study; "" of a folder that does not tell."""
        return str(self.info.get("kind") or "")

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was made with."""
        settings: Mapping[str, Any] = self.info.get("settings", {})
        return settings

    @property
    def is_finished(self) -> bool:
        """Whether it came to its end; a submission tells of no sessions, and did."""
        sessions = self.info.get("sessions")
        return not sessions or bool(isinstance(sessions[-1], dict) and sessions[-1].get("finished"))

    def check_finished(self) -> None:
        """Raise UserError where it did not come to its end."""
        if not self.is_finished:
            raise UserError(f"{self.path}: is not finished; repeat its command, which goes on where it was")

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of its study by name; {} of one that has none. Raises UserError where they cannot be read."""
        described, file = self.info.get("tables", {}), self.path / SCORES
        try:
            records = json.loads(file.read_text(encoding="utf-8")) if described else {}
            return {name: Table.of_records(name, table, records[name]) for name, table in described.items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"{file}: is not as its study wrote it ({type(error).__name__}); repeat the command of {self.path}, which "
                "writes it again without a call"
            ) from error

    def check_board(self) -> None:
        """Raise UserError where the leaderboard in run.json shows a score that no table of scores.json holds."""
        if not (self.tables and self.board):
            return
        cells = [cell for table in self.tables.values() for row in table.rows for cell in row.values()]
        costs = {column.name for column in self.board.columns if column.group == COST}  # which no table holds
        for row in self.board.rows:
            if edited := [name for name, score in row.scores.items() if name not in costs and score not in cells]:
                raise UserError(
                    f"{self.path}: {SCORES} does not hold the {edited[0]} of {row.name} that run.json shows; repeat the "
                    "command of the run, which writes both again without a call"
                )

    @cached_property
    def board(self) -> Board | None:
        """Its place on a leaderboard; None of a study that has none, or is not finished. Raises UserError on another form."""
        from pydantic import TypeAdapter

        if not (content := self.info.get("board")):
            return None
        try:
            board: Board = TypeAdapter(Board).validate_python(content)
        except ValueError as error:
            raise UserError(
                f"{self.path}: run.json holds a leaderboard that no study writes; score it again"
            ) from error
        return board

    @property
    def judged_file(self) -> Path | None:
        """The file of judged conversations, a line each; None where the folder holds none."""
        for file in (self.path / name for name in JUDGED):
            if file.is_file() and file.name == JUDGMENTS:
                return file
            if file.is_file():
                with file.open("rb") as content:  # some studies keep bare labels under the name of conversations
                    if b'"messages"' in content.readline():
                        return file
        return None

    def judged(self, loads: Callable[[str], Any] = json.loads) -> Iterator[Judged]:
        """Yield the judged responses one after the other, of every model. Raises UserError naming a line of another form."""
        if file := self.judged_file:
            reader = Reader()
            with file.open("rb") as content:
                for where, line in jsonl.lines(content, file.name):
                    yield reader.judged(loads(line.decode("utf-8")), where)[0]

    @property
    def conversations(self) -> list[Conversation]:
        """What its report lets one look through, of a study without a file of judged conversations; [] of others.

        Raises UserError where it cannot be read.
        """
        file = self.path / CONVERSATIONS
        try:
            with file.open("rb") as content:
                return [read_conversation(line) for line in content]
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as error:
            raise UserError(f"{file}: is not as its study wrote it; repeat the command of {self.path}") from error

    @property
    def spent(self) -> dict[str, Usage]:
        """What was spent by role, over all sessions."""
        total = self.info.get("usage", {}).get("total", {})
        return {role: Usage(**counts) for role, counts in total.items()}
