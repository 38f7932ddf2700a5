"""Time and memory of what is done with stored verdicts, at 100,000 and at 1,000,000 of them.

`make bench`, or `python -m tests.bench.growth`. The commands are the real ones, each in a process of its own.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from tests.bench.processes import timed
from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, RunOptions
from truebench_hf.benchmarks.truebench.results import ranking
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.results.report import Report

SIZES = (100_000, 1_000_000)
RUNS = 104  # with 9,591 verdicts each, TRUEBench's number of criteria, they are a million
_JUDGES = ("openai:gpt-5", "hf:Qwen/Qwen3-32B")  # of two, one of them of a model's family, there is a self-preference
_REPEATS = (3, 1)


def main() -> None:
    """Print one table: what, verdicts, seconds and processor seconds (medians of repeats), peak memory, how it grows."""
    acts = {"score, one run": _score, f"leaderboard, {RUNS} runs": _leaderboard, "compare, two runs": _compare}
    print(f"{'stored verdicts':<24}{'verdicts':>10}{'seconds':>9}{'CPU s':>8}{'peak MiB':>10}{'grown':>8}")
    for what, act in acts.items():
        base = None
        for verdicts, repeats in zip(SIZES, _REPEATS, strict=True):
            with tempfile.TemporaryDirectory() as folder:
                command = act(Path(folder), verdicts)
                told = [astuple(timed("-m", "truebench_hf", *command)) for _ in range(repeats)]
            wall, processor, peak = (statistics.median(column) for column in zip(*told, strict=True))
            grown = f"{peak / base:.2f} x" if base else ""
            base = base or peak
            print(f"{what:<24}{verdicts:>10,}{wall:>9.1f}{processor:>8.1f}{peak:>10.0f}{grown:>8}", flush=True)


def _score(folder: Path, verdicts: int) -> Sequence[str]:
    run = stored_run(folder / "run", real_run(folder / "real"), verdicts // CRITERIA)
    return "study", "score", str(run), "--allow-unscored"


def _leaderboard(folder: Path, verdicts: int) -> Sequence[str]:
    """Half of the models, judged by two judges each, with the page."""
    real = real_run(folder / "real")
    for number in range(RUNS):
        model = f"hf:{'Qwen/Qwen3' if number % 8 < 2 else 'org/Model'}-{number // 2}-7B"
        instances = verdicts // RUNS // CRITERIA
        stored_run(folder / "runs" / f"{number:03}", real, instances, model, _JUDGES[number % 2], number)
    return "leaderboard", str(folder / "runs"), "--out", str(folder / "out")


def _compare(folder: Path, verdicts: int) -> Sequence[str]:
    real = real_run(folder / "real")
    pair = [
        stored_run(folder / name, real, verdicts // 2 // CRITERIA, f"hf:org/{name}-7B", seed=ord(name)) for name in "ab"
    ]
    return "compare", *map(str, pair)


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


if __name__ == "__main__":
    main()
