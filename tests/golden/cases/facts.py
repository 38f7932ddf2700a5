"""`facts rank` on five models, of which two answer beside the point on few documents or on all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts

# Models on 24 documents: to which they answer beside the point, so that the answers are ineligible however grounded they
# are, and to which wrongly. Judges are of two of their families.
RANKED: dict[str, tuple[set[int], set[int]]] = {
    "gpt-4o": ({0}, {6, 16}),
    "claude-3": ({0, 1, 2, 20}, {17}),
    "gemini-2": ({3, 4, 8, 9, 14, 21}, {1, 7, 19}),
    "llama-3": (set(range(24)), set()),
    "none": (set(), set()),
}


def _write_ranked() -> None:
    rows("data", [
        {"id": f"d{n}", "request": f"What of gate {n}?", "document": f"Gate {n} is green.", "system": "Use the note alone.",
         "baseline": f"The note says so of gate {n}.", "split": "open" if n < 14 else "blind", "domain": "garden"}
        for n in range(24)
    ])  # fmt: skip
    for name, (evasive, wrong) in RANKED.items():
        said = {n: f"{name}: gate {n} is {'red' if n in wrong else 'green'}." for n in range(24)}
        said |= {n: f"{name}: of gate {n} there is much to say." for n in evasive}
        scripts({name: [{"contains": f"gate {n}?", "reply": answer} for n, answer in said.items()]})
    rating: list[dict[str, Any]] = [
        {"contains": ["<test_response_", "much to say"], "reply": 'Empty.\n{"rating": "major issues"}'},
        {"contains": "<test_response_", "reply": 'Fine.\n{"rating": "minor issues"}'},
    ]
    accurate, inaccurate = (f'Compared.\n{{"verdict": "{verdict}"}}' for verdict in ("accurate", "inaccurate"))
    grounding: list[dict[str, Any]] = [
        {"contains": "is red.", "reply": inaccurate},
        {"contains": "verdict", "reply": accurate},
    ]
    # Each judge is severe with the other's family.
    severe: dict[str, list[dict[str, Any]]] = {
        judge: [{"contains": f">\n{model}: {words}", "reply": inaccurate} for words in ("gate 3 is green", "of gate 2")]
        for judge, model in (("gpt-judge", "claude-3"), ("claude-judge", "gpt-4o"))
    }
    scripts({judge: [*rating, *rules, *grounding] for judge, rules in severe.items()})


def _keep_scores() -> None:
    """What is said of single answers is held by the other cases."""
    for name in ("ledger.sqlite", "judgments.jsonl", "verdicts.jsonl", "report.html"):
        for file in Path("runs").rglob(name):
            file.unlink()


_RANKED = "facts run --data data.jsonl --model scripted:{0}.json --judge scripted:gpt-judge.json --judge scripted:claude-judge.json"
CASES = (
    Case(
        "facts-rank", _write_ranked,
        (*(f"{_RANKED.format(name)} --template response --out runs/{name} --allow-unscored" for name in RANKED),
         f"facts rank {' '.join(f'runs/{name}' for name in RANKED)} --out ranked",
         # On fewer than ten documents all are right or ineligible, which an exact test tells apart.
         *(f"{_RANKED.format(name)} --limit 8 --template response --out runs/{name}-few" for name in ("llama-3", "none")),
         "facts rank runs/llama-3-few runs/none-few --out few",
         _keep_scores),
    ),
)  # fmt: skip
