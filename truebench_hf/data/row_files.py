"""The one reader of rows, wherever they stand, and what of them was left out: a file, a folder, a saved data set, the Hub."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypeVar

from truebench_hf.data.row_formats import (
    FORMS,
    Entry,
    RowFile,
    check_path,
    form,
    labelled,
    sound,
    what_is,
    with_classes,
)
from truebench_hf.data.rows import Record
from truebench_hf.errors import MALFORMED, UserError, refused
from truebench_hf.options import InMemory
from truebench_hf.text.terminal import shortened

_FIRST = (".jsonl", ".ndjson", ".parquet", ".csv")  # in folders a .json beside these describes the data
_IN_FOLDERS = tuple(name for name in FORMS if name != ".txt")  # a .txt beside these is a note or a licence
_SHOWN = 200  # characters of what was given for data: no id of the Hub has more
_SAVED = ("dataset_dict.json", "state.json")  # what `save_to_disk` writes beside the rows
_HUB = re.compile(
    r"(?:hf://datasets/|https?://(?:huggingface\.co|hf\.co)/datasets/)?([A-Za-z0-9][\w.-]*/[\w.-]+)(@[\w./-]+)?/?"
)
_LANGUAGE = re.compile(r"[a-z]{2}([_-][A-Za-z]{2,4})?")  # en, pt_BR
_HUB_FILE = re.compile(r"https?://[^/]+/datasets/[\w.-]+/[\w.-]+/(?:resolve|blob)/.+")


@dataclass(frozen=True)
class Rows:
    """The rows of one split, read anew each time; iterating raises UserError on the first malformed one.

    `entries()` has in place of a malformed row its error; `files` are those that the rows stand in, if they do, `name`
    is what places of rows begin with.
    """

    entries: Callable[[], Iterator[Entry]]
    name: str
    files: tuple[Path, ...] = ()

    def __iter__(self) -> Iterator[Record]:
        return sound(self.entries())


Splits = dict[str, Rows]


def is_source(data: object) -> bool:
    """Whether data is written `SOURCE:PATH`; a URL and a file of such a name are none."""
    kind, colon, path = data.partition(":") if isinstance(data, str) else ("", "", "")
    return bool(colon) and kind.isidentifier() and not path.startswith("//") and not what_is(Path(str(data)))


def splits(data: str, built_in: Sequence[str] = (), flag: str = "--data", config: str | None = None) -> Splits:
    """The rows by split, each read when it is asked for, of a file (whose split is ""), a folder or a Hub id.

    A folder is a checkout of a data set (its README says which files are of which split; so is what `truebench data
    build` wrote), what `save_to_disk` wrote, or holds files named by split. A Hub id is `org/name` or
    `org/name@revision`. `config` is the configuration to read where the set has several. Raises UserError naming what is wrong and, where nothing is found, what can be given.
    """
    path = Path(data).expanduser() if data.startswith("~/") else Path(data)
    kind = what_is(path)
    if kind in ("file", "stream"):
        return {"": of_files({path: str(path)})}
    if data and kind == "folder":
        return _folder(path, flag, config)
    if len(data) <= _SHOWN and (named := _HUB.fullmatch(data)) and path.suffix not in (*FORMS, ".gz"):
        from datasets import load_dataset

        name, revision = named[1], named[2] or ""
        with refused(f"{flag} {name}{revision}: no such path, and cannot be loaded from the Hub"):
            tables = load_dataset(name, config, revision=revision[1:] or None)
        return of_tables(dict(tables), f"{name}{revision}")
    # Of a source `data build` makes a set that stays; anything else on the web would be fetched each time.
    if flag != "--source" and not _HUB_FILE.fullmatch(data):
        check_path(data, f"{flag} ")
    if data.startswith(("hf://", "http://", "https://")):
        return _by_name(downloaded([data], flag))
    fault = _unfit("truebench_mini" if data == "mini" else data, built_in) or "no such file"
    kinds = "a path (JSONL, JSON, CSV, XLSX, TXT or Parquet, or a folder of them)"
    raise UserError(f"{flag} {shortened(data, _SHOWN)}: {fault}; give {', '.join((*built_in, kinds))} or a Hub id")


def one_split(data: str, built_in: Sequence[str] = (), flag: str = "--data") -> Iterable[Record]:
    """The rows of the split named test, or of the only one; rows in memory as they are. Raises UserError as `splits`."""
    if isinstance(data, InMemory):
        return (Record(f"row {number}", row, number - 1) for number, row in enumerate(data.value, 1))
    return the_one(splits(data, built_in, flag), f"{flag} {data}")


def the_one(splits: Splits, what: str, together: bool = False) -> Rows:
    """The rows of the split named test, or of the only one; where all are named by languages, of all of them.

    Those of all splits `together`, if so asked. Raises UserError where several are left of which one must be chosen.
    """
    first, *others = splits.values()
    if all(_LANGUAGE.fullmatch(name) for name in splits):
        return _of_languages(splits)
    of_a_run = any((file.parent / "run.json").is_file() for rows in splits.values() for file in rows.files)
    if together and not of_a_run:
        return Rows(lambda: (entry for rows in splits.values() for entry in rows.entries()), first.name)
    if "test" in splits or not others:
        return splits.get("test", first)
    names = ", ".join(splits)
    in_files = all(rows.files for rows in splits.values())
    if in_files and of_a_run:
        remedy = "give the data that it was made with, or the file of it that holds rows"
        raise UserError(f"{what}: is the folder of a run, with {names}; {remedy}")
    remedy = "give the file of the one you mean" if in_files else "save the one you mean to a file, and give that"
    raise UserError(f"{what}: has no split test, and more than one other: {names}; {remedy}")


def _of_languages(splits: Splits) -> Rows:
    """The rows of all splits; the language of those that name none is what their split is called."""

    def read() -> Iterator[Entry]:
        for name, rows in splits.items():
            for entry in rows.entries():
                if isinstance(entry, Record) and not any(entry.row.get(field) for field in ("language", "lang")):
                    entry = replace(entry, row={**entry.row, "language": name})
                yield entry

    files = tuple(file for rows in splits.values() for file in rows.files)
    return Rows(read, next(iter(splits.values())).name, files)


def records(path: Path) -> Iterator[Record]:
    """The rows of one file, in order. Raises UserError on a malformed row, and as `RowFile` does."""
    return sound(RowFile.at(path).entries())


def of_files(names: dict[Path, str], empty: bool = False) -> Rows:
    """The rows of these files, one after the other; `names` are what they are called in messages.

    With `empty` files without rows are none to complain of.
    """
    opened = cache(RowFile.at)  # a stream can be read once

    def read() -> Iterator[Entry]:
        paths = (path for path in names if not empty or path.stat().st_size)
        return chain.from_iterable(opened(path, names[path]).entries() for path in paths)

    called = list(names.values())
    return Rows(read, called[0] if len(called) == 1 else os.path.commonpath(called), tuple(names))


def downloaded(urls: Sequence[str], flag: str = "--data") -> dict[Path, str]:
    """Files of the Hub (`hf://datasets/org/name/...`, also with wildcards, or a folder) or the web, kept in the cache of
    `datasets`; by their local path what they are. Raises UserError where they cannot be had."""
    from datasets import DownloadManager
    from datasets.data_files import DataFilesList

    with refused(f"{flag} {', '.join(urls)}: cannot be had", "; download it and give its path"):
        files: list[str] = []
        for url in urls:
            url = url.replace("/blob/", "/resolve/", 1) if "/datasets/" in url else url
            if not url.startswith("hf://") or form(url):
                files += DataFilesList.from_patterns([url])
            else:
                inside = DataFilesList.from_patterns([url if "*" in url else f"{url.rstrip('/')}/**"])
                files += [file for file in inside if form(file) in _IN_FOLDERS]
        return dict(zip(map(Path, DownloadManager().download(files)), files, strict=True))


def _folder(folder: Path, flag: str, config: str | None) -> Splits:
    if any((folder / name).is_file() for name in _SAVED):
        from datasets import Dataset, load_from_disk

        with refused(f"{flag} {folder}: cannot be read as what save_to_disk writes", "", *MALFORMED):
            saved = load_from_disk(str(folder))
        return of_tables({"": saved} if isinstance(saved, Dataset) else dict(saved), str(folder))
    if named := _of_card(folder, flag, config):
        return {split: of_files({Path(file): file for file in files}, empty=True) for split, files in named.items()}
    inside = folder / "data"
    files = sorted(path for path in (inside if inside.is_dir() else folder).iterdir() if path.is_file())
    chosen = [p for p in files if form(p.name) in _FIRST] or [p for p in files if form(p.name) in _IN_FOLDERS]
    if not chosen:
        raise UserError(f"{flag} {folder}: holds no {', '.join(_IN_FOLDERS)} files; give a file, or such a folder")
    return _by_name({path: str(path) for path in chosen})


def _by_name(names: dict[Path, str]) -> Splits:
    """Files by the split that their names begin with; one file alone is of no split."""
    by_split: dict[str, dict[Path, str]] = {}
    for path, name in names.items():
        by_split.setdefault(re.split(r"[-.]", Path(name).name)[0], {})[path] = name
    return {split: of_files(files, empty=True) for split, files in by_split.items()}


def _of_card(folder: Path, flag: str, config: str | None) -> dict[str, list[str]]:
    """The files by split that the card of a data set names, without `config` of its default one; {} where it names none."""
    readme = folder / "README.md"
    if not readme.is_file() or not re.search(r"^configs:", readme.read_text("utf-8", "replace"), re.MULTILINE):
        return {}
    from datasets import load_dataset_builder

    with refused(f"{flag} {folder}: its README.md does not say where the rows are", "", *MALFORMED):
        files = load_dataset_builder(str(folder), config).config.data_files
    return {split: list(named) for split, named in dict(files or {}).items()}


def of_tables(tables: dict[str, Any], name: str) -> Splits:
    """The rows of `datasets.Dataset`s by split, class labels by their names."""

    def rows(table: Any) -> Iterator[Entry]:
        features = with_classes(table.features.to_dict())
        for number, row in enumerate(table):
            where = f"{name}, row {number}"
            cells = labelled(row, features, where)
            yield cells if isinstance(cells, UserError) else Record(where, cells, number)

    return {split: Rows(lambda table=table: rows(table), name) for split, table in tables.items()}  # type: ignore[misc]


def _unfit(name: str, built_in: Sequence[str]) -> str:
    """What is wrong with the name of a data set that there is, but not for this command; "" for any other text."""
    from truebench_hf.data.catalogue import CATALOGUE
    from truebench_hf.data.sources.forms import sets

    if name.partition(":")[0] in sets() and ":" in name:
        return f"rubrics of others are built first: run `truebench data build training --source {name} --out DIR`, and give DIR"
    if name not in CATALOGUE:
        return ""
    what = CATALOGUE[name]
    if any(other in CATALOGUE and CATALOGUE[other].paper == what.paper for other in built_in):
        return f"is built first: run `truebench data build {name} --source FILE --out DIR`, and give DIR"
    reads = f" (`truebench {what.command}` reads it)" if what.command else ""
    return f"does not fit this command{reads}"


T = TypeVar("T")
_NAMED, _LONGEST = 3, 300


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What of a file's `rows` cannot be used: a reason per row, each with the place where it stands."""

    file: str = ""
    rows: int = 0
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reasons)

    def __str__(self) -> str:
        """One line, with the file by its name alone: cards show it to strangers."""
        return f"{Path(self.file).name}: {self.summary}"

    @property
    def summary(self) -> str:
        """How many rows cannot be used, and the first reasons, places without the file."""
        places = [text.replace(f"{self.file}, ", "").replace(f"{self.file}/", "") for text in self.reasons[:_NAMED]]
        more = [f"and {len(self.reasons) - _NAMED:,} more"] if len(self.reasons) > _NAMED else []
        why = "; ".join([*(shortened(text, _LONGEST) for text in places), *more])
        return f"{len(self.reasons):,} of {self.rows:,} rows cannot be used and are left out: {why}"


@dataclass
class Sieve(Generic[T]):
    """What `parse` makes of each row, as it is asked for; a row that is malformed, or for which it raises UserError, is
    left out, and after the last row `left_out` tells of all of them.

    So is a row that makes something whose `key` an earlier one has. `name` is what the rows stand in. Iterating raises
    UserError on a file that cannot be read, at its end if more than half of it cannot be used, and with `strict` on the
    first row that cannot.
    """

    name: str
    entries: Iterable[Entry]
    parse: Callable[[Record], Iterable[T]]
    key: Callable[[T], object] | None = None
    strict: bool = False
    left_out: LeftOut = field(default_factory=LeftOut, init=False)

    def __iter__(self) -> Iterator[T]:
        reasons: list[str] = []
        seen: dict[object, str] = {}
        rows = 0
        for rows, entry in enumerate(self.entries, 1):
            try:
                if isinstance(entry, UserError):
                    raise entry
                items = list(self.parse(replace(entry, number=rows - 1)))  # among those of all files
                keys = [self.key(item) for item in items] if self.key else []
                for key in keys:
                    if key in seen:
                        raise UserError(f"{entry.where}: id {key!r} stands twice, first at {seen[key]}")
                seen |= dict.fromkeys(keys, entry.where)
            except UserError as error:
                if self.strict:
                    raise
                reasons.append(str(error))
            else:
                yield from items
        self.left_out = LeftOut(self.name, rows, tuple(reasons))
        if 2 * len(reasons) > rows:
            raise UserError(f"{self.name}: {self.left_out.summary}; is it the right file?")


class Usable(list[T]):
    """What was made of the rows of a file that can be used, in their order; `left_out` tells of the others."""

    def __init__(self, items: Iterable[T] = (), left_out: LeftOut | None = None) -> None:
        super().__init__(items)
        self.left_out = LeftOut() if left_out is None else left_out


def unusable(items: Sequence[object]) -> tuple[str, ...]:
    """Why rows were left out of what was read; nothing where all can be used."""
    return items.left_out.reasons if isinstance(items, Usable) else ()


def together(file: str | Path, outs: Iterable[LeftOut]) -> LeftOut:
    """What is left out of several files of one folder."""
    outs = list(outs)
    return LeftOut(str(file), sum(out.rows for out in outs), tuple(reason for out in outs for reason in out.reasons))
