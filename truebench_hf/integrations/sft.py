"""A run's verdicts as rows of messages, for a trainer that teaches a smaller judge to give them.

A row of `sft.jsonl` is a verdict: `messages` are the prompt that a judge gets about one criterion and the signed answer that
gives the verdict, `id` is the instance, by which rows are kept apart in a split.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from truebench_hf.benchmarks.facts.scores import KIND as FACTS
from truebench_hf.benchmarks.tick.scoring import BENCHMARK as TICKED
from truebench_hf.benchmarks.truebench.study import benchmark
from truebench_hf.comparing.finished import TICK
from truebench_hf.data.case import Case, cases
from truebench_hf.errors import UserError
from truebench_hf.integrations.finished_run import AnsweredInstance, Exported, put_lines
from truebench_hf.judging.case import sections
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.judging.verdicts import verdict_answer
from truebench_hf.prompts import Prompts
from truebench_hf.types import Label, Verdict

_WORDS: dict[Label, str] = {"yes": "PASS", "no": "FAIL"}
_OPEN, _RULES, _TWICE, _BOTH = _REASONS = "not judged", "decided by rules", "asked twice", "judged both ways"


def write(run: Exported, out: Path) -> dict[Path, str]:
    """`sft.jsonl` in `out`. What has no label, was decided by rules, or got both labels teaches nothing, and is counted."""
    if run.kind == FACTS:
        raise UserError(
            f"{run.where}: its judges look for grounding, not at criteria; give a run of run, judge or tick"
        )
    left_out: Counter[str] = Counter()
    answers: dict[str, dict[Label, tuple[str, str]]] = {}  # by prompt, then by label: the instance and the answer
    for responses in run.responses.values():
        for answered in responses:
            for verdict, case in _asked(answered, run.kind):
                if verdict.judge == JUDGE or verdict.label not in ("yes", "no"):
                    left_out[_RULES if verdict.judge == JUDGE else _OPEN] += 1
                    continue
                values = sections(case)
                prompt = Prompts().render("rubric", **values, structured=False, reasoning=True)
                answer = verdict_answer(str(values["tag"]), [(verdict.reason, _WORDS[verdict.label])])
                known = answers.setdefault(prompt, {})
                left_out[_TWICE] += verdict.label in known
                known.setdefault(verdict.label, (answered.judged.instance.id, answer))
    left_out[_BOTH] = sum(2 for known in answers.values() if len(known) == 2)
    rows = [
        {"id": name, "messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]}
        for prompt, known in answers.items()
        if len(known) == 1
        for name, answer in known.values()
    ]
    if not rows:
        raise UserError(
            f"{run.where}: no criterion has a judge's yes or no to learn from; judge the run by a model first"
        )
    put_lines(out / "sft.jsonl", rows)
    reasons = "".join(f", {left_out[reason]} left out ({reason})" for reason in _REASONS if left_out[reason])
    return {out / "sft.jsonl": f"{len(rows)} verdicts{reasons}"}


def _asked(answered: AnsweredInstance, kind: str) -> Iterator[tuple[Verdict, Case]]:
    """Every verdict on an answer, with what a judge that is asked about its criterion alone is shown."""
    instance, response = answered.judged.instance, answered.judged.response
    turns = cases(instance, response, TICKED if kind == TICK else benchmark(instance))
    for case, verdicts in zip(turns, answered.judged.verdicts, strict=False):
        for verdict, criterion in zip(verdicts, case.criteria, strict=True):
            yield verdict, replace(case, criteria=(criterion,))
