"""Studies large enough for every interval: hundreds of instances, and two runs that differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import fill, rows, scripts
from tests.support.runs import row

N = 240
LANGUAGES, CATEGORIES = ("EN", "DE", "KO"), ("Editing", "Translation", "Safety", "Reasoning")


def _number(instance: int, model: int) -> int:
    """A number below 100 that looks drawn and is the same everywhere."""
    return (instance * 7919 + model * 104729 + (instance * instance * 31) % 997) % 100


def _words(instance: int, model: int) -> str:
    """What the model says on an instance: good, partly good, bad, or what the judge gives up on."""
    number = _number(instance, model)
    if number < 45 + 12 * model:
        return "good"
    return "partly" if number < 75 else "dark" if number > 96 else "bad"


def _write() -> None:
    """Every fifth instance has two turns, and every third a criterion more, of which some have points."""
    found = []
    for n in range(N):
        criteria: list[Any] = [{"text": f"says {n}", "weight": 1 + n % 3}, "is kind"] + ["is short"] * (n % 3 == 0)
        turns: list[dict[str, Any]] = [{"prompt": f"Ask <{n}>.", "criteria": criteria}]
        if n % 5 == 0:
            turns.append({"prompt": f"Once more <{n}>.", "criteria": ["stays kind"]})
        found.append({"id": f"i{n}", "turns": turns, "language": LANGUAGES[n % 3], "category": CATEGORIES[n % 4]})
    rows("data", found)
    for model, name in enumerate(("one", "two")):
        replies = [
            {"contains": f"<{n}>", "reply": [f"It is {_words(n + draw * N, model)}." for draw in range(2)]}
            for n in range(N)
        ]
        scripts({name: replies})
    judging: list[Mapping[str, Any]] = [
        {"contains": "It is dark.", "error": "no light"},
        {"contains": "It is partly.", "verdicts": {"says": "FAIL", "short": "FAIL"}},
        {"contains": "It is bad.", "verdicts": {"says": "FAIL", "kind": "FAIL"}},
        {"contains": "<criteria", "verdicts": {}},
    ]
    scripts({"judge": judging})


def _write_graded() -> None:
    """A judge that gives probabilities, which tell somewhat more than the verdicts they come to."""
    rows("data", [row(n, [(f"Ask <{n}>.", [f"says {n}."])], language=LANGUAGES[n % 2]) for n in range(80)])
    scripts({"model": []})
    scripts({"judge": [{"contains": f"says {n}.", "probability": _number(n, 3) / 100} for n in range(80)]})


# What a person would fail, by the words of the criterion: the less likely the judge finds it, the more of them.
FAILED = [f"says {n}." for n in range(80) if _number(n, 3) < 25 + 50 * (_number(n, 5) / 100)]


def _keep_scores() -> None:
    """What is said of single answers is held by the other cases."""
    for name in ("ledger.sqlite", "judgments.jsonl", "report.html", "labels.jsonl", "sample.json", "sheets/*"):
        for file in Path().glob(f"*/{name}"):
            file.unlink()


_RUN = "run --data data.jsonl --judge scripted:judge.json --allow-unscored"
CASES = (
    Case(
        "large", _write,
        (
            f"{_RUN} --model scripted:one.json --out one",
            "label out one --n 90 --annotators eva",
            fill("one/sheets/eva.csv", no=["It is bad.", "It is partly.", "says 20"], blank=["says 33"]),
            "label in one one/sheets/eva.csv",
            f"{_RUN} --model scripted:two.json --samples 2 --temperature 0.5 --limit 120 --out two",
            "compare one two --out compared",
            "leaderboard one two",
            _keep_scores,
        ),
    ),
    Case(
        "label-probabilities", _write_graded,
        (
            "run --data data.jsonl --model scripted:model.json --judge scripted:judge.json --judge-level decision --out out",
            "label out out --n 50 --annotators eva",
            fill("out/sheets/eva.csv", no=FAILED),
            "label in out out/sheets/eva.csv",
            _keep_scores,
        ),
    ),
)  # fmt: skip
