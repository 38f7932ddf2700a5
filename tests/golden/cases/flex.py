"""`flex study decompose`: three instructions of people, two of ours, and a judge that prefers by its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.golden.case import Case, run_command
from tests.golden.cases.inputs import rows, scripts
from truebench_hf.benchmarks.flexbench.decomposition import CRITERIA
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml

HUMAN = {
    "travel": ["north: asks for a hotel?", "near: names a limit?", "east: reminds of the form?"],
    "refund": ["north: asks for the receipt?"],
    "weather": ["far: says where?", "east: says when?"],
}
OURS = {
    "travel": ["north: is a hotel asked about?", "far: is the limit of 140 named?"],
    "refund": ["east: is the customer greeted?", "near: is the receipt asked for?"],
}
# A question's vector, by its first word: cosines 1, 0.8, 0.6 and 0.
VECTORS = {"north": (1, 0), "near": (0.8, 0.6), "far": (0.6, 0.8), "east": (0, 1)}


def _vectors(texts: Sequence[str]) -> Any:
    import numpy as np

    return np.array([VECTORS[text.partition(":")[0]] for text in texts], dtype=np.float32)


def _write_decomposed() -> None:
    rows("human", [{"id": name, "instruction": f"Do {name}.", "questions": asked} for name, asked in HUMAN.items()])
    for name, asked in OURS.items():
        dimensions = tuple(Dimension(f"d{number}", question) for number, question in enumerate(asked, 1))
        place = Path("ours", "procedures", name)
        place.mkdir(parents=True)
        place.joinpath("procedure.yaml").write_text(
            as_yaml(Procedure(name, f"Do {name}.", dimensions)), encoding="utf-8"
        )
    first = json.dumps(dict.fromkeys(CRITERIA, "A"))
    scripts({"judge": [{"contains": ["Do refund."], "reply": f"List A.\n```json\n{first}\n```"}]}, {
        "reply": f"Alike.\n```json\n{json.dumps(dict.fromkeys(CRITERIA, 'TIE') | {'overall': 'B'})}\n```"})  # fmt: skip


def _decompose(options: str) -> Callable[[], str]:
    """A step: the command with vectors of our own in place of those of a model that would have to be fetched."""

    def step() -> str:
        with mock.patch("truebench_hf.benchmarks.flexbench.decomposition.embed", _vectors):
            return run_command(f"flex study decompose ours --human human.jsonl {options}")

    return step


CASES = (
    Case("flex-decompose", _write_decomposed, (
        _decompose("--judge scripted:judge.json --out out"),
        _decompose("--out alone"),
    )),
)  # fmt: skip
