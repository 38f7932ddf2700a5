"""`compare`, `leaderboard` and `correlate` on two runs that differ on three instances of twelve, and one judged otherwise."""

from __future__ import annotations

from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts
from tests.support.runs import row

_LOST = {"ann": (1, 2, 5, 11), "bob-7b": (1, 2, 3, 4, 11)}  # numbers of the instances that a model fails


def _write() -> None:
    rows("data", [
        row(f"q{number}", [(f"Ask <{number}>, 부탁해요.", ["is right"])], language="KO" if number < 6 else "FR",
            category="Reasoning" if number < 2 else "Editing" if number % 2 else "Safety")
        for number in range(12)
    ])  # fmt: skip
    models = {
        name: [
            {"contains": f"<{number}>", "reply": f"{name} is {'wrong' if number in lost else 'right'} on {number}"}
            for number in range(12)
        ]
        for name, lost in _LOST.items()
    }
    models["bob-7b"][7] = {"contains": "<7>", "error": "out of paper"}
    judge: list[dict[str, Any]] = [{"contains": " is wrong on ", "verdicts": {"is right": "FAIL"}}]
    scripts({**models, "ann-judge": [*judge, {"contains": "<criteria", "verdicts": {}}]})
    rows("outside", [{"model": f"openai:{name}.json", "Arena": elo} for name, elo in (("ann", 1200), ("zoe", 1100))])


def _run(model: str, more: str = "") -> str:
    folder = f"runs/{model}{'-rubric' if more else ''}"
    return (
        f"run --data data.jsonl --model scripted:{model}.json --judge scripted:ann-judge.json --out {folder} "
        f"--allow-unscored{more}"
    )


CASES = (
    Case(
        "standings", _write,
        (
            _run("ann"), _run("bob-7b"), _run("bob-7b", " --judge-level rubric"),
            "compare runs/ann runs/bob-7b --out compared",
            "compare runs/bob-7b runs/bob-7b-rubric",
            "leaderboard runs/ann runs/bob-7b runs/bob-7b-rubric --out board",
            "leaderboard --with-published",
            "table runs/ann runs/bob-7b",
            "table runs --by categories --format latex",
            "table runs --by languages --format markdown",
            "table runs --format json",
            "study correlate runs/ann runs/bob-7b --with outside.jsonl --out correlated",
        ),
    ),
)  # fmt: skip
