"""The answers of `truebench generate`, kept for `truebench judge`."""

from __future__ import annotations

from pathlib import Path

from truebench_hf import jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.records import RESPONSES, Reader
from truebench_hf.types import Instance, Response


def read_responses(path: Path) -> list[tuple[Instance, Response]]:
    """The instances of a run folder with their responses.

    Raises UserError where there are none, naming the line that is none, and where they are of another model or other
    data than `run.json` says: left over from before a `generate` that was stopped.
    """
    file = path / RESPONSES
    settings = read_info(path).get("settings")
    if not settings or not file.is_file() or not file.stat().st_size:
        raise UserError(f"--out {path}: holds no answers; run `truebench generate` with this folder first")
    reader = Reader()
    try:
        found = [reader.answered(row, where) for where, row in jsonl.read(file)]
    except UserError as error:
        raise UserError(f"{error}; generate again") from error
    model, again = settings.get("model"), "finish `truebench generate` with this folder first"
    if others := {response.model for _, response in found} - {model}:
        raise UserError(f"{file} holds answers of {min(others)}, run.json there is about {model}; {again}")
    if data.data_hash([instance for instance, _ in found]) != settings.get("data_sha256"):
        raise UserError(f"{file} does not hold the instances that run.json there is about; {again}")
    return found
