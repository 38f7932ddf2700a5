"""Small pieces that tests of runs share: data rows, scripts, callers on a fresh ledger, the real command."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from truebench_hf.engine.ledger import Calls
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel

ROOT = Path(__file__).parents[2]
RELEASE = ROOT.parent / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"
needs_release = pytest.mark.skipif(not RELEASE.is_file(), reason="the real file ../shared/data/truebench is not here")


def row(index: int | str, turns: Sequence[tuple[str, Sequence[str]]], **more: Any) -> dict[str, Any]:
    """A row with the official columns; `turns` pairs each prompt with its criteria."""
    base = {"index": index, "language": "EN", "category": "Editing", "sub_category": "Rewrite", "turns": len(turns)}
    return base | {"input": [p for p, _ in turns], "criteria": [list(c) for _, c in turns]} | more


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any] | str]) -> str:
    """Write rows (or ready lines) one a line; returns the path as text."""
    lines = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


def held(path: Path) -> Any:
    """What a JSON file holds; of JSON Lines all rows."""
    text = path.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)


def calls_by_role(out: Path) -> dict[str, int]:
    """How many calls the ledger of a run folder holds."""
    with closing(sqlite3.connect(out / "ledger.sqlite")) as ledger:
        return dict(ledger.execute("SELECT role, COUNT(*) FROM calls GROUP BY role").fetchall())


def script(path: Path, rules: Sequence[Mapping[str, Any]], default: Mapping[str, Any] | None = None) -> str:
    """Write a rules file for a scripted model; returns its spec. The name settles the model's family."""
    content: dict[str, Any] = {"rules": list(rules)}
    path.write_text(json.dumps(content | ({"default": default} if default else {})), encoding="utf-8")
    return f"scripted:{path}"


def run_scores(folder: Path, model: str | None = None) -> dict[str, Any]:
    """The scores of a TRUEBench run by name, or by group and name, as scores.json has them; of several models of one."""
    rows = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["scores"]
    scores: dict[str, Any] = {}
    for record in rows:
        if record["model"] == (model or rows[0]["model"]):
            (scores.setdefault(record["group"], {}) if record["group"] else scores)[record["name"]] = record["score"]
    return scores


def caller(model: ChatModel, role: str = "judge", concurrency: int = 4) -> Caller:
    """A caller with an empty ledger in memory."""
    return Caller(model, Calls(Path(":memory:")), role, concurrency)


def command(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `truebench` in its own process."""
    return forked.truebench(arguments, cwd or ROOT, {**os.environ, "COLUMNS": "200", **env})


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def command_here(capsys: pytest.CaptureFixture[str], *arguments: str) -> Done:
    """Run `truebench` inside this process, which saves the seconds that a new one needs to start."""
    from truebench_hf.cli.app import run

    before, sys.argv = sys.argv, ["truebench", *arguments]
    try:
        run()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.argv = before
    return Done(code, *capsys.readouterr())
