"""One file of rows, in whatever form it is kept; a malformed row is an error of its own, in place of the row."""

from __future__ import annotations

import bz2
import contextlib
import csv
import gzip
import io
import json
import lzma
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit
from zipfile import BadZipFile

from truebench_hf.data import jsonl
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, need
from truebench_hf.text.terminal import warn

Entry = Record | UserError
_PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_MAGIC = {b"PAR1": ".parquet", b"PK\x03\x04": ".xlsx"}  # what content begins with
_ADDRESS = re.compile(r"^(https?):/+")  # a path has lost one of its slashes
_HEAD = 1 << 16  # bytes that tell what a file holds
# Of the list of rows in one object.
_WRAPPERS = ("data", "examples", "rows", "records", "items", "samples", "instances")
_BATCH = 100  # rows of Parquet at a time: whole documents may stand in each


@dataclass(frozen=True)
class RowFile:
    """A file of rows: what it is called in messages, one of `FORMS`, and how it is opened (and unpacked), each time anew."""

    name: str
    form: str
    open: Callable[[], IO[bytes]]

    @classmethod
    def at(cls, path: Path, name: str = "") -> RowFile:
        """The file of a path; `name` tells its form, where the path does not (a download, say).

        A stream (a pipe, standard input) is read here, whole, since that can be done once. Where no ending says what
        it holds the content does. Raises UserError on a form that is not read, and where a stream cannot be.
        """
        check_path(path)
        name = name or str(path)
        ending, kind = _endings(name)[-1], form(name)
        opened: Callable[[], IO[bytes]] = partial(_PACKED.get(ending, open), path, "rb")
        with readable(name):
            if what_is(path) == "stream":
                opened = partial(io.BytesIO, path.read_bytes())
            if not kind and not ending:  # Parquet, Excel, JSON (a list, or lines), or else a table
                with opened() as file:
                    head = file.read(_HEAD)
                start = head.decode("utf-8-sig", "replace").lstrip()[:1]
                kind = _MAGIC.get(head[:4]) or (".csv" if start and start not in "[{" else ".json")
        if not kind:
            kinds = f"{', '.join(FORMS)}, as it is or packed ({', '.join(_PACKED)})"
            raise UserError(f"{name}: give a file of type {kinds}")
        return cls(name, kind, opened)

    def entries(self) -> Iterator[Entry]:
        """The rows in order; in place of a malformed one its error.

        Raises UserError on a file that cannot be read, or holds nothing.
        """
        number = -1
        with readable(self.name):
            for number, (where, row) in enumerate(FORMS[self.form](self)):
                if isinstance(row, dict):
                    yield Record(where, row, number)
                else:
                    yield row if isinstance(row, UserError) else UserError(f"{where}: must be an object")
        if number < 0:
            raise UserError(f"{self.name}: holds no records")


def sound(entries: Iterable[Entry]) -> Iterator[Record]:
    """The rows. Raises UserError on the first malformed one."""
    for entry in entries:
        if isinstance(entry, UserError):
            raise entry
        yield entry


def form(name: str) -> str:
    """The ending that tells the form of a file, "" where it is none that is read: `.jsonl` for `a.jsonl.gz`."""
    endings = _endings(name)
    ending = (endings[:-1] if endings[-1] in _PACKED else endings)[-1:] or [""]
    return ending[0] if ending[0] in FORMS else ""


def read_text(path: str | Path, flag: str = "") -> str:
    """The text of a file of the user's, named by a flag. Raises UserError where it cannot be read."""
    check_path(path, flag)
    with readable(f"{flag}{path}"):
        return Path(path).read_bytes().decode("utf-8-sig")


def check_path(path: str | Path, flag: str = "") -> None:
    """Raise UserError where a path is the address of something on the web, which is read from a file."""
    if _ADDRESS.match(str(path)):
        address = _ADDRESS.sub(r"\1://", str(path), count=1)
        raise UserError(f"{flag}{address}: is an address; save it to a file first, and give that")


def what_is(path: Path) -> str:
    """What a path is of: file, folder, or stream (a pipe, a device), which can be read once; "" where nothing is."""
    try:
        mode = path.stat().st_mode
    except PermissionError:
        raise
    except (OSError, ValueError):  # a text that can be no path (it is too long, say) is that of nothing
        return ""
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "stream"


def _endings(name: str) -> list[str]:
    path = urlsplit(name).path if "://" in name else name
    return [ending.lower() for ending in Path(path).suffixes] or [""]


@contextlib.contextmanager
def readable(name: str) -> Iterator[None]:
    """Raise UserError in place of what the libraries raise on content that cannot be read."""
    try:
        yield
    except UnicodeDecodeError as error:
        remedy = "save it as UTF-8 (in Excel: Save As, CSV UTF-8)"
        raise UserError(f"{name}: cannot be read: it is not UTF-8; {remedy}") from error
    except (OSError, EOFError, csv.Error, zlib.error, lzma.LZMAError) as error:
        raise UserError(f"{name}: cannot be read: {error}") from error


def _json(rows: RowFile) -> Iterator[tuple[str, Any]]:
    """A list of rows or rows in one object (see `_rows_of`); or a row a line, which goes by both names of files."""
    with rows.open() as file:
        lines = jsonl.lines(file, rows.name)
        first, more = next(lines, ("", b""))[1].strip(), next(lines, None)
        in_lines = more is not None and jsonl.maybe(first.decode("utf-8", "replace")) is not None
    over_lines = rows.form == ".json" or (len(first) == 1 and more)  # what has the name of lines may be written so, too
    if not in_lines and over_lines and first[:1] in (b"[", b"{"):
        with rows.open() as file:
            value = jsonl.parsed(file.read().decode("utf-8-sig", "surrogatepass"), rows.name, unique=True)
        yield from ((f"{rows.name}, record {number}", row) for number, row in enumerate(_rows_of(value, rows.name), 1))
        return
    with rows.open() as file:
        for where, line in jsonl.lines(file, rows.name):
            try:
                yield where, jsonl.parsed(line, where, unique=True)
            except UserError as error:
                yield where, error


def _rows_of(value: Any, name: str) -> list[Any]:
    """The rows of a JSON value: a list, a list inside of an object, columns (as pandas and datasets write them), or one."""
    if isinstance(value, list):
        return value
    wrapper = next((key for key in _WRAPPERS if _are(dict, value.get(key))), None)
    if wrapper:
        warn(f"Note: {name}: its rows are those under {wrapper!r}.")
        return list(value[wrapper])
    columns = list(value.values())
    if _are(dict, columns) and all(key.isdecimal() for column in columns for key in column):
        columns = [list(column.values()) for column in columns]
    a_row = "turns" in value or any(_are(dict, column) for column in columns)  # lists stand in rows, too: messages, say
    if _are(list, columns) and len(set(map(len, columns))) == 1 and not a_row:
        warn(f"Note: {name}: is read by columns, {', '.join(value)}.")
        return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]
    return [value] if value else []


def _are(kind: type, values: Any) -> bool:
    return isinstance(values, list) and bool(values) and all(isinstance(value, kind) for value in values)


def _csv(rows: RowFile, usual: str = ",") -> Iterator[tuple[str, Any]]:
    """The rows of a table.

    What stands between the names of columns most often parts them: spreadsheets write semicolons where a comma is the
    decimal point.
    """
    csv.field_size_limit(2**31 - 1)  # whole conversations stand in one field
    with rows.open() as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        bare = re.sub(r'"[^"]*"', "", text.readline())
        text.seek(0)
        delimiter = usual if usual == "\t" in bare else max((usual, ";", "\t", "|"), key=bare.count)
        table = csv.DictReader(text, delimiter=delimiter)
        check_columns(table.fieldnames or (), rows.name)
        for number, row in enumerate(table, 1):
            where = f"{rows.name}, record {number}"
            if None in row or None in row.values():
                yield where, UserError(f"{where}: has another number of fields than the header")
            elif len(row) == 1 or any(map(str.strip, row.values())):  # spreadsheets leave rows of empty cells
                yield where, row


def check_columns(names: Sequence[str], where: str) -> None:
    """Raise UserError where two columns of a table have one name, of which the first would be lost.

    Columns without a name, which spreadsheets leave behind, are read by nobody.
    """
    for name in filter(str.strip, names):
        if names.count(name) > 1:
            places = " and ".join(str(place) for place, other in enumerate(names, 1) if other == name)
            raise UserError(f"{where}: columns {places} are both called {name!r}; rename one, or leave it out")


def labelled(row: dict[str, Any], features: Mapping[str, Any], where: str) -> dict[str, Any] | UserError:
    """The row with labels by their names, by the `features` of the columns that hold any; its error if one has none."""
    try:
        return row | {name: with_class_names(row[name], feature) for name, feature in features.items() if name in row}
    except UserError as error:
        return UserError(f"{where}: {error}")


def _parquet(rows: RowFile) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]
    from pyarrow import ArrowException

    try:
        # A buffer, since a row group without one is held whole.
        with rows.open() as file, pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as table:
            check_columns(table.schema_arrow.names, rows.name)
            features = parquet_classes(table.schema_arrow.metadata)
            batches = (batch.to_pylist() for batch in table.iter_batches(_BATCH))
            for number, row in enumerate((row for batch in batches for row in batch), 1):
                where = f"{rows.name}, record {number}"
                yield where, labelled(row, features, where)
    except ArrowException as error:
        raise UserError(f"{rows.name}: not a Parquet file: {error}") from error


def _xlsx(rows: RowFile) -> Iterator[tuple[str, Any]]:
    """The rows of the first sheet that has any. Cells are texts, as in CSV; places are the rows' numbers in Excel."""
    need("xlsx", "openpyxl", what=f"{rows.name}: an Excel file")
    import pandas

    with rows.open() as file:
        try:
            sheets = pandas.read_excel(file, sheet_name=None, header=None, dtype=str, na_filter=False)
        except (BadZipFile, KeyError, ValueError) as error:
            raise UserError(f"{rows.name}: is no Excel file: {error}; save it as .xlsx again") from error
    filled = ((title, list(enumerate(sheet.to_numpy().tolist(), 1))) for title, sheet in sheets.items())
    held = [(title, [(n, row) for n, row in cells if any(map(str.strip, row))]) for title, cells in filled]
    held = [(title, cells) for title, cells in held if len(cells) > 1]
    for title, ((_, header), *body) in held[:1]:
        if others := ", ".join(repr(title) for title, _ in held[1:]):
            remedy = "save one to a file of its own to read it"
            warn(f"Note: {rows.name}: sheet {title!r} is read, and not {others}; {remedy}.")
        check_columns(header, f"{rows.name}, sheet {title!r}")
        for number, values in body:
            named = {name: cell for name, cell in zip(header, values, strict=True) if name.strip()}
            yield f"{rows.name}, row {number}", named


def _txt(rows: RowFile) -> Iterator[tuple[str, Any]]:
    """A prompt a line."""
    with rows.open() as file, io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield f"{rows.name}, line {number}", {"prompt": line.strip()}


FORMS: dict[str, Callable[[RowFile], Iterator[tuple[str, Any]]]] = {
    ".jsonl": _json, ".ndjson": _json, ".json": _json, ".csv": _csv, ".tsv": partial(_csv, usual="\t"), ".parquet": _parquet,
    ".xlsx": _xlsx, ".txt": _txt,
}  # fmt: skip


# Labels by their names. `datasets` keeps the number of a class in the rows, and the names in the features beside them:
# in the form that `Features.to_dict` gives and that Parquet files carry in their metadata.
_LISTS = ("List", "LargeList", "Sequence")


def with_class_names(value: Any, feature: Any) -> Any:
    """Return the value with the name of each class in place of its number, however deep the `ClassLabel` stands.

    -1 is None: so `datasets` spells a label that is missing. Raises UserError on a number that no class has.
    """
    feature = element(feature)
    if isinstance(value, list):
        return [with_class_names(item, feature) for item in value]
    if isinstance(value, Mapping) and isinstance(feature, Mapping):
        return {name: with_class_names(inner, feature.get(name)) for name, inner in value.items()}
    if not is_class(feature) or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if value == -1:
        return None
    names = feature["names"]
    if value not in range(len(names)):
        classes = ", ".join(f"{number} {name}" for number, name in enumerate(names))
        raise UserError(f"label {value!r} is not one of the classes: {classes}")
    return names[int(value)]


def element(feature: Any) -> Any:
    """Return what the lists of a feature hold, the innermost ones; a feature that is no list as it is."""
    while isinstance(feature, list) or (isinstance(feature, Mapping) and feature.get("_type") in _LISTS):
        feature = feature[0] if isinstance(feature, list) else feature["feature"]
    return feature


def is_class(feature: Any) -> bool:
    """Return whether a feature is a `ClassLabel` whose names are known."""
    return isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel" and bool(feature.get("names"))


def with_classes(features: Any) -> dict[str, Any]:
    """Return the columns that hold a `ClassLabel` somewhere, by name."""
    return {name: feature for name, feature in features.items() if '"ClassLabel"' in json.dumps(feature)}


def parquet_classes(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return the columns with classes of a Parquet file that `datasets` wrote, by the metadata of its schema."""
    try:
        return with_classes(json.loads((metadata or {})[b"huggingface"])["info"]["features"])
    except (KeyError, ValueError, TypeError, AttributeError):  # no features there, or what another tool wrote
        return {}
