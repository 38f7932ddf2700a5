"""`calibrate`: a fit, another kind in the same folder, and a cascade that uses what was found."""

from __future__ import annotations

from tests.golden.case import Case
from tests.golden.cases.inputs import labelled_rows, rows, scripts
from tests.support.runs import row

# Of rubrics with the probability on the left, the first so many of eight are met.
# "alpha" stands in what is met, "beta" in what is not: the reasoning judge sees that. One rubric has no probability.
# Nothing lies symmetric around a half, where the last digits of a fit would settle on which side a figure falls.
MET = {"0.9": 8, "0.55": 5, "0.15": 0}


def _write() -> None:
    data = []
    for number in range(8):
        met = {share: number < count for share, count in MET.items()}
        labels = {f"says {share} {'alpha' if yes else 'beta'}": "yes" if yes else "no" for share, yes in met.items()}
        data += labelled_rows(f"i{number}", labels, [("user", f"Instruction {number}")])
    rows("data", [*data, *labelled_rows("open", {"says nothing": "no"}, [("user", "Instruction 9")])])
    texts = ["says 0.9 alpha", "says 0.55 beta", "says 0.15 beta"]
    rows("run", [row("fails", [("One", texts)]), row("passes", [("Two", texts[:1])])])
    shares = [{"contains": f"says {share}", "probability": float(share)} for share in MET]
    scripts(
        {
            "judge": [{"contains": "says nothing", "probability": None}, *shares],
            "second": [{"contains": "Answer", "verdicts": {"beta": "FAIL"}}, {"contains": "OK", "verdicts": {"beta": "FAIL"}}],
            "model": [],
        }
    )  # fmt: skip


CASES = (
    Case(
        "calibrate", _write,
        (
            "study calibrate --data data.jsonl --judge scripted:judge.json --out alone",
            "study calibrate --data data.jsonl --judge scripted:judge.json --kind isotonic --folds 3 --out alone",
            "run --data run.jsonl --model scripted:model.json --judge scripted:judge.json --judge-level cascade "
            "--cascade-judge scripted:second.json --calibration alone --out used",
        ),
    ),
)  # fmt: skip
