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

from truebench_hf.data.catalogue import CATALOGUE, Entry, entry
from truebench_hf.data.row_files import LeftOut, together
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import Builder, Data, SourceBuilder
from truebench_hf.loaders.card import CardFacts, counted, eval_yaml, render
from truebench_hf.loaders.prepare import build, corpus
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
    if out.is_file():
        raise UserError(f"--out {out}: is a file; give a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / MANIFEST).is_file():
        raise UserError(f"--out {out}: holds something else than an earlier build; give a new folder")
    what = entry(name)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
        (part := Path(scratch) / "built").mkdir()
        data, builders = build(
            what.name, part, {"source": source, "split": split, "columns": columns, "strict": strict}
        )
        # Several builders may have read one file.
        outs = {file: rows for b in builders if isinstance(b, SourceBuilder) for file, rows in b.outs.items()}
        left_out = together(builders[0].left_out.file, outs.values())
        facts = _facts(what, data, builders, left_out)
        (part / "README.md").write_text(render(what, facts, ()), encoding="utf-8")
        if what.benchmark and not facts.version.startswith("sha256"):  # only of a release scores can be compared
            (part / "eval.yaml").write_text(eval_yaml(what, facts.rows), encoding="utf-8")
        reasons = [reason.replace(left_out.file, Path(left_out.file).name) for reason in left_out.reasons]
        content = {"name": what.name, "version": facts.version, "truebench_hf": __version__, "rows": facts.rows}
        text = json.dumps(content | {"left_out": reasons}, indent=2)
        (part / MANIFEST).write_text(f"{text}\n", encoding="utf-8")
        if out.exists():
            shutil.move(out, Path(scratch) / "old")
        part.rename(out)
    return Built(what.name, out, facts)


def _facts(what: Entry, data: Data, builders: Sequence[Builder], left_out: LeftOut) -> CardFacts:
    """The figures of built data for the card."""
    kind, about = corpus(what.name), builders[0].about(data)
    tables = [table for config in kind.PREPARED if config in data for table in data[config].values()]
    codes = {str(code).casefold() for t in tables if "language" in t.names for code in t.column("language")}
    mended = sum(builder.mended for builder in builders)
    notes = [str(left_out)] if left_out else []
    notes += [f"{mended:,} rows held half a character (a lone surrogate), now U+FFFD"] if mended else []
    first = data[kind.PREPARED[0]]
    counts = (counted(column, {s: rows.column(column) for s, rows in first.items()}) for column in kind.COUNTED)
    return CardFacts(
        version=about.version,
        rows={config: {split: len(table) for split, table in splits.items()} for config, splits in data.items()},
        languages=tuple(sorted(code for code in codes if re.fullmatch("[a-z]{2,3}", code))) or what.languages,
        totals=builders[0].totals(data),
        tables=(*about.tables, *counts),
        notes=(*notes, *about.notes),
    )


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


if __name__ == "__main__":
    print(f"wrote the cards of {', '.join(write_all(Path(sys.argv[1])))}")
