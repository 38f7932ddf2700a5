"""Export a data set as the folder that `load_dataset` reads and the Hub takes: Parquet, card, eval.yaml, build.json."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf import __version__
from truebench_hf.errors import UserError
from truebench_hf.loaders.card import Facts, data_file, eval_yaml, render
from truebench_hf.loaders.catalogue import corpus, entry
from truebench_hf.loaders.counts import counted
from truebench_hf.loaders.prepare import Reading, named, quiet, whole
from truebench_hf.loaders.source import resolve
from truebench_hf.loaders.usable import LeftOut

MANIFEST = "build.json"


@dataclass(frozen=True)
class Built:
    """A built folder and what is in it."""

    name: str
    folder: Path
    facts: Facts


def export(
    name: str,
    out: Path,
    *,
    source: str | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Built:
    """Build data set `name` into folder `out`, which must be absent, empty or an earlier build.

    All is written to a folder beside `out` that takes its name at the end, so `out` is never half-written. Rows that
    cannot be used are left out: the first note of the facts counts them, and build.json holds every reason. Raises
    UserError on a source that is not there or is mostly of such rows, and with `strict` on the first of them.
    """
    _check_out(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        (part := Path(scratch) / "built").mkdir()
        (fetched := Path(scratch) / "source").mkdir()
        reading = Reading(resolve(name, source, fetched), split, columns or {}, strict)
        data, left_out = whole(name, reading)
        facts = facts_of(name, data, reading)
        facts = replace(facts, notes=(str(left_out), *facts.notes)) if left_out else facts
        with quiet():
            _write(name, data, facts, left_out, part)
        if out.exists():
            shutil.move(out, Path(scratch) / "old")
        part.rename(out)
    return Built(name, out, facts)


def facts_of(name: str, data: Mapping[str, Any], reading: Reading) -> Facts:
    """The figures of prepared data (configuration -> DatasetDict) for the card."""
    its = corpus(name)
    prepared = {config: {s: named(table) for s, table in data[config].items()} for config in its.configs}
    about = its.about(reading.source, prepared)
    every = [row for splits in prepared.values() for rows in splits.values() for row in rows]
    languages = {str(row.get("language", "")).casefold() for row in every}
    counts = tuple(counted(column, prepared[its.configs[0]]) for column in its.counted)
    return Facts(
        version=about.version,
        rows={config: {split: len(table) for split, table in splits.items()} for config, splits in data.items()},
        languages=tuple(sorted(code for code in languages if re.fullmatch("[a-z]{2,3}", code)))
        or entry(name).languages,
        totals=its.totals(prepared),
        tables=(*about.tables, *counts),
        notes=about.notes,
    )


def _write(name: str, data: Mapping[str, Any], facts: Facts, left_out: LeftOut, folder: Path) -> None:
    for config, splits in data.items():
        for split, table in splits.items():
            path = folder / data_file(config, split)
            path.parent.mkdir(parents=True, exist_ok=True)
            table.to_parquet(path)
    (folder / "README.md").write_text(render(entry(name), facts, ()), encoding="utf-8")
    if entry(name).benchmark and not facts.version.startswith("sha256"):  # only of a release scores can be compared
        (folder / "eval.yaml").write_text(eval_yaml(entry(name), facts.rows), encoding="utf-8")
    manifest = {"name": name, "version": facts.version, "truebench_hf": __version__, "rows": facts.rows}
    manifest |= {"left_out": [reason.replace(left_out.file, Path(left_out.file).name) for reason in left_out.reasons]}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def manifest(folder: Path) -> dict[str, Any]:
    """What build.json says of a built folder. Raises UserError where the folder is no build."""
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        entry(content["name"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{folder}: is not what `truebench data build` writes ({MANIFEST}: {error})") from error
    return dict(content)


def _check_out(out: Path) -> None:
    if out.is_file():
        raise UserError(f"--out {out}: is a file; give a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise UserError(f"--out {out}: holds something else than an earlier build; give a new folder")
