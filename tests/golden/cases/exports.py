"""`study export` in every form that needs no other library, of a run with all that is hard to export.

The log of inspect and its task need `inspect_ai`, whose pins collide with ours: they run in an environment of their own
(`sh tests/integrations/setup.sh`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts
from tests.integrations.test_neighbours_read import python
from tests.support.runs import ROOT

FAULT = {"text": "is rude", "weight": -2, "kind": "tone"}
ROWS: list[dict[str, Any]] = [
    {"id": "talk", "system": "Be brief.", "context": "Tea has caffeine.", "language": "EN", "category": "chat",
     "turns": [{"prompt": "One <talk>?", "criteria": ["is short"]}, {"prompt": "Two <talk>?", "criteria": ["is kind", FAULT]}]},
    {"id": "alone", "prompt": "Alone <alone>?", "reference": "Yes.", "criteria": [{"text": "is =right", "weight": 3}, FAULT]},
    {"id": "dark", "prompt": "Dark <dark>?", "criteria": ["is seen"]},
    {"id": "gone", "prompt": "Gone <gone>?", "context": "A context.", "criteria": ["is there"]},
]  # fmt: skip
MODEL: list[dict[str, Any]] = [
    {"contains": "<talk>", "reply": {"text": "Of talk.", "reasoning": "hm"}},
    {"contains": "<alone>", "reply": '=Of alone, "quoted"\nand on a second line.'},
    {"contains": "<dark>", "reply": "Of dark."},
    {"contains": "<gone>", "error": "http://10.0.0.1/secret is down"},
]
JUDGE: list[dict[str, Any]] = [
    {"contains": "is seen", "error": "no judge"},
    {"contains": "Of talk", "verdicts": {"rude": "FAIL"}},
    {"contains": "Of alone", "verdicts": {"=right": "FAIL"}},
]


def _write() -> None:
    rows("data", ROWS)
    scripts({"model": MODEL, "judge": JUDGE}, {"reply": "?"})


_RUN = "run --data data.jsonl --model scripted:model.json --judge scripted:judge.json --out out --allow-unscored"
CASES = (
    Case(
        "export", _write,
        (
            _RUN,
            "study export out --to every-eval-ever --out eee --organization Us --relationship third_party",
            "study export out --to verifiers --out verifiers",
            "study export out --to csv --out csv",
            "study export out --to parquet --out parquet",
            "study export out --to tables --out refused",
        ),
    ),
)  # fmt: skip


def _inspect() -> None:
    Path("inspect").mkdir()
    python("inspect", str(ROOT / "tests/integrations/inspect_writes.py"), "inspect", folder=Path.cwd())


ELSEWHERE = (Case("inspect", _write, (_inspect,)),)
