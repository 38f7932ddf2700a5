"""Where results stand on a leaderboard: a study names a table and what must be equal, and the board follows from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from truebench_hf.hashing import canonical, digest
from truebench_hf.report.sections import percent
from truebench_hf.report.table import PUBLISHED, Table
from truebench_hf.text import anonymous
from truebench_hf.types import Score

COST = "Cost"  # the group of columns that tell what was spent: no scores, so exports leave them out
LONGEST = 500  # characters of a name, a title or a fact, and rows; of columns half as many
_MOST_COLUMNS = 100  # of a group: a leaderboard of more columns nobody reads


@dataclass(frozen=True)
class Ranking:
    """The place of a study's results on a leaderboard, as a view of one `table`, ranked by its column `by`.

    The first column of the table names the model or judge of a row. Its columns of scores are those of the board, in
    their groups, and its other columns of text are facts that stand beside them, as do the `facts` of all rows. Rows that
    a paper printed are left out.
    Two rows, of this or of another run, are ranked together where the settings in `alike` are equal, and the cells of the
    columns that `alike_in` names. Addresses, keys and local folders are taken out of all of it here.
    """

    table: Table
    by: str
    alike: Sequence[Any]
    alike_in: Sequence[str] = ()
    title: str = ""  # of the board
    unit: str = ""  # what the figures of the column `by` are
    noun: str = ""  # what the scores of the column `by` are counted in: "task"
    facts: Mapping[str, str] = field(default_factory=dict)

    def board(self) -> Board | None:
        """Return the board as run.json keeps it; None where the table has no row of this study."""
        rows = [row for row in self.table.rows if not row.get(PUBLISHED)]
        if not rows:
            return None
        columns = self._score_columns(rows)
        main = next(column for column in self.table.columns if column.name == self.by)
        order: Literal["ascending", "descending"] = "ascending" if main.lower_is_better else "descending"
        names = anonymous.names(dict.fromkeys(self._name(row) for row in rows))
        board_rows = tuple(self._board_row(row, names[self._name(row)], columns) for row in rows)
        return Board(self.by, tuple(columns.values()), board_rows, order, self.title, self.unit, self.noun)

    def _name(self, row: Mapping[str, Any]) -> str:
        return str(row[self.table.columns[0].name])

    def _score_columns(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, BoardColumn]:
        """The columns of the board by those of the table: such as hold scores, without groups that are too large."""
        filled = [
            column
            for column in self.table.columns
            if column.kind == "score" and (column.name == self.by or any(row.get(column.name) for row in rows))
        ]
        sizes = Counter(column.group for column in filled)
        kept = []
        for column in filled:
            longest = max(len(column.title), len(column.name), len(column.about) // 2)
            fits = (not column.group or sizes[column.group] <= _MOST_COLUMNS) and longest <= LONGEST // 2
            if fits or column.name == self.by:
                kept.append(column)
        names = anonymous.names(column.name for column in kept)
        titles = {group: anonymous.names(c.title for c in kept if c.group == group) for group in sizes}
        columns = {}
        for column in kept:
            title, about = titles[column.group][column.title], anonymous.text(column.about)
            columns[column.name] = BoardColumn(names[column.name], title, column.group, column.unit != "", about)
        return columns

    def _board_row(self, row: Mapping[str, Any], name: str, columns: Mapping[str, BoardColumn]) -> BoardRow:
        setting = [anonymous.settings(list(self.alike)), [row.get(column) for column in self.alike_in]]
        scores = {column.name: row[key] for key, column in columns.items() if row.get(key)}
        facts = {
            column.title: anonymous.everything(str(row[column.name]))[:LONGEST]
            for column in self.table.columns[1:]
            if column.kind == "text" and row.get(column.name)
        }
        facts |= {name: anonymous.everything(text)[:LONGEST] for name, text in self.facts.items()}
        return BoardRow(name, digest(canonical(setting)), scores, facts)


@dataclass(frozen=True)
class BoardColumn:
    """A score's column. Columns of one `group` are shown and drawn together; without one it stands in the overview.

    Its scores are shares (0 to 1), which are shown in percent; without `percent` they are shown as they are. `about` is
    one line of explanation.
    """

    name: str
    title: str
    group: str = ""
    percent: bool = True
    about: str = ""


@dataclass(frozen=True)
class BoardRow:
    """A model's (or judge's) scores by column name; `setting` is equal where rows may be ranked together."""

    name: str
    setting: str
    scores: Mapping[str, Score]
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Board:
    """A board as run.json keeps it: its rows, its columns, and the `main` one by which rows are ranked.

    `title` is what the board is called, `unit` what the figures of the main column are, and `noun` what they are counted
    in.
    """

    main: str
    columns: tuple[BoardColumn, ...]
    rows: tuple[BoardRow, ...]
    order: Literal["descending", "ascending"] = "descending"
    title: str = ""
    unit: str = ""
    noun: str = ""

    def as_json(self) -> dict[str, Any]:
        """As it stands in `run.json` under "board", without the lines that columns and rows do not have."""
        content = asdict(self)
        for part, name in [(content, "noun"), *((column, "about") for column in content["columns"])]:
            if not part[name]:
                del part[name]
        return content

    def below(self, least: float) -> str:
        """Return a line on the first row whose main score is below a percentage, or that has none; "" without such rows."""
        title = next(column.title for column in self.columns if column.name == self.main).lower()
        name = title if title.endswith(("rate", "score")) else f"{title} score"
        for row in self.rows:
            whose = f"{name} of {row.name}" if len(self.rows) > 1 else name
            value = row.scores[self.main].value
            if value is None:
                return f"there is no {whose} to hold against --fail-under {least:g}: too little is decided"
            if round(100 * value, 9) < least:  # 100 * 0.57 is less than 57
                return f"the {whose} is {percent(value)}, under --fail-under {least:g}"
        return ""
