"""The answers of `truebench generate`, kept for `truebench judge`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.types import Instance, Message, Response, Usage

RESPONSES = "responses.jsonl"


def response_row(answered: tuple[Instance, Response]) -> dict[str, Any]:
    """The line of `responses.jsonl` for an instance with its response."""
    return asdict(answered[0]) | {"response": asdict(answered[1])}


def read_responses(path: Path) -> list[tuple[Instance, Response]]:
    """The instances of a run folder with their responses.

    Raises UserError where there are none, naming the line that is none, and where they are of another model or other
    data than `run.json` says: left over from before a `generate` that was stopped.
    """
    file = path / RESPONSES
    settings = read_info(path).get("settings")
    if not settings or not file.is_file() or not file.stat().st_size:
        raise UserError(f"--out {path}: holds no answers; run `truebench generate` with this folder first")
    found = []
    for where, row in jsonl.read(file):
        try:
            found.append(_read_response(row))
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{where}: cannot be read ({error}); generate again") from error
    model, again = settings.get("model"), "finish `truebench generate` with this folder first"
    if others := {response.model for _, response in found} - {model}:
        raise UserError(f"{file} holds answers of {min(others)}, run.json there is about {model}; {again}")
    if data.data_hash([instance for instance, _ in found]) != settings.get("data_sha256"):
        raise UserError(f"{file} does not hold the instances that run.json there is about; {again}")
    return found


def _read_response(row: dict[str, Any]) -> tuple[Instance, Response]:
    official = {
        "index": row["id"],
        "language": row["language"],
        "category": row["category"],
        "sub_category": row["task"],
    }
    official["input"] = [turn["prompt"] for turn in row["turns"]]
    official["criteria"] = [[criterion["text"] for criterion in turn["criteria"]] for turn in row["turns"]]
    kept = row["response"]
    response = Response(
        kept["instance_id"], str(kept["model"]), tuple(Message(**message) for message in kept["messages"]),
        tuple(kept["reasoning"]), Usage(**kept["usage"]), kept["error"], tuple(kept["truncated"]),
    )  # fmt: skip
    return data.parse_row(official, f"instance {row['id']}"), response
