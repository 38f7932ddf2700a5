"""`python -m truebench_hf.loaders.all_cards FOLDER`: write the card of every data set."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from truebench_hf.data.catalogue import CATALOGUE
from truebench_hf.loaders.card import render
from truebench_hf.loaders.corpora import corpus
from truebench_hf.loaders.export import export


def write_all(folder: Path) -> list[str]:
    """Write the card of every set into `folder`; those that need the user's file are written without counts.

    TRUEBench is built from its pinned release, which is fetched if need be. Returns the names.
    """
    for entry in CATALOGUE.values():
        if entry.source is None or entry.name in ("truebench", "flexbench"):
            with TemporaryDirectory() as scratch:
                text = (export(entry.name, Path(scratch, "built")).folder / "README.md").read_text("utf-8")
        else:
            text = render(entry, None, tuple(config.name for config in corpus(entry.name).builder.BUILDER_CONFIGS))
        (folder / f"{entry.name}.md").write_text(text, encoding="utf-8")
    return list(CATALOGUE)


if __name__ == "__main__":
    print(f"wrote the cards of {', '.join(write_all(Path(sys.argv[1])))}")
