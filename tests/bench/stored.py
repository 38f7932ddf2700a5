"""Finished runs of any size for benchmarks: a small real one of the scripted model, its lines told again under new ids."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, RunOptions
from truebench_hf.benchmarks.truebench.results import ranking
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.results.report import Report

CRITERIA = 4
_ID = "@id@"
_WORDS = "the report names every figure it was asked for, in the order and the units of the table above, and says why. "
# Which of a row's criteria fail, and how often; of every twentieth the last is not judged.
_LABELS = {(): 40, (1,): 15, (0, 2): 15, (0, 1, 2, 3): 10}


def stored_run(
    folder: Path, real: Path, instances: int, model: str = "hf:org/Model-7B", judge: str = "openai:judge", seed: int = 7
) -> Path:
    """A finished run of so many instances, `CRITERIA` verdicts and 3.7 kB each, told after the `real` one; seeded."""
    templates = [json.loads(line) for line in (real / "judgments.jsonl").read_text("utf-8").splitlines()]
    made = [list(_told(template | {"model": model, "judge": judge})) for template in templates]
    chance, passed = random.Random(seed), list[bool | None]()
    folder.mkdir(parents=True)
    with (folder / "judgments.jsonl").open("w", encoding="utf-8") as file:
        for number in range(instances):
            ok, line = chance.choice(made[number % len(made)])
            file.write(line.replace(_ID, f"q{number:07}"))
            passed.append(ok)
    info = json.loads((real / "run.json").read_text("utf-8"))
    info["settings"] |= {"items": instances, "model": model, "judge": judge}
    places = [(one["category"], one["language"]) for one in templates]
    (folder / "run.json").write_text(json.dumps(info | _results(info, passed, places)))
    return folder


def real_run(folder: Path) -> Path:
    """A finished run of the scripted model: an instance for each language, of ever other categories."""
    folder.mkdir(parents=True)
    rows = [
        row(f"{_ID}{number}", [(f"{_ID}: {7 * _WORDS}", [f"{name} of {_ID}: {_WORDS}" for name in "abcd"])],
            language=language, category=CATEGORIES[number % len(CATEGORIES)])
        for number, language in enumerate(LANGUAGES)
    ]  # fmt: skip
    judging = [{"contains": "<criteria", "verdicts": {"b of": "FAIL"}}]
    options = RunOptions(
        data=write_jsonl(folder / "data.jsonl", rows), out=str(folder / "run"), rules="off",
        model=script(folder / "model.json", [], {"reply": 10 * _WORDS}), judge=(script(folder / "judge.json", judging),),
    )  # fmt: skip
    run(options)
    return folder / "run"


def _told(template: dict[str, Any]) -> Iterator[tuple[bool | None, str]]:
    """(passed, line) with each of the labels, as often as they come."""
    (turn,) = template["verdicts"]
    for failed, often in _LABELS.items():
        for number in range(often):
            open_ = {3} if number % 20 == 19 else set()
            verdicts = [
                verdict | {"label": None if place in open_ else "no" if place in failed else "yes", "reason": _WORDS}
                for place, verdict in enumerate(turn)
            ]
            labels = [verdict["label"] for verdict in verdicts]
            passed = False if "no" in labels else None if None in labels else True
            line = template | {"id": _ID, "passed": passed, "verdicts": [verdicts]}
            yield passed, json.dumps(line, ensure_ascii=False) + "\n"


def _results(info: dict[str, Any], passed: Sequence[bool | None], places: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What `run.json` tells boards of these outcomes."""
    scores: dict[str, Any] = {"overall": pass_rate(passed)}
    for name, place in (("by_category", 0), ("by_language", 1)):
        groups: dict[str, list[bool | None]] = {}
        for number, ok in enumerate(passed):
            groups.setdefault(places[number % len(places)][place], []).append(ok)
        scores[name] = {group: pass_rate(of) for group, of in groups.items()}
    made = info["settings"] | {"data_sha256": "d" * 64}
    board = ranking({made["model"]: Report(scores, provenance=made)}).board()
    assert board is not None
    return {"board": board.as_json(), "content": f"{made['model']} {made['judge']}"}
