"""Export a data set as the folder that `load_dataset` reads and the Hub takes: Parquet, card, eval.yaml, build.json.

`python -m truebench_hf.loaders.export FOLDER` writes the card of every data set.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.data.catalogue import CATALOGUE, entry
from truebench_hf.data.usable import LeftOut, together
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import Builder, Data, SourceBuilder
from truebench_hf.loaders.card import CardFacts, counted, eval_yaml, render
from truebench_hf.loaders.prepare import Reading, build, corpus
from truebench_hf.version import __version__

MANIFEST = "build.json"


@dataclass(frozen=True)
class Built:
    """A built folder and what is in it."""

    name: str
    folder: Path
    facts: CardFacts


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
    name = entry(name).name
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        (part := Path(scratch) / "built").mkdir()
        data, builders = build(name, Reading(source, split, columns or {}, strict), part)
        left_out = _left_out(builders)
        _write(name, facts := facts_of(name, data, builders, left_out), left_out, part)
        if out.exists():
            shutil.move(out, Path(scratch) / "old")
        part.rename(out)
    return Built(name, out, facts)


def facts_of(name: str, data: Data, builders: Sequence[Builder], left_out: LeftOut) -> CardFacts:
    """The figures of built data for the card."""
    first, its = builders[0], corpus(name)
    made = [split for config in its.PREPARED if config in data for split in data[config].values()]
    languages = {
        str(code).casefold() for split in made if "language" in split.names for code in split.column("language")
    }
    about = first.about(data)
    mended = sum(builder.mended for builder in builders)
    notes = [str(left_out)] if left_out else []
    notes += [f"{mended:,} rows held half a character (a lone surrogate), now U+FFFD"] if mended else []
    splits = data[its.PREPARED[0]]
    counts = (counted(column, {s: rows.column(column) for s, rows in splits.items()}) for column in its.COUNTED)
    return CardFacts(
        version=about.version,
        rows={config: {split: len(table) for split, table in splits.items()} for config, splits in data.items()},
        languages=tuple(sorted(code for code in languages if re.fullmatch("[a-z]{2,3}", code)))
        or entry(name).languages,
        totals=first.totals(data),
        tables=(*about.tables, *counts),
        notes=(*notes, *about.notes),
    )


def _left_out(builders: Sequence[Builder]) -> LeftOut:
    """What no builder could use; several may have read one file."""
    outs = {
        file: out for builder in builders if isinstance(builder, SourceBuilder) for file, out in builder.outs.items()
    }
    return together(builders[0].left_out.file, outs.values())


def _write(name: str, facts: CardFacts, left_out: LeftOut, folder: Path) -> None:
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


def write_all(folder: Path) -> list[str]:
    """Write the card of every set into `folder`; those that need the user's file are written without counts.

    TRUEBench is built from its pinned release, which is fetched if need be. Returns the names.
    """
    for what in CATALOGUE.values():
        if what.source is None or what.name in ("truebench", "flexbench"):
            with tempfile.TemporaryDirectory() as scratch:
                text = (export(what.name, Path(scratch, "built")).folder / "README.md").read_text("utf-8")
        else:
            text = render(what, None, tuple(config.name for config in corpus(what.name).BUILDER_CONFIGS))
        (folder / f"{what.name}.md").write_text(text, encoding="utf-8")
    return list(CATALOGUE)


def _check_out(out: Path) -> None:
    if out.is_file():
        raise UserError(f"--out {out}: is a file; give a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise UserError(f"--out {out}: holds something else than an earlier build; give a new folder")


if __name__ == "__main__":
    print(f"wrote the cards of {', '.join(write_all(Path(sys.argv[1])))}")
