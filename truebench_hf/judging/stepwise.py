"""Verdicts one after the other, for somebody who watches."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from truebench_hf.judging.case import Case
from truebench_hf.judging.judge import Judge
from truebench_hf.types import Verdict


async def one_by_one(judge: Judge, case: Case) -> AsyncGenerator[tuple[Verdict, ...], None]:
    """The verdicts so far, growing to all of them.

    At checklist level one call decides all criteria, so they come together; at every other level each is asked alone.
    """
    if judge.settings.level == "checklist":
        yield await judge.verdicts(case)
        return
    done: tuple[Verdict, ...] = ()
    for criterion in case.criteria:
        done += await judge.verdicts(replace(case, criteria=(criterion,)))
        yield done
