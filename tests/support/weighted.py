"""A run with all that is hard to export: turns, a context, a fault, an answer nobody judged, and one that failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.truebench.options import RunOptions
from truebench_hf.benchmarks.truebench.study import run as run_study


def weighted_run(folder: Path) -> str:
    """Its folder."""
    fault = {"text": "is rude", "weight": -2, "kind": "tone"}
    rows: list[dict[str, Any]] = [
        {"id": "talk", "system": "Be brief.", "context": "Tea has caffeine.", "language": "EN", "category": "chat",
         "turns": [{"prompt": "One <talk>?", "criteria": ["is short"]}, {"prompt": "Two <talk>?", "criteria": ["is kind", fault]}]},
        {"id": "alone", "prompt": "Alone <alone>?", "reference": "Yes.", "criteria": [{"text": "is =right", "weight": 3}, fault]},
        {"id": "dark", "prompt": "Dark <dark>?", "criteria": ["is seen"]},
        {"id": "gone", "prompt": "Gone <gone>?", "context": "A context.", "criteria": ["is there"]},
    ]  # fmt: skip
    replies = [
        {"contains": "<talk>", "reply": {"text": "Of talk.", "reasoning": "hm"}},
        {"contains": "<alone>", "reply": "Of alone."},
        {"contains": "<dark>", "reply": "Of dark."},
        {"contains": "<gone>", "error": "http://10.0.0.1/secret is down"},
    ]
    judging = [
        {"contains": "is seen", "error": "no judge"},
        {"contains": "Of talk", "verdicts": {"rude": "FAIL"}},
        {"contains": "Of alone", "verdicts": {"=right": "FAIL"}},
    ]
    run_study(
        RunOptions(
            data=write_jsonl(folder / "d.jsonl", rows), model=script(folder / "m.json", replies),
            judge=(script(folder / "j.json", judging, {"reply": "?"}),), out=str(folder / "out"),
        )
    )  # fmt: skip
    return str(folder / "out")
