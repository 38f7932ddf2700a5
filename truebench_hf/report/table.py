"""A table of results: rows of plain values, and what each of their columns means.

Whoever scores returns tables and draws nothing: the terminal (`report.console`), pages and notebooks (`report.page`),
`scores.json`, CSV, Markdown, LaTeX and pandas are renderings of a table, each written once.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib.resources import files
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

from truebench_hf.report.sections import csv_text, p_value
from truebench_hf.text.terminal import whole
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

Kind = Literal["text", "prose", "count", "number", "score", "p_value"]
Part = Literal["value", "interval", "n", "unscored"]
Row = Mapping[str, Any]

SCORES = "scores.json"  # the file in which a folder holds the tables of its study
WIDTH = 100  # characters of a line on the terminal
# Beside the columns a row may have: whether a paper printed it, and a line on what it is, which pages show at the pointer.
PUBLISHED, ABOUT = "published", "about"
_PART_TITLES = {"interval": "95 % interval", "n": "n", "unscored": "unscored"}
_NOTHING = Score(None, 0)


@dataclass(frozen=True)
class Column:
    """What a column holds: its `title`, and `about`, one line of explanation that pages show at the pointer.

    Cells of kind "score" are Scores (or None), of which text shows the `parts`, each in a column of its own; pages show
    all, with a dot and its interval on a common axis where `drawn`: from 0 to 1 (points: from -1) unless `axis` names
    its ends, with a line at `mark` (chance, no difference). `unit` "%" is for shares (0 to 1), "points" for their
    differences, "" for what is shown as it is. On a narrow terminal columns with the greatest `minor` are folded first;
    those with 0 never are. Columns of one `group` stand together on a leaderboard; those without one first.
    """

    name: str
    title: str
    kind: Kind = "text"
    about: str = ""
    unit: Literal["%", "points", ""] = "%"
    digits: int = 2
    parts: tuple[Part, ...] = ("value",)
    lower_is_better: bool = False
    drawn: bool = False
    axis: tuple[float, float] | None = None
    mark: float | None = None
    minor: int = 0
    group: str = ""

    @property
    def is_text(self) -> bool:
        """Whether its cells are words, which are aligned at the left."""
        return self.kind in ("text", "prose")

    @property
    def titles(self) -> tuple[str, ...]:
        """The titles of the column as text: of a score one for each of its parts."""
        if self.kind != "score":
            return (self.title,)
        return tuple(_PART_TITLES.get(part, self.title) for part in self.parts)

    def number(self, value: float | None, fewer: int = 0) -> str:
        """A number in the unit of the column, `-` where it is undefined, with `fewer` digits than the column has."""
        if value is None:
            return "-"
        sign = "+" if self.unit == "points" else ""
        return f"{value * self.factor:{sign}z.{self.digits - fewer}f}"  # z: what rounds to zero has no minus

    def interval(self, score: Score) -> str:
        """The 95 % interval of a score with a digit less than its value; "" where there is none."""
        return "" if score.ci95 is None else " to ".join(self.number(end, fewer=1) for end in score.ci95)

    @property
    def factor(self) -> int:
        """What values are multiplied by to be read: 100 for shares and their differences."""
        return 1 if self.unit == "" else 100

    def texts(self, value: Any) -> tuple[str, ...]:
        """A cell as people read it, under `titles`."""
        if self.kind == "score":
            score = value or _NOTHING
            texts = {
                "value": self.number(score.value) if value else "",
                "interval": self.interval(score),
                "n": f"{score.n:,}" if value and (score.n or score.value is None) else "",  # a paper may tell none
                "unscored": f"{score.unscored:,}" if score.unscored else "",
            }
            return tuple(texts[part] for part in self.parts)
        if value is None:
            return ("",)
        if self.kind in ("number", "p_value"):
            return (self.number(value) if self.kind == "number" else p_value(value),)
        return (f"{value:,}" if self.kind == "count" else str(value),)


_DEFAULTS = {part.name: part.default for part in fields(Column)}


@dataclass(frozen=True)
class Table:
    """Rows of values by the names of the columns, of which the first `keys` say what a row is about.

    `name` is that of its file and of its place in scores.json. Values are plain: text, numbers, `Score`, or None where
    there is nothing. A row with a true `published` is one that a paper printed, and always marked as such. The page
    shows every table that is for it (`on_page`; others are for files alone), of a `headline` the first row large and the
    others folded; the terminal those that are `printed`.
    """

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    note: str = ""
    keys: int = 1
    printed: bool = True
    headline: bool = False
    on_page: bool = True

    @classmethod
    def of_frame(cls, name: str, frame: DataFrame, columns: Sequence[Column], **more: Any) -> Table:
        """Return the table of a DataFrame: whatever pandas takes for missing is None."""
        names = [column.name for column in columns if column.name in frame]
        names += [PUBLISHED] if PUBLISHED in frame else []
        values = [[plain(value) for value in frame[name].tolist()] for name in names]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
        return cls(name, columns, rows, **more)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The titles of the columns as text."""
        return tuple(title for column in self.columns for title in column.titles)

    @cached_property
    def texts(self) -> list[tuple[str, ...]]:
        """The rows as people read them, under `header`."""
        return [
            tuple(text for column in self.columns for text in column.texts(row.get(column.name))) for row in self.rows
        ]

    @property
    def marks(self) -> list[bool]:
        """Of each row, whether a paper printed it."""
        return [bool(row.get(PUBLISHED)) for row in self.rows]

    @property
    def shown(self) -> list[tuple[str, ...]]:
        """The texts, with the paper's rows marked in their first cell."""
        return [
            (f"paper: {row[0]}", *row[1:]) if paper else row for row, paper in zip(self.texts, self.marks, strict=True)
        ]

    @property
    def places(self) -> list[tuple[int, Column]]:
        """The place and column of each title of `header`."""
        return list(enumerate(column for column in self.columns for _ in column.titles))

    def folded(self) -> tuple[Table, list[Column]]:
        """Return the table with its most minor column left out, and the columns left out; () of the last such column."""
        most = max((column.minor for column in self.columns), default=0)
        if not most:
            return self, []
        place = max(place for place, column in enumerate(self.columns) if column.minor == most)
        return replace(self, columns=[*self.columns[:place], *self.columns[place + 1 :]]), [self.columns[place]]

    def records(self) -> list[dict[str, Any]]:
        """The rows as scores.json has them: a score is always {value, interval, n, unscored}."""
        records = []
        for row in self.rows:
            record = {column.name: plain_score(row.get(column.name)) for column in self.columns}
            records.append(record | ({PUBLISHED: True} if row.get(PUBLISHED) else {}))
        return records

    def described(self) -> dict[str, Any]:
        """What the table and its columns are, without the rows, for JSON: `of_records` makes the table again."""
        kept = ("name", "title")
        columns = [
            {name: value for name, value in vars(column).items() if name in kept or value != _DEFAULTS[name]}
            for column in self.columns
        ]
        return {"title": self.title, "note": self.note, "keys": self.keys, "columns": columns}

    @classmethod
    def of_records(cls, name: str, described: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Table:
        """Return the table that was `described` and whose rows are the records of scores.json.

        Raises TypeError, KeyError or ValueError where they do not belong together.
        """
        columns = [
            Column(**{**column, "parts": tuple(column.get("parts", ("value",)))}) for column in described["columns"]
        ]
        scores = [column.name for column in columns if column.kind == "score"]
        rows = [{**record, **{key: score_of(record[key]) for key in scores}} for record in records]
        return cls(name, columns, rows, described["title"], described["note"], described["keys"])

    def spread(self, by: Sequence[str], value: str, **of_column: Any) -> Table:
        """Return a wide table: a row per combination of the other keys, a column for each score under the keys `by`.

        With by=("group", "name") the score of ("category", "Coding") comes into the column `category:Coding`, titled
        Coding and in the group `category`. `of_column` are further arguments of these columns.
        """
        kept = [column for column in self.columns[: self.keys] if column.name not in by]
        columns: dict[str, Column] = {}
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        for row in self.rows:
            *groups, last = (str(row[key]) for key in by)
            name = ":".join(filter(None, [*groups, last]))
            columns.setdefault(name, Column(name, last, "score", group=", ".join(filter(None, groups)), **of_column))
            keys = {column.name: row[column.name] for column in kept} | {PUBLISHED: bool(row.get(PUBLISHED))}
            rows.setdefault(tuple(keys.values()), keys)[name] = row[value]
        return replace(self, columns=[*kept, *columns.values()], rows=list(rows.values()), keys=len(kept))

    def to_pandas(self) -> DataFrame:
        """The rows with a column for each part of a score: `score`, `score_low`, `score_high`, `score_n` ...

        Counts are whole numbers where some are missing, too (the type Int64).
        """
        import pandas

        columns, rows = self._flat()
        rows = [[whole(value) if isinstance(value, str) else value for value in row] for row in rows]
        scores = [column.name for column in self.columns if column.kind == "score"]
        ends = [f"{name}{end}" for name in scores for end in ("", "_low", "_high")]
        frame = pandas.DataFrame(rows, columns=columns, dtype=object)
        counts = [column.name for column in self.columns if column.kind == "count"]
        whole_counts = [
            name for name in counts if all(count is None or isinstance(count, Integral) for count in frame[name])
        ]
        types = dict.fromkeys(ends, "float64") | {n: "Int64" for n in whole_counts if frame[n].isna().any()}
        return frame.astype(types).infer_objects() if rows else frame

    def to_csv(self) -> str:
        """The same as CSV text, of which a spreadsheet runs nothing."""
        columns, rows = self._flat()
        return csv_text([columns, *rows])

    def to_markdown(self) -> str:
        """The table as people read it, for a README or an issue."""
        align = ["---" if column.is_text else "--:" for _, column in self.places]
        rows = [
            [" ".join(cell.replace("|", "\\|").split()) for cell in row] for row in (self.header, align, *self.shown)
        ]
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    def to_latex(self) -> str:
        """The table as people read it, for a paper that uses booktabs."""
        import pandas

        align = "".join("l" if column.is_text else "r" for _, column in self.places)
        rows = [[" ".join(cell.split()) for cell in row] for row in self.shown]  # a blank line would end the cell
        frame = pandas.DataFrame(rows, columns=list(self.header), dtype=object)
        style = frame.style.format(escape="latex").format_index(escape="latex", axis=1).hide(axis="index")
        caption = re.sub(r"[%&#_$]", r"\\\g<0>", self.title)
        return str(style.to_latex(hrules=True, column_format=align, caption=caption or None))

    def rendered(self, form: str) -> str:
        """The table as text of a form: csv, json, latex or markdown."""
        if form == "json":
            return json.dumps(self.records(), ensure_ascii=False, indent=1) + "\n"
        return {"csv": self.to_csv, "latex": self.to_latex, "markdown": self.to_markdown}[form]()

    def _flat(self) -> tuple[list[str], list[list[Any]]]:
        """The names of flat columns, and the rows."""
        names = [
            f"{column.name}{end}"
            for column in self.columns
            for end in (("", "_low", "_high", "_n", "_unscored") if column.kind == "score" else ("",))
        ]
        rows, with_paper = list[list[Any]](), any(self.marks)
        for row, paper in zip(self.rows, self.marks, strict=True):
            values: list[Any] = []
            for column in self.columns:
                value = row.get(column.name)
                if column.kind == "score":
                    score = value or _NOTHING
                    values += [score.value, *(score.ci95 or (None, None)), score.n, score.unscored]
                else:
                    values.append(value)
            rows.append([*values, *([paper] * with_paper)])
        return names + [PUBLISHED] * with_paper, rows

    def _repr_html_(self) -> str:
        from truebench_hf.report.page import in_notebook

        return in_notebook(self)


def plain(value: Any) -> Any:
    """A value of a frame as Python has it: None, NaN, NA and NaT are all None."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def plain_score(value: Any) -> Any:
    """A cell as plain data, for JSON."""
    if not isinstance(value, Score):
        return plain(value)
    ends = value.ci95 and list(value.ci95)
    return {"value": plain(value.value), "interval": ends, "n": value.n, "unscored": value.unscored}


def score_of(cell: Any) -> Score | None:
    """Return the score of such a cell; None of one that has none."""
    if cell is None:
        return None
    ends = cell["interval"]
    return Score(cell["value"], cell["n"], cell["unscored"], None if ends is None else (ends[0], ends[1]))


def pairs(title: str, rows: Sequence[tuple[str, Any]], note: str = "") -> Table:
    """A table of what something is called and what is said of it."""
    columns = (Column("name", ""), Column("value", "", "prose"))
    return Table("", columns, [{"name": name, "value": value} for name, value in rows], title, note)


def what_was_run(facts: Mapping[str, object]) -> list[Table]:
    """The facts about a run that are not empty, as a table; none without any."""
    known = [(name, str(fact)) for name, fact in facts.items() if fact]
    return [pairs("What was run", known)] if known else []


def repeated(scores: Mapping[str, Score], title: str = "Repeated samples") -> Table:
    """What `metrics.votes.summary` gives as a table of this title; k is how many samples are looked at."""
    note = (
        "The share that passes: n counts instances, and intervals are by instance. The mean leaves out undecided samples; any "
        "and all of k are over all choices of k samples, and unscored where undecided ones could change them or there are "
        "fewer than k."
    )
    rows = []
    for name, score in scores.items():
        which, _, k = name.partition("_of_")
        sign = {"any": "@", "all": "^"}.get(which)
        text = f"{which.capitalize()} of {k} (pass{sign}{k})" if sign else "Mean over samples"
        rows.append({"name": text, "score": score})
    parts: tuple[Part, ...] = ("value", "interval", "n", "unscored")
    return Table("", (Column("name", title), Column("score", "%", "score", parts=parts, drawn=True)), rows, note=note)


def paper_rows(benchmark: str, table: str) -> list[dict[str, Any]]:
    """The rows of one printed table, keyed by column: `paper_rows("tick", "tick_table2")`. Raises KeyError as `paper_table`."""
    rows: list[dict[str, Any]] = paper_table(benchmark, table)["rows"]
    return rows


@cache
def paper_table(benchmark: str, table: str) -> dict[str, Any]:
    """One printed table: `columns`, `rows`, `notes` and, where it has any, `misprints`.

    `table` begins the name of one file in the folder `reference` of the benchmark. Raises KeyError where there is none.
    """
    for file in (files("truebench_hf.benchmarks") / benchmark / "reference").iterdir():
        if file.name.startswith(f"{table}_") or file.name == f"{table}.json":
            content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return content
    raise KeyError(table)
