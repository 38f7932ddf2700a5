"""However large a source is, a build holds a few rows of it at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MOST = 150  # megabytes above what the imports take
_CHILD = """
import sys
from pathlib import Path
from truebench_hf.loaders import export
from truebench_hf.loaders.prepare import corpus
def held(what):
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(what)).split()[1]) / 1024
name, source, out = sys.argv[1:]
corpus(name)
import pyarrow.parquet, datasets.arrow_writer, huggingface_hub.repocard
before = held("VmRSS")
built = export.export(name, Path(out), source=source)
print(before, held("VmHWM"), sum(built.facts.rows[corpus(name).PREPARED[0]].values()))
"""


def row(name: str, number: int) -> dict[str, Any]:
    """A row of some kilobytes with ids of its own."""
    text = f"{number} " + "many words of a request that is long " * 40
    if name == "truebench":
        languages, kinds = ("KO", "EN", "DE"), ("Editing", "Reasoning", "Safety")
        kind = {"language": languages[number % 3], "category": kinds[number % 2], "sub_category": f"s{number % 7}"}
        return {"index": number, **kind, "turns": 1, "criteria": [["is short", "is kind"]], "input": [text]}
    columns = ("system_instruction", "user_request", "context_document", "full_prompt")
    return dict.fromkeys(columns, "Only the text.") | {"context_document": text * 60}  # a document of 90 kB


def measured(name: str, megabytes: int, folder: Path) -> float:
    """The megabytes that a build of so many takes at most above its imports."""
    source = folder / "rows.jsonl"
    rows = 0
    with source.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes << 20:
            file.write(json.dumps(row(name, rows)) + "\n")
            rows += 1
    told = [sys.executable, "-c", _CHILD, name, str(source), str(folder / "out")]
    before, peak, built = map(float, subprocess.run(told, capture_output=True, text=True, check=True).stdout.split())
    assert built == rows
    return peak - before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truebench", "facts_grounding"])
def test_a_build_holds_a_few_rows_at_a_time(tmp_path: Path, name: str) -> None:
    assert measured(name, 40, tmp_path) < MOST
