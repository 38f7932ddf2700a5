"""What a leaderboard may show of a finished study: it stands in `run.json`, and the Space reads nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from truebench_hf.types import Score

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
