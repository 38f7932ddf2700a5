"""Runs for the Space to show: real ones by scripted models over the built-in sample, and many made-up ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.support.runs import script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.tick.pairwise import Pairwise, PairwiseOptions
from truebench_hf.benchmarks.truebench import results as truebench
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, RunOptions, load
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.results.report import Report

SCRIPT = "<script>window.broken = 1</script>"


def real_runs(folder: Path) -> Path:
    """Two runs over `mini`: a model whose answers hold script text, and one that fails criteria about languages."""
    judge = folder / "judge.json"
    rules = [{"contains": ["from Alpha", "must be English"], "verdicts": {"must be English": "FAIL"}}]
    rules += [{"contains": ["from Beta", "<criteria"], "verdicts": {"exactly": "FAIL", "null": "FAIL"}}]
    judge.write_text(json.dumps({"rules": [*rules, {"contains": "<criteria", "verdicts": {}}]}))
    for name in ("Alpha-7B", "Beta-70B"):
        model = folder / f"{name}.json"
        reply = f"Hello {SCRIPT} ${{1+1}} {{{{x}}}} from {name}."
        model.write_text(json.dumps({"rules": [], "default": {"reply": reply}}))
        run(
            RunOptions(
                data="mini",
                model=f"scripted:{model}",
                judge=(f"scripted:{judge}",),
                out=str(folder / "runs" / name),
                rules="off",  # a program would not take the greeting for English
            )
        )
    return folder / "runs"


def patchy_run(folder: Path, out: Path) -> Path:
    """A run over `mini` that publishing has to mend: a server's address in a reason, half a character in answers."""
    folder.mkdir(parents=True, exist_ok=True)
    first = load("mini")[0].turns[0].prompt[:40]
    rules = [{"contains": first, "error": "the server at http://10.0.0.4:8000/v1 is down"}]
    model, judge = folder / "Patchy-3B.json", folder / "judge.json"
    model.write_text(json.dumps({"rules": rules, "default": {"reply": "Half of \ud83c."}}))
    judge.write_text(json.dumps({"rules": [{"contains": "<criteria", "verdicts": {"exactly": "FAIL"}}]}))
    run(RunOptions(data="mini", model=f"scripted:{model}", judge=(f"scripted:{judge}",), out=str(out)))
    return out


def many_runs(folder: Path, models: int, instances: int) -> Path:
    """Run folders with boards and short judgments of so many models and instances; seeded."""
    chance = random.Random(7)
    plan = [(f"q{i}", chance.choice(LANGUAGES), chance.choice(CATEGORIES), chance.random()) for i in range(instances)]
    for number in range(models):
        out = folder / f"run{number:03}"
        out.mkdir(parents=True)
        skill = 0.2 + 0.6 * number / models
        passed = [chance.random() < 0.5 * skill + 0.5 * (1 - ease) for *_, ease in plan]
        size = chance.choice((1, 3, 7, 14, 32, 70, 235))
        model = f"hf:org{number % 9}/Model-{number:03}-{size}B"
        made = {"model": model, "judge": "openai:judge", "data": "v0.6.1", "data_sha256": "d" * 64}
        scores: dict[str, Any] = {"overall": pass_rate(passed)}
        for name, place in (("by_category", 2), ("by_language", 1)):
            pairs = list(zip(passed, plan, strict=True))
            kinds = sorted({row[place] for row in plan})
            scores[name] = {kind: pass_rate([p for p, row in pairs if row[place] == kind]) for kind in kinds}
        board = truebench.ranking({model: Report(scores, provenance=made)}).board().as_json()
        info = {"kind": "truebench", "format": 1, "settings": made, "board": board, "content": str(number)}
        (out / "run.json").write_text(json.dumps(info))
        with (out / "judgments.jsonl").open("w") as file:
            file.writelines(_line(row, ok, model) for row, ok in zip(plan, passed, strict=True))
    return folder


def changed(run: Path, **row: object) -> Path:
    """The run after what its board says of its one row was changed."""
    info = json.loads((run / "run.json").read_text())
    info["board"]["rows"][0] |= row
    (run / "run.json").write_text(json.dumps(info | {"content": json.dumps(row)}))
    return run


def _line(row: tuple[str, str, str, float], passed: bool, model: object) -> str:
    verdict = {
        "criterion": "It is right.",
        "label": "yes" if passed else "no",
        "reason": "r",
        "probability": None,
        "votes": [],
        "conflicting": False,
    }
    messages = [{"role": "user", "content": f"Question {row[0]}"}, {"role": "assistant", "content": "Answer"}]
    line = {
        "id": row[0], "language": row[1], "category": row[2], "task": "t", "model": model, "judge": "openai:judge",
        "passed": passed, "error": None, "truncated": [], "messages": messages, "reasoning": [""],
        "verdicts": [[verdict]], "usage": {},
    }  # fmt: skip
    return json.dumps(line) + "\n"


def pairs_run(out: Path) -> Path:
    """A study of two pairs, of which a judge always prefers the first response: one in Arabic, one with script text."""
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {"id": "lift", "prompt": f"Say that the lift is broken. {SCRIPT}", "response_a": "It is broken.",
         "response_b": f"Hello {SCRIPT}.", "label": "A", "subset": "notices"},
        {"id": "arabic", "prompt": "اكتب جملة قصيرة عن الشاي.", "response_a": "لا أعرف.",
         "response_b": "الشاي مشروب ساخن يحبه كثير من الناس.", "label": "B", "subset": "tea"},
    ]  # fmt: skip
    rules = [
        {"contains": "You compare two responses", "reply": 'The first.\n```json\n{"preference": "A"}\n```'},
        {"contains": ["You rate", "\nIt is broken.\n"], "reply": '{"rating": 5}'},
        {"contains": ["You rate", "الناس"], "reply": "hard to say"},
        {"contains": "You rate", "reply": '{"rating": 3}'},
    ]
    judge = script(out.parent / "pair_judge.json", rules)
    data = write_jsonl(out.parent / "pairs.jsonl", rows)
    Pairwise(PairwiseOptions(data=data, judge=(judge,), protocol=("preference", "direct"), out=str(out))).run()
    return out
