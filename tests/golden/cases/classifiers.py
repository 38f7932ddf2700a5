"""A classifier for a judge of grounding: its cut is fitted on labelled answers, and then it judges a run."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.golden.case import Case
from tests.golden.cases.inputs import rows
from tests.support import tiny_classifier

# It finds a sentence supported where "gate" and "open" stand in what it reads: the document and the sentence.
ANSWERS = {
    "supported": ("w5 gate", "w6 open"),
    "half": ("w5 gate", "w6 open\nw7 w8"),
    "unsupported": ("w5", "w6 open"),
    "too long": ("w5 gate", " ".join(["w9"] * 60) + " open"),
}


def _write() -> None:
    tiny_classifier.save(Path("weights"), names={0: "unsupported", 1: "supported"}, exact=True)
    rows("labelled", [
        {"id": f"{number}{kind}", "document": f"w{number} gate w1", "request": "w2", "accurate": "yes" if kind == "a" else "no",
         "response": "w3 open w4" if kind == "a" else "w3 w4"}
        for number in range(12) for kind in "ab"
    ])  # fmt: skip
    rows("answers", [
        {"id": name, "document": document, "request": "w1", "answer": answer, "domain": "gates"}
        for name, (document, answer) in ANSWERS.items()
    ])  # fmt: skip


CASES = (
    Case(
        "classifier", _write,
        (
            "facts select-template --labelled labelled.jsonl --judge hf-classifier:weights --out selected",
            "facts run --answers answers.jsonl --model-name mine --judge hf-classifier:weights "
            "--template selected/templates.json --out out --allow-unscored",
            lambda: shutil.rmtree("weights"),
        ),
    ),
)  # fmt: skip
